// SPDX-License-Identifier: BSD-3-Clause
// A pair is a process of this host and one of another that are, or want to be, connected. Pairs
// that are to be dialled wait in the queue of their host; hosts that have such pairs, and a card,
// take turns.
#include "launch/hosts/broker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"
#include "boot/ctl.h"
#include "launch/loop.h"
#include "net/crypt.h"
#include "net/dial.h"
#include "net/listen.h"
#include "os/fd.h"
#include "os/line.h"
#include "os/os.h"

enum {
    DIALS = 12,            // at the same time
    A_HOST = 6,            // ... to a host that has answered; to others one
    BROKER_TRIES = 3,      // dials of a pair
    SHORT_TRIES = 40,      // ... while there are no descriptors
    BROKER_PAUSE_MS = 100, // before the second try; twice as long before the third
    SHORT_PAUSE_MS = 50    // before a try for which there was no descriptor
};

typedef enum pair_state { BROKER_WAITS, DIALS_NOW, LINKED, FAILED } pair_state;

typedef struct pair {
    mlt_list_node link; // in its host's queue, if it waits
    uint32_t own, peer;
    uint8_t state; // pair_state
    uint8_t tries, short_tries;
} pair;

typedef struct host {
    mlt_list_node link;  // among those that have something to dial, if it has
    mlt_list_node queue; // pairs that wait
    uint8_t *card;       // NULL: not known yet
    size_t card_size;
    uint32_t dials;
    bool queued;   // in the list
    bool asked;    // for its card
    bool vain;     // a dial was given up, and it has never answered since
    bool answered; // and this is where:
    mlt_address good;
    uint64_t not_before_ns; // a pause after a dial that failed
} host;

// A dial that is under way.
typedef struct slot {
    mlt_loop_source source;
    mlt_broker *broker;
    mlt_dial *dial; // NULL: free
    pair *pair;
    mlt_greet_self self; // says which process dials
} slot;

struct mlt_broker {
    mlt_broker_conf conf;
    mlt_greet_self self;
    mlt_listen *listen;
    mlt_loop_source listen_source;
    mlt_loop_timer timer;
    mlt_address own[MLT_ADDRESSES];
    uint32_t own_count;
    mlt_table pairs;
    host *hosts;        // [hosts]
    mlt_list_node busy; // hosts that have something to dial
    bool *ended;        // [procs]
    uint32_t dials;
    slot slots[DIALS];
};

// ---- Pairs and hosts

static uint32_t broker_hash_of(uint32_t own, uint32_t peer)
{
    uint64_t both = ((uint64_t)own << 32 | peer) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(both >> 32);
}

static pair *find_pair(const mlt_broker *b, uint32_t own, uint32_t peer)
{
    uint32_t hash = broker_hash_of(own, peer);
    for (mlt_table_look look = mlt_table_look_for(&b->pairs, hash); mlt_table_next(&look);) {
        pair *p = (pair *)look.word;
        if (p->own == own && p->peer == peer)
            return p;
    }
    return NULL;
}

// The pair, which is made if there is none; *fresh: it was.
static pair *pair_of(mlt_broker *b, uint32_t own, uint32_t peer, bool *fresh)
{
    pair *p = find_pair(b, own, peer);
    *fresh = !p;
    if (p)
        return p;
    p = mlt_xcalloc(1, sizeof *p);
    p->own = own;
    p->peer = peer;
    mlt_list_init(&p->link);
    mlt_table_add(&b->pairs, broker_hash_of(own, peer), (uintptr_t)p);
    return p;
}

static host *broker_host_of(mlt_broker *b, const pair *p)
{
    return &b->hosts[b->conf.host_of[p->peer]];
}

static bool broker_is_here(const mlt_broker *b, uint32_t process)
{
    return process < b->conf.procs && b->conf.host_of[process] == b->conf.host;
}

static bool is_elsewhere(const mlt_broker *b, uint32_t process)
{
    return process < b->conf.procs && b->conf.host_of[process] != b->conf.host;
}

static bool broker_welcomes(const mlt_greet_self *self, uint32_t from, uint32_t to)
{
    const mlt_broker *b = mlt_container_of(self, mlt_broker, self);
    return broker_is_here(b, to) && is_elsewhere(b, from);
}

// Puts a host among the busy ones if something can be dialled.
static void note_busy(mlt_broker *b, host *h)
{
    if (h->queued || !h->card || mlt_list_empty(&h->queue))
        return;
    h->queued = true;
    mlt_list_push_back(&b->busy, &h->link);
}

// ---- Time

