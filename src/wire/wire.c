// SPDX-License-Identifier: BSD-3-Clause
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "os/apart.h"
#include "os/jitter.h"
#include "os/numa.h"
#include "os/os.h"

static bool take_nothing(void *arg, mlt_peer *peer, const mlt_wire_frame *frame, const char **fault)
{
    (void)arg, (void)peer, (void)frame, (void)fault;
    return true;
}

static unsigned char *place_nowhere(void *arg, mlt_peer *peer, const mlt_wire_frame *frame,
                                    uint64_t *bytes, const char **fault)
{
    (void)arg, (void)peer, (void)frame, (void)bytes, (void)fault;
    return NULL;
}

const mlt_wire_taker mlt_wire_nobody = {.take = take_nothing, .place = place_nowhere};

enum { HOT_BYTES = 384 << 10, LOOKS = 16 };

typedef struct chunk_head {
    _Alignas(MLT_LINE) _Atomic uint32_t busy;
} chunk_head;
_Static_assert(sizeof(chunk_head) == MLT_LINE, "the job's layout counts on it");

// Workers of this host, by their local numbers.
static void *ring_memory(mlt_job *job, uint32_t to, uint32_t from)
{
    return (char *)job + job->rings_at +
           ((uint64_t)to * job->local_workers + from) * job->ring_bytes;
}

static chunk_head *chunk_heads(mlt_job *job, uint32_t local)
{
    return (chunk_head *)((char *)job + job->pools_at + (uint64_t)local * job->pool_bytes);
}

// After some rings were left: everybody's earlier stamps can be seen, and later senders see that
// they were left. A job whose senders count on a barrier that nobody makes would lose messages.
static void barrier(mlt_wire *wire)
{
    mlt_jitter();
    if (!wire->membarrier)
        atomic_thread_fence(memory_order_seq_cst); // pairs with mlt_ring_is_cold
    else if (mlt_os_barrier() != MLT_OK)
        mlt_fatal("the system refuses membarrier, which it allowed at the start: this worker would "
                  "miss messages; let the program restrict its system calls less");
    mlt_jitter();
}

static void attend(mlt_wire *wire, mlt_peer *peer)
{
    if (peer->hot)
        return;
    if (wire->hot_count == wire->hot_most) {
        // Make room: stop attending to one, and look at it once more as the contract asks.
        mlt_peer *old = wire->hot[wire->hot_next];
        mlt_ring_attend(&old->rx, false);
        barrier(wire);
        old->hot = false;
        if (mlt_ring_give_back(&old->rx))
            mlt_job_wake(mlt_job_local_at(wire->job, old->local));
        if (mlt_ring_peek(&old->rx)) {
            // Not forgotten: it comes back with the next look at the news.
            atomic_fetch_or_explicit(mlt_job_news_at(wire->job, wire->local) + old->local / 64,
                                     UINT64_C(1) << old->local % 64, memory_order_relaxed);
            // An exchange as the senders' (mlt_wire_notify): a store between two of them would hide
            // the earlier one's bit from a reader of the later 1.
            (void)atomic_exchange_explicit(&wire->own->news, 1, memory_order_acq_rel);
        }
        wire->hot[wire->hot_next] = peer;
        wire->hot_next = (wire->hot_next + 1) % wire->hot_most;
    } else {
        wire->hot[wire->hot_count++] = peer;
    }
    peer->hot = true;
    mlt_ring_attend(&peer->rx, true);
}

static void open_rings(mlt_wire *wire, mlt_peer *peer, uint32_t local)
{
    mlt_job *job = wire->job;
    mlt_ring_open_tx(&peer->tx, ring_memory(job, local, wire->local), job->ring_slots,
                     job->ring_data);
    mlt_ring_open_rx(&peer->rx, ring_memory(job, wire->local, local), job->ring_slots,
                     job->ring_data);
    peer->backlog = &peer->tx.ring->backlog;
}

static void meet_neighbour(mlt_wire *wire, uint32_t worker, bool same_process)
{
    uint32_t local = mlt_job_location_at(wire->job, worker)->local;
    mlt_peer *peer = &wire->peers[local];
    peer->worker = worker;
    peer->local = local;
    mlt_list_init(&peer->queue);
    if (wire->all)
        wire->all[worker] = peer;
    if (worker == wire->self)
        return;
    peer->distance = same_process ? MLT_SAME_PROCESS : MLT_SAME_HOST;
    open_rings(wire, peer, local);
}

// Each begins at a line; NULL: no memory.
static mlt_peer *new_peers(uint32_t count)
{
    _Static_assert(_Alignof(mlt_peer) <= 64, "as apart memory is aligned");
    return mlt_os_apart_try(count * sizeof(mlt_peer));
}

