// SPDX-License-Identifier: BSD-3-Clause
#include "csp/net/port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/export.h"
#include "base/memory.h"
#include "csp/intercept.h"
#include "csp/names/names.h"
#include "csp/net/question.h"
#include "csp/net/remote.h"
#include "fiber/await.h"

enum {
    LOOK = MLT_PACKET_PORT,
    LOOK_OFF,
    FOUND,
    PORT_MESSAGE,
    ROOM,
    WANT,
    LEAVE,
    CLOSED,
    FIRST,
    PART,
    PORT_OFF
};
enum { LEAST_CHARGE = 64, GIVE_BACK = 4 }; // a quarter of the room at a time
enum { LEAST_PIECE = 4096 };

typedef struct message {
    mlt_list_node node;
    mlt_csp_port_sender *sender;
    int32_t from;
    uint64_t bytes, charge;
    unsigned char data[];
} message;

// A process that receives.
typedef struct receiver {
    mlt_alt_lone lone;
    size_t size, bytes;
    int32_t from;
} receiver;

// A process that waits for room.
typedef struct sending {
    mlt_list_node node; // in stream->waiting
    const csp_target *target;
    mlt_fiber *fiber;
    uint64_t charge;
    bool ready; // its charge is counted as used
    bool piecewise;
} sending;

// A look for a port that is not there yet.
typedef struct port_ask {
    mlt_list_node node;
    mlt_route_user user;
    mlt_route *route;
    int32_t question, rank;
    char name[];
} port_ask;

typedef struct port_found {
    uint64_t room;
    uint32_t number;
} port_found;

static inline uint64_t charge_of(uint64_t bytes, uint64_t room)
{
    uint64_t charge = bytes < LEAST_CHARGE ? LEAST_CHARGE : bytes;
    return charge < room ? charge : room;
}

const char *mlt_csp_port_name(const csp_port *port, char *text, size_t size)
{
    return mlt_csp_name(port->name, "port", port->id, text, size);
}

void mlt_csp_port_check(const mlt_csp *csp, const csp_port *port, const char *call)
{
    if (!port)
        mlt_csp_fault(call, "the port is NULL");
    if (port->magic != MLT_PORT_MAGIC)
        mlt_csp_fault(call, "this is no port, or it was freed");
    if (port->csp != csp)
        mlt_csp_fault(call, "the port belongs to another worker");
}

// ---- the port: room goes back

static void give_back(mlt_csp_port_sender *sender)
{
    mlt_packet packet = {.kind = ROOM, .object = sender->stream};
    uint64_t bytes = sender->untold;
    sender->untold = 0;
    sender->wants = false;
    mlt_route_send(sender->route, &packet, &bytes, sizeof bytes);
}

static void free_sender(mlt_csp_port_sender *sender)
{
    if (sender->port->last == sender)
        sender->port->last = NULL;
    (void)mlt_table_remove(&sender->port->by_stream, sender->hash, (uintptr_t)sender);
    mlt_list_remove(&sender->node);
    free(sender->arriving);
    free(sender);
}

// It sends no more: forgotten when its last message is taken.
static void sender_leaves(mlt_csp_port_sender *sender)
{
    if (sender->port->last == sender)
        sender->port->last = NULL;
    sender->route = NULL;
    free(sender->arriving);
    sender->arriving = NULL;
    if (sender->queued == 0)
        free_sender(sender);
}

// A message has left the queue (or was never in it). A sender on this worker hears of it at once,
// and may leave: use it no more.
static inline void taken(mlt_csp_port_sender *sender, uint64_t charge)
{
    uint64_t room = sender->port->room;
    sender->untold += charge;
    if (MLT_UNLIKELY(sender->untold >= room / GIVE_BACK || sender->wants) && sender->route &&
        (sender->untold >= room / GIVE_BACK || sender->queued == 0))
        give_back(sender);
}

// ---- the port: messages meet those who wait

// The memory and the results of whoever made the offer.
static inline receiver *receiver_of(mlt_offer *offer)
{
    return mlt_container_of(offer, receiver, lone.offer);
}

static size_t room_of(mlt_offer *offer)
{
    return offer->alt->guards ? offer->alt->guards[offer->index].size : receiver_of(offer)->size;
}

static void note_message(mlt_offer *offer, size_t bytes, int32_t from)
{
    if (offer->alt->guards) {
        offer->alt->guards[offer->index].size = bytes;
    } else {
        receiver_of(offer)->bytes = bytes;
        receiver_of(offer)->from = from;
    }
}

static mlt_offer *first_open(csp_port *port)
{
    MLT_LIST_EACH(mlt_offer, offer, &port->offers, node)
        if (mlt_alt_is_open(offer->alt))
            return offer;
    return NULL;
}