static void sooner(uint64_t *when_ns, uint64_t other_ns)
{
    if (other_ns < *when_ns)
        *when_ns = other_ns;
}

static uint32_t dials_allowed(const host *h)
{
    return h->answered ? A_HOST : 1;
}

// When something is to be done next. Time 0 is "at once", which for the timer is 1.
static void plan_next(mlt_broker *b)
{
    uint64_t when_ns = mlt_listen_poll(b->listen).deadline_ns;
    for (int i = 0; i < DIALS; i++)
        if (b->slots[i].dial)
            sooner(&when_ns, mlt_dial_poll(b->slots[i].dial).deadline_ns);
    for (mlt_list_node *at = b->busy.next; at != &b->busy && b->dials < DIALS; at = at->next) {
        const host *h = mlt_container_of(at, host, link);
        if (h->dials < dials_allowed(h))
            sooner(&when_ns, h->not_before_ns);
    }
    mlt_loop_alarm(&b->timer, when_ns == MLT_POLL_FOREVER ? 0 : when_ns ? when_ns : 1);
}

// ---- Results

static mlt_ctl_link link_of(const mlt_net_peer *peer, bool encrypts)
{
    mlt_ctl_link link = {.proc = peer->process, .encrypts = encrypts};
    _Static_assert(sizeof link.types == sizeof peer->types, "copied");
    _Static_assert(sizeof link.send_key == sizeof peer->keys.send.bytes, "copied");
    memcpy(link.types, &peer->types, sizeof link.types);
    if (encrypts) {
        memcpy(link.send_key, peer->keys.send.bytes, sizeof link.send_key);
        memcpy(link.receive_key, peer->keys.receive.bytes, sizeof link.receive_key);
    }
    return link;
}

// The other side's process learns that this one has ended, and takes it for no fault.
// If the job encrypts, the mark is the first record (wire/tcp/cipher.h) of the connection.
static void end_in_order(const mlt_broker *b, const mlt_net_peer *peer)
{
    const uint32_t head[2] = {MLT_CTL_END_MARK, 0};
    enum { MARK_AT = sizeof head + MLT_CRYPT_SEAL };
    unsigned char record[MARK_AT + MLT_CTL_END_MARK];
    size_t from = b->conf.encrypt ? 0 : MARK_AT;
    memcpy(record, head, sizeof head);
    mlt_ctl_end_mark(record + MARK_AT);
    mlt_key key = peer->keys.send;
    if (b->conf.encrypt)
        mlt_crypt_seal(record + sizeof head, record + MARK_AT, MLT_CTL_END_MARK, record,
                       sizeof head, 0, &key);
    mlt_key_wipe(&key);
    (void)mlt_os_line_write(peer->fd, record + from, sizeof record - from); // it is new: room
    mlt_os_close(peer->fd);
}

static void broker_hand_over(mlt_broker *b, pair *p, mlt_net_peer *peer)
{
    p->state = LINKED;
    if (b->ended[p->own]) {
        end_in_order(b, peer);
    } else {
        mlt_ctl_link link = link_of(peer, b->conf.encrypt);
        b->conf.link(b->conf.user, p->own, &link, peer->fd);
        explicit_bzero(&link, sizeof link);
    }
    explicit_bzero(&peer->keys, sizeof peer->keys);
}

// The end of a dial, however it went.
static void free_slot(slot *s)
{
    mlt_broker *b = s->broker;
    mlt_loop_remove(&s->source);
    mlt_dial_free(s->dial);
    s->dial = NULL;
    broker_host_of(b, s->pair)->dials--;
    b->dials--;
    note_busy(b, broker_host_of(b, s->pair));
}

static void broker_tell_failure(mlt_broker *b, const pair *p, const char *cause, const char *table)
{
    mlt_card card;
    char ignored[200];
    mlt_text text = {0};
    const host *h = broker_host_of(b, p);
    if (mlt_card_read(&card, h->card, h->card_size, ignored, sizeof ignored) != MLT_OK)
        card.name[0] = '\0';
    mlt_text_add(&text, "host %s cannot connect to host %s: %s", b->conf.name, card.name, cause);
    if (table[0])
        mlt_text_add(&text, "\n%.*s", (int)strlen(table) - 1, table);
    b->conf.failed(b->conf.user, p->own, p->peer, text.text);
    mlt_text_free(&text);
}

