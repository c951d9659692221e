// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/exchange.h"

#include <stdio.h>

#include "mpi/error/error.h"
#include "mpi/handle.h"

// What a list amounts to.
typedef struct coll_exchange_view {
    uint32_t parts;    // blocks that have bytes
    bool plain;        // all of them are contiguous
    int64_t low, high; // where the first begins and the last ends, in bytes from the buffer
    uint64_t bytes;    // of all together
} coll_exchange_view;

// The job's memory: what the schedule is made from, and for packed sides where their blocks lie.
typedef struct lists {
    mlt_goal_parts parts;
    uint64_t sends; // the key begins here
    mlt_goal_part part[];
} lists;

// ---- looking

int mlt_coll_bad_array(mlt_rank *me, mlt_comm *comm, const char *which, const char *name)
{
    char text[32];
    snprintf(text, sizeof text, "%s%s", which, name);
    return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, text, "an array with an entry a rank");
}

int mlt_coll_bad_element(mlt_rank *me, mlt_comm *comm, int class, const char *which,
                         const char *name, uint64_t index, int64_t value, const char *should)
{
    char text[48];
    snprintf(text, sizeof text, "%s%s[%llu]", which, name, (unsigned long long)index);
    return mlt_bad_value(me, comm, me->fn, class, text, value, should);
}

static MLT_COLD int coll_exchange_bad_type(mlt_rank *me, mlt_comm *comm, const mlt_coll_list *list,
                                           uint64_t b)
{
    char text[48];
    snprintf(text, sizeof text, "%stypes[%llu]", list->which, (unsigned long long)b);
    if (mlt_type_mine(me, list->types[b]))
        return mlt_bad_uncommitted(me, comm, me->fn, text);
    return mlt_bad_type(me, comm, me->fn, text, list->types[b]);
}

static MLT_COLD int bad_buffer(mlt_rank *me, mlt_comm *comm, const mlt_coll_list *list)
{
    char text[32];
    snprintf(text, sizeof text, "%sbuf", list->which);
    return mlt_bad_null(me, comm, me->fn, MPI_ERR_BUFFER, text, "where the data lies");
}

static inline const mlt_type *type_at(mlt_rank *me, const mlt_coll_list *list, uint64_t b)
{
    return list->types ? mlt_type_mine(me, list->types[b]) : list->type;
}

static inline int64_t unit_of(const mlt_coll_list *list)
{
    return list->types ? 1 : list->type->extent;
}

// One block that has elements. Types of blocks without are not looked at: programs give any.
static int coll_exchange_look_at(mlt_rank *me, mlt_comm *comm, const mlt_coll_list *list,
                                 uint64_t b, int64_t count, coll_exchange_view *v)
{
    const mlt_type *type = type_at(me, list, b);
    if (MLT_UNLIKELY(!type || !type->committed))
        return coll_exchange_bad_type(me, comm, list, b);
    int64_t bytes, start, end, displ = mlt_coll_number(list->displs, b);
    if (MLT_UNLIKELY(__builtin_mul_overflow(count, (int64_t)type->size, &bytes) ||
                     __builtin_add_overflow((int64_t)v->bytes, bytes, &end)))
        return mlt_coll_bad_element(me, comm, MPI_ERR_COUNT, list->which, "counts", b, count,
                                    "so few that all their bytes fit into 63 bits");
    v->bytes = (uint64_t)end;
    if (!bytes)
        return MPI_SUCCESS;
    // Displacements in bytes may be addresses.
    if (MLT_UNLIKELY(!list->buf) && mlt_coll_needs_address(type) && !(list->types && displ))
        return bad_buffer(me, comm, list);
    if (MLT_UNLIKELY(__builtin_mul_overflow(displ, unit_of(list), &start) ||
                     __builtin_add_overflow(start, bytes, &end)))
        return mlt_coll_bad_element(me, comm, MPI_ERR_ARG, list->which, "displs", b, displ,
                                    "so small that its bytes fit into 63 bits");
    v->low = !v->parts || start < v->low ? start : v->low;
    v->high = !v->parts || end > v->high ? end : v->high;
    v->plain = v->plain && type->contiguous;
    v->parts++;
    return MPI_SUCCESS;
}

static int coll_exchange_look(mlt_rank *me, mlt_comm *comm, const mlt_coll_list *list,
                              coll_exchange_view *v)
{
    *v = (coll_exchange_view){.plain = !list->apart};
    for (uint32_t b = 0; b < list->blocks; b++) {
        int64_t count = mlt_coll_number(list->counts, b);
        if (count == 0 || list->skip == (int32_t)b)
            continue;
        if (MLT_UNLIKELY(count < 0))
            return mlt_coll_bad_element(me, comm, MPI_ERR_COUNT, list->which, "counts", b, count,
                                        "at least 0");
        int code = coll_exchange_look_at(me, comm, list, b, count, v);
        if (MLT_UNLIKELY(code != MPI_SUCCESS))
            return code;
    }
    return MPI_SUCCESS;
}

// ---- making

static inline uint64_t side_room(const coll_exchange_view *v)
{
    return v->plain ? 0 : v->parts * (sizeof(uint64_t) + sizeof(int64_t) + sizeof(mlt_type *));
}

