// SPDX-License-Identifier: BSD-3-Clause
//
// Random traffic of all with all, from a seed (the argument). Every rank knows every plan: what
// each rank sends to each other, in which order, with which tags, sizes and modes. The receiver
// posts some receives before anything is sent, and takes the rest with blocking receives and probes
// that choose source and tag or leave them open. By the standard's order rule the choice determines
// which message of a sender must come, so each is checked.

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { PER_PAIR = 60, TAGS = 4, MAX_BYTES = 150000, ROUNDS = 3 };

struct message {
    int tag, bytes, synchronous;
};

// What `source` sends to `dest` in a round; the same on both sides.
static void make_plan(struct message *plan, uint64_t seed, int round, int source, int dest)
{
    uint64_t state =
        seed * 1000003u + (uint64_t)round * 10007u + (uint64_t)source * 101u + (uint64_t)dest;
    for (int i = 0; i < PER_PAIR; i++) {
        int kind = random_below(&state, 100);
        plan[i].tag = random_below(&state, TAGS);
        plan[i].synchronous = random_below(&state, 4) == 0;
        if (kind < 60)
            plan[i].bytes = random_below(&state, 100);
        else if (kind < 85)
            plan[i].bytes = random_below(&state, 5000);
        else if (kind < 97)
            plan[i].bytes = random_below(&state, 70000);
        else
            plan[i].bytes = random_below(&state, MAX_BYTES);
    }
}

static unsigned seed_of(int source, int dest, int i)
{
    return (unsigned)(source * 31 + dest * 17 + i);
}

// The receiver's view: per source the plan and what has come of it.
struct inbox {
    int rank, size, left;
    struct message *plans; // [source][PER_PAIR]
    char *taken;           // [source][PER_PAIR]
    char *buf;
};

static int at(int source, int i)
{
    return source * PER_PAIR + i;
}

// The earliest message of a source that was not taken and has this tag; -1 if there is none.
static int earliest(const struct inbox *in, int source, int tag)
{
    for (int i = 0; i < PER_PAIR; i++)
        if (!in->taken[at(source, i)] &&
            (tag == MPI_ANY_TAG || in->plans[at(source, i)].tag == tag))
            return i;
    return -1;
}

static void check_message(const struct inbox *in, int source, int i, const char *buf,
                          const MPI_Status *status)
{
    const struct message *m = &in->plans[at(source, i)];
    CHECK_STATUS(status, source, m->tag, m->bytes);
    CHECK_PATTERN(buf, (size_t)m->bytes, seed_of(source, in->rank, i));
}

// A receive that was posted before anything was sent.
struct early {
    int source, index;
    char *buf;
};

static int post_early(struct inbox *in, struct early *early, MPI_Request *requests, uint64_t *state)
{
    int n = 0;
    for (int source = 0; source < in->size; source++) {
        for (int k = random_below(state, PER_PAIR / 2); k > 0; k--) {
            int tag = random_below(state, TAGS), i = earliest(in, source, tag);
            if (i < 0)
                continue;
            in->taken[at(source, i)] = 1;
            in->left--;
            early[n].source = source;
            early[n].index = i;
            early[n].buf = must_alloc((size_t)in->plans[at(source, i)].bytes);
            CHECK_OK(MPI_Irecv(early[n].buf, in->plans[at(source, i)].bytes, MPI_BYTE, source, tag,
                               WORLD, &requests[n]));
            n++;
        }
    }
    return n;
}

// One blocking receive, with source and tag chosen such that a message is to come.
static void take_one(struct inbox *in, uint64_t *state)
{
    int source = random_below(state, in->size), way = random_below(state, 8);
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    while (earliest(in, source, MPI_ANY_TAG) < 0)
        source = (source + 1) % in->size;
    int tag = in->plans[at(source, earliest(in, source, MPI_ANY_TAG))].tag;
    if (way & 1) {
        int other = random_below(state, TAGS);
        if (earliest(in, source, other) >= 0)
            tag = other;
    }
    int want_source = way & 2 ? MPI_ANY_SOURCE : source, want_tag = way & 1 ? tag : MPI_ANY_TAG;
    if (way & 4) {
        CHECK_OK(MPI_Mprobe(want_source, want_tag, WORLD, &message, &status));
        CHECK_OK(MPI_Mrecv(in->buf, MAX_BYTES, MPI_BYTE, &message, &status));
    } else {
        CHECK_OK(MPI_Recv(in->buf, MAX_BYTES, MPI_BYTE, want_source, want_tag, WORLD, &status));
    }
    source = status.MPI_SOURCE;
    CHECK(source >= 0 && source < in->size);
    int i = earliest(in, source, want_tag);
    CHECK(i >= 0);
    check_message(in, source, i, in->buf, &status);
    in->taken[at(source, i)] = 1;
    in->left--;
}

