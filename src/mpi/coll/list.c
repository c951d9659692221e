// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coll/alg/list.h"
#include "mpi/comm/shared.h"
#include "mpi/error/error.h"
#include "mpi/handle.h"

// Where a block lies in what the team is given.
typedef struct list_place {
    uint64_t at, bytes;
} list_place;

// What a schedule depends on, compared as bytes. Sides that are not listed have no places.
typedef struct shape {
    uint64_t bytes[2]; // of a block, if they are alike: sent, received
    uint64_t whole[2]; // of the buffers
    uint32_t blocks[2];
    mlt_coll_list_peer *peer;
    int32_t root;
    uint8_t listed[2], same;
    uint8_t merged;      // and the blocks that are received are alike
    list_place places[]; // of what is sent, then of what is received
} shape;
_Static_assert(sizeof(shape) == 56, "no padding: compared as bytes");

// In the job's memory; lists of packed sides follow.
typedef struct list_exchange {
    mlt_comm *comm;
    shape shape;
} list_exchange;

enum { SENT, RECEIVED };

static inline int32_t peer_of(const list_exchange *x, int mode, uint32_t i, int32_t *tag)
{
    *tag = 0;
    return x->shape.peer(x->comm, x->shape.root, mode == SENT, i, tag);
}

// ---- checks

static MLT_COLD int bad_array(mlt_rank *me, mlt_comm *comm, const mlt_listing *l, const char *what)
{
    char name[32];
    if (strcmp(what, "displs") == 0)
        snprintf(name, sizeof name, "%.1s%s", l->displs_name ? "" : l->which, what);
    else
        snprintf(name, sizeof name, "%s%s", l->which, what);
    return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, name, "an array, as there are blocks");
}

static MLT_COLD int bad_count(mlt_rank *me, mlt_comm *comm, const mlt_listing *l, uint32_t i,
                              const char *should)
{
    char name[48];
    snprintf(name, sizeof name, "%scounts[%u]", l->which, i);
    return mlt_bad_value(me, comm, me->fn, MPI_ERR_COUNT, name, mlt_coll_number(l->counts, i),
                         should);
}

static MLT_COLD int list_bad_type(mlt_rank *me, mlt_comm *comm, const mlt_listing *l, uint32_t i)
{
    char name[48];
    snprintf(name, sizeof name, "%stypes[%u]", l->which, i);
    const mlt_type *type = mlt_type_mine(me, l->types[i]);
    return type ? mlt_bad_uncommitted(me, comm, me->fn, name)
                : mlt_bad_type(me, comm, me->fn, name, l->types[i]);
}

// The type of block i, which has `count` elements. Of none, it does not matter.
static inline const mlt_type *block_type(const mlt_rank *me, const mlt_listing *l, uint32_t i,
                                         int64_t count)
{
    return !l->typed ? l->type : count > 0 ? mlt_type_mine(me, l->types[i]) : MLT_TYPE_BYTE;
}

static int list_check_blocks(mlt_rank *me, mlt_comm *comm, const mlt_listing *l)
{
    uint64_t all = 0, bytes;
    for (uint32_t i = 0; i < l->blocks; i++) {
        int64_t count = mlt_coll_number(l->counts, i);
        if (MLT_UNLIKELY(count < 0))
            return bad_count(me, comm, l, i, "at least 0");
        const mlt_type *type = block_type(me, l, i, count);
        if (MLT_UNLIKELY(!type || !type->committed))
            return list_bad_type(me, comm, l, i);
        if (MLT_UNLIKELY(__builtin_mul_overflow((uint64_t)count, type->size, &bytes) ||
                         __builtin_add_overflow(all, bytes, &all) || all > INT64_MAX))
            return bad_count(me, comm, l, i, "so few that all bytes fit into 63 bits");
        // Displacements in bytes may be addresses.
        if (MLT_UNLIKELY(!l->buf) && bytes && mlt_coll_needs_address(type) &&
            !(l->typed && mlt_coll_number(l->displs, i)))
            return mlt_coll_check_data(me, comm, l->which, l->buf, 1, type);
    }
    return MPI_SUCCESS;
}

static int check_alike(mlt_rank *me, mlt_comm *comm, const mlt_listing *l)
{
    uint64_t bytes;
    MPI_Count count = l->count > 0 && !l->blocks ? 0 : l->count;
    int code = mlt_coll_check_data(me, comm, l->which, l->buf, count, l->type);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    bytes = (uint64_t)count * l->type->size;
    if (MLT_LIKELY(l->same ||
                   (!__builtin_mul_overflow(bytes, l->blocks, &bytes) && bytes <= INT64_MAX)))
        return MPI_SUCCESS;
    char name[16];
    snprintf(name, sizeof name, "%scount", l->which);
    return mlt_bad_value(me, comm, me->fn, MPI_ERR_COUNT, name, count,
                         "so few that the bytes of all blocks fit into 63 bits");
}

