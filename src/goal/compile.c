// SPDX-License-Identifier: BSD-3-Clause
// From one rank's program to its code. Nodes are the rank's actions, and after them the no-ops of
// trees. In this order:
//
//     rows      which node depends on which, in compressed rows; duplicates are dropped
//     trees     nodes with more than 65,535 sources get no-ops in between
//     order     of the code
//     window    none, sliding, or segments; the index of each node
//     slots     of messages
//     layout    where each node will stand; then it is written
//
// All of it in linear time and in a few arrays: a program has millions of actions. Only a program
// with a window whose dependencies point forward needs a heap, for its order.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "goal/graph.h"
#include "goal/heap.h"
#include "goal/sched.h"

enum { MOST_SOURCES = UINT16_MAX };
enum { FEW_MESSAGES = 64 }; // are sorted by insertion
enum { AHEAD = 12 };        // actions that are asked for from memory before their turn

const uint8_t mlt_act_parameter_bytes[MLT_GOAL_KINDS] = {
    [MLT_GOAL_SEND] = sizeof(mlt_act_message),
    [MLT_GOAL_RECV] = sizeof(mlt_act_message),
    [MLT_GOAL_EXEC] = sizeof(mlt_act_exec),
    [MLT_GOAL_USER] = sizeof(mlt_act_exec),
    [MLT_GOAL_CALC] = sizeof(mlt_act_calc),
    [MLT_GOAL_NOP] = 0,
    [MLT_GOAL_RECV_EXEC] = sizeof(mlt_act_message) + sizeof(mlt_act_exec),
    [MLT_GOAL_RECV_USER] = sizeof(mlt_act_message) + sizeof(mlt_act_exec),
};
_Static_assert(sizeof(mlt_act) == 8 && sizeof(mlt_act_message) == 40 &&
                   sizeof(mlt_act_exec) == 48 && sizeof(mlt_act_calc) == 16,
               "the code's layout has no holes");

typedef struct compile_work {
    const mlt_goal_program *program;
    const mlt_goal_rank *rank;
    uint32_t number;     // of the rank
    uint32_t count;      // nodes
    uint8_t *kind;       // of a node
    uint32_t *at, *next; // rows: nodes that depend on a are next[at[a] .. at[a + 1])
    uint32_t *sources;   // of a node (in segments: within its segment)
    uint32_t *owner;   // of the no-ops of trees, by node - rank->count: the node that they are for
    uint32_t owners;   // how many
    uint32_t *order;   // nodes as they stand in the code
    uint32_t *segment; // of a node; NULL: there are none
    uint32_t segments; // how many; 1 if there are none
    uint32_t length;   // of a segment
    uint32_t *roots;   // of a segment: nodes without sources in it
    uint32_t *joint;   // offset of the no-op after a segment
    uint32_t *index, *slot; // of a node, of an action; index NULL: as they stand in the code
    uint32_t *offset;       // of a node
    uint32_t messages;
    bool backward; // all dependencies point to actions before
    mlt_goal_sched *sched;
    size_t used;
    _Alignas(8) unsigned char room[2048]; // for the arrays of small programs
} compile_work;

// Memory of the schedule's own, not zeroed.
static void *take_own(size_t bytes)
{
    return mlt_xrealloc(NULL, bytes, 1);
}

// Memory of the work: in its room while there is some, so that a small program takes none.
static void *compile_take(compile_work *w, size_t count, size_t size)
{
    size_t bytes = (count * size + 8) & ~(size_t)7; // at least one, for none would be no address
    if (bytes > sizeof w->room - w->used)
        return take_own(bytes);
    w->used += bytes;
    return w->room + w->used - bytes;
}

static void *take_zeroed(compile_work *w, size_t count, size_t size)
{
    size_t bytes = (count * size + 8) & ~(size_t)7;
    if (bytes <= sizeof w->room - w->used)
        return memset(compile_take(w, count, size), 0, bytes);
    return mlt_xcalloc(1, bytes);
}

static void compile_give(const compile_work *w, void *memory)
{
    uintptr_t at = (uintptr_t)memory, room = (uintptr_t)w->room;
    if (at < room || at >= room + sizeof w->room)
        free(memory);
}

static inline bool receives(const compile_work *w, uint32_t node)
{
    const unsigned kinds =
        1u << MLT_GOAL_RECV | 1u << MLT_GOAL_RECV_EXEC | 1u << MLT_GOAL_RECV_USER;
    return kinds >> w->kind[node] & 1;
}

// ---- rows