static void port_settle(csp_port *port, mlt_offer *offer, csp_status status)
{
    if (offer->node.next)
        mlt_list_remove(&offer->node);
    mlt_alt_settle(port->csp, offer->alt, offer->index, status);
}

static void unqueue(csp_port *port, message *m)
{
    mlt_csp_port_sender *sender = m->sender;
    mlt_list_remove(&m->node);
    port->held -= m->bytes;
    sender->queued--;
    uint64_t charge = m->charge;
    free(m);
    if (MLT_LIKELY(sender->route != NULL))
        taken(sender, charge);
    else if (sender->queued == 0)
        free_sender(sender);
}

// Gives the first message to an open offer. False: there is none.
bool mlt_csp_port_try(csp_port *port, mlt_offer *offer)
{
    if (mlt_list_empty(&port->messages))
        return false;
    message *m = mlt_container_of(port->messages.next, message, node);
    bool fits = m->bytes <= room_of(offer);
    note_message(offer, m->bytes, m->from);
    if (fits) {
        if (m->bytes)
            memcpy(offer->value, m->data, m->bytes);
        unqueue(port, m);
    }
    port_settle(port, offer, fits ? CSP_OK : CSP_TOO_LONG);
    return true;
}

__attribute__((noinline)) void mlt_csp_port_wait(csp_port *port, mlt_offer *offer)
{
    mlt_list_push_back(&port->offers, &offer->node);
}

static void sender_lost(mlt_route_user *user, mlt_route *route)
{
    sender_leaves(mlt_container_of(user, mlt_csp_port_sender, user));
}

static uint32_t port_hash_of(const mlt_route *route, uint32_t number, int32_t rank)
{
    uint64_t hash = mlt_hash_mix((uintptr_t)route, (uint64_t)number << 32 | (uint32_t)rank);
    return (uint32_t)hash;
}

static mlt_csp_port_sender *find_sender(csp_port *port, const mlt_route *route, uint32_t stream)
{
    mlt_table_look look = mlt_table_look_for(&port->by_stream, port_hash_of(route, stream, 0));
    while (mlt_table_next(&look)) {
        mlt_csp_port_sender *s = (mlt_csp_port_sender *)look.word;
        if (s->route == route && s->stream == stream)
            return s;
    }
    return NULL;
}

static MLT_COLD mlt_csp_port_sender *sender_of(csp_port *port, mlt_route *route, uint32_t stream)
{
    mlt_csp_port_sender *s = find_sender(port, route, stream);
    if (!s) {
        s = mlt_xcalloc(1, sizeof *s);
        *s = (mlt_csp_port_sender){.user = {.lost = sender_lost},
                                   .port = port,
                                   .route = route,
                                   .stream = stream,
                                   .hash = port_hash_of(route, stream, 0),
                                   .rank = -1};
        mlt_table_add(&port->by_stream, s->hash, (uintptr_t)s);
        mlt_list_push_back(&route->users, &s->user.node);
        mlt_list_push_back(&port->senders, &s->node);
    }
    port->last = s;
    return s;
}

// NULL: there is no memory for it.
static message *try_message(uint64_t bytes)
{
    message *m = bytes < SIZE_MAX - sizeof *m ? malloc(sizeof *m + bytes) : NULL;
    if (m)
        m->bytes = bytes;
    return m;
}

static message *new_message(uint64_t bytes)
{
    message *m = try_message(bytes);
    if (!m)
        mlt_no_room("a message of %llu bytes", (unsigned long long)bytes);
    return m;
}

static void queue_message(csp_port *port, mlt_csp_port_sender *sender, message *m)
{
    mlt_list_push_back(&port->messages, &m->node);
    sender->queued++;
    port->held += m->bytes;
    if (port->held > port->held_most)
        port->held_most = port->held;
    // A receiver whose buffer is too small is told so, and the message stays for the next one.
    for (mlt_offer *offer; !mlt_list_empty(&port->messages) && (offer = first_open(port));)
        (void)mlt_csp_port_try(port, offer);
}

static MLT_COLD void queue_copy(csp_port *port, mlt_csp_port_sender *sender, int32_t from,
                                const void *data, uint64_t bytes)
{
    message *m = new_message(bytes);
    m->sender = sender;
    m->from = from;
    m->charge = charge_of(bytes, port->room);
    if (bytes)
        memcpy(m->data, data, bytes);
    queue_message(port, sender, m);
}

static void say_closed(mlt_route *route, uint32_t stream)
{
    mlt_route_send(route, &(mlt_packet){.kind = CLOSED, .object = stream}, NULL, 0);
}

