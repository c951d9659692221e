// SPDX-License-Identifier: BSD-3-Clause
// Distributed graphs: every rank gives a part of the edges and keeps those of its own node.
//
// MPI_Dist_graph_create_adjacent without reorder needs nothing of the others. Otherwise all parts
// are gathered, one copy a worker, and the first rank of a worker that sees them does the work for
// all its ranks (mlt_dist_edges): it compares the weights' presence, computes the new ranks, and
// sorts the edges to the nodes that its worker's ranks get. The others only take theirs. So the
// work is proportional to the edges for a worker, not for a rank.
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "mpi/comm/map.h"
#include "mpi/comm/new.h"
#include "mpi/error/error.h"
#include "mpi/info/info.h"
#include "mpi/self.h"
#include "mpi/topo/reorder.h"
#include "mpi/topo/topo.h"
#include "mpi_bodies.h"

// With more ranks than this, MPI_Dist_graph_create_adjacent does not gather edges to reorder.
enum { REORDERED = 1 << 16 };

// A rank's part, as it travels: the head, then ints.
typedef struct part {
    int32_t weighted;
    int32_t in, out; // adjacent: sources, destinations, their weights follow
    int32_t pad;
    int64_t edges; // general: sources, destinations, weights follow
} part;

typedef struct mlt_dist_edges {
    struct mlt_dist_edges *next;  // in the worker's list
    const void *data;             // of the gathered parts: whose they are
    int32_t left;                 // ranks of the worker that have not taken theirs
    int32_t weighted, unweighted; // a rank that gave weights, one that did not; -1: none
    int32_t *newrank;             // of every rank; NULL: all stay
    // General: the edges of node v, if it is one of this worker's, are in_at[v] .. in_at[v + 1].
    int64_t *in_at, *out_at;
    int32_t *in, *out, *in_weight, *out_weight; // weights: NULL unless weighted
} mlt_dist_edges;

static const part *part_of(const mlt_gathered *all, int rank)
{
    return (const part *)((const char *)all->data + all->at[rank]);
}

static const int32_t *ints_of(const part *p)
{
    return (const int32_t *)(p + 1);
}

// ---- what one rank does for its worker

// All edges in one list, as the graph's reordering wants them; the caller frees it. Those of
// adjacent parts are given at both ends and so are there twice.
static mlt_topo_edge *list_edges(const mlt_gathered *all, int size, bool adjacent, int64_t *count)
{
    int64_t total = 0, next = 0;
    for (int r = 0; r < size; r++) {
        const part *p = part_of(all, r);
        total += adjacent ? (int64_t)p->in + p->out : p->edges;
    }
    mlt_topo_edge *list = mlt_xcalloc((size_t)total, sizeof *list);
    for (int r = 0; r < size; r++) {
        const part *p = part_of(all, r);
        const int32_t *at = ints_of(p);
        int64_t edges = adjacent ? (int64_t)p->in + p->out : p->edges;
        const int32_t *weight = p->weighted ? at + (adjacent ? edges : 2 * edges) : NULL;
        for (int64_t i = 0; i < edges; i++) {
            int32_t w = weight ? weight[i] : 1;
            if (!adjacent)
                list[next++] = (mlt_topo_edge){at[i], at[edges + i], w};
            else
                list[next++] =
                    i < p->in ? (mlt_topo_edge){at[i], r, w} : (mlt_topo_edge){r, at[i], w};
        }
    }
    *count = total;
    return list;
}

static void find_ranks(mlt_rank *me, mlt_comm *comm, const mlt_gathered *all, bool adjacent,
                       mlt_dist_edges *e)
{
    mlt_topo_where_memory memory;
    mlt_topo_where where = mlt_topo_where_of(me, comm, comm->size, &memory);
    if (mlt_topo_where_together(&where))
        return;
    int64_t count = 0;
    mlt_topo_edge *list = list_edges(all, comm->size, adjacent, &count);
    e->newrank = mlt_xcalloc((size_t)comm->size, sizeof *e->newrank);
    if (!mlt_reorder_graph(&where, list, count, e->newrank)) {
        free(e->newrank);
        e->newrank = NULL;
    }
    free(list);
}

