// SPDX-License-Identifier: BSD-3-Clause
//
// Collective calls that do not fit each other: the last rank says something else than the others.
// Some rank is told, with both sides, by that call or by the next one on the communicator; and
// whoever goes on gets right results. Without an argument errors return, and all that cannot
// deadlock are tried, each on a communicator of its own; with one, that one is fatal.

#include <millet/coll.h>

#include "check.h"

enum { MOST = 64 };

struct place {
    MPI_Comm comm;
    int me, n, other; // other: says something else
    long long in[MOST], out[MOST];
    int counts[MOST], displs[MOST];
};

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    for (int i = 0; i < *count; i++)
        ((long long *)inout)[i] += ((long long *)in)[i];
    (void)type;
}

static int op(struct place *p)
{
    return MPI_Allreduce(p->in, p->out, 1, MPI_LONG_LONG, p->other ? MPI_MAX : MPI_SUM, p->comm);
}

static int equal_bytes(struct place *p)
{
    return MPI_Allreduce(p->in, p->out, p->other ? 2 : 1, p->other ? MPI_INT : MPI_DOUBLE, MPI_SUM,
                         p->comm);
}

static int value(struct place *p)
{
    return MPI_Allreduce(p->in, p->out, 1, MPI_2INT, p->other ? MPI_MINLOC : MPI_MAXLOC, p->comm);
}

static int user_op(struct place *p)
{
    MPI_Op own;
    CHECK_OK(MPI_Op_create(add, 1, &own));
    int code = MPI_Scan(p->in, p->out, 1, MPI_LONG_LONG, p->other ? own : MPI_SUM, p->comm);
    CHECK_OK(MPI_Op_free(&own));
    return code;
}

static int reduce_op(struct place *p)
{
    return MPI_Reduce(p->in, p->out, 1, MPI_INT, p->other ? MPI_BAND : MPI_BOR, 0, p->comm);
}

static int scan(struct place *p)
{
    return p->other ? MPI_Exscan(p->in, p->out, 1, MPI_INT, MPI_SUM, p->comm)
                    : MPI_Exscan(p->in, p->out, 1, MPI_INT, MPI_PROD, p->comm);
}

static int blocks(struct place *p)
{
    return MPI_Reduce_scatter_block(p->in, p->out, 1, MPI_FLOAT, p->other ? MPI_MIN : MPI_MAX,
                                    p->comm);
}

static int root(struct place *p)
{
    return MPI_Bcast(p->in, 2, MPI_INT, p->other ? p->n - 1 : 0, p->comm);
}

static int list_root(struct place *p)
{
    return MPI_Scatterv(p->in, p->counts, p->displs, MPI_INT, p->out, 1, MPI_INT,
                        p->other ? p->n - 1 : 0, p->comm);
}

static int nonblocking(struct place *p)
{
    MPI_Request request;
    CHECK_OK(
        MPI_Iallreduce(p->in, p->out, 1, MPI_INT, p->other ? MPI_MAX : MPI_SUM, p->comm, &request));
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int persistent(struct place *p)
{
    MPI_Request request;
    CHECK_OK(MPI_Allreduce_init(p->in, p->out, 1, MPI_INT, p->other ? MPI_MAX : MPI_SUM, p->comm,
                                MPI_INFO_NULL, &request));
    CHECK_OK(MPI_Start(&request));
    int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_OK(MPI_Request_free(&request));
    return code;
}

static int neighbours(struct place *p)
{
    MPI_Comm ring;
    CHECK_OK(MPI_Cart_create(p->comm, 1, &p->n, &(int){1}, 0, &ring));
    CHECK_OK(MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN));
    int code = p->other ? MPI_Neighbor_allgather(p->in, 1, MPI_INT, p->out, 1, MPI_INT, ring)
                        : MPI_Neighbor_alltoall(p->in, 1, MPI_INT, p->out, 1, MPI_INT, ring);
    CHECK_OK(MPI_Comm_free(&ring));
    return code;
}

static int between_groups(struct place *p)
{
    MPI_Comm local, inter;
    int first = p->me == 0;
    CHECK_OK(MPI_Comm_split(p->comm, first, p->me, &local));
    CHECK_OK(MPI_Intercomm_create(local, 0, p->comm, first ? 1 : 0, 5, &inter));
    CHECK_OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    int code = MPI_Allreduce(p->in, p->out, 1, MPI_INT, p->other ? MPI_MAX : MPI_SUM, inter);
    CHECK_OK(MPI_Comm_free(&inter));
    CHECK_OK(MPI_Comm_free(&local));
    return code;
}

