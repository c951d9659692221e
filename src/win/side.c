// SPDX-License-Identifier: BSD-3-Clause
// What a rank holds of a window and waits for. Waits are records in the list of its side; whatever
// may end one looks for it there.
#include "win/side.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "win/lock.h"
#include "win/packet.h"
#include "win/stage.h"

// ---- the part that few ranks have

mlt_win_busy *mlt_win_busy_of(mlt_win_side *side)
{
    if (side->busy)
        return side->busy;
    mlt_win_busy *busy = side->busy = mlt_xcalloc(1, sizeof *busy);
    mlt_list_init(&busy->waits);
    mlt_list_init(&busy->ops);
    return busy;
}

void mlt_win_busy_free(mlt_win_side *side)
{
    mlt_win_busy *busy = side->busy;
    if (!busy)
        return;
    free(busy->open);
    free(busy->held);
    free(busy->posts);
    free(busy->targets);
    free(busy->stage);
    free(busy);
    side->busy = NULL;
}

void mlt_win_busy_tidy(mlt_win_side *side)
{
    const mlt_win_busy *busy = side->busy;
    if (busy && !mlt_win_busy_stays(side->part) && mlt_list_empty(&busy->waits) &&
        side->pending == 0 && !busy->fault && !busy->held_count && !busy->post_count &&
        !busy->exposed && !busy->completes && !busy->target_count)
        mlt_win_busy_free(side);
}

// ---- waiting

static void wait_begin(mlt_win_waiter *w, mlt_win_side *side, mlt_win_wait_kind kind, int32_t rank)
{
    *w = (mlt_win_waiter){
        .side = side, .kind = kind, .rank = rank, .fiber = mlt_rank_fiber(mlt_win_rank(side))};
    mlt_list_push_back(&mlt_win_busy_of(side)->waits, &w->node);
}

static void park(mlt_win_waiter *w, const char *call)
{
    mlt_wait wait = {.call = call, .kind = MLT_WAIT_WINDOW, .window = w};
    mlt_fiber_park(w->side->part->worker->sched, &wait);
}

static void wake(mlt_win_waiter *w)
{
    mlt_fiber_wake(w->side->part->worker->sched, w->fiber);
}

static void wake_kind(mlt_win_side *side, mlt_win_wait_kind kind)
{
    if (!side->busy)
        return;
    MLT_LIST_EACH(mlt_win_waiter, w, &side->busy->waits, node)
        if (w->kind == kind)
            wake(w);
}

// The first that waits for a lock: of that rank, which has answered, or by its own node.
static void wake_locker(mlt_win_side *side, bool answered, int32_t rank)
{
    if (!side->busy)
        return;
    MLT_LIST_EACH(mlt_win_waiter, w, &side->busy->waits, node)
        if ((answered ? w->kind == MLT_WIN_WAIT_LOCKED && w->rank == rank
                      : w->kind == MLT_WIN_WAIT_NODE || w->kind == MLT_WIN_WAIT_ISLAND) &&
            !w->done) {
            w->done = true;
            wake(w);
            return;
        }
}

static void wait_done(mlt_win_waiter *w, const char *call)
{
    while (!w->done)
        park(w, call);
    mlt_list_remove(&w->node);
}

// Operations of the rank are not done.
static bool has_operations(const mlt_win_side *side, int32_t target)
{
    return target < 0 ? side->pending > 0 : mlt_win_op_goes_to(side, target);
}

void mlt_win_wake_flushers(mlt_win_side *side)
{
    if (!side->busy)
        return;
    MLT_LIST_EACH(mlt_win_waiter, w, &side->busy->waits, node)
        if (w->kind == MLT_WIN_WAIT_PENDING && !has_operations(side, w->rank))
            wake(w);
}

void mlt_win_flush_wait(mlt_win_side *side, int32_t target, const char *call)
{
    mlt_win_stage_empty(side);
    if (!has_operations(side, target))
        return;
    mlt_win_waiter w;
    wait_begin(&w, side, MLT_WIN_WAIT_PENDING, target);
    while (has_operations(side, target))
        park(&w, call);
    mlt_list_remove(&w.node);
}

// ---- locks: what a rank holds

