// SPDX-License-Identifier: BSD-3-Clause
// The functions that Debian's ScaLAPACK for MPICH calls, in MPICH's binary interface, on Millet.
//
// bench/scalapack/run builds it in the place of MPICH's libraries. It is no general way to run programs
// that were built with MPICH: it knows what BLACS and its testers use, and ends the program when it
// is given anything else.
//
// MPICH's handles are ints, in both languages. Predefined ones have numbers of MPICH's, which are
// above 0x04000000. For others this gives out Millet's Fortran handles, which are small, so they
// need no table here. MPI_Init and other functions without handles are Millet's own.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Begins a function of MPICH's interface. mpi.h declares its name with Millet's types, so here it has
// another one, and its symbol is given apart.
#define SHOWN __attribute__((visibility("default")))
#define MPICH(type, name, ...)                                                                     \
    SHOWN type m_##name(__VA_ARGS__) __asm__("MPI_" #name);                                        \
    type m_##name(__VA_ARGS__)
#define FORTRAN(name, ...)                                                                         \
    SHOWN void mpi_##name##_(__VA_ARGS__);                                                         \
    void mpi_##name##_(__VA_ARGS__)

enum {
    COMM_NULL = 0x04000000,
    GROUP_NULL = 0x08000000,
    DATATYPE_NULL = 0x0c000000,
    REQUEST_NULL = 0x2c000000,
    OP_NULL = 0x18000000,
    COMM_WORLD = 0x44000000,
    SUM = 0x58000003,
    TAG_UB = 0x64400001,
    FIRST_OWN = COMM_NULL, // handles below are Millet's
    PROC_NULL = -1,
    ANY_SOURCE = -2,
    ANY_TAG = -1,
    FEW = 64, // requests of one call, at most
};

typedef struct status {
    int count_low, count_high, source, tag, error;
} status;
#define STATUS_IGNORE ((status *)1) // in C

static const struct {
    int number;
    MPI_Datatype type;
} DATATYPES[] = {
    {DATATYPE_NULL, MPI_DATATYPE_NULL},
    {0x4c00010d, MPI_BYTE},
    {0x4c00010f, MPI_PACKED},
    {0x4c000204, MPI_UNSIGNED_SHORT},
    {0x4c000405, MPI_INT},
    {0x4c00040a, MPI_FLOAT},
    {0x4c00080b, MPI_DOUBLE},
    {0x4c00081e, MPI_COMPLEX},
    {0x4c001022, MPI_DOUBLE_COMPLEX},
    {0x4c00041b, MPI_INTEGER},
    {0x4c00041c, MPI_REAL},
    {0x4c00081f, MPI_DOUBLE_PRECISION},
    {0x4c00011a, MPI_CHARACTER},
    {0x4c00041d, MPI_LOGICAL},
};
enum { DATATYPES_N = sizeof DATATYPES / sizeof *DATATYPES };

static _Noreturn void unknown(const char *what, int number)
{
    fprintf(stderr, "mpich_abi: a %s that this does not know: %#x\n", what, (unsigned)number);
    abort();
}

static MPI_Datatype datatype(int number)
{
    if (number < FIRST_OWN)
        return PMPI_Type_f2c(number);
    for (int i = 0; i < DATATYPES_N; i++)
        if (DATATYPES[i].number == number)
            return DATATYPES[i].type;
    unknown("datatype", number);
}

static int datatype_number(MPI_Datatype type)
{
    for (int i = 0; i < DATATYPES_N; i++)
        if (DATATYPES[i].type == type)
            return DATATYPES[i].number;
    return PMPI_Type_c2f(type);
}

static MPI_Comm comm(int number)
{
    return number < FIRST_OWN     ? PMPI_Comm_f2c(number)
           : number == COMM_WORLD ? MPI_COMM_WORLD
           : number == COMM_NULL  ? MPI_COMM_NULL
                                  : (unknown("communicator", number), MPI_COMM_NULL);
}