static int reduce_to(struct place *p)
{
    MPI_Group all;
    CHECK_OK(MPI_Comm_group(p->comm, &all));
    int code =
        MPIX_Reduce_to(p->in, p->out, 1, MPI_INT, p->other ? MPI_MAX : MPI_SUM, all, all, p->comm);
    CHECK_OK(MPI_Group_free(&all));
    return code;
}

// ---- those that may deadlock

static int reduce_root(struct place *p)
{
    return MPI_Reduce(p->in, p->out, 1, MPI_INT, MPI_SUM, p->other ? p->n - 1 : 0, p->comm);
}

static int gather_root(struct place *p)
{
    return MPI_Gather(p->in, 1, MPI_INT, p->out, 1, MPI_INT, p->other ? p->n - 1 : 0, p->comm);
}

static int collective(struct place *p)
{
    return p->other ? MPI_Bcast(p->in, 1, MPI_INT, 0, p->comm) : MPI_Barrier(p->comm);
}

// Nobody makes a call after it.
static int last_call(struct place *p)
{
    return root(p);
}

static int missing(struct place *p)
{
    return p->me == 0
               ? MPI_Scatterv(p->in, p->counts, p->displs, MPI_INT, p->out, 1, MPI_INT, 0, p->comm)
               : MPI_SUCCESS;
}

static const struct {
    const char *name;
    int (*call)(struct place *p);
} gentle[] =
    {
        {"op", op},
        {"equal_bytes", equal_bytes},
        {"value", value},
        {"user_op", user_op},
        {"reduce_op", reduce_op},
        {"scan", scan},
        {"blocks", blocks},
        {"root", root},
        {"list_root", list_root},
        {"nonblocking", nonblocking},
        {"persistent", persistent},
        {"neighbours", neighbours},
        {"between_groups", between_groups},
        {"reduce_to", reduce_to},
},
  harsh[] = {
      {"reduce_root", reduce_root}, {"gather_root", gather_root}, {"collective", collective},
      {"last_call", last_call},     {"missing", missing},
};

static void fill(struct place *p, MPI_Comm comm)
{
    p->comm = comm;
    CHECK_OK(MPI_Comm_rank(comm, &p->me));
    CHECK_OK(MPI_Comm_size(comm, &p->n));
    CHECK(p->n <= MOST);
    p->other = p->me == p->n - 1;
    for (int i = 0; i < MOST; i++) {
        p->in[i] = p->me;
        p->out[i] = 0;
        p->counts[i] = 1;
        p->displs[i] = i;
    }
}

// Told with both sides, and not of a call that fits.
static int is_told(int code)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length;
    if (code == MPI_SUCCESS)
        return 0;
    CHECK_OK(MPI_Error_string(code, text, &length));
    const char *one = strstr(text, " says ");
    if (!strstr(text, "do not agree about the call") || !one || !strstr(one + 6, " says "))
        check_fail(__FILE__, __LINE__, "not both sides: %s", text);
    return 1;
}

static void try(const char *name, int (*call)(struct place *p))
{
    MPI_Comm comm;
    struct place p;
    int told[2] = {0, 1}, all[2] = {0, 0};
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    fill(&p, comm);
    told[0] = is_told(call(&p));
    told[0] += is_told(MPI_Barrier(comm));
    CHECK_OK(MPI_Allreduce(told, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (all[0] == 0)
        check_fail(__FILE__, __LINE__, "%s: nobody was told", name);
    CHECK_INT(all[1], p.n);
    (void)is_told(MPI_Barrier(comm)); // of a message that came late
    CHECK_OK(MPI_Allreduce(told + 1, all, 1, MPI_INT, MPI_SUM, comm));
    CHECK_INT(all[0], p.n);
    CHECK_OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    struct place p;
    CHECK_OK(MPI_Init(&argc, &argv));
    if (argc > 1) {
        fill(&p, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT_OF(harsh); i++)
            if (strcmp(argv[1], harsh[i].name) == 0)
                harsh[i].call(&p);
    } else {
        for (int i = 0; i < COUNT_OF(gentle); i++)
            try(gentle[i].name, gentle[i].call);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
