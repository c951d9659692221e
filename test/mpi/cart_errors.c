// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong arguments of everything about grids, and of MPI_Topo_test: the right class, and an error
// message that names the function and the value. All ranks make the same mistake, and nothing is
// created.

#include "comm_check.h"

#include <limits.h>

#define WORLD MPI_COMM_WORLD
#define BAD   CHECK_ERROR

static void creating(void)
{
    MPI_Comm cart = MPI_COMM_NULL;
    int size = world_size(), one[] = {1, 1, 1}, none[] = {0, 0, 0}, mapped = -1;
    int large[] = {1, size + 1}, zero[] = {1, 0}, negative[] = {-3, 1};
    int huge[] = {INT_MAX, INT_MAX, INT_MAX};
    char text[16];
    snprintf(text, sizeof text, "%d", size + 1);
    BAD(MPI_Cart_create(WORLD, -2, one, none, 0, &cart), MPI_ERR_DIMS, "MPI_Cart_create",
        "ndims is -2");
    BAD(MPI_Cart_create(WORLD, 2, large, none, 0, &cart), MPI_ERR_DIMS, "MPI_Cart_create", text);
    BAD(MPI_Cart_create(WORLD, 2, negative, none, 0, &cart), MPI_ERR_DIMS, "MPI_Cart_create",
        "dims[0] is -3");
    BAD(MPI_Cart_create(WORLD, 2, NULL, none, 0, &cart), MPI_ERR_ARG, "MPI_Cart_create", "dims");
    BAD(MPI_Cart_create(WORLD, 2, one, NULL, 0, &cart), MPI_ERR_ARG, "MPI_Cart_create", "periods");
    BAD(MPI_Cart_create(WORLD, 2, one, none, 0, NULL), MPI_ERR_ARG, "MPI_Cart_create", "comm_cart");
    BAD(MPI_Cart_create(MPI_COMM_NULL, 2, one, none, 0, &cart), MPI_ERR_COMM, "MPI_Cart_create",
        "MPI_COMM_NULL");
    BAD(MPI_Cart_map(WORLD, -1, one, none, &mapped), MPI_ERR_DIMS, "MPI_Cart_map", "-1");
    BAD(MPI_Cart_map(WORLD, 1, NULL, none, &mapped), MPI_ERR_ARG, "MPI_Cart_map", "dims");
    BAD(MPI_Cart_map(WORLD, 1, one, none, NULL), MPI_ERR_ARG, "MPI_Cart_map", "newrank");
    BAD(MPI_Cart_map(MPI_COMM_NULL, 1, one, none, &mapped), MPI_ERR_COMM, "MPI_Cart_map",
        "MPI_COMM_NULL");
    BAD(MPI_Cart_create(WORLD, 2, zero, none, 0, &cart), MPI_ERR_DIMS, "MPI_Cart_create",
        "dims[1] is 0");
    BAD(MPI_Cart_create(WORLD, 3, huge, none, 0, &cart), MPI_ERR_DIMS, "MPI_Cart_create",
        "or more ranks");
    BAD(MPI_Cart_map(WORLD, 2, large, none, &mapped), MPI_ERR_DIMS, "MPI_Cart_map", text);
    CHECK(cart == MPI_COMM_NULL);
}

static void asking(MPI_Comm cart)
{
    int size = size_of(cart), x = -1, y = -1, room[3], sub[] = {1, 1};
    int outside[] = {0, 1}, below[] = {0, -1}, wrapped[] = {size + 2, 0};
    MPI_Comm part = MPI_COMM_NULL;
    BAD(MPI_Cart_get(cart, 1, room, room, room), MPI_ERR_ARG, "MPI_Cart_get", "maxdims is 1");
    BAD(MPI_Cart_coords(cart, 0, 1, room), MPI_ERR_ARG, "MPI_Cart_coords", "maxdims is 1");
    BAD(MPI_Cart_coords(cart, -1, 2, room), MPI_ERR_RANK, "MPI_Cart_coords", "-1");
    BAD(MPI_Cart_coords(cart, size + 8, 2, room), MPI_ERR_RANK, "MPI_Cart_coords", "rank");
    BAD(MPI_Cart_coords(cart, 0, 2, NULL), MPI_ERR_ARG, "MPI_Cart_coords", "coords");
    BAD(MPI_Cart_get(cart, 2, NULL, room, room), MPI_ERR_ARG, "MPI_Cart_get", "dims");
    BAD(MPI_Cart_get(cart, 2, room, NULL, room), MPI_ERR_ARG, "MPI_Cart_get", "periods");
    BAD(MPI_Cart_get(cart, 2, room, room, NULL), MPI_ERR_ARG, "MPI_Cart_get", "coords");
    BAD(MPI_Cart_rank(cart, outside, &x), MPI_ERR_ARG, "MPI_Cart_rank", "coords[1] is 1");
    BAD(MPI_Cart_rank(cart, below, &x), MPI_ERR_ARG, "MPI_Cart_rank", "coords[1] is -1");
    BAD(MPI_Cart_rank(cart, NULL, &x), MPI_ERR_ARG, "MPI_Cart_rank", "coords");
    BAD(MPI_Cart_rank(cart, below, NULL), MPI_ERR_ARG, "MPI_Cart_rank", "rank");
    CHECK_OK(MPI_Cart_rank(cart, wrapped, &x)); // this dimension is periodic
    CHECK_INT(x, 2 % size);
    BAD(MPI_Cart_shift(cart, 2, 1, &x, &y), MPI_ERR_DIMS, "MPI_Cart_shift", "direction is 2");
    BAD(MPI_Cart_shift(cart, -1, 1, &x, &y), MPI_ERR_DIMS, "MPI_Cart_shift", "direction is -1");
    BAD(MPI_Cart_shift(cart, 0, 1, NULL, &y), MPI_ERR_ARG, "MPI_Cart_shift", "rank_source");
    BAD(MPI_Cart_shift(cart, 0, 1, &x, NULL), MPI_ERR_ARG, "MPI_Cart_shift", "rank_dest");
    BAD(MPI_Cart_sub(cart, NULL, &part), MPI_ERR_ARG, "MPI_Cart_sub", "remain_dims");
    BAD(MPI_Cart_sub(cart, sub, NULL), MPI_ERR_ARG, "MPI_Cart_sub", "newcomm");
    BAD(MPI_Cartdim_get(cart, NULL), MPI_ERR_ARG, "MPI_Cartdim_get", "ndims");
    BAD(MPI_Topo_test(cart, NULL), MPI_ERR_ARG, "MPI_Topo_test", "status");
    BAD(MPI_Topo_test(MPI_COMM_NULL, &x), MPI_ERR_COMM, "MPI_Topo_test", "MPI_COMM_NULL");
    CHECK(part == MPI_COMM_NULL);
}

