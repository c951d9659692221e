// SPDX-License-Identifier: BSD-3-Clause
// The transport over TCP: its table.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/log.h"
#include "base/memory.h"
#include "os/os.h"
#include "os/tcp.h"
#include "wire/tcp/tcp_int.h"

static bool is_gone(const tcp_pair *pair)
{
    return atomic_load_explicit(&pair->gone, memory_order_relaxed);
}

static bool is_shut(const tcp_link *link)
{
    return atomic_load_explicit(&link->state, memory_order_relaxed) == TCP_SHUT;
}

static mlt_spsc *own_queue(const tcp_lane *lane)
{
    return atomic_load_explicit(&lane->out, memory_order_relaxed);
}

// ---- A worker

static void set_open(const tcp_worker *me, bool open)
{
    pthread_mutex_lock(&me->endpoint->lock);
    me->endpoint->mail[me->index].open = open;
    pthread_mutex_unlock(&me->endpoint->lock);
}

static mlt_status open_worker(mlt_wire *wire, int ctl)
{
    uint32_t proc = mlt_job_location_at(wire->job, wire->self)->proc;
    tcp_worker *me = calloc(1, sizeof *me);
    tcp_endpoint *endpoint = me ? mlt_tcp_enter(wire->job, proc, ctl) : NULL;
    if (!endpoint) {
        free(me);
        return MLT_ERR_NO_MEMORY;
    }
    me->wire = wire;
    me->endpoint = endpoint;
    me->fabric = endpoint->fabric;
    me->index = wire->self - endpoint->first_worker;
    wire->far = me;
    set_open(me, true);
    // release: pairs with begin_landing.
    atomic_store_explicit(&endpoint->mail[me->index].worker, me, memory_order_release);
    return MLT_OK;
}

static void close_worker(mlt_wire *wire)
{
    tcp_worker *me = tcp_of(wire);
    set_open(me, false);
    mlt_tcp_leave(me->endpoint);
    free(me->entries);
    free(me);
    wire->far = NULL;
}

static mlt_status meet(mlt_wire *wire, mlt_peer *peer)
{
    tcp_worker *me = tcp_of(wire);
    mlt_tcp_peer *far = calloc(1, sizeof *far);
    if (!far)
        return MLT_ERR_NO_MEMORY;
    tcp_pair *pair = mlt_tcp_pair(
        me->endpoint, peer->foreign ? mlt_worlds_place(wire->worlds, peer->worker).proc
                                    : mlt_job_location_at(wire->job, peer->worker)->proc);
    far->peer = peer;
    far->lane = mlt_tcp_lane(pair, me->index);
    far->to = peer->worker - pair->first_worker;
    peer->far = far;
    peer->backlog = &far->backlog;
    peer->starved = &far->starves_nobody;
    return MLT_OK;
}

static void tcp_forget(mlt_wire *wire, mlt_peer *peer)
{
    (void)wire;
    free(peer->far);
}

static void tcp_tidy(mlt_wire *wire)
{
    tcp_worker *me = tcp_of(wire);
    pthread_mutex_lock(&me->endpoint->lock);
    mlt_tcp_tidy(me);
    pthread_mutex_unlock(&me->endpoint->lock);
}

static bool peer_is_gone(const mlt_peer *peer)
{
    return is_gone(peer->far->lane->pair);
}

// ---- Sending

static MLT_COLD mlt_spsc *new_queue(mlt_peer *peer)
{
    mlt_spsc *queue = mlt_spsc_new(QUEUE_BYTES);
    if (!queue)
        mlt_no_room("what is to be sent to worker %u", peer->worker);
    // release: pairs with tube_of.
    atomic_store_explicit(&peer->far->lane->out, queue, memory_order_release);
    return queue;
}

static inline mlt_spsc *queue_to(mlt_peer *peer)
{
    mlt_spsc *queue = own_queue(peer->far->lane);
    if (MLT_UNLIKELY(!queue))
        queue = new_queue(peer);
    if (MLT_UNLIKELY(peer->starved != &queue->starved))
        peer->starved = &queue->starved;
    return queue;
}

static inline mlt_wire_frame *frame_of(mlt_slot *slot)
{
    return (mlt_wire_frame *)(void *)((char *)slot - offsetof(mlt_wire_frame, slot));
}

