// SPDX-License-Identifier: BSD-3-Clause
// The home of a channel that others have ends of: all offers stand in its queues, those of this
// worker's processes and those of others (struct far), and are matched here. remote.h has the rules.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "csp/buffer.h"
#include "csp/net/chan.h"

// Whoever has a stand-in of the channel.
typedef struct holder {
    mlt_list_node node; // in the home
    mlt_route_user user;
    struct home *home;
    mlt_route *route;
    uint32_t stand_in;
    bool writer;
} holder;

// A share that is in a parcel.
typedef struct ticket {
    mlt_list_node node; // in the home
    uint64_t number;
    bool writer;
} ticket;

typedef struct home {
    mlt_remote_chan base;
    // Of reading ends, of writing ends:
    mlt_list_node holders[2];
    uint32_t away[2]; // shares of holders and in parcels; the others are this worker's
    mlt_list_node tickets;
    uint64_t last_ticket;
} home;

// An offer of a process elsewhere.
typedef struct far {
    mlt_offer offer;
    mlt_alt alt; // no fiber; guards: NULL: a plain one. promised: it has said YES
    mlt_route *route;
    uint32_t stand_in;
    int32_t op;
    bool writes;
    bool asked, busy;
    mlt_offer *partner; // that is held while this one is asked; NULL: none
    uint64_t who;
    unsigned char value[];
} far;

static csp_guard some_guards; // what makes it an alternation

static inline bool home_is_far(const mlt_offer *offer)
{
    return !offer->alt->fiber;
}

static inline far *far_of(mlt_offer *offer)
{
    return mlt_container_of(offer, far, offer);
}

static inline bool must_ask(const mlt_offer *offer)
{
    return home_is_far(offer) && offer->alt->guards;
}

// Can be served, or asked.
static bool is_free(mlt_offer *offer)
{
    return mlt_alt_is_open(offer->alt) &&
           !(must_ask(offer) && (far_of(offer)->asked || far_of(offer)->busy));
}

// ---- the order of alternations

typedef struct place {
    uint64_t job, address;
    uint32_t worker;
} place;

static place place_of(const csp_chan *chan, mlt_offer *offer)
{
    if (!home_is_far(offer))
        return (place){.job = chan->csp->worker->boot->job->identity,
                       .worker = chan->csp->worker->index,
                       .address = (uintptr_t)offer->alt};
    const far *f = far_of(offer);
    return (place){.job = f->route->to.job, .worker = f->route->to.worker, .address = f->who};
}

// Negative: a is lower; 0: they are the same alternation.
static int compare(const csp_chan *chan, mlt_offer *a, mlt_offer *b)
{
    place x = place_of(chan, a), y = place_of(chan, b);
    if (x.job != y.job)
        return x.job < y.job ? -1 : 1;
    if (x.worker != y.worker)
        return x.worker < y.worker ? -1 : 1;
    return x.address < y.address ? -1 : x.address > y.address;
}

static bool is_same(const csp_chan *chan, mlt_offer *a, mlt_offer *b)
{
    return a->alt == b->alt || (a->alt->guards && b->alt->guards && compare(chan, a, b) == 0);
}

// ---- telling others

static void tell(csp_chan *chan, mlt_route *route, uint32_t stand_in, mlt_chan_packet_kind kind,
                 int32_t op, int32_t dst, const void *data, uint64_t bytes)
{
    mlt_packet packet = {.kind = (uint16_t)kind,
                         .object = stand_in,
                         .word = op,
                         .src = (int32_t)mlt_remote_chan_of(chan)->number,
                         .dst = dst};
    mlt_route_send(route, &packet, data, bytes);
}

static void tell_far(csp_chan *chan, far *f, mlt_chan_packet_kind kind)
{
    tell(chan, f->route, f->stand_in, kind, f->op, 0, NULL, 0);
}

static void home_ask(csp_chan *chan, mlt_offer *offer, mlt_offer *partner)
{
    far *f = far_of(offer);
    f->asked = true;
    f->partner = partner;
    tell_far(chan, f, MLT_CHAN_ASK);
}

// ---- serving