static int comm_number(MPI_Comm c)
{
    return c == MPI_COMM_NULL ? COMM_NULL : c == MPI_COMM_WORLD ? COMM_WORLD : PMPI_Comm_c2f(c);
}

static MPI_Op op(int number)
{
    return number < FIRST_OWN ? PMPI_Op_f2c(number)
           : number == SUM    ? MPI_SUM
                              : (unknown("operation", number), MPI_OP_NULL);
}

static MPI_Request request(int number)
{
    return number == REQUEST_NULL ? MPI_REQUEST_NULL : PMPI_Request_f2c(number);
}

static int request_number(MPI_Request r)
{
    return r == MPI_REQUEST_NULL ? REQUEST_NULL : PMPI_Request_c2f(r);
}

static int peer(int rank)
{
    return rank == ANY_SOURCE ? MPI_ANY_SOURCE : rank == PROC_NULL ? MPI_PROC_NULL : rank;
}

static int tag(int tag)
{
    return tag == ANY_TAG ? MPI_ANY_TAG : tag;
}

// Only source and tag: nobody here asks for a count.
static void set_status(status *to, const MPI_Status *from)
{
    if (to == STATUS_IGNORE)
        return;
    *to = (status){.source = from->MPI_SOURCE == MPI_PROC_NULL ? PROC_NULL : from->MPI_SOURCE,
                   .tag = from->MPI_TAG == MPI_ANY_TAG ? ANY_TAG : from->MPI_TAG,
                   .error = from->MPI_ERROR};
}

MPICH(int, Abort, int c, int code)
{
    return PMPI_Abort(comm(c), code);
}

// ---- communicators and groups

MPICH(int, Comm_rank, int c, int *rank)
{
    return PMPI_Comm_rank(comm(c), rank);
}

MPICH(int, Comm_size, int c, int *size)
{
    return PMPI_Comm_size(comm(c), size);
}

MPICH(int, Comm_dup, int c, int *new)
{
    MPI_Comm made = MPI_COMM_NULL;
    int code = PMPI_Comm_dup(comm(c), &made);
    *new = comm_number(made);
    return code;
}

MPICH(int, Comm_split, int c, int color, int key, int *new)
{
    MPI_Comm made = MPI_COMM_NULL;
    int code = PMPI_Comm_split(comm(c), color, key, &made);
    *new = comm_number(made);
    return code;
}

MPICH(int, Comm_create, int c, int group, int *new)
{
    MPI_Comm made = MPI_COMM_NULL;
    int code = PMPI_Comm_create(comm(c), PMPI_Group_f2c(group), &made);
    *new = comm_number(made);
    return code;
}

MPICH(int, Comm_free, int *c)
{
    MPI_Comm old = comm(*c);
    int code = PMPI_Comm_free(&old);
    *c = comm_number(old);
    return code;
}

MPICH(int, Comm_get_attr, int c, int key, void *value, int *flag)
{
    if (key != TAG_UB)
        unknown("key of an attribute", key);
    return PMPI_Comm_get_attr(comm(c), MPI_TAG_UB, value, flag);
}

MPICH(int, Comm_group, int c, int *group)
{
    MPI_Group got = MPI_GROUP_NULL;
    int code = PMPI_Comm_group(comm(c), &got);
    *group = PMPI_Group_c2f(got);
    return code;
}

MPICH(int, Group_incl, int group, int n, const int *ranks, int *new)
{
    MPI_Group made = MPI_GROUP_NULL;
    int code = PMPI_Group_incl(PMPI_Group_f2c(group), n, ranks, &made);
    *new = PMPI_Group_c2f(made);
    return code;
}

MPICH(int, Group_free, int *group)
{
    MPI_Group old = PMPI_Group_f2c(*group);
    int code = PMPI_Group_free(&old);
    *group = GROUP_NULL;
    return code;
}

// ---- messages

MPICH(int, Send, const void *buf, int n, int type, int dest, int t, int c)
{
    return PMPI_Send(buf, n, datatype(type), peer(dest), t, comm(c));
}

