// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/op.h"

#include <string.h>

#include "base/log.h"
#include "base/upcalls.h"
#include "fiber/fiber.h"
#include "p2p/worker.h"

// All predefined operations of reductions commute.
static void run_kernel(void *arg, const mlt_run_operands *o)
{
    const mlt_coll_op *op = arg;
    op->kernel(o->result, o->second, o->bytes / op->element);
}

void mlt_coll_op_predefined(mlt_coll_op *op, const mlt_reduction *reduction,
                            const mlt_type *datatype)
{
    bool listed = reduction->op != MLT_OPS;
    *op = (mlt_coll_op){
        .op = reduction->op,
        .type = reduction->type,
        .function = listed ? NULL : run_kernel,
        .arg = listed ? NULL : op,
        .element = reduction->element,
        .commutes = reduction->commutes,
        .exact = reduction->exact,
        .direct = !datatype || !datatype->device, // flow gives none
        .kernel = reduction->kernel,
        .datatype = datatype,
        .same = (uintptr_t)reduction->kernel,
    };
}

// The multiple of `align` that is `at` or the next one below it.
static int64_t op_lower(int64_t at, int64_t align)
{
    return at & ~(align - 1);
}

// The same function has another address in each rank's own copy of the program.
static uintptr_t original(uintptr_t function)
{
    return mlt_upcalls.original ? mlt_upcalls.original(function) : function;
}

// Where elements begin is aligned as their addresses in MPI's sense are, for the function's sake.
bool mlt_coll_op_user(mlt_coll_op *op, mlt_run_function *function, const void *user, uintptr_t same,
                      bool commutes, const mlt_type *datatype)
{
    const mlt_type *t = datatype;
    int64_t align = INT64_C(1) << t->align, lb = t->contiguous ? 0 : op_lower(t->lb, align);
    // Elements stay within their bounds and do not meet those of their neighbours.
    bool tiled = t->contiguous || (t->extent > 0 && t->true_lb >= lb &&
                                   t->true_lb + t->true_extent <= lb + t->extent);
    int64_t origin = tiled ? lb : op_lower(t->true_lb, align);
    uint64_t element = tiled ? (uint64_t)t->extent
                             : (uint64_t)-op_lower(origin - t->true_lb - t->true_extent, align);
    if (!element) // no data: a byte for each to count by
        element = 1;
    *op = (mlt_coll_op){
        .op = MLT_OPS,
        .type = MLT_OP_TYPES,
        .function = function,
        .arg = op,
        .element = (uint32_t)element,
        .commutes = commutes,
        .scratched = !commutes,
        .direct = t->contiguous,
        .datatype = t,
        .origin = origin,
        .apart = !tiled,
        .user = user,
        .same = original(same),
    };
    return element <= UINT32_MAX;
}

static void move(const mlt_coll_op *op, void *to, const void *from, uint64_t count)
{
    mlt_type_move(op->datatype, to, op->datatype, from, 0, count * op->datatype->size);
}

// result = result op second, or second op result, which needs a copy unless it commutes.
static void combine_all(const mlt_coll_op *op, const mlt_run_operands *o)
{
    size_t count = o->bytes / op->element;
    if (!o->reversed || op->commutes) {
        op->combine(o->result, o->second, count);
        return;
    }
    mlt_assert(o->scratch);
    memcpy(o->scratch, o->second, o->bytes);
    op->combine(o->scratch, o->result, count);
    memcpy(o->result, o->scratch, o->bytes);
}

static void call_combine(void *arg, const mlt_run_operands *o)
{
    const mlt_rank *me = mlt_rank_self();
    mlt_sched *sched = me ? me->worker->sched : NULL;
    if (!sched) { // in a test
        combine_all(arg, o);
        return;
    }
    const char *before = mlt_sched_pin(sched, "the function of an operation");
    combine_all(arg, o);
    mlt_sched_unpin(sched, before);
}

void mlt_coll_op_plain(mlt_coll_op *op, mlt_coll_combine *combine, const void *user,
                       uint32_t element, bool commutes)
{
    *op = (mlt_coll_op){
        .op = MLT_OPS,
        .type = MLT_OP_TYPES,
        .function = call_combine,
        .arg = op,
        .element = element,
        .commutes = commutes,
        .scratched = !commutes,
        .direct = true,
        .combine = combine,
        .user = user,
        .same = original((uintptr_t)combine),
    };
}

void mlt_coll_load(const mlt_coll_op *op, void *to, const void *from, uint64_t count)
{
    char *here = mlt_coll_op_address(op, to);
    const char *theirs = from;
    if (!op->apart)
        move(op, here, theirs, count);
    else
        for (uint64_t i = 0; i < count; i++)
            move(op, here + i * op->element, theirs + (int64_t)i * op->datatype->extent, 1);
}

void mlt_coll_store(const mlt_coll_op *op, void *to, const void *from, uint64_t count)
{
    const char *here = mlt_coll_op_address(op, from);
    char *theirs = to;
    if (!op->apart)
        move(op, theirs, here, count);
    else
        for (uint64_t i = 0; i < count; i++)
            move(op, theirs + (int64_t)i * op->datatype->extent, here + i * op->element, 1);
}

void mlt_coll_apply(const mlt_coll_op *op, void *result, const void *second, uint64_t bytes,
                    bool reversed, void *scratch)
{
    if (!bytes)
        return;
    if (op->kernel) { // they all commute
        op->kernel(result, second, bytes / op->element);
        return;
    }
    op->function(op->arg, &(mlt_run_operands){.result = result,
                                              .second = (void *)(uintptr_t)second,
                                              .bytes = bytes,
                                              .second_bytes = bytes,
                                              .reversed = reversed,
                                              .scratch = scratch});
}
