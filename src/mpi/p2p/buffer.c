// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends and their buffers.
//
// A message that can leave at once does. Otherwise a block of the buffer takes its request and its
// packed data, and an ordinary standard send starts from there; when it is done, p2p calls
// block_done, which frees the block.
//
//     the user's memory:  | mlt_block with its request | data |   gap   | mlt_block | data |  gap |
//
// The blocks are in a list by address; what lies between them is free. Space is given as the
// standard's model says, circular and contiguous: after the last message (at `tail`), else at the
// start of the buffer; and beyond the model, in the first gap that fits. So a program that computed
// its buffer's size by that model never runs out. An empty buffer starts again at its beginning.
//
// With MPI_BUFFER_AUTOMATIC each block is malloc's.
#include "mpi/p2p/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "gpu/gpu.h"
#include "mpi/comm/session.h"
#include "mpi/error/error.h"
#include "mpi/p2p/request.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

enum { BUFFER_ALIGN = 16 };

typedef struct mlt_buffer mlt_buffer;

typedef struct mlt_block {
    mlt_list_node link; // in mlt_buffer.blocks, by address; automatic: in any order
    mlt_buffer *home;
    uint64_t turn; // number of the message
    uint64_t size; // of the whole block
    mlt_req req;
    _Alignas(BUFFER_ALIGN) char data[];
} mlt_block;

struct mlt_buffer {
    void *address; // as the user gave it
    uint64_t bytes;
    char *start; // the aligned part of it
    uint64_t room;
    mlt_list_node blocks;
    uint64_t open;        // messages in the buffer
    uint64_t used;        // bytes of their blocks
    uint64_t turns;       // messages that ever were
    mlt_list_node *after; // the block before `tail`, or the list's head
    uint64_t tail;        // offset after the message that came last
    mlt_list_node flushes;
};

// Completes `req` when the messages that were in the buffer have left.
typedef struct buffer_flush {
    mlt_list_node link;
    mlt_req *req;
    uint64_t before; // those with a lower turn
    uint64_t left;   // how many of them are still there
    bool on_heap;
} buffer_flush;

// The start of the buffer may cost ALIGN - 1 bytes, rounding each block as many.
_Static_assert(sizeof(mlt_block) + 2 * (BUFFER_ALIGN - 1) <= MPI_BSEND_OVERHEAD,
               "a message may cost no more than the user was told");

// ---- space

static mlt_block *buffer_block_at(mlt_list_node *link)
{
    return mlt_container_of(link, mlt_block, link);
}

// Where the gap after `link` (a block or the list's head) begins and ends.
static uint64_t gap_start(const mlt_buffer *buffer, mlt_list_node *link)
{
    if (link == &buffer->blocks)
        return 0;
    const mlt_block *block = buffer_block_at(link);
    return (uint64_t)((const char *)block - buffer->start) + block->size;
}

static uint64_t gap_end(const mlt_buffer *buffer, mlt_list_node *link)
{
    if (link->next == &buffer->blocks)
        return buffer->room;
    return (uint64_t)((const char *)buffer_block_at(link->next) - buffer->start);
}

// Finds `size` bytes: sets buffer->after and buffer->tail to their place.
static bool find_space(mlt_buffer *buffer, uint64_t size)
{
    if (gap_end(buffer, buffer->after) - buffer->tail >= size)
        return true;
    mlt_list_node *link = &buffer->blocks; // the gap at the start first, then all others
    do {
        uint64_t from = gap_start(buffer, link);
        if (gap_end(buffer, link) - from >= size) {
            buffer->after = link;
            buffer->tail = from;
            return true;
        }
        link = link->next;
    } while (link != &buffer->blocks);
    return false;
}