MPICH(int, Rsend, const void *buf, int n, int type, int dest, int t, int c)
{
    return PMPI_Rsend(buf, n, datatype(type), peer(dest), t, comm(c));
}

MPICH(int, Recv, void *buf, int n, int type, int source, int t, int c, status *s)
{
    MPI_Status got = {0};
    int code = PMPI_Recv(buf, n, datatype(type), peer(source), tag(t), comm(c), &got);
    set_status(s, &got);
    return code;
}

MPICH(int, Sendrecv, const void *out, int outs, int out_type, int dest, int out_tag, void *in,
      int ins, int in_type, int source, int in_tag, int c, status *s)
{
    MPI_Status got = {0};
    int code = PMPI_Sendrecv(out, outs, datatype(out_type), peer(dest), out_tag, in, ins,
                             datatype(in_type), peer(source), tag(in_tag), comm(c), &got);
    set_status(s, &got);
    return code;
}

MPICH(int, Isend, const void *buf, int n, int type, int dest, int t, int c, int *r)
{
    MPI_Request made = MPI_REQUEST_NULL;
    int code = PMPI_Isend(buf, n, datatype(type), peer(dest), t, comm(c), &made);
    *r = request_number(made);
    return code;
}

MPICH(int, Irecv, void *buf, int n, int type, int source, int t, int c, int *r)
{
    MPI_Request made = MPI_REQUEST_NULL;
    int code = PMPI_Irecv(buf, n, datatype(type), peer(source), tag(t), comm(c), &made);
    *r = request_number(made);
    return code;
}

// Waits for all, or tests them if there is a flag.
static int complete_all(int n, int *numbers, int *flag, status *statuses)
{
    if (n > FEW)
        unknown("number of requests", n);
    MPI_Request requests[FEW];
    MPI_Status got[FEW] = {{0}};
    for (int i = 0; i < n; i++)
        requests[i] = request(numbers[i]);
    int code = flag ? PMPI_Testall(n, requests, flag, got) : PMPI_Waitall(n, requests, got);
    for (int i = 0; i < n; i++) {
        numbers[i] = request_number(requests[i]);
        if (statuses != STATUS_IGNORE)
            set_status(&statuses[i], &got[i]);
    }
    return code;
}

MPICH(int, Waitall, int n, int *requests, status *statuses)
{
    return complete_all(n, requests, NULL, statuses);
}

MPICH(int, Testall, int n, int *requests, int *flag, status *statuses)
{
    return complete_all(n, requests, flag, statuses);
}

// ---- all ranks

MPICH(int, Barrier, int c)
{
    return PMPI_Barrier(comm(c));
}

MPICH(int, Bcast, void *buf, int n, int type, int root, int c)
{
    return PMPI_Bcast(buf, n, datatype(type), root, comm(c));
}

static void *refuse_in_place(const void *buf)
{
    if (buf == (const void *)(intptr_t)-1)
        unknown("buffer", -1);
    return (void *)(uintptr_t)buf;
}

MPICH(int, Reduce, const void *in, void *out, int n, int type, int o, int root, int c)
{
    return PMPI_Reduce(refuse_in_place(in), out, n, datatype(type), op(o), root, comm(c));
}

MPICH(int, Allreduce, const void *in, void *out, int n, int type, int o, int c)
{
    return PMPI_Allreduce(refuse_in_place(in), out, n, datatype(type), op(o), comm(c));
}

// BLACS' functions do not look at their datatype, so they may be called with Millet's.
MPICH(int, Op_create, MPI_User_function *function, int commutes, int *o)
{
    MPI_Op made = MPI_OP_NULL;
    int code = PMPI_Op_create(function, commutes, &made);
    *o = PMPI_Op_c2f(made);
    return code;
}

MPICH(int, Op_free, int *o)
{
    MPI_Op old = op(*o);
    int code = PMPI_Op_free(&old);
    *o = OP_NULL;
    return code;
}