// Peers of this host, all at once: the rings that they stand for cost nothing until they are used.
static void meet_neighbours(mlt_wire *wire)
{
    mlt_job *job = wire->job;
    uint32_t own = mlt_job_location_at(job, wire->self)->proc;
    for (uint32_t p = 0; p < job->procs; p++) {
        const mlt_job_proc *proc = mlt_job_proc_at(job, p);
        for (uint32_t w = 0; proc->host == job->host && w < proc->workers; w++)
            meet_neighbour(wire, proc->first_worker + w, p == own);
    }
}

static mlt_peer *new_far(mlt_wire *wire, uint32_t worker)
{
    mlt_peer *peer = new_peers(1);
    if (!peer)
        mlt_no_room("what is to be sent to worker %u", worker);
    peer->worker = worker;
    peer->distance = MLT_OTHER_HOST;
    peer->foreign = worker >= wire->job->workers;
    mlt_list_init(&peer->queue);
    if (!peer->foreign)
        peer->local = mlt_job_location_at(wire->job, worker)->local;
    else
        peer->first_rank = (int32_t)mlt_worlds_of_worker(wire->worlds, worker)->first_rank;
    if (wire->over->meet(wire, peer) != MLT_OK)
        mlt_no_room("what is to be sent to worker %u", worker);
    return peer;
}

static mlt_peer *meet_abroad(mlt_wire *wire, uint32_t worker)
{
    uint32_t hash = mlt_hash_word(worker);
    mlt_assert(wire->worlds && worker < mlt_worlds_workers(wire->worlds));
    for (mlt_table_look look = mlt_table_look_for(&wire->abroad, hash); mlt_table_next(&look);)
        if (((mlt_peer *)look.word)->worker == worker)
            return (mlt_peer *)look.word;
    mlt_peer *peer = new_far(wire, worker);
    mlt_table_add(&wire->abroad, hash, (uintptr_t)peer);
    return peer;
}

bool mlt_wire_hears_abroad(mlt_wire *wire)
{
    const mlt_world *world = mlt_worlds_last(wire->worlds);
    for (; world; world = world->next)
        if (atomic_load_explicit(&world->holders, memory_order_relaxed) &&
            !wire->over->job_has_ended(wire, world))
            return true;
    return false;
}

void mlt_wire_forget(mlt_wire *wire, mlt_peer *peer)
{
    mlt_assert(peer->foreign && mlt_peer_is_idle(peer));
    if (!mlt_table_remove(&wire->abroad, mlt_hash_word(peer->worker), (uintptr_t)peer))
        mlt_fatal("worker %u of another job is forgotten twice", peer->worker);
    wire->over->forget(wire, peer);
    mlt_os_apart_free(peer);
}

mlt_peer *mlt_wire_meet(mlt_wire *wire, uint32_t worker)
{
    if (worker >= wire->job->workers)
        return meet_abroad(wire, worker);
    wire->all[worker] = new_far(wire, worker);
    wire->met++;
    wire->met_last = worker;
    return wire->all[worker];
}

static mlt_status open_far(mlt_wire *wire)
{
    wire->all = calloc(wire->job->workers, sizeof *wire->all);
    if (!wire->all)
        return MLT_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < wire->job->local_workers; i++) // those that were met before
        if (wire->peers[i].queue.next)
            wire->all[wire->peers[i].worker] = &wire->peers[i];
    wire->over = &mlt_tcp;
    mlt_status status = wire->over->open(wire, wire->ctl);
    if (status != MLT_OK)
        wire->over = NULL;
    return status;
}

bool mlt_wire_go_abroad(mlt_wire *wire)
{
    if (wire->worlds) {
        wire->over->tidy(wire);
        return true;
    }
    if (!wire->over && open_far(wire) != MLT_OK) {
        free(wire->all);
        wire->all = NULL;
        return false;
    }
    wire->worlds = mlt_worlds_of(wire->job, wire->ctl);
    return true;
}

// Rings lie where they are read: a reader polls them, while a writer's stores wait for nothing.
// Chunks lie where they are written, for any worker may read them. A page that two workers' rings
// share lies where it is touched first.
static MLT_COLD void keep_near(mlt_wire *wire)
{
    mlt_job *job = wire->job;
    uint32_t node = mlt_os_node();
    uint64_t rings = job->local_workers * job->ring_bytes;
    // If the system refuses, messages are slower.
    (void)!mlt_os_prefer_node(ring_memory(job, wire->local, 0), rings, node);
    (void)!mlt_os_prefer_node(chunk_heads(job, wire->local), job->pool_bytes, node);
}

