// SPDX-License-Identifier: BSD-3-Clause
// Random flow programs, in layers: every output of a layer leads on to a later one, by a merge, one
// by one, or through a collective. All of it is a function of the seed, so that everybody knows how
// many elements each queue gets without talking.
//
//     flow_random -D seed=7            all elements arrive, and are what they should be
//     flow_random -D seed=7 -D early=1 some instances end early, or at once; everything ends
//
// There are no cycles, and instances read whatever comes, so a program that does not end shows a
// fault of the library. Contributors of reductions and collections are in step: they all get the
// same, or are sources, and send on their queues in the same order.
#include <string.h>

#include "flow_check.h"

enum {
    LAYERS = 6,
    MOST = 6,
    OUTS = 2,
    INS = 3,
    WIRES = (LAYERS - 1) * OUTS,
    SMALL = 20,
    MANY = 500
};

typedef enum way { NOWHERE, MERGE, EACH, SPREAD, DEALT, COLLECTED, REDUCED } way;

typedef struct wire {
    way how;
    int to, in;       // layer and its input
    long first, last; // of that layer
} wire;

typedef struct layer {
    long count, elements; // elements: of each source
    bool source, step;    // step: all instances get the same sequence
    bool steady;          // none ends early
    wire out[OUTS];
    long gets[MOST][INS]; // elements, if nobody ends early
    int fed[INS];         // wires
} layer;

typedef struct plan {
    uint64_t seed;
    int layers;
    bool early;
    layer at[LAYERS];
} plan;

static uint64_t hash(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = seed * 0x9e3779b97f4a7c15u + a * 0xff51afd7ed558ccdu + b * 0xc4ceb9fe1a85ec53u + c;
    for (int i = 0; i < 3; i++) {
        h ^= h >> 31;
        h *= 0xbf58476d1ce4e5b9u;
    }
    return h ^ h >> 29;
}

// ---- the plan

static long sent_by(const layer *l, long i)
{
    long all = l->source ? l->elements : 0;
    for (int k = 0; k < INS; k++)
        all += l->gets[i][k];
    return all;
}

static void receive(layer *from, layer *to, const wire *w)
{
    long all = 0, n = w->last - w->first + 1;
    for (long i = 0; i < from->count; i++)
        all += sent_by(from, i);
    for (long i = w->first; i <= w->last; i++) {
        long *gets = &to->gets[i][w->in];
        switch (w->how) {
        case EACH:
            *gets += sent_by(from, i);
            break;
        case DEALT:
            *gets += all / n + (i - w->first < all % n);
            break;
        case REDUCED:
            *gets += sent_by(from, 0);
            break;
        default:
            *gets += all;
        }
    }
    to->fed[w->in]++;
}

static void plan_wire(plan *p, int from, int q)
{
    layer *l = &p->at[from];
    wire *w = &l->out[q];
    uint64_t h = hash(p->seed, 10 + (uint64_t)from, (uint64_t)q, 0);
    w->to = from + 1 + (int)(h % 3 == 0 ? h / 3 % (uint64_t)(p->layers - from - 1) : 0);
    layer *to = &p->at[w->to];
    w->in = (int)(h / 100 % INS);
    w->how = (way)(MERGE + h / 1000 % 6);
    bool step = l->source || l->step;
    long all = 0;
    for (long i = 0; i < l->count; i++)
        all += sent_by(l, i);
    if (w->how == SPREAD && all > MANY)
        w->how = DEALT;
    if ((w->how == EACH && l->count != to->count) || (w->how >= COLLECTED && !step))
        w->how = all > MANY ? MERGE : SPREAD;
    bool one = w->how == MERGE || w->how == COLLECTED;
    w->first = one || w->how == REDUCED ? (long)(h / 10000 % (uint64_t)to->count) : 0;
    w->last = one ? w->first : to->count - 1;
    if (h / 7 % 11 == 0)
        w->how = NOWHERE;
    if (w->how == REDUCED)
        l->steady = true;
}

