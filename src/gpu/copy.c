// SPDX-License-Identifier: BSD-3-Clause
// Copies with and without gaps, from type maps to what the driver does in one call: a row of bytes, or
// blocks a stride apart on either side.
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/memory.h"
#include "base/upcalls.h"
#include "gpu/gpu_int.h"

enum { RUNS = 64, PITCH_MOST = INT32_MAX };

// A run on one side, as far as it has not been copied.
typedef struct side {
    const mlt_type *type;
    uintptr_t base;
    uint64_t at, end; // of the packed form: what comes after the runs at hand, and the end
    mlt_type_run runs[RUNS];
    uint32_t i, n;
    uint64_t inside; // bytes of the first block of run i that were copied
} side;

static void side_begin(side *s, const mlt_type *type, const void *base, uint64_t from,
                       uint64_t bytes)
{
    s->type = type;
    s->base = (uintptr_t)base;
    s->at = from;
    s->end = from + bytes;
    s->i = s->n = 0;
    s->inside = 0;
}

// The run to copy next.
static mlt_type_run *side_run(side *s)
{
    if (s->i == s->n) {
        s->i = 0;
        if (s->type) {
            s->n = RUNS;
            s->at += mlt_type_runs(s->type, s->at, s->end - s->at, s->runs, &s->n);
        } else { // packed
            s->n = 1;
            s->runs[0] = (mlt_type_run){.at = (int64_t)s->at, .length = s->end - s->at, .count = 1};
            s->at = s->end;
        }
        // Blocks without gaps between them are one.
        for (uint32_t i = 0; i < s->n; i++)
            if (s->runs[i].count > 1 && s->runs[i].stride == (int64_t)s->runs[i].length) {
                s->runs[i].length *= s->runs[i].count;
                s->runs[i].count = 1;
            }
    }
    return &s->runs[s->i];
}

static uintptr_t side_address(const side *s)
{
    return s->base + (uintptr_t)s->runs[s->i].at + s->inside;
}

// Whole blocks that the run still has, of that length; 0: it is inside one, or its blocks are others.
static uint64_t side_blocks(const side *s, uint64_t length)
{
    const mlt_type_run *r = &s->runs[s->i];
    return s->inside == 0 && r->length == length ? r->count : 0;
}

// Bytes up to the end of the block.
static uint64_t side_left(const side *s)
{
    return s->runs[s->i].length - s->inside;
}

static void side_skip(side *s, uint64_t bytes)
{
    mlt_type_run *r = &s->runs[s->i];
    bytes += s->inside;
    uint64_t blocks = bytes / r->length;
    s->inside = bytes % r->length;
    r->at += (int64_t)blocks * r->stride;
    r->count -= blocks;
    if (r->count == 0)
        s->i++;
}

// ---- without the driver's copies (mlt_gpu_is_awaited): kernels copy, and what they cannot reach goes by way
// of pinned memory

// Whether kernels of the batch's device reach the byte: its own memory, and pinned memory of the host.
static bool is_reached(const mlt_gpu_batch *b, uintptr_t at)
{
    unsigned type = 0;
    int device = -1, own = -2;
    mlt_cu_ptr there = 0;
    if (b->cuda->PointerGetAttribute(&type, MLT_CU_POINTER_MEMORY_TYPE, at) != MLT_CU_OK)
        return false;
    if (type == MLT_CU_MEMORY_HOST)
        return b->cuda->PointerGetAttribute(&there, MLT_CU_POINTER_DEVICE_POINTER, at) ==
                   MLT_CU_OK &&
               there == at;
    return b->cuda->PointerGetAttribute(&device, MLT_CU_POINTER_DEVICE_ORDINAL, at) == MLT_CU_OK &&
           b->cuda->CtxGetDevice(&own) == MLT_CU_OK && device == own;
}

static bool are_reached(const mlt_gpu_batch *b, uintptr_t at, uint64_t bytes)
{
    return is_reached(b, at) && is_reached(b, at + bytes - 1);
}

