// SPDX-License-Identifier: BSD-3-Clause
// Put, get, accumulate and the like.
//
// quick.h does the everyday calls. Of the others, most pass one test of everything that may be wrong
// (is_plain); only a call that does not pass is looked at closely.
#include <stdio.h>
#include <string.h>

#include "mpi/coll/coll.h"
#include "mpi/coll/op.h"
#include "mpi/p2p/request.h"
#include "mpi/self.h"
#include "mpi/type/dtype.h"
#include "mpi/win/win.h"
#include "mpi_bodies.h"
#include "win/op.h"
#include "win/side.h"

// What the user gave of one side.
typedef struct given {
    const char *name; // "origin"
    const void *buf;
    MPI_Count count;
    const mlt_type *type;
} given;

// ---- checks

static MLT_COLD int rma_no_epoch(mlt_rank *me, mlt_win *win, int target)
{
    return mlt_win_raise(me, win, MPI_ERR_RMA_SYNC,
                         "there is no epoch for rank %d of %s: call MPI_Win_fence, MPI_Win_start, "
                         "MPI_Win_lock or MPI_Win_lock_all first",
                         target, mlt_win_called(win));
}

static MLT_COLD int check_target(mlt_rank *me, mlt_win *win, int target, MPI_Aint disp)
{
    const mlt_win_part *part = win->side.part;
    if ((uint32_t)target >= (uint32_t)part->ranks)
        return mlt_win_raise(me, win, MPI_ERR_RANK,
                             "argument target_rank is %d, but should be a rank from 0 to %d of %s, "
                             "or MPI_PROC_NULL",
                             target, part->ranks - 1, mlt_win_called(win));
    if (disp < 0 && part->flavor != MLT_WIN_DYNAMIC)
        return mlt_win_raise(me, win, MPI_ERR_DISP,
                             "argument target_disp is %lld, but should be at least 0",
                             (long long)disp);
    return mlt_win_has_epoch(win, target) ? MPI_SUCCESS : rma_no_epoch(me, win, target);
}

static MLT_COLD int check_given(mlt_rank *me, mlt_win *win, const given *g, bool memory)
{
    int64_t bytes;
    if (g->count < 0)
        return mlt_win_raise(me, win, MPI_ERR_COUNT,
                             "argument %s_count is %lld, but should be at least 0", g->name,
                             (long long)g->count);
    if (!g->type)
        return mlt_win_raise(me, win, MPI_ERR_TYPE,
                             "argument %s_datatype is no valid datatype handle of this rank",
                             g->name);
    if (!g->type->committed && g->count)
        return mlt_win_raise(me, win, MPI_ERR_TYPE,
                             "argument %s_datatype is a type that was not committed; call "
                             "MPI_Type_commit first",
                             g->name);
    if (__builtin_mul_overflow((int64_t)g->count, (int64_t)g->type->size, &bytes))
        return mlt_win_raise(me, win, MPI_ERR_COUNT,
                             "argument %s_count is %lld, but should be so small that the bytes of "
                             "all elements fit into 63 bits",
                             g->name, (long long)g->count);
    if (memory && bytes && (uintptr_t)g->buf <= (uintptr_t)MPI_IN_PLACE &&
        (g->buf || g->type->code))
        return mlt_win_raise(me, win, MPI_ERR_BUFFER,
                             "argument %s_addr is %p, but should be the address of data, as "
                             "%s_count is above 0",
                             g->name, g->buf, g->name);
    return MPI_SUCCESS;
}

static MLT_COLD int rma_check_same(mlt_rank *me, mlt_win *win, const given *a, const given *b)
{
    uint64_t x = (uint64_t)a->count * a->type->size, y = (uint64_t)b->count * b->type->size;
    if (x == y)
        return MPI_SUCCESS;
    return mlt_win_raise(me, win, MPI_ERR_TRUNCATE,
                         "the %s data have %llu bytes, but the %s data have %llu", a->name,
                         (unsigned long long)x, b->name, (unsigned long long)y);
}

static inline bool is_fine(const given *g)
{
    return g->type && g->type->committed && (uint64_t)g->count < UINT32_MAX &&
           g->type->size < UINT32_MAX;
}

