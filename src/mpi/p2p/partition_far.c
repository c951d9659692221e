// SPDX-License-Identifier: BSD-3-Clause
// Partitions between processes: packets, and messages for large runs of them. Everything but
// mlt_part_far_ready is inside the rank's gate, if it has one.
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "mpi/p2p/partition_int.h"
#include "mpi/self.h"
#include "mpi/thread.h"
#include "os/os.h"
#include "p2p/context.h"
#include "p2p/worker.h"
#include "wire/wire.h"

enum {
    BURST_NS = 10000,         // partitions to another host wait so long for others
    QUICK_LEAST = 4,          // partitions of a round that can be quick: reading the clock costs
    QUICK_NS = 300,           // from a partition to the next in the mean: the round is quick
    QUICK_BYTES = 2048,       // partitions of a quick round leave when there are so many bytes,
    QUICK_PARTS = 64,         // or so many of them
    EARLY_MOST = 1024 * 1024, // bytes of a round that a receiver keeps for a sender that is ahead
};

typedef mlt_part_run partition_far_run;

// By what a message of partitions is known at its receiver, beside its tag: no two of a sender's
// worker have the same. Within a job it is the sender's rank. Jobs number ranks differently, so
// between them it is the receive.
typedef struct message_name {
    uint32_t context;
    int32_t source;
} message_name;

static message_name partition_far_name_of(const mlt_partreq *part, int32_t sender, uint32_t receive)
{
    bool abroad = part->peer_worker >= part->worker->boot->job->workers;
    return abroad ? (message_name){MLT_CONTEXT_PARTS_ABROAD, (int32_t)(receive & INT32_MAX)}
                  : (message_name){MLT_CONTEXT_PARTITIONS, sender};
}

static partition_far_run *new_run(mlt_partreq *part, uint32_t first, uint32_t count)
{
    mlt_pool *pool = &mlt_parts_of(part->worker)->runs;
    partition_far_run *r = mlt_pool_take(pool);
    *r = (partition_far_run){.part = part, .first = first, .count = count};
    return r;
}

static void free_run(partition_far_run *r)
{
    free(r->room);
    mlt_pool_give(&mlt_parts_of(r->req.rank->worker)->runs, r);
}

// ---- the sender

// Nothing will touch the request of this round again, except what is inside the gate.
static void complete_if_over(mlt_partreq *part, mlt_pair *pair)
{
    uint64_t rounds = atomic_load_explicit(&pair->sent_round, memory_order_relaxed);
    // acquire: pairs with far_ready, whose last touch this is.
    if (!part->req->done &&
        atomic_load_explicit(&pair->moved, memory_order_relaxed) == pair_goal(pair, rounds) &&
        atomic_load_explicit(&part->announced, memory_order_acquire) == part->parts)
        mlt_req_complete(part->req);
}

static void have_moved(mlt_pair *pair, uint64_t count)
{
    atomic_fetch_add_explicit(&pair->moved, count, memory_order_release); // pairs with all_there
}

// The receiver has started this round; or a small one may travel before it has.
static bool is_open(const mlt_pair *pair)
{
    return atomic_load_explicit(&pair->recv_round, memory_order_relaxed) ==
           atomic_load_explicit(&pair->sent_round, memory_order_relaxed);
}

static bool is_open_early(const mlt_partreq *part, const mlt_pair *pair)
{
    uint64_t started = atomic_load_explicit(&pair->recv_round, memory_order_relaxed);
    uint64_t most = mlt_p2p_eager_most(part->worker, part->peer_worker);
    return started > 0 &&
           started + 1 == atomic_load_explicit(&pair->sent_round, memory_order_relaxed) &&
           pair_total(pair) <= (most < EARLY_MOST ? most : EARLY_MOST);
}

static mlt_packet packet_of(const mlt_pair *pair, uint16_t kind, uint32_t first, uint32_t count)
{
    uint64_t round = atomic_load_explicit(&pair->sent_round, memory_order_relaxed);
    return (mlt_packet){.kind = kind,
                        .object = pair->to_id,
                        .word = (int32_t)first,
                        .src = (int32_t)(uint32_t)round,
                        .dst = (int32_t)count};
}