static void tcp_head_of(const tcp_worker *me, const mlt_tcp_peer *far, mlt_wire_frame *frame,
                        uint8_t kind, uint32_t in_slot, uint64_t bytes)
{
    frame->length = (uint32_t)bytes;
    frame->in_slot = (uint8_t)in_slot;
    frame->kind = kind;
    frame->from = (uint16_t)me->index;
    atomic_store_explicit(&frame->slot.stamp, far->to, memory_order_relaxed);
}

static mlt_slot *reserve(mlt_wire *wire, mlt_peer *peer, uint32_t in_slot, uint64_t bytes,
                         unsigned char **data)
{
    mlt_tcp_peer *far = peer->far;
    mlt_assert(bytes <= MLT_WIRE_FRAME_MOST && in_slot <= MLT_SLOT_PAYLOAD);
    uint64_t needs =
        sizeof(mlt_wire_frame) + mlt_wire_frame_pad(bytes); // a slot's payload at its full size
    if (MLT_UNLIKELY(far->lane->pair->workers > 1 &&
                     far->sent + needs - far->acknowledged > WINDOW))
        return NULL;
    mlt_wire_frame *frame = mlt_spsc_reserve(queue_to(peer), needs);
    if (MLT_UNLIKELY(!frame))
        return NULL;
    tcp_head_of(tcp_of(wire), far, frame, MLT_WIRE_FRAME_MESSAGE, in_slot, bytes);
    if (bytes)
        *data = (unsigned char *)frame + mlt_wire_frame_data_at(frame);
    return &frame->slot;
}

static void soil(tcp_worker *me, tcp_lane *lane)
{
    if (lane->dirty)
        return;
    lane->dirty = true;
    lane->next_dirty = me->dirty;
    me->dirty = lane;
    if (MLT_UNLIKELY(!atomic_load_explicit(&lane->pair->wanted, memory_order_relaxed)))
        mlt_tcp_want(lane->pair);
}

// The zeros that fill it up must not be left from before: they travel.
static void pad(mlt_wire_frame *frame)
{
    unsigned char *at = (unsigned char *)frame;
    uint64_t data_at = mlt_wire_frame_data_at(frame);
    memset(at + MLT_WIRE_FRAME_HEAD + frame->in_slot, 0,
           data_at - MLT_WIRE_FRAME_HEAD - frame->in_slot);
    memset(at + data_at + frame->length, 0, mlt_wire_frame_pad(frame->length) - frame->length);
}

static void post_frame(mlt_wire *wire, mlt_peer *peer, mlt_wire_frame *frame)
{
    tcp_worker *me = tcp_of(wire);
    mlt_tcp_peer *far = peer->far;
    uint64_t bytes = mlt_wire_frame_bytes(frame);
    pad(frame);
    if (frame->kind == MLT_WIRE_FRAME_MESSAGE)
        far->sent += bytes;
    mlt_spsc_publish(own_queue(far->lane), bytes);
    soil(me, far->lane);
}

static void post(mlt_wire *wire, mlt_peer *peer, mlt_slot *slot)
{
    post_frame(wire, peer, frame_of(slot));
}

static void post_data(mlt_wire *wire, mlt_peer *peer, mlt_slot *slot)
{
    wire->sent += !peer->foreign;
    frame_of(slot)->kind = MLT_WIRE_FRAME_DATA;
    post_frame(wire, peer, frame_of(slot));
}

static bool post_memory(mlt_wire *wire, mlt_peer *peer, mlt_wire_frame_kind kind,
                        const mlt_slot *slot, uint32_t in_slot, const void *memory, uint64_t bytes,
                        uint64_t *ticket)
{
    mlt_spsc *queue = queue_to(peer);
    mlt_wire_frame *frame = mlt_spsc_reserve(queue, sizeof *frame);
    mlt_assert(bytes <= MLT_WIRE_FRAME_DATA_MOST);
    if (!frame)
        return false;
    memcpy(&frame->slot, slot, sizeof *slot);
    tcp_head_of(tcp_of(wire), peer->far, frame, (uint8_t)kind, in_slot, 0);
    pad(frame);
    uint64_t head = mlt_wire_frame_bytes(frame);
    frame->length = (uint32_t)bytes;
    uint64_t count = mlt_spsc_publish_reference(queue, head, memory, bytes);
    if (!count)
        return false;
    *ticket = count;
    wire->sent += !peer->foreign;
    soil(tcp_of(wire), peer->far->lane);
    return true;
}