// Nothing of it is worth a closer look.
static inline bool rma_is_plain(const mlt_win *win, const given *origin, int target, MPI_Aint disp,
                                const given *there)
{
    return MLT_LIKELY(
        (uint32_t)target < (uint32_t)win->side.part->ranks && disp >= 0 && is_fine(origin) &&
        is_fine(there) && (uintptr_t)origin->buf > (uintptr_t)MPI_IN_PLACE &&
        (uint64_t)origin->count * origin->type->size == (uint64_t)there->count * there->type->size);
}

static MLT_COLD int rma_check_all(mlt_rank *me, mlt_win *win, const given *origin, int target,
                                  MPI_Aint disp, const given *there)
{
    int code = check_target(me, win, target, disp);
    if (code == MPI_SUCCESS)
        code = check_given(me, win, origin, true);
    if (code == MPI_SUCCESS)
        code = check_given(me, win, there, false);
    return code == MPI_SUCCESS ? rma_check_same(me, win, origin, there) : code;
}

static inline int rma_check(mlt_rank *me, mlt_win *win, const given *origin, int target,
                            MPI_Aint disp, const given *there)
{
    if (rma_is_plain(win, origin, target, disp, there))
        return MLT_LIKELY(mlt_win_has_epoch(win, target)) ? MPI_SUCCESS
                                                          : rma_no_epoch(me, win, target);
    return rma_check_all(me, win, origin, target, disp, there);
}

// ---- doing

static MLT_COLD int beyond(mlt_rank *me, mlt_win *win, const mlt_win_call *call,
                           mlt_win_fault fault)
{
    uint64_t bytes = call->there.count * call->there.type->size;
    if (fault == MLT_WIN_UNATTACHED)
        return mlt_win_raise(me, win, MPI_ERR_RMA_RANGE,
                             "%llu bytes at address %p of rank %d are not attached to %s",
                             (unsigned long long)bytes, (void *)call->disp, call->target,
                             mlt_win_called(win));
    const mlt_win_descriptor *descriptor = mlt_win_descriptor_of(win->side.part, call->target);
    return mlt_win_raise(
        me, win, MPI_ERR_RMA_RANGE,
        "%llu bytes at displacement %lld reach beyond the %llu bytes of rank %d of "
        "%s, whose displacement unit is %llu",
        (unsigned long long)bytes, (long long)call->disp, (unsigned long long)descriptor->size,
        call->target, mlt_win_called(win), (unsigned long long)descriptor->unit);
}

static MLT_COLD int not_passive(mlt_rank *me, mlt_win *win)
{
    return mlt_win_raise(me, win, MPI_ERR_RMA_SYNC,
                         "operations with a request are for epochs of MPI_Win_lock and "
                         "MPI_Win_lock_all only");
}

// With a request.
static int rma_run_request(mlt_rank *me, mlt_win *win, mlt_win_call *call, MPI_Request *request)
{
    mlt_win_fault fault;
    if (!(win->side.flags & (MLT_WINF_LOCKED | MLT_WINF_LOCKED_ALL)))
        return not_passive(me, win);
    mlt_mpi_yield_if_due(me); // the wait will most likely find it done
    mlt_req *req = mlt_req_new(me);
    mlt_req_fill_other(req, me, mlt_win_shared_of(win)->comm);
    call->req = req;
    mlt_status status = mlt_win_do(&win->side, call, &fault);
    if (status == MLT_PENDING) {
        *request = mlt_req_handle(req);
        return MPI_SUCCESS;
    }
    mlt_req_free(req);
    if (status != MLT_OK)
        return beyond(me, win, call, fault);
    *request = mlt_req_sent_handle();
    return MPI_SUCCESS;
}

static inline int rma_run(mlt_rank *me, mlt_win *win, mlt_win_call *call, const mlt_how *how)
{
    mlt_win_fault fault;
    if (how)
        return rma_run_request(me, win, call, how->request);
    mlt_status status = mlt_win_do(&win->side, call, &fault);
    return MLT_LIKELY(status >= MLT_OK) ? MPI_SUCCESS : beyond(me, win, call, fault);
}

static mlt_win_data data_of(const given *g)
{
    return (mlt_win_data){
        .buf = (void *)(uintptr_t)g->buf, .count = (uint64_t)g->count, .type = g->type};
}