// Whoever sent the packet; `makes`: also if it is the first one, and if the port is gone they hear it.
// NULL: there is no such port, or no such sender.
static mlt_csp_port_sender *sender_at(mlt_route *route, const mlt_packet *packet, bool makes)
{
    csp_port *port = mlt_remote_find(route->csp, packet->object, MLT_OBJECT_PORT);
    uint32_t stream = (uint32_t)packet->word;
    if (!port && makes)
        say_closed(route, stream);
    if (!port)
        return NULL;
    return makes ? sender_of(port, route, stream) : find_sender(port, route, stream);
}

// The node that sent it; one of another program is none here.
static inline int32_t node_of(const mlt_route *route, const mlt_packet *packet)
{
    return route->worker == UINT32_MAX ? -1 : packet->src;
}

static void message_came(mlt_route *route, const mlt_packet *packet, const void *data,
                         uint64_t bytes)
{
    csp_port *port = mlt_remote_find(route->csp, packet->object, MLT_OBJECT_PORT);
    uint32_t stream = (uint32_t)packet->word;
    if (MLT_UNLIKELY(!port)) {
        say_closed(route, stream);
        return;
    }
    int32_t from = node_of(route, packet);
    mlt_csp_port_sender *sender = port->last;
    if (MLT_UNLIKELY(!sender || sender->route != route || sender->stream != stream))
        sender = sender_of(port, route, stream);
    sender->rank = from;
    mlt_offer *offer = mlt_list_empty(&port->messages) ? first_open(port) : NULL;
    if (MLT_UNLIKELY(!offer || bytes > room_of(offer))) {
        queue_copy(port, sender, from, data, bytes);
        return;
    }
    if (bytes == 8)
        memcpy(offer->value, data, 8);
    else if (bytes)
        memcpy(offer->value, data, bytes);
    note_message(offer, bytes, from);
    taken(sender, charge_of(bytes, port->room));
    port_settle(port, offer, CSP_OK);
}

// ---- long messages come in pieces

static void first_came(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    mlt_csp_port_sender *sender = sender_at(route, packet, true);
    uint64_t total;
    if (!sender)
        return;
    if (bytes != sizeof total || sender->arriving) {
        mlt_route_lose(route, "it sent a message in pieces that do not fit");
        return;
    }
    memcpy(&total, data, sizeof total);
    // What another program announces must not end this one.
    bool foreign = route->worker == UINT32_MAX;
    sender->arriving = foreign ? try_message(total) : new_message(total);
    if (!sender->arriving) {
        mlt_route_lose(route, "it announced a message for which there is no memory");
        return;
    }
    sender->arriving->sender = sender;
    sender->arriving->from = node_of(route, packet);
    sender->arriving->charge = sender->port->room;
    sender->arrived = 0;
}

// dst is 1 for the last one, which has the charge of the whole.
static void part_came(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    mlt_csp_port_sender *sender = sender_at(route, packet, false);
    message *m = sender ? sender->arriving : NULL;
    if (!m)
        return; // the port is gone: they have been told
    uint64_t missing = m->bytes - sender->arrived;
    if (bytes > missing || (packet->dst && bytes < missing)) {
        mlt_route_lose(route, "it sent a message in pieces that do not fit");
        return;
    }
    if (bytes)
        memcpy(m->data + sender->arrived, data, bytes);
    sender->arrived += bytes;
    if (!packet->dst) {
        taken(sender, charge_of(bytes, sender->port->room));
        return;
    }
    sender->arriving = NULL;
    queue_message(sender->port, sender, m);
}

static void off_came(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    mlt_csp_port_sender *sender = sender_at(route, packet, false);
    if (!sender)
        return;
    free(sender->arriving);
    sender->arriving = NULL;
}

// ---- looking for ports

static void say_found(mlt_route *route, int32_t question, const csp_port *port)
{
    mlt_packet packet = {.kind = FOUND, .word = question, .object = port ? CSP_OK : CSP_NO_NAME};
    port_found answer = {.room = port ? port->room : 0, .number = port ? port->number : 0};
    mlt_route_send(route, &packet, &answer, sizeof answer);
}

static void ask_lost(mlt_route_user *user, mlt_route *route)
{
    port_ask *ask = mlt_container_of(user, port_ask, user);
    mlt_list_remove(&ask->node);
    free(ask);
}

static csp_port *port_named(mlt_csp *csp, int32_t node, const char *name)
{
    MLT_LIST_EACH(csp_port, port, &csp->ports, all)
        if (port->node == node && name[0] && strcmp(port->name, name) == 0)
            return port;
    return NULL;
}

