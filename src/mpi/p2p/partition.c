// SPDX-License-Identifier: BSD-3-Clause
// Partitioned messages: the calls of MPI, and what both distances share.
#include "mpi/p2p/partition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "boot/ctl.h"
#include "mpi/count.h"
#include "mpi/error/answer.h"
#include "mpi/error/error.h"
#include "mpi/info/info.h"
#include "mpi/p2p/copies.h"
#include "mpi/p2p/kind.h"
#include "mpi/p2p/partition_int.h"
#include "mpi/p2p/request.h"
#include "mpi/self.h"
#include "mpi/thread.h"
#include "mpi_bodies.h"
#include "p2p/worker.h"
#include "type/type.h"
#include "wire/wire.h"

// ---- pairs

mlt_pair *mlt_pair_new(uint32_t parts, uint64_t part_bytes, bool direct, bool sends)
{
    uint32_t words = pair_words(parts), maps = direct ? 3 : 2;
    mlt_pair *pair = mlt_xcalloc(1, sizeof *pair + (size_t)words * maps * sizeof *pair->bits);
    atomic_init(&pair->refs, 1);
    pair->direct = direct;
    pair->parts = parts;
    pair->part_bytes = part_bytes;
    if (direct || !sends)
        pair->there = pair->bits;
    if (sends)
        pair->ready = pair->bits + (direct ? words : 0);
    pair->taken = (sends ? pair->ready : pair->there) + words;
    return pair;
}

void mlt_pair_drop(mlt_pair *pair)
{
    // acq_rel: whoever drops the last sees what the other did with it.
    if (pair && atomic_fetch_sub_explicit(&pair->refs, 1, memory_order_acq_rel) == 1)
        free(pair);
}

void mlt_pair_clear(const mlt_pair *pair, _Atomic uint64_t *bits)
{
    for (uint32_t w = 0; w < pair_words(pair->parts); w++)
        atomic_store_explicit(&bits[w], 0, memory_order_relaxed);
}

void mlt_pair_land(const mlt_pair *pair, uint32_t low, uint32_t high)
{
    for (uint32_t w = low / 64; w <= high / 64; w++) // release: pairs with MPI_Parrived
        atomic_fetch_or_explicit(&pair->there[w], pair_mask(w, low, high), memory_order_release);
}

// ---- a worker's requests by id

mlt_parts *mlt_parts_of(const mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    if (!w->parts) {
        w->parts = mlt_xcalloc(1, sizeof *w->parts);
        mlt_pool_init(&w->parts->runs, sizeof(mlt_part_run), 16);
    }
    return w->parts;
}

mlt_partreq *mlt_part_find(mlt_worker *worker, uint32_t id)
{
    mlt_table_look look = mlt_table_look_for(&mlt_parts_of(worker)->table, mlt_hash_word(id));
    while (mlt_table_next(&look))
        if (((mlt_partreq *)look.word)->id == id)
            return (mlt_partreq *)look.word;
    return NULL;
}

static void give_id(mlt_partreq *part)
{
    mlt_worker *worker = part->worker;
    mlt_parts *parts = mlt_parts_of(worker);
    do
        part->id = ++parts->last_id;
    while (mlt_part_find(worker, part->id)); // ids may have gone round
    mlt_table_add(&parts->table, mlt_hash_word(part->id), (uintptr_t)part);
}

void mlt_parts_free(struct mlt_parts *parts)
{
    if (!parts)
        return;
    mlt_table_free(&parts->table); // requests that the user did not free go with their rank
    mlt_pool_fini(&parts->runs);
    free(parts);
}

// ---- making and ending requests

