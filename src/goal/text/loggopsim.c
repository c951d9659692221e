// SPDX-License-Identifier: BSD-3-Clause
// LogGOPSim's binary file.
//
//     u64 cookie                            4223; 2342 after the simulator has run on it
//     u32 ranks, u8 max cpu, u8 max nic
//     (u64 start, u64 end)[ranks]           of a rank's part, counted from the end of the cookie
//     a rank's part:
//         u32 nodes, u32 roots, u32 root[roots]       roots: nodes without dependencies
//         node[nodes]                                 39 or 104 bytes each
//         u32 edge[]                                  nodes that wait for a node
//     a node:
//         u32 dependencies, i8 type, u32 peer, u64 size, u32 tag, u8 cpu, u8 nic
//         u32 count, u32 first edge                   of those that wait for its end
//         u32 count, u32 first edge                   of those that wait for its start
//         65 bytes more in the later version, for operations that a GOAL program does not have
//
// Everything is checked on reading: parts that overlap or lie outside, nodes, edges, counts, roots.
#include "goal/text/loggopsim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "goal/text/loggopsim_int.h"

enum { COOKIE = 4223, COOKIE_SPOILED = 2342, COOKIE_BYTES = 8 };
enum { HEAD_BYTES = 6, ENTRY_BYTES = 16, NODE_BYTES = 39, LATER_NODE_BYTES = 104 };
enum { SEND = 1, RECV = 2, CALC = 3 };
enum {
    AT_TYPE = 4,
    AT_PEER = 5,
    AT_SIZE = 9,
    AT_TAG = 17,
    AT_CPU = 21,
    AT_NIC = 22,
    AT_EDGES = 23
};

// ---- lowering

static bool is_split(const mlt_goal_action *action)
{
    return action->kind == MLT_GOAL_RECV_EXEC || action->kind == MLT_GOAL_RECV_USER;
}

static uint64_t price(double ns_per_byte, uint64_t bytes)
{
    double ns = ns_per_byte * (double)bytes + 0.5;
    return ns >= 18446744073709551616.0 ? UINT64_MAX : ns >= 1 ? (uint64_t)ns : 0;
}

static void lower_action(mlt_goal_rank *out, const mlt_goal_action *a, double ns_per_byte)
{
    mlt_goal_action lowered = {.label = a->label, .line = a->line, .cpu = a->cpu};
    if (mlt_goal_is_message(a)) {
        lowered.kind = a->kind == MLT_GOAL_SEND ? MLT_GOAL_SEND : MLT_GOAL_RECV;
        lowered.nic = a->nic;
        lowered.peer = a->peer;
        lowered.tag = a->tag;
        lowered.buf[0] = MLT_GOAL_NOWHERE;
        lowered.size[0] = mlt_goal_message_bytes(a);
        out->actions[out->count++] = lowered;
    } else {
        bool operation = a->kind == MLT_GOAL_EXEC || a->kind == MLT_GOAL_USER;
        lowered.kind = MLT_GOAL_CALC;
        lowered.size[0] = a->kind == MLT_GOAL_CALC ? a->size[0]
                          : operation              ? price(ns_per_byte, a->size[0])
                                                   : 0;
        out->actions[out->count++] = lowered;
    }
    if (is_split(a)) {
        out->actions[out->count] = (mlt_goal_action){.kind = MLT_GOAL_CALC,
                                                     .line = a->line,
                                                     .cpu = a->cpu,
                                                     .size = {price(ns_per_byte, a->size[0])}};
        out->deps[out->deps_count++] = (mlt_goal_dep){out->count, out->count - 1};
        out->count++;
    }
}

void mlt_goal_lower(const mlt_goal_rank *rank, double exec_ns_per_byte, mlt_goal_rank *out)
{
    uint64_t split = 0;
    for (uint32_t a = 0; a < rank->count; a++)
        split += is_split(&rank->actions[a]);
    mlt_goal_room(out, rank->count + split, rank->deps_count + split);
    out->count = out->deps_count = 0;
    uint32_t *first = split ? mlt_xcalloc(rank->count, sizeof *first) : NULL;
    for (uint32_t a = 0; a < rank->count; a++) {
        if (first)
            first[a] = out->count;
        lower_action(out, &rank->actions[a], exec_ns_per_byte);
    }
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        mlt_goal_dep dep = rank->deps[d];
        uint32_t started = dep.on & MLT_GOAL_STARTED, on = mlt_goal_plain(dep.on);
        if (first) {
            bool two = is_split(&rank->actions[on]);
            dep.action = first[dep.action];
            // The start of both is that of the receive, the end that of the calculation.
            dep.on = (first[on] + (two && !started)) | started;
        }
        out->deps[out->deps_count++] = dep;
    }
    free(first);
}