// The offer is served, or told why not. value: what it reads.
static void home_finish(csp_chan *chan, mlt_offer *offer, csp_status status, const void *value)
{
    if (mlt_offer_stands(offer))
        mlt_list_remove(&offer->node);
    if (home_is_far(offer)) {
        far *f = far_of(offer);
        tell(chan, f->route, f->stand_in, MLT_CHAN_DONE, f->op, (int32_t)status, value,
             value ? chan->size : 0);
        free(f);
        return;
    }
    if (value)
        mlt_buffer_copy(offer->value, value, chan->size);
    offer->alt->promised = false;
    mlt_alt_settle(chan->csp, offer->alt, offer->index, status);
}

static void transfer(csp_chan *chan, mlt_offer *one, mlt_offer *other, bool one_writes)
{
    mlt_offer *from = one_writes ? one : other, *to = one_writes ? other : one;
    home_finish(chan, to, CSP_OK, from->value);
    home_finish(chan, from, CSP_OK, NULL);
}

// The first that can be served without asking.
static mlt_offer *find_ready(csp_chan *chan, bool writes, mlt_offer *self)
{
    MLT_LIST_EACH(mlt_offer, offer, &chan->offers[writes], node)
        if (!offer->alt->promised && offer->alt->chosen == MLT_ALT_OPEN && !must_ask(offer) &&
            !(self && is_same(chan, offer, self)))
            return offer;
    return NULL;
}

static void seek_all(csp_chan *chan, bool writes);
static void home_life_ends(csp_chan *chan);

static void served_from_buffer(csp_chan *chan)
{
    mlt_offer *writer = find_ready(chan, true, NULL);
    if (writer) {
        mlt_buffer_put(chan, writer->value);
        home_finish(chan, writer, CSP_OK, NULL);
    } else if (chan->life != MLT_CHAN_LIVES && chan->held == 0) {
        home_life_ends(chan);
    } else {
        seek_all(chan, true); // there is room now
    }
}

// Serves it without asking anybody, if that can be. It is open, or has said YES.
static bool serve_now(csp_chan *chan, mlt_offer *offer, bool writes)
{
    if (!writes && chan->held > 0) {
        home_finish(chan, offer, CSP_OK, mlt_buffer_at(chan, 0));
        mlt_buffer_drop(chan);
        served_from_buffer(chan);
        return true;
    }
    mlt_offer *other = find_ready(chan, !writes, offer);
    if (other && !(writes && chan->held > 0)) {
        transfer(chan, offer, other, writes);
        return true;
    }
    if (!writes || !chan->buffered || (chan->held == chan->capacity && !chan->overwrites))
        return false;
    if (chan->held == chan->capacity)
        mlt_buffer_drop(chan);
    mlt_buffer_put(chan, offer->value);
    home_finish(chan, offer, CSP_OK, NULL);
    seek_all(chan, false); // there is something to read
    return true;
}

// The buffer is all the counterpart that it needs.
static bool suits_buffer(const csp_chan *chan, bool writes)
{
    return writes ? chan->buffered && (chan->held < chan->capacity || chan->overwrites)
                  : chan->held > 0;
}

// Begins what may end in serving both; at least one must be asked. True: it has begun.
static bool try_pair(csp_chan *chan, mlt_offer *offer, mlt_offer *other)
{
    if (!must_ask(offer) && !must_ask(other))
        return false;
    bool both = offer->alt->guards && other->alt->guards; // two alternations
    mlt_offer *low = offer, *high = other;
    if (!both) {
        home_ask(chan, must_ask(offer) ? offer : other, NULL);
        return true;
    }
    if (compare(chan, offer, other) > 0) {
        low = other;
        high = offer;
    }
    if (must_ask(low)) {
        home_ask(chan, low, NULL);
    } else {
        low->alt->promised = true;
        home_ask(chan, high, low);
    }
    return true;
}

// An offer that stands and could not be served now: whom to ask?
static void seek(csp_chan *chan, mlt_offer *offer, bool writes)
{
    if (!is_free(offer))
        return;
    if (must_ask(offer) && suits_buffer(chan, writes)) {
        home_ask(chan, offer, NULL);
        return;
    }
    MLT_LIST_EACH(mlt_offer, other, &chan->offers[!writes], node)
        if (is_free(other) && !is_same(chan, offer, other) && try_pair(chan, offer, other))
            return;
}

// The other side changed: everybody of this one looks again.
static void seek_all(csp_chan *chan, bool writes)
{
    MLT_LIST_EACH_SAFE(mlt_offer, offer, &chan->offers[writes], node)
        seek(chan, offer, writes);
}

// ---- the end of a channel's life

static void free_far(far *f)
{
    mlt_list_remove(&f->offer.node);
    free(f);
}