static int bad_init(mlt_rank *me, int partitions, MPI_Count count, const mlt_type *type, int peer,
                    int tag, mlt_comm *comm, MPI_Info info)
{
    if (partitions < 0)
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_ARG, "partitions", partitions, "at least 0");
    if (peer == MPI_ANY_SOURCE)
        return mlt_bad_rank(me, comm, me->fn, MPI_ERR_RANK, "source", peer,
                            " or MPI_PROC_NULL (partitioned messages have no wildcards)");
    if (tag == MPI_ANY_TAG)
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_TAG, "tag", tag,
                             "a tag from 0 to 2147483647 (partitioned messages have no wildcards)");
    if (__builtin_mul_overflow(count * (int64_t)type->size, (int64_t)partitions, &(int64_t){0}))
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_COUNT, "count", count,
                             "so small that the bytes of all partitions fit into 63 bits");
    if (info != MPI_INFO_NULL && !mlt_info_of(info))
        return mlt_bad_info(me, comm, me->fn, info);
    return MPI_SUCCESS;
}

static void make_sender_pair(mlt_partreq *part)
{
    mlt_worker *w = part->worker;
    bool direct = !part->nobody && part_is_near(w, part->peer_worker);
    mlt_pair *pair = mlt_pair_new(part->parts, part->part_bytes, direct, true);
    pair->from = part->req->buf;
    pair->from_type = part->req->type;
    pair->from_worker = w->index;
    pair->from_id = part->id;
    pair->to_worker = part->peer_worker;
    atomic_init(&part->pair, pair);
}

int mlt_part_init(mlt_rank *me, const void *buf, int partitions, MPI_Count count,
                  const mlt_type *type, int peer, int tag, mlt_comm *comm, MPI_Info info,
                  MPI_Request *request, bool sends)
{
    int code = bad_init(me, partitions, count, type, peer, tag, comm, info);
    if (code != MPI_SUCCESS)
        return code;
    mlt_req *req = mlt_req_new(me);
    mlt_partreq *part = mlt_xcalloc(1, sizeof *part);
    mlt_req_fill(req, me, MLT_REQ_OTHER, buf, (uint64_t)partitions * (uint64_t)count, type, peer,
                 tag, comm);
    mlt_req_hold_handles(comm, type);
    req->done = true;
    req->flags = MLT_REQF_PERSISTENT | MLT_REQF_PART;
    req->extra = part;
    part->req = req;
    part->worker = me->worker;
    part->sends = sends;
    part->parts = (uint32_t)partitions;
    part->per_part = (uint64_t)count;
    part->part_bytes = (uint64_t)count * type->size;
    part->nobody = peer == MPI_PROC_NULL;
    part->setup.done = true;
    if (!part->nobody) {
        part->peer_world = mlt_comm_world_rank(comm, peer);
        part->peer_worker = mlt_worker_of_rank(me->worker, part->peer_world);
    }
    give_id(part);
    if (sends)
        make_sender_pair(part);
    if (!part->nobody)
        (sends ? mlt_part_offer : mlt_part_await)(part);
    *request = mlt_req_handle(req);
    return MPI_SUCCESS;
}

void mlt_part_free(mlt_partreq *part)
{
    if (!part->ended || !part->setup.done || part->queued)
        return;
    mlt_pair_drop(part_pair(part));
    mlt_pair_drop(part->stale);
    free(part->early);
    free(part);
}

void mlt_part_request_end(mlt_req *req)
{
    mlt_partreq *part = req->extra;
    (void)mlt_table_remove(&mlt_parts_of(req->rank->worker)->table, mlt_hash_word(part->id),
                           (uintptr_t)part);
    mlt_req_drop_handles(req->owner, req->type);
    if (req->flags & MLT_REQF_COPIES)
        mlt_copies_free(req);
    mlt_req_free(req);
    part->req = NULL;
    part->ended = true;
    if (!part->nobody)
        mlt_part_withdraw(part);
    mlt_part_free(part);
}

struct mlt_fortran_copy **mlt_part_copies(const mlt_req *req)
{
    mlt_partreq *part = req->extra;
    return &part->copies;
}