// Blocks a stride apart on either side.
static void copy_by_kernel(mlt_gpu_batch *b, uintptr_t to, int64_t to_stride, uintptr_t from,
                           int64_t from_stride, uint64_t length, uint64_t count)
{
    mlt_gpu_blocks blocks = {.to = to,
                             .from = from,
                             .length = length,
                             .inner = count,
                             .outer = 1,
                             .to_stride = to_stride,
                             .from_stride = from_stride};
    mlt_gpu_check(b, mlt_gpu_kernel_strided(mlt_gpu_batch_kernels(b), b->stream, &blocks), "copy");
    b->queued = true;
}

static void copy_row_by_kernel(mlt_gpu_batch *b, uintptr_t to, uintptr_t from, uint64_t bytes)
{
    copy_by_kernel(b, to, 0, from, 0, bytes, 1);
}

// One side is memory of the host that is not pinned; returns when that side is done with.
static void copy_row_by_room(mlt_gpu_batch *b, uintptr_t to, uintptr_t from, uint64_t bytes,
                             bool out)
{
    for (uint64_t done = 0, n; done < bytes; done += n) {
        n = bytes - done < MLT_GPU_ROOM ? bytes - done : MLT_GPU_ROOM;
        mlt_gpu_batch_wait(b); // then nothing is in the room any more
        b->used = 0;
        void *room = mlt_gpu_batch_room(b, n);
        if (out) {
            copy_row_by_kernel(b, (uintptr_t)room, from + done, n);
            mlt_gpu_batch_wait(b);
            memcpy((void *)(to + done), room, n);
        } else {
            memcpy(room, (const void *)(from + done), n);
            copy_row_by_kernel(b, to + done, (uintptr_t)room, n);
        }
    }
}

// False: it is between devices.
static bool copy_row_awaited(mlt_gpu_batch *b, uintptr_t to, uintptr_t from, uint64_t bytes)
{
    bool to_reached = are_reached(b, to, bytes), from_reached = are_reached(b, from, bytes);
    if (to_reached && from_reached)
        copy_row_by_kernel(b, to, from, bytes);
    else if (to_reached || from_reached)
        copy_row_by_room(b, to, from, bytes, from_reached);
    return to_reached || from_reached;
}

// ---- by the driver

static void copy_row(mlt_gpu_batch *b, uintptr_t to, uintptr_t from, uint64_t bytes)
{
    if (mlt_gpu_is_awaited() && copy_row_awaited(b, to, from, bytes))
        return;
    mlt_cu_result error = b->cuda->MemcpyAsync(to, from, bytes, b->stream);
    if (error != MLT_CU_OK)
        mlt_gpu_refused(error, "copy");
}

// False: the driver does not take blocks of that kind.
static bool copy_blocks(mlt_gpu_batch *b, uintptr_t to, int64_t to_stride, uintptr_t from,
                        int64_t from_stride, uint64_t length, uint64_t count)
{
    if (to_stride < (int64_t)length || from_stride < (int64_t)length || to_stride > PITCH_MOST ||
        from_stride > PITCH_MOST)
        return false;
    if (mlt_gpu_is_awaited()) {
        if (!are_reached(b, to, (uint64_t)to_stride * (count - 1) + length) ||
            !are_reached(b, from, (uint64_t)from_stride * (count - 1) + length))
            return false;
        copy_by_kernel(b, to, to_stride, from, from_stride, length, count);
        return true;
    }
    mlt_cu_copy_2d c = {.src_type = MLT_CU_MEMORY_UNIFIED,
                        .src_device = from,
                        .src_pitch = (size_t)from_stride,
                        .dst_type = MLT_CU_MEMORY_UNIFIED,
                        .dst_device = to,
                        .dst_pitch = (size_t)to_stride,
                        .width = length,
                        .height = count};
    return b->cuda->Memcpy2DAsync(&c, b->stream) == MLT_CU_OK;
}