// Where the blocks of a list lie for the schedule, and for whoever packs them. `room`: side_room
// bytes. Returns the bytes of the schedule's buffer.
static uint64_t coll_exchange_lay_out(mlt_rank *me, const mlt_coll_list *list,
                                      const coll_exchange_view *v, mlt_goal_part *part, void *room,
                                      mlt_coll_side *side)
{
    uint64_t *counts = room, at = 0;
    int64_t *displs = (int64_t *)(counts + v->parts);
    const mlt_type **types = (const mlt_type **)(displs + v->parts);
    uint32_t p = 0;
    for (uint32_t b = 0; p < v->parts; b++) {
        int64_t count = mlt_coll_number(list->counts, b);
        const mlt_type *type = count && list->skip != (int32_t)b ? type_at(me, list, b) : NULL;
        if (!type || !type->size)
            continue;
        int64_t displ = mlt_coll_number(list->displs, b);
        uint64_t bytes = (uint64_t)count * type->size;
        part[p] = (mlt_goal_part){
            .peer = list->peer == MLT_COLL_NOBODY ? b : (uint32_t)list->peer,
            .at = v->plain ? (uint64_t)(displ * unit_of(list) - v->low) : at,
            .bytes = bytes,
        };
        if (!v->plain) {
            counts[p] = (uint64_t)count;
            displs[p] = displ;
            types[p] = type;
        }
        at += bytes;
        p++;
    }
    if (!v->parts)
        return 0;
    *side = (mlt_coll_side){.buf = (void *)(uintptr_t)list->buf, .type = list->type, .blocks = p};
    if (v->plain) {
        uint64_t bytes = (uint64_t)v->high - (uint64_t)v->low;
        side->buf = (void *)((uintptr_t)list->buf + (uintptr_t)v->low);
        side->type = MLT_TYPE_BYTE;
        side->blocks = 1;
        side->count = bytes;
        return bytes;
    }
    side->counts = counts;
    side->displs = displs;
    if (list->types) {
        side->type = types[0];
        side->types = types;
    }
    return at;
}

// What goes to the rank itself comes from it.
static int check_own(mlt_rank *me, mlt_comm *comm, const mlt_goal_parts *parts)
{
    uint64_t sent = 0, received = 0;
    for (uint32_t i = 0; i < parts->sends; i++)
        sent += parts->send[i].peer == (uint32_t)comm->rank ? parts->send[i].bytes : 0;
    for (uint32_t i = 0; i < parts->recvs; i++)
        received += parts->recv[i].peer == (uint32_t)comm->rank ? parts->recv[i].bytes : 0;
    if (MLT_LIKELY(sent == received))
        return MPI_SUCCESS;
    return mlt_coll_bad_sizes(me, comm, sent, received);
}

// Perhaps only this rank knows that its list is wrong, and the others are in the call already. So
// the call's number is used up, and this rank's next call meets the next one of the others.
static MLT_COLD int coll_exchange_refuse(mlt_comm *comm, mlt_coll_how how, int code)
{
    if (how.mode == MLT_COLL_PERSISTENT)
        comm->fixed_calls++;
    else
        mlt_coll_refused(comm, comm->coll_calls++);
    return code;
}

static uint16_t coll_exchange_kind_of(const mlt_coll_list *list)
{
    return list->types || !list->type ? 0 : mlt_type_kind(list->type);
}

int mlt_coll_exchange(mlt_rank *me, mlt_comm *comm, const mlt_coll_list *send,
                      const mlt_coll_list *recv, mlt_coll_form form, int root, mlt_coll_how how)
{
    coll_exchange_view sent, received;
    int code = coll_exchange_look(me, comm, recv, &received);
    if (code == MPI_SUCCESS)
        code = coll_exchange_look(me, comm, send, &sent);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return coll_exchange_refuse(comm, how, code);
    uint64_t parts = (uint64_t)sent.parts + received.parts;
    uint64_t fixed = sizeof(lists) + parts * sizeof(mlt_goal_part);
    lists *l = mlt_coll_memory_take(me, fixed + side_room(&sent) + side_room(&received));
    unsigned char *room = (unsigned char *)l + fixed;
    mlt_coll_job job = {
        .comm = comm,
        .what = {.collective = MLT_COLL_EXCHANGE,
                 .form = (uint8_t)form,
                 .root = (uint32_t)root,
                 .kind = coll_exchange_kind_of(recv),
                 .kind_sent = coll_exchange_kind_of(send),
                 .element = 1,
                 .parts = &l->parts,
                 .key = &l->sends,
                 .key_bytes = sizeof l->sends + parts * sizeof(mlt_goal_part)},
        .writes_out = true,
        .memory = l,
    };
    mlt_goal_part *second = l->part + sent.parts;
    l->sends = sent.parts;
    l->parts = (mlt_goal_parts){
        .send = l->part,
        .recv = second,
        .sends = sent.parts,
        .recvs = received.parts,
        .in = coll_exchange_lay_out(me, send, &sent, l->part, room, &job.in),
        .out =
            coll_exchange_lay_out(me, recv, &received, second, room + side_room(&sent), &job.out),
    };
    code = check_own(me, comm, &l->parts);
    if (MLT_UNLIKELY(code != MPI_SUCCESS)) {
        coll_exchange_refuse(comm, how, code);
    } else {
        if (!mlt_coll_is_quick(me, comm, how) || !sent.plain || !received.plain)
            return mlt_coll_go(me, &job, how);
        code = mlt_coll_quick(me, comm, &job.what, job.in.buf, job.out.buf);
    }
    mlt_coll_memory_give(me, l);
    return code;
}