bool mlt_part_may_free(const mlt_req *req)
{
    const mlt_partreq *part = req->extra;
    const mlt_pair *pair = part_pair(part);
    for (uint32_t i = 0; part->sends && !req->done && i < part->parts; i++)
        if (!pair_bit(pair->ready, i, memory_order_relaxed))
            return false;
    return true;
}

// ---- starting and completing

static void start_send(mlt_partreq *part)
{
    mlt_pair *pair = part_pair(part);
    mlt_pair_clear(pair, pair->ready);
    mlt_pair_clear(pair, pair->taken);
    atomic_store_explicit(&part->announced, 0, memory_order_relaxed);
    part->pushed = 0;
    part->req->from = MPI_ANY_SOURCE;
    part->req->got_tag = MPI_ANY_TAG;
    part->req->got = 0;
    part->req->done = part->parts == 0;
    atomic_fetch_add(&pair->sent_round, 1); // after the marks; seq_cst: see partition_int.h
}

static void start_receive(mlt_partreq *part)
{
    part->pending = !part_pair(part);
    if (!part->pending)
        mlt_part_begin_receive(part);
}

static void receive_from_nobody(mlt_req *req)
{
    req->from = MPI_PROC_NULL;
    req->got_tag = MPI_ANY_TAG;
    req->got = 0;
    req->done = true;
}

void mlt_part_request_start(mlt_req *req)
{
    mlt_partreq *part = req->extra;
    req->done = false;
    req->waiter = NULL;
    req->on_done = NULL;
    if (MLT_UNLIKELY(part->worker->watched || mlt_mpi_profiling) && !part->nobody)
        mlt_count_partitioned(req->rank, part->sends, part->peer_worker, part->parts,
                              part->parts * part->part_bytes);
    if (part->sends)
        start_send(part);
    else if (part->nobody)
        receive_from_nobody(req);
    else
        start_receive(part);
}

void mlt_part_begin_receive(mlt_partreq *part)
{
    const mlt_pair *pair = part_pair(part);
    part->pending = false;
    if (pair->parts == 0)
        mlt_part_receive_done(part);
    else if (pair->direct)
        mlt_part_near_begin(part);
    else
        mlt_part_far_begin(part);
}

void mlt_part_receive_done(mlt_partreq *part)
{
    mlt_req *req = part->req;
    const mlt_pair *pair = part_pair(part);
    req->from = req->peer;
    req->got_tag = req->tag;
    req->sent = pair_total(pair);
    req->got = req->sent < pair->room ? req->sent : pair->room;
    req->sent_type = part->offer.type;
    req->status = req->sent > pair->room ? MLT_ERR_TRUNCATED : MLT_OK;
    if (req->sent_type != req->type->code)
        mlt_mpi_kind_differs(req);
    mlt_req_complete(req);
}

// ---- MPI_Pready

// Raises an error outside of the surface's detour: the rank's gate is not held yet, and the code is
// what the program gets.
static MLT_COLD int partition_refuse(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class,
                                     const char *text)
{
    mlt_gate *gate = mlt_thread_gate_in(me);
    me->fn = fn;
    int code = mlt_mpi_answer(me, mlt_mpi_raise(me, comm, fn, class, "%s", text));
    mlt_thread_gate_out(gate);
    return code;
}

static MLT_COLD int bad_request(mlt_rank *me, uint16_t fn, MPI_Request handle, bool sends)
{
    char text[256];
    mlt_req *req = mlt_req_mine(me, handle);
    const char *wanted = sends ? "MPI_Psend_init" : "MPI_Precv_init";
    if (!req) {
        mlt_gate *gate = mlt_thread_gate_in(me);
        me->fn = fn;
        int code = mlt_mpi_answer(me, mlt_req_bad(me, -1, handle));
        mlt_thread_gate_out(gate);
        return code;
    }
    if ((req->flags & MLT_REQF_PART) && ((mlt_partreq *)req->extra)->sends == sends)
        snprintf(text, sizeof text,
                 "argument request is an inactive request of %s, but should be one that MPI_Start "
                 "has started",
                 wanted);
    else
        snprintf(text, sizeof text, "argument request is a request of %s, but should be one of %s",
                 req->flags & MLT_REQF_SHARED ? "a nonblocking operation" : mlt_fn_name(req->fn),
                 wanted);
    return partition_refuse(me, req->owner, fn, MPI_ERR_REQUEST, text);
}

