// SPDX-License-Identifier: BSD-3-Clause
// What belongs to processes of other jobs that have ended is given back. A job may meet many, one
// after the other.
//
// A pair is over when its process has ended, its connections are closed and nobody is connected with
// its job. It is then retired: nobody finds it any more. Each worker of the endpoint leaves it when it
// looks here the next time: it forgets its peers and vacates its entries. The last one frees it. The
// numbers of its links are used again after that, so no entry confuses an old link with a new one.
// All of that is inside of the endpoint's lock.
#include <stdlib.h>

#include "base/memory.h"
#include "wire/tcp/tcp_int.h"

tcp_link mlt_tcp_vacant = {.state = TCP_SHUT};

static bool is_unused(_Atomic uint32_t *lock)
{
    if (!tcp_try_lock(lock))
        return false;
    tcp_unlock(lock);
    return true;
}

// A link that has ended may be open still: whoever read its end did not get the lock of writing.
static bool is_closed(tcp_link *link)
{
    if (!tcp_try_lock(&link->reading))
        return false;
    if (atomic_load_explicit(&link->state, memory_order_relaxed) == TCP_DEAF)
        mlt_tcp_shut(link);
    bool closed = atomic_load_explicit(&link->state, memory_order_relaxed) == TCP_SHUT;
    tcp_unlock(&link->reading);
    return closed;
}

// Requests hold their communicators, and these hold the world: nobody waits for an unheld one. One
// with a bond is about to be held.
static bool is_over(tcp_pair *pair)
{
    if (!atomic_load_explicit(&pair->gone, memory_order_relaxed) ||
        atomic_load_explicit(&pair->world->holders, memory_order_acquire) ||
        atomic_load_explicit(&pair->world->bond, memory_order_acquire) ||
        !is_unused(&pair->writing))
        return false;
    for (int i = 0; i < LINKS; i++) {
        tcp_link *link = atomic_load_explicit(&pair->links[i], memory_order_acquire);
        if (link && !is_closed(link))
            return false;
    }
    return true;
}

static void retire(tcp_endpoint *endpoint)
{
    pthread_mutex_lock(&endpoint->abroad_lock);
    for (tcp_pair **at = &endpoint->abroad; *at;) {
        tcp_pair *pair = *at;
        if (!is_over(pair)) {
            at = &pair->next;
            continue;
        }
        *at = pair->next;
        pair->next = endpoint->retired;
        endpoint->retired = pair;
        pair->left = mlt_xcalloc(endpoint->workers, sizeof *pair->left);
        for (int i = 0; i < LINKS; i++) {
            const tcp_link *link = atomic_load_explicit(&pair->links[i], memory_order_relaxed);
            if (link)
                endpoint->links[link->number] = &mlt_tcp_vacant;
        }
    }
    pthread_mutex_unlock(&endpoint->abroad_lock);
}

// ---- leaving

static tcp_pair *pair_of(const mlt_peer *peer)
{
    return peer->far->lane->pair;
}

static bool is_leaving(const tcp_worker *me, const tcp_pair *pair)
{
    return pair->left && !pair->left[me->index] && !pair->stays;
}

// Those with something left keep their pair for now.
static void choose(const tcp_worker *me)
{
    for (tcp_pair *pair = me->endpoint->retired; pair; pair = pair->next) {
        const tcp_lane *lane = atomic_load_explicit(&pair->lanes[me->index], memory_order_acquire);
        pair->stays = lane && (lane->dirty || !mlt_tcp_has_no_mail(lane));
    }
    const mlt_table *all = &me->wire->abroad;
    for (size_t i = 0; i < all->size; i++) {
        const mlt_peer *peer = all->slots[i].used ? (const mlt_peer *)all->slots[i].word : NULL;
        if (peer && (peer->far->owes || !mlt_peer_is_idle(peer)))
            pair_of(peer)->stays = true;
    }
}

static void forget_peers(tcp_worker *me)
{
    const mlt_table *all = &me->wire->abroad;
    for (size_t i = 0; i < all->size;) {
        mlt_peer *peer = all->slots[i].used ? (mlt_peer *)all->slots[i].word : NULL;
        if (peer && is_leaving(me, pair_of(peer)))
            mlt_wire_forget(me->wire, peer); // what follows may move here: the same slot again
        else
            i++;
    }
}

static void vacate(tcp_worker *me, const tcp_link *link)
{
    if (!link || link->number >= me->entry_count || me->entries[link->number].link != link)
        return;
    me->entries[link->number] = (tcp_entry){.link = &mlt_tcp_vacant};
    me->entries_taken--;
    for (uint32_t i = 0; i < me->hot_count; i++)
        if (me->hot[i] == link->number) {
            me->hot[i] = me->hot[--me->hot_count];
            return;
        }
}

static void retire_leave(tcp_worker *me)
{
    choose(me);
    forget_peers(me);
    for (tcp_pair *pair = me->endpoint->retired; pair; pair = pair->next) {
        if (!is_leaving(me, pair))
            continue;
        for (int i = 0; i < LINKS; i++)
            vacate(me, atomic_load_explicit(&pair->links[i], memory_order_relaxed));
        pair->left[me->index] = true;
    }
}

// ---- freeing

static bool is_left(const tcp_pair *pair)
{
    for (uint32_t i = 0; i < pair->endpoint->workers; i++)
        if (pair->endpoint->mail[i].open && !pair->left[i])
            return false;
    return true;
}

static void free_left(tcp_endpoint *endpoint)
{
    for (tcp_pair **at = &endpoint->retired; *at;) {
        tcp_pair *pair = *at;
        if (!is_left(pair)) {
            at = &pair->next;
            continue;
        }
        *at = pair->next;
        for (int i = 0; i < LINKS; i++) {
            const tcp_link *link = atomic_load_explicit(&pair->links[i], memory_order_relaxed);
            if (link)
                endpoint->links[link->number] = NULL;
        }
        mlt_tcp_free_pair(pair);
    }
}

void mlt_tcp_tidy(tcp_worker *me)
{
    retire(me->endpoint);
    if (!me->endpoint->retired)
        return;
    retire_leave(me);
    free_left(me->endpoint);
}
