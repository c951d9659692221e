// SPDX-License-Identifier: BSD-3-Clause
// Stand-ins for channels of other workers, and what programs call to share and to find channels.
#include "csp/net/chan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/export.h"
#include "base/log.h"
#include "base/memory.h"
#include "csp/buffer.h"
#include "csp/net/question.h"

// What an offer's op has beside the number.
#define OP_LATER    0x80000000u // its home was told LATER
#define OP_PROMISED 0x40000000u // its home was told YES
#define OP_NUMBER   0x3fffffffu

enum { KEEP_RETIRED = 64 };

typedef struct stand_in {
    mlt_remote_chan base;
    mlt_route_user user;
    mlt_route *route;
    uint32_t far; // the channel's number at its home
    uint32_t ops;
    bool writer;
    bool gone;          // retired, or given away
    mlt_list_node node; // gone: in net->retired
    // Who has the other end; UINT32_MAX: the home has not told.
    uint32_t other_ends;
    char others[MLT_ENDS_TEXT];
} stand_in;

const mlt_route *mlt_remote_chan_route(const csp_chan *chan)
{
    const stand_in *s = chan->net;
    return s->route;
}

uint32_t mlt_remote_chan_ends(const csp_chan *chan, bool writer, char *text, size_t size)
{
    const stand_in *s = chan->net;
    if (s->base.home)
        return mlt_home_ends(chan, writer, text, size);
    snprintf(text, size, "%s", s->others);
    return writer != s->writer ? s->other_ends : UINT32_MAX;
}

static void net_chan_say(stand_in *s, mlt_chan_packet_kind kind, uint32_t op, int32_t dst,
                         const void *data, uint64_t bytes)
{
    mlt_packet packet = {.kind = (uint16_t)kind,
                         .object = s->far,
                         .word = (int32_t)(op & OP_NUMBER),
                         .src = (int32_t)s->base.number,
                         .dst = dst};
    mlt_route_send(s->route, &packet, data, bytes);
}

// ---- offers

static void net_chan_settle(csp_chan *chan, mlt_offer *offer, csp_status status)
{
    if (mlt_offer_stands(offer))
        mlt_list_remove(&offer->node);
    offer->alt->promised = false;
    mlt_alt_settle(chan->csp, offer->alt, offer->index, status);
}

static void send_offer(csp_chan *chan, stand_in *s, mlt_offer *offer, bool writes)
{
    enum { SMALL = 256 };
    if (!offer->alt->guards) {
        net_chan_say(s, writes ? MLT_CHAN_WRITE : MLT_CHAN_READ, offer->op, 0,
                     writes ? offer->value : NULL, writes ? chan->size : 0);
        return;
    }
    unsigned char small[SMALL], *data = small;
    uint64_t who = (uintptr_t)offer->alt, bytes = sizeof who + (writes ? chan->size : 0);
    if (bytes > SMALL)
        data = mlt_xcalloc(1, bytes);
    memcpy(data, &who, sizeof who);
    if (writes && chan->size)
        memcpy(data + sizeof who, offer->value, chan->size);
    net_chan_say(s, writes ? MLT_CHAN_OFFER_WRITE : MLT_CHAN_OFFER_READ, offer->op, 0, data, bytes);
    if (data != small)
        free(data);
}

// The channel is gone, or about to go: what it has left here can still be read.
static bool offer_at_gone(csp_chan *chan, mlt_offer *offer, bool writes)
{
    if (!mlt_alt_is_open(offer->alt)) { // promised; it looks again if that is void
        if (!mlt_offer_stands(offer))
            mlt_list_push_back(&chan->offers[writes], &offer->node);
        return false;
    }
    csp_status status = mlt_chan_status(chan);
    if (!writes && chan->held > 0) {
        mlt_buffer_copy(offer->value, mlt_buffer_at(chan, 0), chan->size);
        mlt_buffer_drop(chan);
        status = CSP_OK;
    }
    net_chan_settle(chan, offer, status);
    return true;
}

bool mlt_chan_far_offer(csp_chan *chan, mlt_offer *offer, bool writes)
{
    stand_in *s = chan->net;
    if (s->base.home)
        return mlt_home_offer(chan, offer, writes);
    mlt_assert(writes == s->writer);
    if (chan->life != MLT_CHAN_LIVES || chan->held > 0)
        return offer_at_gone(chan, offer, writes);
    if (mlt_offer_stands(offer))
        return false; // its home has it
    s->ops = (s->ops + 1) & OP_NUMBER;
    offer->op = s->ops;
    mlt_list_push_back(&chan->offers[writes], &offer->node);
    send_offer(chan, s, offer, writes);
    return false;
}