static MLT_COLD int bad_partition(mlt_rank *me, const mlt_partreq *part, uint16_t fn,
                                  const char *name, int64_t value)
{
    char text[192];
    if (part->parts == 0)
        snprintf(text, sizeof text, "argument %s is %lld, but the request has no partitions", name,
                 (long long)value);
    else
        snprintf(text, sizeof text, "argument %s is %lld, but should be a partition from 0 to %lu",
                 name, (long long)value, (unsigned long)part->parts - 1);
    return partition_refuse(me, part->req->owner, fn, MPI_ERR_ARG, text);
}

static MLT_COLD int twice(mlt_rank *me, const mlt_partreq *part, uint16_t fn, uint32_t partition)
{
    char text[160];
    snprintf(text, sizeof text,
             "partition %lu was ready already; it becomes ready once for each start of the request",
             (unsigned long)partition);
    return partition_refuse(me, part->req->owner, fn, MPI_ERR_ARG, text);
}

// The active send of a handle; NULL: it is none.
static inline mlt_partreq *sender_of(mlt_rank *me, MPI_Request handle)
{
    mlt_req *req = mlt_req_mine(me, handle);
    enum { FLAGS = MLT_REQF_PART | MLT_REQF_ACTIVE };
    if (MLT_UNLIKELY(!req || (req->flags & FLAGS) != FLAGS))
        return NULL;
    mlt_partreq *part = req->extra;
    return MLT_LIKELY(part->sends) ? part : NULL;
}

// The first of the partitions that is ready already; UINT32_MAX: none.
static inline uint32_t first_ready(const mlt_pair *pair, uint32_t low, uint32_t high)
{
    for (uint32_t w = low / 64; w <= high / 64; w++) {
        uint64_t both =
            atomic_load_explicit(&pair->ready[w], memory_order_relaxed) & pair_mask(w, low, high);
        if (MLT_UNLIKELY(both != 0))
            return w * 64 + (uint32_t)__builtin_ctzll(both);
    }
    return UINT32_MAX;
}

static int ready(mlt_rank *me, mlt_partreq *part, uint16_t fn, uint32_t low, uint32_t high)
{
    mlt_pair *pair = part_pair(part);
    uint32_t before = first_ready(pair, low, high);
    if (MLT_UNLIKELY(before != UINT32_MAX))
        return twice(me, part, fn, before);
    if (MLT_UNLIKELY(part->req->flags & MLT_REQF_COPIES))
        mlt_copies_ready(part->req, low, high);
    if (pair->direct)
        mlt_part_near_ready(part, low, high);
    else
        mlt_part_far_ready(part, low, high);
    return MPI_SUCCESS;
}

// Threads of a rank that is not ready for them, which the surface's detour would have found.
static inline void check_thread(mlt_rank *me, uint16_t fn)
{
    if (MLT_UNLIKELY(mlt_mpi_detours()) && mlt_thread_is_kept_out(me))
        mlt_mpi_not_ready(fn);
}

int mlt_mpi_Pready(mlt_rank *me, int partition, MPI_Request request)
{
    check_thread(me, MLT_FN_Pready);
    mlt_partreq *part = sender_of(me, request);
    if (MLT_UNLIKELY(!part))
        return bad_request(me, MLT_FN_Pready, request, true);
    if (MLT_UNLIKELY((uint32_t)partition >= part->parts))
        return bad_partition(me, part, MLT_FN_Pready, "partition", partition);
    return ready(me, part, MLT_FN_Pready, (uint32_t)partition, (uint32_t)partition);
}