static void sweep(csp_chan *chan, bool writes, csp_status status)
{
    MLT_LIST_EACH_SAFE(mlt_offer, offer, &chan->offers[writes], node)
        if (home_is_far(offer))
            free_far(far_of(offer)); // its stand-in hears of the end
        else if (offer->alt->chosen != MLT_ALT_OPEN)
            mlt_list_remove(&offer->node);
        else if (!offer->alt->promised) // else it looks again when it is free
            home_finish(chan, offer, status, NULL);
}

// Those who are held for this channel's sake are free: they will be told here.
static void free_held(csp_chan *chan, bool writes)
{
    MLT_LIST_EACH(mlt_offer, offer, &chan->offers[writes], node) {
        if (!home_is_far(offer) || !far_of(offer)->partner)
            continue;
        far_of(offer)->partner->alt->promised = false;
        far_of(offer)->partner = NULL;
    }
}

static void home_life_ends(csp_chan *chan)
{
    home *h = chan->net;
    csp_status status = mlt_chan_status(chan);
    free_held(chan, false);
    free_held(chan, true);
    for (int writer = 0; writer < 2; writer++)
        MLT_LIST_EACH(holder, who, &h->holders[writer], node)
            tell(chan, who->route, who->stand_in, MLT_CHAN_LIFE, 0, chan->life, NULL, 0);
    sweep(chan, false, status);
    sweep(chan, true, status);
}

void mlt_home_poison(csp_chan *chan)
{
    if (chan->life >= MLT_CHAN_POISONED)
        return;
    chan->life = MLT_CHAN_POISONED;
    chan->held = 0;
    home_life_ends(chan);
}

static void one_less(csp_chan *chan, bool writer, mlt_chan_life life)
{
    uint32_t *count = &chan->holders[writer];
    if (*count > 0)
        --*count;
    if (*count > 0 || chan->life != MLT_CHAN_LIVES)
        return;
    chan->life = life;
    if (!writer)
        chan->held = 0; // nobody is left to read it
    if (chan->held == 0)
        home_life_ends(chan);
}

void mlt_home_retire(csp_chan *chan, bool writer)
{
    one_less(chan, writer, MLT_CHAN_RETIRED);
    mlt_home_ends_change(chan, writer);
}

// ---- offers

bool mlt_home_offer(csp_chan *chan, mlt_offer *offer, bool writes)
{
    if (!mlt_alt_is_open(offer->alt)) { // another guard of it was promised just now
        if (!mlt_offer_stands(offer))
            mlt_list_push_back(&chan->offers[writes], &offer->node);
        return false;
    }
    if (chan->life != MLT_CHAN_LIVES && (writes || chan->held == 0)) {
        home_finish(chan, offer, mlt_chan_status(chan), NULL);
        return true;
    }
    if (serve_now(chan, offer, writes))
        return true;
    if (!mlt_offer_stands(offer))
        mlt_list_push_back(&chan->offers[writes], &offer->node);
    seek(chan, offer, writes);
    return false;
}

static far *find_far(csp_chan *chan, const mlt_route *route, const mlt_packet *packet)
{
    for (int writes = 0; writes < 2; writes++) {
        MLT_LIST_EACH(mlt_offer, offer, &chan->offers[writes], node)
            if (home_is_far(offer) && far_of(offer)->op == packet->word &&
                far_of(offer)->stand_in == (uint32_t)packet->src && far_of(offer)->route == route)
                return far_of(offer);
    }
    return NULL;
}