mlt_win_held *mlt_win_find_held(const mlt_win_side *side, int32_t target)
{
    mlt_win_busy *busy = side->busy;
    for (uint32_t i = 0; busy && i < busy->held_count; i++)
        if (busy->held[i].target == target)
            return &busy->held[i];
    return NULL;
}

// A lock that it is going to take.
static void add_held(mlt_win_side *side, int32_t target, mlt_win_class class, bool real)
{
    mlt_win_busy *busy = mlt_win_busy_of(side);
    *MLT_ARRAY_ADD(busy->held, busy->held_count, busy->held_room) =
        (mlt_win_held){.target = target, .class = (uint8_t) class, .real = real};
}

static bool holds_any(const mlt_win_side *side)
{
    for (uint32_t i = 0; i < side->busy->held_count; i++)
        if (side->busy->held[i].taken && side->busy->held[i].real)
            return true;
    return false;
}

static bool same_domain(const mlt_win_part *part, int32_t a, int32_t b)
{
    uint32_t p = mlt_win_place_of(part, a), q = mlt_win_place_of(part, b);
    if (part->domains == 1 || p == q)
        return true;
    bool far = part->peers[p].reach == MLT_WIN_FAR;
    if (far != (part->peers[q].reach == MLT_WIN_FAR))
        return false;
    return !far || mlt_win_domain_of(part, p) == mlt_win_domain_of(part, q);
}

// An exclusive lock of the rank on another rank of that one's domain: one that has ONE of the
// domain, or one that needs it.
static mlt_win_held *other_with(const mlt_win_side *side, int32_t target, bool one)
{
    mlt_win_busy *busy = side->busy;
    for (uint32_t i = 0; i < busy->held_count; i++) {
        mlt_win_held *held = &busy->held[i];
        if (held->target != target && held->real && held->class == MLT_WIN_EXCLUSIVE &&
            held->one == one && same_domain(side->part, held->target, target))
            return held;
    }
    return NULL;
}

static bool needs_one(const mlt_win_side *side, int32_t target, mlt_win_class class)
{
    return class == MLT_WIN_EXCLUSIVE && !other_with(side, target, true);
}

// ---- locks: in reach

static mlt_win_want want_rank(mlt_win_part *part, int32_t rank, uint8_t class, bool holds)
{
    return (mlt_win_want){
        .lock = &mlt_win_descriptor_of(part, rank)->lock, .class = class, .holds = holds};
}

static mlt_win_want want_domain(mlt_win_part *part, uint8_t class, bool holds)
{
    return (mlt_win_want){
        .lock = mlt_win_domain(part), .class = class, .many = true, .holds = holds};
}

static void take(mlt_win_side *side, const mlt_win_want *want, int32_t rank, mlt_win_wait_kind kind,
                 const char *call)
{
    if (MLT_LIKELY(mlt_win_lock_take(side->part, want, mlt_win_node(side->me, false))))
        return;
    mlt_win_waiter w;
    wait_begin(&w, side, kind, rank);
    mlt_win_busy_of(side)->node_waits = true;
    wait_done(&w, call);
    side->busy->node_waits = false;
}

// ---- locks: by packets

static int32_t lock_word(const mlt_win_side *side, int32_t target, mlt_win_class class)
{
    int32_t word = class == MLT_WIN_EXCLUSIVE ? MLT_WIN_WORD_EXCLUSIVE : 0;
    if (needs_one(side, target, class))
        word |= MLT_WIN_WORD_ONE;
    return word | (holds_any(side) ? MLT_WIN_WORD_HOLDS : 0);
}

static void ask(mlt_win_side *side, int32_t target, int32_t word, const char *call)
{
    mlt_win_waiter w;
    wait_begin(&w, side, MLT_WIN_WAIT_LOCKED, target);
    w.all = word & MLT_WIN_WORD_ALL;
    mlt_win_tell(side->part, MLT_WIN_PACKET_LOCK, side->me, target, word, NULL, 0);
    wait_done(&w, call);
}

// FREED ends it; nobody waits for that before the window is freed.
static void tell_unlock(mlt_win_side *side, int32_t target, int32_t word)
{
    (void)mlt_win_busy_of(side);
    side->pending++;
    mlt_win_tell(side->part, MLT_WIN_PACKET_UNLOCK, side->me, target, word, NULL, 0);
}

