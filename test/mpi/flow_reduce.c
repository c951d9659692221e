// SPDX-License-Identifier: BSD-3-Clause
// Reductions of flow programs, against a reference by hand. Everything is a function of a seed, so
// that all ranks and instances know the same without talking.
//
//     random SEED   some reductions at once between random sets of instances, at different rates,
//                   of all types and operations, elements of 0 to 100,000 values
//     loop          every instance gets the sum of all, and goes on with it
//     chain         a reduction of reductions, and of others
//     early         contributors without end; receivers that leave
//     ends SEED     contributors and receivers end at about the same time
//     late          receivers that are slow, and last
//     bits          sums of floating point; prints a hash of the bits
//     unequal, counts, nothing, types, op, size, hang   what ends the program
#include <complex.h>
#include <millet/csp.h>
#include <millet/flow.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_check.h"

static _Atomic uint64_t seed;

static uint64_t hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = seed * 0x9e3779b97f4a7c15u + a * 0xff51afd7ed558ccdu + b * 0xc4ceb9fe1a85ec53u + c;
    for (int i = 0; i < 3; i++) {
        h ^= h >> 31;
        h *= 0xbf58476d1ce4e5b9u;
    }
    return h ^ h >> 29;
}

// ---- values

static const size_t bytes_of[FLOW_TYPES] = {
    [FLOW_ANY] = 8,
    [FLOW_CHAR] = 1,
    [FLOW_SCHAR] = 1,
    [FLOW_UCHAR] = 1,
    [FLOW_SHORT] = 2,
    [FLOW_USHORT] = 2,
    [FLOW_INT] = 4,
    [FLOW_UINT] = 4,
    [FLOW_LONG] = sizeof(long),
    [FLOW_ULONG] = sizeof(long),
    [FLOW_LLONG] = 8,
    [FLOW_ULLONG] = 8,
    [FLOW_FLOAT] = 4,
    [FLOW_DOUBLE] = 8,
    [FLOW_LDOUBLE] = sizeof(long double),
    [FLOW_BOOL] = sizeof(_Bool),
    [FLOW_FLOAT_COMPLEX] = sizeof(float _Complex),
    [FLOW_DOUBLE_COMPLEX] = sizeof(double _Complex),
};

#define KINDS(X)                                                                                   \
    X(CHAR, char)                                                                                  \
    X(SCHAR, signed char)                                                                          \
    X(UCHAR, unsigned char)                                                                        \
    X(SHORT, short)                                                                                \
    X(USHORT, unsigned short)                                                                      \
    X(INT, int)                                                                                    \
    X(UINT, unsigned)                                                                              \
    X(LONG, long)                                                                                  \
    X(ULONG, unsigned long)                                                                        \
    X(LLONG, long long)                                                                            \
    X(ULLONG, unsigned long long)                                                                  \
    X(FLOAT, float)                                                                                \
    X(DOUBLE, double)                                                                              \
    X(LDOUBLE, long double)                                                                        \
    X(BOOL, _Bool)                                                                                 \
    X(FLOAT_COMPLEX, float _Complex)                                                               \
    X(DOUBLE_COMPLEX, double _Complex)

static void store(flow_type kind, void *at, size_t k, long v)
{
    switch (kind) {
#define STORE(KIND, type)                                                                          \
    case FLOW_##KIND:                                                                              \
        ((type *)at)[k] = (type)v;                                                                 \
        break;
        KINDS(STORE)
    default:
        abort();
    }
}

static bool equals(flow_type kind, const void *at, size_t k, long v)
{
    switch (kind) {
#define EQUALS(KIND, type)                                                                         \
    case FLOW_##KIND:                                                                              \
        return ((const type *)at)[k] == (type)v;
        KINDS(EQUALS)
    default:
        abort();
    }
}

// ---- operations

// x -> ax + b, one map after the other: the order matters.
typedef struct affine {
    uint32_t a, b;
} affine;

