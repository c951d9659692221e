// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong arguments of MPIX_Reduce_to and the like; then it works, and does not make the process grow.

#include <millet/coll.h>

#include "comm_check.h"
#include "growth.h"

#define BAD CHECK_ERROR

static MPI_Group only(int rank)
{
    MPI_Group world, group;
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_OK(MPI_Group_incl(world, 1, &rank, &group));
    CHECK_OK(MPI_Group_free(&world));
    return group;
}

static void wrong(MPI_Group all)
{
    int in = 1, out = 0, n = world_size();
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Group mine = only(world_rank()), other = only((world_rank() + 1) % n);
    const char *name = "MPIX_Reduce_to";
    BAD(MPIX_Reduce_to(&in, &out, -3, MPI_INT, MPI_SUM, all, all, comm), MPI_ERR_COUNT, name,
        "count is -3");
    BAD(MPIX_Reduce_to(&in, &out, 1, MPI_DATATYPE_NULL, MPI_SUM, all, all, comm), MPI_ERR_TYPE,
        name, "datatype");
    BAD(MPIX_Reduce_to(&in, &out, 1, MPI_INT, MPI_OP_NULL, all, all, comm), MPI_ERR_OP, name, "op");
    BAD(MPIX_Reduce_to(&in, &out, 1, MPI_INT, MPI_SUM, MPI_GROUP_NULL, all, comm), MPI_ERR_GROUP,
        name, "contributors");
    BAD(MPIX_Reduce_to(&in, &out, 1, MPI_INT, MPI_SUM, all, MPI_GROUP_NULL, comm), MPI_ERR_GROUP,
        name, "receivers");
    BAD(MPIX_Reduce_to(&in, &out, 1, MPI_INT, MPI_SUM, MPI_GROUP_EMPTY, all, comm), MPI_ERR_GROUP,
        name, "contributors is an empty group");
    BAD(MPIX_Reduce_to(&in, &out, 1, MPI_INT, MPI_SUM, all, MPI_GROUP_EMPTY, comm), MPI_ERR_GROUP,
        name, "receivers is an empty group");
    BAD(MPIX_Reduce_to(&in, &out, 1, MPI_INT, MPI_SUM, all, all, MPI_COMM_NULL), MPI_ERR_COMM, name,
        "MPI_COMM_NULL");
    BAD(MPIX_Reduce_to(NULL, &out, 1, MPI_INT, MPI_SUM, all, all, comm), MPI_ERR_BUFFER, name,
        "sendbuf");
    BAD(MPIX_Reduce_to(&in, NULL, 1, MPI_INT, MPI_SUM, all, all, comm), MPI_ERR_BUFFER, name,
        "recvbuf");
    BAD(MPIX_Reduce_to(&in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, all, all, comm), MPI_ERR_BUFFER,
        name, "recvbuf is MPI_IN_PLACE");
    BAD(MPIX_Ireduce_to(&in, &out, 1, MPI_INT, MPI_SUM, all, all, comm, NULL), MPI_ERR_ARG,
        "MPIX_Ireduce_to", "request");
    BAD(MPIX_Reduce_to_init(&in, &out, 1, MPI_INT, MPI_SUM, all, all, comm, MPI_INFO_NULL, NULL),
        MPI_ERR_ARG, "MPIX_Reduce_to_init", "request");
    if (n > 1) {
        BAD(MPIX_Reduce_to(&in, &out, 1, MPI_INT, MPI_SUM, other, other, comm), MPI_ERR_GROUP, name,
            "neither contributes nor receives");
        BAD(MPIX_Reduce_to(&in, &out, 1, MPI_INT, MPI_SUM, other, mine, MPI_COMM_SELF),
            MPI_ERR_GROUP, name, "which is not in MPI_COMM_SELF");
        BAD(MPIX_Reduce_to(MPI_IN_PLACE, NULL, 1, MPI_INT, MPI_SUM, mine, other, comm),
            MPI_ERR_BUFFER, name, "MPI_IN_PLACE");
    }
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_INT(out, 0);
    CHECK_OK(MPIX_Reduce_to(&in, &out, 1, MPI_INT, MPI_SUM, mine, mine, MPI_COMM_SELF));
    CHECK_INT(out, 1);
    CHECK_OK(MPI_Group_free(&mine));
    CHECK_OK(MPI_Group_free(&other));
}

static void between_two(MPI_Group all)
{
    int in = 1, out = 0, n = world_size(), low = world_rank() < n / 2;
    MPI_Comm half, inter;
    if (n < 2)
        return;
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half));
    CHECK_OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? n / 2 : 0, 1, &inter));
    BAD(MPIX_Reduce_to(&in, &out, 1, MPI_INT, MPI_SUM, all, all, inter), MPI_ERR_COMM,
        "MPIX_Reduce_to", "intercommunicator");
    CHECK_OK(MPI_Comm_free(&inter));
    CHECK_OK(MPI_Comm_free(&half));
}

// Everybody contributes two and wants one.
static void disagreement(MPI_Group all)
{
    int in[2] = {1, 1}, out[2], n = world_size(), me = world_rank();
    MPI_Group first = only(0);
    if (n > 1 && me < 2) {
        MPI_Group second = only(1);
        int code =
            MPIX_Reduce_to(in, out, me ? 1 : 2, MPI_INT, MPI_SUM, first, second, MPI_COMM_WORLD);
        if (me)
            BAD(code, MPI_ERR_TRUNCATE, "MPIX_Reduce_to", "do not agree");
        else
            CHECK_OK(code);
        CHECK_OK(MPI_Group_free(&second));
    }
    CHECK_OK(MPI_Group_free(&first));
    CHECK_OK(MPIX_Reduce_to(in, out, 1, MPI_INT, MPI_SUM, all, all, MPI_COMM_WORLD));
    CHECK_INT(out[0], n);
}

static void round_of_calls(int i, void *state)
{
    MPI_Group *all = state;
    int in = world_rank() + i, out = -1, n = world_size();
    MPI_Request request;
    CHECK_OK(MPIX_Ireduce_to(&in, &out, 1, MPI_INT, MPI_SUM, *all, *all, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(out, n * i + n * (n - 1) / 2);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    MPI_Group all;
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    wrong(all);
    between_two(all);
    disagreement(all);
    check_growth(round_of_calls, &all, rounds_of(10000));
    CHECK_OK(MPI_Group_free(&all));
    CHECK_OK(MPI_Finalize());
    return 0;
}