// The next piece of both sides; returns its bytes.
static uint64_t copy_next(mlt_gpu_batch *b, side *to, side *from)
{
    const mlt_type_run *t = side_run(to), *f = side_run(from);
    uint64_t t_left = side_left(to), f_left = side_left(from);
    // Blocks of one side, out of or into a row of the other; or blocks of both.
    uint64_t length = t_left < f_left ? t->length : f->length;
    uint64_t to_blocks = side_blocks(to, length), from_blocks = side_blocks(from, length);
    int64_t to_stride = t->stride, from_stride = f->stride;
    if (!to_blocks && t_left >= 2 * length) {
        to_blocks = t_left / length;
        to_stride = (int64_t)length;
    }
    if (!from_blocks && f_left >= 2 * length) {
        from_blocks = f_left / length;
        from_stride = (int64_t)length;
    }
    uint64_t count = to_blocks < from_blocks ? to_blocks : from_blocks;
    if (count > 1 && copy_blocks(b, side_address(to), to_stride, side_address(from), from_stride,
                                 length, count)) {
        side_skip(to, count * length);
        side_skip(from, count * length);
        return count * length;
    }
    uint64_t bytes = t_left < f_left ? t_left : f_left;
    copy_row(b, side_address(to), side_address(from), bytes);
    side_skip(to, bytes);
    side_skip(from, bytes);
    return bytes;
}

// Neither is a device's, whatever their types say.
static void copy_on_host(side *to, side *from, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;) {
        (void)side_run(to);
        (void)side_run(from);
        uint64_t a = side_left(to), b = side_left(from), n = a < b ? a : b;
        memcpy((void *)side_address(to), (const void *)side_address(from), n);
        side_skip(to, n);
        side_skip(from, n);
        done += n;
    }
}

static bool is_dense(const mlt_type *type)
{
    return !type || type->contiguous || (!type->layout && (int64_t)type->size == type->extent);
}

static uintptr_t dense_address(const void *base, uint64_t at)
{
    return (uintptr_t)base + (uintptr_t)at;
}

// ---- one shape: blocks a stride apart on either side

// A copy waits for others: one launch does them all.
static void add_pending(mlt_gpu_batch *b, uintptr_t to, uintptr_t from, uint64_t bytes)
{
    if (b->pendings == MLT_GPU_PENDING)
        mlt_gpu_batch_flush(b);
    b->pending[b->pendings++] = (mlt_gpu_copy_item){to, from, bytes};
}

static bool is_strided(const mlt_type *type, uint64_t at, uint64_t bytes, mlt_type_run *run)
{
    uint32_t n = 1;
    if (is_dense(type)) {
        *run = (mlt_type_run){.at = (int64_t)at, .length = bytes, .count = 1};
        return true;
    }
    return mlt_type_runs(type, at, bytes, run, &n) == bytes;
}

// Cuts a block of `bytes` bytes into blocks like those of the other side.
static void match_blocks(mlt_type_run *run, const mlt_type_run *other)
{
    if (run->count == 1 && other->count > 1) {
        run->count = other->count;
        run->length = other->length;
        run->stride = (int64_t)other->length;
    }
}

static bool copy_strided(mlt_gpu_batch *b, const mlt_gpu_transfer *t)
{
    enum { LONG_BLOCK = 64 << 10 }; // the driver's own copy is as fast from here on
    mlt_type_run to, from;
    if (!is_strided(t->to_type, t->to_at, t->bytes, &to) ||
        !is_strided(t->from_type, t->from_at, t->bytes, &from))
        return false;
    match_blocks(&to, &from);
    match_blocks(&from, &to);
    if (to.length != from.length || to.count != from.count)
        return false;
    uintptr_t to_at = (uintptr_t)t->to + (uintptr_t)to.at;
    uintptr_t from_at = (uintptr_t)t->from + (uintptr_t)from.at;
    if (to.count == 1) {
        copy_row(b, to_at, from_at, to.length);
        b->queued = true;
        return true;
    }
    if (!t->to_device || !t->from_device || to.length >= LONG_BLOCK) {
        bool taken = copy_blocks(b, to_at, to.stride, from_at, from.stride, to.length, to.count);
        b->queued |= taken;
        return taken;
    }
    copy_by_kernel(b, to_at, to.stride, from_at, from.stride, to.length, to.count);
    return true;
}

