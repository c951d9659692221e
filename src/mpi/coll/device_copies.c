// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/device_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "gpu/batch.h"
#include "gpu/gpu.h"
#include "p2p/copied.h"

// ---- what the last rank does

uint64_t mlt_device_side_bytes(const mlt_coll_side *s)
{
    if (!s->type)
        return 0;
    if (!s->counts)
        return s->blocks * s->count * s->type->size;
    uint64_t bytes = 0;
    for (uint64_t b = 0; b < s->blocks; b++)
        bytes += s->counts[b] * (s->types ? s->types[b] : s->type)->size;
    return bytes;
}

// Elements one after the other that hold byte `at` of a side.
typedef struct stretch {
    const mlt_type *type;
    void *buf;
    uint64_t at, bytes; // at: in their packed form; bytes: from there to the end
} stretch;

static stretch stretch_of(const mlt_coll_side *s, uint64_t at)
{
    if (!s->counts && !s->displs)
        return (stretch){s->type, s->buf, at, mlt_device_side_bytes(s) - at};
    for (uint64_t b = 0;; b++) {
        const mlt_type *type = s->types ? s->types[b] : s->type;
        uint64_t bytes = (s->counts ? s->counts[b] : s->count) * type->size;
        if (at < bytes) {
            int64_t unit = s->types ? 1 : type->extent;
            int64_t displ = s->displs ? s->displs[b] : (int64_t)(b * s->count);
            void *buf = (void *)((uintptr_t)s->buf + (uintptr_t)(displ * unit));
            return (stretch){type, buf, at, bytes - at};
        }
        at -= bytes;
    }
}

// Which of `known` belongs to a side.
static const mlt_gpu_transfer *known_of(const mlt_device_copies *copies, uint32_t rank,
                                        const mlt_coll_side *s)
{
    return &copies->known[2 * rank + (s == &copies->jobs[rank]->out)];
}

// Bytes of a side of one rank to a side of another.
static void move_part(mlt_device_copies *copies, uint32_t to_rank, const mlt_coll_side *to,
                      uint64_t to_at, uint32_t from_rank, const mlt_coll_side *from,
                      uint64_t from_at, uint64_t bytes)
{
    const mlt_gpu_transfer *to_known = known_of(copies, to_rank, to);
    const mlt_gpu_transfer *from_known = known_of(copies, from_rank, from);
    while (bytes) {
        stretch t = stretch_of(to, to_at), f = stretch_of(from, from_at);
        uint64_t n = t.bytes < f.bytes ? t.bytes : f.bytes;
        n = n < bytes ? n : bytes;
        mlt_gpu_transfer transfer = {.to_type = t.type,
                                     .to = t.buf,
                                     .to_at = t.at,
                                     .from_type = f.type,
                                     .from = f.buf,
                                     .from_at = f.at,
                                     .bytes = n};
        if ((mlt_gpu_transfer_know(&transfer, to_known, from_known) ||
             mlt_gpu_transfer_look(&transfer)) &&
            mlt_gpu_batch_fits(copies->batch, &transfer))
            mlt_gpu_batch_add(copies->batch, &transfer);
        else // two ranks with host memory, or with another device's
            mlt_gpu_transfer_now(&transfer);
        to_at += n;
        from_at += n;
        bytes -= n;
    }
}

// What a rank gives; in place it lies where the result goes.
static const mlt_coll_side *device_given(const mlt_coll_job *job)
{
    return job->in.type ? &job->in : &job->out; // an address may be NULL, MPI_BOTTOM
}

static bool is_in_place(const mlt_coll_job *job)
{
    return device_given(job) != &job->in;
}

static void gather_to(mlt_device_copies *copies, uint32_t root)
{
    const mlt_coll_job *to = copies->jobs[root];
    uint64_t bytes = to->what.count;
    for (uint32_t r = 0; r < copies->size; r++) {
        const mlt_coll_job *from = copies->jobs[r];
        if (!is_in_place(from))
            move_part(copies, root, &to->out, r * bytes, r, &from->in, 0, bytes);
        else if (r != root) // of allgather all ranks are, of gather the root
            move_part(copies, root, &to->out, r * bytes, r, &from->out, r * bytes, bytes);
    }
}

static void scatter_from(mlt_device_copies *copies, uint32_t root)
{
    const mlt_coll_job *from = copies->jobs[root];
    uint64_t bytes = from->what.count;
    for (uint32_t r = 0; r < copies->size; r++)
        if (copies->jobs[r]->out.type)
            move_part(copies, r, &copies->jobs[r]->out, 0, root, &from->in, r * bytes, bytes);
}