// object: the port's number, or 0: by its name, at node dst. src is 1 if the answer is wanted now.
static void look_came(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    mlt_csp *csp = route->csp;
    const char *name = data;
    if (bytes == 0 || name[bytes - 1] != 0)
        name = "";
    csp_port *port = packet->object ? mlt_remote_find(csp, packet->object, MLT_OBJECT_PORT)
                                    : port_named(csp, packet->dst, name);
    if (port || packet->object || packet->src) {
        say_found(route, packet->word, port);
        return;
    }
    port_ask *ask = mlt_xcalloc(1, sizeof *ask + bytes + 1);
    ask->user.lost = ask_lost;
    ask->route = route;
    ask->question = packet->word;
    ask->rank = packet->dst;
    memcpy(ask->name, name, strlen(name));
    mlt_list_push_back(&csp->net->port_asks, &ask->node);
    mlt_list_push_back(&route->users, &ask->user.node);
}

static void look_over(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    MLT_LIST_EACH(port_ask, ask, &route->csp->net->port_asks, node) {
        if (ask->route == route && ask->question == packet->word) {
            mlt_list_remove(&ask->user.node);
            ask_lost(&ask->user, route);
            return;
        }
    }
}

static void answer_asks(csp_port *port)
{
    MLT_LIST_EACH_SAFE(port_ask, ask, &port->csp->net->port_asks, node) {
        if (ask->rank != port->node || strcmp(ask->name, port->name) != 0)
            continue;
        say_found(ask->route, ask->question, port);
        mlt_list_remove(&ask->user.node);
        ask_lost(&ask->user, ask->route);
    }
}

// ---- making and freeing a port

// Others find a port by its name, so a node has one of each.
static bool may_be_named(mlt_csp *csp, const char *name)
{
    if (!mlt_remote_name_fits(csp, name, "csp_port_new"))
        return false;
    if (!port_named(csp, mlt_csp_rank()->world, name))
        return true;
    return mlt_csp_why(csp, "csp_port_new: node %d has a port '%s' already", mlt_csp_rank()->world,
                       name);
}

MLT_EXPORT csp_port *csp_port_new(const char *name, size_t room)
{
    mlt_csp *csp = mlt_csp_enter("csp_port_new");
    (void)mlt_remote_of(csp);
    if (name && name[0] && !may_be_named(csp, name))
        return NULL;
    csp_port *port = mlt_xcalloc(1, sizeof *port);
    port->magic = MLT_PORT_MAGIC;
    port->csp = csp;
    port->room = room ? room : MLT_PORT_ROOM;
    port->node = mlt_csp_rank()->world;
    port->id = ++csp->numbers;
    mlt_list_init(&port->messages);
    mlt_list_init(&port->offers);
    mlt_list_init(&port->senders);
    mlt_list_push_back(&csp->ports, &port->all);
    port->number = mlt_remote_add(csp, port, MLT_OBJECT_PORT);
    if (name) {
        snprintf(port->name, sizeof port->name, "%s", name);
        answer_asks(port);
    }
    char text[300];
    port->wrapped =
        mlt_csp_has_interceptor(MLT_INTERCEPT_CSP_PORT, mlt_csp_port_name(port, text, sizeof text));
    return port;
}

static void free_port(csp_port *port)
{
    mlt_remote_drop(port->csp, port->number);
    MLT_LIST_DRAIN(message, m, &port->messages, node)
        free(m);
    MLT_LIST_DRAIN(mlt_csp_port_sender, s, &port->senders, node) {
        if (s->route) {
            mlt_list_remove(&s->user.node);
            say_closed(s->route, s->stream);
        }
        free(s->arriving);
        free(s);
    }
    mlt_table_free(&port->by_stream);
    mlt_list_remove(&port->all);
    port->magic = 0;
    mlt_csp_bury(port->csp, port);
}

MLT_EXPORT void csp_port_free(csp_port *port)
{
    if (!port)
        return;
    mlt_csp *csp = mlt_csp_enter("csp_port_free");
    char name[300];
    mlt_csp_port_check(csp, port, "csp_port_free");
    MLT_LIST_EACH(mlt_offer, offer, &port->offers, node)
        if (offer->alt->chosen == MLT_ALT_OPEN)
            mlt_csp_fault("csp_port_free", "a process waits at %s",
                          mlt_csp_port_name(port, name, sizeof name));
    while (mlt_list_pop_front(&port->offers)) { // of settled alternations
    }
    if (port->named)
        mlt_remote_forget_names(csp, port->number);
    free_port(port);
}

// ---- receiving

static MLT_COLD void receive_late(mlt_timer *timer)
{
    mlt_alt *alt = mlt_container_of(timer, mlt_alt, timer);
    if (alt->chosen != MLT_ALT_OPEN)
        return;
    mlt_list_remove(&alt->offers->node);
    mlt_alt_settle(mlt_csp_self, alt, 0, CSP_LATE);
}