// Layers are finished one after the other: what a layer gets is known when it is planned.
static plan make_plan(uint64_t seed, bool early)
{
    plan p = {
        .seed = seed, .early = early, .layers = 3 + (int)(hash(seed, 1, 0, 0) % (LAYERS - 2))};
    for (int l = 0; l < p.layers; l++)
        p.at[l].count = 1 + (long)(hash(seed, 2, (uint64_t)l, 0) % MOST);
    for (int l = 0; l < p.layers; l++) {
        layer *at = &p.at[l];
        int wires = at->fed[0] + at->fed[1] + at->fed[2];
        at->source = wires == 0;
        at->elements = (long)(hash(seed, 3, (uint64_t)l, 0) % 60);
        at->step = false;
        for (int k = 0; k < l && wires == 1; k++) // from a reduction, or all of one source's
            for (int q = 0; q < OUTS; q++) {
                const wire *w = &p.at[k].out[q];
                bool same = w->how == REDUCED || (w->how == SPREAD && p.at[k].count == 1);
                if (w->how != NOWHERE && w->to == l)
                    at->step = same && w->first == 0;
            }
        for (int q = 0; q < OUTS && l + 1 < p.layers; q++) {
            plan_wire(&p, l, q);
            if (at->out[q].how != NOWHERE)
                receive(at, &p.at[at->out[q].to], &at->out[q]);
        }
    }
    return p;
}

// ---- modules

typedef struct Node {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) a;
        FLOW_QUEUE(long) b;
        FLOW_QUEUE(long) c;
        FLOW_QUEUE(long) x;
        FLOW_QUEUE(long) y;
    } q;
    plan p;
    int layer;
    long limit;      // of elements; -1: none
    bool open[OUTS]; // somebody takes them
    uint64_t style;
} Node;

