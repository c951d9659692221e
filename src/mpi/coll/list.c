// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/list.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "coll/alg/list.h"
#include "mpi/comm/shared.h"
#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi/type/dtype.h"

enum { SENT, RECEIVED };

// What a schedule depends on, compared as bytes.
typedef struct shape {
    uint64_t bytes[2]; // of a block, if they are alike: sent, received
    uint64_t whole[2]; // of the buffers
    mlt_coll_list_peer *peer;
    int32_t root;
    uint8_t listed[2], same;
    uint8_t merged; // and the blocks that are received are alike
    // The rest is enough if there are rules: both sides are listed then.
    uint32_t blocks[2];      // messages, if they are listed
    mlt_goal_message part[]; // what is sent, if it is listed; then what is received
} shape;
_Static_assert(sizeof(shape) == 56, "no padding: compared as bytes");

// In the job's memory; lists of packed sides follow.
typedef struct list_exchange {
    const mlt_comm *comm;
    mlt_goal_messages parts; // those that are listed
    shape shape;
} list_exchange;

const mlt_coll_list mlt_coll_list_nothing = {.which = "", .listed = true, .typed = true};

static inline int32_t peer_of(const mlt_comm *comm, const shape *s, int mode, uint32_t i,
                              int32_t *tag)
{
    *tag = 0;
    return s->peer(comm, s->root, mode == SENT, i, tag);
}

// ---- what is wrong

int mlt_coll_bad_array(mlt_rank *me, mlt_comm *comm, const char *name)
{
    return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, name, "an array with an entry a block");
}

int mlt_coll_bad_element(mlt_rank *me, mlt_comm *comm, int class, const char *name, uint64_t index,
                         int64_t value, const char *should)
{
    char text[48];
    snprintf(text, sizeof text, "%s[%llu]", name, (unsigned long long)index);
    return mlt_bad_value(me, comm, me->fn, class, text, value, should);
}

static MLT_COLD int list_bad_count(mlt_rank *me, mlt_comm *comm, const mlt_coll_list *l, uint32_t b,
                                   const char *should)
{
    char name[16];
    snprintf(name, sizeof name, "%scount%s", l->which, l->listed ? "s" : "");
    return l->listed ? mlt_coll_bad_element(me, comm, MPI_ERR_COUNT, name, b,
                                            mlt_coll_number(l->counts, b), should)
                     : mlt_bad_value(me, comm, me->fn, MPI_ERR_COUNT, name, l->count, should);
}

static MLT_COLD int list_bad_type(mlt_rank *me, mlt_comm *comm, const mlt_coll_list *l, uint32_t b)
{
    char name[48];
    snprintf(name, sizeof name, "%stypes[%u]", l->which, b);
    return mlt_type_mine(me, l->types[b]) ? mlt_bad_uncommitted(me, comm, me->fn, name)
                                          : mlt_bad_type(me, comm, me->fn, name, l->types[b]);
}

static MLT_COLD int list_lacks(mlt_rank *me, mlt_comm *comm, const mlt_coll_list *l,
                               const char *what)
{
    char name[16];
    snprintf(name, sizeof name, "%s%s", l->which, what);
    return mlt_coll_bad_array(me, comm, name);
}

// What is not for one block.
static int list_check(mlt_rank *me, mlt_comm *comm, const mlt_coll_list *l)
{
    uint64_t bytes;
    if (!l->blocks && l->typed)
        return MPI_SUCCESS;
    mlt_coll_data data = {l->which, l->buf, l->listed ? 0 : l->count,
                          l->typed ? MLT_TYPE_BYTE : l->type};
    if (!l->blocks && data.count > 0)
        data.count = 0;
    int code = mlt_coll_check_data(me, comm, &data);
    if (MLT_UNLIKELY(code != MPI_SUCCESS) || !l->blocks)
        return code;
    if (MLT_UNLIKELY(l->listed && !l->counts.at))
        return list_lacks(me, comm, l, "counts");
    if (MLT_UNLIKELY(l->listed && !l->displs.at))
        return mlt_coll_bad_array(me, comm, l->displs_name);
    if (MLT_UNLIKELY(l->typed && !l->types))
        return list_lacks(me, comm, l, "types");
    if (MLT_UNLIKELY(
            __builtin_mul_overflow(mlt_coll_data_bytes(&data), l->same ? 1 : l->blocks, &bytes) ||
            bytes > INT64_MAX))
        return list_bad_count(me, comm, l, 0,
                              "so few that the bytes of all blocks fit into 63 bits");
    return MPI_SUCCESS;
}