// An offer came. The common case needs no memory: a plain one whose counterpart waits.
static void offer_came(csp_chan *chan, mlt_route *route, const mlt_packet *packet,
                       const unsigned char *data, uint64_t bytes)
{
    bool writes = packet->kind == MLT_CHAN_WRITE || packet->kind == MLT_CHAN_OFFER_WRITE;
    bool plain = packet->kind == MLT_CHAN_WRITE || packet->kind == MLT_CHAN_READ;
    uint64_t who = 0, head = plain ? 0 : sizeof who;
    if (bytes != head + (writes ? chan->size : 0)) {
        mlt_route_lose(route, "it sent a value of the wrong size");
        return;
    }
    if (chan->life != MLT_CHAN_LIVES && (writes || chan->held == 0)) {
        mlt_chan_reply(route, packet, MLT_CHAN_LIFE, chan->life, NULL, 0);
        return;
    }
    if (head)
        memcpy(&who, data, head);
    mlt_offer *other = plain && !chan->buffered ? find_ready(chan, !writes, NULL) : NULL;
    if (other && !home_is_far(other)) {
        if (!writes) // before the writer goes on
            mlt_chan_reply(route, packet, MLT_CHAN_DONE, CSP_OK, other->value, chan->size);
        home_finish(chan, other, CSP_OK, writes ? data : NULL);
        if (writes)
            mlt_chan_reply(route, packet, MLT_CHAN_DONE, CSP_OK, NULL, 0);
        return;
    }
    far *f = mlt_xcalloc(1, sizeof *f + (writes ? chan->size : 0));
    f->offer.alt = &f->alt;
    f->offer.value = f->value;
    f->alt.chosen = MLT_ALT_OPEN;
    f->alt.guards = plain ? NULL : &some_guards;
    f->alt.offers = &f->offer;
    f->alt.count = 1;
    f->route = route;
    f->stand_in = (uint32_t)packet->src;
    f->op = packet->word;
    f->writes = writes;
    f->who = who;
    if (writes && chan->size)
        memcpy(f->value, data + head, chan->size);
    if (plain && serve_now(chan, &f->offer, writes))
        return;
    mlt_list_push_back(&chan->offers[writes], &f->offer.node);
    seek(chan, &f->offer, writes);
}

// ---- answers

// Who was held while another was asked, in vain.
static void release(csp_chan *chan, mlt_offer *held, bool writes)
{
    if (!held)
        return;
    if (!home_is_far(held)) {
        mlt_remote_release(chan->csp, held->alt);
        return;
    }
    held->alt->promised = false;
    tell_far(chan, far_of(held), MLT_CHAN_AGAIN);
    seek(chan, held, writes);
}

// An answer is awaited that may serve a plain offer of that side: it cannot be late before.
static bool is_awaited(csp_chan *chan, bool writes)
{
    MLT_LIST_EACH(mlt_offer, offer, &chan->offers[!writes], node)
        if (home_is_far(offer) && far_of(offer)->asked && !far_of(offer)->partner)
            return true;
    return false;
}

static void home_is_late(csp_chan *chan, mlt_offer *offer)
{
    if (home_is_far(offer)) {
        tell_far(chan, far_of(offer), MLT_CHAN_GONE);
        free_far(far_of(offer));
    } else {
        home_finish(chan, offer, CSP_LATE, NULL);
    }
}

// Those whose deadline has passed have waited for the last answer.
static void settle_late(csp_chan *chan)
{
    for (int writes = 0; writes < 2; writes++) {
        mlt_list_node *queue = &chan->offers[writes];
        if (mlt_list_empty(queue) || is_awaited(chan, writes))
            continue;
        MLT_LIST_EACH_SAFE(mlt_offer, offer, queue, node)
            if (offer->alt->late && offer->alt->chosen == MLT_ALT_OPEN)
                home_is_late(chan, offer);
    }
}

bool mlt_home_withdraw(csp_chan *chan, mlt_offer *offer, bool writes)
{
    if (!offer->alt->guards && is_awaited(chan, writes))
        return false; // settle_late
    mlt_list_remove(&offer->node);
    return true;
}

static void said_yes(csp_chan *chan, far *f)
{
    mlt_offer *partner = f->partner;
    f->asked = false;
    f->alt.promised = true;
    if (partner) {
        f->partner = NULL;
        transfer(chan, &f->offer, partner, f->writes);
        return;
    }
    if (serve_now(chan, &f->offer, f->writes))
        return;
    MLT_LIST_EACH(mlt_offer, other, &chan->offers[!f->writes], node) {
        if (must_ask(other) && is_free(other) && compare(chan, &f->offer, other) < 0) {
            home_ask(chan, other, &f->offer);
            return;
        }
    }
    release(chan, &f->offer, f->writes);
}

static void said_no(csp_chan *chan, far *f, bool later)
{
    mlt_offer *partner = f->partner;
    bool writes = f->writes;
    f->asked = false;
    f->partner = NULL;
    f->busy = later;
    if (!later)
        free_far(f);
    release(chan, partner, !writes);
    seek_all(chan, !writes);
}

// ---- who has which end, for hang reports

enum { ENDS_SEEN = 16, ENDS_NAMED = 3 };

typedef struct ends {
    const char *name[ENDS_NAMED];
    uint32_t count, seen;
} ends;