// Drops what stands twice in a row; of two kinds of one dependency the stronger one, on the end,
// stays.
static void rows_dedupe(compile_work *w, uint32_t *at, uint32_t *next)
{
    uint32_t *seen = take_zeroed(w, w->count, sizeof *seen), kept = 0;
    for (uint32_t a = 0; a < w->count; a++) {
        uint32_t begin = at[a], end = at[a + 1], first = kept;
        at[a] = first;
        for (uint32_t e = begin; e < end; e++) {
            uint32_t to = next[e], b = mlt_goal_plain(to);
            if (seen[b] > first && mlt_goal_plain(next[seen[b] - 1]) == b) {
                next[seen[b] - 1] &= to; // STARTED survives only if both have it
                continue;
            }
            next[kept++] = to;
            if (end - begin > 1)
                seen[b] = kept;
            w->sources[b]++;
        }
    }
    at[w->count] = kept;
    compile_give(w, seen);
}

static void rows_make(compile_work *w, const mlt_goal_dep *deps, uint32_t count)
{
    uint32_t n = w->count;
    uint32_t *at = take_zeroed(w, (size_t)n + 2, sizeof *at),
             *next = compile_take(w, count, sizeof *next);
    bool backward = true;
    for (uint32_t d = 0; d < count; d++) {
        uint32_t on = mlt_goal_plain(deps[d].on);
        at[on + 2]++;
        backward &= on < deps[d].action;
    }
    for (uint32_t i = 2; i < n + 2; i++)
        at[i] += at[i - 1];
    for (uint32_t d = 0; d < count; d++)
        next[at[mlt_goal_plain(deps[d].on) + 1]++] =
            deps[d].action | (deps[d].on & MLT_GOAL_STARTED);
    w->at = at;
    w->next = next;
    w->backward = backward;
    w->sources = take_zeroed(w, n, sizeof *w->sources);
    rows_dedupe(w, at, next);
}

// ---- trees

// One level is enough: 65,535 no-ops take 2^32 sources. The dependencies with the tree in them.
static mlt_goal_dep *tree_deps(compile_work *w, uint32_t *count_out)
{
    uint32_t *chunk = take_zeroed(w, w->count, sizeof *chunk), *used = take_zeroed(w, w->count, 4);
    uint32_t edges = w->at[w->count], count = 0;
    uint64_t extra = 0;
    for (uint32_t a = 0; a < w->count; a++)
        if (w->sources[a] > MOST_SOURCES)
            extra += (w->sources[a] + MOST_SOURCES - 1) / MOST_SOURCES;
    mlt_goal_dep *deps = compile_take(w, (size_t)edges + extra, sizeof *deps);
    w->owner = compile_take(w, extra, sizeof *w->owner);
    for (uint32_t a = 0; a < w->count; a++)
        for (uint32_t e = w->at[a]; e < w->at[a + 1]; e++) {
            uint32_t to = mlt_goal_plain(w->next[e]), started = w->next[e] & MLT_GOAL_STARTED;
            if (w->sources[to] > MOST_SOURCES) {
                if (used[to]++ % MOST_SOURCES == 0) {
                    chunk[to] = w->count + w->owners;
                    w->owner[w->owners++] = to;
                    deps[count++] = (mlt_goal_dep){to, chunk[to]};
                }
                to = chunk[to];
            }
            deps[count++] = (mlt_goal_dep){to, a | started};
        }
    compile_give(w, chunk);
    compile_give(w, used);
    *count_out = count;
    return deps;
}

static void trees_make(compile_work *w)
{
    uint32_t most = 0, count;
    for (uint32_t a = 0; a < w->count; a++)
        most = w->sources[a] > most ? w->sources[a] : most;
    if (most <= MOST_SOURCES)
        return;
    mlt_goal_dep *deps = tree_deps(w, &count);
    compile_give(w, w->at);
    compile_give(w, w->next);
    compile_give(w, w->sources);
    uint8_t *kind = compile_take(w, (size_t)w->count + w->owners, 1);
    memcpy(kind, w->kind, w->count);
    memset(kind + w->count, MLT_GOAL_NOP, w->owners);
    compile_give(w, w->kind);
    w->kind = kind;
    w->count += w->owners;
    rows_make(w, deps, count);
    compile_give(w, deps);
}

// ---- order

enum { CLASSES = 4 };

// A queue in an array of links that several queues share: a node is in one of them at most.
typedef struct queue {
    uint32_t first, last;
} queue;

static inline void queue_put(queue *q, uint32_t *link, uint32_t node)
{
    if (q->first == MLT_GOAL_NONE)
        q->first = node;
    else
        link[q->last] = node;
    link[node] = MLT_GOAL_NONE;
    q->last = node;
}