// ---- looking

// What a list amounts to.
typedef struct list_view {
    uint32_t parts; // blocks that have bytes and a peer
    bool plain;     // each of them is bytes one after the other, and the processor may touch them
    bool dense;     // it is so but for that
    int64_t low, high; // where the first begins and the last ends, in bytes from the buffer
    uint64_t bytes;    // of all together
} list_view;

static inline int64_t count_at(const mlt_coll_list *l, uint32_t b)
{
    return l->listed ? mlt_coll_number(l->counts, b) : l->count;
}

static inline int64_t displ_at(const mlt_coll_list *l, uint32_t b)
{
    return l->listed ? mlt_coll_number(l->displs, b) : (int64_t)b * l->count;
}

// What displacements of a block of that type count.
static inline int64_t unit_of(const mlt_coll_list *l, const mlt_type *type)
{
    return l->typed ? 1 : type->extent;
}

static inline const void *block_of(const mlt_coll_list *l, uint32_t b)
{
    return (const void *)((uintptr_t)l->buf +
                          (uintptr_t)displ_at(l, b) * (uintptr_t)unit_of(l, l->type));
}

// Each block may be memory of another kind, and where the buffer begins need not be any block.
static MLT_COLD const mlt_type *type_in_memory(const mlt_coll_list *l, uint32_t b,
                                               const mlt_type *type)
{
    uintptr_t from = (uintptr_t)displ_at(l, b) * (uintptr_t)unit_of(l, type);
    return mlt_dtype_at(mlt_dtype_original(type), (const void *)((uintptr_t)l->buf + from),
                        count_at(l, b));
}

static inline const mlt_type *type_at(mlt_rank *me, const mlt_coll_list *l, uint32_t b)
{
    const mlt_type *type = l->typed ? mlt_type_mine(me, l->types[b]) : l->type;
    return mlt_gpu_is_on() && type ? type_in_memory(l, b, type) : type;
}

// One block that has elements. Types of blocks without are not looked at: programs give any.
static int list_look_at(mlt_rank *me, mlt_comm *comm, const mlt_coll_list *l, uint32_t b,
                        bool meets, list_view *v)
{
    const mlt_type *type = type_at(me, l, b);
    if (MLT_UNLIKELY(!type || !type->committed))
        return list_bad_type(me, comm, l, b);
    int64_t count = count_at(l, b), displ = displ_at(l, b), bytes, start, end;
    if (MLT_UNLIKELY(__builtin_mul_overflow(count, (int64_t)type->size, &bytes) ||
                     __builtin_add_overflow((int64_t)v->bytes, bytes, &end)))
        return list_bad_count(me, comm, l, b, "so few that all bytes fit into 63 bits");
    // Displacements in bytes may be addresses.
    if (MLT_UNLIKELY(!l->buf) && bytes && mlt_coll_needs_address(type) && !(l->typed && displ))
        return mlt_coll_check_data(me, comm, &(mlt_coll_data){l->which, NULL, 1, type});
    if (MLT_UNLIKELY(__builtin_mul_overflow(displ, unit_of(l, type), &start) ||
                     __builtin_add_overflow(start, bytes, &end)))
        return l->listed ? mlt_coll_bad_element(me, comm, MPI_ERR_ARG, l->displs_name, b, displ,
                                                "so small that its bytes fit into 63 bits")
                         : list_bad_count(me, comm, l, b, "so few that all bytes fit into 63 bits");
    if (!bytes || !meets)
        return MPI_SUCCESS;
    v->bytes += (uint64_t)bytes;
    v->low = !v->parts || start < v->low ? start : v->low;
    v->high = !v->parts || end > v->high ? end : v->high;
    v->plain = v->plain && (type->contiguous || (count == 1 && !type->layout && !type->device));
    v->dense = v->dense && (mlt_type_is_dense(type) || (count == 1 && !type->layout));
    v->parts++;
    return MPI_SUCCESS;
}