static void send_packet(mlt_partreq *part, mlt_pair *pair, uint32_t first, uint32_t count)
{
    mlt_worker *w = part->worker;
    uint64_t at = first * pair->part_bytes, bytes = count * pair->part_bytes;
    mlt_packet packet = packet_of(pair, PART_DATA, first, count);
    if (pair->from_type->contiguous || !bytes) {
        mlt_p2p_packet(w, part->peer_worker, &packet, (const char *)pair->from + at, bytes);
    } else {
        void *packed = mlt_xcalloc(bytes, 1);
        mlt_type_pack(pair->from_type, pair->from, at, packed, bytes);
        mlt_p2p_packet(w, part->peer_worker, &packet, packed, bytes);
        free(packed);
    }
    have_moved(pair, count);
}

static void flush_soon(mlt_partreq *part);

static void run_left(mlt_req *req)
{
    partition_far_run *r = mlt_container_of(req, partition_far_run, req);
    mlt_partreq *part = r->part;
    mlt_pair *pair = part_pair(part);
    part->messages--;
    have_moved(pair, r->count);
    free_run(r);
    if (atomic_load_explicit(&pair->moved, memory_order_relaxed) !=
        pair_goal(pair, atomic_load_explicit(&pair->sent_round, memory_order_relaxed)))
        flush_soon(part);
    complete_if_over(part, pair);
}

static void send_message(mlt_partreq *part, mlt_pair *pair, uint32_t first, uint32_t count)
{
    const mlt_req *req = part->req;
    mlt_worker *w = req->rank->worker;
    uint32_t tag = ++mlt_parts_of(w)->last_tag & INT32_MAX;
    mlt_packet packet = packet_of(pair, PART_MESSAGE, first, count);
    mlt_p2p_packet(w, part->peer_worker, &packet, &tag, sizeof tag);
    partition_far_run *r = new_run(part, first, count);
    message_name name = partition_far_name_of(part, req->rank->world, pair->to_id);
    mlt_req_init(&r->req, req->rank, MLT_REQ_SEND);
    mlt_req_message(&r->req,
                    (const char *)pair->from +
                        (int64_t)(first * part->per_part) * pair->from_type->extent,
                    count * part->per_part, pair->from_type, name.context, name.source,
                    part->peer_world, (int32_t)tag);
    r->req.on_done = run_left;
    part->messages++;
    mlt_p2p_send(&r->req);
}

static void partition_far_take(const mlt_pair *pair, uint32_t low, uint32_t high)
{
    for (uint32_t w = low / 64; w <= high / 64; w++)
        atomic_fetch_or_explicit(&pair->taken[w], pair_mask(w, low, high), memory_order_relaxed);
}

// False: it has to wait.
static bool send_run(mlt_partreq *part, mlt_pair *pair, uint32_t first, uint32_t count)
{
    mlt_worker *w = part->worker;
    if (part->nobody) {
        partition_far_take(pair, first, first + count - 1);
        have_moved(pair, count);
        return true;
    }
    bool room = mlt_p2p_packets_left(w, part->peer_worker);
    bool small = count * pair->part_bytes <= mlt_p2p_eager_most(w, part->peer_worker);
    if (!(small && room) && (!is_open(pair) || (!room && part->messages > 0)))
        return false;
    partition_far_take(pair, first, first + count - 1);
    if (small && room)
        send_packet(part, pair, first, count);
    else
        send_message(part, pair, first, count);
    return true;
}

// acquire: the data of a partition that another thread has marked.
static bool partition_far_waits(const mlt_pair *pair, uint32_t i)
{
    return pair_bit(pair->ready, i, memory_order_acquire) &&
           !pair_bit(pair->taken, i, memory_order_relaxed);
}

// Sends what is ready, from `low` on and its neighbours; all of it, if `high` is the last.
static void partition_far_flush(mlt_partreq *part, mlt_pair *pair, uint32_t low, uint32_t high)
{
    if (part->req->done || !(part->nobody || is_open(pair) || is_open_early(part, pair)))
        return;
    while (low > 0 && partition_far_waits(pair, low - 1))
        low--;
    for (uint32_t i = low; i <= high; i++) {
        uint64_t word = atomic_load_explicit(&pair->ready[i / 64], memory_order_relaxed) &
                        ~atomic_load_explicit(&pair->taken[i / 64], memory_order_relaxed);
        if (!word) {
            i |= 63;
            continue;
        }
        if (!partition_far_waits(pair, i))
            continue;
        uint32_t end = i + 1;
        while (end < pair->parts && partition_far_waits(pair, end))
            end++;
        if (!send_run(part, pair, i, end - i))
            return;
        i = end - 1;
    }
}

