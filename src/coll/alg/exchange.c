// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/exchange.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/log.h"
#include "base/memory.h"

static int by_distance(const void *pa, const void *pb)
{
    const mlt_exchange_entry *a = pa, *b = pb;
    return mlt_compare_words((uint64_t[]){a->distance, a->index},
                             (uint64_t[]){b->distance, b->index}, 2);
}

// Those of the list that have bytes and another rank, sorted.
static mlt_exchange_entry *exchange_sorted(const mlt_emit *e, const mlt_goal_message *part,
                                           uint32_t parts, bool sends, uint32_t *count)
{
    mlt_exchange_entry *list = mlt_xcalloc(parts, sizeof *list);
    uint32_t n = 0;
    for (uint32_t i = 0; i < parts; i++) {
        if (part[i].peer == e->rank || !part[i].bytes)
            continue;
        uint32_t distance = sends ? mlt_emit_down(e, part[i].peer, e->rank)
                                  : mlt_emit_down(e, e->rank, part[i].peer);
        list[n++] = (mlt_exchange_entry){distance, i, 0, NONE};
    }
    qsort(list, n, sizeof *list, by_distance);
    for (uint32_t i = 0; i < n; i++)
        list[i].first = i && list[i - 1].distance == list[i].distance ? list[i - 1].first : i;
    *count = n;
    return list;
}

// The n-th send of the rank to itself with a tag is its n-th such receive.
static void exchange_copy_own(const mlt_emit *e, const mlt_exchange *x)
{
    const mlt_goal_messages *parts = e->shape->parts;
    for (uint32_t s = 0; s < parts->sends; s++) {
        const mlt_goal_message *from = &parts->send[s], *to = parts->recv;
        if (from->peer != e->rank)
            continue;
        uint32_t nth = 0, r = 0;
        for (uint32_t i = 0; i < s; i++)
            nth += parts->send[i].peer == e->rank && parts->send[i].tag == from->tag;
        for (; r < parts->recvs; r++, to++)
            if (to->peer == e->rank && to->tag == from->tag && nth-- == 0)
                break;
        if (r == parts->recvs || to->bytes != from->bytes)
            mlt_fatal("rank %u's list of messages does not receive what it sends to itself",
                      e->rank);
        mlt_emit_copy(e, mlt_emit_part(x->out, to->at, to->bytes),
                      mlt_emit_part(x->in, from->at, from->bytes), NONE);
    }
}

mlt_exchange mlt_exchange_begin(const mlt_emit *e)
{
    const mlt_goal_messages *parts = e->shape->parts;
    mlt_exchange x = {.in = mlt_emit_buffer(e, "in", parts->in)};
    x.out = mlt_emit_buffer(e, "out", parts->out);
    x.send = exchange_sorted(e, parts->send, parts->sends, true, &x.sends);
    x.recv = exchange_sorted(e, parts->recv, parts->recvs, false, &x.recvs);
    exchange_copy_own(e, &x);
    return x;
}

void mlt_exchange_end(mlt_exchange *x)
{
    free(x->send);
    free(x->recv);
}

uint32_t mlt_exchange_send(const mlt_emit *e, mlt_exchange *x, uint32_t i, uint32_t after)
{
    const mlt_goal_message *part = &e->shape->parts->send[x->send[i].index];
    mlt_goal_span span = mlt_emit_part(x->in, part->at, part->bytes);
    uint32_t send = mlt_goal_send(e->program, e->slot, span, (int32_t)part->peer, part->tag);
    mlt_emit_after(e, send, after);
    return x->send[i].action = send;
}

uint32_t mlt_exchange_recv(const mlt_emit *e, mlt_exchange *x, uint32_t i, uint32_t after)
{
    const mlt_goal_message *part = &e->shape->parts->recv[x->recv[i].index];
    mlt_goal_span span = mlt_emit_part(x->out, part->at, part->bytes);
    uint32_t recv = mlt_goal_recv(e->program, e->slot, span, (int32_t)part->peer, part->tag);
    mlt_emit_after(e, recv, after);
    return x->recv[i].action = recv;
}
