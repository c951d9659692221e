// SPDX-License-Identifier: BSD-3-Clause
//
// A datatype that one thread frees while another one is in a blocking call with it lives until the
// call returns. Rank by rank, with itself: the thread's message, or its probe, says that it is in.

#include "threads.h"

enum { NEW = 200, TAG_IN = 1, TAG_DATA = 2 };

typedef struct blocked {
    int n;
    MPI_Datatype type;
    int *out, *in;
} blocked;

static MPI_Datatype every_second(int n)
{
    MPI_Datatype type;
    CHECK_OK(MPI_Type_vector(n, 1, 2, MPI_INT, &type));
    CHECK_OK(MPI_Type_commit(&type));
    return type;
}

// Frees a type, and takes its memory if that was given back.
static void free_and_stir(MPI_Datatype *type)
{
    MPI_Datatype types[NEW];
    CHECK_OK(MPI_Type_free(type));
    for (int i = 0; i < NEW; i++)
        CHECK_OK(MPI_Type_vector(3 + i, 1, 3, MPI_CHAR, &types[i]));
    for (int i = 0; i < NEW; i++)
        CHECK_OK(MPI_Type_free(&types[i]));
}

static void fill(blocked *b, int n)
{
    b->n = n;
    b->type = every_second(n);
    b->out = must_alloc((size_t)n * 2 * sizeof(int));
    b->in = must_alloc((size_t)n * 2 * sizeof(int));
    for (int i = 0; i < 2 * n; i++) {
        b->out[i] = i;
        b->in[i] = -1;
    }
}

static void check_in(const blocked *b, int step)
{
    for (int i = 0; i < b->n; i++)
        CHECK_INT(b->in[2 * i], step * i);
    for (int i = 0; i < b->n; i++)
        CHECK_INT(b->in[2 * i + 1], -1);
    free(b->out);
    free(b->in);
}

// ---- a receive waits

static void receives(team *t, int index)
{
    blocked *b = t->data;
    CHECK_OK(MPI_Sendrecv(&index, 1, MPI_INT, 0, TAG_IN, b->in, 1, b->type, 0, TAG_DATA,
                          MPI_COMM_SELF, MPI_STATUS_IGNORE));
}

static void free_while_receiving(int n)
{
    blocked b;
    team t = {.work = receives, .data = &b};
    int index = -1;
    fill(&b, n);
    team_start(&t, 1);
    CHECK_OK(MPI_Recv(&index, 1, MPI_INT, 0, TAG_IN, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    free_and_stir(&b.type);
    CHECK_OK(MPI_Send(b.out, n, MPI_INT, 0, TAG_DATA, MPI_COMM_SELF));
    team_join(&t);
    check_in(&b, 1);
}

// ---- a send waits

static void sends(team *t, int index)
{
    blocked *b = t->data;
    CHECK_INT(index, 0);
    CHECK_OK(MPI_Ssend(b->out, 1, b->type, 0, TAG_DATA, MPI_COMM_SELF));
}

static void free_while_sending(int n)
{
    blocked b;
    team t = {.work = sends, .data = &b};
    fill(&b, n);
    MPI_Datatype mine = every_second(n);
    team_start(&t, 1);
    CHECK_OK(MPI_Probe(0, TAG_DATA, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    free_and_stir(&b.type);
    CHECK_OK(MPI_Recv(b.in, 1, mine, 0, TAG_DATA, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Type_free(&mine));
    team_join(&t);
    check_in(&b, 2);
}

// ---- both: the send of an exchange waits, and its receive has not begun to

static void exchanges(team *t, int index)
{
    blocked *b = t->data;
    CHECK_INT(index, 0);
    CHECK_OK(MPI_Sendrecv(b->out, b->n, MPI_INT, 0, TAG_IN, b->in, 1, b->type, 0, TAG_DATA,
                          MPI_COMM_SELF, MPI_STATUS_IGNORE));
}

static void free_while_exchanging(int n)
{
    blocked b;
    team t = {.work = exchanges, .data = &b};
    fill(&b, n);
    int *got = must_alloc((size_t)n * sizeof(int));
    team_start(&t, 1);
    CHECK_OK(MPI_Probe(0, TAG_IN, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    free_and_stir(&b.type);
    CHECK_OK(MPI_Send(b.out, n, MPI_INT, 0, TAG_DATA, MPI_COMM_SELF));
    CHECK_OK(MPI_Recv(got, n, MPI_INT, 0, TAG_IN, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    for (int i = 0; i < n; i++)
        CHECK_INT(got[i], i);
    free(got);
    team_join(&t);
    check_in(&b, 1);
}

int main(void)
{
    const int sizes[] = {3, 1000, 200000};
    init_level(MPI_THREAD_MULTIPLE);
    for (int i = 0; i < COUNT_OF(sizes); i++) {
        free_while_receiving(sizes[i]);
        free_while_sending(sizes[i]);
        free_while_exchanging(sizes[i]);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