int mlt_mpi_Pready_range(mlt_rank *me, int partition_low, int partition_high, MPI_Request request)
{
    check_thread(me, MLT_FN_Pready_range);
    mlt_partreq *part = sender_of(me, request);
    if (MLT_UNLIKELY(!part))
        return bad_request(me, MLT_FN_Pready_range, request, true);
    if (MLT_UNLIKELY(partition_high == partition_low - 1) && (uint32_t)partition_low <= part->parts)
        return MPI_SUCCESS; // none, as of a request without partitions
    if (MLT_UNLIKELY((uint32_t)partition_low >= part->parts))
        return bad_partition(me, part, MLT_FN_Pready_range, "partition_low", partition_low);
    if (MLT_UNLIKELY((uint32_t)partition_high >= part->parts))
        return bad_partition(me, part, MLT_FN_Pready_range, "partition_high", partition_high);
    if (MLT_UNLIKELY(partition_low > partition_high))
        return partition_refuse(
            me, part->req->owner, MLT_FN_Pready_range, MPI_ERR_ARG,
            "argument partition_low is above partition_high, but should be at most it");
    return ready(me, part, MLT_FN_Pready_range, (uint32_t)partition_low, (uint32_t)partition_high);
}

// False: a partition of the list was refused, and *code is what the call returns.
static bool check_list(mlt_rank *me, mlt_partreq *part, int length, const int *list, int *code)
{
    char name[48];
    for (int i = 0; i < length; i++) {
        snprintf(name, sizeof name, "array_of_partitions[%d]", i);
        if ((uint32_t)list[i] >= part->parts) {
            *code = bad_partition(me, part, MLT_FN_Pready_list, name, list[i]);
            return false;
        }
        if (pair_bit(part_pair(part)->ready, (uint32_t)list[i], memory_order_relaxed)) {
            *code = twice(me, part, MLT_FN_Pready_list, (uint32_t)list[i]);
            return false;
        }
    }
    return true;
}

// Neighbours in the list become ready together.
int mlt_mpi_Pready_list(mlt_rank *me, int length, const int list[], MPI_Request request)
{
    check_thread(me, MLT_FN_Pready_list);
    mlt_partreq *part = sender_of(me, request);
    if (MLT_UNLIKELY(!part))
        return bad_request(me, MLT_FN_Pready_list, request, true);
    if (MLT_UNLIKELY(length < 0 || (length > 0 && !list)))
        return partition_refuse(
            me, part->req->owner, MLT_FN_Pready_list, MPI_ERR_ARG,
            length < 0 ? "argument length is negative, but should be at least 0"
                       : "argument array_of_partitions is NULL, but should be an array, "
                         "as length is above 0");
    int code = MPI_SUCCESS, next;
    if (!check_list(me, part, length, list, &code))
        return code;
    for (int i = 0; i < length && code == MPI_SUCCESS; i = next) {
        for (next = i + 1; next < length && list[next] == list[next - 1] + 1;)
            next++;
        code = ready(me, part, MLT_FN_Pready_list, (uint32_t)list[i], (uint32_t)list[next - 1]);
    }
    return code;
}

// ---- MPI_Parrived

// acquire throughout: whoever sees that data are there may read them.
// The sender of this process may be in the next round already.
static bool all_there(const mlt_pair *pair)
{
    uint64_t rounds = atomic_load_explicit(&pair->recv_round, memory_order_relaxed);
    return atomic_load_explicit(&pair->moved, memory_order_acquire) >= pair_goal(pair, rounds);
}

// A partition of the receiver's is there if all of the sender's are that reach into it.
static bool is_there(const mlt_partreq *part, uint32_t partition)
{
    const mlt_pair *pair = part_pair(part);
    uint64_t from = partition * part->part_bytes, to = from + part->part_bytes;
    if (!pair)
        return false;
    if (to > pair_total(pair))
        to = pair_total(pair);
    if (from >= to) // without data: with the last
        return pair->parts == 0 || all_there(pair);
    for (uint64_t i = from / pair->part_bytes; i <= (to - 1) / pair->part_bytes; i++)
        if (!pair_bit(pair->there, (uint32_t)i, memory_order_acquire))
            return false;
    return true;
}

