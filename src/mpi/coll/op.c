// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/op.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "mpi/coll/coll.h"
#include "mpi/error/error.h"
#include "mpi/fortran.h"
#include "mpi/handle.h"
#include "mpi/registry.h"
#include "mpi/self.h"
#include "mpi/thread.h"
#include "mpi/type/dtype.h"
#include "mpi_bodies.h"

enum { OP_MAGIC = 0x00b0a710 };

struct mlt_user_op {
    mlt_registry_head head;
    _Atomic bool has_handle; // the user has not freed it
    uint32_t refs;           // the handle, calls under way; under the lock
    bool commutes;
    bool large;   // lengths are counts
    bool fortran; // the function gets an integer for the datatype
    mlt_op_function fn;
};

static mlt_registry user_ops = MLT_REGISTRY_INIT(mlt_user_op);
static pthread_mutex_t op_lock = PTHREAD_MUTEX_INITIALIZER; // guards all counts

// ---- handles

mlt_user_op *mlt_op_object(MPI_Op handle)
{
    mlt_user_op *op = (mlt_user_op *)handle;
    return mlt_handle_is_address((uintptr_t)handle) && mlt_registry_is(&op->head, OP_MAGIC) &&
                   // relaxed: a thread that uses a handle while another frees it is at fault
                   atomic_load_explicit(&op->has_handle, memory_order_relaxed)
               ? op
               : NULL;
}

void mlt_op_hold(mlt_user_op *op)
{
    if (!op)
        return;
    pthread_mutex_lock(&op_lock);
    op->refs++;
    pthread_mutex_unlock(&op_lock);
}

void mlt_op_drop(mlt_user_op *op)
{
    if (!op)
        return;
    pthread_mutex_lock(&op_lock);
    bool last = --op->refs == 0;
    if (last)
        mlt_registry_name(&op->head, 0);
    pthread_mutex_unlock(&op_lock);
    if (last)
        mlt_registry_give(&user_ops, op);
}

bool mlt_op_revive(mlt_user_op *op, bool valid)
{
    return op && atomic_exchange_explicit(&op->has_handle, valid, memory_order_relaxed);
}

bool mlt_op_predefined(MPI_Op handle, mlt_reduce_op *out)
{
    enum { FIRST = 0x20, ALL = 0x20 };
#define ROW(NAME) [(uintptr_t)MPI_##NAME - FIRST] = MLT_REDUCE_##NAME + 1,
    static const uint8_t ops[ALL] = {MLT_REDUCE_OP_LIST(ROW)};
#undef ROW
    uintptr_t i = (uintptr_t)handle - FIRST;
    if (i >= ALL || !ops[i])
        return false;
    *out = (mlt_reduce_op)(ops[i] - 1);
    return true;
}

static int bad_op(mlt_rank *me, mlt_comm *comm, MPI_Op handle)
{
    return mlt_bad_handle(me, comm, me->fn, MPI_ERR_OP, "op", "reduction operation",
                          (uintptr_t)handle);
}

int mlt_op_create(mlt_rank *me, mlt_op_function fn, bool large, int commute, MPI_Op *handle)
{
    if (!fn.few)
        return mlt_bad_null(me, NULL, me->fn, MPI_ERR_ARG, "user_fn", "a function");
    mlt_user_op *op = mlt_registry_take(&user_ops);
    op->refs = 1;
    op->commutes = commute;
    op->large = large;
    op->fortran = false;
    op->fn = fn;
    atomic_store_explicit(&op->has_handle, true, memory_order_relaxed);
    mlt_registry_name(&op->head, OP_MAGIC);
    *handle = (MPI_Op)op;
    return MPI_SUCCESS;
}

void mlt_fortran_mark_op(MPI_Op op)
{
    mlt_user_op *object = mlt_op_object(op);
    if (object)
        object->fortran = true;
}

int mlt_mpi_Op_free(mlt_rank *me, MPI_Op *op)
{
    mlt_reduce_op which;
    mlt_user_op *object = mlt_op_object(*op);
    if (mlt_op_predefined(*op, &which))
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_OP,
                             "argument op is %s, but should be an operation of MPI_Op_create; "
                             "predefined ones cannot be freed",
                             mlt_reduce_op_names[which]);
    if (!object)
        return bad_op(me, NULL, *op);
    atomic_store_explicit(&object->has_handle, false, memory_order_relaxed);
    mlt_op_drop(object);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

int mlt_mpi_Op_commutative(mlt_rank *me, MPI_Op op, int *commute)
{
    mlt_reduce_op which;
    const mlt_user_op *object = mlt_op_object(op);
    if (mlt_op_predefined(op, &which))
        *commute = which != MLT_REDUCE_REPLACE && which != MLT_REDUCE_NO_OP;
    else if (object)
        *commute = object->commutes;
    else
        return bad_op(me, NULL, op);
    return MPI_SUCCESS;
}