// ---- datatypes

MPICH(int, Type_vector, int n, int block, int stride, int type, int *new)
{
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int code = PMPI_Type_vector(n, block, stride, datatype(type), &made);
    *new = datatype_number(made);
    return code;
}

MPICH(int, Type_indexed, int n, const int *blocks, const int *at, int type, int *new)
{
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int code = PMPI_Type_indexed(n, blocks, at, datatype(type), &made);
    *new = datatype_number(made);
    return code;
}

MPICH(int, Type_create_struct, int n, const int *blocks, const MPI_Aint *at, const int *types,
      int *new)
{
    MPI_Datatype made = MPI_DATATYPE_NULL, *parts = calloc((size_t)n + 1, sizeof *parts);
    if (!parts)
        unknown("number of datatypes", n);
    for (int i = 0; i < n; i++)
        parts[i] = datatype(types[i]);
    int code = PMPI_Type_create_struct(n, blocks, at, parts, &made);
    free(parts);
    *new = datatype_number(made);
    return code;
}

MPICH(int, Type_match_size, int class, int size, int *type)
{
    enum { REAL = 1, INTEGER, COMPLEX };
    MPI_Datatype found = MPI_DATATYPE_NULL;
    int code = PMPI_Type_match_size(class == REAL      ? MPI_TYPECLASS_REAL
                                    : class == INTEGER ? MPI_TYPECLASS_INTEGER
                                                       : MPI_TYPECLASS_COMPLEX,
                                    size, &found);
    *type = datatype_number(found);
    return code;
}

MPICH(int, Type_commit, int *type)
{
    MPI_Datatype same = datatype(*type);
    return PMPI_Type_commit(&same);
}

MPICH(int, Type_free, int *type)
{
    MPI_Datatype old = datatype(*type);
    int code = PMPI_Type_free(&old);
    *type = datatype_number(old);
    return code;
}

MPICH(int, Pack_size, int n, int type, int c, int *size)
{
    return PMPI_Pack_size(n, datatype(type), comm(c), size);
}

MPICH(int, Pack, const void *in, int n, int type, void *out, int size, int *position, int c)
{
    return PMPI_Pack(in, n, datatype(type), out, size, position, comm(c));
}

MPICH(int, Unpack, const void *in, int size, int *position, void *out, int n, int type, int c)
{
    return PMPI_Unpack(in, size, position, out, n, datatype(type), comm(c));
}

// ---- what testers call from Fortran

SHOWN double mpi_wtime_(void);
double mpi_wtime_(void)
{
    return PMPI_Wtime();
}

FORTRAN(init, int *ierror)
{
    *ierror = PMPI_Init(NULL, NULL);
}

FORTRAN(initialized, int *flag, int *ierror)
{
    *ierror = PMPI_Initialized(flag);
}

FORTRAN(abort, int *c, int *code, int *ierror)
{
    *ierror = m_Abort(*c, *code);
}

FORTRAN(comm_rank, int *c, int *rank, int *ierror)
{
    *ierror = m_Comm_rank(*c, rank);
}

FORTRAN(comm_size, int *c, int *size, int *ierror)
{
    *ierror = m_Comm_size(*c, size);
}

FORTRAN(comm_dup, int *c, int *new, int *ierror)
{
    *ierror = m_Comm_dup(*c, new);
}

FORTRAN(type_size, int *type, int *size, int *ierror)
{
    *ierror = PMPI_Type_size(datatype(*type), size);
}

FORTRAN(send, const void *buf, int *n, int *type, int *dest, int *t, int *c, int *ierror)
{
    *ierror = m_Send(buf, *n, *type, *dest, *t, *c);
}

// The testers give a status of their own, never MPI_STATUS_IGNORE.
FORTRAN(recv, void *buf, int *n, int *type, int *source, int *t, int *c, status *s, int *ierror)
{
    *ierror = m_Recv(buf, *n, *type, *source, *t, *c, s);
}
