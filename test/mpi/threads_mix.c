// SPDX-License-Identifier: BSD-3-Clause
//
// Many threads a rank: thread t of each rank talks to thread t of its partner, by every kind of
// call, with random sizes, all at once. Both sides draw the same random numbers, so that they agree
// on what comes next.
//
// arguments: rounds, threads

#include <stdbool.h>

#include "threads.h"

#define WORLD MPI_COMM_WORLD

enum { LARGEST = 700 * 1000, BSEND_LARGEST = 5000, SEVERAL = 4, BACK = 1000 };

typedef struct side {
    int peer, tag; // back: tag + BACK
    int round;
    size_t bytes;
    unsigned char *out, *in;
} side;

static unsigned seed_of(const side *s, int from)
{
    return (unsigned)(s->round * 131 + s->tag * 7 + from);
}

static void send_by(const side *s, int how)
{
    MPI_Request r;
    int n = (int)s->bytes, flag = 0;
    switch (how) {
    case 0:
        CHECK_OK(MPI_Send(s->out, n, MPI_BYTE, s->peer, s->tag, WORLD));
        break;
    case 1:
        CHECK_OK(MPI_Ssend(s->out, n, MPI_BYTE, s->peer, s->tag, WORLD));
        break;
    case 2:
        CHECK_OK(MPI_Isend(s->out, n, MPI_BYTE, s->peer, s->tag, WORLD, &r));
        CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        break;
    case 3:
        CHECK_OK(MPI_Issend(s->out, n, MPI_BYTE, s->peer, s->tag, WORLD, &r));
        while (!flag)
            CHECK_OK(MPI_Test(&r, &flag, MPI_STATUS_IGNORE));
        break;
    case 4:
        if (n > BSEND_LARGEST)
            CHECK_OK(MPI_Send(s->out, n, MPI_BYTE, s->peer, s->tag, WORLD));
        else
            CHECK_OK(MPI_Bsend(s->out, n, MPI_BYTE, s->peer, s->tag, WORLD));
        break;
    default:
        CHECK_OK(MPI_Send_init(s->out, n, MPI_BYTE, s->peer, s->tag, WORLD, &r));
        for (int i = 0; i < 2; i++) { // the receiver knows that it comes twice
            CHECK_OK(MPI_Start(&r));
            CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        }
        CHECK_OK(MPI_Request_free(&r));
    }
}

static void recv_once(const side *s, int how)
{
    MPI_Request r;
    MPI_Message m;
    MPI_Status status;
    int n = (int)s->bytes, flag = 0, index = -1;
    switch (how) {
    case 0:
        CHECK_OK(MPI_Recv(s->in, LARGEST, MPI_BYTE, s->peer, s->tag, WORLD, &status));
        break;
    case 1:
        CHECK_OK(MPI_Irecv(s->in, LARGEST, MPI_BYTE, s->peer, s->tag, WORLD, &r));
        while (!flag)
            CHECK_OK(MPI_Test(&r, &flag, &status));
        break;
    case 2:
        CHECK_OK(MPI_Probe(s->peer, s->tag, WORLD, &status));
        CHECK_STATUS(&status, s->peer, s->tag, n);
        CHECK_OK(MPI_Recv(s->in, n, MPI_BYTE, s->peer, s->tag, WORLD, &status));
        break;
    case 3:
        CHECK_OK(MPI_Mprobe(s->peer, s->tag, WORLD, &m, &status));
        CHECK_STATUS(&status, s->peer, s->tag, n);
        CHECK_OK(MPI_Mrecv(s->in, n, MPI_BYTE, &m, &status));
        break;
    case 4:
        while (!flag)
            CHECK_OK(MPI_Improbe(s->peer, s->tag, WORLD, &flag, &m, &status));
        CHECK_OK(MPI_Imrecv(s->in, n, MPI_BYTE, &m, &r));
        CHECK_OK(MPI_Wait(&r, &status));
        break;
    case 5:
        while (!flag)
            CHECK_OK(MPI_Iprobe(s->peer, s->tag, WORLD, &flag, &status));
        CHECK_OK(MPI_Recv(s->in, n, MPI_BYTE, s->peer, s->tag, WORLD, &status));
        break;
    default:
        CHECK_OK(MPI_Recv_init(s->in, LARGEST, MPI_BYTE, s->peer, s->tag, WORLD, &r));
        CHECK_OK(MPI_Start(&r));
        CHECK_OK(MPI_Waitany(1, &r, &index, &status));
        CHECK_INT(index, 0);
        CHECK_OK(MPI_Request_free(&r));
    }
    CHECK_STATUS(&status, s->peer, s->tag, n);
    CHECK_PATTERN(s->in, s->bytes, seed_of(s, s->peer));
}