static void broker_give_up(mlt_broker *b, pair *p, mlt_dial_cause cause, const char *table)
{
    static const char *const words[] = {
        [MLT_DIAL_VAIN] = ("nothing answers as it should, after several tries; is there a firewall "
                           "(--port-range), or an interface that leads nowhere (--iface)?"),
        [MLT_DIAL_REFUSED] = "the two cannot talk",
        [MLT_DIAL_NO_DESCRIPTOR] = "its agent has no descriptors left; see `ulimit -n`",
    };
    p->state = FAILED;
    broker_host_of(b, p)->vain = cause == MLT_DIAL_VAIN;
    if (!b->ended[p->own])
        broker_tell_failure(b, p, words[cause], cause == MLT_DIAL_NO_DESCRIPTOR ? "" : table);
}

// True: it waits for another try.
static bool try_again(mlt_broker *b, pair *p, mlt_dial_cause cause, uint64_t now_ns)
{
    host *h = broker_host_of(b, p);
    uint64_t pause_ms = SHORT_PAUSE_MS;
    if (b->ended[p->own] || cause == MLT_DIAL_REFUSED)
        return false;
    if (cause == MLT_DIAL_NO_DESCRIPTOR) {
        if (++p->short_tries >= SHORT_TRIES)
            return false;
    } else {
        if (++p->tries >= BROKER_TRIES)
            return false;
        pause_ms = (uint64_t)BROKER_PAUSE_MS * p->tries;
    }
    p->state = BROKER_WAITS;
    h->answered = false; // all its addresses, next time
    h->not_before_ns = now_ns + pause_ms * 1000000;
    mlt_list_push_front(&h->queue, &p->link);
    note_busy(b, h);
    return true;
}

static void broker_dial_failed(mlt_broker *b, pair *p, mlt_dial_cause cause, const char *table,
                               uint64_t now_ns)
{
    if (!try_again(b, p, cause, now_ns))
        broker_give_up(b, p, cause, table);
}

// ---- Dialling

static void broker_step(slot *s, uint64_t now_ns)
{
    mlt_broker *b = s->broker;
    mlt_net_peer peer;
    pair *p = s->pair;
    mlt_status status = mlt_dial_step(s->dial, now_ns, &peer);
    if (status == MLT_PENDING)
        return;
    if (status == MLT_OK) {
        host *h = broker_host_of(b, p);
        h->answered = true;
        h->vain = false;
        h->good = peer.address;
        free_slot(s);
        broker_hand_over(b, p, &peer);
        return;
    }
    mlt_text table = {0};
    mlt_dial_cause cause = mlt_dial_why(s->dial);
    mlt_dial_tell(s->dial, &table);
    free_slot(s);
    broker_dial_failed(b, p, cause, mlt_text_so_far(&table), now_ns);
    mlt_text_free(&table);
}

// Where the host may be: where it has answered, or all that its card has.
static uint32_t addresses_of(const mlt_broker *b, const host *h, mlt_address *out, uint32_t room,
                             uint16_t *port)
{
    mlt_card card;
    char why[200];
    mlt_status status = mlt_card_read(&card, h->card, h->card_size, why, sizeof why);
    mlt_assert(status == MLT_OK); // it could be read when it was learnt
    *port = card.port;
    if (!h->answered)
        return mlt_address_likely(out, room, b->own, b->own_count, card.addresses, card.count);
    out[0] = h->good;
    return 1;
}

static slot *free_place(mlt_broker *b)
{
    for (int i = 0; i < DIALS; i++)
        if (!b->slots[i].dial)
            return &b->slots[i];
    return NULL;
}

static void dial(mlt_broker *b, host *h, pair *p, uint64_t now_ns)
{
    enum { ROOM = 2 * MLT_ADDRESSES };
    slot *s = free_place(b);
    mlt_address to[ROOM];
    char why[200];
    mlt_dial_plan plan = {.self = &s->self,
                          .wanted = p->peer,
                          .addresses = to,
                          .each_ms = MLT_DIAL_MS,
                          .gone_ms = b->conf.gone_ms};
    plan.count = addresses_of(b, h, to, ROOM, &plan.port);
    s->self = b->self;
    s->self.process = p->own;
    s->pair = p;
    if (mlt_dial_new(&s->dial, &plan, why, sizeof why) != MLT_OK) {
        broker_dial_failed(b, p, MLT_DIAL_NO_DESCRIPTOR, why, now_ns);
        return;
    }
    p->state = DIALS_NOW;
    h->dials++;
    b->dials++;
    s->source.fd = mlt_dial_poll(s->dial).fd;
    if (!mlt_loop_add(&s->source, EPOLLIN)) {
        free_slot(s);
        broker_dial_failed(b, p, MLT_DIAL_NO_DESCRIPTOR, "", now_ns);
        return;
    }
    broker_step(s, now_ns);
}