static bool has_left(const mlt_peer *peer, uint64_t ticket)
{
    return mlt_spsc_has_left(own_queue(peer->far->lane), ticket);
}

// Among several workers, the one that reads cannot know where another one wants its data. By a fabric
// one message takes as long in packets as by reading, but of several, one is read while others are
// asked for, and no processor copies them.
static bool takes_long(const mlt_peer *peer, uint64_t bytes)
{
    enum { PACKETS_MOST = 16 << 10 };
    const tcp_pair *pair = peer->far->lane->pair;
    const mlt_spsc *queue = own_queue(peer->far->lane);
    return pair->workers == 1 && (bytes <= PACKETS_MOST || !queue || !mlt_spsc_refers(queue) ||
                                  !mlt_switchover_reads(pair));
}

// ---- What was consumed

static bool tell_consumed(tcp_worker *me, mlt_tcp_peer *far)
{
    mlt_wire_frame *frame = mlt_spsc_reserve(queue_to(far->peer), sizeof *frame);
    if (!frame)
        return false;
    memset(frame, 0, sizeof *frame);
    tcp_head_of(me, far, frame, MLT_WIRE_FRAME_CREDIT, 0, 0);
    frame->slot.bytes = far->told = far->consumed;
    me->wire->sent += !far->peer->foreign;
    post_frame(me->wire, far->peer, frame);
    return true;
}

void mlt_tcp_consumed(tcp_worker *me, mlt_tcp_peer *far, uint64_t bytes)
{
    far->consumed += bytes;
    if (far->consumed - far->told < WINDOW / 4 || far->owes || tell_consumed(me, far))
        return;
    far->owes = true;
    far->next_owing = me->owing;
    me->owing = far;
}

// True: something was posted.
static MLT_COLD bool pay(tcp_worker *me)
{
    mlt_tcp_peer *list = me->owing;
    bool any = false;
    me->owing = NULL;
    while (list) {
        mlt_tcp_peer *far = list;
        list = far->next_owing;
        far->owes = !tell_consumed(me, far);
        any |= !far->owes;
        if (!far->owes)
            continue;
        far->next_owing = me->owing;
        me->owing = far;
    }
    return any;
}

// ---- Progress

static bool push(mlt_wire *wire)
{
    tcp_worker *me = tcp_of(wire);
    // What was posted was counted: a worker that is about to sleep has published less.
    bool any = MLT_UNLIKELY(me->owing != NULL) && pay(me);
    for (tcp_lane **at = &me->dirty; *at;) {
        tcp_lane *lane = *at;
        any |= mlt_tcp_carry(lane->pair);
        if (mlt_spsc_is_empty(own_queue(lane)) && !mlt_tcp_is_sealed(lane->pair)) {
            lane->dirty = false;
            *at = lane->next_dirty;
        } else {
            at = &lane->next_dirty;
        }
    }
    return any;
}

static bool some_wait_for_links(const tcp_worker *me)
{
    for (const tcp_lane *lane = me->dirty; lane; lane = lane->next_dirty)
        if (!atomic_load_explicit(&lane->pair->links[0], memory_order_relaxed) &&
            !atomic_load_explicit(&lane->pair->gone, memory_order_relaxed))
            return true;
    return false;
}

// The agents make the connection, whatever this worker does.
static void await(mlt_wire *wire)
{
    enum { NAP_NS = 20000 };
    tcp_worker *me = tcp_of(wire);
    if (MLT_LIKELY(!me->dirty))
        return;
    uint64_t until = mlt_os_now_ns() + (uint64_t)mlt_tcp_gone_ms * 1000000;
    while (some_wait_for_links(me) && mlt_os_now_ns() < until)
        if (!mlt_tcp_take_links(me))
            mlt_os_sleep(NAP_NS);
    (void)push(wire);
}

// Nothing but the end comes by a connection whose other side sends by the fabric.
static void cool(tcp_worker *me)
{
    for (uint32_t i = 0; i < me->hot_count;)
        if (mlt_switchover_is_in(me->entries[me->hot[i]].link->pair))
            me->hot[i] = me->hot[--me->hot_count];
        else
            i++;
}

static bool look(mlt_wire *wire, const mlt_wire_taker *taker)
{
    tcp_worker *me = tcp_of(wire);
    bool any = mlt_tcp_take_links(me), enough = false;
    for (uint32_t i = 0; i < me->hot_count && !enough; i++)
        any |= mlt_tcp_read(me, me->entries[me->hot[i]].link, taker, &enough);
    if (me->fabric) {
        cool(me);
        any |= mlt_switchover_poll(me, taker, &enough);
    }
    if (me->endpoint->workers > 1)
        any |= mlt_tcp_take_mail(me, taker, &enough);
    return any;
}