static void exchange(const side *s)
{
    MPI_Status status;
    int n = (int)s->bytes;
    CHECK_OK(MPI_Sendrecv(s->out, n, MPI_BYTE, s->peer, s->tag, s->in, LARGEST, MPI_BYTE, s->peer,
                          s->tag, WORLD, &status));
    CHECK_STATUS(&status, s->peer, s->tag, n);
    CHECK_PATTERN(s->in, s->bytes, seed_of(s, s->peer));
}

// Several each way at once, finished by waitall, or by waitsome, as they come.
static void exchange_several(const side *s, bool some)
{
    MPI_Request r[2 * SEVERAL];
    MPI_Status statuses[2 * SEVERAL];
    int n = (int)(s->bytes / SEVERAL), left = 2 * SEVERAL, done, indices[2 * SEVERAL];
    for (int i = 0; i < SEVERAL; i++) {
        CHECK_OK(
            MPI_Irecv(s->in + i * n, n, MPI_BYTE, s->peer, s->tag + BACK + i, WORLD, &r[2 * i]));
        CHECK_OK(MPI_Isend(s->out + i * n, n, MPI_BYTE, s->peer, s->tag + BACK + i, WORLD,
                           &r[2 * i + 1]));
    }
    if (!some)
        CHECK_OK(MPI_Waitall(2 * SEVERAL, r, statuses));
    while (some && left > 0) {
        CHECK_OK(MPI_Waitsome(2 * SEVERAL, r, &done, indices, statuses));
        left -= done;
    }
    CHECK_PATTERN(s->in, (size_t)n * SEVERAL, seed_of(s, s->peer));
}

static size_t random_bytes(uint64_t *random)
{
    static const int limits[] = {1, 9, 33, 200, 3000, 20000, 70000, 300000, LARGEST};
    int which = random_below(random, COUNT_OF(limits) + 6); // small ones more often
    return (size_t)random_below(random, limits[which < COUNT_OF(limits) ? which : which % 5]);
}

static void work(team *of, int index)
{
    int rounds = *(const int *)of->data, flag = 1;
    int low = of->rank & ~1;
    uint64_t random = (uint64_t)(1000 * low + index);
    side s = {.peer = of->rank ^ 1, .tag = index * 10};
    s.out = must_alloc(LARGEST);
    s.in = must_alloc(LARGEST);
    CHECK_OK(MPI_Is_thread_main(&flag));
    CHECK(!flag);
    for (s.round = 0; s.round < rounds; s.round++) {
        s.bytes = random_bytes(&random);
        int what = random_below(&random, 10), send_how = random_below(&random, 6);
        int recv_how = random_below(&random, 7), turn = random_below(&random, 2);
        pattern_fill(s.out, s.bytes, seed_of(&s, of->rank));
        if (what == 0) {
            exchange(&s);
        } else if (what < 3) {
            exchange_several(&s, what == 1);
        } else if ((of->rank & 1) == turn) {
            send_by(&s, send_how);
        } else {
            recv_once(&s, recv_how);
            if (send_how == 5)
                recv_once(&s, (recv_how + 1) % 7);
        }
    }
    free(s.out);
    free(s.in);
}

int main(int argc, char **argv)
{
    CHECK(argc > 2);
    int rounds = atoi(argv[1]), count = atoi(argv[2]), size;
    init_level(MPI_THREAD_MULTIPLE);
    void *buffer = must_alloc(8 << 20);
    team t = {.work = work, .data = &rounds};
    CHECK(world_size() % 2 == 0 && count <= TEAM_MOST);
    CHECK_OK(MPI_Buffer_attach(buffer, 8 << 20));
    team_start(&t, count - 1);
    // The rank's own thread is one of them, but for MPI_Is_thread_main.
    uint64_t random = 1;
    for (int i = 0; i < rounds; i++) {
        int mine = random_below(&random, 100), other = -1;
        CHECK_OK(MPI_Sendrecv(&mine, 1, MPI_INT, t.rank ^ 1, 900, &other, 1, MPI_INT, t.rank ^ 1,
                              900, WORLD, MPI_STATUS_IGNORE));
        CHECK_INT(other, mine);
    }
    team_join(&t);
    CHECK_OK(MPI_Buffer_detach(&buffer, &size));
    free(buffer);
    CHECK_OK(MPI_Barrier(WORLD));
    CHECK_OK(MPI_Finalize());
    return 0;
}