static mlt_block *block_new(mlt_buffer *buffer, uint64_t bytes)
{
    if (bytes > UINT64_MAX - 2 * sizeof(mlt_block))
        return NULL;
    uint64_t size = (sizeof(mlt_block) + bytes + BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN;
    mlt_block *block;
    if (buffer->address == MPI_BUFFER_AUTOMATIC) {
        block = malloc(size);
        if (!block)
            return NULL;
        mlt_list_push_back(&buffer->blocks, &block->link);
    } else {
        if (!find_space(buffer, size))
            return NULL;
        block = (mlt_block *)(buffer->start + buffer->tail);
        mlt_list_push_front(buffer->after, &block->link);
        buffer->after = &block->link;
        buffer->tail += size;
    }
    block->home = buffer;
    block->turn = buffer->turns++;
    block->size = size;
    buffer->open++;
    buffer->used += size;
    return block;
}

static void block_free(mlt_block *block)
{
    mlt_buffer *buffer = block->home;
    buffer->open--;
    buffer->used -= block->size;
    if (buffer->after == &block->link)
        buffer->after = block->link.prev;
    mlt_list_remove(&block->link);
    mlt_req_retire(&block->req);
    if (buffer->address == MPI_BUFFER_AUTOMATIC)
        free(block);
    if (buffer->open == 0) {
        buffer->after = &buffer->blocks;
        buffer->tail = 0;
    }
}

// on_done of a message.
static void block_done(mlt_req *req)
{
    mlt_block *block = mlt_container_of(req, mlt_block, req);
    mlt_buffer *buffer = block->home;
    uint64_t turn = block->turn;
    block_free(block);
    MLT_LIST_EACH_SAFE(buffer_flush, f, &buffer->flushes, link) {
        if (turn >= f->before || --f->left > 0)
            continue;
        mlt_req *done = f->req;
        mlt_list_remove(&f->link);
        if (f->on_heap)
            free(f);
        mlt_req_complete(done);
    }
}

// ---- sending

// The buffer for sends on a communicator: its own, else that of the session that it stems from,
// else the process's.
static mlt_buffer *buffer_for(mlt_rank *me, const mlt_comm *comm)
{
    const mlt_comm_extra *extra = comm->extra;
    if (extra && extra->buffer)
        return extra->buffer;
    if (extra && extra->session && extra->session->buffer)
        return extra->session->buffer;
    return mlt_mpi_of(me)->buffer;
}

// Whose buffer it is, for error messages.
static const char *holder_name(mlt_rank *me, const mlt_comm *comm, const mlt_buffer *buffer)
{
    if (buffer == mlt_mpi_of(me)->buffer)
        return "the process";
    return comm->extra->buffer == buffer ? mlt_comm_name(me, comm) : "the session";
}

static MLT_COLD int no_buffer(mlt_rank *me, mlt_comm *comm, uint64_t bytes)
{
    return mlt_mpi_raise(
        me, comm, me->fn, MPI_ERR_BUFFER,
        "no buffer is attached to %s or to the process; this message of %llu bytes needs one of at "
        "least %llu (MPI_BSEND_OVERHEAD is %d), or MPI_BUFFER_AUTOMATIC: see MPI_Buffer_attach",
        mlt_comm_name(me, comm), (unsigned long long)bytes,
        (unsigned long long)(bytes + MPI_BSEND_OVERHEAD), MPI_BSEND_OVERHEAD);
}

static MLT_COLD int no_space(mlt_rank *me, mlt_comm *comm, const mlt_buffer *buffer, uint64_t bytes)
{
    if (buffer->address == MPI_BUFFER_AUTOMATIC)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_NO_MEM,
                             MLT_NO_ROOM "a message of %llu bytes; %llu messages wait in the "
                                         "automatic buffer of %s, in %llu bytes",
                             (unsigned long long)bytes, (unsigned long long)buffer->open,
                             holder_name(me, comm, buffer), (unsigned long long)buffer->used);
    char waiting[80] = "";
    if (buffer->open)
        snprintf(waiting, sizeof waiting, "; %llu messages in it have not left yet",
                 (unsigned long long)buffer->open);
    return mlt_mpi_raise(
        me, comm, me->fn, MPI_ERR_BUFFER,
        "the message needs %llu bytes of buffer (%llu of data and MPI_BSEND_OVERHEAD, %d), but the "
        "buffer of %llu bytes attached to %s has %llu available%s",
        (unsigned long long)(bytes + MPI_BSEND_OVERHEAD), (unsigned long long)bytes,
        MPI_BSEND_OVERHEAD, (unsigned long long)buffer->bytes, holder_name(me, comm, buffer),
        (unsigned long long)(buffer->bytes - buffer->used), waiting);
}

