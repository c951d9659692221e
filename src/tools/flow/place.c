// SPDX-License-Identifier: BSD-3-Clause
// `millet flow place`: which instance would run where, and how reductions would go, as text.
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "tools/commands.h"
#include "tools/draw/flow.h"
#include "tools/flow/input.h"
#include "tools/flow/print.h"
#include "tools/flow/site.h"

// Instances by place, in the order of nodes.
typedef struct by_place {
    uint32_t *first, *nodes; // those of place p: nodes[first[p]] ...
} by_place;

static by_place sort_by_place(const mlt_flow_graph *g, const mlt_flow_placing *placing)
{
    uint32_t places = placing->sites->places;
    by_place b = {mlt_xcalloc(places + 2, sizeof *b.first),
                  mlt_xcalloc(g->node_count + 1, sizeof *b.nodes)};
    uint32_t *at = mlt_xcalloc(places + 1, sizeof *at);
    for (uint32_t n = 0; n < g->node_count; n++)
        if (mlt_flow_vector_of(g, n)->kind == MLT_FLOW_MODULE)
            b.first[placing->place_of[n] + 1]++;
    for (uint32_t p = 0; p < places; p++)
        at[p] = b.first[p + 1] += b.first[p];
    for (uint32_t n = g->node_count; n-- > 0;)
        if (mlt_flow_vector_of(g, n)->kind == MLT_FLOW_MODULE)
            b.nodes[--at[placing->place_of[n]]] = n;
    return b;
}

static void print_rank(const mlt_flow_graph *g, uint32_t rank, const uint32_t *nodes,
                       uint32_t count)
{
    uint32_t *index = mlt_xcalloc(count + 1, sizeof *index);
    printf("  rank %" PRIu32 ":", rank);
    for (uint32_t i = 0; i < count;) {
        const mlt_flow_vector *v = mlt_flow_vector_of(g, nodes[i]);
        char text[200];
        size_t n = 0;
        while (i < count && mlt_flow_vector_of(g, nodes[i]) == v)
            index[n++] = nodes[i++] - v->first;
        printf(" %s%s", mlt_flow_range(v, index, n, text, sizeof text), i < count ? "," : "");
    }
    printf("\n");
}

static void print_places(const mlt_flow_graph *g, const mlt_flow_site *site)
{
    const mlt_flow_sites *sites = site->sites;
    by_place b = sort_by_place(g, site->placing);
    uint32_t worker = UINT32_MAX, idle = 0;
    for (uint32_t p = 0; p < sites->places; p++) {
        uint32_t count = b.first[p + 1] - b.first[p];
        if (sites->worker_of[p] != worker) {
            worker = sites->worker_of[p];
            printf("worker %" PRIu32, worker);
            if (sites->host_count > 1)
                printf(" on %s", sites->hosts[sites->host_of[worker]].name);
            printf(", weight %" PRIu64 "\n", site->placing->weight[worker]);
        }
        if (count)
            print_rank(g, p, b.nodes + b.first[p], count);
        else
            idle++;
    }
    if (idle)
        printf("%" PRIu32 " rank%s no instance\n", idle, idle == 1 ? " has" : "s have");
}

static void print_reductions(const mlt_flow_lowered *l)
{
    for (uint32_t i = 0; i < l->reduction_count; i++) {
        const mlt_flow_reduction *r = &l->reductions[i];
        const mlt_flow_vector *v = mlt_flow_vector_of(l->graph, r->node);
        char name[200];
        printf("reduction %s%s%s%s: ", mlt_flow_node_name(l->graph, r->node, name, sizeof name),
               v->op ? " (" : "", v->op ? v->op->name : "", v->op ? ")" : "");
        if (r->members < 2 || !r->plan.count) {
            printf("on worker %" PRIu32 " alone\n", r->worker[0]);
            continue;
        }
        printf("%" PRIu32 " workers, %" PRIu32 " message%s in %" PRIu32 " round%s\n", r->members,
               r->plan.count, r->plan.count == 1 ? "" : "s", r->rounds, r->rounds == 1 ? "" : "s");
        uint32_t *round = mlt_xcalloc(r->plan.count + 1, sizeof *round);
        mlt_flow_plan_rounds(r, round);
        for (uint32_t k = 1; k <= r->rounds; k++) {
            const char *comma = "";
            printf("  round %" PRIu32 ":", k);
            for (uint32_t e = 0; e < r->plan.count; e++)
                if (round[e] == k) {
                    mlt_reduce_to_edge edge = r->plan.edges[e];
                    printf("%s %" PRIu32 " %s %" PRIu32, comma, r->worker[edge.from],
                           edge.kind == MLT_REDUCE_TO_MEET ? "<->" : "->", r->worker[edge.to]);
                    comma = ",";
                }
            printf("\n");
        }
    }
}

