// SPDX-License-Identifier: BSD-3-Clause
// Tokens through random graphs with all kinds of collectives, once as the graph is written and once
// as it is lowered, on random workers of random hosts: every queue of every module must get the
// same, in the same order where the graph says one.
//
// A token is a map x -> a x + b. Reductions that commute add them; those that do not compose them,
// which is associative, so every order that is wrong shows.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "fiber/sanitize.h"
#include "flow/lower/lower.h"
#include "flow/place/hand_test.h"

enum { TOKENS = 7, QUEUES = 4 };

static const flow_op in_order = {.name = "chain", .ordered = true};

typedef struct token {
    uint64_t a, b;
} token;

typedef struct stream {
    token *at;
    uint32_t count;
    bool known;
} stream;

static void put(stream *s, token t)
{
    s->at = mlt_xrealloc(s->at, s->count + 1ull, sizeof *s->at);
    s->at[s->count++] = t;
}

static void copy(stream *to, const stream *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        put(to, from->at[i]);
}

static token combine(bool ordered, token x, token y)
{
    if (!ordered)
        return (token){x.a + y.a, x.b + y.b};
    return (token){x.a * y.a, x.b * y.a + y.b};
}

static token made_by(uint32_t node, uint16_t out, uint32_t i)
{
    uint64_t x = ((uint64_t)node << 32 | (uint64_t)out << 16 | i) * 0x9e3779b97f4a7c15u;
    return (token){x ^ x >> 29, x * 0xbf58476d1ce4e5b9u};
}

// ---- a thing with streams in and out, whatever it stands for

typedef struct box {
    stream **in, **out;
    uint32_t ins, outs;
} box;

static stream all_of(const box *b)
{
    stream all = {0};
    for (uint32_t i = 0; i < b->ins; i++)
        copy(&all, b->in[i]);
    return all;
}

static void broadcast(const box *b)
{
    stream all = all_of(b);
    for (uint32_t o = 0; o < b->outs; o++)
        copy(b->out[o], &all);
    free(all.at);
}

static void deal(const box *b)
{
    stream all = all_of(b);
    for (uint32_t i = 0; i < all.count && b->outs; i++)
        put(b->out[i % b->outs], all.at[i]);
    free(all.at);
}

static void collect(const box *b)
{
    for (uint32_t i = 0; b->ins && i / b->ins < b->in[i % b->ins]->count; i++)
        for (uint32_t o = 0; o < b->outs; o++)
            put(b->out[o], b->in[i % b->ins]->at[i / b->ins]);
}

static uint32_t shortest(const box *b, uint32_t least)
{
    for (uint32_t i = 0; i < b->ins; i++)
        least = b->in[i]->count < least ? b->in[i]->count : least;
    return least;
}

static token reduced(const box *b, bool ordered, uint32_t i)
{
    token value = b->in[0]->at[i];
    for (uint32_t k = 1; k < b->ins; k++)
        value = combine(ordered, value, b->in[k]->at[i]);
    return value;
}

static void run(const box *b, mlt_flow_kind kind, bool ordered)
{
    uint32_t count = b->ins ? shortest(b, UINT32_MAX) : 0;
    if (kind == MLT_FLOW_BROADCAST)
        broadcast(b);
    else if (kind == MLT_FLOW_DEAL)
        deal(b);
    else if (kind == MLT_FLOW_COLLECT)
        collect(b);
    for (uint32_t i = 0; i < count && kind == MLT_FLOW_REDUCE; i++)
        for (uint32_t o = 0; o < b->outs; o++)
            put(b->out[o], reduced(b, ordered, i));
}

// ---- as written

static box box_of(const uint32_t *in_first, const uint32_t *in, const uint32_t *out_first,
                  const uint32_t *out, uint32_t at, stream *streams)
{
    box b = {.ins = in_first[at + 1] - in_first[at], .outs = out_first[at + 1] - out_first[at]};
    b.in = mlt_xcalloc(b.ins, sizeof *b.in);
    b.out = mlt_xcalloc(b.outs, sizeof *b.out);
    for (uint32_t i = 0; i < b.ins; i++)
        b.in[i] = &streams[in[in_first[at] + i]];
    for (uint32_t i = 0; i < b.outs; i++)
        b.out[i] = &streams[out[out_first[at] + i]];
    return b;
}