// ---- the user's functions

// inout = in op inout, in MPI's layout.
static void call_function(const mlt_user_op *op, const void *in, void *inout, uint64_t count,
                          const mlt_type *type)
{
    bool freed = mlt_dtype_show(type);
    for (uint64_t most = op->large ? INT64_MAX : INT_MAX, n; count > 0; count -= n) {
        n = count < most ? count : most;
        MPI_Datatype handle = mlt_dtype_handle(type);
        void *from = (void *)(uintptr_t)in;
        if (op->fortran)
            op->fn.fortran(from, inout,
                           op->large ? (void *)&(MPI_Count){(MPI_Count)n} : (void *)&(int){(int)n},
                           &(MPI_Fint){mlt_handle_toint(handle)});
        else if (op->large)
            op->fn.many(from, inout, &(MPI_Count){(MPI_Count)n}, &handle);
        else
            op->fn.few(from, inout, &(int){(int)n}, &handle);
        int64_t bytes = (int64_t)n * type->extent;
        in = (const void *)((uintptr_t)in + (uintptr_t)bytes);
        inout = (void *)((uintptr_t)inout + (uintptr_t)bytes);
    }
    if (MLT_UNLIKELY(freed))
        mlt_dtype_hide(type);
}

// The same for elements as collective operations lay them out.
static void call_elements(const mlt_coll_op *op, const void *in, void *inout, uint64_t count)
{
    const char *from = mlt_coll_op_address(op, in);
    char *to = mlt_coll_op_address(op, inout);
    if (!op->apart)
        call_function(op->user, from, to, count, op->datatype);
    else
        for (uint64_t i = 0; i < count; i++)
            call_function(op->user, from + i * op->element, to + i * op->element, 1, op->datatype);
}

// Around a function that is called inside a schedule: the gate is not left, for the worker is in
// the middle of a step.
static mlt_outside stay_in(mlt_rank *me)
{
    mlt_outside outside = {.fn = me->fn, .ungated = !me->worker->sched->gate};
    if (outside.ungated)
        mlt_mpi_worker_of(me)->ungated++;
    return outside;
}

static void run_user(void *arg, const mlt_run_operands *o)
{
    const mlt_coll_op *op = arg;
    mlt_rank *me = mlt_rank_self();
    uint64_t count = o->bytes / op->element;
    mlt_outside outside = stay_in(me);
    const char *before = mlt_sched_pin(me->worker->sched, "the function of an operation");
    if (o->reversed || op->commutes) {
        call_elements(op, o->second, o->result, count);
    } else {
        memcpy(o->scratch, o->result, o->bytes);
        memcpy(o->result, o->second, o->bytes);
        call_elements(op, o->scratch, o->result, count);
    }
    mlt_sched_unpin(me->worker->sched, before);
    mlt_thread_step_in(me, outside);
}

// ---- for reductions

bool mlt_op_reduction(mlt_reduce_op op, const mlt_type *type, mlt_reduction *out, char *why,
                      size_t size)
{
    if (type->code)
        return mlt_reduce_find(op, type->code, out, why, size);
    const mlt_dtype *d = mlt_dtype_of(type);
    const mlt_type *const *parts = d->contents.type;
    if (d->permanent && d->contents.combiner == MPI_COMBINER_VALUE_INDEX)
        return mlt_reduce_find_pair(op, parts[0]->code, parts[1]->code, out, why, size);
    if (d->permanent)
        return mlt_reduce_find(op, parts[0]->code, out, why, size);
    return mlt_deny(
        why, size,
        "%s works on %s, not on a derived datatype; MPI_Op_create makes operations for those",
        mlt_reduce_op_names[op], mlt_reduce_domain(op));
}

// The object is NULL for a predefined one. False: raised.
static bool op_find(mlt_rank *me, mlt_comm *comm, MPI_Op handle, const mlt_type *type,
                    mlt_user_op **object, mlt_reduction *out, int *code)
{
    mlt_reduce_op which;
    char why[256];
    *object = mlt_op_object(handle);
    if (*object)
        return true;
    if (!mlt_op_predefined(handle, &which)) {
        *code = bad_op(me, comm, handle);
        return false;
    }
    if (which == MLT_REDUCE_REPLACE || which == MLT_REDUCE_NO_OP) {
        *code = mlt_mpi_raise(me, comm, me->fn, MPI_ERR_OP,
                              "argument op is %s, which is for MPI_Accumulate and the like only",
                              mlt_reduce_op_names[which]);
        return false;
    }
    if (!mlt_op_reduction(which, type, out, why, sizeof why)) {
        *code = mlt_mpi_raise(me, comm, me->fn, MPI_ERR_OP, "%s", why);
        return false;
    }
    mlt_assert(out->element == (uint64_t)type->extent);
    return true;
}