static int list_check(mlt_rank *me, mlt_comm *comm, const mlt_listing *l)
{
    char name[16];
    snprintf(name, sizeof name, "%sbuf", l->which);
    if (MLT_UNLIKELY(mlt_coll_in_place(l->buf)))
        return mlt_coll_bad_in_place(me, comm, name);
    if (!l->listed)
        return check_alike(me, comm, l);
    if (!l->typed) {
        int code = mlt_coll_check_data(me, comm, l->which, NULL, 0, l->type);
        if (MLT_UNLIKELY(code != MPI_SUCCESS))
            return code;
    }
    if (!l->blocks)
        return MPI_SUCCESS;
    if (MLT_UNLIKELY(!l->counts.at))
        return bad_array(me, comm, l, "counts");
    if (MLT_UNLIKELY(!l->displs.at))
        return bad_array(me, comm, l, "displs");
    if (MLT_UNLIKELY(l->typed && !l->types))
        return bad_array(me, comm, l, "types");
    return list_check_blocks(me, comm, l);
}

// ---- sides

// True if the elements of a block are bytes one after the other.
static inline bool is_solid(const mlt_type *type, int64_t count)
{
    return type->contiguous || (count == 1 && !type->layout) || count == 0;
}

static inline int64_t block_offset(const mlt_listing *l, const mlt_type *type, uint32_t i)
{
    int64_t displ = l->listed ? mlt_coll_number(l->displs, i) : (int64_t)i * l->count;
    return l->typed ? displ : displ * type->extent;
}

// What is left of a block's elements: none if there is nobody.
static inline int64_t block_count(const list_exchange *x, const mlt_listing *l, int mode,
                                  uint32_t i)
{
    int32_t tag;
    int64_t count = l->listed ? mlt_coll_number(l->counts, i) : l->count;
    return count && peer_of(x, mode, i, &tag) >= 0 ? count : 0;
}

// A list in the user's memory: places count from the lowest one. False: a block has gaps.
static bool place_solid(mlt_rank *me, const list_exchange *x, const mlt_listing *l, int mode,
                        list_place *places, mlt_coll_side *side)
{
    int64_t low = INT64_MAX;
    uint64_t end = 0;
    for (uint32_t i = 0; i < l->blocks; i++) {
        int64_t count = block_count(x, l, mode, i);
        const mlt_type *type = block_type(me, l, i, count);
        if (!is_solid(type, count))
            return false;
        int64_t offset = count ? block_offset(l, type, i) : 0;
        places[i] = (list_place){(uint64_t)offset, (uint64_t)count * type->size};
        if (places[i].bytes && offset < low)
            low = offset;
    }
    for (uint32_t i = 0; i < l->blocks; i++) {
        places[i].at = places[i].bytes ? places[i].at - (uint64_t)low : 0;
        if (places[i].at + places[i].bytes > end)
            end = places[i].at + places[i].bytes;
    }
    *side = (mlt_coll_side){.buf = (void *)((uintptr_t)l->buf + (uintptr_t)(end ? low : 0)),
                            .type = MLT_TYPE_BYTE,
                            .blocks = 1,
                            .count = end};
    return true;
}

// A list that is packed: places are one after the other. `memory`: see packed_bytes.
static void place_packed(mlt_rank *me, const list_exchange *x, const mlt_listing *l, int mode,
                         list_place *places, mlt_coll_side *side, unsigned char *memory)
{
    uint64_t *counts = (uint64_t *)memory;
    int64_t *displs = (int64_t *)(counts + l->blocks);
    const mlt_type **types = (const mlt_type **)(displs + l->blocks);
    uint64_t at = 0;
    for (uint32_t i = 0; i < l->blocks; i++) {
        int64_t count = block_count(x, l, mode, i);
        types[i] = block_type(me, l, i, count);
        counts[i] = (uint64_t)count;
        displs[i] = count ? block_offset(l, types[i], i) : 0;
        places[i] = (list_place){at, counts[i] * types[i]->size};
        at += places[i].bytes;
    }
    *side = (mlt_coll_side){.buf = (void *)(uintptr_t)l->buf,
                            .type = MLT_TYPE_BYTE,
                            .blocks = l->blocks,
                            .counts = counts,
                            .displs = displs,
                            .types = types};
}

static uint64_t packed_bytes(const mlt_listing *l)
{
    return l->blocks * (sizeof(uint64_t) + sizeof(int64_t) + sizeof(mlt_type *));
}

// Blocks that are alike lie as they are wanted, packed or not, unless unpacking would touch the
// place of somebody who is not there.
static bool is_listed(const mlt_listing *l, bool sends)
{
    return l->listed || (!l->same && !sends && l->blocks && !l->type->contiguous);
}

static mlt_coll_side place_alike(list_exchange *x, const mlt_listing *l, int mode)
{
    uint64_t blocks = l->same ? 1 : l->blocks;
    x->shape.bytes[mode] = (uint64_t)l->count * l->type->size;
    x->shape.whole[mode] = blocks * x->shape.bytes[mode];
    return (mlt_coll_side){.buf = (void *)(uintptr_t)l->buf,
                           .type = l->type,
                           .blocks = blocks,
                           .count = (uint64_t)l->count};
}