static int list_look(mlt_rank *me, mlt_comm *comm, const shape *s, int mode, const mlt_coll_list *l,
                     list_view *v)
{
    *v = (list_view){.plain = !l->apart, .dense = true};
    for (uint32_t b = 0; b < l->blocks; b++) {
        int32_t tag;
        int64_t count = count_at(l, b);
        if (count == 0)
            continue;
        if (MLT_UNLIKELY(count < 0))
            return list_bad_count(me, comm, l, b, "at least 0");
        int code = list_look_at(me, comm, l, b, peer_of(comm, s, mode, b, &tag) >= 0, v);
        if (MLT_UNLIKELY(code != MPI_SUCCESS))
            return code;
    }
    return MPI_SUCCESS;
}

// ---- making

static inline uint64_t list_room(const list_view *v)
{
    return v->plain ? 0 : v->parts * (sizeof(uint64_t) + sizeof(int64_t) + sizeof(mlt_type *));
}

// Where the blocks of a list lie for the schedule, and for whoever packs them. `room`: list_room
// bytes. Returns the bytes of the schedule's buffer.
static uint64_t list_lay_out(mlt_rank *me, mlt_comm *comm, const shape *s, int mode,
                             const mlt_coll_list *l, const list_view *v, mlt_goal_message *part,
                             void *room, mlt_coll_side *side)
{
    uint64_t *counts = room, at = 0;
    int64_t *displs = (int64_t *)(counts + v->parts);
    const mlt_type **types = (const mlt_type **)(displs + v->parts);
    uint32_t p = 0;
    for (uint32_t b = 0; p < v->parts; b++) {
        int32_t tag, peer = peer_of(comm, s, mode, b, &tag);
        int64_t count = count_at(l, b), displ = displ_at(l, b);
        const mlt_type *type = count && peer >= 0 ? type_at(me, l, b) : NULL;
        if (!type || !type->size)
            continue;
        uint64_t bytes = (uint64_t)count * type->size;
        part[p] = (mlt_goal_message){
            .peer = (uint32_t)peer,
            .tag = tag,
            .at = v->plain ? (uint64_t)(displ * unit_of(l, type) - v->low) : at,
            .bytes = bytes,
        };
        if (!v->plain) {
            counts[p] = (uint64_t)count;
            displs[p] = displ * unit_of(l, type);
            types[p] = type;
        }
        at += bytes;
        p++;
    }
    if (!v->parts)
        return 0;
    *side = (mlt_coll_side){.buf = (void *)(uintptr_t)l->buf, .type = MLT_TYPE_BYTE, .blocks = p};
    if (v->plain) {
        uint64_t bytes = (uint64_t)v->high - (uint64_t)v->low;
        side->buf = (void *)((uintptr_t)l->buf + (uintptr_t)v->low);
        side->blocks = 1;
        side->count = bytes;
        return bytes;
    }
    side->counts = counts;
    side->displs = displs;
    side->types = types;
    return at;
}

// Blocks that are alike and one after the other need no list.
static mlt_coll_side list_lay_alike(shape *s, int mode, const mlt_coll_list *l)
{
    mlt_coll_data data = {l->which, l->buf, l->count, l->type};
    int32_t blocks = l->same ? 1 : (int32_t)l->blocks;
    s->bytes[mode] = mlt_coll_data_bytes(&data);
    s->whole[mode] = (uint64_t)blocks * s->bytes[mode];
    return mlt_coll_data_side(&data, blocks);
}

// Only lists have a side of their own for the rules; and unpacking blocks with gaps that are alike would
// touch the place of somebody who is not there.
static bool is_listed(const mlt_coll_list *l, bool ruled, int mode)
{
    return ruled || l->listed ||
           (!l->same && mode == RECEIVED && l->blocks && !l->type->contiguous);
}