// Elements that a worker sends and receives when every queue has had one: what its link to the
// others carries, in both directions at once.
static void print_busiest(const mlt_flow_lowered *l, uint32_t workers)
{
    uint32_t *in = mlt_xcalloc(workers, sizeof *in), *out = mlt_xcalloc(workers, sizeof *out);
    for (uint32_t i = 0; i < l->line_count; i++) {
        uint32_t from = l->tasks[l->lines[i].from].worker, to = l->tasks[l->lines[i].to].worker;
        out[from] += from != to;
        in[to] += from != to;
    }
    for (uint32_t i = 0; i < l->reduction_count; i++)
        for (uint32_t e = 0; e < l->reductions[i].plan.count; e++) {
            mlt_reduce_to_edge edge = l->reductions[i].plan.edges[e];
            uint32_t from = l->reductions[i].worker[edge.from];
            uint32_t to = l->reductions[i].worker[edge.to];
            bool both = edge.kind == MLT_REDUCE_TO_MEET;
            out[from]++, in[to]++;
            out[to] += both, in[from] += both;
        }
    uint32_t busiest = 0, most = 0;
    for (uint32_t w = 0; w < workers; w++) {
        uint32_t load = in[w] > out[w] ? in[w] : out[w];
        if (load > most) {
            most = load;
            busiest = w;
        }
    }
    if (most)
        printf("busiest worker: %" PRIu32 ", %" PRIu32 " in and %" PRIu32 " out\n", busiest,
               in[busiest], out[busiest]);
}

static void print_all(const mlt_flow_graph *g, const mlt_flow_site *site)
{
    const mlt_flow_placing *placing = site->placing;
    uint32_t far = 0;
    print_places(g, site);
    printf("wires between modules: %" PRIu64 ", to another worker: %" PRIu64 "\n", placing->edges,
           placing->cut);
    const mlt_flow_lowered *l = site->lowered;
    for (uint32_t i = 0; i < l->line_count; i++)
        far += l->tasks[l->lines[i].from].worker != l->tasks[l->lines[i].to].worker;
    printf("tasks: %" PRIu32 ", lines: %" PRIu32 ", to another worker: %" PRIu32
           "; left out: %" PRIu32 "\n",
           l->task_count, l->line_count, far, l->removed);
    print_reductions(l);
    print_busiest(l, site->sites->workers);
}

static int place_run(const mlt_arg_texts *words)
{
    mlt_flow_input input = mlt_flow_input_read(words->items[0]);
    mlt_flow_site site = mlt_flow_site_make(input.graph, words->items[0], false);
    print_all(input.graph, &site);
    return MLT_EXIT_FINE;
}

static mlt_arg place_args[] = {MLT_FLOW_DEFINE_ARG};

const mlt_command mlt_flow_place_command = {
    .name = "millet flow place",
    .help = "show what would run where",
    .words = "FILE.flow",
    .least = 1,
    .most = 1,
    .purpose = "Shows which instance would run on which rank, what each worker has to compute, "
               "how many wires lead to other workers, and the rounds of each reduction.",
    .groups = {{NULL, MLT_ARG_LIST(place_args)}, {"The machine", MLT_ARG_LIST(mlt_flow_site_args)}},
    .run = place_run};