mlt_wire *mlt_wire_new(mlt_job *job, uint32_t self, int ctl)
{
    mlt_wire *wire = mlt_os_apart_try(sizeof *wire);
    mlt_peer *peers = new_peers(job->local_workers);
    uint16_t *chunk_to = calloc(job->chunks + 1, sizeof *chunk_to);
    if (!wire || !peers || !chunk_to) {
        free(chunk_to);
        mlt_os_apart_free(wire);
        mlt_os_apart_free(peers);
        return NULL;
    }
    if (job->membarrier && mlt_os_barrier_join() != MLT_OK)
        mlt_fatal(
            "this process may not call membarrier, though mpirun may: run both in one container");
    *wire = (mlt_wire){
        .job = job,
        .own = mlt_job_worker_at(job, self),
        .self = self,
        .local = mlt_job_location_at(job, self)->local,
        .membarrier = job->membarrier,
        .hot_most = job->membarrier ? MLT_WIRE_HOT : MLT_WIRE_HOT_CROWDED,
        .peers = peers,
        .chunks = job->chunks,
        .chunk_bytes = job->chunk_bytes,
        .chunk_to = chunk_to,
        .ctl = ctl,
    };
    if (job->hosts > 1 && open_far(wire) != MLT_OK) {
        mlt_wire_free(wire);
        return NULL;
    }
    if (job->numa_local)
        keep_near(wire);
    meet_neighbours(wire);
    atomic_store(&wire->own->state, MLT_WORKER_AWAKE);
    return wire;
}

void mlt_wire_publish(mlt_wire *wire)
{
    atomic_store_explicit(&wire->own->sent, wire->sent, memory_order_relaxed);
    atomic_store_explicit(&wire->own->received, wire->received, memory_order_relaxed);
}

void mlt_wire_end(mlt_wire *wire)
{
    if (wire->over)
        wire->over->end(wire);
    mlt_wire_publish(wire);
    atomic_store(&wire->own->state, MLT_WORKER_ENDED);
}

void mlt_wire_free(mlt_wire *wire)
{
    if (!wire)
        return;
    mlt_wire_end(wire);
    for (uint32_t i = 0; wire->all && i < wire->job->workers; i++)
        if (wire->all[i] && mlt_peer_is_far(wire->all[i])) {
            wire->over->forget(wire, wire->all[i]);
            mlt_os_apart_free(wire->all[i]);
        }
    for (size_t i = 0; i < wire->abroad.size; i++)
        if (wire->abroad.slots[i].used) {
            mlt_peer *peer = (mlt_peer *)wire->abroad.slots[i].word;
            wire->over->forget(wire, peer);
            mlt_os_apart_free(peer);
        }
    mlt_table_free(&wire->abroad);
    if (wire->over)
        wire->over->close(wire);
    mlt_tokens_fini(&wire->names);
    free(wire->all);
    free(wire->chunk_to);
    mlt_os_apart_free(wire->peers);
    mlt_os_apart_free(wire);
}

void mlt_wire_notify(mlt_wire *wire, mlt_peer *peer)
{
    mlt_job_worker *to = mlt_job_local_at(wire->job, peer->local);
    atomic_fetch_or_explicit(mlt_job_news_at(wire->job, peer->local) + wire->local / 64,
                             UINT64_C(1) << wire->local % 64, memory_order_release);
    mlt_jitter();
    // seq_cst: ordered before the look at `state` in mlt_job_wake; pairs with mlt_wire_doze. An
    // exchange, so that a reader of a later sender's 1 has seen our bit too.
    (void)atomic_exchange_explicit(&to->news, 1, memory_order_seq_cst);
    mlt_jitter();
    mlt_job_wake(to);
}

void mlt_wire_gather(mlt_wire *wire)
{
    // An exchange, not a store: reading a sender's 1 (acquire), it sees the bit that was set
    // before. A store may become visible after the looks below, and wipe out news that they did not
    // see.
    (void)atomic_exchange_explicit(&wire->own->news, 0, memory_order_acquire);
    mlt_jitter();
    _Atomic uint64_t *words = mlt_job_news_at(wire->job, wire->local);
    for (uint32_t i = 0; i < wire->job->news_words; i++) {
        if (atomic_load_explicit(&words[i], memory_order_relaxed) == 0)
            continue;
        // acquire: pairs with the release in mlt_wire_notify.
        uint64_t bits = atomic_exchange_explicit(&words[i], 0, memory_order_acquire);
        while (bits) {
            uint32_t bit = (uint32_t)__builtin_ctzll(bits);
            bits &= bits - 1;
            attend(wire, &wire->peers[i * 64 + bit]);
        }
    }
}