// Starts all sends of a round, in an order that is random between destinations.
static void start_sends(uint64_t seed, int round, char **out, MPI_Request *requests)
{
    int rank = world_rank(), size = world_size();
    uint64_t state = seed * 77u + (uint64_t)(round * 1000 + rank);
    struct message *plans = must_alloc((size_t)(size * PER_PAIR) * sizeof *plans);
    int *next = must_alloc((size_t)size * sizeof *next);
    for (int dest = 0; dest < size; dest++) {
        make_plan(&plans[at(dest, 0)], seed, round, rank, dest);
        next[dest] = 0;
    }
    for (int n = 0; n < size * PER_PAIR; n++) {
        int dest = random_below(&state, size);
        while (next[dest] == PER_PAIR)
            dest = (dest + 1) % size;
        int i = next[dest]++;
        struct message *m = &plans[at(dest, i)];
        out[n] = must_alloc((size_t)m->bytes);
        pattern_fill(out[n], (size_t)m->bytes, seed_of(rank, dest, i));
        if (m->synchronous)
            CHECK_OK(MPI_Issend(out[n], m->bytes, MPI_BYTE, dest, m->tag, WORLD, &requests[n]));
        else
            CHECK_OK(MPI_Isend(out[n], m->bytes, MPI_BYTE, dest, m->tag, WORLD, &requests[n]));
    }
    free(plans);
    free(next);
}

static void run_round(uint64_t seed, int round)
{
    struct inbox in;
    in.rank = world_rank();
    in.size = world_size();
    int total = in.size * PER_PAIR;
    size_t n = (size_t)total;
    in.left = total;
    in.plans = must_alloc(n * sizeof *in.plans);
    in.taken = must_alloc(n);
    in.buf = must_alloc(MAX_BYTES);
    memset(in.taken, 0, n);
    for (int source = 0; source < in.size; source++)
        make_plan(&in.plans[at(source, 0)], seed, round, source, in.rank);

    uint64_t state = seed * 31u + (uint64_t)(in.rank + 1000 * round);
    struct early *early = must_alloc(n * sizeof *early);
    MPI_Request *recvs = must_alloc(n * sizeof *recvs), *sends = must_alloc(n * sizeof *sends);
    MPI_Status *statuses = must_alloc(n * sizeof *statuses);
    char **out = must_alloc(n * sizeof *out);
    int posted = post_early(&in, early, recvs, &state);
    if (round % 2)
        CHECK_OK(MPI_Barrier(WORLD));
    start_sends(seed, round, out, sends);
    while (in.left > 0)
        take_one(&in, &state);
    CHECK_OK(MPI_Waitall(posted, recvs, statuses));
    for (int i = 0; i < posted; i++) {
        check_message(&in, early[i].source, early[i].index, early[i].buf, &statuses[i]);
        free(early[i].buf);
    }
    CHECK_OK(MPI_Waitall(total, sends, MPI_STATUSES_IGNORE));
    for (int i = 0; i < total; i++)
        free(out[i]);
    CHECK_OK(MPI_Barrier(WORLD)); // rounds do not mix
    free(in.plans);
    free(in.taken);
    free(in.buf);
    free(early);
    free(recvs);
    free(sends);
    free(statuses);
    free(out);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    CHECK_OK(MPI_Init(&argc, &argv));
    for (int round = 0; round < ROUNDS; round++)
        run_round(seed, round);
    CHECK_OK(MPI_Finalize());
    return 0;
}