// True: nobody is the target, or the request has no place, and *code says so.
static inline bool rma_is_over(mlt_rank *me, mlt_win *win, int target, const mlt_how *how,
                               int *code)
{
    *code = MPI_SUCCESS;
    if (MLT_UNLIKELY(how && !how->request))
        *code = mlt_win_raise(me, win, MPI_ERR_ARG,
                              "argument request is NULL, but should be the address of the variable "
                              "for the result");
    else if (MLT_LIKELY(target != MPI_PROC_NULL))
        return false;
    else if (how)
        *how->request = mlt_req_proc_null_handle();
    return true;
}

#define GIVEN(side)  ((given){#side, side##_addr, side##_count, side##_datatype})
#define GIVEN_TARGET ((given){"target", NULL, target_count, target_datatype})

// ---- put and get

// Where the target's memory lies here, if both sides are without gaps and it is in reach.
static inline char *plain_memory(mlt_win *win, const given *origin, int target, MPI_Aint disp,
                                 const given *there)
{
    if (MLT_UNLIKELY(!origin->type->contiguous || !there->type->contiguous))
        return NULL;
    mlt_win_descriptor *descriptor;
    uint64_t bytes = (uint64_t)there->count * there->type->size;
    return MLT_LIKELY(bytes) ? mlt_win_plain(&win->side, target, disp, bytes, &descriptor) : NULL;
}

static inline __attribute__((always_inline)) int rma_move(mlt_rank *me, mlt_win_verb verb,
                                                          const given *origin, int target,
                                                          MPI_Aint disp, const given *there,
                                                          mlt_win *win, const mlt_how *how)
{
    int code;
    if (rma_is_over(me, win, target, how, &code))
        return code;
    code = rma_check(me, win, origin, target, disp, there);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    bool puts = verb == MLT_WIN_PUT;
    char *memory = plain_memory(win, origin, target, disp, there);
    if (MLT_LIKELY(memory != NULL) && !how) {
        memcpy(puts ? memory : (void *)(uintptr_t)origin->buf, puts ? origin->buf : memory,
               (uint64_t)origin->count * origin->type->size);
        return MPI_SUCCESS;
    }
    mlt_win_call call = {.operation = {.verb = (uint8_t)verb},
                         .target = target,
                         .disp = disp,
                         .there = data_of(there)};
    *(puts ? &call.origin : &call.result) = data_of(origin);
    return rma_run(me, win, &call, how);
}

int mlt_mpi_Put(mlt_rank *me, const void *origin_addr, MPI_Count origin_count,
                const mlt_type *origin_datatype, int target_rank, MPI_Aint target_disp,
                MPI_Count target_count, const mlt_type *target_datatype, mlt_win *win,
                const mlt_how *how)
{
    return rma_move(me, MLT_WIN_PUT, &GIVEN(origin), target_rank, target_disp, &GIVEN_TARGET, win,
                    how);
}

int mlt_mpi_Get(mlt_rank *me, void *origin_addr, MPI_Count origin_count,
                const mlt_type *origin_datatype, int target_rank, MPI_Aint target_disp,
                MPI_Count target_count, const mlt_type *target_datatype, mlt_win *win,
                const mlt_how *how)
{
    return rma_move(me, MLT_WIN_GET, &GIVEN(origin), target_rank, target_disp, &GIVEN_TARGET, win,
                    how);
}

// ---- accumulates

static bool is_pair(const mlt_type *type)
{
    return !type->code && mlt_dtype_of(type)->permanent &&
           mlt_dtype_of(type)->contents.combiner == MPI_COMBINER_VALUE_INDEX;
}

// The predefined type that all data of a type are made of, a named one or an unnamed pair of value
// and index; NULL: there are several, or none.
static const mlt_type *basic_of(const mlt_type *type)
{
    type = mlt_dtype_original(type);
    if (type->code || is_pair(type))
        return type;
    const mlt_contents *contents = &mlt_dtype_of(type)->contents;
    const mlt_type *basic = NULL;
    for (int64_t i = 0; i < contents->type_count; i++) {
        const mlt_type *part = contents->type[i];
        if (part->size == 0)
            continue;
        const mlt_type *found = basic_of(part);
        if (!found || (basic && found != basic))
            return NULL;
        basic = found;
    }
    return basic;
}