static inline uint32_t queue_take(queue *q, const uint32_t *link)
{
    uint32_t node = q->first;
    q->first = link[node];
    return node;
}

// Kahn's order. Of the free nodes receives go first (class 0), then those that some receive waits
// for (1), then others (2), at last what is done here and nobody waits for (3): a rank's copy of
// its own block need not keep a message from leaving. Returns how many nodes got a place: fewer
// than all if there is a cycle.
static uint32_t order_by_class(compile_work *w, const uint8_t *class)
{
    uint32_t *open = compile_take(w, w->count, sizeof *open),
             *link = compile_take(w, w->count, sizeof *link), done = 0;
    queue queues[CLASSES];
    for (int c = 0; c < CLASSES; c++)
        queues[c] = (queue){MLT_GOAL_NONE, MLT_GOAL_NONE};
    memcpy(open, w->sources, w->count * sizeof *open);
    for (uint32_t a = 0; a < w->count; a++)
        if (!open[a])
            queue_put(&queues[class[a]], link, a);
    for (;;) {
        int c = 0;
        while (c < CLASSES && queues[c].first == MLT_GOAL_NONE)
            c++;
        if (c == CLASSES)
            break;
        uint32_t a = queue_take(&queues[c], link);
        w->order[done++] = a;
        for (uint32_t e = w->at[a]; e < w->at[a + 1]; e++) {
            uint32_t to = mlt_goal_plain(w->next[e]);
            if (--open[to] == 0)
                queue_put(&queues[class[to]], link, to);
        }
    }
    compile_give(w, open);
    compile_give(w, link);
    return done;
}

// The same for a program that is in a topological order already, which the code keeps within each
// of four parts: receives that wait for nothing but such receives, then whom other receives need
// and these receives, then the rest, what nobody waits for last. Walking along the program is
// kinder to the memory.
static uint32_t order_by_parts(compile_work *w, uint8_t *class)
{
    uint32_t at[CLASSES + 1] = {0};
    for (uint32_t a = 0; a < w->count; a++) {
        at[class[a] + 1]++;
        for (uint32_t e = w->at[a]; class[a] && e < w->at[a + 1]; e++) {
            uint8_t *to = &class[mlt_goal_plain(w->next[e])]; // it stands after a
            *to += *to == 0;
        }
    }
    for (int c = 1; c < CLASSES; c++)
        at[c] += at[c - 1];
    for (uint32_t a = 0; a < w->count; a++)
        w->order[at[class[a]]++] = a;
    return w->count;
}

static uint32_t order_receives_early(compile_work *w)
{
    uint8_t *class = compile_take(w, w->count, 1);
    memset(class, 2, w->count);
    if (!w->backward) {
        uint32_t done = order_by_class(w, class);
        if (done < w->count) {
            compile_give(w, class);
            return done;
        }
    }
    for (uint32_t i = w->count; i-- > 0;) {
        uint32_t a = w->backward ? i : w->order[i];
        uint8_t needed = 0;
        for (uint32_t e = w->at[a]; e < w->at[a + 1]; e++)
            needed |= class[mlt_goal_plain(w->next[e])] < 2;
        bool last = w->at[a] == w->at[a + 1] && w->kind[a] != MLT_GOAL_SEND;
        class[a] = receives(w, a) ? 0 : last ? 3 : 2 - needed;
    }
    uint32_t done = w->backward ? order_by_parts(w, class) : order_by_class(w, class);
    compile_give(w, class);
    return done;
}

// A free node in the heap: its place is in the upper half. A tree's no-op stands where the action
// is that it is for.
static inline uint64_t heap_key(const compile_work *w, uint32_t node)
{
    uint32_t place = node < w->rank->count ? node : w->owner[node - w->rank->count];
    return (uint64_t)place << 32 | node;
}

static uint32_t order_of_program(compile_work *w)
{
    if (w->backward) {
        for (uint32_t a = 0; a < w->count; a++)
            w->order[a] = a;
        return w->count;
    }
    uint32_t *open = compile_take(w, w->count, sizeof *open), free_count = 0, done = 0;
    uint64_t *heap = compile_take(w, w->count, sizeof *heap);
    memcpy(open, w->sources, w->count * sizeof *open);
    for (uint32_t a = 0; a < w->count; a++)
        if (!open[a])
            mlt_heap_put(heap, &free_count, heap_key(w, a));
    while (free_count) {
        uint32_t a = (uint32_t)mlt_heap_take(heap, &free_count);
        w->order[done++] = a;
        for (uint32_t e = w->at[a]; e < w->at[a + 1]; e++)
            if (--open[mlt_goal_plain(w->next[e])] == 0)
                mlt_heap_put(heap, &free_count, heap_key(w, mlt_goal_plain(w->next[e])));
    }
    compile_give(w, open);
    compile_give(w, heap);
    return done;
}