static void partition_far_flush_all(mlt_partreq *part, mlt_pair *pair)
{
    if (pair->parts)
        partition_far_flush(part, pair, 0, pair->parts - 1);
}

static void partition_far_flush_now(mlt_work *work)
{
    mlt_partreq *part = mlt_container_of(work, mlt_partreq, work);
    part->queued = false;
    if (part->ended) {
        mlt_part_free(part);
        return;
    }
    partition_far_flush_all(part, part_pair(part));
    complete_if_over(part, part_pair(part));
}

static void flush_soon(mlt_partreq *part)
{
    if (part->queued)
        return;
    part->queued = true;
    part->work.run = partition_far_flush_now;
    mlt_worker_later(part->worker, &part->work);
}

// Partitions to another host wait for a moment: others may follow, and travel with them.
static bool may_wait_far(mlt_partreq *part)
{
    uint64_t now = mlt_os_now_ns();
    if (now - part->pushed_ns < BURST_NS)
        return true;
    part->pushed_ns = now;
    return false;
}

// Small partitions to another process wait for the others if those of the last round came quickly
// after each other: a packet each would cost more than their data. The clock costs as much as
// MPI_Pready, so it is read twice a round.
static bool may_wait_near(mlt_partreq *part, const mlt_pair *pair, uint64_t announced)
{
    uint64_t waiting = announced - part->pushed;
    return part->quick && waiting < QUICK_PARTS && waiting * pair->part_bytes < QUICK_BYTES;
}

static bool partition_far_may_wait(mlt_partreq *part, const mlt_pair *pair, uint64_t announced)
{
    if (part->nobody || announced == part->parts)
        return false;
    return mlt_peer_is_far(mlt_wire_peer(part->worker->wire, part->peer_worker))
               ? may_wait_far(part)
               : may_wait_near(part, pair, announced);
}

// `announced`: with these; n: how many they are.
static void time_round(mlt_partreq *part, const mlt_pair *pair, uint64_t announced, uint64_t n)
{
    if (pair->part_bytes >= QUICK_BYTES || part->parts < QUICK_LEAST || n == part->parts)
        return;
    if (announced == n)
        part->begun_ns = mlt_os_now_ns();
    else if (announced == part->parts)
        part->quick = mlt_os_now_ns() - part->begun_ns < (uint64_t)QUICK_NS * part->parts;
}

// What has waited goes now, with all others.
static void flush_waiting(mlt_partreq *part, mlt_pair *pair)
{
    if (part->queued)
        mlt_list_remove(&part->work.node);
    part->queued = false;
    partition_far_flush_all(part, pair);
}

// Of those that were announced, these are the last. alone: nobody else has announced any since the
// last push.
static void push_or_wait(mlt_partreq *part, mlt_pair *pair, uint32_t low, uint32_t high,
                         uint64_t announced, bool alone)
{
    time_round(part, pair, announced, (uint64_t)high - low + 1);
    if (partition_far_may_wait(part, pair, announced)) {
        flush_soon(part);
        return;
    }
    part->pushed = announced;
    if (part->queued || !alone)
        flush_waiting(part, pair);
    else
        partition_far_flush(part, pair, low, high);
}

// Inside the gate: sends what all threads have marked so far. `own`: what `announced` was when these
// partitions were.
static void serve(mlt_partreq *part, uint32_t low, uint32_t high, uint64_t own)
{
    mlt_pair *pair = part_pair(part);
    uint64_t seen = atomic_load_explicit(&part->announced, memory_order_acquire);
    push_or_wait(part, pair, low, high, seen & ~PART_BUSY, seen == own);
    // acq_rel: pairs with far_ready. If others have come, their marks are anywhere.
    while (!atomic_compare_exchange_weak_explicit(&part->announced, &seen, seen & ~PART_BUSY,
                                                  memory_order_acq_rel, memory_order_acquire))
        partition_far_flush_all(part, pair);
    complete_if_over(part, pair);
}