static MLT_COLD int find_operation(mlt_rank *me, mlt_win *win, MPI_Op op, const given *there,
                                   mlt_win_operation *operation)
{
    char why[160];
    mlt_reduce_op which;
    mlt_reduction reduction;
    if (!mlt_op_predefined(op, &which))
        return mlt_win_raise(me, win, MPI_ERR_OP,
                             "argument op is %p, but should be a predefined operation", (void *)op);
    operation->op = (uint8_t)which;
    operation->basic = there->type->size ? basic_of(there->type) : MLT_TYPE_BYTE;
    if (!operation->basic)
        return mlt_win_raise(me, win, MPI_ERR_TYPE,
                             "argument target_datatype is made of several basic types, but should "
                             "be made of one");
    if (is_pair(operation->basic)) {
        const mlt_type *const *parts = mlt_dtype_of(operation->basic)->contents.type;
        operation->pair[0] = parts[0]->code;
        operation->pair[1] = parts[1]->code;
    }
    if (which == MLT_REDUCE_REPLACE || which == MLT_REDUCE_NO_OP) {
        operation->kernel = NULL;
        return MPI_SUCCESS;
    }
    if (!mlt_op_reduction(which, operation->basic, &reduction, why, sizeof why))
        return mlt_win_raise(me, win, MPI_ERR_OP, "%s", why);
    mlt_win_find_kernels(operation, &reduction);
    return MPI_SUCCESS;
}

static MPI_Datatype rma_named(const mlt_type *type)
{
    return (MPI_Datatype)(uintptr_t)type->code;
}

// Operations and types mostly are those of the last call.
static inline int operation_of(mlt_rank *me, mlt_win *win, MPI_Op op, const given *there,
                               mlt_win_operation *operation)
{
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    if (MLT_LIKELY(w->last_operation.handle == op && w->last_operation.type == there->type)) {
        uint8_t verb = operation->verb;
        *operation = w->last_operation.operation;
        operation->verb = verb;
        return MPI_SUCCESS;
    }
    int code = find_operation(me, win, op, there, operation);
    if (code == MPI_SUCCESS && there->type->code) {
        w->last_operation.handle = op;
        w->last_operation.datatype = rma_named(there->type);
        w->last_operation.type = there->type;
        w->last_operation.size = there->type->contiguous ? there->type->size : 0;
        w->last_operation.operation = *operation;
    }
    return code;
}

static MLT_COLD int check_origin_basic(mlt_rank *me, mlt_win *win, const given *g,
                                       const mlt_win_operation *operation)
{
    const mlt_type *basic = g->type->size ? basic_of(g->type) : operation->basic;
    if (basic == operation->basic)
        return MPI_SUCCESS;
    return mlt_win_raise(me, win, MPI_ERR_TYPE,
                         "argument %s_datatype is made of another basic type than target_datatype",
                         g->name);
}

// result NULL: nothing is fetched.
static int accumulate(mlt_rank *me, const given *origin, const given *result, int target,
                      MPI_Aint disp, const given *there, MPI_Op op, mlt_win *win,
                      const mlt_how *how)
{
    int code;
    if (rma_is_over(me, win, target, how, &code))
        return code;
    bool reads = op != MPI_NO_OP; // otherwise nothing of the origin counts
    if (!reads && !result)
        return mlt_win_raise(me, win, MPI_ERR_OP,
                             "argument op is MPI_NO_OP, which is for MPI_Get_accumulate and "
                             "MPI_Fetch_and_op only");
    mlt_win_call call = {.operation = {.verb = result ? MLT_WIN_FETCH : MLT_WIN_ACCUMULATE},
                         .target = target,
                         .disp = disp};
    if (result)
        code = rma_check(me, win, result, target, disp, there);
    if (code == MPI_SUCCESS && reads)
        code = rma_check(me, win, origin, target, disp, there);
    if (code == MPI_SUCCESS)
        code = operation_of(me, win, op, there, &call.operation);
    if (code == MPI_SUCCESS && reads && MLT_UNLIKELY(origin->type != there->type))
        code = check_origin_basic(me, win, origin, &call.operation);
    if (code == MPI_SUCCESS && result && MLT_UNLIKELY(result->type != there->type))
        code = check_origin_basic(me, win, result, &call.operation);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    call.there = data_of(there);
    if (result)
        call.result = data_of(result);
    if (reads)
        call.origin = data_of(origin);
    return rma_run(me, win, &call, how);
}