bool mlt_chan_far_withdraw(csp_chan *chan, mlt_offer *offer, bool writes)
{
    stand_in *s = chan->net;
    bool plain = !offer->alt->guards;
    if (!mlt_offer_stands(offer))
        return true;
    if (s->base.home)
        return mlt_home_withdraw(chan, offer, writes);
    net_chan_say(s, MLT_CHAN_WITHDRAW, offer->op, plain, NULL, 0);
    if (plain)
        return false; // GONE comes, or DONE
    mlt_list_remove(&offer->node);
    return true;
}

// Everything that waits here is told what has become of the channel.
static void net_chan_life_ends(csp_chan *chan, mlt_chan_life life)
{
    if (chan->life != MLT_CHAN_LIVES)
        return;
    chan->life = (uint8_t)life;
    for (int i = 0; i < 2; i++) // MLT_READS, MLT_WRITES
        MLT_LIST_EACH_SAFE(mlt_offer, offer, &chan->offers[i], node) {
            if (offer->alt->chosen != MLT_ALT_OPEN)
                mlt_list_remove(&offer->node);
            else if (!offer->alt->promised || (offer->op & OP_PROMISED))
                net_chan_settle(chan, offer, mlt_chan_status(chan));
            // else it is promised elsewhere, and looks again if that is void
        }
}

void mlt_chan_far_poison(csp_chan *chan)
{
    stand_in *s = chan->net;
    if (s->base.home) {
        mlt_home_poison(chan);
        return;
    }
    chan->held = 0;
    if (chan->life == MLT_CHAN_RETIRED) // with values that were left
        chan->life = MLT_CHAN_POISONED;
    if (chan->life != MLT_CHAN_LIVES)
        return;
    net_chan_say(s, MLT_CHAN_POISON, 0, 0, NULL, 0);
    net_chan_life_ends(chan, MLT_CHAN_POISONED);
}

static void free_stand_in(stand_in *s)
{
    csp_chan *chan = s->base.chan;
    if (!s->gone) {
        mlt_remote_drop(chan->csp, s->base.number);
        mlt_list_remove(&s->user.node);
    }
    chan->net = NULL;
    free(s);
    csp_chan_free(chan);
}

// The end is no longer this worker's. Its memory stays for a while, so that a program that uses it
// by mistake is told.
static void bury(stand_in *s)
{
    mlt_remote *net = s->base.chan->csp->net;
    net_chan_life_ends(s->base.chan, MLT_CHAN_RETIRED);
    mlt_remote_drop(net->csp, s->base.number);
    mlt_list_remove(&s->user.node);
    s->gone = true;
    mlt_list_push_back(&net->retired, &s->node);
    if (++net->retired_count <= KEEP_RETIRED)
        return;
    net->retired_count--;
    free_stand_in(mlt_container_of(mlt_list_pop_front(&net->retired), stand_in, node));
}

void mlt_chan_far_retire(csp_chan *chan, bool writer)
{
    stand_in *s = chan->net;
    if (chan->holders[writer] == 0)
        return;
    if (s->base.home) {
        mlt_home_retire(chan, writer);
        return;
    }
    chan->holders[writer] = 0;
    net_chan_say(s, MLT_CHAN_RETIRE, 0, 0, NULL, 0);
    bury(s);
}

void mlt_chan_far_take(csp_chan *chan, bool writer)
{
    if (mlt_remote_chan_of(chan)->home)
        mlt_home_ends_change(chan, writer);
}

void mlt_chan_forget(csp_chan *chan)
{
    stand_in *s = chan->net;
    mlt_assert(s->base.home); // of a stand-in, programs have ends only
    mlt_home_forget(chan);
}

// ---- promises

void mlt_remote_release(mlt_csp *csp, mlt_alt *alt)
{
    for (uint32_t i = 0; alt->guards && i < alt->count; i++) {
        mlt_offer *offer = &alt->offers[i];
        const csp_guard *guard = &alt->guards[i];
        if (guard->off || !mlt_offer_stands(offer) ||
            (guard->kind != CSP_GUARD_READ && guard->kind != CSP_GUARD_WRITE))
            continue;
        csp_chan *chan =
            guard->kind == CSP_GUARD_READ ? mlt_chan_of_in(guard->in) : mlt_chan_of_out(guard->out);
        if (!chan->remote || mlt_remote_chan_of(chan)->home || !(offer->op & OP_LATER))
            continue;
        offer->op &= OP_NUMBER;
        net_chan_say(chan->net, MLT_CHAN_RENEW, offer->op, 0, NULL, 0);
    }
    mlt_alt_reopen(csp, alt);
}