// ---- schedules of operations that have no rules

// The messages of one side whose blocks are alike; the caller frees them. Those with nobody and without
// bytes are left out.
static mlt_goal_message *list_parts_of(const list_exchange *x, int mode, uint32_t *count)
{
    const shape *s = &x->shape;
    mlt_goal_message *parts = mlt_xcalloc(s->blocks[mode] + 1ull, sizeof *parts);
    uint32_t n = 0;
    for (uint32_t i = 0; s->bytes[mode] && i < s->blocks[mode]; i++) {
        int32_t tag, peer = peer_of(x->comm, s, mode, i, &tag);
        uint64_t at = s->same && mode == SENT ? 0 : i * s->bytes[mode];
        if (peer >= 0)
            parts[n++] = (mlt_goal_message){(uint32_t)peer, tag, at, s->bytes[mode]};
    }
    *count = n;
    return parts;
}

static void list_emit(const mlt_coll_what *what, mlt_goal_program *program, uint32_t rank)
{
    const list_exchange *x = what->custom;
    mlt_goal_messages parts = x->parts;
    mlt_goal_message *send = NULL, *recv = NULL;
    if (!x->shape.listed[SENT])
        parts.send = send = list_parts_of(x, SENT, &parts.sends);
    if (!x->shape.listed[RECEIVED])
        parts.recv = recv = list_parts_of(x, RECEIVED, &parts.recvs);
    mlt_exchange_emit(program, rank, &parts, x->shape.merged);
    free(send);
    free(recv);
}

// ---- operations that have rules

static const mlt_goal_message *own_part(const mlt_comm *comm, const mlt_goal_message *part,
                                        uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (part[i].peer == (uint32_t)comm->rank)
            return &part[i];
    return NULL;
}

// What goes to the rank itself comes from it. Blocks may lie anywhere, so only those for oneself are
// compared: buffers that were taken for each other have them in the same place.
// in, out: lists of blocks for each rank, which must lie apart; NULL: they may lie as they do.
static int check_own(mlt_rank *me, const mlt_coll_job *job, const mlt_goal_messages *parts,
                     const mlt_coll_list *in, const mlt_coll_list *out)
{
    const mlt_goal_message *from = own_part(job->comm, parts->send, parts->sends);
    const mlt_goal_message *to = own_part(job->comm, parts->recv, parts->recvs);
    uint64_t sent = from ? from->bytes : 0, received = to ? to->bytes : 0;
    if (MLT_UNLIKELY(sent != received))
        return mlt_coll_bad_sizes(me, job->comm, sent, received);
    if (in && from && to &&
        MLT_UNLIKELY(mlt_coll_overlap(block_of(in, (uint32_t)job->comm->rank), sent,
                                      block_of(out, (uint32_t)job->comm->rank), received)))
        return mlt_coll_bad_overlap(me, job->comm);
    return MPI_SUCCESS;
}

// Perhaps only this rank knows that its list is wrong, and the others are in the call already. So
// the call's number is used up, and this rank's next call meets the next one of the others.
static MLT_COLD int list_refuse(mlt_comm *comm, const mlt_how *how, int code)
{
    if (mlt_how_is_persistent(how))
        comm->fixed_calls++;
    else
        mlt_coll_refused(comm, comm->coll_calls++);
    return code;
}

// ---- both

static uint16_t list_kind_of(const mlt_coll_list *l)
{
    return l->typed || !l->blocks ? 0 : mlt_type_kind(l->type);
}

// The root in the team's numbers, as every rank says it.
static uint32_t list_root_of(const mlt_comm *comm, const shape *s, mlt_coll_form form)
{
    int32_t tag;
    if (form != MLT_FORM_GATHERV && form != MLT_FORM_SCATTERV)
        return 0;
    if (!comm->inter)
        return (uint32_t)s->root;
    return (uint32_t)(s->root >= 0 ? peer_of(comm, s, SENT, 0, &tag) : mlt_comm_order(comm));
}