// Nothing that came for the worker is left, at the end of the pair.
bool mlt_tcp_has_no_mail(const tcp_lane *lane)
{
    return !atomic_load_explicit(&lane->queued, memory_order_relaxed) && !lane->taken &&
           !atomic_load_explicit(&lane->spills, memory_order_relaxed) &&
           (!lane->in || mlt_spsc_is_empty(lane->in));
}

static bool has_ended(const mlt_peer *peer)
{
    const tcp_lane *lane = peer->far->lane;
    // acquire: the mail that came before is seen; pairs with end_mark.
    return atomic_load_explicit(&lane->pair->ended, memory_order_acquire) &&
           mlt_tcp_has_no_mail(lane);
}

static bool job_has_ended(mlt_wire *wire, const mlt_world *world)
{
    tcp_worker *me = tcp_of(wire);
    tcp_endpoint *endpoint = me->endpoint;
    uint32_t ended = 0;
    if (atomic_load_explicit(&endpoint->ends, memory_order_relaxed) < world->shape.procs)
        return false; // no need to count
    pthread_mutex_lock(&endpoint->abroad_lock);
    for (tcp_pair *pair = endpoint->abroad; pair; pair = pair->next) {
        const tcp_lane *lane = atomic_load_explicit(&pair->lanes[me->index], memory_order_acquire);
        // acquire: as in has_ended.
        if (pair->world == world && atomic_load_explicit(&pair->ended, memory_order_acquire))
            ended += !lane || mlt_tcp_has_no_mail(lane);
    }
    pthread_mutex_unlock(&endpoint->abroad_lock);
    return ended == world->shape.procs;
}

static bool some_ended(mlt_wire *wire)
{
    tcp_worker *me = tcp_of(wire);
    uint32_t ends = atomic_load_explicit(&me->endpoint->ends, memory_order_acquire);
    if (MLT_LIKELY(ends == me->ends_seen) || me->busy ||
        atomic_load(&me->endpoint->mail[me->index].first))
        return false;
    me->ends_seen = ends;
    return true;
}

// ---- Sleeping

static bool wants_to_write(tcp_worker *me, const tcp_link *link)
{
    tcp_pair *pair = link->pair;
    // acquire: another worker may have made it; pairs with mlt_tcp_lane.
    const tcp_lane *lane = atomic_load_explicit(&pair->lanes[me->index], memory_order_acquire);
    return lane && lane->dirty && !pair->mute && !mlt_switchover_is_out(pair) &&
           atomic_load_explicit(&pair->links[0], memory_order_relaxed) == link;
}

static bool listen_to(mlt_wire *wire, mlt_wire_listen *listen, void *arg)
{
    tcp_worker *me = tcp_of(wire);
    bool any = false;
    me->new_entries = false;
    for (uint32_t i = 0; i < me->entry_count; i++) {
        tcp_entry *entry = &me->entries[i];
        uint32_t state = atomic_load_explicit(&entry->link->state, memory_order_relaxed);
        if (state == TCP_DEAF && entry->listens)
            entry->listens = !listen(arg, entry->link->fd, i, false, false);
        if (state >= TCP_DEAF)
            continue;
        bool writes = wants_to_write(me, entry->link);
        if (!entry->listens || entry->writes != writes)
            entry->listens = listen(arg, entry->link->fd, i, true, writes);
        if (MLT_UNLIKELY(!entry->listens) && !is_shut(entry->link))
            mlt_fatal("worker %u cannot wait for its connections to other hosts: this process has "
                      "no descriptor left (`ulimit -n` may set a limit), or has closed one of "
                      "Millet's",
                      wire->self);
        entry->writes = writes;
        any |= entry->listens;
    }
    if (mlt_switchover_fd(me->fabric) >= 0 && !me->hears_fabric)
        me->hears_fabric = listen(arg, mlt_switchover_fd(me->fabric), FABRIC_NUMBER, true, false);
    return any || me->hears_fabric;
}

static bool has_stopped(const tcp_worker *me)
{
    for (uint32_t i = 0; me->endpoint->workers == 1 && i < me->entry_count; i++)
        if (me->entries[i].link->stopped)
            return true;
    return false;
}