static void bcast_from(mlt_device_copies *copies, uint32_t root)
{
    const mlt_coll_job *from = copies->jobs[root];
    for (uint32_t r = 0; r < copies->size; r++)
        if (r != root)
            move_part(copies, r, &copies->jobs[r]->out, 0, root, &from->out, 0, from->what.count);
}

static void exchange_all(mlt_device_copies *copies)
{
    for (uint32_t to = 0; to < copies->size; to++)
        for (uint32_t from = 0; from < copies->size; from++) {
            uint64_t bytes = copies->jobs[to]->what.count;
            move_part(copies, to, &copies->jobs[to]->out, from * bytes, from,
                      &copies->jobs[from]->in, to * bytes, bytes);
        }
}

// result = operands of the first `number` ranks, combined in this order.
static void combine(mlt_device_copies *copies, const mlt_coll_side *result, const void **operands,
                    uint32_t number)
{
    const mlt_coll_what *what = &copies->jobs[0]->what;
    mlt_gpu_batch_reduce(copies->batch, what->op->kernel, what->op->element, result->buf, operands,
                         number, what->count);
}

static void scan(mlt_device_copies *copies)
{
    uint64_t bytes = mlt_device_side_bytes(&copies->jobs[0]->out);
    for (uint32_t r = 0; r < copies->size; r++) {
        const mlt_coll_job *job = copies->jobs[r];
        if (r == 0 && !is_in_place(job))
            move_part(copies, r, &job->out, 0, r, &job->in, 0, bytes);
        if (r > 0)
            combine(copies, &job->out,
                    (const void *[]){copies->jobs[r - 1]->out.buf, device_given(job)->buf}, 2);
    }
}

static void reduce_to(mlt_device_copies *copies, uint32_t root)
{
    uint32_t size = copies->size;
    const void **operands = mlt_xcalloc(size, sizeof *operands);
    for (uint32_t r = 0; r < size; r++)
        operands[r] = device_given(copies->jobs[r])->buf;
    combine(copies, &copies->jobs[root]->out, operands, size);
    free(operands);
}

static void reduce_to_all(mlt_device_copies *copies)
{
    const mlt_coll_side *first = &copies->jobs[0]->out;
    reduce_to(copies, 0);
    for (uint32_t r = 1; r < copies->size; r++)
        move_part(copies, r, &copies->jobs[r]->out, 0, 0, first, 0, mlt_device_side_bytes(first));
}

// ---- the same in host memory: some operand is not the device's

// A type does not tell: where one is said for two buffers, it is a twin for both.
static bool is_within(const mlt_device_copies *copies, uint32_t rank, const mlt_coll_side *s)
{
    const mlt_gpu_transfer *known = known_of(copies, rank, s);
    return known->to_device && mlt_gpu_batch_fits(copies->batch, known);
}

static bool can_combine(const mlt_device_copies *copies)
{
    uint32_t size = copies->size;
    for (uint32_t r = 0; r < size; r++) {
        const mlt_coll_job *job = copies->jobs[r];
        if (!is_within(copies, r, device_given(job)) ||
            (job->out.type && !is_within(copies, r, &job->out)) ||
            (r >= MLT_GPU_TURN && is_in_place(job) &&
             job->what.collective == MLT_COLL_REDUCE)) // `out` is a late operand
            return false;
    }
    return true;
}

static void reduce_here(const mlt_device_copies *copies)
{
    const mlt_coll_what *what = &copies->jobs[0]->what;
    mlt_collective collective = (mlt_collective)what->collective;
    uint64_t bytes = what->count * what->op->element;
    uint32_t size = copies->size;
    char *own = mlt_xcalloc(size + 1, bytes), *sum = own + size * bytes;
    for (uint32_t r = 0; r < size; r++)
        mlt_coll_load(&copies->jobs[r]->op, own + r * bytes, device_given(copies->jobs[r])->buf,
                      what->count);
    memcpy(sum, own, bytes);
    for (uint32_t r = 0; r < size; r++) {
        const mlt_coll_job *job = copies->jobs[r];
        if (r > 0)
            what->op->kernel(sum, own + r * bytes, what->count);
        if (collective == MLT_COLL_SCAN)
            mlt_coll_store(&job->op, job->out.buf, sum, what->count);
    }
    for (uint32_t r = 0; r < size && collective != MLT_COLL_SCAN; r++)
        if (collective == MLT_COLL_ALLREDUCE || r == what->root)
            mlt_coll_store(&copies->jobs[r]->op, copies->jobs[r]->out.buf, sum, what->count);
    free(own);
}

// ---- all together