void mlt_goal_lowered_free(mlt_goal_rank *lowered)
{
    free(lowered->actions);
    free(lowered->deps);
}

// ---- reading

typedef struct file {
    const char *name;
    const unsigned char *bytes; // after the cookie
    uint64_t size;
    uint32_t ranks;
    uint8_t max_cpu, max_nic;
    char *why;
    size_t why_size;
} file;

typedef struct part { // of a rank
    uint64_t start, end;
    uint32_t nodes, roots;
    uint64_t root_at, node_at, edge_at, edges;
} part;

static uint32_t u32(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t u64(const unsigned char *at)
{
    return u32(at) | (uint64_t)u32(at + 4) << 32;
}

bool mlt_goal_is_loggopsim(const void *bytes, size_t size)
{
    if (size < COOKIE_BYTES)
        return false;
    uint64_t cookie = u64(bytes);
    return cookie == COOKIE || cookie == COOKIE_SPOILED;
}

// Says what is wrong and where: `at` counts from the end of the cookie. Always false.
static MLT_COLD MLT_PRINTF(3, 4) bool wrong(const file *f, uint64_t at, const char *format, ...)
{
    char message[256];
    MLT_TEXT_PRINT(message, sizeof message, format);
    return mlt_deny(f->why, f->why_size, "%s: byte %" PRIu64 ": %s", f->name, at + COOKIE_BYTES,
                    message);
}

// The rank's part, laid out for nodes of that many bytes. What the table and the part's head say.
static bool part_of(const file *f, uint32_t rank, uint32_t node_bytes, part *p)
{
    uint64_t entry = HEAD_BYTES + (uint64_t)ENTRY_BYTES * rank;
    memset(p, 0, sizeof *p);
    p->start = u64(f->bytes + entry);
    p->end = u64(f->bytes + entry + 8);
    if (p->start == p->end)
        return true; // a rank of which the text said nothing
    if (p->end < p->start || p->end > f->size)
        return wrong(f, entry,
                     "the part of rank %u goes from %" PRIu64 " to %" PRIu64
                     ", but there are %" PRIu64 " bytes after the cookie",
                     rank, p->start, p->end, f->size);
    uint64_t bytes = p->end - p->start;
    if (bytes < 8)
        return wrong(f, p->start, "the part of rank %u is too short for its two counts", rank);
    p->nodes = u32(f->bytes + p->start);
    p->roots = u32(f->bytes + p->start + 4);
    uint64_t fixed = 8 + 4ull * p->roots + (uint64_t)node_bytes * p->nodes;
    if (fixed > bytes || (bytes - fixed) % 4)
        return wrong(f, p->start,
                     "the part of rank %u has %" PRIu64
                     " bytes, which is no room for %u nodes of %u bytes, %u roots and whole edges",
                     rank, bytes, p->nodes, node_bytes, p->roots);
    p->root_at = p->start + 8;
    p->node_at = p->root_at + 4ull * p->roots;
    p->edge_at = p->start + fixed;
    p->edges = (bytes - fixed) / 4;
    uint64_t counted = 0;
    for (uint32_t n = 0; n < p->nodes; n++) {
        const unsigned char *node = f->bytes + p->node_at + (uint64_t)node_bytes * n;
        counted += (uint64_t)u32(node + AT_EDGES) + u32(node + AT_EDGES + 8);
    }
    if (counted != p->edges)
        return wrong(f, p->node_at,
                     "the nodes of rank %u count %" PRIu64 " edges, but %" PRIu64 " are there",
                     rank, counted, p->edges);
    return true;
}

// All parts have that layout, one after the other.
static bool loggopsim_layout(const file *f, uint32_t node_bytes)
{
    uint64_t free_from = HEAD_BYTES + (uint64_t)ENTRY_BYTES * f->ranks;
    for (uint32_t r = 0; r < f->ranks; r++) {
        part p;
        if (!part_of(f, r, node_bytes, &p))
            return false;
        if (p.start == p.end)
            continue;
        if (p.start < free_from)
            return wrong(f, HEAD_BYTES + (uint64_t)ENTRY_BYTES * r,
                         "the part of rank %u begins at %" PRIu64
                         ", within what comes before it, which ends at %" PRIu64,
                         r, p.start, free_from);
        free_from = p.end;
    }
    return true;
}

static bool read_node(const file *f, uint32_t rank, uint32_t n, uint64_t at, mlt_goal_action *a)
{
    const unsigned char *node = f->bytes + at;
    uint32_t peer = u32(node + AT_PEER), tag = u32(node + AT_TAG);
    *a = (mlt_goal_action){.cpu = node[AT_CPU], .nic = node[AT_NIC]};
    a->size[0] = u64(node + AT_SIZE);
    if (a->cpu > f->max_cpu || a->nic > f->max_nic)
        return wrong(
            f, at + AT_CPU,
            "node %u of rank %u has cpu %u and nic %u, but the file says at most %u and %u", n,
            rank, a->cpu, a->nic, f->max_cpu, f->max_nic);
    unsigned type = node[AT_TYPE];
    if (type == CALC) {
        a->kind = MLT_GOAL_CALC;
        a->nic = 0;
        return true;
    }
    if (type != SEND && type != RECV)
        return wrong(
            f, at + AT_TYPE,
            "node %u of rank %u has the type %u, but there are 1 (send), 2 (recv) and 3 (calc)", n,
            rank, type);
    a->kind = type == SEND ? MLT_GOAL_SEND : MLT_GOAL_RECV;
    a->buf[0] = MLT_GOAL_NOWHERE;
    a->peer = (int32_t)peer;
    a->tag = (int32_t)tag;
    if (peer >= f->ranks && !(type == RECV && peer == UINT32_MAX))
        return wrong(f, at + AT_PEER, "node %u of rank %u names rank %u, but there are %u ranks", n,
                     rank, peer, f->ranks);
    if (tag > INT32_MAX && !(type == RECV && tag == UINT32_MAX))
        return wrong(f, at + AT_TAG, "node %u of rank %u has the tag %u, but tags are at most %d",
                     n, rank, tag, INT32_MAX);
    return true;
}

// The edges of a node: at its end, and with `started` at its start.
static bool read_edges(const file *f, const part *p, uint32_t rank, uint32_t n, uint64_t node_at,
                       bool started, mlt_goal_program *program, uint32_t *dependencies)
{
    uint64_t at = node_at + AT_EDGES + (started ? 8 : 0);
    uint32_t count = u32(f->bytes + at), first = u32(f->bytes + at + 4);
    if (count && (uint64_t)first + count > p->edges)
        return wrong(
            f, at,
            "node %u of rank %u has the edges from %u on, %u of them, but there are %" PRIu64, n,
            rank, first, count, p->edges);
    for (uint32_t e = 0; e < count; e++) {
        uint64_t edge_at = p->edge_at + 4 * ((uint64_t)first + e);
        uint32_t to = u32(f->bytes + edge_at);
        if (to >= p->nodes)
            return wrong(f, edge_at, "an edge leads to node %u of rank %u, which has %u nodes", to,
                         rank, p->nodes);
        dependencies[to]++;
        mlt_goal_require(program, rank, to, n | (started ? (uint32_t)MLT_GOAL_STARTED : 0));
    }
    return true;
}

// Counts of dependencies, and roots: exactly the nodes that have none.
static bool check_counts(const file *f, const part *p, uint32_t rank, uint32_t node_bytes,
                         uint32_t *dependencies)
{
    uint32_t free_nodes = 0;
    for (uint32_t n = 0; n < p->nodes; n++) {
        uint64_t at = p->node_at + (uint64_t)node_bytes * n;
        uint32_t said = u32(f->bytes + at);
        if (said != dependencies[n])
            return wrong(
                f, at,
                "node %u of rank %u says that it has %u dependencies, but %u edges lead to it", n,
                rank, said, dependencies[n]);
        free_nodes += !said;
    }
    if (free_nodes != p->roots)
        return wrong(f, p->start + 4,
                     "rank %u says that it has %u roots, but %u nodes have no dependencies", rank,
                     p->roots, free_nodes);
    for (uint32_t i = 0; i < p->roots; i++) {
        uint64_t at = p->root_at + 4ull * i;
        uint32_t root = u32(f->bytes + at);
        if (root >= p->nodes || dependencies[root])
            return wrong(f, at,
                         "root %u of rank %u is node %u, which is not there, has dependencies, or "
                         "was a root already",
                         i, rank, root);
        dependencies[root] = 1; // a second time would be once too often
    }
    return true;
}

static bool read_part(const file *f, uint32_t rank, uint32_t node_bytes, mlt_goal_program *program)
{
    part p;
    if (!part_of(f, rank, node_bytes, &p))
        return false;
    if (p.nodes >= MLT_GOAL_STARTED || p.edges >= MLT_GOAL_STARTED)
        return wrong(f, p.start, "rank %u has more than %u nodes or edges", rank,
                     MLT_GOAL_STARTED - 1);
    for (uint32_t n = 0; n < p.nodes; n++) {
        mlt_goal_action action;
        if (!read_node(f, rank, n, p.node_at + (uint64_t)node_bytes * n, &action))
            return false;
        mlt_goal_add(program, rank, &action);
    }
    uint32_t *dependencies = mlt_xcalloc(p.nodes, sizeof *dependencies);
    bool good = true;
    for (uint32_t n = 0; n < p.nodes && good; n++) {
        uint64_t at = p.node_at + (uint64_t)node_bytes * n;
        good = read_edges(f, &p, rank, n, at, false, program, dependencies) &&
               read_edges(f, &p, rank, n, at, true, program, dependencies);
    }
    good = good && check_counts(f, &p, rank, node_bytes, dependencies);
    free(dependencies);
    return good;
}

static bool read_head(file *f, uint64_t cookie)
{
    if (cookie == COOKIE_SPOILED)
        return wrong(f, -(uint64_t)COOKIE_BYTES,
                     "the simulator has run on this file and spoiled it; make it anew from its "
                     "text");
    if (cookie != COOKIE)
        return wrong(f, -(uint64_t)COOKIE_BYTES, "this is no binary program of LogGOPSim's");
    if (f->size < HEAD_BYTES)
        return wrong(f, f->size, "the file ends within its head");
    f->ranks = u32(f->bytes);
    f->max_cpu = f->bytes[4];
    f->max_nic = f->bytes[5];
    if (!f->ranks || f->ranks > MLT_GOAL_MAX_RANKS)
        return wrong(f, 0, "a program has 1 to %d ranks, not %u", MLT_GOAL_MAX_RANKS, f->ranks);
    if (f->size < HEAD_BYTES + (uint64_t)ENTRY_BYTES * f->ranks)
        return wrong(f, f->size, "the file ends within the table of its %u ranks", f->ranks);
    return true;
}

mlt_status mlt_goal_loggopsim_read(const char *name, const void *bytes, size_t size,
                                   mlt_goal_program **out, char *why, size_t why_size)
{
    *out = NULL;
    file f = {.name = name, .why = why, .why_size = why_size};
    if (size < COOKIE_BYTES)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "%s: this is no binary program of LogGOPSim's: it has %zu bytes", name,
                        size);
    f.bytes = (const unsigned char *)bytes + COOKIE_BYTES;
    f.size = size - COOKIE_BYTES;
    if (!read_head(&f, u64(bytes)))
        return MLT_ERR_INVALID;
    // Which version it is tells only its fit; if none fits, the first one's complaint counts.
    char complaint[512];
    file quiet = f;
    quiet.why = complaint;
    quiet.why_size = sizeof complaint;
    uint32_t node_bytes = NODE_BYTES;
    if (!loggopsim_layout(&f, NODE_BYTES)) {
        if (!loggopsim_layout(&quiet, LATER_NODE_BYTES))
            return MLT_ERR_INVALID;
        node_bytes = LATER_NODE_BYTES;
    }
    mlt_goal_program *program = mlt_goal_program_new(f.ranks);
    for (uint32_t r = 0; r < f.ranks; r++)
        if (!read_part(&f, r, node_bytes, program)) {
            mlt_goal_program_free(program);
            return MLT_ERR_INVALID;
        }
    if (why_size)
        why[0] = 0;
    *out = program;
    return MLT_OK;
}

