// SPDX-License-Identifier: BSD-3-Clause
// Lines between ranks, wired in C. Ranks are laid out in all ways, so lines lead within a worker,
// to another one of the process, and to another process; lengths are around every limit on the way.
//
//   flow_link sizes     all arrives, in order, as it was; senders copy, give, and pass on
//   flow_link merge     many lines into one queue, from here and elsewhere
//   flow_link closing   receivers end while senders wait, or not, or have begun something long
//   flow_link many      a thousand lines with little room
//   flow_link exits     a receiver's program ends in the middle: it is told
//   flow_link hang      a queue that nobody empties: the report names it
#include <millet/csp.h>
#include <millet/flow.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow_check.h"

typedef struct Module { // all of them
    flow_self flow;
    struct {
        FLOW_QUEUE(void) in;
        FLOW_QUEUE(void) out;
        FLOW_QUEUE(void) other; // an input
    } q;
} Module;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

// ---- what is sent: by the number of the line and of the element

enum { KIB = 1024, MIB = 1024 * KIB, HEADER = 48, ELEMENTS = 300 };

static size_t length_of(long line, long i)
{
    static const size_t limits[] = {0,        8,         32,        208,       1024,
                                    4 * KIB,  8 * KIB,   16 * KIB,  32 * KIB,  64 * KIB - HEADER,
                                    64 * KIB, 128 * KIB, 256 * KIB, 512 * KIB, MIB - HEADER,
                                    MIB,      4 * MIB};
    enum { LIMITS = sizeof limits / sizeof *limits };
    uint64_t state = (uint64_t)(line * 100003 + i);
    (void)next_random(&state);
    if (i < 3 * LIMITS) { // one less, as long, one more; not all of the longest on every line
        size_t limit = limits[i / 3];
        if (limit >= MIB && i % 3 != line % 3)
            limit = 17;
        return limit + (size_t)(i % 3) - (limit > 0);
    }
    switch (next_random(&state) % 8) {
    case 0:
        return next_random(&state) % 300;
    case 1:
        return next_random(&state) % (20 * KIB);
    case 2:
        return next_random(&state) % (i % 10 == 0 ? 600 * KIB : 70 * KIB);
    default:
        return next_random(&state) % 16;
    }
}

static uint64_t mark_of(long line, long i)
{
    uint64_t state = (uint64_t)(line * 7919 + i);
    (void)next_random(&state);
    return next_random(&state);
}

// Every byte of what is short, some of each line of memory of what is long.
static size_t step(size_t i)
{
    return i < 256 ? 1 : 29;
}

static void fill(unsigned char *data, size_t length, uint64_t mark)
{
    for (size_t i = 0; i < length; i += step(i))
        data[i] = (unsigned char)(mark + i * 11);
    if (length)
        data[length - 1] = (unsigned char)(mark >> 8);
}

static bool holds(const unsigned char *data, size_t length, uint64_t mark)
{
    for (size_t i = 0; i + 1 < length; i += step(i))
        if (data[i] != (unsigned char)(mark + i * 11))
            return false;
    return length == 0 || data[length - 1] == (unsigned char)(mark >> 8);
}

// ---- modules

static int source(void *arg)
{
    Module *my = arg;
    long line = my->flow.index;
    for (long i = 0; i < ELEMENTS; i++) {
        size_t length = length_of(line, i);
        if (i % 2) {
            unsigned char *data = flow_queue_new(my->q.out.queue, 1, length);
            fill(data, length, mark_of(line, i));
            CHECK_IN(my, flow_queue_give(my->q.out.queue, data, FLOW_UCHAR, 1, length));
        } else {
            unsigned char *data = malloc(length + 1);
            fill(data, length, mark_of(line, i));
            CHECK_IN(my, flow_queue_send(my->q.out.queue, data, FLOW_UCHAR, 1, length));
            memset(data, 0, length); // it was copied
            free(data);
        }
        if (mark_of(line, i) % 64 == 0)
            csp_yield();
    }
    return 0;
}

// Hands on what it gets.
static int pass(void *arg)
{
    Module *my = arg;
    const void *data;
    size_t length;
    while (flow_queue_dequeue(my->q.in.queue, &data, FLOW_ANY, 1, &length, false))
        CHECK_IN(my, flow_queue_give(my->q.out.queue, (void *)data, FLOW_UCHAR, 1, length));
    return 0;
}

static int sink(void *arg)
{
    Module *my = arg;
    long line = my->flow.index, i = 0;
    const void *data;
    size_t length;
    for (; flow_queue_dequeue(my->q.in.queue, &data, FLOW_ANY, 1, &length, line % 2); i++) {
        CHECK_IN(my, i < ELEMENTS && length == length_of(line, i));
        CHECK_IN(my, holds(data, length, mark_of(line, i)));
        if (mark_of(line, i) % 128 == 0)
            csp_yield();
    }
    CHECK_IN(my, i == ELEMENTS);
    return 0;
}