static csp_status receive(mlt_csp *csp, csp_port *port, void *buffer, size_t size, size_t *bytes,
                          int *from, csp_time deadline)
{
    receiver me;
    mlt_alt_lone_begin(&me.lone, csp, buffer);
    me.lone.offer.node = (mlt_list_node){0};
    me.size = size;
    me.from = -1;
    me.bytes = 0;
    if (!mlt_csp_port_try(port, &me.lone.offer)) {
        mlt_csp_port_wait(port, &me.lone.offer);
        const mlt_wait *wait =
            mlt_csp_wait_for(&me.lone.alt.wait, "csp_receive", MLT_CSP_RECEIVE, port, 0);
        (void)mlt_alt_lone_wait(&me.lone, csp, wait, deadline, receive_late);
    }
    if (bytes)
        *bytes = me.bytes;
    if (from)
        *from = me.from;
    return me.lone.alt.status;
}

// Along the wrappers of its way. What is counted is what came.
static MLT_COLD csp_status receive_along(mlt_csp *csp, csp_port *port, void *buffer, size_t size,
                                         size_t *bytes, int *from, csp_time deadline)
{
    char name[300];
    size_t came = 0;
    mlt_csp_walk walk;
    const mlt_intercept_event event = {.call = "csp_receive", .peer = -1, .tag = -1, .bytes = size};
    mlt_csp_intercept_begin(csp, &walk, MLT_INTERCEPT_CSP_PORT,
                            mlt_csp_port_name(port, name, sizeof name), 0, event);
    mlt_csp_port_check(csp, port, "csp_receive"); // it may have been freed meanwhile
    csp_status status = receive(csp, port, buffer, size, &came, from, deadline);
    if (status == CSP_OK)
        mlt_csp_intercept_end(&walk, came);
    if (bytes)
        *bytes = came;
    return status;
}

MLT_EXPORT csp_status csp_receive_by(csp_port *port, void *buffer, size_t size, size_t *bytes,
                                     int *from, csp_time deadline)
{
    mlt_csp *csp = mlt_csp_enter("csp_receive");
    mlt_csp_port_check(csp, port, "csp_receive");
    return MLT_UNLIKELY(port->wrapped)
               ? receive_along(csp, port, buffer, size, bytes, from, deadline)
               : receive(csp, port, buffer, size, bytes, from, deadline);
}

MLT_EXPORT csp_status csp_receive(csp_port *port, void *buffer, size_t size, size_t *bytes,
                                  int *from)
{
    return csp_receive_by(port, buffer, size, bytes, from, CSP_NEVER);
}

// ---- streams

static void free_stream(mlt_csp *csp, mlt_csp_stream *stream)
{
    mlt_remote_drop(csp, stream->number);
    (void)mlt_table_remove(&csp->net->by_port, stream->hash, (uintptr_t)stream);
    mlt_list_remove(&stream->user.node);
    mlt_list_remove(&stream->node);
    free(stream);
}

// What ended it first is what is told: a port that is closed does not get lost with its program.
static void stream_ends(mlt_csp_stream *stream, csp_status status)
{
    if (stream->status != CSP_OK)
        return;
    stream->status = status;
    MLT_LIST_DRAIN(sending, s, &stream->waiting, node)
        mlt_fiber_wake(stream->route->csp->sched, s->fiber);
    if (stream->targets == 0)
        free_stream(stream->route->csp, stream);
}

static void stream_lost(mlt_route_user *user, mlt_route *route)
{
    stream_ends(mlt_container_of(user, mlt_csp_stream, user), mlt_route_loss(route));
}

static inline bool has_room(const mlt_csp_stream *stream, uint64_t charge)
{
    return stream->used + charge <= stream->room || stream->used == 0;
}

// To the port, of the stream.
static inline mlt_packet stream_packet(const mlt_csp_stream *stream, uint16_t kind)
{
    return (mlt_packet){.kind = kind,
                        .object = stream->port,
                        .word = (int32_t)stream->number,
                        .src = mlt_csp_rank()->world,
                        .dst = stream->port_rank};
}

static void want_room(mlt_csp_stream *stream)
{
    if (stream->wants)
        return;
    stream->wants = true;
    mlt_packet packet = stream_packet(stream, WANT);
    mlt_route_send(stream->route, &packet, NULL, 0);
}

// Lets those go on who have room now, in order.
static void port_let_go(mlt_csp_stream *stream)
{
    for (sending *s; (s = MLT_LIST_FIRST(&stream->waiting, sending, node));) {
        if (s->piecewise && stream->piecewise && stream->piecewise != s)
            return; // one long message at a time
        if (!has_room(stream, s->charge)) {
            want_room(stream);
            return;
        }
        if (s->piecewise)
            stream->piecewise = s;
        stream->used += s->charge;
        s->ready = true;
        mlt_list_remove(&s->node);
        mlt_fiber_wake(stream->route->csp->sched, s->fiber);
    }
}