static bool look_again(mlt_rank *me, const mlt_partreq *part, uint32_t partition)
{
    mlt_gate *gate = mlt_thread_gate_in(me);
    if (gate)
        me->fn = MLT_FN_Parrived;
    mlt_p2p_poll(me);
    mlt_thread_gate_out(gate);
    return is_there(part, partition);
}

int mlt_mpi_Parrived(mlt_rank *me, MPI_Request request, int partition, int *flag)
{
    check_thread(me, MLT_FN_Parrived);
    mlt_req *req = mlt_req_mine(me, request);
    if (MLT_UNLIKELY(!req || !(req->flags & MLT_REQF_PART) || ((mlt_partreq *)req->extra)->sends))
        return bad_request(me, MLT_FN_Parrived, request, false);
    const mlt_partreq *part = req->extra;
    if (MLT_UNLIKELY((uint32_t)partition >= part->parts))
        return bad_partition(me, part, MLT_FN_Parrived, "partition", partition);
    *flag = !(req->flags & MLT_REQF_ACTIVE) || part->nobody ||
            is_there(part, (uint32_t)partition) || look_again(me, part, (uint32_t)partition);
    if (MLT_UNLIKELY(req->flags & MLT_REQF_COPIES) && *flag && (req->flags & MLT_REQF_ACTIVE) &&
        !part->nobody)
        mlt_copies_arrived(req, (uint32_t)partition);
    return MPI_SUCCESS;
}

// ---- hang reports

// The first partitions in a row for which `is` is false: "3-7 of 16".
static void word_missing(const mlt_partreq *part, bool (*is)(const mlt_partreq *, uint32_t),
                         char *text, size_t size)
{
    char words[48];
    uint32_t low = 0, high;
    while (low < part->parts && is(part, low))
        low++;
    for (high = low; high + 1 < part->parts && !is(part, high + 1);)
        high++;
    if (low == high)
        snprintf(words, sizeof words, "%lu of %lu", (unsigned long)low, (unsigned long)part->parts);
    else
        snprintf(words, sizeof words, "%lu-%lu of %lu", (unsigned long)low, (unsigned long)high,
                 (unsigned long)part->parts);
    size_t length = strlen(words) < size - 1 ? strlen(words) : size - 1;
    memcpy(text, words, length);
    text[length] = 0;
}

static bool is_ready(const mlt_partreq *part, uint32_t i)
{
    return pair_bit(part_pair(part)->ready, i, memory_order_relaxed);
}

static bool is_taken(const mlt_partreq *part, uint32_t i)
{
    return pair_bit(part_pair(part)->taken, i, memory_order_relaxed);
}

static bool all_ready(const mlt_partreq *part)
{
    for (uint32_t i = 0; i < part->parts; i++)
        if (!is_ready(part, i))
            return false;
    return true;
}

void mlt_part_look(const mlt_req *req, struct mlt_ctl_wait *out)
{
    if (!req || !(req->flags & MLT_REQF_PART))
        return;
    const mlt_partreq *part = req->extra;
    out->kind = part->sends ? MLT_WAIT_SEND : MLT_WAIT_RECV;
    out->peer = part->nobody ? MLT_WAIT_ANYONE : part->peer_world;
    out->tag = req->tag;
    out->bytes = req->count * req->type->size;
    out->action = 0;
    if (!part->sends) {
        word_missing(part, is_there, out->label, sizeof out->label);
    } else if (all_ready(part)) {
        word_missing(part, is_taken, out->label, sizeof out->label);
    } else { // it waits for itself
        out->peer = req->rank->world;
        out->label[0] = MLT_CTL_UNREADY;
        word_missing(part, is_ready, out->label + 1, sizeof out->label - 1);
    }
}