static bool has_work(const mlt_wire *wire)
{
    const tcp_worker *me = tcp_of(wire);
    return me->dirty || me->busy || me->new_entries || has_stopped(me) ||
           mlt_switchover_has_held(me->fabric);
}

static bool is_ready(mlt_wire *wire)
{
    tcp_worker *me = tcp_of(wire);
    if (me->busy || me->new_entries || has_stopped(me) ||
        atomic_load(&wire->own->links) != me->links_seen ||
        atomic_load(&me->endpoint->ends) != me->ends_seen ||
        atomic_load(&me->endpoint->mail[me->index].first))
        return true;
    return push(wire) || (me->fabric && !mlt_switchover_may_sleep(me));
}

static bool is_cold(const mlt_wire *wire)
{
    return tcp_of(wire)->entries_taken > tcp_of(wire)->hot_count;
}

// Hot connections and the fabric are looked at in any case, and the fabric's descriptor may stay ready
// until somebody wants to sleep on it.
static bool rang(mlt_wire *wire, uint32_t number)
{
    tcp_worker *me = tcp_of(wire);
    for (uint32_t i = 0; number == UINT32_MAX && i < me->entry_count; i++) {
        me->entries[i].listens = false;
        me->new_entries = true;
    }
    if (number == UINT32_MAX)
        me->hears_fabric = false;
    for (uint32_t i = 0; i < me->hot_count; i++)
        if (me->hot[i] == number)
            return false;
    if (number >= me->entry_count || is_shut(me->entries[number].link))
        return false;
    mlt_tcp_heat(me, number);
    return true;
}

static void patrol(mlt_wire *wire)
{
    tcp_worker *me = tcp_of(wire);
    for (uint32_t i = 0; i < me->entry_count; i++) {
        tcp_link *link = me->entries[i].link;
        if (is_shut(link) || mlt_os_tcp_silent_ms(link->fd) < mlt_tcp_gone_ms ||
            !tcp_try_lock(&link->reading))
            continue;
        if (!is_shut(link)) {
            mlt_tcp_lose(link->pair, strerror(ETIMEDOUT));
            mlt_tcp_shut(link);
        }
        tcp_unlock(&link->reading);
    }
    if (atomic_load_explicit(&mlt_tcp_abroad, memory_order_relaxed))
        tcp_tidy(wire);
    if (me->fabric)
        mlt_switchover_patrol(me);
}

// ---- The end

// A process of another job without a connection gets none once the bond was given up.
static bool is_out_of_reach(const tcp_pair *pair)
{
    return is_gone(pair) ||
           (pair->world && !atomic_load_explicit(&pair->links[0], memory_order_relaxed) &&
            !atomic_load_explicit(&pair->world->bond, memory_order_relaxed));
}

static bool has_to_leave(const tcp_worker *me)
{
    for (const tcp_lane *lane = me->dirty; lane; lane = lane->next_dirty)
        if (!is_out_of_reach(lane->pair))
            return true;
    return false;
}

// Until something can be written or read, or for a short time.
static void wait_a_moment(tcp_worker *me)
{
    enum { MOST = 16, MS = 5 };
    struct pollfd fds[MOST + 1];
    nfds_t n = 0;
    for (uint32_t i = 0; i < me->entry_count && n < MOST; i++) {
        const tcp_link *link = me->entries[i].link;
        if (atomic_load_explicit(&link->state, memory_order_relaxed) < TCP_DEAF)
            fds[n++] = (struct pollfd){.fd = link->fd,
                                       .events = POLLIN | (wants_to_write(me, link) ? POLLOUT : 0)};
    }
    fds[n] = (struct pollfd){.fd = mlt_switchover_fd(me->fabric), .events = POLLIN};
    if (!me->fabric || mlt_switchover_may_sleep(me))
        (void)poll(fds, n + 1, fds[n].fd < 0 && me->fabric ? 1 : MS);
    patrol(me->wire);
}

// What comes meanwhile is for ranks that have ended; but it must be read, or both sides may wait for
// each other to read.
static void read_all(tcp_worker *me)
{
    bool enough = false;
    (void)mlt_tcp_take_links(me);
    for (uint32_t i = 0; i < me->entry_count; i++)
        (void)mlt_tcp_read(me, me->entries[i].link, &mlt_wire_nobody, &enough);
    if (me->fabric)
        (void)mlt_switchover_poll(me, &mlt_wire_nobody, &enough);
    if (me->endpoint->workers > 1)
        (void)mlt_tcp_take_mail(me, &mlt_wire_nobody, &enough);
}