// ---- locks

static bool in_reach(const mlt_win_part *part, int32_t rank)
{
    return part->peers[mlt_win_place_of(part, rank)].reach != MLT_WIN_FAR;
}

static void lock_in_reach(mlt_win_side *side, int32_t target, mlt_win_class class, const char *call)
{
    mlt_win_part *part = side->part;
    if (needs_one(side, target, class)) {
        mlt_win_want domain = want_domain(part, MLT_WIN_ONE, holds_any(side));
        take(side, &domain, target, MLT_WIN_WAIT_ISLAND, call);
        mlt_win_find_held(side, target)->one = true;
    }
    mlt_win_want want = want_rank(part, target, (uint8_t) class, holds_any(side));
    take(side, &want, target, MLT_WIN_WAIT_NODE, call);
    if (class == MLT_WIN_EXCLUSIVE)
        atomic_store_explicit(&want.lock->holder, side->me, memory_order_relaxed);
}

void mlt_win_lock_rank(mlt_win_side *side, int32_t target, mlt_win_class class, bool real,
                       const char *call)
{
    add_held(side, target, class, real);
    if (real && (!in_reach(side->part, target) || side->busy->node_waits)) {
        int32_t word = lock_word(side, target, class);
        ask(side, target, word, call);
        mlt_win_find_held(side, target)->one = word & MLT_WIN_WORD_ONE;
    } else if (real) {
        lock_in_reach(side, target, class, call);
    }
    mlt_win_find_held(side, target)->taken = true;
}

// ONE goes to another lock that needs it; false: there is none, and it must be given back.
static bool pass_one_on(mlt_win_side *side, int32_t target)
{
    mlt_win_held *other = other_with(side, target, false);
    if (other)
        other->one = true;
    return other;
}

void mlt_win_unlock_rank(mlt_win_side *side, int32_t target)
{
    mlt_win_part *part = side->part;
    mlt_win_busy *busy = side->busy;
    mlt_win_held *held = mlt_win_find_held(side, target), was = *held;
    bool gives_one = was.one && (busy->held_count == 1 || !pass_one_on(side, target));
    int32_t word = was.class == MLT_WIN_EXCLUSIVE ? MLT_WIN_WORD_EXCLUSIVE : 0;
    *held = busy->held[--busy->held_count];
    if (was.real && !in_reach(part, target))
        tell_unlock(side, target, word | (gives_one ? MLT_WIN_WORD_ONE : 0));
    else if (was.real) {
        mlt_win_want want = want_rank(part, target, was.class, false);
        mlt_win_lock_give(part, &want);
        if (gives_one) {
            mlt_win_want domain = want_domain(part, MLT_WIN_ONE, false);
            mlt_win_lock_give(part, &domain);
        }
    }
    mlt_win_busy_tidy(side);
}

void mlt_win_lock_every(mlt_win_side *side, const char *call)
{
    mlt_win_part *part = side->part;
    for (uint32_t i = 0; i < part->domains; i++) { // in one order, so that nobody waits in a circle
        mlt_win_want domain = want_domain(part, MLT_WIN_ALL, false);
        if (part->leads[i] == part->lead)
            take(side, &domain, -1, MLT_WIN_WAIT_ISLAND, call);
        else
            ask(side, part->peers[part->leads[i]].first, MLT_WIN_WORD_ALL, call);
    }
}

void mlt_win_unlock_every(mlt_win_side *side)
{
    mlt_win_part *part = side->part;
    for (uint32_t i = 0; i < part->domains; i++) {
        mlt_win_want domain = want_domain(part, MLT_WIN_ALL, false);
        if (part->leads[i] == part->lead)
            mlt_win_lock_give(part, &domain);
        else
            tell_unlock(side, part->peers[part->leads[i]].first, MLT_WIN_WORD_ALL);
    }
    mlt_win_busy_tidy(side);
}

// ---- locks that a worker takes for ranks that do not reach its memory

// A request. The first one of a rank uses that rank's second node; others of it wait.
typedef struct claim {
    mlt_list_node node;
    int32_t origin, target;
    int32_t word;
    uint8_t
        step; // 0: wants the domain's, 1: wants the rank's, 2: has all, or will when it is woken
    bool waits;
} claim;