// The first pair of a host that still wants a connection.
static pair *next_pair(mlt_broker *b, host *h)
{
    MLT_LIST_DRAIN(pair, p, &h->queue, link)
        if (p->state == BROKER_WAITS && !b->ended[p->own])
            return p;
    return NULL;
}

// Begins dials of the hosts that are busy, a pair of each in turn.
static void begin_dials(mlt_broker *b, uint64_t now_ns)
{
    mlt_list_node *at = b->busy.next;
    while (at != &b->busy && b->dials < DIALS) {
        host *h = mlt_container_of(at, host, link);
        at = at->next;
        if (now_ns < h->not_before_ns || h->dials >= dials_allowed(h))
            continue;
        mlt_list_remove(&h->link);
        h->queued = false;
        pair *p = next_pair(b, h);
        if (p && h->vain)
            broker_give_up(b, p, MLT_DIAL_VAIN, "");
        else if (p)
            dial(b, h, p, now_ns);
        note_busy(b, h); // behind the others
        if (at == &b->busy)
            at = h->queued ? &h->link : at;
    }
}

// ---- Events

static void came(mlt_broker *b, mlt_net_peer *peer)
{
    bool fresh;
    pair *p = pair_of(b, peer->own, peer->process, &fresh);
    for (int i = 0; i < DIALS; i++)
        if (b->slots[i].dial && b->slots[i].pair == p)
            free_slot(&b->slots[i]);
    if (p->state == BROKER_WAITS)
        mlt_list_remove(&p->link);
    broker_hand_over(b, p, peer);
}

static void broker_accept_all(mlt_broker *b, uint64_t now_ns)
{
    mlt_net_peer peer;
    while (mlt_listen_step(b->listen, now_ns, &peer) == MLT_OK)
        came(b, &peer);
}

static void broker_listen_ready(mlt_loop_source *source, uint32_t events)
{
    mlt_broker *b = mlt_container_of(source, mlt_broker, listen_source);
    uint64_t now_ns = mlt_os_now_ns();
    broker_accept_all(b, now_ns);
    begin_dials(b, now_ns);
    plan_next(b);
}

static void broker_dial_ready(mlt_loop_source *source, uint32_t events)
{
    slot *s = mlt_container_of(source, slot, source);
    uint64_t now_ns = mlt_os_now_ns();
    broker_step(s, now_ns);
    begin_dials(s->broker, now_ns);
    plan_next(s->broker);
}

static void broker_rings(mlt_loop_timer *timer)
{
    mlt_broker *b = mlt_container_of(timer, mlt_broker, timer);
    uint64_t now_ns = mlt_os_now_ns();
    broker_accept_all(b, now_ns);
    for (int i = 0; i < DIALS; i++)
        if (b->slots[i].dial && mlt_dial_poll(b->slots[i].dial).deadline_ns <= now_ns)
            broker_step(&b->slots[i], now_ns);
    begin_dials(b, now_ns);
    plan_next(b);
}

// ---- Calls

static void ask_for_card(mlt_broker *b, host *h)
{
    if (h->card || h->asked || !b->conf.card_wanted)
        return;
    h->asked = true;
    b->conf.card_wanted(b->conf.user, (uint32_t)(h - b->hosts));
}

mlt_status mlt_broker_want(mlt_broker *b, uint32_t process, uint32_t peer)
{
    bool fresh;
    if (!broker_is_here(b, process) || !is_elsewhere(b, peer))
        return MLT_ERR_INVALID;
    pair *p = pair_of(b, process, peer, &fresh);
    if (!fresh)
        return MLT_OK;
    host *h = broker_host_of(b, p);
    mlt_list_push_back(&h->queue, &p->link);
    note_busy(b, h);
    plan_next(b);
    ask_for_card(b, h);
    return MLT_OK;
}

bool mlt_broker_failed(const mlt_broker *b, uint32_t process, uint32_t peer)
{
    const pair *p = find_pair(b, process, peer);
    return p && p->state == FAILED;
}

mlt_status mlt_broker_learn(mlt_broker *b, uint32_t number, const void *bytes, size_t size,
                            char *why, size_t why_size)
{
    mlt_card card;
    if (number >= b->conf.hosts)
        return mlt_fail(MLT_ERR_INVALID, why, why_size, "there is no host %u", number);
    mlt_status status = mlt_card_read(&card, bytes, size, why, why_size);
    if (status != MLT_OK)
        return status;
    host *h = &b->hosts[number];
    free(h->card);
    h->card = mlt_xcalloc(size, 1);
    memcpy(h->card, bytes, size);
    h->card_size = size;
    h->answered = h->vain = false;
    note_busy(b, h);
    plan_next(b);
    return MLT_OK;
}