#define NEED(my, condition)                                                                        \
    do {                                                                                           \
        if (!(condition))                                                                          \
            flow_fail(my, "line %d: %s", __LINE__, #condition);                                    \
    } while (0)

static size_t length_of(uint64_t seed, int layer, long n)
{
    uint64_t h = hash(seed, 20 + (uint64_t)layer, (uint64_t)n, 0);
    return h % 60 == 0 ? 40000 : h % 10 == 0 ? 5000 : h % 7 == 0 ? 60 : h / 100 % 9;
}

// Each value is so much more than the one before; and so are sums of such.
static void check_element(Node *my, const long *v, size_t n)
{
    for (size_t k = 2; k < n; k++)
        NEED(my, v[k] - v[k - 1] == v[1] - v[0]);
}

static bool any_open(const Node *my)
{
    return my->open[0] || my->open[1];
}

// Sends on all outputs; the last one is given, if it is the caller's own.
static void pass_on(Node *my, const long *v, size_t n, long *own)
{
    if (my->open[0])
        my->open[0] = flow_send_on(my, x, v, n);
    if (!my->open[1]) {
        if (own && my->style % 2)
            flow_free(own);
        return;
    }
    if (own)
        my->open[1] = flow_give_on(my, y, own, n);
    else
        my->open[1] = flow_send_on(my, y, v, n);
}

static void be_source(Node *my)
{
    const layer *l = &my->p.at[my->layer];
    for (long n = 0; n < l->elements && n != my->limit; n++) {
        size_t length = length_of(my->p.seed, my->layer, n);
        long *v = flow_new_on(my, y, length);
        for (size_t k = 0; k < length; k++)
            v[k] = n * 100 + my->flow.index + (long)k;
        if (my->open[1]) {
            pass_on(my, v, length, v);
        } else {
            pass_on(my, v, length, NULL);
            flow_free(v);
        }
        if (!any_open(my) && my->style % 3 == 0)
            return;
    }
}

// Which queue: 0 to 2; -1: all have ended.
static int next(Node *my, const long **v, size_t *n, long **own)
{
    const int *fed = my->p.at[my->layer].fed;
    *own = NULL;
    if (my->style / 4 % 3 == 0)
        return flow_dequeue_from(my, v, n, a, b, c);
    if (my->style / 4 % 3 == 1 && !fed[1] && !fed[2])
        return flow_dequeue_on(my, a, v, n) ? 0 : -1;
    int which = flow_dequeue_from(my, own, n, c, b, a);
    *v = *own;
    return which < 0 ? which : 2 - which;
}

static void be_stage(Node *my)
{
    const layer *l = &my->p.at[my->layer];
    const long *v;
    long *own, got[INS] = {0}, all = 0;
    size_t n;
    for (int which = 0; all != my->limit && (which = next(my, &v, &n, &own)) >= 0; all++) {
        got[which]++;
        check_element(my, v, n);
        for (size_t k = 0; own && k < n; k++)
            own[k] += my->flow.index;
        if (own && my->style / 32 % 2)
            flow_keep(own);
        bool kept = own && my->style / 32 % 2;
        if (kept && !my->open[1]) {
            pass_on(my, v, n, NULL);
            flow_free(own);
        } else {
            pass_on(my, v, n, own);
        }
        if (my->p.early && !any_open(my) && my->style % 3 == 0)
            return;
    }
    for (int k = 0; k < INS && !my->p.early; k++)
        NEED(my, got[k] == l->gets[my->flow.index][k]);
}

static int Node_run(Node *my)
{
    my->p = make_plan((uint64_t)flow_const(my, "seed"), flow_const(my, "early") != 0);
    my->layer = my->flow.name[1] - '0';
    const layer *l = &my->p.at[my->layer];
    uint64_t h = hash(my->p.seed, 30 + (uint64_t)my->layer, (uint64_t)my->flow.index, 0);
    my->limit = -1;
    if (my->p.early && !l->steady)
        my->limit = h % 5 == 0 ? 0 : h % 5 < 3 ? (long)(h / 100 % SMALL) : -1;
    my->style = h / 10000;
    my->open[0] = my->open[1] = true;
    if (l->source)
        be_source(my);
    else
        be_stage(my);
    return 0;
}

MODULE(Node, IN_LONG(Node, a, 0), IN_LONG(Node, b, 3), IN_LONG(Node, c, 1), OUT_LONG(Node, x, 0),
       OUT_LONG(Node, y, 2));

// ---- wiring

static void wire_one(flow_wiring *w, const plan *p, const int *vectors, int from, int q)
{
    static const char *const ins[] = {"a", "b", "c"}, *const outs[] = {"x", "y"};
    static const flow_module *const through[] = {[SPREAD] = &flow_Broadcast,
                                                 [DEALT] = &flow_Deal,
                                                 [COLLECTED] = &flow_Collect,
                                                 [REDUCED] = &flow_Reduce};
    static const flow_op sum = {.name = "sum"};
    const wire *wire = &p->at[from].out[q];
    if (wire->how == NOWHERE)
        return;
    flow_part a = {.vector = vectors[from], .all = true, .queue = outs[q]};
    flow_part b = {.vector = vectors[wire->to],
                   .first = wire->first,
                   .last = wire->last,
                   .queue = ins[wire->in]};
    if (wire->how == MERGE)
        WIRE(w, a, b);
    if (wire->how == EACH)
        WIRE_EACH(w, a, b);
    if (wire->how <= EACH)
        return;
    char name[32];
    snprintf(name, sizeof name, "c%d_%d", from, q);
    flow_part c = {.vector = flow_add(w, __LINE__, name, through[wire->how], -1),
                   .all = true,
                   .op = wire->how == REDUCED ? &sum : NULL};
    WIRE3(w, a, c, b);
}

static void wire_all(flow_wiring *w)
{
    long seed = flow_wiring_const(w, __LINE__, "seed", 1);
    bool early = flow_wiring_const(w, __LINE__, "early", 0);
    plan p = make_plan((uint64_t)seed, early);
    int vectors[LAYERS];
    for (int l = 0; l < p.layers; l++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", l);
        vectors[l] = flow_add(w, __LINE__, name, &Node_module, p.at[l].count);
        for (long i = 0; i < p.at[l].count && seed % 3 == 0; i++) {
            uint64_t place = hash(p.seed, 40 + (uint64_t)l, (uint64_t)i, 0) % (uint64_t)csp_nodes();
            snprintf(name, sizeof name, "%d", (int)place);
            flow_place(w, __LINE__, &AT(vectors[l], i), 1, name);
        }
    }
    for (int l = 0; l + 1 < p.layers; l++)
        for (int q = 0; q < OUTS; q++)
            wire_one(w, &p, vectors, l, q);
}

MAIN(wire_all)