static bool claim_take(mlt_win_part *part, claim *c, mlt_win_want want)
{
    c->waits = !mlt_win_lock_take(part, &want, mlt_win_node(c->target, true));
    return !c->waits;
}

// True: it has all that it wants.
static bool claim_goes_on(mlt_win_part *part, claim *c)
{
    bool holds = c->word & MLT_WIN_WORD_HOLDS, all = c->word & MLT_WIN_WORD_ALL;
    uint8_t class = c->word & MLT_WIN_WORD_EXCLUSIVE ? MLT_WIN_EXCLUSIVE : MLT_WIN_SHARED;
    if (c->step == 0) {
        c->step = all ? 2 : 1;
        if (c->word & (MLT_WIN_WORD_ONE | MLT_WIN_WORD_ALL) &&
            !claim_take(part, c, want_domain(part, all ? MLT_WIN_ALL : MLT_WIN_ONE, holds)))
            return false;
    }
    if (c->step == 1) {
        c->step = 2;
        return claim_take(part, c, want_rank(part, c->target, class, holds));
    }
    return true;
}

static claim *first_claim(mlt_win_part *part, int32_t target)
{
    MLT_LIST_EACH(claim, c, &part->claims, node)
        if (c->target == target)
            return c;
    return NULL;
}

static void run_claims(mlt_win_part *part, int32_t target)
{
    claim *c;
    while ((c = first_claim(part, target)) && !c->waits && claim_goes_on(part, c)) {
        if (c->word & MLT_WIN_WORD_EXCLUSIVE)
            atomic_store_explicit(&mlt_win_descriptor_of(part, target)->lock.holder, c->origin,
                                  memory_order_relaxed);
        mlt_list_remove(&c->node);
        mlt_win_tell(part, MLT_WIN_PACKET_LOCKED, target, c->origin, 0, NULL, 0);
        free(c);
    }
}

static void lock_came(mlt_win_part *part, const mlt_packet *packet)
{
    claim *c = mlt_xcalloc(1, sizeof *c);
    *c = (claim){.origin = packet->src, .target = packet->dst, .word = packet->word};
    mlt_list_push_back(&part->claims, &c->node);
    run_claims(part, packet->dst);
}

static void unlock_came(mlt_win_part *part, const mlt_packet *packet)
{
    int32_t word = packet->word;
    uint8_t class = word & MLT_WIN_WORD_EXCLUSIVE ? MLT_WIN_EXCLUSIVE : MLT_WIN_SHARED;
    mlt_win_want want = want_rank(part, packet->dst, class, false);
    mlt_win_want domain =
        want_domain(part, word & MLT_WIN_WORD_ALL ? MLT_WIN_ALL : MLT_WIN_ONE, false);
    bool own = !(word & MLT_WIN_WORD_ALL), also = word & (MLT_WIN_WORD_ALL | MLT_WIN_WORD_ONE);
    if ((own && !mlt_win_lock_is_held(&want)) || (also && !mlt_win_lock_is_held(&domain)))
        return; // nonsense
    if (own)
        mlt_win_lock_give(part, &want);
    if (also)
        mlt_win_lock_give(part, &domain);
    mlt_win_tell(part, MLT_WIN_PACKET_FREED, packet->dst, packet->src, 0, NULL, 0);
}

static void woken_came(mlt_win_part *part, const mlt_packet *packet)
{
    bool proxy = packet->word;
    mlt_win_descriptor *descriptor = mlt_win_descriptor_of(part, packet->dst);
    if (descriptor->want[proxy] != MLT_WIN_GRANTED)
        return; // nonsense
    descriptor->want[proxy] = 0;
    if (!proxy) {
        wake_locker(mlt_win_side_of(part, packet->dst), false, packet->dst);
        return;
    }
    claim *c = first_claim(part, packet->dst);
    if (!c || !c->waits)
        return;
    c->waits = false;
    run_claims(part, packet->dst);
}

// ---- post, start, complete, wait

