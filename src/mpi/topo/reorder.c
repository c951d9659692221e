// SPDX-License-Identifier: BSD-3-Clause
// Grids, and where ranks live.
//
// A plan is an order of the grid's cells; the cell that comes p-th goes to the rank at position p.
// Such an order is a mixed-radix number, digit by digit from the fastest:
//
//     lines    the axes in some order, each one digit; row-major is one of these
//     blocks   axis d is cut into h[d] * c[d] * b[d]: b[] cells are a worker's block, c[] blocks
//              are a unit's. Needs the same number of ranks in every worker
//
// so a rank finds its cell with one division a digit. How many neighbours an order separates has a
// closed form for each axis, and nothing is ever counted cell by cell, unless ranks of one worker
// are scattered among the others.
#include "mpi/topo/reorder.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "boot/ctl.h"
#include "boot/job.h"
#include "mpi/comm/new.h"
#include "mpi/self.h"
#include "mpi/topo/dims.h"
#include "p2p/worker.h"

enum {
    STEPS = 100000, // of the search for blocks: more only with many dimensions and many workers
    PLANS = 4, // that a worker remembers: enough for a program that works on two halves at once
};

// ---- where ranks live

// The first rank after `from` that lives in another worker.
static int32_t run_end(const mlt_topo_where *where, int32_t from)
{
    uint32_t worker = where->worker(where->of, from);
    int64_t same = from, other = where->count, step = 1;
    while (same + step < other) {
        if (where->worker(where->of, (int32_t)(same + step)) == worker) {
            same += step;
            step *= 2;
        } else {
            other = same + step;
        }
    }
    int64_t next = same + 1;
    return (int32_t)(next +
                     MLT_ARRAY_SEARCH(i, other - next,
                                      where->worker(where->of, (int32_t)(next + i)) == worker));
}

static void add_end(mlt_topo_layout *layout, const mlt_topo_where *where, uint32_t worker,
                    int32_t end, uint32_t *last_unit)
{
    uint32_t unit = where->unit(where->of, worker);
    *MLT_ARRAY_ADD(layout->worker_end, layout->workers, layout->worker_room) = end;
    if (layout->units == 0 || unit != *last_unit)
        (void)MLT_ARRAY_ADD(layout->unit_end, layout->units, layout->unit_room);
    *last_unit = unit;
    layout->unit_end[layout->units - 1] = end;
}

// Ranks of a worker are anywhere: sorts them by worker.
static void gather_scattered(mlt_topo_layout *layout, const mlt_topo_where *where)
{
    uint32_t most = 0, unit = 0;
    for (int32_t r = 0; r < where->count; r++) {
        uint32_t worker = where->worker(where->of, r);
        most = worker > most ? worker : most;
    }
    // [w + 1]: ranks, then first position, of w
    int32_t *next = mlt_xcalloc((size_t)most + 2, sizeof *next);
    for (int32_t r = 0; r < where->count; r++)
        next[where->worker(where->of, r) + 1]++;
    for (uint32_t w = 0; w <= most; w++) {
        next[w + 1] += next[w];
        if (next[w + 1] > next[w])
            add_end(layout, where, w, next[w + 1], &unit);
    }
    layout->position = mlt_xcalloc((size_t)where->count, sizeof *layout->position);
    bool moved = false;
    for (int32_t r = 0; r < where->count; r++) {
        layout->position[r] = next[where->worker(where->of, r)]++;
        moved |= layout->position[r] != r;
    }
    free(next);
    if (!moved) {
        free(layout->position);
        layout->position = NULL;
    }
}

void mlt_topo_layout_init(mlt_topo_layout *layout, const mlt_topo_where *where)
{
    *layout = (mlt_topo_layout){.count = where->count};
    if (!where->ordered) {
        gather_scattered(layout, where);
        return;
    }
    uint32_t unit = 0;
    for (int32_t r = 0; r < where->count;) {
        int32_t end = run_end(where, r);
        add_end(layout, where, where->worker(where->of, r), end, &unit);
        r = end;
    }
}

void mlt_topo_layout_fini(mlt_topo_layout *layout)
{
    free(layout->worker_end);
    free(layout->unit_end);
    free(layout->position);
}

