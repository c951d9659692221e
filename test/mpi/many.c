// SPDX-License-Identifier: BSD-3-Clause
//
// Ten thousand messages in flight to the right neighbour, with as many receives posted before them
// or after them, in the same order, in reverse, shuffled, and with wildcards.

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { N = 4000, STEP = 7919, GO = 20000 }; // STEP and N have no common factor

enum order { FORWARD, REVERSE, SHUFFLED };

static int tag_at(enum order order, int i)
{
    switch (order) {
    case FORWARD:
        return i;
    case REVERSE:
        return N - 1 - i;
    default:
        return (int)((long long)i * STEP % N);
    }
}

struct many {
    int left, right;
    long *out, *in; // by tag
    MPI_Request *sends, *recvs;
    MPI_Status *statuses;
};

static void post(struct many *m, enum order order)
{
    for (int i = 0; i < N; i++) {
        int tag = tag_at(order, i);
        m->in[tag] = -1;
        CHECK_OK(MPI_Irecv(&m->in[tag], 1, MPI_LONG, m->left, tag, WORLD, &m->recvs[i]));
    }
}

static void start(struct many *m, enum order order)
{
    for (int i = 0; i < N; i++) {
        int tag = tag_at(order, i);
        m->out[tag] = world_rank() * 100000L + tag;
        CHECK_OK(MPI_Isend(&m->out[tag], 1, MPI_LONG, m->right, tag, WORLD, &m->sends[i]));
    }
}

// A message to the right neighbour behind all others, which it receives first.
static void pass_go(struct many *m)
{
    CHECK_OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, m->right, GO, NULL, 0, MPI_BYTE, m->left, GO, WORLD,
                          MPI_STATUS_IGNORE));
}

static void by_tag(struct many *m, enum order posting, enum order sending, int posted_first)
{
    if (posted_first) {
        post(m, posting);
        CHECK_OK(MPI_Barrier(WORLD));
        start(m, sending);
    } else {
        start(m, sending);
        pass_go(m);
        post(m, posting);
    }
    CHECK_OK(MPI_Waitall(N, m->recvs, m->statuses));
    CHECK_OK(MPI_Waitall(N, m->sends, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; i++) {
        int tag = tag_at(posting, i);
        CHECK_STATUS(&m->statuses[i], m->left, tag, sizeof(long));
        CHECK_INT(m->in[tag], m->left * 100000L + tag);
    }
    CHECK_OK(MPI_Barrier(WORLD));
}

// Receives from anybody of any tag get the messages in the order in which they were sent.
static void by_wildcards(struct many *m, enum order sending, int posted_first)
{
    if (!posted_first) {
        start(m, sending);
        pass_go(m);
    }
    for (int i = 0; i < N; i++)
        CHECK_OK(MPI_Irecv(&m->in[i], 1, MPI_LONG, i % 3 ? MPI_ANY_SOURCE : m->left, MPI_ANY_TAG,
                           WORLD, &m->recvs[i]));
    if (posted_first) {
        CHECK_OK(MPI_Barrier(WORLD));
        start(m, sending);
    }
    CHECK_OK(MPI_Waitall(N, m->recvs, m->statuses));
    CHECK_OK(MPI_Waitall(N, m->sends, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; i++) {
        int tag = tag_at(sending, i);
        CHECK_STATUS(&m->statuses[i], m->left, tag, sizeof(long));
        CHECK_INT(m->in[i], m->left * 100000L + tag);
    }
    CHECK_OK(MPI_Barrier(WORLD));
}

int main(int argc, char **argv)
{
    struct many m;
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size();
    m.left = (rank + size - 1) % size;
    m.right = (rank + 1) % size;
    m.out = must_alloc(N * sizeof *m.out);
    m.in = must_alloc(N * sizeof *m.in);
    m.sends = must_alloc(N * sizeof *m.sends);
    m.recvs = must_alloc(N * sizeof *m.recvs);
    m.statuses = must_alloc(N * sizeof *m.statuses);
    for (int posted_first = 0; posted_first < 2; posted_first++) {
        by_tag(&m, FORWARD, FORWARD, posted_first);
        by_tag(&m, FORWARD, REVERSE, posted_first);
        by_tag(&m, SHUFFLED, FORWARD, posted_first);
        by_wildcards(&m, FORWARD, posted_first);
        by_wildcards(&m, SHUFFLED, posted_first);
    }
    free(m.out);
    free(m.in);
    free(m.sends);
    free(m.recvs);
    free(m.statuses);
    CHECK_OK(MPI_Finalize());
    return 0;
}