// Numbers of edges become the places of the first ones; returns how many there are.
static int64_t to_places(int64_t *at, int size)
{
    int64_t total = 0;
    for (int v = 0; v <= size; v++) {
        int64_t here = at[v];
        at[v] = total;
        total += here;
    }
    return total;
}

// The edges of this worker's nodes, in the order of the ranks that gave them. While they are put
// in place, at[v + 1] is where the next one of node v goes: it ends as the first of v + 1.
static void sort_edges(const mlt_gathered *all, int size, const bool *own, mlt_dist_edges *e)
{
    e->in_at = mlt_xcalloc((size_t)size + 2, sizeof *e->in_at);
    e->out_at = mlt_xcalloc((size_t)size + 2, sizeof *e->out_at);
    bool weighted = e->weighted >= 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int r = 0; r < size; r++) {
            const part *p = part_of(all, r);
            const int32_t *from = ints_of(p), *to = from + p->edges, *weight = to + p->edges;
            for (int64_t i = 0; i < p->edges; i++) {
                int64_t *in = own[to[i]] ? &e->in_at[to[i] + 1] : NULL;
                int64_t *out = own[from[i]] ? &e->out_at[from[i] + 1] : NULL;
                if (pass && in && weighted)
                    e->in_weight[*in] = weight[i];
                if (pass && out && weighted)
                    e->out_weight[*out] = weight[i];
                if (pass && in)
                    e->in[*in] = from[i];
                if (pass && out)
                    e->out[*out] = to[i];
                if (in)
                    ++*in;
                if (out)
                    ++*out;
            }
        }
        if (pass)
            break;
        int64_t ins = to_places(e->in_at + 1, size), outs = to_places(e->out_at + 1, size);
        e->in = mlt_xcalloc((size_t)ins, sizeof *e->in);
        e->out = mlt_xcalloc((size_t)outs, sizeof *e->out);
        if (weighted) {
            e->in_weight = mlt_xcalloc((size_t)ins, sizeof *e->in_weight);
            e->out_weight = mlt_xcalloc((size_t)outs, sizeof *e->out_weight);
        }
    }
}

static mlt_dist_edges *build(mlt_rank *me, mlt_comm *comm, const mlt_gathered *all, bool adjacent,
                             bool reorder)
{
    mlt_dist_edges *e = mlt_xcalloc(1, sizeof *e);
    e->data = all->data;
    e->weighted = e->unweighted = -1;
    for (int r = comm->size - 1; r >= 0; r--) {
        e->left += mlt_comm_worker_of(comm, r) == me->worker->index;
        *(part_of(all, r)->weighted ? &e->weighted : &e->unweighted) = r;
    }
    if (e->weighted >= 0 && e->unweighted >= 0)
        return e;
    if (reorder)
        find_ranks(me, comm, all, adjacent, e);
    if (adjacent)
        return e;
    bool *own = mlt_xcalloc((size_t)comm->size, sizeof *own);
    for (int r = 0; r < comm->size; r++)
        if (mlt_comm_worker_of(comm, r) == me->worker->index)
            own[e->newrank ? e->newrank[r] : r] = true;
    sort_edges(all, comm->size, own, e);
    free(own);
    return e;
}

static mlt_dist_edges *edges_of(mlt_rank *me, mlt_comm *comm, const mlt_gathered *all,
                                bool adjacent, bool reorder)
{
    mlt_dist_edges **list = &mlt_mpi_worker_of(me)->dist_edges;
    for (mlt_dist_edges *e = *list; e; e = e->next)
        if (e->data == all->data)
            return e;
    mlt_dist_edges *e = build(me, comm, all, adjacent, reorder);
    e->next = *list;
    *list = e;
    return e;
}

// A rank has taken its edges; the last one of the worker frees them.
static void edges_left(mlt_rank *me, mlt_dist_edges *e)
{
    if (--e->left > 0)
        return;
    mlt_dist_edges **at = &mlt_mpi_worker_of(me)->dist_edges;
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    free(e->newrank);
    free(e->in_at);
    free(e->out_at);
    free(e->in);
    free(e->out);
    free(e->in_weight);
    free(e->out_weight);
    free(e);
}