// ---- any shape, by a list of an element's runs that the kernel reads

enum { LISTED_MOST = 4096 }; // runs

static bool list_runs(mlt_gpu_batch *b, const mlt_type *type, mlt_gpu_runs *out)
{
    uint32_t most = 16, n;
    mlt_type_run *runs;
    uint64_t *before;
    // A guess too small costs a second look.
    do {
        uint32_t used = b->used;
        n = most;
        runs = mlt_gpu_batch_room(b, n * sizeof *runs);
        before = runs ? mlt_gpu_batch_room(b, (n + 1) * sizeof *before) : NULL;
        if (!before || mlt_type_runs(type, 0, type->size, runs, &n) == type->size)
            break;
        b->used = used;
        before = NULL;
        most *= 16;
    } while (most <= LISTED_MOST);
    if (!before)
        return false;
    mlt_gpu_runs_measure(out, runs, n, type->extent, before);
    out->runs = (uintptr_t)runs;
    out->before = (uintptr_t)before;
    return true;
}

// One side of a device, the other one too or packed.
static bool side_of(mlt_gpu_batch *b, const mlt_type *type, const void *base, uint64_t at,
                    mlt_gpu_runs *runs, mlt_gpu_side *out)
{
    *out = (mlt_gpu_side){.at = (uintptr_t)base + (uintptr_t)at};
    if (is_dense(type))
        return true;
    if (!list_runs(b, type, runs))
        return false;
    *out = (mlt_gpu_side){.at = (uintptr_t)base, .runs = runs};
    return true;
}

static bool copy_listed(mlt_gpu_batch *b, const mlt_gpu_transfer *t)
{
    mlt_gpu_runs to_runs, from_runs;
    mlt_gpu_side to, from;
    // Of two sides with gaps, the kernel copies from one place of both packed forms on.
    if (!t->to_device || !t->from_device ||
        (!is_dense(t->to_type) && !is_dense(t->from_type) && t->to_at != t->from_at) ||
        !side_of(b, t->to_type, t->to, t->to_at, &to_runs, &to) ||
        !side_of(b, t->from_type, t->from, t->from_at, &from_runs, &from))
        return false;
    uint64_t at = is_dense(t->to_type) ? t->from_at : t->to_at;
    mlt_gpu_check(
        b, mlt_gpu_kernel_runs(mlt_gpu_batch_kernels(b), b->stream, &to, &from, at, t->bytes),
        "copy");
    b->queued = true;
    return true;
}

// ---- between a device and the host: gaps are the device's, and bytes cross in rows

static void enqueue(mlt_gpu_batch *b, const mlt_gpu_transfer *t);

static bool copy_by_scratch(mlt_gpu_batch *b, const mlt_gpu_transfer *t)
{
    bool out = t->from_device && is_dense(t->to_type), in = t->to_device && is_dense(t->from_type);
    if (t->to_device == t->from_device || !(out || in))
        return false;
    mlt_cu_ptr scratch = mlt_gpu_batch_scratch(b);
    for (uint64_t done = 0, n; done < t->bytes; done += n) {
        n = t->bytes - done < MLT_GPU_SCRATCH ? t->bytes - done : MLT_GPU_SCRATCH;
        mlt_gpu_transfer inside = *t;
        inside.to_device = inside.from_device = true;
        inside.bytes = n;
        inside.to_at += done;
        inside.from_at += done;
        if (out) {
            inside.to = (void *)(uintptr_t)scratch;
            inside.to_type = NULL;
            inside.to_at = 0;
            enqueue(b, &inside);
            copy_row(b, dense_address(t->to, t->to_at + done), scratch, n);
        } else {
            copy_row(b, scratch, dense_address(t->from, t->from_at + done), n);
            inside.from = (void *)(uintptr_t)scratch;
            inside.from_type = NULL;
            inside.from_at = 0;
            enqueue(b, &inside);
        }
    }
    return true;
}