void mlt_broker_ended(mlt_broker *b, uint32_t process)
{
    if (!broker_is_here(b, process))
        return;
    b->ended[process] = true;
    for (int i = 0; i < DIALS; i++)
        if (b->slots[i].dial && b->slots[i].pair->own == process)
            free_slot(&b->slots[i]);
    plan_next(b);
}

size_t mlt_broker_card(const mlt_broker *b, uint8_t out[MLT_CARD_BYTES])
{
    mlt_card card = {.port = mlt_listen_port(b->listen), .count = b->own_count};
    snprintf(card.name, sizeof card.name, "%s", b->conf.name);
    memcpy(card.addresses, b->own, b->own_count * sizeof *b->own);
    return mlt_card_write(out, &card);
}

// ---- Making

static mlt_status open_listener(mlt_broker *b, char *why, size_t why_size)
{
    bool chosen = b->conf.iface.count > 0;
    mlt_status status =
        mlt_iface_addresses(b->own, &b->own_count, &b->conf.iface, false, why, why_size);
    mlt_listen_plan plan = {.self = &b->self,
                            .ports = b->conf.ports,
                            .addresses = chosen ? b->own : NULL,
                            .address_count = chosen ? b->own_count : 0,
                            .strangers = MLT_LISTEN_STRANGERS,
                            .greet_ms = MLT_LISTEN_GREET_MS,
                            .gone_ms = b->conf.gone_ms};
    if (status == MLT_OK)
        status = mlt_listen_new(&b->listen, &plan, why, why_size);
    return status;
}

static mlt_status open_all(mlt_broker *b, char *why, size_t why_size)
{
    mlt_status status = mlt_crypt_load(why, why_size);
    if (status == MLT_OK)
        status = open_listener(b, why, why_size);
    if (status != MLT_OK)
        return status;
    b->listen_source =
        (mlt_loop_source){.fd = mlt_listen_poll(b->listen).fd, .ready = broker_listen_ready};
    if (mlt_loop_add(&b->listen_source, EPOLLIN))
        return MLT_OK;
    return mlt_fail(MLT_ERR_SYSTEM, why, why_size, "no more descriptors: %s",
                    mlt_os_no_descriptor(errno));
}

static void init_tables(mlt_broker *b, const mlt_broker_conf *conf)
{
    uint32_t *host_of_each = mlt_xcalloc(conf->procs, sizeof *host_of_each);
    memcpy(host_of_each, conf->host_of, conf->procs * sizeof *host_of_each);
    b->conf = *conf;
    b->conf.host_of = host_of_each;
    b->conf.name = mlt_text_of("%s", conf->name);
    b->self = mlt_greet_self_of(conf->key, conf->job, 0, conf->encrypt);
    b->self.welcomes = broker_welcomes;
    b->hosts = mlt_xcalloc(conf->hosts, sizeof *b->hosts);
    b->ended = mlt_xcalloc(conf->procs, sizeof *b->ended);
    mlt_list_init(&b->busy);
    for (uint32_t i = 0; i < conf->hosts; i++)
        mlt_list_init(&b->hosts[i].queue);
    for (int i = 0; i < DIALS; i++)
        b->slots[i] = (slot){.broker = b, .source = {.fd = -1, .ready = broker_dial_ready}};
}

mlt_status mlt_broker_new(mlt_broker **out, const mlt_broker_conf *conf, char *why, size_t why_size)
{
    mlt_broker *b = mlt_xcalloc(1, sizeof *b);
    *out = NULL;
    init_tables(b, conf);
    b->timer.ring = broker_rings;
    mlt_status status = open_all(b, why, why_size);
    if (status != MLT_OK)
        mlt_broker_free(b);
    else
        *out = b;
    return status;
}

static void free_pairs(mlt_broker *b)
{
    for (size_t i = 0; i < b->pairs.size; i++)
        if (b->pairs.slots[i].used)
            free((pair *)b->pairs.slots[i].word);
    mlt_table_free(&b->pairs);
}

void mlt_broker_free(mlt_broker *b)
{
    if (!b)
        return;
    for (int i = 0; i < DIALS; i++)
        if (b->slots[i].dial)
            free_slot(&b->slots[i]);
    mlt_loop_remove(&b->listen_source);
    mlt_loop_alarm(&b->timer, 0);
    mlt_listen_free(b->listen);
    free_pairs(b);
    for (uint32_t i = 0; i < b->conf.hosts; i++)
        free(b->hosts[i].card);
    free(b->hosts);
    free(b->ended);
    free((void *)b->conf.host_of);
    free((void *)b->conf.name);
    mlt_loop_free(b);
}