// Elements of all sources in one queue, those of each in order: the first bytes say whose.
static int tagged(void *arg)
{
    Module *my = arg;
    for (long i = 0; i < ELEMENTS; i++) {
        size_t length = length_of(my->flow.index, i) % (200 * KIB) + 2 * sizeof(long);
        long *data = flow_queue_new(my->q.out.queue, 1, length);
        data[0] = my->flow.index;
        data[1] = i;
        fill((unsigned char *)(data + 2), length - 2 * sizeof(long), mark_of(data[0], i));
        CHECK_IN(my, flow_queue_give(my->q.out.queue, data, FLOW_UCHAR, 1, length));
    }
    return 0;
}

static int gather(void *arg)
{
    Module *my = arg;
    long next[64] = {0}, all = 0;
    const void *data;
    size_t length;
    while (flow_queue_dequeue(my->q.in.queue, &data, FLOW_ANY, 1, &length, false)) {
        const long *of = data;
        CHECK_IN(my, length >= 2 * sizeof(long) && of[0] >= 0 && of[0] < 64);
        CHECK_IN(my, of[1] == next[of[0]]++);
        CHECK_IN(my, length == length_of(of[0], of[1]) % (200 * KIB) + 2 * sizeof(long));
        CHECK_IN(my, holds((const unsigned char *)(of + 2), length - 2 * sizeof(long),
                           mark_of(of[0], of[1])));
        all++;
    }
    CHECK_IN(my, all == 3L * csp_nodes() * ELEMENTS);
    return 0;
}

// Sends until nobody takes it, which may be after any number.
static int insist(void *arg)
{
    Module *my = arg;
    static const size_t lengths[] = {8, 5000, 300 * KIB};
    size_t length = lengths[my->flow.index % 3];
    long sent = 0;
    for (bool taken = true; taken; sent++) {
        unsigned char *data = flow_queue_new(my->q.out.queue, 1, length);
        fill(data, length, (uint64_t)sent);
        taken = flow_queue_give(my->q.out.queue, data, FLOW_UCHAR, 1, length);
    }
    CHECK_IN(my, sent > my->flow.index / 3);
    CHECK_IN(my, !flow_queue_send(my->q.out.queue, "x", FLOW_UCHAR, 1, 1));
    return 0;
}

static int leave(void *arg)
{
    Module *my = arg;
    const void *data;
    size_t length;
    for (long i = 0; i < my->flow.index / 3; i++)
        CHECK_IN(my, flow_queue_dequeue(my->q.in.queue, &data, FLOW_ANY, 1, &length, false) &&
                         holds(data, length, (uint64_t)i));
    return 0;
}

static int few(void *arg)
{
    Module *my = arg;
    for (long i = 0; i < 20; i++) {
        long value = my->flow.index + i;
        CHECK_IN(my, flow_queue_send(my->q.out.queue, &value, FLOW_LONG, sizeof value, 1));
    }
    return 0;
}

static int count(void *arg)
{
    Module *my = arg;
    const void *data;
    size_t length;
    long i = 0;
    for (; flow_queue_dequeue(my->q.in.queue, &data, FLOW_ANY, sizeof(long), &length, false); i++)
        CHECK_IN(my, length == 1 && *(const long *)data == my->flow.index + i);
    CHECK_IN(my, i == 20);
    return 0;
}

// Each waits for the other: one for room, one for an element of its other queue.
static int flood(void *arg)
{
    Module *my = arg;
    long value = 0;
    while (flow_queue_send(my->q.out.queue, &value, FLOW_LONG, sizeof value, 1))
        value++;
    return 0;
}

static int ignore(void *arg)
{
    Module *my = arg;
    const void *data;
    size_t length;
    (void)flow_queue_dequeue(my->q.other.queue, &data, FLOW_ANY, 1, &length, false);
    return 0;
}

static int exits(void *arg)
{
    Module *my = arg;
    const void *data;
    size_t length;
    CHECK_IN(my, flow_queue_dequeue(my->q.in.queue, &data, FLOW_ANY, 1, &length, false));
    exit(0);
}

// ---- wiring

#define QUEUES(room)                                                                               \
    {                                                                                              \
        {.name = "in", .input = true, .optional = true, .offset = offsetof(Module, q.in)},         \
            {.name = "out", .optional = true, .cap = (room), .offset = offsetof(Module, q.out)},   \
            {.name = "other",                                                                      \
             .input = true,                                                                        \
             .optional = true,                                                                     \
             .cap = (room),                                                                        \
             .offset = offsetof(Module, q.other)},                                                 \
    }
#define LINK_MODULE(function, room)                                                                \
    static const flow_queue_decl function##_queues[] = QUEUES(room);                               \
    static const flow_module function##_module = {.name = #function,                               \
                                                  .bytes = sizeof(Module),                         \
                                                  .file = __FILE__,                                \
                                                  .queues = function##_queues,                     \
                                                  .queue_count = 3,                                \
                                                  .run = function}
LINK_MODULE(source, 0);
LINK_MODULE(pass, 2);
LINK_MODULE(sink, 0);
LINK_MODULE(tagged, 5);
LINK_MODULE(gather, 0);
LINK_MODULE(insist, 4);
LINK_MODULE(leave, 0);
LINK_MODULE(few, 1);
LINK_MODULE(count, 0);
LINK_MODULE(flood, 7);
LINK_MODULE(ignore, 0);
LINK_MODULE(exits, 0);