// ---- schedules

// The messages of one way; the caller frees them. Those with nobody and without bytes are left out.
static mlt_goal_part *list_parts_of(const list_exchange *x, int mode, const list_place *places,
                                    uint32_t *count)
{
    const shape *s = &x->shape;
    mlt_goal_part *parts = mlt_take(s->blocks[mode] + 1ull, sizeof *parts);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->blocks[mode]; i++) {
        int32_t tag, peer = peer_of(x, mode, i, &tag);
        list_place p = {s->same && mode == SENT ? 0 : i * s->bytes[mode], s->bytes[mode]};
        if (s->listed[mode])
            p = places[i];
        if (peer >= 0 && p.bytes)
            parts[n++] = (mlt_goal_part){(uint32_t)peer, tag, p.at, p.bytes};
    }
    *count = n;
    return parts;
}

static void list_emit(const mlt_coll_what *what, mlt_goal_program *program, uint32_t rank)
{
    const list_exchange *x = what->custom;
    const shape *s = &x->shape;
    mlt_goal_parts parts = {.in = s->whole[SENT], .out = s->whole[RECEIVED]};
    const list_place *received = s->places + (s->listed[SENT] ? s->blocks[SENT] : 0);
    mlt_goal_part *send = list_parts_of(x, SENT, s->places, &parts.sends);
    mlt_goal_part *recv = list_parts_of(x, RECEIVED, received, &parts.recvs);
    parts.send = send;
    parts.recv = recv;
    mlt_coll_list_emit(program, rank, &parts, s->merged);
    free(send);
    free(recv);
}

static uint16_t list_kind_of(const mlt_listing *l)
{
    return l->typed || !l->blocks ? 0 : mlt_type_kind(l->type);
}

// The root in the team's numbers, as every rank says it.
static uint32_t list_root_of(const list_exchange *x, mlt_coll_form form)
{
    int32_t tag;
    if (form != MLT_FORM_GATHERV && form != MLT_FORM_SCATTERV)
        return 0;
    return (uint32_t)(x->shape.root >= 0 ? peer_of(x, SENT, 0, &tag) : mlt_comm_order(x->comm));
}

int mlt_coll_list_exchange(mlt_rank *me, mlt_comm *comm, const mlt_listing *send,
                           const mlt_listing *recv, mlt_coll_list_peer *peer, int32_t root,
                           mlt_coll_form form, mlt_coll_how how)
{
    int code = list_check(me, comm, send);
    if (MLT_LIKELY(code == MPI_SUCCESS))
        code = list_check(me, comm, recv);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    const mlt_listing *sides[2] = {send, recv};
    bool listed[2] = {is_listed(send, true), is_listed(recv, false)};
    uint64_t places = 0, lists = 0;
    for (int mode = SENT; mode <= RECEIVED; mode++) {
        places += listed[mode] ? sides[mode]->blocks : 0;
        lists += listed[mode] ? packed_bytes(sides[mode]) : 0;
    }
    uint64_t key = sizeof(shape) + places * sizeof(list_place);
    list_exchange *x = mlt_coll_memory_take(me, offsetof(list_exchange, shape) + key + lists);
    *x = (list_exchange){.comm = comm,
                         .shape = {.peer = peer,
                                   .root = root,
                                   .blocks = {send->blocks, recv->blocks},
                                   .listed = {listed[SENT], listed[RECEIVED]},
                                   .same = send->same,
                                   .merged = send->same && !recv->listed}};
    mlt_coll_job job = {.comm = comm, .memory = x, .writes_out = true};
    mlt_coll_side *to[2] = {&job.in, &job.out};
    list_place *next = x->shape.places;
    unsigned char *memory = (unsigned char *)&x->shape + key;
    for (int mode = SENT; mode <= RECEIVED; mode++) {
        const mlt_listing *l = sides[mode];
        if (!listed[mode]) {
            *to[mode] = place_alike(x, l, mode);
            continue;
        }
        if (!place_solid(me, x, l, mode, next, to[mode]))
            place_packed(me, x, l, mode, next, to[mode], memory);
        const list_place *last = l->blocks ? &next[l->blocks - 1] : NULL;
        x->shape.whole[mode] =
            to[mode]->types ? (last ? last->at + last->bytes : 0) : to[mode]->count;
        memory += packed_bytes(l);
        next += l->blocks;
    }
    job.what = (mlt_coll_what){.collective = MLT_COLL_EXCHANGE,
                               .form = (uint8_t)form,
                               .kind = list_kind_of(recv),
                               .kind_sent = list_kind_of(send),
                               .root = list_root_of(x, form),
                               .element = 1,
                               .emit = list_emit,
                               .custom = x,
                               .key = &x->shape,
                               .key_bytes = key};
    return mlt_coll_go(me, &job, how);
}