int mlt_coll_exchange(mlt_rank *me, mlt_comm *comm, const mlt_coll_list *send,
                      const mlt_coll_list *recv, mlt_coll_list_peer *peer, int32_t root,
                      mlt_coll_form form, const mlt_how *how)
{
    const mlt_coll_list *lists[2] = {send, recv};
    list_view view[2] = {{.plain = true}, {.plain = true}};
    // Others have the schedule that list_emit says.
    bool ruled = !comm->inter && (form == MLT_FORM_GATHERV || form == MLT_FORM_SCATTERV ||
                                  form == MLT_FORM_ALLTOALLV);
    shape s = {
        .peer = peer, .root = root, .same = send->same, .merged = send->same && !recv->listed};
    int code = list_check(me, comm, recv);
    if (MLT_LIKELY(code == MPI_SUCCESS))
        code = list_check(me, comm, send);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    for (int mode = RECEIVED; code == MPI_SUCCESS && mode >= SENT; mode--) {
        s.listed[mode] = is_listed(lists[mode], ruled, mode);
        if (s.listed[mode])
            code = list_look(me, comm, &s, mode, lists[mode], &view[mode]);
        else
            view[mode].plain = lists[mode]->type->contiguous;
        s.blocks[mode] = s.listed[mode] ? view[mode].parts : lists[mode]->blocks;
    }
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return ruled ? list_refuse(comm, how, code) : code;
    uint64_t key = sizeof s + ((uint64_t)view[SENT].parts + view[RECEIVED].parts) * sizeof *s.part;
    list_exchange *x =
        mlt_coll_memory_take(me, offsetof(list_exchange, shape) + key + list_room(&view[SENT]) +
                                     list_room(&view[RECEIVED]));
    mlt_coll_job job = {.comm = comm, .memory = x, .writes_out = true};
    mlt_coll_side *side[2] = {&job.in, &job.out};
    mlt_goal_message *part[2] = {x->shape.part, x->shape.part + view[SENT].parts};
    unsigned char *room = (unsigned char *)&x->shape + key;
    for (int mode = SENT; mode <= RECEIVED; mode++) {
        if (s.listed[mode])
            s.whole[mode] = list_lay_out(me, comm, &s, mode, lists[mode], &view[mode], part[mode],
                                         room, side[mode]);
        else
            *side[mode] = list_lay_alike(&s, mode, lists[mode]);
        room += list_room(&view[mode]);
    }
    x->comm = comm;
    x->parts = (mlt_goal_messages){.send = part[SENT],
                                   .recv = part[RECEIVED],
                                   .sends = view[SENT].parts,
                                   .recvs = view[RECEIVED].parts,
                                   .in = s.whole[SENT],
                                   .out = s.whole[RECEIVED]};
    x->shape = s;
    uint64_t skip = ruled ? offsetof(shape, blocks) : 0;
    job.what = (mlt_coll_what){.collective = MLT_COLL_EXCHANGE,
                               .form = (uint8_t)form,
                               .kind = list_kind_of(recv),
                               .kind_sent = list_kind_of(send),
                               .root = list_root_of(comm, &s, form),
                               .element = 1,
                               .parts = ruled ? &x->parts : NULL,
                               .emit = ruled ? NULL : list_emit,
                               .custom = x,
                               .key = (const char *)&x->shape + skip,
                               .key_bytes = key - skip};
    bool plain = view[SENT].plain && view[RECEIVED].plain;
    bool apart =
        form == MLT_FORM_ALLTOALLV && view[SENT].dense && view[RECEIVED].dense && !send->typed;
    if (ruled)
        code = check_own(me, &job, &x->parts, apart ? send : NULL, recv);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        (void)list_refuse(comm, how, code);
    else if (!plain || !mlt_coll_is_quick(me, comm, how))
        return mlt_coll_go(me, &job, how);
    else
        code = mlt_coll_quick(me, comm, &job.what, job.in.buf, job.out.buf);
    mlt_coll_memory_give(me, x);
    return code;
}