// False: ranks disagree.
static bool agree(mlt_device_copies *copies)
{
    const mlt_coll_what *first = &copies->jobs[0]->what;
    for (uint32_t r = 1; r < copies->size; r++) {
        const mlt_coll_what *what = &copies->jobs[r]->what;
        const char *differs = copies->jobs[r]->copies_in != copies->jobs[0]->copies_in
                                  ? "answers to whether it is in place"
                              : what->collective != first->collective ? "functions"
                              : what->root != first->root             ? "roots"
                              : what->element * what->count != first->element * first->count
                                  ? "numbers of bytes"
                              : first->op && !mlt_coll_op_same(what->op, first->op) ? "operations"
                                                                                    : NULL;
        if (differs)
            return mlt_deny(copies->why, sizeof copies->why, "ranks 0 and %u gave different %s", r,
                            differs);
    }
    return true;
}

static void give_all(mlt_device_copies *copies)
{
    uint32_t root = copies->jobs[0]->what.root;
    switch ((mlt_collective)copies->jobs[0]->what.collective) {
    case MLT_COLL_BCAST:
        bcast_from(copies, root);
        break;
    case MLT_COLL_GATHER:
        gather_to(copies, root);
        break;
    case MLT_COLL_SCATTER:
        scatter_from(copies, root);
        break;
    case MLT_COLL_ALLGATHER:
        for (uint32_t r = 0; r < copies->size; r++)
            gather_to(copies, r);
        break;
    case MLT_COLL_ALLTOALL:
        exchange_all(copies);
        break;
    case MLT_COLL_REDUCE:
        reduce_to(copies, root);
        break;
    case MLT_COLL_ALLREDUCE:
        reduce_to_all(copies);
        break;
    default:
        scan(copies);
        break;
    }
}

static void look_whether_done(mlt_work *work)
{
    mlt_device_copies *copies = mlt_container_of(work, mlt_device_copies, work);
    if (!mlt_gpu_batch_is_done(copies->batch)) {
        mlt_worker_again(copies->worker, work);
        return;
    }
    mlt_p2p_copied_call(copies->worker, copies->batch);
    mlt_gpu_batch_close(copies->batch);
    copies->ended(copies);
}

// Something of a device's that some rank gives or gets; false: nobody has any bytes.
static bool find_some(const mlt_device_copies *copies, mlt_gpu_transfer *out)
{
    bool any = false;
    for (uint32_t r = 0; r < copies->size; r++) {
        const mlt_coll_side *sides[] = {&copies->jobs[r]->in, &copies->jobs[r]->out};
        for (int i = 0; i < 2; i++)
            if (sides[i]->type && mlt_device_side_is_there(sides[i]) &&
                mlt_device_side_bytes(sides[i])) {
                stretch s = stretch_of(sides[i], 0);
                *out = (mlt_gpu_transfer){.from_type = s.type, .from = s.buf};
                if (mlt_gpu_transfer_look(out))
                    return true;
                any = true;
            }
    }
    if (any) // the program has freed it meanwhile
        mlt_fatal(
            "%s cannot copy: a buffer that was memory of a GPU when the call was made, at %p, is "
            "none now",
            copies->jobs[0]->call, out->from);
    return false;
}

bool mlt_device_copies_start(mlt_device_copies *copies, mlt_worker *w)
{
    copies->worker = w;
    copies->work.run = look_whether_done;
    if (!agree(copies)) {
        copies->status = MLT_ERR_TRUNCATED;
        copies->ended(copies);
        return true;
    }
    bool reduces = mlt_collective_reduces((mlt_collective)copies->jobs[0]->what.collective);
    mlt_gpu_transfer some;
    if (!find_some(copies, &some)) {
        copies->ended(copies);
        return true;
    }
    copies->batch = mlt_gpu_batch_open(&some);
    bool combines = reduces && can_combine(copies);
    if (reduces && !combines && copies->gives_up) {
        mlt_gpu_batch_close(copies->batch);
        return false;
    }
    if (reduces && !combines)
        reduce_here(copies);
    else
        give_all(copies);
    mlt_gpu_batch_start(copies->batch);
    mlt_worker_later(w, &copies->work);
    return true;
}

void mlt_device_look_within(mlt_gpu_transfer *known, const mlt_coll_side *s)
{
    if (!s->type || s->types || !mlt_device_side_bytes(s))
        return;
    stretch t = stretch_of(s, 0);
    *known = (mlt_gpu_transfer){.to_type = t.type, .to = t.buf, .from_type = t.type, .from = t.buf};
    (void)mlt_gpu_transfer_look(known);
}

void mlt_device_copies_init(mlt_device_copies *copies, uint32_t size)
{
    *copies = (mlt_device_copies){.size = size};
    copies->jobs = mlt_xcalloc(size, sizeof *copies->jobs);
    copies->known = mlt_xcalloc(2 * (size_t)size, sizeof *copies->known);
}

void mlt_device_copies_fini(mlt_device_copies *copies)
{
    free(copies->jobs);
    free(copies->known);
}