// Nobody has a target of it. It stays until all that it sent was taken: the next target goes on
// with what is left of its room, else new targets would always find room. May free it.
static void stream_rests(mlt_csp_stream *stream)
{
    if (stream->used > 0 && stream->status == CSP_OK) {
        want_room(stream);
        return;
    }
    mlt_packet packet = stream_packet(stream, LEAVE);
    mlt_route_send(stream->route, &packet, NULL, 0);
    free_stream(stream->route->csp, stream);
}

static void room_came(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    mlt_csp_stream *stream = mlt_remote_find(route->csp, packet->object, MLT_OBJECT_STREAM);
    uint64_t back;
    if (!stream || bytes != sizeof back)
        return;
    memcpy(&back, data, sizeof back);
    stream->used -= back < stream->used ? back : stream->used;
    stream->wants = false;
    port_let_go(stream);
    if (stream->targets == 0)
        stream_rests(stream);
}

// The sender waits for room: it gets what there is when the queue has nothing of it any more.
static void want_came(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    mlt_csp_port_sender *sender = sender_at(route, packet, true);
    if (!sender)
        return;
    sender->wants = true;
    if (sender->untold && sender->queued == 0)
        give_back(sender);
}

static void leave_came(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    mlt_csp_port_sender *sender = sender_at(route, packet, false);
    if (!sender)
        return;
    mlt_list_remove(&sender->user.node);
    sender_leaves(sender);
}

static void found_came(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    (void)mlt_question_answer(route->csp, (uint32_t)packet->word, (csp_status)packet->object, data,
                              bytes);
}

static void closed_came(mlt_route *route, const mlt_packet *packet, const void *data,
                        uint64_t bytes)
{
    mlt_csp_stream *stream = mlt_remote_find(route->csp, packet->object, MLT_OBJECT_STREAM);
    if (stream)
        stream_ends(stream, CSP_RETIRED);
}

void mlt_port_packet(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    static mlt_route_handler *const handlers[] = {look_came,  look_over, found_came, message_came,
                                                  room_came,  want_came, leave_came, closed_came,
                                                  first_came, part_came, off_came}; // as the kinds
    uint32_t kind = packet->kind - MLT_PACKET_PORT;
    if (MLT_LIKELY(kind < sizeof handlers / sizeof *handlers))
        handlers[kind](route, packet, data, bytes);
    else
        mlt_route_lose(route, "it sent a packet that nobody understands");
}

// ---- targets

static mlt_csp_stream *stream_to(mlt_csp *csp, mlt_route *route, const port_found *port,
                                 int32_t node)
{
    int32_t rank = mlt_csp_rank()->world;
    mlt_table *table = &csp->net->by_port;
    mlt_table_look look = mlt_table_look_for(table, port_hash_of(route, port->number, rank));
    while (mlt_table_next(&look)) {
        mlt_csp_stream *s = (mlt_csp_stream *)look.word;
        if (s->route == route && s->port == port->number && s->rank == rank &&
            s->status == CSP_OK) {
            s->targets++;
            return s;
        }
    }
    mlt_csp_stream *s = mlt_xcalloc(1, sizeof *s);
    *s = (mlt_csp_stream){.user = {.lost = stream_lost},
                          .hash = look.hash,
                          .rank = rank,
                          .route = route,
                          .port = port->number,
                          .targets = 1,
                          .status = route->lost ? mlt_route_loss(route) : CSP_OK,
                          .port_rank = node,
                          .room = port->room};
    mlt_list_init(&s->waiting);
    mlt_list_push_back(&route->users, &s->user.node);
    mlt_list_push_back(&csp->net->streams, &s->node);
    mlt_table_add(table, s->hash, (uintptr_t)s);
    s->number = mlt_remote_add(csp, s, MLT_OBJECT_STREAM);
    return s;
}

static csp_status target_new(mlt_csp *csp, mlt_route *route, uint32_t number, int32_t node,
                             const char *name, csp_time deadline, const char *call,
                             csp_target **target)
{
    port_found port = {0};
    bool at_once = deadline == CSP_AT_ONCE;
    mlt_packet packet = {.kind = LOOK, .object = number, .src = at_once, .dst = node};
    mlt_question question = {.answer = &port, .size = sizeof port, .call = call};
    csp_status status = mlt_question_ask(&question, route, &packet, name, strlen(name) + 1,
                                         MLT_CSP_NAME, name, at_once ? CSP_NEVER : deadline);
    if (status == CSP_LATE) {
        packet.kind = LOOK_OFF;
        mlt_route_send(route, &packet, NULL, 0);
    }
    *target = NULL;
    if (status != CSP_OK)
        return status;
    csp_target *t = mlt_xcalloc(1, sizeof *t);
    t->magic = MLT_TARGET_MAGIC;
    t->csp = csp;
    t->stream = stream_to(csp, route, &port, node);
    snprintf(t->name, sizeof t->name, "%s", name);
    t->wrapped = mlt_csp_has_interceptor(MLT_INTERCEPT_CSP_PORT, name);
    *target = t;
    return CSP_OK;
}