// ---- writing

typedef struct loggopsim_writer {
    FILE *to;
    bool good;
} loggopsim_writer;

static void loggopsim_put(loggopsim_writer *w, uint64_t value, int bytes)
{
    unsigned char raw[8];
    for (int i = 0; i < bytes; i++)
        raw[i] = (unsigned char)(value >> 8 * i);
    w->good = fwrite(raw, 1, (size_t)bytes, w->to) == (size_t)bytes && w->good;
}

// Incoming dependencies of each node. How many have none.
static uint32_t count_roots(const mlt_goal_rank *rank, uint32_t *dependencies)
{
    uint32_t roots = 0;
    for (uint32_t d = 0; d < rank->deps_count; d++)
        dependencies[rank->deps[d].action]++;
    for (uint32_t a = 0; a < rank->count; a++)
        roots += !dependencies[a];
    return roots;
}

static uint64_t part_bytes(const mlt_goal_rank *rank)
{
    uint32_t *dependencies = mlt_xcalloc(rank->count, sizeof *dependencies);
    uint64_t roots = count_roots(rank, dependencies);
    free(dependencies);
    return 8 + 4 * roots + (uint64_t)NODE_BYTES * rank->count + 4ull * rank->deps_count;
}

// A dependency on node n goes into row 2 n, one on its start into row 2 n + 1.
static uint64_t row_of(mlt_goal_dep dep)
{
    uint64_t on = mlt_goal_plain(dep.on);
    return 2 * on + (dep.on >> 31);
}