static uint32_t reorder_worker_of(const void *of, int32_t rank)
{
    return mlt_comm_worker_of(((const mlt_topo_where_memory *)of)->comm, rank);
}

static uint32_t process_of(const void *of, uint32_t worker)
{
    return mlt_job_location_at(((const mlt_topo_where_memory *)of)->job, worker)->proc;
}

static uint32_t reorder_host_of(const void *of, uint32_t worker)
{
    return mlt_job_host_of(((const mlt_topo_where_memory *)of)->job, worker);
}

// Hosts take turns with workers: these are numbered host by host.
static uint32_t worker_by_host(const void *of, int32_t rank)
{
    const mlt_topo_where_memory *memory = of;
    uint32_t worker = reorder_worker_of(of, rank);
    return reorder_host_of(of, worker) * memory->stride +
           mlt_job_location_at(memory->job, worker)->local;
}

static uint32_t host_of_number(const void *of, uint32_t number)
{
    return number / ((const mlt_topo_where_memory *)of)->stride;
}

// 0: the workers of each host follow each other; else the most that a host has.
static uint32_t stride_of(mlt_job *job)
{
    uint32_t most = 0, last = 0;
    bool rises = true;
    for (uint32_t w = 0; w < job->workers; w++) {
        uint32_t host = mlt_job_host_of(job, w), local = mlt_job_location_at(job, w)->local;
        rises &= host >= last;
        last = host;
        most = local >= most ? local + 1 : most;
    }
    return rises ? 0 : most;
}

mlt_topo_where mlt_topo_where_of(const mlt_rank *me, const mlt_comm *comm, int32_t count,
                                 mlt_topo_where_memory *memory)
{
    mlt_job *job = me->worker->boot->job;
    *memory = (mlt_topo_where_memory){.comm = comm, .job = job};
    // Jobs see each other differently, and all ranks must find the same order: the one that is there, as
    // if nobody could get a place.
    if (comm->shared && comm->shared->foreign)
        return (mlt_topo_where){.count = 0};
    if (job->hosts > 1)
        memory->stride = stride_of(job);
    if (memory->stride)
        return (mlt_topo_where){worker_by_host, host_of_number, memory, count, .ordered = false};
    // World ranks are numbered worker by worker, so a linear map keeps the workers' order.
    return (mlt_topo_where){reorder_worker_of, job->hosts > 1 ? reorder_host_of : process_of,
                            memory, count, .ordered = !comm->map};
}

bool mlt_topo_where_together(const mlt_topo_where *where)
{
    return where->count < 2 || (where->ordered && where->worker(where->of, 0) ==
                                                      where->worker(where->of, where->count - 1));
}

// ---- what an order of lines separates

// Of the numbers below x, those whose digit (number / stride % size) is the last one.
static int64_t last_digits(int64_t x, int64_t stride, int64_t size)
{
    int64_t whole = stride * size, rest = x % whole - (size - 1) * stride;
    return x / whole * stride + (rest > 0 ? rest : 0);
}

// Pairs along one axis, both of which are in positions from..end-1.
static int64_t pairs_inside(int64_t from, int64_t end, int64_t stride, int64_t size, bool period)
{
    int64_t inside = 0, first = from + (size - 1) * stride;
    if (end - stride > from)
        inside = end - stride - from -
                 (last_digits(end - stride, stride, size) - last_digits(from, stride, size));
    if (period && first < end)
        inside += last_digits(end, stride, size) - last_digits(first, stride, size);
    return inside;
}

static int64_t pairs_apart(const int32_t *ends, int32_t runs, int64_t count, int64_t stride,
                           int64_t size, bool period)
{
    int64_t apart = count / size * (size - 1 + period), from = 0;
    for (int32_t i = 0; i < runs; i++) {
        apart -= pairs_inside(from, ends[i], stride, size, period);
        from = ends[i];
    }
    return apart;
}

// ---- plans