MLT_EXPORT csp_status csp_target_at(int node, const char *port, csp_target **target,
                                    csp_time deadline)
{
    mlt_csp *csp = mlt_csp_enter("csp_target_at");
    if (node < 0 || (uint32_t)node >= csp->worker->world_size)
        mlt_csp_fault("csp_target_at", "there is no node %d: the job has %u", node,
                      csp->worker->world_size);
    *target = NULL;
    if (!mlt_remote_name_fits(csp, port, "csp_target_at"))
        return CSP_NO_NAME;
    mlt_route *route = mlt_route_to_worker(csp, mlt_worker_of_rank(csp->worker, node));
    csp_status status = target_new(csp, route, 0, node, port, deadline, "csp_target_at", target);
    if (status == CSP_NO_NAME)
        mlt_csp_why(csp, "node %d has no port '%s'", node, port);
    else if (status == CSP_LATE)
        mlt_csp_why(csp, "node %d had no port '%s' in time", node, port);
    return status;
}

MLT_EXPORT csp_status csp_find_port(const char *name, csp_target **target, csp_time deadline)
{
    mlt_csp *csp = mlt_csp_enter("csp_find_port");
    mlt_name found_name;
    *target = NULL;
    csp_status status =
        mlt_remote_find_name(csp, name, MLT_OBJECT_PORT, &found_name, deadline, "csp_find_port");
    if (status != CSP_OK)
        return status;
    mlt_route *route = mlt_route_to(csp, &found_name.at, deadline, &status);
    if (!route)
        return status;
    status = target_new(csp, route, found_name.object, found_name.node, name, deadline,
                        "csp_find_port", target);
    if (status == CSP_LATE)
        mlt_csp_why(csp, "the program that has the port '%s' has not answered", name);
    if (status == CSP_NO_NAME) { // it was freed meanwhile
        mlt_csp_why(csp, "the port '%s' is gone", name);
        status = CSP_RETIRED;
    }
    return status;
}

MLT_EXPORT csp_status csp_register_port(const char *name, csp_port *port)
{
    mlt_csp *csp = mlt_csp_enter("csp_register_port");
    mlt_csp_port_check(csp, port, "csp_register_port");
    csp_status status =
        mlt_remote_put_name(csp, name, MLT_OBJECT_PORT, port->number, 0, "csp_register_port");
    if (status == CSP_OK)
        port->named = true;
    return status;
}

MLT_EXPORT void csp_target_free(csp_target *target)
{
    if (!target)
        return;
    mlt_csp *csp = mlt_csp_enter("csp_target_free");
    mlt_csp_stream *stream = target->stream;
    if (target->magic != MLT_TARGET_MAGIC || target->csp != csp)
        mlt_csp_fault("csp_target_free", "this is no target of this worker, or it was freed");
    MLT_LIST_EACH(sending, s, &stream->waiting, node)
        if (s->target == target)
            mlt_csp_fault("csp_target_free", "a process waits to send to %s", target->name);
    if (--stream->targets == 0)
        stream_rests(stream);
    target->magic = 0;
    mlt_csp_bury(csp, target);
}

// ---- sending

static inline void send_message(mlt_csp_stream *stream, const void *data, size_t bytes)
{
    mlt_packet packet = stream_packet(stream, PORT_MESSAGE);
    mlt_route_send(stream->route, &packet, data, bytes);
}

// Waits until the stream has taken its charge. In front: it has begun before all who wait.
static csp_status wait_for_room(csp_target *target, sending *me, bool in_front, csp_time deadline)
{
    mlt_csp *csp = target->csp;
    mlt_csp_stream *stream = target->stream;
    mlt_csp_wait wait;
    mlt_deadline late;
    me->target = target;
    me->fiber = csp->sched->current;
    me->ready = false;
    if (in_front)
        mlt_list_push_front(&stream->waiting, &me->node);
    else
        mlt_list_push_back(&stream->waiting, &me->node);
    port_let_go(stream);
    mlt_deadline_begin(csp->sched, &late, deadline);
    stream->targets++; // it stays while somebody waits
    while (!me->ready && stream->status == CSP_OK && !late.passed)
        mlt_fiber_park(csp->sched,
                       mlt_csp_wait_for(&wait, "csp_send", MLT_CSP_SEND, target, me->charge));
    mlt_deadline_end(&late);
    stream->targets--;
    if (stream->status != CSP_OK || me->ready)
        return stream->status;
    mlt_list_remove(&me->node);
    port_let_go(stream); // those that come after it may have room
    return CSP_LATE;
}