static void asked(stand_in *s, mlt_offer *offer)
{
    mlt_alt *alt = offer->alt;
    mlt_chan_packet_kind answer = MLT_CHAN_YES;
    if (alt->chosen != MLT_ALT_OPEN) {
        answer = MLT_CHAN_NO;
    } else if (alt->promised) {
        answer = MLT_CHAN_LATER;
        offer->op |= OP_LATER;
    } else {
        alt->promised = true;
        offer->op |= OP_PROMISED;
    }
    net_chan_say(s, answer, offer->op, 0, NULL, 0);
}

// ---- what comes from the home

static mlt_offer *find_op(csp_chan *chan, uint32_t op)
{
    for (int i = 0; i < 2; i++) // MLT_READS, MLT_WRITES
        MLT_LIST_EACH(mlt_offer, offer, &chan->offers[i], node)
            if ((offer->op & OP_NUMBER) == op)
                return offer;
    return NULL;
}

static void done(csp_chan *chan, mlt_offer *offer, const mlt_packet *packet, const void *data,
                 uint64_t bytes)
{
    if (bytes == chan->size && bytes)
        memcpy(offer->value, data, bytes);
    net_chan_settle(chan, offer, (csp_status)packet->dst);
}

static void make_room(csp_chan *chan)
{
    uint32_t capacity = chan->capacity ? 2 * chan->capacity : 16;
    unsigned char *buffer = chan->size ? mlt_xcalloc(capacity, chan->size) : NULL;
    for (uint32_t i = 0; i < chan->held && chan->size; i++)
        memcpy(buffer + (size_t)i * chan->size, mlt_buffer_at(chan, i), chan->size);
    free(chan->buffer);
    chan->buffer = buffer;
    chan->capacity = capacity;
    chan->first = 0;
}

// A value that was in the buffer when the channel went. Whoever waits for one here, with an offer
// that crossed it, has it; else it is kept.
static void value_left(csp_chan *chan, const void *data, uint64_t bytes)
{
    if (bytes != chan->size || chan->life != MLT_CHAN_LIVES)
        return;
    MLT_LIST_EACH(mlt_offer, offer, &chan->offers[MLT_READS], node) {
        if (offer->alt->chosen != MLT_ALT_OPEN ||
            (offer->alt->promised && !(offer->op & OP_PROMISED)))
            continue;
        mlt_buffer_copy(offer->value, data, chan->size);
        net_chan_settle(chan, offer, CSP_OK);
        return;
    }
    if (chan->held == chan->capacity)
        make_room(chan);
    mlt_buffer_put(chan, data);
}

static void stand_in_packet(mlt_route *route, const mlt_packet *packet, const void *data,
                            uint64_t bytes)
{
    csp_chan *chan = mlt_remote_find(route->csp, packet->object, MLT_OBJECT_STAND_IN);
    if (chan && packet->kind == MLT_CHAN_LIFE) {
        if (packet->dst > MLT_CHAN_LIVES && packet->dst <= MLT_CHAN_LOST)
            net_chan_life_ends(chan, (mlt_chan_life)packet->dst);
        return;
    }
    if (chan && packet->kind == MLT_CHAN_LEFT) {
        value_left(chan, data, bytes);
        return;
    }
    if (chan && packet->kind == MLT_CHAN_ENDS) {
        stand_in *s = chan->net;
        s->other_ends = (uint32_t)packet->dst;
        snprintf(s->others, sizeof s->others, "%.*s", (int)bytes, (const char *)data);
        return;
    }
    mlt_offer *offer = chan ? find_op(chan, (uint32_t)packet->word) : NULL;
    if (!offer) { // the stand-in is gone, or its process has taken the offer back
        if (packet->kind == MLT_CHAN_ASK)
            mlt_chan_reply(route, packet, MLT_CHAN_NO, 0, NULL, 0);
        return;
    }
    switch ((mlt_chan_packet_kind)packet->kind) {
    case MLT_CHAN_DONE:
        done(chan, offer, packet, data, bytes);
        break;
    case MLT_CHAN_ASK:
        asked(chan->net, offer);
        break;
    case MLT_CHAN_AGAIN:
        if (!(offer->op & OP_PROMISED))
            break; // nonsense
        offer->op &= ~OP_PROMISED;
        mlt_remote_release(chan->csp, offer->alt);
        break;
    case MLT_CHAN_GONE:
        net_chan_settle(chan, offer, CSP_LATE);
        break;
    default:
        break;
    }
}