// A communicator of no topology, or of another.
static void wrong_kind(MPI_Comm comm, const char *word)
{
    int x, y, room[3] = {0};
    MPI_Comm part = MPI_COMM_NULL;
    BAD(MPI_Cartdim_get(comm, &x), MPI_ERR_TOPOLOGY, "MPI_Cartdim_get", word);
    BAD(MPI_Cart_get(comm, 3, room, room, room), MPI_ERR_TOPOLOGY, "MPI_Cart_get", word);
    BAD(MPI_Cart_coords(comm, 0, 3, room), MPI_ERR_TOPOLOGY, "MPI_Cart_coords", word);
    BAD(MPI_Cart_rank(comm, room, &x), MPI_ERR_TOPOLOGY, "MPI_Cart_rank", word);
    BAD(MPI_Cart_shift(comm, 0, 1, &x, &y), MPI_ERR_TOPOLOGY, "MPI_Cart_shift", word);
    BAD(MPI_Cart_sub(comm, room, &part), MPI_ERR_TOPOLOGY, "MPI_Cart_sub", word);
    CHECK(part == MPI_COMM_NULL);
}

static void intercommunicator(void)
{
    MPI_Comm half, inter, cart = MPI_COMM_NULL;
    int rank = world_rank(), size = world_size(), one[] = {1}, kind = -1;
    if (size < 2)
        return;
    CHECK_OK(MPI_Comm_split(WORLD, rank % 2, rank, &half));
    CHECK_OK(MPI_Intercomm_create(half, 0, WORLD, 1 - rank % 2, 7, &inter));
    CHECK_OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    BAD(MPI_Cart_create(inter, 1, one, one, 0, &cart), MPI_ERR_COMM, "MPI_Cart_create",
        "intercommunicator");
    BAD(MPI_Cart_map(inter, 1, one, one, &kind), MPI_ERR_COMM, "MPI_Cart_map", "intercommunicator");
    CHECK_OK(MPI_Topo_test(inter, &kind));
    CHECK_INT(kind, MPI_UNDEFINED);
    CHECK_OK(MPI_Comm_free(&inter));
    CHECK_OK(MPI_Comm_free(&half));
}

static void freed(MPI_Comm cart)
{
    MPI_Comm old = cart;
    int x;
    CHECK_OK(MPI_Comm_free(&cart));
    CHECK_ERROR(MPI_Cartdim_get(old, &x), MPI_ERR_COMM, "MPI_Cartdim_get", "comm");
    CHECK_ERROR(MPI_Topo_test(old, &x), MPI_ERR_COMM, "MPI_Topo_test", "comm");
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    int dims[] = {world_size(), 1}, periods[] = {1, 0}, index[] = {0}, edges[] = {0};
    MPI_Comm cart, graph, point;
    creating();
    CHECK_OK(MPI_Cart_create(WORLD, 2, dims, periods, 0, &cart));
    asking(cart);
    wrong_kind(WORLD, "no topology");
    CHECK_OK(MPI_Graph_create(MPI_COMM_SELF, 1, index, edges, 0, &graph));
    wrong_kind(graph, "graph topology");
    CHECK_OK(MPI_Comm_free(&graph));
    CHECK_OK(MPI_Cart_create(MPI_COMM_SELF, 0, NULL, NULL, 0, &point));
    BAD(MPI_Cart_shift(point, 0, 1, dims, dims), MPI_ERR_DIMS, "MPI_Cart_shift", "direction is 0");
    CHECK_OK(MPI_Comm_free(&point));
    intercommunicator();
    freed(cart);
    CHECK_OK(MPI_Finalize());
    return 0;
}