static void write_part(loggopsim_writer *w, const mlt_goal_rank *rank)
{
    uint32_t n = rank->count, *dependencies = mlt_xcalloc(n, sizeof *dependencies);
    uint32_t *at = mlt_xcalloc(2 * (size_t)n + 2, sizeof *at),
             *edge = mlt_xcalloc(rank->deps_count, sizeof *edge);
    loggopsim_put(w, n, 4);
    loggopsim_put(w, count_roots(rank, dependencies), 4);
    for (uint32_t a = 0; a < n; a++)
        if (!dependencies[a])
            loggopsim_put(w, a, 4);
    for (uint32_t d = 0; d < rank->deps_count; d++)
        at[row_of(rank->deps[d]) + 2]++;
    for (uint64_t i = 2; i < 2ull * n + 2; i++)
        at[i] += at[i - 1];
    for (uint32_t d = 0; d < rank->deps_count; d++)
        edge[at[row_of(rank->deps[d]) + 1]++] = rank->deps[d].action;
    for (uint32_t a = 0; a < n; a++) {
        const mlt_goal_action *action = &rank->actions[a];
        loggopsim_put(w, dependencies[a], 4);
        loggopsim_put(w,
                      action->kind == MLT_GOAL_SEND   ? SEND
                      : action->kind == MLT_GOAL_RECV ? RECV
                                                      : CALC,
                      1);
        loggopsim_put(w, (uint32_t)action->peer, 4);
        loggopsim_put(w, action->size[0], 8);
        loggopsim_put(w, (uint32_t)action->tag, 4);
        loggopsim_put(w, action->cpu, 1);
        loggopsim_put(w, action->nic, 1);
        for (uint64_t row = 2ull * a; row < 2ull * a + 2; row++) {
            loggopsim_put(w, at[row + 1] - at[row], 4);
            loggopsim_put(w, at[row], 4);
        }
    }
    for (uint32_t e = 0; e < rank->deps_count; e++)
        loggopsim_put(w, edge[e], 4);
    free(dependencies);
    free(at);
    free(edge);
}