// Nobody waits for this stand-in any more: the home need not count it.
static void opened(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    if (mlt_question_answer(route->csp, (uint32_t)packet->word, (csp_status)packet->dst, data,
                            bytes) ||
        packet->dst != CSP_OK)
        return;
    mlt_chan_reply(route, packet, MLT_CHAN_RETIRE, 0, NULL, 0);
}

void mlt_chan_packet(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    if (packet->kind < MLT_CHAN_TO_STAND_IN)
        mlt_home_packet(route, packet, data, bytes);
    else if (packet->kind == MLT_CHAN_OPENED)
        opened(route, packet, data, bytes);
    else if (packet->kind == MLT_CHAN_GIVEN)
        (void)mlt_question_answer(route->csp, (uint32_t)packet->word, (csp_status)packet->dst, data,
                                  bytes);
    else
        stand_in_packet(route, packet, data, bytes);
}

// ---- opening

static void route_lost(mlt_route_user *user, mlt_route *route)
{
    net_chan_life_ends(mlt_container_of(user, stand_in, user)->base.chan,
                       route->ended ? MLT_CHAN_RETIRED : MLT_CHAN_LOST);
}

// Words a refusal of a channel whose values are of `is` bytes.
static csp_status explain(mlt_csp *csp, csp_status status, size_t want, uint32_t is)
{
    if (status == CSP_NO_NAME)
        mlt_csp_why(csp, "the channel carries values of %u bytes, not of %zu", is, want);
    else if (status == CSP_TAKEN)
        mlt_csp_why(csp, "the parcel was unpacked before");
    return status;
}

static csp_status open_here(mlt_csp *csp, uint32_t number, size_t size, bool writer,
                            uint64_t ticket, csp_chan **out)
{
    csp_chan *chan = mlt_remote_find(csp, number, MLT_OBJECT_CHAN);
    if (!chan)
        return CSP_RETIRED;
    if (size != chan->size)
        return explain(csp, CSP_NO_NAME, size, chan->size);
    if (ticket && !mlt_home_redeem(chan, ticket, writer))
        return explain(csp, CSP_TAKEN, size, chan->size);
    if (!ticket) {
        chan->holders[writer] += 1;
        chan->had_holders[writer] += 1;
    }
    mlt_home_ends_change(chan, writer);
    *out = chan;
    return CSP_OK;
}

csp_status mlt_remote_open(mlt_csp *csp, mlt_route *route, uint32_t number, size_t size,
                           bool writer, uint64_t ticket, csp_time deadline, csp_chan **out)
{
    *out = NULL;
    if (route->worker == csp->worker->index)
        return open_here(csp, number, size, writer, ticket, out);
    char name[128];
    snprintf(name, sizeof name, "channel %u of %s", number, route->who);
    csp_chan *chan = mlt_chan_make(csp, name, size, 0, false);
    stand_in *s = mlt_xcalloc(1, sizeof *s);
    s->base.chan = chan;
    s->base.number = mlt_remote_add(csp, chan, MLT_OBJECT_STAND_IN);
    s->user.lost = route_lost;
    s->route = route;
    s->far = number;
    s->writer = writer;
    s->other_ends = UINT32_MAX;
    chan->net = s;
    chan->remote = true;
    chan->holders[writer] = 1;
    chan->had_holders[writer] = 1;
    mlt_list_push_back(&route->users, &s->user.node);
    uint32_t is = 0;
    mlt_chan_opening opening = {.ticket = ticket, .size = (uint32_t)size};
    mlt_packet packet = {.kind = MLT_CHAN_OPEN,
                         .object = number,
                         .src = (int32_t)s->base.number,
                         .dst = writer ? MLT_OPEN_WRITER : 0};
    mlt_question question = {.answer = &is, .size = sizeof is, .call = "csp_find"};
    csp_status status = mlt_question_ask(&question, route, &packet, &opening, sizeof opening,
                                         MLT_CSP_REMOTE, chan, deadline);
    if (status == CSP_OK)
        *out = chan;
    else
        free_stand_in(s);
    return explain(csp, status, size, is);
}

