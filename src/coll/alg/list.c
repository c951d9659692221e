// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/list.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/memory.h"
#include "coll/alg/emit.h"

typedef struct list {
    mlt_emit e;
    const mlt_goal_messages *parts;
    mlt_goal_span in, out;
} list;

static mlt_goal_span sent(const list *l, const mlt_goal_message *part)
{
    return mlt_emit_part(l->in, part->at, part->bytes);
}

static mlt_goal_span received(const list *l, const mlt_goal_message *part)
{
    return mlt_emit_part(l->out, part->at, part->bytes);
}

static void emit_send(const list *l, const mlt_goal_message *part, int32_t tag)
{
    if (part->bytes)
        mlt_goal_send(l->e.program, l->e.slot, sent(l, part), (int32_t)part->peer, tag);
}

static uint32_t emit_recv(const list *l, const mlt_goal_message *part, int32_t tag)
{
    if (!part->bytes)
        return NONE;
    return mlt_goal_recv(l->e.program, l->e.slot, received(l, part), (int32_t)part->peer, tag);
}

// ---- different bytes for everybody

// The receive that takes what the rank sends to itself as entry s: the first with its tag that is not
// copied yet.
static uint32_t own_match(const list *l, uint32_t s, const bool *recv_copied, uint32_t from)
{
    const mlt_goal_messages *p = l->parts;
    for (uint32_t r = from; r < p->recvs; r++)
        if (!recv_copied[r] && p->recv[r].peer == l->e.rank && p->recv[r].tag == p->send[s].tag)
            return r;
    return NONE;
}

// Emits copies for what the rank sends to itself, and marks those receives and sends.
static void emit_own_copies(const list *l, bool *recv_copied, bool *send_copied)
{
    const mlt_goal_messages *p = l->parts;
    uint32_t from = 0;
    for (uint32_t s = 0; s < p->sends; s++) {
        if (p->send[s].peer != l->e.rank)
            continue;
        while (from < p->recvs && (recv_copied[from] || p->recv[from].peer != l->e.rank))
            from++;
        uint32_t r = own_match(l, s, recv_copied, from);
        if (r == NONE || p->recv[r].bytes != p->send[s].bytes)
            return; // the rest go as messages
        recv_copied[r] = send_copied[s] = true;
        mlt_emit_copy(&l->e, received(l, &p->recv[r]), sent(l, &p->send[s]), NONE);
    }
}

static void emit_each(const list *l)
{
    const mlt_goal_messages *p = l->parts;
    bool *recv_copied = mlt_xcalloc(p->recvs + 1ull, sizeof *recv_copied);
    bool *send_copied = mlt_xcalloc(p->sends + 1ull, sizeof *send_copied);
    emit_own_copies(l, recv_copied, send_copied);
    for (uint32_t r = 0; r < p->recvs; r++)
        if (!recv_copied[r])
            emit_recv(l, &p->recv[r], p->recv[r].tag);
    for (uint32_t s = 0; s < p->sends; s++)
        if (!send_copied[s])
            emit_send(l, &p->send[s], p->send[s].tag);
    free(recv_copied);
    free(send_copied);
}

// ---- the same bytes for everybody

typedef struct entry {
    uint32_t peer, index;
} entry;

static int by_peer(const void *pa, const void *pb)
{
    const entry *a = pa, *b = pb;
    return mlt_compare_words((uint64_t[]){a->peer, a->index}, (uint64_t[]){b->peer, b->index}, 2);
}

static entry *list_sorted(const mlt_goal_message *part, uint32_t count)
{
    entry *entries = mlt_xcalloc(count + 1ull, sizeof *entries);
    for (uint32_t i = 0; i < count; i++)
        entries[i] = (entry){part[i].peer, i};
    qsort(entries, count, sizeof *entries, by_peer);
    return entries;
}

static void emit_same(const list *l)
{
    const mlt_goal_messages *p = l->parts;
    entry *recv = list_sorted(p->recv, p->recvs), *send = list_sorted(p->send, p->sends);
    mlt_goal_span first = {0};
    // If the sizes differ, own entries go as messages, and the run reports the mismatch.
    bool own = p->recvs && p->sends && p->recv[0].bytes == p->send[0].bytes;
    for (uint32_t i = 0, recv_action = NONE; i < p->recvs; i++) {
        const mlt_goal_message *part = &p->recv[recv[i].index];
        if (own && part->peer == l->e.rank) {
            mlt_emit_copy(&l->e, received(l, part), sent(l, &p->send[0]), NONE);
        } else if (i && recv[i - 1].peer == part->peer) {
            mlt_emit_copy(&l->e, received(l, part), first, recv_action);
        } else {
            first = received(l, part);
            recv_action = emit_recv(l, part, 0);
        }
    }
    for (uint32_t i = 0; i < p->sends; i++)
        if (!(own && send[i].peer == l->e.rank) && (!i || send[i - 1].peer != send[i].peer))
            emit_send(l, &p->send[send[i].index], 0);
    free(recv);
    free(send);
}

void mlt_exchange_emit(mlt_goal_program *program, uint32_t rank, const mlt_goal_messages *parts,
                       bool same)
{
    static const mlt_coll_shape bytes = {.ranks = 1, .type = MLT_OP_UINT8, .element = 1};
    list l = {.e = mlt_emit_begin(&bytes, program, rank), .parts = parts};
    l.in = mlt_emit_buffer(&l.e, "in", parts->in);
    l.out = mlt_emit_buffer(&l.e, "out", parts->out);
    if (same)
        emit_same(&l);
    else
        emit_each(&l);
}