static void after(void *into, const void *with, size_t count)
{
    affine *f = into;
    const affine *g = with;
    for (size_t i = 0; i < count; i++)
        f[i] = (affine){f[i].a * g[i].a, f[i].b * g[i].a + g[i].b};
}

static void mix(void *into, const void *with, size_t count)
{
    uint64_t *a = into;
    const uint64_t *b = with;
    for (size_t i = 0; i < count; i++)
        a[i] += b[i] * 3 - 2 * b[i];
}

enum { SUM, PRODUCT, MAX, MIN, AND, OR, XOR, BAND, BOR, BXOR, MIX, AFTER, OPS };
static const flow_op ops[OPS] = {
    {.name = "sum"},
    {.name = "product"},
    {.name = "max"},
    {.name = "min"},
    {.name = "and"},
    {.name = "or"},
    {.name = "xor"},
    {.name = "band"},
    {.name = "bor"},
    {.name = "bxor"},
    {.name = "mix", .combine = mix, .bytes = 8},
    {.name = "after", .combine = after, .bytes = sizeof(affine), .ordered = true},
};

static bool fits(int op, flow_type kind)
{
    bool is_complex = kind == FLOW_FLOAT_COMPLEX || kind == FLOW_DOUBLE_COMPLEX;
    bool is_float = is_complex || kind == FLOW_FLOAT || kind == FLOW_DOUBLE || kind == FLOW_LDOUBLE;
    if (op >= MIX)
        return kind == FLOW_ANY;
    if (kind == FLOW_ANY)
        return false;
    if (kind == FLOW_BOOL)
        return op >= AND && op <= XOR;
    return op <= PRODUCT || (op <= MIN && !is_complex) || (op > MIN && !is_float);
}