csp_status mlt_remote_give(csp_chan *chan, bool writer, mlt_route **route, uint32_t *number,
                           uint64_t *ticket)
{
    if (!chan->net || mlt_remote_chan_of(chan)->home) {
        if (chan->life != MLT_CHAN_LIVES && (writer || chan->held == 0))
            return mlt_chan_status(chan);
        *route = mlt_route_to_worker(chan->csp, chan->csp->worker->index);
        *number = mlt_remote_share(chan);
        *ticket = mlt_home_ticket(chan, writer);
        return CSP_OK;
    }
    stand_in *s = chan->net;
    *route = s->route;
    *number = s->far;
    if (chan->life != MLT_CHAN_LIVES || chan->held > 0)
        return chan->life == MLT_CHAN_LIVES ? CSP_RETIRED : mlt_chan_status(chan);
    mlt_packet packet = {.kind = MLT_CHAN_GIVE, .object = s->far, .src = (int32_t)s->base.number};
    mlt_question question = {.answer = ticket, .size = sizeof *ticket, .call = "csp_pack"};
    csp_status status =
        mlt_question_ask(&question, s->route, &packet, NULL, 0, MLT_CSP_REMOTE, chan, CSP_NEVER);
    if (status != CSP_OK)
        return status;
    chan->holders[writer] = 0;
    bury(s);
    return CSP_OK;
}

// ---- what programs call

MLT_EXPORT csp_status csp_register_chan(const char *name, csp_chan *chan)
{
    mlt_csp *csp = mlt_csp_enter("csp_register_chan");
    mlt_chan_check(csp, chan, "csp_register_chan");
    (void)mlt_remote_of(csp);
    uint32_t number = mlt_remote_share(chan);
    csp_status status =
        mlt_remote_put_name(csp, name, MLT_OBJECT_CHAN, number, chan->size, "csp_register_chan");
    if (status == CSP_OK)
        chan->registered = true;
    return status;
}

static csp_status find_end(const char *name, size_t size, bool writer, csp_chan **chan,
                           csp_time deadline, const char *call)
{
    mlt_csp *csp = mlt_csp_enter(call);
    mlt_name entry;
    *chan = NULL;
    csp_status status = mlt_remote_find_name(csp, name, MLT_OBJECT_CHAN, &entry, deadline, call);
    if (status != CSP_OK)
        return status;
    if (size != entry.size)
        return explain(csp, CSP_NO_NAME, size, entry.size);
    mlt_route *route = mlt_route_to(csp, &entry.at, deadline, &status);
    if (!route)
        return status;
    status = mlt_remote_open(csp, route, entry.object, size, writer, 0,
                             deadline == CSP_AT_ONCE ? CSP_NEVER : deadline, chan);
    if (status == CSP_OK && (*chan)->remote && !mlt_remote_chan_of(*chan)->home)
        snprintf((*chan)->name, sizeof(*chan)->name, "%s", name);
    return status;
}

MLT_EXPORT csp_status csp_find_in(const char *name, size_t size, csp_in **in, csp_time deadline)
{
    csp_chan *chan;
    csp_status status = find_end(name, size, false, &chan, deadline, "csp_find_in");
    *in = mlt_chan_in(chan);
    return status;
}

MLT_EXPORT csp_status csp_find_out(const char *name, size_t size, csp_out **out, csp_time deadline)
{
    csp_chan *chan;
    csp_status status = find_end(name, size, true, &chan, deadline, "csp_find_out");
    *out = mlt_chan_out(chan);
    return status;
}

// ---- the end

void mlt_remote_chan_leave(mlt_csp *csp)
{
    MLT_LIST_EACH(csp_chan, chan, &csp->chans, all)
        if (chan->net && mlt_remote_chan_of(chan)->home)
            mlt_home_bequeath(chan);
}

void mlt_remote_chan_end(mlt_csp *csp)
{
    mlt_remote_chan_leave(csp);
    MLT_LIST_DRAIN(stand_in, s, &csp->net->retired, node)
        free_stand_in(s);
    MLT_LIST_EACH_SAFE(csp_chan, chan, &csp->chans, all) {
        if (!chan->net)
            continue;
        if (mlt_remote_chan_of(chan)->home)
            mlt_home_end(chan);
        else {
            // Processes that were not waited for may still stand there; they will never run.
            mlt_list_init(&chan->offers[MLT_READS]);
            mlt_list_init(&chan->offers[MLT_WRITES]);
            free_stand_in(chan->net);
        }
    }
}