// Stops attending to all rings; false if one of them has a message after all.
static bool leave_all(mlt_wire *wire)
{
    for (uint32_t i = 0; i < wire->hot_count; i++)
        mlt_ring_attend(&wire->hot[i]->rx, false);
    barrier(wire);
    bool empty = true;
    for (uint32_t i = 0; i < wire->hot_count; i++)
        if (mlt_ring_peek(&wire->hot[i]->rx))
            empty = false;
    if (!empty) {
        for (uint32_t i = 0; i < wire->hot_count; i++)
            mlt_ring_attend(&wire->hot[i]->rx, true);
        return false;
    }
    for (uint32_t i = 0; i < wire->hot_count; i++) {
        wire->hot[i]->hot = false;
        if (mlt_ring_give_back(&wire->hot[i]->rx))
            mlt_job_wake(mlt_job_local_at(wire->job, wire->hot[i]->local));
    }
    wire->hot_count = wire->hot_next = 0;
    return true;
}

bool mlt_wire_doze(mlt_wire *wire, mlt_job_worker_state how, uint32_t blocked,
                   bool (*ready)(void *arg), void *arg)
{
    mlt_job_worker *own = wire->own;
    if (mlt_wire_has_news(wire) || !leave_all(wire))
        return false;
    mlt_wire_publish(wire);
    atomic_store_explicit(&own->blocked, blocked, memory_order_relaxed);
    // seq_cst: whoever makes news after this sees the sleeper; pairs with mlt_wire_notify,
    // mlt_job_ask_waits and the fence in mlt_wire_chunk_release.
    wire->nap = ((wire->nap & ~(uint32_t)MLT_NAP_STATE) + MLT_NAP) | how;
    atomic_store_explicit(&own->state, wire->nap, memory_order_seq_cst);
    mlt_jitter();
    bool asked = atomic_load(&own->report_wanted) != atomic_load(&own->reported);
    if (wire->over && wire->over->ready(wire))
        return false;
    return atomic_load(&own->news) == 0 && !asked && !ready(arg);
}

void mlt_wire_rise(mlt_wire *wire)
{
    mlt_job_worker *own = wire->own;
    mlt_jitter();
    atomic_store_explicit(&own->state, MLT_WORKER_AWAKE, memory_order_relaxed);
    atomic_fetch_add_explicit(&own->epoch, 1, memory_order_relaxed);
}

// acquire: the receiver's reads come before our writes; pairs with mlt_wire_chunk_release.
static bool try_chunk(chunk_head *head)
{
    if (atomic_load_explicit(&head->busy, memory_order_acquire))
        return false;
    atomic_store_explicit(&head->busy, 1, memory_order_relaxed);
    return true;
}

int32_t mlt_wire_chunk_take(mlt_wire *wire, bool hot, uint32_t to)
{
    chunk_head *heads = chunk_heads(wire->job, wire->local);
    // Where workers share cores they share caches, too: the pools of all of them should fit. (16
    // processes on two cores, MPI_Alltoall of 64 KiB: 1.9 ms instead of 4.6.)
    uint32_t rings = wire->membarrier && wire->hot_count ? wire->hot_count : 1;
    uint32_t few = HOT_BYTES / wire->chunk_bytes * rings;
    uint32_t limit = (hot || !wire->membarrier) && few < wire->chunks ? few : wire->chunks;
    bool waits = false;
    for (uint32_t i = 0; i < limit && i < LOOKS; i++) { // the next call goes on from there
        uint32_t at = wire->chunk_next < limit ? wire->chunk_next : 0;
        wire->chunk_next = at + 1;
        if (try_chunk(&heads[at])) {
            wire->chunk_to[at] = (uint16_t)to;
            return (int32_t)at;
        }
        waits |= wire->chunk_to[at] == to;
    }
    return waits ? MLT_CHUNK_LATER : MLT_CHUNK_NONE;
}

void *mlt_wire_chunk_at(mlt_wire *wire, uint32_t local, uint32_t chunk)
{
    mlt_job *job = wire->job;
    mlt_assert(local < job->local_workers && chunk < job->chunks);
    uint64_t heads = ((uint64_t)job->chunks * MLT_LINE + 4095) & ~UINT64_C(4095);
    return (char *)chunk_heads(job, local) + heads + (uint64_t)chunk * job->chunk_bytes;
}

void mlt_wire_chunk_release(mlt_wire *wire, uint32_t local, uint32_t chunk)
{
    atomic_store_explicit(&chunk_heads(wire->job, local)[chunk].busy, 0, memory_order_release);
    mlt_jitter();
    atomic_thread_fence(memory_order_seq_cst); // pairs with the store of `state` in mlt_wire_doze
    mlt_job_wake(mlt_job_local_at(wire->job, local));
}