bool mlt_goal_loggopsim_write(const mlt_goal_program *program, double exec_ns_per_byte, FILE *to)
{
    loggopsim_writer w = {to, true};
    mlt_goal_rank lowered = {.count = 0};
    uint8_t max_cpu = 0, max_nic = 0;
    uint64_t at = HEAD_BYTES + (uint64_t)ENTRY_BYTES * program->ranks;
    uint64_t *end = mlt_xcalloc((size_t)program->ranks + 1, sizeof *end);
    end[0] = at;
    for (uint32_t r = 0; r < program->ranks; r++) {
        mlt_goal_lower(&program->rank[r], exec_ns_per_byte, &lowered);
        for (uint32_t a = 0; a < lowered.count; a++) {
            max_cpu = lowered.actions[a].cpu > max_cpu ? lowered.actions[a].cpu : max_cpu;
            max_nic = lowered.actions[a].nic > max_nic ? lowered.actions[a].nic : max_nic;
        }
        end[r + 1] = at += part_bytes(&lowered);
    }
    loggopsim_put(&w, COOKIE, COOKIE_BYTES);
    loggopsim_put(&w, program->ranks, 4);
    loggopsim_put(&w, max_cpu, 1);
    loggopsim_put(&w, max_nic, 1);
    for (uint32_t r = 0; r < program->ranks; r++) {
        loggopsim_put(&w, end[r], 8);
        loggopsim_put(&w, end[r + 1], 8);
    }
    for (uint32_t r = 0; r < program->ranks && w.good; r++) {
        mlt_goal_lower(&program->rank[r], exec_ns_per_byte, &lowered);
        write_part(&w, &lowered);
    }
    mlt_goal_lowered_free(&lowered);
    free(end);
    return fflush(to) == 0 && w.good;
}
