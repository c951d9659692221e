// SPDX-License-Identifier: BSD-3-Clause
// What a module sends to a Reduce of its worker is copied, since it is the module's again when
// flow_send returns. For two contributors (2n and 2n + 1, which the canonical brackets combine
// first, too) one copy is enough: the data of the one that comes second is combined, from where it
// lies, into what the other sent, in the queue or on the part's stack. Only for operations of the
// library's own, which commute and do not wait.
#include "base/list.h"
#include "csp/chan.h"
#include "flow/conn.h"
#include "flow/part/part_int.h"

// Element number `at` of those that the part has not taken: what its process was handed, then the
// queue. NULL: there is none.
static mlt_flow_element *element_at(const mlt_flow_pair *pair, int which, uint64_t at)
{
    const mlt_flow_inlet *inlet = pair->in[which];
    const mlt_flow_combiner *c = pair->combiner;
    csp_chan *chan = inlet->chan;
    if (c->handed && c->handed_at == inlet) {
        if (at == 0)
            return c->handed == MLT_FLOW_MERGED ? NULL : c->handed;
        at--;
    }
    if (at >= chan->held)
        return NULL;
    uint32_t slot = chan->first + (uint32_t)at;
    return ((mlt_flow_element **)(void *)
                chan->buffer)[slot >= chan->capacity ? slot - chan->capacity : slot];
}

// How many elements of it are there that the part has not taken.
static uint64_t ahead(const mlt_flow_pair *pair, int which)
{
    const mlt_flow_combiner *c = pair->combiner;
    return pair->in[which]->chan->held + (c->handed && c->handed_at == pair->in[which]);
}

static bool is_open(const mlt_flow_inlet *inlet)
{
    return !inlet->ended && !inlet->chan->rare && mlt_list_empty(&inlet->chan->offers[MLT_WRITES]);
}

// Combines if both have the same type and size, and nobody shares the element.
static bool combine(const mlt_flow_pair *pair, mlt_flow_element *into, const void *data,
                    uint8_t kind, uint32_t value_bytes, uint64_t bytes)
{
    if (!into || into->refs != 1 || into->kind != kind || into->value_bytes != value_bytes ||
        into->bytes != bytes)
        return false;
    const mlt_flow_how *how = mlt_flow_how_of(pair->combiner, kind, value_bytes, pair->in[0]->line);
    if (!how->op.kernel || !how->op.commutes)
        return false;
    how->op.kernel(mlt_flow_data(into), data, bytes / how->op.element);
    return true;
}

mlt_flow_element *mlt_flow_pair_send(mlt_flow_inlet *inlet, const void *data, uint8_t kind,
                                     uint32_t value_bytes, uint64_t bytes)
{
    mlt_flow_pair *pair = inlet->pair;
    bool second = inlet == pair->in[1];
    if (!is_open(pair->in[0]) || !is_open(pair->in[1]))
        return NULL;
    if (second && pair->open) { // the part waits here for it
        if (mlt_list_empty(&inlet->chan->offers[MLT_READS]) || inlet->chan->held > 0 ||
            !combine(pair, pair->open, data, kind, value_bytes, bytes))
            return NULL;
        mlt_flow_merged_at(inlet);
        return MLT_FLOW_MERGED;
    }
    if (second) {
        uint64_t round = pair->taken[1] + pair->merged + ahead(pair, 1);
        if (ahead(pair, 1) > 0 || round < pair->taken[0] ||
            !combine(pair, element_at(pair, 0, round - pair->taken[0]), data, kind, value_bytes,
                     bytes))
            return NULL;
        pair->merged++;
        return MLT_FLOW_MERGED;
    }
    uint64_t round = pair->taken[0] + ahead(pair, 0);
    mlt_flow_inlet *other = pair->in[1];
    if (other->chan->held == 0 || pair->open || pair->taken[1] + pair->merged != round ||
        !combine(pair, element_at(pair, 1, 0), data, kind, value_bytes, bytes))
        return NULL;
    pair->merged++;
    return mlt_flow_take(other); // it becomes the first one's
}
