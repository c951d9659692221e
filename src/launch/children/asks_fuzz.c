// SPDX-License-Identifier: BSD-3-Clause
// Ranks that ask for jobs and give up, requests in pieces, and answers to any number: each request is
// told once, as it was written, and each answer comes to the rank that asked, if it listens.
//
// The input: a byte for each step: its lower 2 bits are the rank, the others what it does.
#include "launch/children/asks.h"

#include <errno.h>
#include <fuzz/fuzz.h>
#include <fuzz/launcher.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot/child.h"
#include "launch/loop.h"
#include "os/fd.h"

enum { RANKS = 4, MOST = 512 };

typedef struct asker {
    int fd; // -1: it does not ask
    char said[MOST];
    size_t count;
    bool whole, told;
    int64_t number;
} asker;

typedef struct play {
    mlt_asks *asks;
    asker rank[RANKS];
    bool answers; // at once, while it is told
} play;

static const char fell[] = {MLT_CHILD_FELL, 'n', 'o'};

static void tell(void *user, uint32_t proc, int64_t number, char *request, size_t length)
{
    play *p = user;
    FUZZ_CHECK(proc < RANKS);
    asker *a = &p->rank[proc];
    if (a->fd >= 0 && a->whole && !a->told) { // else it is of one that gave up
        FUZZ_CHECK(length == a->count && memcmp(request, a->said, length) == 0);
        a->told = true;
        a->number = number;
    }
    if (p->answers)
        mlt_asks_answer(p->asks, number, fell, sizeof fell);
}

static void turn(int loop)
{
    struct pollfd look = {.fd = loop, .events = POLLIN};
    while (mlt_os_poll(&look, 1, 0) > 0)
        mlt_loop_turn();
}

static void give_up(asker *a, int loop)
{
    if (a->fd < 0)
        return;
    close(a->fd);
    turn(loop); // its request is told to nobody that listens
    *a = (asker){.fd = -1};
}

static void ask(play *p, asker *a, int loop)
{
    int pair[2];
    give_up(a, loop);
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    *a = (asker){.fd = pair[0]};
    mlt_asks_take(p->asks, (uint32_t)(a - p->rank), pair[1]);
}

static void say(asker *a, const uint8_t **data, size_t *size)
{
    uint8_t bytes;
    fuzz_take(data, size, &bytes, 1);
    if (a->fd < 0 || a->whole || a->count + bytes > sizeof a->said)
        return;
    fuzz_take(data, size, a->said + a->count, bytes);
    FUZZ_CHECK(bytes == 0 || send(a->fd, a->said + a->count, bytes, MSG_NOSIGNAL) == bytes);
    a->count += bytes;
}

static void hear(asker *a)
{
    char got[sizeof fell + 1];
    if (a->fd < 0 || !a->told)
        return;
    ssize_t n = recv(a->fd, got, sizeof got, MSG_DONTWAIT);
    FUZZ_CHECK(n == (ssize_t)sizeof fell && memcmp(got, fell, sizeof fell) == 0);
    FUZZ_CHECK(recv(a->fd, got, sizeof got, MSG_DONTWAIT) == 0); // and the end
    close(a->fd);
    *a = (asker){.fd = -1};
}

static void step(play *p, int loop, const uint8_t **data, size_t *size)
{
    enum { ASK, SAY, SHUT, ANSWER, STRANGE, GIVE_UP, TURN, WHATS };
    uint8_t what;
    fuzz_take(data, size, &what, 1);
    asker *a = &p->rank[what % RANKS];
    switch (what / RANKS % WHATS) {
    case ASK:
        ask(p, a, loop);
        break;
    case SAY:
        say(a, data, size);
        break;
    case SHUT:
        if (a->fd >= 0 && !a->whole)
            (void)shutdown(a->fd, SHUT_WR);
        a->whole |= a->fd >= 0;
        break;
    case ANSWER:
        if (a->fd >= 0 && a->told)
            mlt_asks_answer(p->asks, a->number, fell, sizeof fell);
        hear(a);
        break;
    case STRANGE:
        mlt_asks_answer(p->asks, -1 - (int64_t)what, fell, sizeof fell);
        break;
    case GIVE_UP:
        give_up(a, loop);
        break;
    default:
        turn(loop);
    }
}

typedef struct input {
    const uint8_t *data;
    size_t size;
} input;

static void run(void *argument)
{
    input *in = argument;
    static play p;
    uint8_t how;
    int loop = mlt_loop_new();
    fuzz_take(&in->data, &in->size, &how, 1);
    p = (play){.answers = how & 1};
    for (int i = 0; i < RANKS; i++)
        p.rank[i].fd = -1;
    p.asks = mlt_asks_new(&(mlt_asks_conf){.tell = tell, .user = &p});
    while (in->size > 0)
        step(&p, loop, &in->data, &in->size);
    turn(loop);
    for (int i = 0; i < RANKS; i++) {
        FUZZ_CHECK(p.rank[i].fd < 0 || p.rank[i].told == p.rank[i].whole);
        if (p.answers)
            hear(&p.rank[i]);
        give_up(&p.rank[i], loop);
    }
    mlt_asks_free(p.asks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, size};
    FUZZ_CHECK(fuzz_run(run, &in));
    fuzz_release();
    return 0;
}