// ---- both ways to make one

static int weights_differ(mlt_rank *me, mlt_comm *comm, int weighted, int unweighted)
{
    return mlt_mpi_raise(
        me, comm, me->fn, MPI_ERR_ARG,
        "rank %d of %s gave weights and rank %d gave MPI_UNWEIGHTED, but all ranks "
        "should do the same",
        weighted, mlt_comm_name(me, comm), unweighted);
}

// Ranks that disagree about weights find themselves in two communicators.
static MLT_COLD int split_differs(mlt_rank *me, mlt_comm *comm, mlt_comm *new)
{
    bool weighted = new->topo->dist.weighted;
    int same = -1, other = -1; // the lowest ranks of both sides
    for (int r = comm->size - 1; r >= 0; r--)
        *(mlt_map_rank(mlt_comm_group(new), mlt_comm_world_rank(comm, r)) >= 0 ? &same : &other) =
            r;
    mlt_comm_free(me, new);
    return weights_differ(me, comm, weighted ? same : other, weighted ? other : same);
}

// Makes the communicator and consumes the reference on its topology.
static int dist_graph_finish(mlt_rank *me, mlt_comm *comm, int rank, mlt_topo *topo, MPI_Comm *out)
{
    mlt_comm *new = NULL;
    int code = mlt_comm_split(me, comm, topo->dist.weighted, rank, &new);
    if (code != MPI_SUCCESS) {
        mlt_topo_drop(topo);
        return code;
    }
    mlt_comm_set_topo(new, topo);
    if (MLT_UNLIKELY(new->size != comm->size))
        return split_differs(me, comm, new);
    *out = mlt_comm_handle(me, new);
    return MPI_SUCCESS;
}

// A list of nodes and its weights.
static int check_nodes(mlt_rank *me, mlt_comm *comm, const char *name, const int *nodes,
                       int64_t count, const char *weights_name, const int *weights)
{
    if (count == 0)
        return MPI_SUCCESS;
    if (!nodes)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, name, "an array, as there are edges");
    if (!weights || weights == MPI_WEIGHTS_EMPTY)
        return mlt_mpi_raise(
            me, comm, me->fn, MPI_ERR_ARG,
            "argument %s is %s, but should be an array or MPI_UNWEIGHTED, as there "
            "are edges",
            weights_name, weights ? "MPI_WEIGHTS_EMPTY" : "NULL");
    for (int64_t i = 0; i < count; i++) {
        if (nodes[i] < 0 || nodes[i] >= comm->size)
            return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_RANK,
                                 "%s[%lld] is %d, but should be a rank from 0 to %d of %s", name,
                                 (long long)i, nodes[i], comm->size - 1, mlt_comm_name(me, comm));
        if (weights != MPI_UNWEIGHTED && weights[i] < 0)
            return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG,
                                 "%s[%lld] is %d, but should be at least 0", weights_name,
                                 (long long)i, weights[i]);
    }
    return MPI_SUCCESS;
}

static int32_t *dist_graph_append(int32_t *at, const int *from, int64_t count)
{
    if (count > 0)
        memcpy(at, from, (size_t)count * sizeof *at);
    return at + count;
}

// Everybody's part to everybody; consumes it.
static int dist_graph_gather(mlt_rank *me, mlt_comm *comm, part *mine, const int32_t *end,
                             mlt_gathered *all)
{
    size_t bytes = (size_t)((const char *)end - (const char *)mine);
    bytes = (bytes + 7) / 8 * 8; // the next one's head is aligned; there is room for it
    int code = mlt_comm_gather(me, comm, mine, bytes, all);
    free(mine);
    return code;
}

// ---- adjacent

static mlt_topo *topo_of_part(const part *p)
{
    const int32_t *at = ints_of(p), *weights = at + p->in + p->out;
    return mlt_topo_new_dist(p->in, at, weights, p->out, at + p->in, weights + p->in, p->weighted);
}