int mlt_bsend_send(mlt_rank *me, const void *buf, uint64_t count, const mlt_type *type, int dest,
                   int tag, mlt_comm *comm)
{
    mlt_buffer *buffer = buffer_for(me, comm);
    uint64_t bytes = count * type->size;
    if (MLT_UNLIKELY(!buffer))
        return no_buffer(me, comm, bytes);
    // Too small is an error even if the message would not need the buffer now: it would next time.
    if (MLT_UNLIKELY(bytes + MPI_BSEND_OVERHEAD > buffer->bytes))
        return no_space(me, comm, buffer, bytes);
    if (mlt_send_at_once(me, buf, count, type, dest, tag, comm))
        return MPI_SUCCESS;
    mlt_block *block = block_new(buffer, bytes);
    if (MLT_UNLIKELY(!block)) {
        mlt_p2p_poll(me); // something may have left, unnoticed so far
        block = block_new(buffer, bytes);
        if (!block)
            return no_space(me, comm, buffer, bytes);
    }
    if (bytes)
        mlt_type_pack(type, buf, 0, block->data, bytes);
    mlt_req_fill(&block->req, me, MLT_REQ_SEND, block->data, mlt_packed_count(type, count),
                 mlt_packed_type(type), mlt_comm_world_rank(comm, dest), tag, comm);
    block->req.on_done = block_done;
    mlt_p2p_send(&block->req);
    return MPI_SUCCESS;
}

int mlt_mpi_Bsend(mlt_rank *me, const void *buf, MPI_Count count, const mlt_type *type, int dest,
                  int tag, mlt_comm *comm)
{
    if (MLT_UNLIKELY(dest == MPI_PROC_NULL))
        return MPI_SUCCESS;
    return mlt_bsend_send(me, buf, (uint64_t)count, type, dest, tag, comm);
}

int mlt_mpi_Ibsend(mlt_rank *me, const void *buf, MPI_Count count, const mlt_type *type, int dest,
                   int tag, mlt_comm *comm, MPI_Request *request)
{
    int code = mlt_mpi_Bsend(me, buf, count, type, dest, tag, comm);
    if (MLT_LIKELY(code == MPI_SUCCESS))
        *request = mlt_req_sent_handle();
    return code;
}

// ---- attaching, detaching, flushing: the same for all three holders

// Memory that the processor cannot touch.
static bool is_only_devices(const void *address, MPI_Count bytes, mlt_gpu_place *place)
{
    return mlt_gpu_is_on() && bytes > 0 && mlt_gpu_owns(address) && mlt_gpu_find(address, place) &&
           !place->managed;
}

int mlt_bsend_attach(mlt_rank *me, mlt_bsend_holder h, void *address, MPI_Count bytes)
{
    const mlt_buffer *old = *h.slot;
    mlt_gpu_place place;
    if (old && old->address == MPI_BUFFER_AUTOMATIC)
        return mlt_mpi_raise(
            me, h.comm, me->fn, MPI_ERR_BUFFER,
            "%s has automatic buffering already: detach MPI_BUFFER_AUTOMATIC first", h.name);
    if (old)
        return mlt_mpi_raise(me, h.comm, me->fn, MPI_ERR_BUFFER,
                             "%s has a buffer already, the %llu bytes at %p: detach it first",
                             h.name, (unsigned long long)old->bytes, old->address);
    if (address == MPI_BUFFER_AUTOMATIC)
        bytes = INT64_MAX; // the argument means nothing
    else if (bytes < 0)
        return mlt_bad_value(me, h.comm, me->fn, MPI_ERR_ARG, "size", bytes, "at least 0");
    else if (!address && bytes > 0)
        return mlt_bad_null(me, h.comm, me->fn, MPI_ERR_BUFFER, "buffer",
                            "memory or MPI_BUFFER_AUTOMATIC");
    else if (is_only_devices(address, bytes, &place))
        return mlt_mpi_raise(me, h.comm, me->fn, MPI_ERR_BUFFER,
                             "argument buffer is memory of GPU %d, but should be the host's, since "
                             "MPI_Bsend keeps its messages there",
                             place.device);
    else if (!address)
        return MPI_SUCCESS; // what MPI_Buffer_detach gave when there was none
    mlt_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return mlt_mpi_raise(me, h.comm, me->fn, MPI_ERR_NO_MEM,
                             MLT_NO_ROOM "what manages the buffer");
    buffer->address = address;
    buffer->bytes = (uint64_t)bytes;
    if (address != MPI_BUFFER_AUTOMATIC) {
        uint64_t skip = -(uintptr_t)address % BUFFER_ALIGN;
        buffer->start = (char *)address + (skip < buffer->bytes ? skip : 0);
        buffer->room =
            skip < buffer->bytes ? (buffer->bytes - skip) / BUFFER_ALIGN * BUFFER_ALIGN : 0;
    }
    mlt_list_init(&buffer->blocks);
    mlt_list_init(&buffer->flushes);
    buffer->after = &buffer->blocks;
    *h.slot = buffer;
    return MPI_SUCCESS;
}