// A message that is longer than the room, and than a packet: its pieces share the room with what
// else is sent, and only the last one has the charge of the whole.
static csp_status send_pieces(csp_target *target, const void *data, size_t bytes, csp_time deadline)
{
    mlt_csp_stream *stream = target->stream;
    const unsigned char *at = data;
    uint64_t most = mlt_route_most(stream->route), piece = stream->room / GIVE_BACK;
    sending me = {.piecewise = true};
    piece = piece < LEAST_PIECE ? LEAST_PIECE : piece;
    piece = piece < most ? piece : most;
    csp_status status = wait_for_room(target, &me, false, deadline);
    if (status != CSP_OK)
        return status;
    mlt_packet packet = stream_packet(stream, FIRST);
    uint64_t total = bytes;
    mlt_route_send(stream->route, &packet, &total, sizeof total);
    packet.kind = PART;
    for (; bytes > 0 && status == CSP_OK; bytes -= piece, at += piece) {
        piece = piece < bytes ? piece : bytes;
        packet.dst = piece == bytes;
        me.charge = packet.dst ? stream->room : charge_of(piece, stream->room);
        status = wait_for_room(target, &me, true, deadline);
        if (status == CSP_OK)
            mlt_route_send(stream->route, &packet, at, piece);
    }
    if (status == CSP_LATE) {
        packet.kind = PORT_OFF;
        mlt_route_send(stream->route, &packet, NULL, 0);
    }
    stream->piecewise = NULL;
    port_let_go(stream);
    return status;
}

static void check_target(const mlt_csp *csp, const csp_target *target)
{
    if (!target)
        mlt_csp_fault("csp_send", "the target is NULL");
    if (target->magic != MLT_TARGET_MAGIC || target->csp != csp)
        mlt_csp_fault("csp_send", "this is no target of this worker, or it was freed");
}

static csp_status send_in_turn(csp_target *target, const void *data, size_t bytes,
                               csp_time deadline)
{
    mlt_csp_stream *stream = target->stream;
    if (stream->status != CSP_OK)
        return stream->status;
    if (bytes > stream->room && bytes > mlt_route_most(stream->route))
        return send_pieces(target, data, bytes, deadline);
    sending me = {.charge = charge_of(bytes, stream->room)};
    csp_status status = wait_for_room(target, &me, false, deadline);
    if (status == CSP_OK)
        send_message(stream, data, bytes);
    return status;
}

static __attribute__((noinline)) csp_status send_slowly(csp_target *target, const void *data,
                                                        size_t bytes, csp_time deadline)
{
    mlt_csp *csp = mlt_csp_enter("csp_send");
    check_target(csp, target);
    if (MLT_LIKELY(!target->wrapped))
        return send_in_turn(target, data, bytes, deadline);
    mlt_csp_walk walk;
    const mlt_intercept_event event = {
        .call = "csp_send", .peer = target->stream->port_rank, .tag = -1, .bytes = bytes};
    mlt_csp_intercept_begin(csp, &walk, MLT_INTERCEPT_CSP_PORT, target->name, 0, event);
    check_target(csp, target); // it may have been freed meanwhile
    csp_status status = send_in_turn(target, data, bytes, deadline);
    if (status == CSP_OK)
        mlt_csp_intercept_end(&walk, bytes);
    return status;
}

MLT_EXPORT csp_status csp_send_by(csp_target *target, const void *data, size_t bytes,
                                  csp_time deadline)
{
    return send_slowly(target, data, bytes, deadline);
}

MLT_EXPORT csp_status csp_send(csp_target *target, const void *data, size_t bytes)
{
    mlt_csp *csp = mlt_csp_self;
    if (MLT_UNLIKELY(!csp || !target || target->magic != MLT_TARGET_MAGIC || target->csp != csp ||
                     target->wrapped))
        return send_slowly(target, data, bytes, CSP_NEVER);
    mlt_csp_stream *stream = target->stream;
    uint64_t charge = charge_of(bytes, stream->room);
    if (MLT_UNLIKELY(stream->status != CSP_OK || !mlt_list_empty(&stream->waiting) ||
                     !has_room(stream, charge) || bytes > stream->room))
        return send_slowly(target, data, bytes, CSP_NEVER);
    stream->used += charge;
    send_message(stream, data, bytes);
    return CSP_OK;
}

// ---- the end

void mlt_csp_ports_end(mlt_csp *csp)
{
    MLT_LIST_DRAIN(csp_port, port, &csp->ports, all)
        free_port(port);
    MLT_LIST_DRAIN(mlt_csp_stream, stream, &csp->net->streams, node)
        free_stream(csp, stream);
    mlt_table_free(&csp->net->by_port);
    MLT_LIST_DRAIN(port_ask, ask, &csp->net->port_asks, node) {
        mlt_list_remove(&ask->user.node);
        free(ask);
    }
}