static void box_free(box *b)
{
    free(b->in);
    free(b->out);
}

static bool is_ordered(const mlt_flow_graph *g, uint32_t node)
{
    const flow_op *op = mlt_flow_vector_of(g, node)->op;
    return op && op->ordered;
}

// What queue q of node n gets: got[n * QUEUES + q].
static stream *as_written(const mlt_flow_graph *g)
{
    stream *edges = mlt_xcalloc(g->edge_count, sizeof *edges);
    stream *got = mlt_xcalloc((size_t)g->node_count * QUEUES, sizeof *got);
    for (uint32_t n = 0; n < g->node_count; n++) { // modules first; collectives in their order
        box b = box_of(g->in.first, g->in.list, g->out.first, g->out.list, n, edges);
        if (mlt_flow_vector_of(g, n)->kind != MLT_FLOW_MODULE)
            run(&b, mlt_flow_vector_of(g, n)->kind, is_ordered(g, n));
        else
            for (uint32_t o = 0; o < b.outs; o++)
                for (uint32_t i = 0; i < TOKENS; i++)
                    put(b.out[o], made_by(n, g->edges[g->out.list[g->out.first[n] + o]].out, i));
        box_free(&b);
    }
    for (uint32_t e = 0; e < g->edge_count; e++) {
        copy(&got[g->edges[e].to * QUEUES + g->edges[e].in], &edges[e]);
        free(edges[e].at);
    }
    free(edges);
    return got;
}

// ---- as lowered

// All parts of a reduction together: what each has, the plan's edges, what each hands out.
static void run_reduction(const mlt_flow_lowered *l, const mlt_flow_reduction *r, const box *boxes)
{
    bool ordered = is_ordered(l->graph, r->node);
    uint32_t count = UINT32_MAX;
    for (uint32_t m = 0; m < r->members; m++)
        count = shortest(&boxes[m], count);
    token *have = mlt_xcalloc(r->members, sizeof *have);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t m = 0; m < r->members; m++)
            if (boxes[m].ins)
                have[m] = reduced(&boxes[m], ordered, i);
        for (uint32_t e = 0; e < r->plan.count; e++) {
            mlt_reduce_to_edge at = r->plan.edges[e];
            token low = have[at.from < at.to ? at.from : at.to];
            token high = have[at.from < at.to ? at.to : at.from];
            token both =
                at.kind == MLT_REDUCE_TO_TELL ? have[at.from] : combine(ordered, low, high);
            have[at.to] = both;
            if (at.kind == MLT_REDUCE_TO_MEET)
                have[at.from] = both;
        }
        for (uint32_t m = 0; m < r->members; m++)
            for (uint32_t o = 0; o < boxes[m].outs; o++)
                put(boxes[m].out[o], have[m]);
    }
    free(have);
}

static bool ready(const box *b)
{
    for (uint32_t i = 0; i < b->ins; i++)
        if (!b->in[i]->known)
            return false;
    return true;
}

static void know(const box *b)
{
    for (uint32_t o = 0; o < b->outs; o++)
        b->out[o]->known = true;
}

// Runs task t, or the reduction whose first member it is, if all is there. True: it has.
static bool run_task(const mlt_flow_lowered *l, uint32_t t, box *boxes, bool *done)
{
    const mlt_flow_task *task = &l->tasks[t];
    if (task->kind == MLT_FLOW_REDUCE) {
        const mlt_flow_reduction *r = &l->reductions[task->reduction];
        box *of = mlt_xcalloc(r->members, sizeof *of);
        bool all = r->task[0] == t;
        for (uint32_t m = 0; m < r->members; m++) {
            of[m] = boxes[r->task[m]];
            all &= ready(&of[m]);
        }
        if (all)
            run_reduction(l, r, of);
        for (uint32_t m = 0; m < r->members && all; m++) {
            know(&of[m]);
            done[r->task[m]] = true;
        }
        free(of);
        return all;
    }
    if (!ready(&boxes[t]))
        return false;
    run(&boxes[t], (mlt_flow_kind)task->kind, false);
    know(&boxes[t]);
    return done[t] = true;
}