// The rank has one thread, or they take turns.
static void partition_far_ready_alone(mlt_partreq *part, uint32_t low, uint32_t high)
{
    mlt_pair *pair = part_pair(part);
    uint64_t announced =
        atomic_load_explicit(&part->announced, memory_order_relaxed) + high - low + 1;
    for (uint32_t w = low / 64; w <= high / 64; w++)
        atomic_store_explicit(&pair->ready[w],
                              atomic_load_explicit(&pair->ready[w], memory_order_relaxed) |
                                  pair_mask(w, low, high),
                              memory_order_relaxed);
    atomic_store_explicit(&part->announced, announced, memory_order_relaxed);
    push_or_wait(part, pair, low, high, announced, true);
    complete_if_over(part, pair);
}

void mlt_part_far_ready(mlt_partreq *part, uint32_t low, uint32_t high)
{
    mlt_rank *me = part->req->rank;
    if (MLT_LIKELY(!me->worker->sched->gate)) {
        partition_far_ready_alone(part, low, high);
        return;
    }
    mlt_pair_mark(part_pair(part), low, high);
    uint64_t n = (uint64_t)high - low + 1;
    uint64_t seen = atomic_load_explicit(&part->announced, memory_order_relaxed);
    // acq_rel: whoever sends the partitions sees the marks. Without PART_BUSY of our own this is
    // the last touch: the round may be over before the next line.
    while (!atomic_compare_exchange_weak_explicit(&part->announced, &seen, (seen + n) | PART_BUSY,
                                                  memory_order_acq_rel, memory_order_relaxed)) {
    }
    if (seen & PART_BUSY)
        return;
    mlt_gate *gate = mlt_thread_gate_in(me);
    serve(part, low, high, (seen + n) | PART_BUSY);
    mlt_thread_gate_out(gate);
}

static void started(mlt_worker *w, uint32_t from, const mlt_packet *packet, const void *data,
                    uint64_t bytes)
{
    uint32_t to_id;
    if (bytes != sizeof to_id)
        mlt_fatal("worker %u tells worker %u of a partitioned receive in %llu bytes", from,
                  w->index, (unsigned long long)bytes);
    memcpy(&to_id, data, sizeof to_id);
    mlt_partreq *part = mlt_part_find(w, packet->object);
    if (!part || !part->sends || part->peer_worker != from) { // freed
        mlt_p2p_packet(w, from, &(mlt_packet){.kind = PART_GONE, .object = to_id}, NULL, 0);
        return;
    }
    mlt_pair *pair = part_pair(part);
    uint64_t round = atomic_fetch_add_explicit(&pair->recv_round, 1, memory_order_relaxed) + 1;
    if (pair->direct || (uint32_t)packet->word != (uint32_t)round)
        mlt_fatal("worker %u tells worker %u that a partitioned receive starts its round %lu, but "
                  "round %llu is next",
                  from, w->index, (unsigned long)(uint32_t)packet->word, (unsigned long long)round);
    pair->to_id = to_id;
    if (!part->req->done)
        flush_soon(part);
}

// ---- the receiver

static void partition_far_put(const mlt_pair *pair, uint64_t at, const void *data, uint64_t bytes)
{
    if (at >= pair->room)
        return; // the receive is too small: its status says so
    if (bytes > pair->room - at)
        bytes = pair->room - at;
    if (pair->to_type->contiguous && bytes)
        memcpy((char *)pair->to + at, data, bytes);
    else
        mlt_type_unpack(pair->to_type, pair->to, at, data, bytes);
}

static void have_arrived(mlt_partreq *part, mlt_pair *pair, uint32_t first, uint32_t count)
{
    mlt_pair_land(pair, first, first + count - 1);
    have_moved(pair, count);
    uint64_t rounds = atomic_load_explicit(&pair->recv_round, memory_order_relaxed);
    if (atomic_load_explicit(&pair->moved, memory_order_relaxed) == pair_goal(pair, rounds))
        mlt_part_receive_done(part);
}