int mlt_mpi_Accumulate(mlt_rank *me, const void *origin_addr, MPI_Count origin_count,
                       const mlt_type *origin_datatype, int target_rank, MPI_Aint target_disp,
                       MPI_Count target_count, const mlt_type *target_datatype, MPI_Op op,
                       mlt_win *win, const mlt_how *how)
{
    return accumulate(me, &GIVEN(origin), NULL, target_rank, target_disp, &GIVEN_TARGET, op, win,
                      how);
}

int mlt_mpi_Get_accumulate(mlt_rank *me, const void *origin_addr, MPI_Count origin_count,
                           const mlt_type *origin_datatype, void *result_addr,
                           MPI_Count result_count, const mlt_type *result_datatype, int target_rank,
                           MPI_Aint target_disp, MPI_Count target_count,
                           const mlt_type *target_datatype, MPI_Op op, mlt_win *win,
                           const mlt_how *how)
{
    return accumulate(me, &GIVEN(origin), &GIVEN(result), target_rank, target_disp, &GIVEN_TARGET,
                      op, win, how);
}

// ---- one element

int mlt_mpi_Fetch_and_op(mlt_rank *me, const void *origin_addr, void *result_addr,
                         const mlt_type *datatype, int target_rank, MPI_Aint target_disp, MPI_Op op,
                         mlt_win *win)
{
    given one = {"origin", origin_addr, 1, datatype};
    given result = {"result", result_addr, 1, datatype};
    given there = {"origin", NULL, 1, mlt_dtype_original(datatype)}; // one name for both
    if (datatype && !datatype->code && !mlt_dtype_of(datatype)->permanent)
        return mlt_win_raise(me, win, MPI_ERR_TYPE,
                             "argument datatype is a derived type, but should be a predefined one");
    return accumulate(me, &one, &result, target_rank, target_disp, &there, op, win, MLT_BLOCKING);
}

// Integers, logical values, bytes and the like: what is compared byte by byte.
static bool can_be_compared(const mlt_type *type)
{
    char why[8];
    mlt_reduction reduction;
    return type->code && type->contiguous &&
           (type->code == (uintptr_t)MPI_BYTE || type->code == (uintptr_t)MPI_C_BOOL ||
            mlt_reduce_find(MLT_REDUCE_BAND, type->code, &reduction, why, sizeof why) ||
            mlt_reduce_find(MLT_REDUCE_LAND, type->code, &reduction, why, sizeof why));
}

int mlt_mpi_Compare_and_swap(mlt_rank *me, const void *origin_addr, const void *compare_addr,
                             void *result_addr, const mlt_type *datatype, int target_rank,
                             MPI_Aint target_disp, mlt_win *win)
{
    if (target_rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    given one = {"origin", origin_addr, 1, datatype};
    given result = {"result", result_addr, 1, datatype};
    given compare = {"compare", compare_addr, 1, datatype};
    given there = {"origin", NULL, 1, mlt_dtype_original(datatype)}; // one name for both
    int code = rma_check(me, win, &one, target_rank, target_disp, &there);
    if (code == MPI_SUCCESS)
        code = rma_check(me, win, &result, target_rank, target_disp, &there);
    if (code == MPI_SUCCESS)
        code = rma_check(me, win, &compare, target_rank, target_disp, &there);
    if (code != MPI_SUCCESS)
        return code;
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    if (MLT_UNLIKELY(w->last_swap.size == 0 || w->last_swap.datatype != rma_named(datatype))) {
        if (!can_be_compared(there.type))
            return mlt_win_raise(me, win, MPI_ERR_TYPE,
                                 "argument datatype is %s, but should be a predefined type of "
                                 "integers, logical values or bytes",
                                 datatype->name ? datatype->name : "a derived type");
        w->last_swap.datatype = rma_named(datatype);
        w->last_swap.size = datatype->size;
    }
    mlt_win_call call = {.operation = {.verb = MLT_WIN_SWAP, .basic = there.type},
                         .target = target_rank,
                         .disp = target_disp,
                         .there = data_of(&there),
                         .origin = data_of(&one),
                         .result = data_of(&result),
                         .compare = compare_addr};
    return rma_run(me, win, &call, MLT_BLOCKING);
}