// "the dependencies of rank 0 go round: action 1 (e1: ...) requires action 0 (r1: ...) requires
// action 1"
static void say_cycle(const compile_work *w, char *why, size_t why_size)
{
    enum { TOLD = 4 };
    mlt_goal_graph *graph = mlt_goal_graph_new(w->rank);
    mlt_assert(graph->cycle_count > 0);
    mlt_text out = mlt_text_on(why, why_size);
    mlt_text_add(&out, "the dependencies of rank %u go round: ", w->number);
    for (uint32_t i = 0; i <= graph->cycle_count; i++) {
        if (i == TOLD && i + 1 < graph->cycle_count) {
            mlt_text_add(&out, " and so on, %u actions in all", graph->cycle_count);
            break;
        }
        const char *requires = i ? " requires " : "";
        uint32_t action = graph->cycle[i % graph->cycle_count];
        char text[400];
        mlt_goal_describe(w->program, w->number, action, text, sizeof text);
        if (i == graph->cycle_count) // has been described
            mlt_text_add(&out, "%saction %u", requires, action);
        else // without "rank N, "
            mlt_text_add(&out, "%s%s", requires, strchr(text, ',') + 2);
    }
    mlt_goal_graph_free(graph);
}

// ---- window

// Theorem 3. Walks with the node that enters the window last, and gives it and everyone who
// depends on it a counter; that of the node which has left the window is free again. Greedy
// colouring of intervals: it needs as many as are alive at once. False: more than 2 * window.
static bool window_slides(compile_work *w, uint32_t window)
{
    uint64_t most = 2ull * window;
    uint32_t used = 0, free_count = 0;
    uint32_t *index = compile_take(w, w->count, sizeof *index);
    uint32_t *spare = compile_take(w, most < w->count ? most : w->count, sizeof *spare);
    memset(index, 0xff, w->count * sizeof *index);
    bool fits = true;
    for (uint32_t i = 0; i < w->count && fits; i++) {
        uint32_t a = w->order[i];
        if (i >= window)
            spare[free_count++] = index[w->order[i - window]];
        for (uint32_t e = w->at[a]; e <= w->at[a + 1] && fits; e++) { // the last one: a itself
            uint32_t node = e < w->at[a + 1] ? mlt_goal_plain(w->next[e]) : a;
            if (index[node] != MLT_GOAL_NONE)
                continue;
            fits = free_count || used < most;
            if (fits)
                index[node] = free_count ? spare[--free_count] : used++;
        }
    }
    compile_give(w, spare);
    if (!fits) {
        compile_give(w, index);
        return false;
    }
    w->index = index;
    w->sched->indices = used;
    return true;
}

// Theorem 4. Dependencies that leave a segment are dropped: the no-op after it stands for them.
static void window_segments(compile_work *w, uint32_t window)
{
    w->length = window < MOST_SOURCES ? window : MOST_SOURCES; // of the no-op
    w->segments = (w->count - 1) / w->length + 1;
    w->segment = compile_take(w, w->count, sizeof *w->segment);
    for (uint32_t i = 0; i < w->count; i++)
        w->segment[w->order[i]] = i / w->length;
    memset(w->sources, 0, w->count * sizeof *w->sources);
    uint32_t kept = 0;
    for (uint32_t a = 0; a < w->count; a++) {
        uint32_t begin = w->at[a], end = w->at[a + 1];
        w->at[a] = kept;
        for (uint32_t e = begin; e < end; e++) {
            uint32_t to = mlt_goal_plain(w->next[e]);
            if (w->segment[to] == w->segment[a]) {
                w->sources[to]++;
                w->next[kept++] = w->next[e];
            }
        }
    }
    w->at[w->count] = kept;
    w->sched->flags |= MLT_GOAL_SCHED_SEGMENTS;
    w->sched->indices = w->length + 1;
}

static void window_choose(compile_work *w, uint32_t window)
{
    w->segments = 1;
    w->length = w->count;
    w->sched->window = window;
    w->sched->indices = w->count;
    if (window && !window_slides(w, window))
        window_segments(w, window);
    w->roots = take_zeroed(w, w->segments, sizeof *w->roots);
    w->joint = compile_take(w, w->segments, sizeof *w->joint);
    for (uint32_t a = 0; a < w->count; a++)
        if (!w->sources[a])
            w->roots[w->segment ? w->segment[a] : 0]++;
}