static _Noreturn MLT_COLD void came_twice(const mlt_partreq *part, uint32_t partition)
{
    mlt_fatal("worker %u sends partition %lu twice in a round to rank %d", part->peer_worker,
              (unsigned long)partition, (int)part->req->rank->world);
}

// A partition comes once a round, by whatever way: so nothing is under way when the last is there.
static void claim(const mlt_partreq *part, const mlt_pair *pair, uint32_t first, uint32_t count)
{
    for (uint32_t w = first / 64; w <= (first + count - 1) / 64; w++) {
        uint64_t bits = pair_mask(w, first, first + count - 1);
        uint64_t known = atomic_load_explicit(&pair->taken[w], memory_order_relaxed);
        if (MLT_UNLIKELY((known & bits) != 0))
            came_twice(part, w * 64 + (uint32_t)__builtin_ctzll(known & bits));
        atomic_store_explicit(&pair->taken[w], known | bits, memory_order_relaxed);
    }
}

static mlt_part_early *new_early(const mlt_pair *pair)
{
    uint64_t words = pair_words(pair->parts);
    mlt_part_early *early =
        mlt_xcalloc(1, sizeof *early + words * sizeof *early->bits + pair_total(pair));
    early->bits = (uint64_t *)(early + 1);
    early->data = (unsigned char *)(early->bits + words);
    return early;
}

static void partition_far_keep(mlt_partreq *part, const mlt_pair *pair, uint32_t first,
                               uint32_t count, const void *data, uint64_t bytes)
{
    if (!part->early)
        part->early = new_early(pair);
    if (bytes)
        memcpy(part->early->data + first * pair->part_bytes, data, bytes);
    for (uint32_t i = first; i < first + count; i++) {
        if (MLT_UNLIKELY(part->early->bits[i / 64] >> i % 64 & 1))
            came_twice(part, i);
        part->early->bits[i / 64] |= UINT64_C(1) << i % 64;
    }
    part->early->count += count;
}

// At the start of the round that they are of.
static void take_early(mlt_partreq *part, mlt_pair *pair)
{
    mlt_part_early *early = part->early;
    uint64_t count = early->count;
    early->count = 0;
    for (uint32_t i = 0, end; i < pair->parts; i = end + 1) {
        for (end = i; end < pair->parts && (early->bits[end / 64] >> end % 64 & 1);)
            end++;
        if (end > i) {
            claim(part, pair, i, end - i);
            partition_far_put(pair, i * pair->part_bytes, early->data + i * pair->part_bytes,
                              (end - i) * pair->part_bytes);
            mlt_pair_land(pair, i, end - 1);
        }
    }
    memset(early->bits, 0, pair_words(pair->parts) * sizeof *early->bits);
    have_moved(pair, count);
    if (count == pair->parts)
        mlt_part_receive_done(part);
}

void mlt_part_far_begin(mlt_partreq *part)
{
    mlt_pair *pair = part_pair(part);
    mlt_pair_clear(pair, pair->there);
    mlt_pair_clear(pair, pair->taken);
    uint64_t round = atomic_fetch_add_explicit(&pair->recv_round, 1, memory_order_relaxed) + 1;
    mlt_packet packet = {
        .kind = PART_START, .object = pair->from_id, .word = (int32_t)(uint32_t)round};
    mlt_p2p_packet(part->worker, part->peer_worker, &packet, &part->id, sizeof part->id);
    if (part->early && part->early->count)
        take_early(part, pair);
}

// The receive that a packet is of. NULL: its request was freed. A packet that does not fit is a
// fault of the sender's library.
static mlt_partreq *receiver_of(mlt_worker *w, uint32_t from, const mlt_packet *packet)
{
    mlt_partreq *part = mlt_part_find(w, packet->object);
    const mlt_pair *pair = part ? part_pair(part) : NULL;
    if (!part)
        return NULL;
    if (part->sends || part->peer_worker != from || !pair || pair->direct || packet->word < 0 ||
        packet->dst <= 0 || (uint64_t)packet->word + (uint64_t)packet->dst > pair->parts)
        mlt_fatal("worker %u sends partitions %d to worker %u that belong to no receive there",
                  from, packet->word, w->index);
    return part;
}