// A worker may have several.
static void add_end(ends *e, const char *who)
{
    for (uint32_t i = 0; i < e->count && i < ENDS_NAMED; i++)
        if (strcmp(e->name[i], who) == 0)
            return;
    if (e->count < ENDS_NAMED)
        e->name[e->count] = who;
    e->count++;
}

// A bounded number of them is looked at, whoever they are.
static ends ends_away(const home *h, bool writer, const char *here)
{
    ends e = {0};
    if (here)
        add_end(&e, here);
    for (const mlt_list_node *l = h->holders[writer].next;
         l != &h->holders[writer] && e.seen++ < ENDS_SEEN; l = l->next)
        add_end(&e, mlt_container_of(l, holder, node)->route->who);
    for (const mlt_list_node *l = h->tickets.next; l != &h->tickets && e.seen++ < 2 * ENDS_SEEN;
         l = l->next)
        if (mlt_container_of(l, ticket, node)->writer == writer)
            add_end(&e, "a parcel");
    return e;
}

static void word_ends(const ends *e, char *text, size_t size)
{
    mlt_text words = mlt_text_on(text, size);
    uint32_t named = e->count < ENDS_NAMED ? e->count : ENDS_NAMED;
    for (uint32_t i = 0; i < named; i++)
        mlt_text_add(&words, "%s%s", mlt_text_between(i, e->count, " and "), e->name[i]);
    if (e->count > named)
        mlt_text_add(&words, " and others");
}

uint32_t mlt_home_ends(const csp_chan *chan, bool writer, char *text, size_t size)
{
    ends e = ends_away(chan->net, writer, NULL);
    word_ends(&e, text, size);
    return e.count;
}

// Holders of one side hear who has the other one. Those of other programs do not: they have ranks
// of their own.
static void tell_ends(csp_chan *chan, const holder *who)
{
    const home *h = chan->net;
    bool writer = !who->writer;
    uint32_t all = chan->holders[writer];
    char text[MLT_ENDS_TEXT];
    if (who->route->worker == UINT32_MAX)
        return;
    const char *here = mlt_route_to_worker(chan->csp, chan->csp->worker->index)->who;
    ends e = ends_away(h, writer, all > h->away[writer] ? here : NULL);
    word_ends(&e, text, sizeof text);
    tell(chan, who->route, who->stand_in, MLT_CHAN_ENDS, 0, (int32_t)e.count, text,
         strlen(text) + 1);
}

void mlt_home_ends_change(csp_chan *chan, bool writer)
{
    const home *h = chan->net;
    uint32_t told = 0;
    for (const mlt_list_node *l = h->holders[!writer].next;
         l != &h->holders[!writer] && told++ < ENDS_SEEN && chan->life == MLT_CHAN_LIVES;
         l = l->next)
        tell_ends(chan, mlt_container_of(l, holder, node));
}

// ---- holders

static void drop_holder(holder *who)
{
    who->home->away[who->writer]--;
    mlt_list_remove(&who->node);
    mlt_list_remove(&who->user.node);
    free(who);
}

// The offer goes, though it may be held for one that is asked now.
static void take_back(csp_chan *chan, far *f)
{
    MLT_LIST_EACH(mlt_offer, asked, &chan->offers[!f->writes], node)
        if (home_is_far(asked) && far_of(asked)->partner == &f->offer)
            far_of(asked)->partner = NULL;
    said_no(chan, f, false);
}

// Its offers go, and those that were held for them are free.
static void drop_offers(csp_chan *chan, const holder *who)
{
    for (int writes = 0; writes < 2; writes++) {
        mlt_list_node *queue = &chan->offers[writes];
        for (mlt_list_node *l = queue->next; l != queue;) {
            mlt_offer *offer = mlt_container_of(l, mlt_offer, node);
            l = l->next;
            if (!home_is_far(offer) || far_of(offer)->route != who->route ||
                far_of(offer)->stand_in != who->stand_in)
                continue;
            take_back(chan, far_of(offer));
            l = queue->next; // it may have changed
        }
    }
}

static void holder_lost(mlt_route_user *user, mlt_route *route)
{
    holder *who = mlt_container_of(user, holder, user);
    csp_chan *chan = who->home->base.chan;
    bool writer = who->writer;
    drop_offers(chan, who);
    settle_late(chan);
    drop_holder(who);
    one_less(chan, writer, route->ended ? MLT_CHAN_RETIRED : MLT_CHAN_LOST);
    mlt_home_ends_change(chan, writer);
}