static int create_together(mlt_rank *me, mlt_comm *comm, const mlt_topo *topo, MPI_Comm *out)
{
    int in = topo->dist.indegree, n = topo->dist.outdegree;
    part *mine = mlt_xcalloc(1, sizeof *mine + 8 * ((size_t)in + (size_t)n) + 8);
    *mine = (part){.weighted = topo->dist.weighted, .in = in, .out = n};
    int32_t *end = dist_graph_append((int32_t *)(mine + 1), topo->dist.sources, in);
    end = dist_graph_append(end, topo->dist.destinations, n);
    if (topo->dist.weighted) {
        end = dist_graph_append(end, topo->dist.source_weights, in);
        end = dist_graph_append(end, topo->dist.destination_weights, n);
    }
    mlt_gathered all;
    int code = dist_graph_gather(me, comm, mine, end, &all);
    if (code != MPI_SUCCESS)
        return code;
    mlt_dist_edges *e = edges_of(me, comm, &all, true, true);
    int weighted = e->weighted, unweighted = e->unweighted;
    int rank = e->newrank ? e->newrank[comm->rank] : comm->rank;
    mlt_topo *new = topo_of_part(part_of(&all, rank));
    edges_left(me, e);
    mlt_gathered_free(&all);
    if (weighted < 0 || unweighted < 0)
        return dist_graph_finish(me, comm, rank, new, out);
    mlt_topo_drop(new);
    return weights_differ(me, comm, weighted, unweighted);
}

int mlt_mpi_Dist_graph_create_adjacent(mlt_rank *me, mlt_comm *comm_old, int indegree,
                                       const int sources[], const int *sourceweights, int outdegree,
                                       const int destinations[], const int *destweights,
                                       MPI_Info info, int reorder, MPI_Comm *comm_dist_graph)
{
    if (comm_old->inter)
        return mlt_topo_inter(me, comm_old);
    if (info != MPI_INFO_NULL && !mlt_info_of(info))
        return mlt_bad_info(me, comm_old, me->fn, info);
    if (indegree < 0 || outdegree < 0)
        return mlt_bad_value(me, comm_old, me->fn, MPI_ERR_ARG,
                             indegree < 0 ? "indegree" : "outdegree",
                             indegree < 0 ? indegree : outdegree, "at least 0");
    int code =
        check_nodes(me, comm_old, "sources", sources, indegree, "sourceweights", sourceweights);
    if (code == MPI_SUCCESS)
        code = check_nodes(me, comm_old, "destinations", destinations, outdegree, "destweights",
                           destweights);
    if (code != MPI_SUCCESS)
        return code;
    bool weighted = sourceweights != MPI_UNWEIGHTED;
    if (weighted != (destweights != MPI_UNWEIGHTED))
        return mlt_mpi_raise(me, comm_old, me->fn, MPI_ERR_ARG,
                             "argument %s is MPI_UNWEIGHTED and %s is not, but both or none should "
                             "be",
                             weighted ? "destweights" : "sourceweights",
                             weighted ? "sourceweights" : "destweights");
    mlt_topo *topo = mlt_topo_new_dist(indegree, sources, sourceweights, outdegree, destinations,
                                       destweights, weighted);
    if (!reorder || comm_old->size > REORDERED)
        return dist_graph_finish(me, comm_old, comm_old->rank, topo, comm_dist_graph);
    code = create_together(me, comm_old, topo, comm_dist_graph);
    mlt_topo_drop(topo);
    return code;
}

// ---- general

static int check_general(mlt_rank *me, mlt_comm *comm, int n, const int *sources,
                         const int *degrees, const int *destinations, const int *weights,
                         int64_t *edges)
{
    *edges = 0;
    if (comm->inter)
        return mlt_topo_inter(me, comm);
    if (n < 0)
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_ARG, "n", n, "at least 0");
    if (n > 0 && !degrees)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, "degrees", "an array, as n is above 0");
    for (int i = 0; i < n; i++) {
        if (degrees[i] < 0)
            return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG,
                                 "degrees[%d] is %d, but should be at least 0", i, degrees[i]);
        *edges += degrees[i];
    }
    int code = check_nodes(me, comm, "sources", sources, n, "weights", MPI_UNWEIGHTED);
    return code != MPI_SUCCESS
               ? code
               : check_nodes(me, comm, "destinations", destinations, *edges, "weights", weights);
}