static void data_came(mlt_worker *w, uint32_t from, const mlt_packet *packet, const void *data,
                      uint64_t bytes)
{
    mlt_partreq *part = receiver_of(w, from, packet);
    if (!part)
        return;
    mlt_pair *pair = part_pair(part);
    uint32_t first = (uint32_t)packet->word, count = (uint32_t)packet->dst;
    uint32_t round = (uint32_t)atomic_load_explicit(&pair->recv_round, memory_order_relaxed);
    bool early = (uint32_t)packet->src == round + 1 && pair_total(pair) <= EARLY_MOST;
    if (bytes != count * pair->part_bytes || !(early || (uint32_t)packet->src == round))
        mlt_fatal("worker %u sends %llu bytes of partitions that do not fit the receive of rank %d",
                  from, (unsigned long long)bytes, (int)part->req->rank->world);
    if (early) {
        partition_far_keep(part, pair, first, count, data, bytes);
        return;
    }
    claim(part, pair, first, count);
    partition_far_put(pair, first * pair->part_bytes, data, bytes);
    have_arrived(part, pair, first, count);
}

static void run_came(mlt_req *req)
{
    partition_far_run *r = mlt_container_of(req, partition_far_run, req);
    mlt_partreq *part = r->part;
    mlt_pair *pair = part_pair(part);
    uint32_t first = r->first, count = r->count;
    if (r->room)
        partition_far_put(pair, r->at, r->room, r->bytes);
    free_run(r);
    have_arrived(part, pair, first, count);
}

// Where the data go: to whole elements, or by way of memory of their own.
static void aim(partition_far_run *r, const mlt_pair *pair, message_name name, int32_t tag)
{
    const mlt_type *type = pair->to_type;
    void *to = pair->to;
    uint64_t n = r->bytes;
    if (type->size && r->at % type->size == 0 && r->bytes % type->size == 0) {
        to = (char *)to + (int64_t)(r->at / type->size) * type->extent;
        n = r->bytes / type->size;
    } else {
        type = MLT_TYPE_BYTE;
        to = r->room = mlt_xcalloc(r->bytes ? r->bytes : 1, 1);
    }
    mlt_req_message(&r->req, to, n, type, name.context, 0, name.source, tag);
}

static void message_came(mlt_worker *w, uint32_t from, const mlt_packet *packet, const void *data,
                         uint64_t bytes)
{
    uint32_t tag;
    mlt_partreq *part = receiver_of(w, from, packet);
    if (!part)
        return;
    const mlt_pair *pair = part_pair(part);
    if (bytes != sizeof tag ||
        (uint32_t)packet->src !=
            (uint32_t)atomic_load_explicit(&pair->recv_round, memory_order_relaxed))
        mlt_fatal("worker %u announces partitions that do not fit the receive of rank %d", from,
                  (int)part->req->rank->world);
    memcpy(&tag, data, sizeof tag);
    claim(part, pair, (uint32_t)packet->word, (uint32_t)packet->dst);
    partition_far_run *r = new_run(part, (uint32_t)packet->word, (uint32_t)packet->dst);
    r->at = r->first * pair->part_bytes;
    r->bytes = r->count * pair->part_bytes;
    if (r->at + r->bytes > pair->room)
        r->bytes = r->at < pair->room ? pair->room - r->at : 0;
    mlt_req_init(&r->req, part->req->rank, MLT_REQ_RECV);
    r->req.on_done = run_came;
    aim(r, pair, partition_far_name_of(part, part->peer_world, part->id), (int32_t)tag);
    mlt_p2p_recv(&r->req);
}

void mlt_part_packet(mlt_worker *worker, uint32_t from, const mlt_packet *packet, const void *data,
                     uint64_t bytes)
{
    switch (packet->kind) {
    case PART_START:
        started(worker, from, packet, data, bytes);
        return;
    case PART_DATA:
        data_came(worker, from, packet, data, bytes);
        return;
    case PART_MESSAGE:
        message_came(worker, from, packet, data, bytes);
        return;
    case PART_GONE:
        mlt_part_gone(worker, from, packet);
        return;
    case PART_DONE:
        mlt_part_near_done(worker, packet);
        return;
    default:
        mlt_fatal("worker %u sends a packet of partitions of unknown kind %u", from, packet->kind);
    }
}