// ----

// A side's blocks, one after the other.
static void copy_by_pieces(mlt_gpu_batch *b, const mlt_gpu_transfer *t)
{
    side to, from;
    side_begin(&to, t->to_type, t->to, t->to_at, t->bytes);
    side_begin(&from, t->from_type, t->from, t->from_at, t->bytes);
    for (uint64_t done = 0; done < t->bytes;)
        done += copy_next(b, &to, &from);
    b->queued = true;
}

static void enqueue(mlt_gpu_batch *b, const mlt_gpu_transfer *t)
{
    if (!copy_strided(b, t) && !copy_listed(b, t) && !copy_by_scratch(b, t))
        copy_by_pieces(b, t);
}

void mlt_gpu_enqueue(mlt_gpu_batch *b, const mlt_gpu_transfer *t)
{
    enum { LONG = 8 << 20 }; // from here on a launch of its own costs nothing
    if (t->to_device && t->from_device && t->bytes <= LONG && is_dense(t->to_type) &&
        is_dense(t->from_type)) {
        add_pending(b, dense_address(t->to, t->to_at), dense_address(t->from, t->from_at),
                    t->bytes);
        return;
    }
    enqueue(b, t);
}

// ---- at once

// With gaps on both sides, of which one is the host's: each block would be a copy of its own. The
// processor and the device take the gaps out, and put them in.
static void transfer_by_row(const mlt_gpu_transfer *t)
{
    enum { ROW = 1 << 20 };
    char *row = mlt_xrealloc(NULL, 1, t->bytes < ROW ? t->bytes : ROW);
    for (uint64_t done = 0, n; done < t->bytes; done += n) {
        n = t->bytes - done < ROW ? t->bytes - done : ROW;
        mlt_gpu_transfer out = {
            .to = row, .from_type = t->from_type, .from = t->from, .from_at = t->from_at + done};
        mlt_gpu_transfer in = {
            .to_type = t->to_type, .to = t->to, .to_at = t->to_at + done, .from = row};
        out.bytes = in.bytes = n;
        mlt_gpu_transfer_now(&out);
        mlt_gpu_transfer_now(&in);
    }
    free(row);
}

void mlt_gpu_transfer_now(mlt_gpu_transfer *t)
{
    if (t->bytes == 0)
        return;
    if (!mlt_gpu_transfer_look(t)) {
        side to, from;
        side_begin(&to, t->to_type, t->to, t->to_at, t->bytes);
        side_begin(&from, t->from_type, t->from, t->from_at, t->bytes);
        copy_on_host(&to, &from, t->bytes);
        return;
    }
    const mlt_type *on_device = t->to_device ? t->to_type : t->from_type;
    const mlt_type *on_host = t->to_device ? t->from_type : t->to_type;
    if (t->to_device != t->from_device && !is_dense(on_host) &&
        (!is_dense(on_device) || mlt_gpu_is_awaited())) {
        transfer_by_row(t);
        return;
    }
    mlt_gpu_batch *b = mlt_gpu_batch_open(t);
    mlt_gpu_batch_add(b, t);
    mlt_gpu_batch_start(b);
    mlt_gpu_batch_wait(b);
    mlt_gpu_batch_close(b);
}

// What is done for the layers above is told, once for each of their calls.
static void tell_copied(const mlt_gpu_transfer *t, uint64_t bytes, uint64_t since)
{
    if (bytes && mlt_upcalls.device_copied)
        mlt_upcalls.device_copied(t->to_device, t->from_device || t->from_other, bytes, since);
}