// Cells of the axes in this order, the last one fastest.
static mlt_topo_cut lines_cut(const mlt_topo_cart_plan *plan, const mlt_topo_layout *layout,
                              const int *order, bool units)
{
    mlt_topo_cut cut = {0};
    int64_t stride = 1;
    for (int i = plan->ndims - 1; i >= 0; i--) {
        int size = plan->dims[order[i]];
        bool period = plan->periods[order[i]] && size > 1;
        cut.workers +=
            pairs_apart(layout->worker_end, layout->workers, plan->count, stride, size, period);
        if (units)
            cut.units +=
                pairs_apart(layout->unit_end, layout->units, plan->count, stride, size, period);
        stride *= size;
    }
    return cut;
}

// Every rank stays, and those of a worker are scattered: counts cell by cell.
static mlt_topo_cut scattered_cut(const mlt_topo_cart_plan *plan, const mlt_topo_where *where,
                                  bool units)
{
    mlt_topo_cut cut = {0};
    int64_t stride = 1;
    for (int d = plan->ndims - 1; d >= 0; d--) {
        int64_t size = plan->dims[d];
        for (int32_t r = 0; r < plan->count && size > 1; r++) {
            bool last = r / stride % size == size - 1;
            if (last && !plan->periods[d])
                continue;
            uint32_t a = where->worker(where->of, r);
            uint32_t b =
                where->worker(where->of, (int32_t)(last ? r - (size - 1) * stride : r + stride));
            cut.workers += a != b;
            cut.units += units && where->unit(where->of, a) != where->unit(where->of, b);
        }
        stride *= size;
    }
    return cut;
}

// The distance of neighbours in row-major order.
static int32_t row_stride(const mlt_topo_cart_plan *plan, int axis)
{
    int32_t stride = 1;
    for (int d = plan->ndims - 1; d > axis; d--)
        stride *= plan->dims[d];
    return stride;
}

static void use_lines(mlt_topo_cart_plan *plan, const int *order, mlt_topo_cut cut)
{
    plan->stays = false;
    plan->cut = cut;
    plan->digits = 0;
    for (int i = plan->ndims - 1; i >= 0; i--)
        plan->digit[plan->digits++] =
            (mlt_topo_digit){plan->dims[order[i]], row_stride(plan, order[i])};
}