void mlt_win_post(mlt_win_side *side, const int32_t *ranks, uint32_t count, bool tell)
{
    mlt_win_busy *busy = mlt_win_busy_of(side);
    busy->exposed = count;
    for (uint32_t i = 0; i < count && tell; i++)
        mlt_win_tell(side->part, MLT_WIN_PACKET_POST, side->me, ranks[i], 0, NULL, 0);
}

static void post_came(mlt_win_side *side, int32_t from)
{
    mlt_win_busy *busy = mlt_win_busy_of(side);
    *MLT_ARRAY_ADD(busy->posts, busy->post_count, busy->post_room) = from;
    wake_kind(side, MLT_WIN_WAIT_POSTS);
}

static bool take_post(mlt_win_busy *busy, int32_t from)
{
    for (uint32_t i = 0; i < busy->post_count; i++)
        if (busy->posts[i] == from) {
            busy->posts[i] = busy->posts[--busy->post_count];
            return true;
        }
    return false;
}

static void wait_for_post(mlt_win_side *side, int32_t from, const char *call)
{
    if (take_post(side->busy, from))
        return;
    mlt_win_waiter w;
    wait_begin(&w, side, MLT_WIN_WAIT_POSTS, from);
    while (!take_post(side->busy, from))
        park(&w, call);
    mlt_list_remove(&w.node);
}

void mlt_win_start(mlt_win_side *side, const int32_t *ranks, uint32_t count, bool wait,
                   const char *call)
{
    mlt_win_busy *busy = mlt_win_busy_of(side);
    MLT_ARRAY_WANT(busy->targets, count, busy->target_room);
    if (count)
        memcpy(busy->targets, ranks, count * sizeof *ranks);
    busy->target_count = count;
    for (uint32_t i = 0; i < count && wait; i++)
        wait_for_post(side, ranks[i], call);
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

bool mlt_win_started_for(const mlt_win_side *side, int32_t target)
{
    const mlt_win_busy *busy = side->busy;
    return busy && busy->target_count &&
           bsearch(&target, busy->targets, busy->target_count, sizeof target, by_number);
}

void mlt_win_complete(mlt_win_side *side)
{
    mlt_win_busy *busy = side->busy;
    for (uint32_t i = 0; i < busy->target_count; i++)
        mlt_win_tell(side->part, MLT_WIN_PACKET_COMPLETE, side->me, busy->targets[i], 0, NULL, 0);
    busy->target_count = 0;
    mlt_win_busy_tidy(side);
}

bool mlt_win_exposure_ends(mlt_win_side *side)
{
    mlt_win_busy *busy = side->busy;
    if (busy->completes < busy->exposed)
        return false;
    busy->completes -= busy->exposed;
    busy->exposed = 0;
    mlt_win_busy_tidy(side);
    return true;
}

void mlt_win_wait_exposure(mlt_win_side *side, const char *call)
{
    if (side->busy->completes < side->busy->exposed) {
        mlt_win_waiter w;
        wait_begin(&w, side, MLT_WIN_WAIT_COMPLETES, -1);
        while (side->busy->completes < side->busy->exposed)
            park(&w, call);
        mlt_list_remove(&w.node);
    }
    (void)mlt_win_exposure_ends(side);
}

// ---- packets

void mlt_win_sync_came(mlt_win_part *part, const mlt_packet *packet)
{
    mlt_win_side *side = mlt_win_side_of(part, packet->dst);
    switch (packet->kind) {
    case MLT_WIN_PACKET_LOCK:
        lock_came(part, packet);
        break;
    case MLT_WIN_PACKET_LOCKED:
        wake_locker(side, true, packet->src);
        break;
    case MLT_WIN_PACKET_UNLOCK:
        unlock_came(part, packet);
        break;
    case MLT_WIN_PACKET_FREED:
        if (side->pending && --side->pending == 0)
            mlt_win_wake_flushers(side);
        break;
    case MLT_WIN_PACKET_WOKEN:
        woken_came(part, packet);
        break;
    case MLT_WIN_PACKET_POST:
        post_came(side, packet->src);
        break;
    case MLT_WIN_PACKET_COMPLETE:
        mlt_win_busy_of(side)->completes++;
        wake_kind(side, MLT_WIN_WAIT_COMPLETES);
        break;
    default:
        break;
    }
}