// ---- slots

static void sort_few(uint64_t *list, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        uint64_t one = list[i];
        uint32_t at = i;
        for (; at && list[at - 1] > one; at--)
            list[at] = list[at - 1];
        list[at] = one;
    }
}

// The messages, (tag, action) in one word, by tag, then as they stand in the program: a stable
// radix sort, of those digits of the tags that differ.
static uint64_t *messages_by_tag(compile_work *w)
{
    uint32_t n = 0;
    uint64_t differ = 0, last = 0;
    bool sorted = true;
    uint64_t *from = compile_take(w, w->messages, sizeof *from);
    for (uint32_t a = 0; a < w->rank->count; a++) {
        const mlt_goal_action *action = &w->rank->actions[a];
        if (!mlt_goal_is_message(action))
            continue;
        from[n] = (uint64_t)(uint32_t)action->tag << 32 | a;
        differ |= from[n] ^ from[0];
        sorted &= from[n] >= last;
        last = from[n++];
    }
    if (sorted)
        return from;
    if (n <= FEW_MESSAGES) {
        sort_few(from, n);
        return from;
    }
    enum { BITS = 11, DIGITS = 1 << BITS };
    uint64_t *to = compile_take(w, n, sizeof *to);
    uint32_t *count = compile_take(w, DIGITS + 1, sizeof *count);
    for (int shift = 32; shift < 64; shift += BITS) {
        if (!(differ >> shift & (DIGITS - 1)))
            continue;
        memset(count, 0, (DIGITS + 1) * sizeof *count);
        for (uint32_t i = 0; i < n; i++)
            count[(from[i] >> shift & (DIGITS - 1)) + 1]++;
        for (int d = 0; d < DIGITS; d++)
            count[d + 1] += count[d];
        for (uint32_t i = 0; i < n; i++)
            to[count[from[i] >> shift & (DIGITS - 1)]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    compile_give(w, to);
    compile_give(w, count);
    return from;
}

// How many messages a peer has had, by direction: a hash table.
typedef struct compile_flow {
    uint64_t key; // 0: free
    uint32_t count;
} compile_flow;

typedef struct flows {
    compile_flow *table;
    uint32_t size, used;
} flows;

static compile_flow *compile_flow_find(const flows *f, uint64_t key)
{
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (f->size - 1);
    while (f->table[at].key != key && f->table[at].key)
        at = (at + 1) & (f->size - 1);
    return &f->table[at];
}

static MLT_COLD void flows_grow(compile_work *w, flows *f)
{
    flows larger = {take_zeroed(w, 2 * (size_t)f->size, sizeof *f->table), 2 * f->size, f->used};
    for (uint32_t i = 0; i < f->size; i++)
        if (f->table[i].key)
            *compile_flow_find(&larger, f->table[i].key) = f->table[i];
    compile_give(w, f->table);
    *f = larger;
}

static void slots_make(compile_work *w)
{
    w->slot = compile_take(w, w->rank->count, sizeof *w->slot);
    if (!w->messages)
        return;
    uint64_t *list = messages_by_tag(w);
    flows f = {take_zeroed(w, 16, sizeof *f.table), 16, 0};
    for (uint32_t i = 0; i < w->messages; i++) {
        uint32_t a = (uint32_t)list[i];
        if (i + AHEAD < w->messages)
            __builtin_prefetch(&w->rank->actions[(uint32_t)list[i + AHEAD]]);
        uint64_t peer = (uint32_t)w->rank->actions[a].peer;
        compile_flow *one = compile_flow_find(&f, (peer << 1 | receives(w, a)) + 1);
        if (!one->key) {
            one->key = (peer << 1 | receives(w, a)) + 1;
            f.used++;
        }
        w->slot[a] = one->count++;
        if (2 * (uint64_t)f.used > f.size)
            flows_grow(w, &f);
    }
    compile_give(w, f.table);
    compile_give(w, list);
}

// ---- layout

// Dependents of a node: by its end, by its start; the no-op after the segment among the former.
static inline void dependents_count(const compile_work *w, uint32_t a, bool joint, uint32_t *ends,
                                    uint32_t *starts)
{
    uint32_t count = 0;
    for (uint32_t e = w->at[a]; e < w->at[a + 1]; e++)
        count += w->next[e] >> 31;
    *starts = count;
    *ends = w->at[a + 1] - w->at[a] - count;
    if (joint && !*ends)
        *ends = 1;
}

static inline uint64_t act_bytes(int kind, uint32_t ends, uint32_t starts)
{
    uint64_t bytes = sizeof(mlt_act) + mlt_act_parameter_bytes[kind] + 4 + 4 * (uint64_t)ends +
                     (starts ? 4 + 4 * (uint64_t)starts : 0);
    return (bytes + 7) & ~7ull;
}

static mlt_status too_large(const compile_work *w, char *why, size_t why_size)
{
    return mlt_fail(
        MLT_ERR_INVALID, why, why_size,
        "the schedule of rank %u, of %u actions, takes 4 GiB or more; offsets of 32 bits "
        "reach less",
        w->number, w->rank->count);
}

static mlt_status compile_layout(compile_work *w, char *why, size_t why_size)
{
    uint64_t bytes = (4 + 4 * (uint64_t)w->roots[0] + 7) & ~7ull;
    w->offset = compile_take(w, w->count, sizeof *w->offset);
    for (uint32_t i = 0; i < w->count; i++) {
        uint32_t a = w->order[i], ends, starts, s = i / w->length;
        bool joint = s + 1 < w->segments;
        dependents_count(w, a, joint, &ends, &starts);
        w->offset[a] = (uint32_t)bytes;
        bytes += act_bytes(w->kind[a], ends, starts);
        if (joint && i % w->length == w->length - 1) {
            w->joint[s] = (uint32_t)bytes;
            bytes += act_bytes(MLT_GOAL_NOP, w->roots[s + 1], 0);
        }
        if (bytes > UINT32_MAX)
            return too_large(w, why, why_size);
    }
    w->sched->bytes = bytes;
    w->sched->actions = w->count + w->segments - 1;
    return MLT_OK;
}

// ---- writing

typedef struct compile_writer {
    unsigned char *code, *at;
    uint32_t messages; // of the segment, so far
} compile_writer;

static inline void put32(compile_writer *out, uint32_t value)
{
    memcpy(out->at, &value, 4);
    out->at += 4;
}

static inline void put_end(compile_writer *out)
{
    if ((out->at - out->code) & 4)
        put32(out, 0);
}

static inline void put_act(compile_writer *out, uint32_t sources, int type, uint32_t index)
{
    mlt_act act = {(uint16_t)sources, (uint16_t)type, index};
    memcpy(out->at, &act, sizeof act);
    out->at += sizeof act;
}

// No bytes at an address are no bytes of the memory: so such a schedule can be saved.
static inline void compile_put_span(const mlt_goal_action *action, int which, uint32_t *buf,
                                    uint64_t *at, uint64_t *size)
{
    bool nothing = action->buf[which] == MLT_GOAL_ADDRESS && !action->size[which];
    *buf = nothing ? MLT_GOAL_MEMORY : action->buf[which];
    *at = nothing ? 0 : action->at[which];
    *size = action->size[which];
}

static void put_message(const compile_work *w, compile_writer *out, uint32_t node,
                        const mlt_goal_action *action)
{
    int which = action->kind == MLT_GOAL_RECV_EXEC || action->kind == MLT_GOAL_RECV_USER;
    uint32_t request = out->messages++;
    if (w->index)
        request %= w->sched->window;
    if (request >= w->sched->requests)
        w->sched->requests = request + 1;
    mlt_act_message message = {
        .peer = action->peer,
        .tag = action->tag,
        .slot = w->slot[node],
        .request = request,
        .flags = (action->kind == MLT_GOAL_SEND ? action->flags & MLT_GOAL_SYNCHRONOUS : 0u) |
                 (uint32_t)action->cpu << 8 | (uint32_t)action->nic << 16,
    };
    compile_put_span(action, which, &message.buf, &message.at, &message.size);
    memcpy(out->at, &message, sizeof message);
    out->at += sizeof message;
}

static void put_exec(compile_writer *out, const mlt_goal_action *action)
{
    bool user = action->kind == MLT_GOAL_USER || action->kind == MLT_GOAL_RECV_USER;
    mlt_act_exec exec = {
        .op = user ? 0 : action->op,
        .type = user ? 0 : action->type,
        .flags = action->flags & MLT_GOAL_REVERSED,
        .cpu = action->cpu,
        .user = user ? action->user : 0,
    };
    for (int i = 0; i < 2; i++)
        compile_put_span(action, i, &exec.buf[i], &exec.at[i], &exec.size[i]);
    memcpy(out->at, &exec, sizeof exec);
    out->at += sizeof exec;
}

static void put_parameters(const compile_work *w, compile_writer *out, uint32_t node)
{
    if (node >= w->rank->count)
        return;
    const mlt_goal_action *action = &w->rank->actions[node];
    if (mlt_goal_is_message(action))
        put_message(w, out, node, action);
    if (action->kind == MLT_GOAL_CALC) {
        mlt_act_calc calc = {action->size[0], action->cpu, action->nic};
        memcpy(out->at, &calc, sizeof calc);
        out->at += sizeof calc;
    } else if (mlt_act_parameter_bytes[action->kind] >= sizeof(mlt_act_exec)) {
        put_exec(out, action);
    }
}

// `count` dependents of a node, by its end or by its start, receives first. Without branches: which
// of them receive is anyone's guess.
static inline void put_dependents(const compile_work *w, compile_writer *out, uint32_t a,
                                  uint32_t started, uint32_t count)
{
    uint32_t begin = w->at[a], end = w->at[a + 1], place[2] = {0, 0};
    put32(out, count);
    if (end - begin == 1 && count) {
        put32(out, w->offset[mlt_goal_plain(w->next[begin])]);
        return;
    }
    for (uint32_t e = begin; e < end; e++)
        place[1] +=
            receives(w, mlt_goal_plain(w->next[e])) && (w->next[e] & MLT_GOAL_STARTED) == started;
    for (uint32_t e = begin; e < end; e++) {
        uint32_t to = mlt_goal_plain(w->next[e]);
        if ((w->next[e] & MLT_GOAL_STARTED) != started)
            continue;
        memcpy(out->at + 4 * place[!receives(w, to)]++, &w->offset[to], 4);
    }
    out->at += 4 * (size_t)count;
}

// The nodes of a segment that have no sources in it, receives first.
static void put_roots(const compile_work *w, compile_writer *out, uint32_t segment)
{
    uint64_t begin = (uint64_t)segment * w->length, end = begin + w->length;
    end = end < w->count ? end : w->count;
    put32(out, w->roots[segment]);
    for (int others = 0; others < 2; others++)
        for (uint64_t i = begin; i < end; i++)
            if (!w->sources[w->order[i]] && receives(w, w->order[i]) == !others)
                put32(out, w->offset[w->order[i]]);
    put_end(out);
}

static void write_code(compile_work *w, unsigned char *code)
{
    compile_writer out = {code, code, 0};
    put_roots(w, &out, 0);
    uint32_t tied = 0; // nodes that the no-op after the segment waits for
    for (uint32_t i = 0; i < w->count; i++) {
        uint32_t a = w->order[i], ends, starts, s = i / w->length, place = i % w->length;
        bool joint = s + 1 < w->segments;
        if (i + AHEAD < w->count && w->order[i + AHEAD] < w->rank->count)
            __builtin_prefetch(&w->rank->actions[w->order[i + AHEAD]]);
        dependents_count(w, a, joint, &ends, &starts);
        bool ties = joint && ends == 1 && w->at[a + 1] - w->at[a] == starts;
        uint32_t sources = w->sources[a] ? w->sources[a] : s > 0;
        put_act(&out, sources, w->kind[a] | (starts ? MLT_ACT_STARTERS : 0),
                w->index ? w->index[a] : place);
        put_parameters(w, &out, a);
        if (ties) {
            put32(&out, 1);
            put32(&out, w->joint[s]);
        } else {
            put_dependents(w, &out, a, 0, ends);
        }
        if (starts)
            put_dependents(w, &out, a, MLT_GOAL_STARTED, starts);
        put_end(&out);
        tied += ties;
        if (joint && place == w->length - 1) {
            put_act(&out, tied, MLT_GOAL_NOP, w->length);
            put_roots(w, &out, s + 1);
            out.messages = tied = 0;
        }
    }
    mlt_assert((uint64_t)(out.at - code) == w->sched->bytes);
}

// For naming actions: which of the program's stands where.
static void note_origin(const compile_work *w)
{
    uint32_t *at = w->sched->origin = take_own((w->sched->actions + 1ull) * sizeof *at);
    for (uint32_t i = 0; i < w->count; i++) {
        *at++ = w->order[i] < w->rank->count ? w->order[i] : MLT_GOAL_NONE;
        if (i / w->length + 1 < w->segments && i % w->length == w->length - 1)
            *at++ = MLT_GOAL_NONE;
    }
}

// ---- all of it

// What the schedule says of the actions: messages, buffers, users, flags.
static void look_at_actions(compile_work *w, const mlt_goal_sched_options *options)
{
    mlt_goal_sched *sched = w->sched;
    uint64_t memory = 0;
    bool plain_match = options && options->plain;
    w->kind = compile_take(w, w->count, 1);
    for (uint32_t a = 0; a < w->rank->count; a++) {
        const mlt_goal_action *action = &w->rank->actions[a];
        w->kind[a] = action->kind;
        if (mlt_goal_is_message(action)) {
            w->messages++;
            plain_match |= action->peer < 0 || action->tag < 0;
        }
        if (mlt_goal_is_user(action) && action->user >= sched->users)
            sched->users = action->user + 1u;
        mlt_goal_access access[2];
        int count = mlt_goal_accesses(action, access);
        for (int i = 0; i < count; i++) {
            uint64_t end = access[i].span.at + access[i].span.size;
            if (access[i].span.buf == MLT_GOAL_ADDRESS)
                sched->flags |= MLT_GOAL_SCHED_ADDRESSES;
            else if (access[i].span.buf == MLT_GOAL_MEMORY && end > memory)
                memory = end;
        }
    }
    sched->flags |= plain_match ? MLT_GOAL_SCHED_PLAIN : 0;
    sched->buffer[0].size = memory;
}

// The schedule with its buffers and their names, in one piece.
static mlt_goal_sched *sched_new(const compile_work *w)
{
    uint32_t buffers = w->rank->buffers_count + 1;
    size_t names = 1;
    mlt_goal_sched *sched;
    for (uint32_t b = 0; b + 1 < buffers; b++)
        names += strlen(mlt_goal_name_text(w->program, w->rank->buffers[b].name)) + 1;
    size_t bytes = sizeof *sched + buffers * sizeof *sched->buffer + names;
    sched = memset(take_own(bytes), 0, bytes);
    sched->rank = w->number;
    sched->ranks = w->program->ranks;
    sched->buffers = buffers;
    sched->buffer = (mlt_goal_sched_buffer *)(sched + 1);
    char *text = (char *)(sched->buffer + buffers);
    sched->buffer[0].name = text++; // ""
    for (uint32_t b = 1; b < buffers; b++) {
        const char *name = mlt_goal_name_text(w->program, w->rank->buffers[b - 1].name);
        size_t size = strlen(name) + 1;
        memcpy(text, name, size);
        sched->buffer[b] = (mlt_goal_sched_buffer){w->rank->buffers[b - 1].size, text};
        text += size;
    }
    return sched;
}

static void work_free(compile_work *w)
{
    void *arrays[] = {w->kind,    w->at,    w->next,  w->sources, w->owner, w->order,
                      w->segment, w->roots, w->joint, w->index,   w->slot,  w->offset};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        compile_give(w, arrays[i]);
}

static mlt_status compile(compile_work *w, const mlt_goal_sched_options *options, char *why,
                          size_t why_size)
{
    look_at_actions(w, options);
    rows_make(w, w->rank->deps, w->rank->deps_count);
    trees_make(w);
    uint32_t window = options && options->window < w->count ? options->window : 0;
    w->order = compile_take(w, w->count, sizeof *w->order);
    uint32_t done = window ? order_of_program(w) : order_receives_early(w);
    if (done < w->count) {
        say_cycle(w, why, why_size);
        return MLT_ERR_INVALID;
    }
    window_choose(w, window);
    slots_make(w);
    mlt_status status = compile_layout(w, why, why_size);
    if (status != MLT_OK)
        return status;
    w->sched->owned = take_own(w->sched->bytes);
    w->sched->code = w->sched->owned;
    write_code(w, w->sched->owned);
    note_origin(w);
    return MLT_OK;
}

mlt_status mlt_goal_sched_compile(const mlt_goal_program *program, uint32_t rank,
                                  const mlt_goal_sched_options *options, mlt_goal_sched **out,
                                  char *why, size_t why_size)
{
    compile_work w = {.program = program,
                      .rank = &program->rank[rank],
                      .number = rank,
                      .count = program->rank[rank].count};
    *out = NULL;
    if (w.count >= UINT32_MAX / act_bytes(MLT_GOAL_NOP, 0, 0)) // before memory is taken for them
        return too_large(&w, why, why_size);
    w.sched = sched_new(&w);
    mlt_status status = compile(&w, options, why, why_size);
    work_free(&w);
    if (status == MLT_OK)
        *out = w.sched;
    else
        mlt_goal_sched_free(w.sched);
    return status;
}

void mlt_goal_sched_free(mlt_goal_sched *sched)
{
    if (!sched)
        return;
    free(sched->origin);
    free(sched->owned);
    free(sched);
}