static MLT_COLD int not_attached(mlt_rank *me, mlt_bsend_holder h)
{
    return mlt_mpi_raise(me, h.comm, me->fn, MPI_ERR_BUFFER, "%s has no buffer: attach one first",
                         h.name);
}

// Not inline: gcc would warn of a flush on the stack, as it cannot see that block_done takes it out
// of the list again.
static __attribute__((noinline)) void flush_start(mlt_buffer *buffer, buffer_flush *f, mlt_req *req)
{
    f->req = req;
    f->before = buffer->turns;
    f->left = buffer->open;
    mlt_list_push_back(&buffer->flushes, &f->link);
}

// Waits until the buffer is empty: nobody else puts messages in meanwhile.
static void flush_and_wait(mlt_rank *me, mlt_buffer *buffer, mlt_comm *comm)
{
    if (buffer->open == 0)
        return;
    mlt_req req;
    buffer_flush f = {.on_heap = false};
    mlt_req_fill_other(&req, me, comm ? comm : mlt_comm_self(me));
    flush_start(buffer, &f, &req);
    if (!req.done)
        mlt_req_wait(&req, mlt_mpi_call(me));
    mlt_assert(buffer->open == 0);
}

void mlt_bsend_drop(mlt_rank *me, void **slot)
{
    mlt_buffer *buffer = *slot;
    if (!buffer)
        return;
    flush_and_wait(me, buffer, NULL);
    mlt_assert(mlt_list_empty(&buffer->flushes));
    *slot = NULL;
    free(buffer);
}

// No buffer acts as one of no bytes, as in MPICH: a library may put its own in the place of
// whatever there was, and restore that afterwards.
int mlt_bsend_detach(mlt_rank *me, mlt_bsend_holder h, void *address, MPI_Count *bytes)
{
    const mlt_buffer *buffer = *h.slot;
    void *old = buffer ? buffer->address : NULL;
    *bytes = !buffer || old == MPI_BUFFER_AUTOMATIC ? 0 : (MPI_Count)buffer->bytes;
    memcpy(address, &old, sizeof old); // `void *` in the interface, really a `void **`
    if (buffer)
        mlt_bsend_drop(me, h.slot);
    return MPI_SUCCESS;
}

int mlt_bsend_flush(mlt_rank *me, mlt_bsend_holder h)
{
    mlt_buffer *buffer = *h.slot;
    if (!buffer)
        return not_attached(me, h);
    flush_and_wait(me, buffer, h.comm);
    return MPI_SUCCESS;
}

int mlt_bsend_iflush(mlt_rank *me, mlt_bsend_holder h, MPI_Request *request)
{
    mlt_buffer *buffer = *h.slot;
    if (!buffer)
        return not_attached(me, h);
    if (buffer->open == 0) {
        *request = mlt_req_sent_handle();
        return MPI_SUCCESS;
    }
    buffer_flush *f = malloc(sizeof *f);
    if (!f)
        return mlt_mpi_raise(me, h.comm, me->fn, MPI_ERR_NO_MEM, MLT_NO_ROOM "the request");
    mlt_req *req = mlt_req_new(me);
    mlt_req_fill_other(req, me, h.comm ? h.comm : mlt_comm_self(me));
    mlt_req_hold(req);
    f->on_heap = true;
    flush_start(buffer, f, req);
    *request = mlt_req_handle(req);
    return MPI_SUCCESS;
}

// ---- holders

mlt_bsend_holder mlt_bsend_process(mlt_rank *me)
{
    return (mlt_bsend_holder){.slot = &mlt_mpi_of(me)->buffer, .name = "the process"};
}

mlt_bsend_holder mlt_bsend_comm(mlt_rank *me, mlt_comm *comm)
{
    return (mlt_bsend_holder){&mlt_comm_extra_of(comm)->buffer, comm, mlt_comm_name(me, comm)};
}

mlt_bsend_holder mlt_bsend_session(mlt_session *session)
{
    return (mlt_bsend_holder){.slot = &session->buffer, .name = "the session"};
}