static void copy_and_tell(mlt_gpu_transfer *t)
{
    uint64_t since = mlt_arch_cycles();
    mlt_gpu_transfer_now(t);
    if (t->to_device || t->from_device)
        tell_copied(t, t->bytes, since);
}

void mlt_gpu_copy(void *to, const void *from, uint64_t bytes)
{
    copy_and_tell(&(mlt_gpu_transfer){.to = to, .from = from, .bytes = bytes});
}

void mlt_gpu_pack(const mlt_type *type, const void *buf, uint64_t from, void *to, uint64_t bytes)
{
    copy_and_tell(&(mlt_gpu_transfer){
        .to = to, .from_type = type, .from = buf, .from_at = from, .bytes = bytes});
}

void mlt_gpu_unpack(const mlt_type *type, void *buf, uint64_t from, const void *packed,
                    uint64_t bytes)
{
    copy_and_tell(&(mlt_gpu_transfer){
        .to_type = type, .to = buf, .to_at = from, .from = packed, .bytes = bytes});
}

void mlt_gpu_move(const mlt_type *to_type, void *to, const mlt_type *from_type, const void *from,
                  uint64_t at, uint64_t bytes)
{
    copy_and_tell(&(mlt_gpu_transfer){.to_type = to_type,
                                      .to = to,
                                      .to_at = at,
                                      .from_type = from_type,
                                      .from = from,
                                      .from_at = at,
                                      .bytes = bytes});
}

// ---- runs

// A run is elements of such a type.
static mlt_type type_of_run(const mlt_type_run *run)
{
    return (mlt_type){.magic = MLT_TYPE_MAGIC,
                      .committed = 1,
                      .device = 1,
                      .size = run->length,
                      .extent = run->count > 1 ? run->stride : (int64_t)run->length,
                      .true_extent = (int64_t)run->length};
}

static mlt_gpu_batch *finish(mlt_gpu_batch *batch)
{
    mlt_gpu_batch_start(batch);
    mlt_gpu_batch_wait(batch);
    mlt_gpu_batch_close(batch);
    return NULL;
}

static void copy_runs(bool packs, const void *base, const mlt_type_run *runs, uint32_t count,
                      const void *packed)
{
    mlt_gpu_batch *batch = NULL;
    uint64_t done = 0, since = mlt_arch_cycles(), copied = 0;
    mlt_gpu_transfer some = {0}; // one of them that a device copied
    for (uint32_t i = 0; i < count; i++) {
        const mlt_type type = type_of_run(&runs[i]);
        char *blocks = (char *)(uintptr_t)base + runs[i].at;
        char *row = (char *)(uintptr_t)packed;
        uint64_t bytes = runs[i].length * runs[i].count;
        mlt_gpu_transfer t =
            packs
                ? (mlt_gpu_transfer){.to = row, .to_at = done, .from_type = &type, .from = blocks}
                : (mlt_gpu_transfer){.to_type = &type, .to = blocks, .from = row, .from_at = done};
        t.bytes = bytes;
        done += bytes;
        bool device = mlt_gpu_transfer_look(&t);
        if (batch && (!device || !mlt_gpu_batch_takes(batch, &t)))
            batch = finish(batch);
        if (device) {
            batch = batch ? batch : mlt_gpu_batch_open(&t);
            mlt_gpu_batch_add(batch, &t);
            copied += t.bytes;
            some = t;
        } else
            mlt_gpu_transfer_now(&t);
    }
    if (batch)
        (void)finish(batch);
    tell_copied(&some, copied, since);
}

void mlt_gpu_pack_runs(const void *base, const mlt_type_run *runs, uint32_t count, void *to)
{
    copy_runs(true, base, runs, count, to);
}

void mlt_gpu_unpack_runs(void *base, const mlt_type_run *runs, uint32_t count, const void *packed)
{
    copy_runs(false, base, runs, count, packed);
}