// The axes by length, the longest first: slabs across it are the smallest.
static int *axes_by_length(const mlt_topo_cart_plan *plan)
{
    int *order = mlt_xcalloc((size_t)plan->ndims, sizeof *order);
    for (int i = 0; i < plan->ndims; i++) {
        int at = i;
        for (; at > 0 && plan->dims[order[at - 1]] < plan->dims[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return order;
}

// ---- blocks

// A search for the numbers of parts of every axis, whose product is given, that separate least.
typedef struct reorder_blocks {
    const mlt_topo_cart_plan *plan;
    const int *limit; // the parts of an axis divide this
    int *divisors, divisor_count;
    int *now, *best;              // [ndims]
    int64_t least;                // separated so far; a find is below it
    struct reorder_blocks *inner; // how workers form units; NULL: not asked
    int64_t inner_least;          // at `least`, the inner one must be below this
    int *steps;                   // left
} reorder_blocks;

static void blocks_init(reorder_blocks *b, const mlt_topo_cart_plan *plan, const int *limit,
                        int parts, int *steps)
{
    *b = (reorder_blocks){.plan = plan, .limit = limit, .steps = steps};
    b->divisors = mlt_dims_divisors(parts, &b->divisor_count);
    b->now = mlt_xcalloc(2 * (size_t)plan->ndims, sizeof *b->now);
    b->best = b->now + plan->ndims;
}

static void blocks_fini(reorder_blocks *b)
{
    free(b->divisors);
    free(b->now);
}

static void search_blocks(reorder_blocks *b, int axis, int left, int64_t cut);

static void found_blocks(reorder_blocks *b, int64_t cut)
{
    if (b->inner) {
        int units = b->inner->divisors[b->inner->divisor_count - 1];
        int64_t limit = cut < b->least ? INT64_MAX : b->inner_least;
        b->inner->least = limit;
        search_blocks(b->inner, 0, units, 0);
        if (b->inner->least == limit)
            return;
        b->inner_least = b->inner->least;
    } else if (cut >= b->least) {
        return;
    }
    b->least = cut;
    memcpy(b->best, b->now, (size_t)b->plan->ndims * sizeof *b->now);
}

static void search_blocks(reorder_blocks *b, int axis, int left, int64_t cut)
{
    if (cut > b->least || --*b->steps < 0)
        return;
    if (axis == b->plan->ndims) {
        if (left == 1)
            found_blocks(b, cut);
        return;
    }
    int size = b->plan->dims[axis];
    bool period = b->plan->periods[axis] != 0;
    for (int i = 0; i < b->divisor_count && b->divisors[i] <= left; i++) {
        int parts = b->divisors[i];
        if (left % parts || b->limit[axis] % parts)
            continue;
        b->now[axis] = parts;
        int64_t here = parts == 1 ? 0 : (parts - 1 + (int64_t)period) * (b->plan->count / size);
        search_blocks(b, axis + 1, left / parts, cut + here);
    }
}

// Every one has the same number.
static bool even(const int32_t *ends, int32_t runs)
{
    for (int32_t i = 0; i < runs; i++)
        if (ends[i] != (i + 1) * (int64_t)ends[0])
            return false;
    return true;
}

static void use_blocks(mlt_topo_cart_plan *plan, const reorder_blocks *b)
{
    int n = plan->ndims;
    plan->stays = false;
    plan->cut = (mlt_topo_cut){b->least, b->inner ? b->inner_least : 0};
    plan->digits = 3 * n;
    for (int d = 0; d < n; d++) {
        int outer = b->inner ? b->inner->best[d] : 1;
        int middle = b->best[d] / outer, block = plan->dims[d] / b->best[d];
        int32_t stride = row_stride(plan, d);
        int at = n - 1 - d;
        plan->digit[at] = (mlt_topo_digit){block, stride};
        plan->digit[n + at] = (mlt_topo_digit){middle, stride * block};
        plan->digit[2 * n + at] = (mlt_topo_digit){outer, stride * block * middle};
    }
}

static void try_blocks(mlt_topo_cart_plan *plan, const mlt_topo_layout *layout, bool units)
{
    int steps = STEPS;
    reorder_blocks b, inner;
    blocks_init(&b, plan, plan->dims, layout->workers, &steps);
    b.least = plan->cut.workers;
    b.inner_least = plan->cut.units;
    if (units) {
        blocks_init(&inner, plan, b.now, layout->units, &steps);
        b.inner = &inner;
    }
    search_blocks(&b, 0, layout->workers, 0);
    if (mlt_topo_cut_is_less((mlt_topo_cut){b.least, b.inner_least}, plan->cut))
        use_blocks(plan, &b);
    blocks_fini(&b);
    if (units)
        blocks_fini(&inner);
}

static void make_plan(mlt_topo_cart_plan *plan, const mlt_topo_where *where,
                      mlt_topo_layout *layout)
{
    bool blocks_fit = even(layout->worker_end, layout->workers);
    // Processes count only where they are something else than workers and every order can be asked.
    bool units = layout->units > 1 && layout->units < layout->workers &&
                 (!blocks_fit || even(layout->unit_end, layout->units));
    int *order = axes_by_length(plan), *rows = mlt_xcalloc((size_t)plan->ndims, sizeof *rows);
    for (int d = 0; d < plan->ndims; d++)
        rows[d] = d;
    plan->before =
        layout->position ? scattered_cut(plan, where, units) : lines_cut(plan, layout, rows, units);
    plan->cut = plan->before;
    if (layout->position) {
        mlt_topo_cut cut = lines_cut(plan, layout, rows, units);
        if (mlt_topo_cut_is_less(cut, plan->cut))
            use_lines(plan, rows, cut);
    }
    mlt_topo_cut cut = lines_cut(plan, layout, order, units);
    if (mlt_topo_cut_is_less(cut, plan->cut))
        use_lines(plan, order, cut);
    if (blocks_fit)
        try_blocks(plan, layout, units);
    free(order);
    free(rows);
}

mlt_topo_cart_plan *mlt_topo_cart_plan_new(const mlt_topo_where *where, int ndims, const int *dims,
                                           const int *periods)
{
    mlt_topo_cart_plan *plan = mlt_xcalloc(1, sizeof *plan);
    plan->ndims = ndims;
    plan->count = where->count;
    plan->stays = true;
    plan->dims = mlt_xcalloc(2 * (size_t)ndims, sizeof *plan->dims);
    plan->periods = plan->dims + ndims;
    plan->digit = mlt_xcalloc(3 * (size_t)ndims, sizeof *plan->digit);
    for (int d = 0; d < ndims; d++) {
        plan->dims[d] = dims[d];
        plan->periods[d] = periods[d] != 0;
    }
    if (mlt_topo_where_together(where))
        return plan;
    mlt_topo_layout layout;
    mlt_topo_layout_init(&layout, where);
    if (layout.workers > 1)
        make_plan(plan, where, &layout);
    if (!plan->stays) {
        plan->position = layout.position;
        layout.position = NULL;
    }
    mlt_topo_layout_fini(&layout);
    return plan;
}

void mlt_topo_cart_plan_free(mlt_topo_cart_plan *plan)
{
    mlt_map_drop(plan->map);
    free(plan->dims);
    free(plan->digit);
    free(plan->position);
    free(plan);
}

int32_t mlt_topo_cart_plan_rank(const mlt_topo_cart_plan *plan, int32_t rank)
{
    if (plan->stays)
        return rank;
    int32_t rest = plan->position ? plan->position[rank] : rank, new = 0;
    for (int i = 0; i < plan->digits && rest > 0; i++) {
        new += rest % plan->digit[i].size * plan->digit[i].weight;
        rest /= plan->digit[i].size;
    }
    return new;
}

// ---- what a worker remembers

struct mlt_topo_cart_plans {
    mlt_topo_cart_plan *plan[PLANS];
    uint32_t next; // the one to replace
};

static bool fits(const mlt_topo_cart_plan *plan, const mlt_comm *comm, const mlt_map *map,
                 int ndims, const int *dims, const int *periods, int count)
{
    if (plan->ndims != ndims || plan->count != count || plan->map != map ||
        (!map && (plan->base != comm->base || plan->stride != comm->stride)))
        return false;
    for (int d = 0; d < ndims; d++)
        if (plan->dims[d] != dims[d] || plan->periods[d] != (periods[d] != 0))
            return false;
    return true;
}

int mlt_reorder_cart(mlt_rank *me, mlt_comm *comm, int ndims, const int *dims, const int *periods,
                     int count)
{
    if (comm->rank >= count)
        return MPI_UNDEFINED;
    mlt_topo_where_memory memory;
    mlt_topo_where where = mlt_topo_where_of(me, comm, count, &memory);
    if (mlt_topo_where_together(&where))
        return comm->rank;
    mlt_mpi_worker *worker = mlt_mpi_worker_of(me);
    if (!worker->plans)
        worker->plans = mlt_xcalloc(1, sizeof *worker->plans);
    struct mlt_topo_cart_plans *plans = worker->plans;
    mlt_map *map = comm->map ? mlt_comm_group(comm) : NULL;
    for (int i = 0; i < PLANS; i++)
        if (plans->plan[i] && fits(plans->plan[i], comm, map, ndims, dims, periods, count))
            return mlt_topo_cart_plan_rank(plans->plan[i], comm->rank);
    mlt_topo_cart_plan *plan = mlt_topo_cart_plan_new(&where, ndims, dims, periods);
    plan->base = comm->base;
    plan->stride = comm->stride;
    plan->map = map ? mlt_map_hold(map) : NULL;
    uint32_t at = plans->next++ % PLANS;
    if (plans->plan[at])
        mlt_topo_cart_plan_free(plans->plan[at]);
    plans->plan[at] = plan;
    return mlt_topo_cart_plan_rank(plan, comm->rank);
}

void mlt_reorder_forget(struct mlt_topo_cart_plans *plans)
{
    for (int i = 0; plans && i < PLANS; i++)
        if (plans->plan[i])
            mlt_topo_cart_plan_free(plans->plan[i]);
    free(plans);
}