static flow_part whole(int vector)
{
    return (flow_part){.vector = vector, .all = true};
}

static void place(flow_wiring *w, int vector, long index, long at)
{
    char where[24];
    flow_part part = {.vector = vector, .first = index, .last = index};
    snprintf(where, sizeof where, "%ld", at % csp_nodes());
    flow_place(w, __LINE__, &part, 1, where);
}

static void join(flow_wiring *w, int from, flow_join how, int to)
{
    flow_part a = whole(from), b = whole(to);
    flow_wire(w, __LINE__, (flow_stage[]){{FLOW_JOIN, &a, 1}, {how, &b, 1}}, 2);
}

static void wire_sizes(flow_wiring *w)
{
    long n = 2L * csp_nodes();
    int from = flow_add(w, __LINE__, "s", &source_module, n);
    int by = flow_add(w, __LINE__, "p", &pass_module, n);
    int to = flow_add(w, __LINE__, "k", &sink_module, n);
    join(w, from, FLOW_EACH, by);
    join(w, by, FLOW_EACH, to);
    for (long i = 0; i < n; i++) {
        place(w, from, i, i);
        place(w, by, i, i + 1 + i / csp_nodes());
        place(w, to, i, i + i / csp_nodes());
    }
}

static void wire_merge(flow_wiring *w)
{
    long n = 3L * csp_nodes();
    int from = flow_add(w, __LINE__, "t", &tagged_module, n);
    int to = flow_add(w, __LINE__, "g", &gather_module, -1);
    join(w, from, FLOW_JOIN, to);
    for (long i = 0; i < n; i++)
        place(w, from, i, i);
}

static void wire_closing(flow_wiring *w)
{
    enum { N = 60 };
    int from = flow_add(w, __LINE__, "s", &insist_module, N);
    int to = flow_add(w, __LINE__, "k", &leave_module, N);
    join(w, from, FLOW_EACH, to);
    for (long i = 0; i < N; i++) {
        place(w, from, i, i);
        place(w, to, i, i + i / csp_nodes());
    }
}

static void wire_many(flow_wiring *w)
{
    enum { N = 1000 };
    int from = flow_add(w, __LINE__, "s", &few_module, N);
    int to = flow_add(w, __LINE__, "k", &count_module, N);
    join(w, from, FLOW_EACH, to);
    for (long i = 0; i < N; i++) {
        place(w, from, i, i);
        place(w, to, i, i * 7 + i / 13);
    }
}

// k waits for an element that w would have to send, w for one of k's; meanwhile f floods k.
static void wire_hang(flow_wiring *w)
{
    int from = flow_add(w, __LINE__, "f", &flood_module, -1);
    int to = flow_add(w, __LINE__, "k", &ignore_module, -1);
    int wait = flow_add(w, __LINE__, "w", &pass_module, -1);
    flow_part a = whole(to), b = whole(wait), other = whole(to);
    other.queue = "other";
    join(w, from, FLOW_JOIN, to);
    flow_wire(w, __LINE__, (flow_stage[]){{FLOW_JOIN, &b, 1}, {FLOW_JOIN, &other, 1}}, 2);
    flow_wire(w, __LINE__, (flow_stage[]){{FLOW_JOIN, &a, 1}, {FLOW_JOIN, &b, 1}}, 2);
    flow_place(w, __LINE__, &(flow_part){.vector = from, .all = true}, 1, "0");
    flow_place(w, __LINE__, &a, 1, "1");
    flow_place(w, __LINE__, &b, 1, "0");
}

static void wire_exits(flow_wiring *w)
{
    int from = flow_add(w, __LINE__, "f", &flood_module, -1);
    int to = flow_add(w, __LINE__, "k", &exits_module, -1);
    flow_part a = whole(from), b = whole(to);
    join(w, from, FLOW_JOIN, to);
    flow_place(w, __LINE__, &a, 1, "0");
    flow_place(w, __LINE__, &b, 1, "1");
}

int main(int argc, char **argv)
{
    static const flow_root roots[] = {
        {.name = "sizes", .file = __FILE__, .wire = wire_sizes},
        {.name = "merge", .file = __FILE__, .wire = wire_merge},
        {.name = "closing", .file = __FILE__, .wire = wire_closing},
        {.name = "many", .file = __FILE__, .wire = wire_many},
        {.name = "exits", .file = __FILE__, .wire = wire_exits},
        {.name = "hang", .file = __FILE__, .wire = wire_hang},
    };
    for (size_t i = 0; argc > 1 && i < sizeof roots / sizeof *roots; i++)
        if (strcmp(argv[1], roots[i].name) == 0) {
            int status = flow_main(argc, argv, &roots[i], NULL);
            if (status == 0 && csp_node() == 0)
                printf("%s: all arrived\n", argv[1]);
            return status;
        }
    fprintf(stderr, "usage: flow_link sizes|merge|closing|many|exits|hang\n");
    return 2;
}
