// SPDX-License-Identifier: BSD-3-Clause
// Partitions inside a process: copied once, from the sender's memory into the receiver's.
#include <string.h>

#include "mpi/p2p/partition_int.h"
#include "mpi/self.h"
#include "mpi/thread.h"
#include "os/os.h"

static void partition_near_copy(const mlt_pair *pair, uint32_t first, uint32_t count)
{
    uint64_t at = first * pair->part_bytes, bytes = count * pair->part_bytes;
    if (at >= pair->room)
        return; // the receive is too small: its status says so
    if (bytes > pair->room - at)
        bytes = pair->room - at;
    if (pair->from_type->contiguous && pair->to_type->contiguous)
        memcpy((char *)pair->to + at, (const char *)pair->from + at, bytes);
    else
        mlt_type_move(pair->to_type, pair->to, pair->from_type, pair->from, at, bytes);
}

// Copies the partitions of a word of marks, neighbours together. Returns how many.
static uint64_t copy_word(const mlt_pair *pair, uint32_t word, uint64_t bits)
{
    for (uint64_t left = bits; left;) {
        uint32_t first = (uint32_t)__builtin_ctzll(left);
        uint64_t after = ~(left >> first);
        uint32_t count = after ? (uint32_t)__builtin_ctzll(after) : 64 - first;
        partition_near_copy(pair, word * 64 + first, count);
        left &= first + count < 64 ? UINT64_MAX << (first + count) : 0;
    }
    // release: pairs with MPI_Parrived.
    atomic_fetch_or_explicit(&pair->there[word], bits, memory_order_release);
    return (uint64_t)__builtin_popcountll(bits);
}

// Takes those of the partitions that nobody has taken. acq_rel: a taker that is not the sender sees
// the marks' data by the load of `ready`; the other order is that of `moved`.
static inline uint64_t partition_near_take(const mlt_pair *pair, uint32_t word, uint64_t bits)
{
    bits &= ~atomic_fetch_or_explicit(&pair->taken[word], bits, memory_order_acq_rel);
    return bits ? copy_word(pair, word, bits) : 0;
}

// True: the round is over, and the caller completes it.
static inline bool partition_near_add(mlt_pair *pair, uint64_t n, uint64_t round)
{
    return atomic_fetch_add_explicit(&pair->moved, n, memory_order_acq_rel) + n ==
           pair_goal(pair, round);
}

static void partition_near_tell(mlt_worker *worker, uint32_t to, uint32_t id, uint64_t round)
{
    mlt_packet packet = {.kind = PART_DONE, .object = id, .word = (int32_t)round};
    mlt_p2p_packet(worker, to, &packet, NULL, 0);
}

static void complete_send(mlt_partreq *part, const mlt_pair *pair, uint64_t round)
{
    mlt_rank *me = part->req->rank;
    mlt_gate *gate = mlt_thread_gate_in(me);
    partition_near_tell(me->worker, pair->to_worker, pair->to_id, round);
    mlt_req_complete(part->req);
    mlt_thread_gate_out(gate);
}

// The receive has started, its MPI_Start is over, and the sender has one thread: until the round is
// over nobody else writes to the pair, so stores do.
static bool partition_near_ready_alone(mlt_pair *pair, uint32_t low, uint32_t high, uint64_t round)
{
    uint64_t moved =
        atomic_load_explicit(&pair->moved, memory_order_relaxed) + 2 * ((uint64_t)high - low + 1);
    partition_near_copy(pair, low, high - low + 1);
    for (uint32_t w = low / 64; w <= high / 64; w++) {
        uint64_t bits = pair_mask(w, low, high);
        bits |= atomic_load_explicit(&pair->ready[w], memory_order_relaxed);
        atomic_store_explicit(&pair->ready[w], bits, memory_order_relaxed);
        bits = pair_mask(w, low, high);
        bits |= atomic_load_explicit(&pair->there[w], memory_order_relaxed);
        atomic_store_explicit(&pair->there[w], bits, memory_order_release); // with MPI_Parrived
    }
    atomic_store_explicit(&pair->moved, moved, memory_order_release); // pairs with all_there
    return moved == pair_goal(pair, round);
}

void mlt_part_near_ready(mlt_partreq *part, uint32_t low, uint32_t high)
{
    mlt_pair *pair = part_pair(part);
    uint64_t n = (uint64_t)high - low + 1;
    uint64_t round = atomic_load_explicit(&pair->sent_round, memory_order_relaxed);
    if (MLT_LIKELY(!part->worker->sched->gate) &&
        atomic_load_explicit(&pair->begun_round, memory_order_acquire) == round) { // with begin
        if (partition_near_ready_alone(pair, low, high, round))
            complete_send(part, pair, round);
        return;
    }
    mlt_pair_mark(pair, low, high);
    if (atomic_load(&pair->recv_round) == round) // seq_cst, after the marks
        for (uint32_t w = low / 64; w <= high / 64; w++)
            n += partition_near_take(pair, w, pair_mask(w, low, high));
    if (partition_near_add(pair, n, round))
        complete_send(part, pair, round);
}

void mlt_part_near_begin(mlt_partreq *part)
{
    mlt_pair *pair = part_pair(part);
    mlt_worker *worker = part->worker;
    uint64_t n = 1;
    mlt_pair_clear(pair, pair->there);
    uint64_t round = atomic_fetch_add(&pair->recv_round, 1) + 1; // seq_cst, before the look
    if (atomic_load(&pair->sent_round) == round)
        for (uint32_t w = 0; w < pair_words(pair->parts); w++) {
            uint64_t bits = atomic_load(&pair->ready[w]);
            n += bits ? partition_near_take(pair, w, bits) : 0;
        }
    if (!partition_near_add(pair, n, round)) {
        // release: pairs with near_ready. The sender may be in its next round already.
        atomic_store_explicit(&pair->begun_round, round, memory_order_release);
        return;
    }
    partition_near_tell(worker, pair->from_worker, pair->from_id, round);
    mlt_part_receive_done(part);
}

static bool all_bits(const mlt_pair *pair)
{
    for (uint32_t w = 0; w < pair_words(pair->parts); w++) {
        uint64_t all = pair_mask(w, 0, pair->parts - 1);
        if ((atomic_load_explicit(&pair->there[w], memory_order_relaxed) & all) != all)
            return false;
    }
    return true;
}

bool mlt_part_is_over(mlt_req *req)
{
    mlt_partreq *part = req->extra;
    const mlt_pair *pair = part_pair(part);
    if (part->sends || !pair || !pair->direct || !all_bits(pair))
        return false;
    // MPI_Parrived has told of them, perhaps, so this must be true. The thread that brought the last
    // one is between two instructions.
    uint64_t goal = pair_goal(pair, atomic_load_explicit(&pair->recv_round, memory_order_relaxed));
    while (atomic_load_explicit(&pair->moved, memory_order_acquire) < goal)
        mlt_os_yield();
    mlt_part_receive_done(part);
    return true;
}

void mlt_part_near_done(mlt_worker *worker, const mlt_packet *packet)
{
    mlt_partreq *part = mlt_part_find(worker, packet->object);
    const mlt_pair *pair = part ? part_pair(part) : NULL;
    if (!pair || !pair->direct || part->req->done)
        return;
    // A receive may have found out by itself, and be in a later round.
    const _Atomic uint64_t *round = part->sends ? &pair->sent_round : &pair->recv_round;
    if ((int32_t)atomic_load_explicit(round, memory_order_relaxed) != packet->word)
        return;
    if (part->sends)
        mlt_req_complete(part->req);
    else
        mlt_part_receive_done(part);
}