bool mlt_op_of(mlt_rank *me, mlt_comm *comm, MPI_Op handle, const mlt_type *type, mlt_coll_op *out,
               int *code)
{
    mlt_user_op *object;
    mlt_reduction reduction;
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    if (MLT_LIKELY(handle == w->last_op.handle) && MLT_LIKELY(type == w->last_op.type)) {
        *out = w->last_op.op;
        return true;
    }
    if (MLT_UNLIKELY(!op_find(me, comm, handle, type, &object, &reduction, code)))
        return false;
    if (MLT_LIKELY(!object)) {
        mlt_coll_op_predefined(out, &reduction, type);
        if (type->code && !out->arg) { // both stay to the end
            w->last_op.handle = handle;
            w->last_op.type = type;
            w->last_op.op = *out;
        }
        return true;
    }
    // Ranks may have different functions, as long as all or none of them commute.
    if (mlt_coll_op_user(out, run_user, object, 1u + object->commutes, object->commutes, type))
        return true;
    *code = mlt_mpi_raise(me, comm, me->fn, MPI_ERR_TYPE,
                          "elements of argument datatype have an extent of %lld bytes, but those "
                          "that a collective operation reduces should be below 4 GiB",
                          (long long)type->extent);
    return false;
}

static int check_buffer(mlt_rank *me, const void *buf, const char *name, MPI_Count count,
                        const mlt_type *type)
{
    if (buf == MPI_IN_PLACE)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_BUFFER,
                             "argument %s is MPI_IN_PLACE, but should be the address of data",
                             name);
    // A derived type may start at MPI_BOTTOM.
    if (!buf && count > 0 && type->code)
        return mlt_bad_null(me, NULL, me->fn, MPI_ERR_BUFFER, name,
                            "the address of data, as count is above 0");
    return MPI_SUCCESS;
}

// On copies in host memory.
static int reduce_on_device(mlt_rank *me, const void *inbuf, void *inoutbuf, uint64_t count,
                            const mlt_type *datatype, MPI_Op handle)
{
    mlt_coll_op op;
    int code;
    if (!mlt_op_of(me, NULL, handle, datatype, &op, &code))
        return code;
    uint64_t bytes = count * op.element;
    char *in = mlt_coll_memory_take(me, 2 * bytes), *inout = in + bytes;
    memset(in, 0, 2 * bytes); // gaps have some value
    mlt_coll_load(&op, in, inbuf, count);
    mlt_coll_load(&op, inout, inoutbuf, count);
    if (op.kernel) {
        op.kernel(inout, in, count);
    } else {
        mlt_user_op *object = mlt_op_object(handle);
        mlt_op_hold(object);
        mlt_dtype_hold(datatype);
        mlt_outside outside = mlt_thread_step_out(me);
        call_elements(&op, in, inout, count);
        mlt_thread_step_in(me, outside);
        mlt_dtype_drop(datatype);
        mlt_op_drop(object);
    }
    mlt_coll_store(&op, inoutbuf, inout, count);
    mlt_coll_memory_give(me, in);
    return MPI_SUCCESS;
}

int mlt_mpi_Reduce_local(mlt_rank *me, const void *inbuf, void *inoutbuf, MPI_Count count,
                         const mlt_type *datatype, MPI_Op op)
{
    mlt_user_op *object;
    mlt_reduction reduction;
    int code = check_buffer(me, inbuf, "inbuf", count, datatype);
    if (code == MPI_SUCCESS)
        code = check_buffer(me, inoutbuf, "inoutbuf", count, datatype);
    if (code != MPI_SUCCESS || !op_find(me, NULL, op, datatype, &object, &reduction, &code))
        return code;
    uint64_t bytes = datatype->contiguous ? (uint64_t)count * datatype->size : count > 0;
    if (MLT_UNLIKELY(mlt_coll_overlap(inbuf, bytes, inoutbuf, bytes)))
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_BUFFER,
                             "arguments inbuf and inoutbuf overlap, but should lie apart");
    if (datatype->device && count > 0)
        return reduce_on_device(me, inbuf, inoutbuf, (uint64_t)count, datatype, op);
    if (!object) {
        reduction.kernel(inoutbuf, inbuf, (uint64_t)count);
        return MPI_SUCCESS;
    }
    mlt_op_hold(object); // the function may free what it likes
    mlt_dtype_hold(datatype);
    mlt_outside outside = mlt_thread_step_out(me);
    call_function(object, inbuf, inoutbuf, (uint64_t)count, datatype);
    mlt_thread_step_in(me, outside);
    mlt_dtype_drop(datatype);
    mlt_op_drop(object);
    return MPI_SUCCESS;
}