static holder *find_holder(const home *h, const mlt_route *route, uint32_t stand_in)
{
    for (int writer = 0; writer < 2; writer++)
        MLT_LIST_EACH(holder, who, &h->holders[writer], node)
            if (who->route == route && who->stand_in == stand_in)
                return who;
    return NULL;
}

uint64_t mlt_home_ticket(csp_chan *chan, bool writer)
{
    home *h = chan->net;
    ticket *t = mlt_xcalloc(1, sizeof *t);
    *t = (ticket){.number = ++h->last_ticket, .writer = writer};
    mlt_list_push_back(&h->tickets, &t->node);
    h->away[writer]++;
    mlt_home_ends_change(chan, writer);
    return t->number;
}

bool mlt_home_redeem(csp_chan *chan, uint64_t number, bool writer)
{
    home *h = chan->net;
    MLT_LIST_EACH(ticket, t, &h->tickets, node) {
        if (t->number != number || t->writer != writer)
            continue;
        mlt_list_remove(&t->node);
        free(t);
        h->away[writer]--;
        return true;
    }
    return false;
}

// What the answer will be; takes the ticket. The asker words a refusal.
static csp_status may_open(csp_chan *chan, const mlt_chan_opening *o, bool writer)
{
    if (!chan)
        return CSP_RETIRED;
    if (o->size != chan->size)
        return CSP_NO_NAME;
    return !o->ticket || mlt_home_redeem(chan, o->ticket, writer) ? CSP_OK : CSP_TAKEN;
}

static void open_came(mlt_route *route, csp_chan *chan, const mlt_packet *packet, const void *data,
                      uint64_t bytes)
{
    mlt_chan_opening o;
    bool writer = packet->dst & MLT_OPEN_WRITER;
    if (bytes != sizeof o) {
        mlt_route_lose(route, "it sent a packet of the wrong size");
        return;
    }
    memcpy(&o, data, sizeof o);
    uint32_t size = chan ? chan->size : 0;
    csp_status status = may_open(chan, &o, writer);
    mlt_chan_reply(route, packet, MLT_CHAN_OPENED, (int32_t)status, &size, sizeof size);
    if (status != CSP_OK)
        return;
    home *h = chan->net;
    holder *who = mlt_xcalloc(1, sizeof *who);
    *who = (holder){.user = {.lost = holder_lost},
                    .home = h,
                    .route = route,
                    .stand_in = (uint32_t)packet->src,
                    .writer = writer};
    mlt_list_push_back(&h->holders[writer], &who->node);
    h->away[writer]++;
    mlt_list_push_back(&route->users, &who->user.node);
    if (!o.ticket) {
        chan->holders[writer] += 1;
        chan->had_holders[writer] += 1;
    }
    if (chan->life != MLT_CHAN_LIVES && chan->held == 0)
        tell(chan, route, who->stand_in, MLT_CHAN_LIFE, 0, chan->life, NULL, 0);
    tell_ends(chan, who);
    mlt_home_ends_change(chan, writer);
}

// chan is NULL if it was freed: all others have been told, only the asker waits for an answer.
static void share_given(csp_chan *chan, mlt_route *route, const mlt_packet *packet, bool writer)
{
    uint64_t number = chan ? mlt_home_ticket(chan, writer) : 0;
    mlt_chan_reply(route, packet, MLT_CHAN_GIVEN, chan ? CSP_OK : CSP_RETIRED, &number,
                   sizeof number);
}

static void holder_leaves(csp_chan *chan, mlt_route *route, const mlt_packet *packet)
{
    holder *who = chan ? find_holder(chan->net, route, (uint32_t)packet->src) : NULL;
    bool writer = who && who->writer;
    if (who) {
        drop_offers(chan, who);
        settle_late(chan);
        drop_holder(who);
    }
    if (packet->kind == MLT_CHAN_GIVE)
        share_given(who ? chan : NULL, route, packet, writer);
    else if (who)
        mlt_home_retire(chan, writer);
}

static void withdrawn(csp_chan *chan, mlt_route *route, const mlt_packet *packet)
{
    far *f = find_far(chan, route, packet);
    if (!f)
        return; // DONE, LIFE or the like is on its way
    if (packet->dst && !f->alt.guards)
        f->alt.late = true;
    else
        take_back(chan, f);
    settle_late(chan);
}