static void send_all(const mlt_flow_lowered *l, uint32_t t, const box *b)
{
    for (uint32_t o = 0; o < b->outs; o++)
        for (uint32_t i = 0; i < TOKENS; i++)
            put(b->out[o],
                made_by(l->tasks[t].node, l->lines[l->out.list[l->out.first[t] + o]].out, i));
    know(b);
}

static stream *as_lowered(const mlt_flow_lowered *l)
{
    stream *lines = mlt_xcalloc(l->line_count, sizeof *lines);
    stream *got = mlt_xcalloc((size_t)l->graph->node_count * QUEUES, sizeof *got);
    box *boxes = mlt_xcalloc(l->task_count, sizeof *boxes);
    bool *done = mlt_xcalloc(l->task_count, sizeof *done), more = true;
    uint32_t modules = 0;
    for (uint32_t t = 0; t < l->task_count; t++) {
        boxes[t] = box_of(l->in.first, l->in.list, l->out.first, l->out.list, t, lines);
        if (l->tasks[t].kind == MLT_FLOW_MODULE) {
            CHECK(modules++ == t && (!t || l->tasks[t - 1].node < l->tasks[t].node));
            send_all(l, t, &boxes[t]);
            done[t] = true;
        }
    }
    while (more) {
        more = false;
        for (uint32_t t = 0; t < l->task_count; t++)
            if (!done[t])
                more |= run_task(l, t, boxes, done);
    }
    for (uint32_t i = 0; i < l->line_count; i++) {
        const mlt_flow_line *line = &l->lines[i];
        CHECK(lines[i].known);
        if (l->tasks[line->to].kind == MLT_FLOW_MODULE)
            copy(&got[l->tasks[line->to].node * QUEUES + line->in], &lines[i]);
        free(lines[i].at);
    }
    for (uint32_t t = 0; t < l->task_count; t++)
        box_free(&boxes[t]);
    free(boxes);
    free(done);
    free(lines);
    return got;
}

// ---- random graphs

typedef struct made {
    mlt_flow_graph *g;
    uint32_t modules, used[16]; // queues out
    bool mixes[64];             // node: several lead into it, in the order of arrival
} made;

static void from_module(made *m, uint32_t to, uint16_t in)
{
    uint32_t n = below(m->modules);
    hand_wire(m->g, n, (uint16_t)m->used[n]++, to, in);
}

static bool one_out(const made *m, uint32_t n)
{
    mlt_flow_kind kind = mlt_flow_vector_of(m->g, n)->kind;
    return kind == MLT_FLOW_COLLECT || (kind == MLT_FLOW_DEAL && m->mixes[n]);
}

static uint32_t outs_of(const made *m, uint32_t n)
{
    uint32_t count = 0;
    for (uint32_t e = 0; e < m->g->edge_count; e++)
        count += m->g->edges[e].from == n;
    return count;
}

// From a module, or from a collective before it. What is mixed has no order, so only what mixes
// too may take it, and modules.
static void feed(made *m, uint32_t to)
{
    uint32_t collectives = to - m->modules;
    if (collectives && below(3)) {
        uint32_t from = m->modules + below(collectives);
        if ((!m->mixes[from] || m->mixes[to]) && (!one_out(m, from) || !outs_of(m, from))) {
            hand_wire(m->g, from, 0, to, 0);
            m->mixes[to] |= m->mixes[from];
            return;
        }
    }
    from_module(m, to, 0);
}

static void add_collective(made *m)
{
    mlt_flow_kind kind = (mlt_flow_kind)(1 + below(MLT_FLOW_KINDS - 1));
    uint32_t n = hand_add(m->g, "x", kind, 0, 0), ins = 1;
    if (kind == MLT_FLOW_REDUCE && !below(3))
        m->g->vectors[m->g->vector_count - 1].op = &in_order;
    m->mixes[n] = (kind == MLT_FLOW_BROADCAST || kind == MLT_FLOW_DEAL) && !below(3);
    if (kind == MLT_FLOW_REDUCE || kind == MLT_FLOW_COLLECT || m->mixes[n])
        ins = 1 + below(5);
    for (uint32_t i = below(12) ? ins : 0; i > 0; i--)
        feed(m, n);
}