static long apply(int op, long a, long b)
{
    switch (op) {
    case SUM:
        return a + b;
    case PRODUCT:
        return a * b;
    case MAX:
        return a > b ? a : b;
    case MIN:
        return a < b ? a : b;
    case AND:
        return a && b;
    case OR:
        return a || b;
    case XOR:
        return !a != !b;
    case BAND:
        return a & b;
    case BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

// ---- the random program

enum { PEERS = 12, REDUCES = 4, LAG = 8 };

typedef struct Peer {
    flow_self flow;
    struct {
        FLOW_QUEUE(void) o[REDUCES];
        FLOW_QUEUE(void) i[REDUCES];
    } q;
    size_t room;
    unsigned char *buffer;
} Peer;

static long peers(void)
{
    return 1 + (long)(hash(1, 0, 0) % PEERS);
}
static long reduces(void)
{
    return 1 + (long)(hash(2, 0, 0) % REDUCES);
}
static bool contributes(long r, long p)
{
    return p == (long)(hash(3, (uint64_t)r, 0) % (uint64_t)peers()) ||
           hash(4, (uint64_t)r, (uint64_t)p) % 3 < 1 + hash(5, (uint64_t)r, 0) % 3;
}
static bool receives(long r, long p)
{
    return p == (long)(hash(6, (uint64_t)r, 0) % (uint64_t)peers()) ||
           hash(7, (uint64_t)r, (uint64_t)p) % 3 < hash(8, (uint64_t)r, 0) % 4;
}
static flow_type kind_of(long r)
{
    return (flow_type)(hash(9, (uint64_t)r, 0) % FLOW_TYPES);
}
static int op_of(long r)
{
    for (uint64_t n = 0;; n++) {
        int op = (int)(hash(10, (uint64_t)r, n) % OPS);
        if (fits(op, kind_of(r)))
            return op;
    }
}
static long rounds(long r)
{
    return (long)(hash(11, (uint64_t)r, 0) % 120);
}
static long every(long r)
{
    return 1 + (long)(hash(12, (uint64_t)r, 0) % 3);
}
static size_t count_of(long r, long n)
{
    uint64_t h = hash(13, (uint64_t)r, (uint64_t)n);
    return (h >> 32) % (h % 40 == 0 ? 100001 : h % 8 == 0 ? 2000 : h % 4 == 0 ? 1 : 9);
}
static long lag_of(long p)
{
    return (long)(hash(14, (uint64_t)p, 0) % LAG);
}
static long value(long r, long n, long p, size_t k)
{
    uint64_t v = hash(15 + (uint64_t)n, (uint64_t)(r * PEERS + p), k % 61);
    if (op_of(r) == PRODUCT)
        return p < 6 && v % 3 == 0 ? 2 : 1;
    return (long)(v % 8);
}
static affine affine_value(long r, long n, long p, size_t k)
{
    uint64_t v = hash(16 + (uint64_t)n, (uint64_t)(r * PEERS + p), k % 61);
    return (affine){(uint32_t)v, (uint32_t)(v >> 32)};
}

static unsigned char *room_for(Peer *my, size_t bytes)
{
    if (my->room < bytes) {
        free(my->buffer);
        my->buffer = malloc(my->room = bytes);
    }
    return my->buffer;
}

static void contribute(Peer *my, long r, long n)
{
    size_t count = count_of(r, n), bytes = bytes_of[kind_of(r)];
    unsigned char *at = room_for(my, count * bytes + 1);
    for (size_t k = 0; k < count; k++)
        if (kind_of(r) == FLOW_ANY)
            ((affine *)(void *)at)[k] = affine_value(r, n, my->flow.index, k);
        else
            store(kind_of(r), at, k, value(r, n, my->flow.index, k));
    CHECK_IN(my, flow_queue_send(my->q.o[r].queue, at, kind_of(r), bytes, count));
}

static bool is_right(long r, long n, const void *at, size_t k)
{
    long expected = 0;
    affine map = {0};
    bool first = true;
    for (long p = 0; p < peers(); p++) {
        if (!contributes(r, p))
            continue;
        if (kind_of(r) == FLOW_ANY) {
            affine a = affine_value(r, n, p, k);
            if (first)
                map = a;
            else
                ops[op_of(r)].combine(&map, &a, 1);
        } else {
            long v = value(r, n, p, k);
            expected = first ? v : apply(op_of(r), expected, v);
        }
        first = false;
    }
    if (kind_of(r) == FLOW_ANY)
        return memcmp((const affine *)at + k, &map, sizeof map) == 0;
    return equals(kind_of(r), at, k, expected);
}

static void receive(Peer *my, long r, long n)
{
    const void *data;
    size_t count, bytes = bytes_of[kind_of(r)];
    bool writes = hash(17, (uint64_t)r, (uint64_t)(n + my->flow.index)) % 2;
    if (!flow_queue_dequeue(my->q.i[r].queue, &data, kind_of(r), bytes, &count, !writes))
        flow_fail(my, "reduction %ld ended after %ld elements", r, n);
    if (count != count_of(r, n))
        flow_fail(my, "reduction %ld, element %ld: %zu values", r, n, count);
    for (size_t k = 0; k < count; k += k < 70 ? 1 : 97)
        if (!is_right(r, n, data, k))
            flow_fail(my, "reduction %ld (%s, %d), element %ld, value %zu is wrong", r,
                      ops[op_of(r)].name, kind_of(r), n, k);
    if (writes) // it is the instance's own
        memset((void *)(uintptr_t)data, 0x5a, count * bytes);
}

static int peer_run(void *arg)
{
    Peer *my = arg;
    long steps = 0, me = my->flow.index;
    for (long r = 0; r < reduces(); r++)
        if (rounds(r) * every(r) > steps)
            steps = rounds(r) * every(r);
    for (long s = 0; s < steps + lag_of(me); s++) {
        for (long r = 0; r < reduces(); r++)
            if (contributes(r, me) && s % every(r) == 0 && s / every(r) < rounds(r))
                contribute(my, r, s / every(r));
        for (long r = 0, t = s - lag_of(me); t >= 0 && r < reduces(); r++)
            if (receives(r, me) && t % every(r) == 0 && t / every(r) < rounds(r))
                receive(my, r, t / every(r));
    }
    free(my->buffer);
    return 0;
}

#define PEER_QUEUE(letter, n, is_input)                                                            \
    {                                                                                              \
        .name = #letter #n, .input = is_input, .optional = true, .cap = 3 * LAG,                   \
        .offset = offsetof(Peer, q.letter[n])                                                      \
    }
static const flow_queue_decl peer_queues[] = {
    PEER_QUEUE(o, 0, false), PEER_QUEUE(o, 1, false), PEER_QUEUE(o, 2, false),
    PEER_QUEUE(o, 3, false), PEER_QUEUE(i, 0, true),  PEER_QUEUE(i, 1, true),
    PEER_QUEUE(i, 2, true),  PEER_QUEUE(i, 3, true),
};
static const flow_module peer = {.name = "Peer",
                                 .bytes = sizeof(Peer),
                                 .queues = peer_queues,
                                 .queue_count = 8,
                                 .run = peer_run};

// With an odd seed instances are anywhere, with an even one where they are placed.
static void scatter(flow_wiring *w, int vector, long count, uint64_t salt)
{
    for (long i = 0; seed % 2 && i < count; i++) {
        char where[16];
        flow_part one = {.vector = vector, .first = i, .last = i};
        snprintf(where, sizeof where, "%d",
                 (int)(hash(18, salt, (uint64_t)i) % (uint64_t)csp_nodes()));
        flow_place(w, 4, &one, 1, where);
    }
}

static void wire_random(flow_wiring *w)
{
    static const char *const names[] = {"r0", "r1", "r2", "r3"};
    static const char *const outs[] = {"o0", "o1", "o2", "o3"};
    static const char *const ins[] = {"i0", "i1", "i2", "i3"};
    int p = flow_add(w, 1, "p", &peer, peers());
    scatter(w, p, peers(), 0);
    for (long r = 0; r < reduces(); r++) {
        int v = flow_add(w, 2, names[r], &flow_Reduce, -1);
        flow_part from[PEERS], to[PEERS],
            through = {.vector = v, .all = true, .op = &ops[op_of(r)]};
        size_t froms = 0, tos = 0;
        for (long i = 0; i < peers(); i++) {
            flow_part one = {.vector = p, .first = i, .last = i};
            if (contributes(r, i)) {
                from[froms] = one;
                from[froms++].queue = outs[r];
            }
            if (receives(r, i)) {
                to[tos] = one;
                to[tos++].queue = ins[r];
            }
        }
        flow_stage stages[] = {
            {FLOW_JOIN, from, froms}, {FLOW_JOIN, &through, 1}, {FLOW_JOIN, to, tos}};
        flow_wire(w, 10 + (int)r, stages, 3);
    }
}

// ---- programs of two queues

typedef struct Node {
    flow_self flow;
    struct {
        FLOW_QUEUE(void) in;
        FLOW_QUEUE(void) out;
    } q;
} Node;

static const flow_queue_decl node_queues[] = {
    {.name = "in", .input = true, .optional = true, .offset = offsetof(Node, q.in)},
    {.name = "out", .optional = true, .offset = offsetof(Node, q.out)},
};
#define NODE(NAME, RUN)                                                                            \
    static const flow_module NAME = {                                                              \
        .name = #NAME, .bytes = sizeof(Node), .queues = node_queues, .queue_count = 2, .run = RUN}

static bool send_long(Node *my, long v)
{
    return flow_send(my, &v, 1);
}

static bool get_long(Node *my, long *v)
{
    const long *at;
    size_t count;
    if (!flow_queue_dequeue(my->q.in.queue, (const void **)&at, FLOW_LONG, sizeof *at, &count,
                            true))
        return false;
    CHECK_IN(my, count == 1);
    *v = *at;
    return true;
}

static void wire_line(flow_wiring *w, int line, const flow_part *from, size_t froms,
                      const flow_part *through, const flow_part *to, size_t tos)
{
    flow_stage stages[] = {{FLOW_JOIN, from, froms}, {FLOW_JOIN, through, 1}, {FLOW_JOIN, to, tos}};
    flow_wire(w, line, stages, tos ? 3 : 2);
}

// Every instance gets the sum.
enum { LOOPS = 120 };
static int looper_run(void *arg)
{
    Node *my = arg;
    unsigned long all = (unsigned long)my->flow.index, sum = 0;
    for (long n = 0; n < LOOPS; n++) {
        long v = (long)(all >> 8) + my->flow.index;
        unsigned long expected = 0;
        for (long i = 0; i < my->flow.count; i++)
            expected += (unsigned long)((long)((n ? sum : (unsigned long)i) >> 8) + i);
        if (n)
            v = (long)(sum >> 8) + my->flow.index;
        CHECK_IN(my, send_long(my, v));
        CHECK_IN(my, get_long(my, &v));
        sum = (unsigned long)v;
        CHECK_IN(my, sum == expected);
    }
    return 0;
}
NODE(Looper, looper_run);

static void wire_loop(flow_wiring *w)
{
    flow_part p = {.vector = flow_add(w, 1, "p", &Looper, 9), .all = true};
    flow_part r = {.vector = flow_add(w, 2, "r", &flow_Reduce, -1), .all = true, .op = &ops[SUM]};
    wire_line(w, 3, &p, 1, &r, NULL, 0);
}

// Sends numbers; how many and what, the sink knows.
enum { LENGTH = 300 };
static int source_run(void *arg)
{
    Node *my = arg;
    for (long n = 0; n < LENGTH; n++)
        CHECK_IN(my, send_long(my, n * 100 + my->flow.index));
    return 0;
}
NODE(Source, source_run);

// The sum of p[0:4] five times, and of p[5], p[6] once: each of a chain of three.
static int chain_sink_run(void *arg)
{
    Node *my = arg;
    long v, n = 0;
    for (; get_long(my, &v); n++)
        CHECK_IN(my, v == 7 * n * 100 + 21);
    CHECK_IN(my, n == LENGTH);
    return 0;
}
NODE(ChainSink, chain_sink_run);

static void wire_chain(flow_wiring *w)
{
    int p = flow_add(w, 1, "p", &Source, 7), q = flow_add(w, 1, "q", &ChainSink, 3);
    int r = flow_add(w, 2, "r", &flow_Reduce, 3);
    flow_part r0 = {.vector = r, .op = &ops[SUM]};
    flow_part r1 = {.vector = r, .first = 1, .last = 1, .op = &ops[SUM]};
    flow_part r2 = {.vector = r, .first = 2, .last = 2, .op = &ops[SUM]};
    flow_part low = {.vector = p, .first = 0, .last = 4},
              high = {.vector = p, .first = 5, .last = 6};
    flow_part both[] = {{.vector = r}, {.vector = r, .first = 1, .last = 1}};
    flow_part all = {.vector = q, .all = true};
    wire_line(w, 3, &low, 1, &r0, NULL, 0);
    wire_line(w, 4, &high, 1, &r1, NULL, 0);
    wire_line(w, 5, both, 2, &r2, &all, 1);
}

// Contributors without end.
static int spring_run(void *arg)
{
    Node *my = arg;
    for (long n = 0; send_long(my, n); n++) {
    }
    return 0;
}
NODE(Spring, spring_run);

static int taster_run(void *arg)
{
    Node *my = arg;
    long v;
    for (long n = 0; n < 10 + 100 * my->flow.index; n++) {
        CHECK_IN(my, get_long(my, &v));
        CHECK_IN(my, v == 5 * n);
    }
    return 0;
}
NODE(Taster, taster_run);

static void wire_early(flow_wiring *w)
{
    flow_part p = {.vector = flow_add(w, 1, "p", &Spring, 5), .all = true};
    flow_part q = {.vector = flow_add(w, 1, "q", &Taster, 3), .all = true};
    flow_part r = {.vector = flow_add(w, 2, "r", &flow_Reduce, -1), .all = true, .op = &ops[SUM]};
    wire_line(w, 3, &p, 1, &r, &q, 1);
}

// Both may end first.
static int finite_run(void *arg)
{
    Node *my = arg;
    long length = (long)(hash(20, 0, 0) % 250);
    for (long n = 0; n < length && send_long(my, n); n++) {
    }
    return 0;
}
NODE(Finite, finite_run);

static int hasty_run(void *arg)
{
    Node *my = arg;
    long v, n = 0, length = (long)(hash(20, 0, 0) % 250);
    long most = (long)(hash(21, (uint64_t)my->flow.index, 0) % 250);
    while (n < most && get_long(my, &v))
        CHECK_IN(my, v == 6 * n++);
    CHECK_IN(my, n == (most < length ? most : length));
    return 0;
}
NODE(Hasty, hasty_run);

static void wire_ends(flow_wiring *w)
{
    long receivers = 1 + (long)(hash(22, 0, 0) % 5);
    flow_part p = {.vector = flow_add(w, 1, "p", &Finite, 6), .all = true};
    flow_part q = {.vector = flow_add(w, 1, "q", &Hasty, receivers), .all = true};
    flow_part r = {.vector = flow_add(w, 2, "r", &flow_Reduce, -1), .all = true, .op = &ops[SUM]};
    scatter(w, p.vector, 6, 1);
    scatter(w, q.vector, receivers, 2);
    wire_line(w, 3, &p, 1, &r, &q, 1);
}

// Sinks that let others run first.
static int slow_run(void *arg)
{
    Node *my = arg;
    long v, n = 0;
    for (; get_long(my, &v); n++) {
        CHECK_IN(my, v == 4 * n * 100 + 6);
        for (long i = 0; i < my->flow.index * 3; i++)
            csp_yield();
    }
    CHECK_IN(my, n == LENGTH);
    return 0;
}
NODE(Slow, slow_run);

static void wire_late(flow_wiring *w)
{
    flow_part p = {.vector = flow_add(w, 1, "p", &Source, 4), .all = true};
    flow_part q = {.vector = flow_add(w, 1, "q", &Slow, 4), .all = true};
    flow_part r = {.vector = flow_add(w, 2, "r", &flow_Reduce, -1), .all = true, .op = &ops[SUM]};
    wire_line(w, 3, &p, 1, &r, &q, 1);
}

// Sums that depend on brackets.
static int noise_run(void *arg)
{
    Node *my = arg;
    double v[100];
    for (uint64_t n = 0; n < 50; n++) {
        for (uint64_t k = 0; k < 100; k++) {
            uint64_t h = hash(n, k, (uint64_t)my->flow.index);
            v[k] = (double)(int64_t)h / (double)(1 << h % 30);
        }
        CHECK_IN(my, flow_send(my, v, n));
    }
    return 0;
}
NODE(Noise, noise_run);

static int digest_run(void *arg)
{
    Node *my = arg;
    const void *data;
    size_t count;
    uint64_t all = 14695981039346656037u;
    while (flow_queue_dequeue(my->q.in.queue, &data, FLOW_ANY, sizeof(double), &count, true))
        for (size_t i = 0; i < count * sizeof(double); i++)
            all = (all ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    printf("bits %016llx\n", (unsigned long long)all);
    return 0;
}
NODE(Digest, digest_run);

static void wire_bits(flow_wiring *w)
{
    flow_part p = {.vector = flow_add(w, 1, "p", &Noise, 11), .all = true};
    flow_part q = {.vector = flow_add(w, 1, "q", &Digest, -1), .all = true};
    flow_part r = {.vector = flow_add(w, 2, "r", &flow_Reduce, -1), .all = true, .op = &ops[SUM]};
    wire_line(w, 3, &p, 1, &r, &q, 1);
}

// ---- what is wrong

static int drain_run(void *arg)
{
    Node *my = arg;
    const void *data;
    size_t count;
    while (flow_queue_dequeue(my->q.in.queue, &data, FLOW_ANY, 1, &count, true)) {
    }
    return 0;
}
NODE(Drain, drain_run);

static int unequal_run(void *arg)
{
    Node *my = arg;
    for (long n = 0; n < (my->flow.index == 1 ? 3 : 6); n++)
        if (!send_long(my, n))
            return 0;
    return 0;
}
NODE(Unequal, unequal_run);

static int counts_run(void *arg)
{
    Node *my = arg;
    long v[8] = {0};
    for (long n = 0; n < 6; n++)
        (void)flow_send(my, v, my->flow.index == 2 && n == 3 ? 5 : 4);
    return 0;
}
NODE(Counts, counts_run);

// One sends an element without values.
static int nothing_run(void *arg)
{
    Node *my = arg;
    long v[4] = {0};
    for (long n = 0; n < 6; n++)
        (void)flow_send(my, v, my->flow.index == 2 && n == 3 ? 0 : 4);
    return drain_run(arg);
}
NODE(Nothing, nothing_run);

static int types_run(void *arg)
{
    Node *my = arg;
    long v[2] = {0};
    double d[2] = {0};
    for (long n = 0; n < 6; n++)
        (void)(my->flow.index == 3 && n == 2 ? flow_send(my, d, 2) : flow_send(my, v, 2));
    return 0;
}
NODE(Types, types_run);

static int doubles_run(void *arg)
{
    Node *my = arg;
    double d = 1;
    (void)flow_send(my, &d, 1);
    return 0;
}
NODE(Doubles, doubles_run);

static int bytes_run(void *arg)
{
    Node *my = arg;
    int d = 1;
    (void)flow_send(my, &d, 1);
    return 0;
}
NODE(Ints, bytes_run);

// The last one sends nothing, and waits.
static int hang_run(void *arg)
{
    Node *my = arg;
    long v;
    for (long n = 0; n < 2 || my->flow.index == 0; n++) {
        if (my->flow.index == 2 && n == 1)
            get_long(my, &v);
        send_long(my, n);
        get_long(my, &v);
    }
    return 0;
}
NODE(Hang, hang_run);

static const flow_module *_Atomic wrong;
static const flow_op *_Atomic wrong_op;

static void wire_wrong(flow_wiring *w)
{
    flow_part p = {.vector = flow_add(w, 1, "p", wrong, 4), .all = true};
    flow_part r = {.vector = flow_add(w, 2, "r1", &flow_Reduce, -1), .all = true, .op = wrong_op};
    if (wrong == &Hang || wrong == &Nothing) { // everybody gets the results
        wire_line(w, 3, &p, 1, &r, NULL, 0);
        return;
    }
    flow_part q = {.vector = flow_add(w, 1, "q", &Drain, 2), .all = true};
    wire_line(w, 3, &p, 1, &r, &q, 1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*wire)(flow_wiring *w);
        const flow_module *module;
        int op;
    } programs[] = {
        {"random", wire_random, NULL, 0},     {"loop", wire_loop, NULL, 0},
        {"chain", wire_chain, NULL, 0},       {"early", wire_early, NULL, 0},
        {"late", wire_late, NULL, 0},         {"ends", wire_ends, NULL, 0},
        {"bits", wire_bits, NULL, 0},         {"unequal", wire_wrong, &Unequal, SUM},
        {"counts", wire_wrong, &Counts, SUM}, {"types", wire_wrong, &Types, SUM},
        {"op", wire_wrong, &Doubles, BAND},   {"size", wire_wrong, &Ints, MIX},
        {"hang", wire_wrong, &Hang, SUM},     {"nothing", wire_wrong, &Nothing, SUM},
    };
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (argc > 1 && strcmp(argv[1], programs[i].name) == 0) {
            flow_root root = {.name = "Main", .file = "flow_reduce.flow", .wire = programs[i].wire};
            wrong = programs[i].module;
            wrong_op = &ops[programs[i].op];
            // As if on several hosts: first within each, then between them.
            const char *hosts = seed % 3 == 2 ? "a slots=2\nb slots=2\nc slots=1\n" : NULL;
            return flow_main(argc, argv, &root, hosts);
        }
    fprintf(stderr, "flow_reduce: what?\n");
    return 2;
}