// Nobody lands data in this worker's memory any more.
static void withdraw(tcp_worker *me)
{
    tcp_endpoint *endpoint = me->endpoint;
    atomic_store_explicit(&endpoint->mail[me->index].worker, NULL, memory_order_release);
    (void)mlt_tcp_take_links(me);
    for (uint32_t i = 0; i < me->entry_count; i++) {
        tcp_link *link = me->entries[i].link;
        while (!tcp_try_lock(&link->reading))
            mlt_os_yield();
        if (link->landing && link->land_worker == me->index)
            link->land = NULL;
        tcp_unlock(&link->reading);
    }
    if (endpoint->fabric)
        mlt_switchover_withdraw(me);
}

// The end mark, as far as there is room.
static void write_mark(tcp_link *link)
{
    if (is_shut(link))
        return;
    bool sends = atomic_load_explicit(&link->pair->links[0], memory_order_relaxed) == link;
    mlt_wire_frame end = {.kind = MLT_WIRE_FRAME_END, .slot = {.flags = sends}};
    struct iovec piece = {.iov_base = (char *)&end + link->marked,
                          .iov_len = MLT_WIRE_FRAME_HEAD - link->marked};
    if (link->pair->mute || link->finished)
        return;
    if (sends && mlt_switchover_is_out(link->pair)) {
        mlt_switchover_write_mark(link->pair);
        return;
    }
    ssize_t n = piece.iov_len ? mlt_tcp_send(link, &piece, 1) : 0;
    link->marked += n > 0 ? (uint32_t)n : 0;
    bool whole = link->marked == MLT_WIRE_FRAME_HEAD;
    if (n < 0 || (whole && link->cipher && !mlt_cipher_flush(link->cipher, link->fd))) {
        link->pair->mute = !mlt_tcp_is_full(errno);
        return;
    }
    if (whole) {
        mlt_os_tcp_finish(link->fd);
        link->finished = true;
    }
}

// Closing a connection with unread bytes resets it, which destroys what is on its way to the peer.
// So it is closed when the peer has all, or has said that it sends nothing more.
static bool is_settled(const tcp_link *link)
{
    if (is_shut(link))
        return true;
    bool sends = atomic_load_explicit(&link->pair->links[0], memory_order_relaxed) == link;
    if (link->pair->mute)
        return true;
    if (sends && mlt_switchover_is_out(link->pair))
        return mlt_switchover_is_settled(link->pair);
    return link->finished && (atomic_load_explicit(&link->state, memory_order_relaxed) != TCP_UP ||
                              mlt_os_tcp_unsent(link->fd) <= 0);
}

static void end_links(tcp_worker *me)
{
    for (bool open = true; open;) {
        open = false;
        read_all(me);
        for (uint32_t i = 0; i < me->entry_count; i++) {
            write_mark(me->entries[i].link);
            open |= !is_settled(me->entries[i].link);
        }
        if (open)
            wait_a_moment(me);
    }
}

static void end_worker(mlt_wire *wire)
{
    tcp_worker *me = tcp_of(wire);
    if (me->ended)
        return;
    me->ended = true;
    while (push(wire), has_to_leave(me)) {
        wait_a_moment(me);
        read_all(me);
    }
    withdraw(me);
    // acq_rel: the last one sees what the others have done.
    if (atomic_fetch_sub_explicit(&me->endpoint->living, 1, memory_order_acq_rel) == 1)
        end_links(me);
}

const mlt_transport mlt_tcp = {
    .name = "tcp",
    .open = open_worker,
    .end = end_worker,
    .close = close_worker,
    .meet = meet,
    .forget = tcp_forget,
    .tidy = tcp_tidy,
    .reserve = reserve,
    .post = post,
    .post_data = post_data,
    .post_memory = post_memory,
    .has_left = has_left,
    .takes_long = takes_long,
    .push = push,
    .await = await,
    .look = look,
    .is_gone = peer_is_gone,
    .has_ended = has_ended,
    .some_ended = some_ended,
    .job_has_ended = job_has_ended,
    .listen = listen_to,
    .ready = is_ready,
    .has_work = has_work,
    .rang = rang,
    .is_cold = is_cold,
    .patrol = patrol,
};