static made random_graph(void)
{
    made m = {.g = hand_new(), .modules = 1 + below(12)};
    hand_add(m.g, "m", MLT_FLOW_MODULE, m.modules, 1);
    for (uint32_t i = below(10); i > 0; i--)
        add_collective(&m);
    for (uint32_t n = m.modules; n < m.g->node_count; n++) {
        uint32_t outs = below(2) ? below(2) : below(9);
        if (one_out(&m, n))
            outs = !outs_of(&m, n);
        for (; outs > 0; outs--)
            hand_wire(m.g, n, 0, below(m.modules), (uint16_t)below(QUEUES));
    }
    for (uint32_t i = below(6); i > 0; i--)
        from_module(&m, below(m.modules), (uint16_t)below(QUEUES));
    for (uint32_t i = m.g->edge_count; i > 1; i--) { // in any order
        uint32_t j = below(i);
        mlt_flow_edge e = m.g->edges[j];
        m.g->edges[j] = m.g->edges[i - 1];
        m.g->edges[i - 1] = e;
    }
    return m;
}

static int by_value(const void *x, const void *y)
{
    const token *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return p->b < q->b ? -1 : p->b > q->b;
}

// True if elements of that queue come in one order only.
static bool has_order(const made *m, uint32_t node, uint32_t queue)
{
    uint32_t edges = 0;
    bool mixed = false;
    for (uint32_t e = 0; e < m->g->edge_count; e++)
        if (m->g->edges[e].to == node && m->g->edges[e].in == queue) {
            edges++;
            mixed |= m->mixes[m->g->edges[e].from];
        }
    return edges == 1 && !mixed;
}

static void compare(const made *m, const stream *written, const mlt_flow_lowered *l)
{
    stream *lowered = as_lowered(l);
    for (uint32_t i = 0; i < m->g->node_count * QUEUES; i++) {
        if (i / QUEUES < m->modules) {
            CHECK(lowered[i].count == written[i].count);
            if (!has_order(m, i / QUEUES, i % QUEUES) && written[i].count) {
                qsort(lowered[i].at, lowered[i].count, sizeof(token), by_value);
                qsort(written[i].at, written[i].count, sizeof(token), by_value);
            }
            for (uint32_t k = 0; k < written[i].count; k++)
                CHECK(!by_value(&lowered[i].at[k], &written[i].at[k]));
        }
        free(lowered[i].at);
    }
    free(lowered);
}

static void try_one(uint64_t *tasks, uint64_t *removed)
{
    made m = random_graph();
    uint32_t workers = 1 + below(17), hosts = 1 + below(4);
    hosts = hosts < workers ? hosts : workers;
    for (uint32_t n = 0; n < m.g->node_count; n++)
        if (below(3))
            hand_pin(m.g, n, NULL, below(2 * workers), 1);
    hand_done(m.g);
    char why[200];
    mlt_flow_sites *s = hand_sites(workers, 2, hosts);
    mlt_flow_placing *p = mlt_flow_place(m.g, s, why, sizeof why);
    CHECK(p);
    stream *written = as_written(m.g);
    for (int how = 0; how < 8; how++) {
        mlt_flow_lowered *l = mlt_flow_lower(
            m.g, p,
            &(mlt_flow_lowering){.balance = how & 1, .keep = how & 2, .reproducible = how & 4});
        for (uint32_t t = 0; t < l->task_count; t++)
            CHECK(s->worker_of[l->tasks[t].place] == l->tasks[t].worker);
        CHECK(!(how & 2) || !l->removed);
        compare(&m, written, l);
        tasks[how & 2 ? 1 : 0] += l->task_count;
        *removed += l->removed;
        mlt_flow_lowered_free(l);
    }
    for (uint32_t i = 0; i < m.g->node_count * QUEUES; i++)
        free(written[i].at);
    free(written);
    mlt_flow_placing_free(p);
    mlt_flow_sites_free(s);
    hand_free(m.g);
}

int main(void)
{
    uint64_t tasks[2] = {0}, removed = 0;
    for (now_seed = 1; now_seed <= (MLT_SANITIZED ? 500 : 5000); now_seed++) {
        random_state = now_seed;
        try_one(tasks, &removed);
    }
    printf("%" PRIu64 " tasks with everything kept, %" PRIu64 " without what hands on\n", tasks[1],
           tasks[0]);
    CHECK(tasks[0] < tasks[1] && removed > 0);
    return 0;
}