// The topology of node `rank` from what the worker sorted; NULL: too many edges for an int.
static mlt_topo *topo_of_node(const mlt_dist_edges *e, int rank)
{
    int64_t in = e->in_at[rank], out = e->out_at[rank];
    int64_t ins = e->in_at[rank + 1] - in, outs = e->out_at[rank + 1] - out;
    if (ins != (int)ins || outs != (int)outs)
        return NULL;
    bool weighted = e->weighted >= 0;
    return mlt_topo_new_dist((int)ins, e->in + in, weighted ? e->in_weight + in : NULL, (int)outs,
                             e->out + out, weighted ? e->out_weight + out : NULL, weighted);
}

int mlt_mpi_Dist_graph_create(mlt_rank *me, mlt_comm *comm_old, int n, const int sources[],
                              const int degrees[], const int destinations[], const int *weights,
                              MPI_Info info, int reorder, MPI_Comm *comm_dist_graph)
{
    int64_t edges = 0;
    if (info != MPI_INFO_NULL && !mlt_info_of(info))
        return mlt_bad_info(me, comm_old, me->fn, info);
    int code = check_general(me, comm_old, n, sources, degrees, destinations, weights, &edges);
    if (code != MPI_SUCCESS)
        return code;
    part *mine = mlt_xcalloc(1, sizeof *mine + 12 * (size_t)edges + 8);
    *mine = (part){.weighted = weights != MPI_UNWEIGHTED, .edges = edges};
    int32_t *end = (int32_t *)(mine + 1);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < degrees[i]; k++)
            *end++ = sources[i];
    end = dist_graph_append(end, destinations, edges);
    if (mine->weighted)
        end = dist_graph_append(end, weights, edges);
    mlt_gathered all;
    code = dist_graph_gather(me, comm_old, mine, end, &all);
    if (code != MPI_SUCCESS)
        return code;
    mlt_dist_edges *e = edges_of(me, comm_old, &all, false, reorder != 0);
    int weighted = e->weighted, unweighted = e->unweighted;
    bool agree = weighted < 0 || unweighted < 0;
    int rank = e->newrank ? e->newrank[comm_old->rank] : comm_old->rank;
    mlt_topo *topo = agree ? topo_of_node(e, rank) : NULL;
    edges_left(me, e);
    mlt_gathered_free(&all);
    if (!agree)
        return weights_differ(me, comm_old, weighted, unweighted);
    if (!topo)
        mlt_fatal("rank %d of a distributed graph has more edges than an int counts", rank);
    return dist_graph_finish(me, comm_old, rank, topo, comm_dist_graph);
}

// ---- questions

// The first part of a list, if there is not room for all of it: that is no error.
static int give(mlt_rank *me, mlt_comm *comm, const char *name, int room, int count,
                const int *nodes, int *to, const int *weights, int *weights_to)
{
    if (room < 0)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG,
                             "argument max%sdegree is %d, but should be at least 0",
                             name[0] == 's' ? "in" : "out", room);
    size_t bytes = (size_t)(room < count ? room : count) * sizeof *to;
    if (bytes == 0)
        return MPI_SUCCESS;
    if (!to)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, name, "an array for the result");
    memcpy(to, nodes, bytes);
    if (weights && weights_to && weights_to != MPI_UNWEIGHTED && weights_to != MPI_WEIGHTS_EMPTY)
        memcpy(weights_to, weights, bytes);
    return MPI_SUCCESS;
}

int mlt_mpi_Dist_graph_neighbors(mlt_rank *me, mlt_comm *comm, int maxindegree, int sources[],
                                 int *sourceweights, int maxoutdegree, int destinations[],
                                 int *destweights)
{
    const mlt_topo *topo = comm->topo;
    int code = give(me, comm, "sources", maxindegree, topo->dist.indegree, topo->dist.sources,
                    sources, topo->dist.source_weights, sourceweights);
    if (code == MPI_SUCCESS)
        code = give(me, comm, "destinations", maxoutdegree, topo->dist.outdegree,
                    topo->dist.destinations, destinations, topo->dist.destination_weights,
                    destweights);
    return code;
}