void mlt_home_packet(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    csp_chan *chan = mlt_remote_find(route->csp, packet->object, MLT_OBJECT_CHAN);
    if (packet->kind == MLT_CHAN_OPEN) {
        open_came(route, chan, packet, data, bytes);
        return;
    }
    if (!chan && packet->kind == MLT_CHAN_GIVE)
        holder_leaves(NULL, route, packet);
    if (!chan)
        return; // it was freed: they have been told
    far *f;
    switch ((mlt_chan_packet_kind)packet->kind) {
    case MLT_CHAN_READ:
    case MLT_CHAN_WRITE:
    case MLT_CHAN_OFFER_READ:
    case MLT_CHAN_OFFER_WRITE:
        offer_came(chan, route, packet, data, bytes);
        break;
    case MLT_CHAN_YES:
        if ((f = find_far(chan, route, packet)) && f->asked) {
            said_yes(chan, f);
            settle_late(chan);
        }
        break;
    case MLT_CHAN_NO:
    case MLT_CHAN_LATER:
        if ((f = find_far(chan, route, packet)) && f->asked) {
            said_no(chan, f, packet->kind == MLT_CHAN_LATER);
            settle_late(chan);
        }
        break;
    case MLT_CHAN_RENEW:
        if ((f = find_far(chan, route, packet))) {
            f->busy = false;
            seek(chan, &f->offer, f->writes);
        }
        break;
    case MLT_CHAN_WITHDRAW:
        withdrawn(chan, route, packet);
        break;
    case MLT_CHAN_POISON:
        mlt_home_poison(chan);
        break;
    default: // RETIRE, GIVE
        holder_leaves(chan, route, packet);
    }
}

// ---- sharing, freeing

uint32_t mlt_remote_share(csp_chan *chan)
{
    home *h = chan->net;
    if (h)
        return h->base.number;
    h = mlt_xcalloc(1, sizeof *h);
    h->base = (mlt_remote_chan){.chan = chan, .home = true};
    mlt_list_init(&h->holders[0]);
    mlt_list_init(&h->holders[1]);
    mlt_list_init(&h->tickets);
    h->base.number = mlt_remote_add(chan->csp, chan, MLT_OBJECT_CHAN);
    chan->net = h;
    chan->remote = true; // home.c serves it from now on
    return h->base.number;
}

void mlt_home_end(csp_chan *chan)
{
    home *h = chan->net;
    for (int writes = 0; writes < 2; writes++) {
        MLT_LIST_EACH_SAFE(mlt_offer, offer, &chan->offers[writes], node)
            if (home_is_far(offer))
                free_far(far_of(offer));
    }
    for (int writer = 0; writer < 2; writer++)
        MLT_LIST_DRAIN(holder, who, &h->holders[writer], node)
            drop_holder(who);
    MLT_LIST_DRAIN(ticket, t, &h->tickets, node)
        free(t);
    mlt_remote_drop(chan->csp, h->base.number);
    free(h);
    chan->net = NULL;
    chan->remote = false;
}

// The next holder after `who` that reads; NULL: nobody does.
static holder *next_reader(home *h, const holder *who)
{
    const mlt_list_node *readers = &h->holders[0];
    mlt_list_node *at = who && who->node.next != readers ? who->node.next : readers->next;
    return at != readers ? mlt_container_of(at, holder, node) : NULL;
}

// Those who read elsewhere get what is in the buffer, in turn. Of a poisoned one nothing is there.
void mlt_home_bequeath(csp_chan *chan)
{
    holder *who = NULL;
    while (chan->held > 0 && (who = next_reader(chan->net, who))) {
        tell(chan, who->route, who->stand_in, MLT_CHAN_LEFT, 0, 0, mlt_buffer_at(chan, 0),
             chan->size);
        mlt_buffer_drop(chan);
    }
}

void mlt_home_forget(csp_chan *chan)
{
    bool untold = chan->life == MLT_CHAN_LIVES || chan->held > 0;
    mlt_home_bequeath(chan);
    if (untold) {
        chan->life = chan->life == MLT_CHAN_LIVES ? MLT_CHAN_RETIRED : chan->life;
        chan->held = 0;
        home_life_ends(chan);
    }
    if (chan->registered)
        mlt_remote_forget_names(chan->csp, mlt_remote_chan_of(chan)->number);
    mlt_home_end(chan);
}
