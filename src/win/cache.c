// SPDX-License-Identifier: BSD-3-Clause
#include "win/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/table.h"

// What came from a place of a target.
typedef struct entry {
    mlt_list_node shard; // of its target
    mlt_list_node soon;  // of those that lie in a user's buffer
    int32_t target;
    uint32_t hash;
    int64_t disp;
    uint64_t bytes;
    const void *from; // the user's buffer; NULL: they are in `own`
    void *own;        // malloc's
} entry;

// All that came from one target.
typedef struct shard {
    mlt_list_node node; // of all shelves
    mlt_list_node entries;
    int32_t target;
} shard;

// An answer that was promised.
typedef struct promise {
    const void *from;
    void *to;
    uint64_t bytes;
    int32_t target;
} promise;

struct mlt_win_cache {
    mlt_table entries, by_target; // entry, shard
    mlt_list_node shelves, soon;
    promise *promises; // [promise_count]
    size_t promise_count, promise_room;
    uint64_t used; // bytes: entries, their data, promises
};

mlt_win_cache *mlt_win_cache_new(void)
{
    mlt_win_cache *cache = mlt_xcalloc(1, sizeof *cache);
    mlt_list_init(&cache->shelves);
    mlt_list_init(&cache->soon);
    return cache;
}

void mlt_win_cache_free(mlt_win_cache *cache)
{
    if (!cache)
        return;
    mlt_win_cache_forget(cache, -1);
    mlt_table_free(&cache->entries);
    mlt_table_free(&cache->by_target);
    free(cache->promises);
    free(cache);
}

// ---- entries

static uint32_t hash_of(int32_t target, int64_t disp)
{
    return mlt_hash_word(mlt_hash_mix((uint32_t)target, (uint64_t)disp));
}

static shard *find_shard(const mlt_win_cache *cache, int32_t target)
{
    mlt_table_look look = mlt_table_look_for(&cache->by_target, mlt_hash_word((uint32_t)target));
    while (mlt_table_next(&look))
        if (((shard *)look.word)->target == target)
            return (shard *)look.word;
    return NULL;
}

static shard *want_shard(mlt_win_cache *cache, int32_t target)
{
    shard *s = find_shard(cache, target);
    if (s)
        return s;
    s = mlt_xcalloc(1, sizeof *s);
    s->target = target;
    mlt_list_init(&s->entries);
    mlt_list_push_back(&cache->shelves, &s->node);
    mlt_table_add(&cache->by_target, mlt_hash_word((uint32_t)target), (uintptr_t)s);
    return s;
}

static entry *find(const mlt_win_cache *cache, int32_t target, int64_t disp)
{
    mlt_table_look look = mlt_table_look_for(&cache->entries, hash_of(target, disp));
    while (mlt_table_next(&look)) {
        entry *e = (entry *)look.word;
        if (e->target == target && e->disp == disp)
            return e;
    }
    return NULL;
}

static uint64_t cost_of(const entry *e)
{
    return sizeof *e + e->bytes; // as if it had them already
}

static void drop(mlt_win_cache *cache, entry *e)
{
    cache->used -= cost_of(e);
    (void)mlt_table_remove(&cache->entries, e->hash, (uintptr_t)e);
    mlt_list_remove(&e->shard);
    mlt_list_remove(&e->soon);
    free(e->own);
    free(e);
}

static void drop_all_of(mlt_win_cache *cache, shard *s)
{
    MLT_LIST_DRAIN(entry, e, &s->entries, shard)
        drop(cache, e);
    (void)mlt_table_remove(&cache->by_target, mlt_hash_word((uint32_t)s->target), (uintptr_t)s);
    mlt_list_remove(&s->node);
    free(s);
}

void mlt_win_cache_forget(mlt_win_cache *cache, int32_t target)
{
    shard *s = target < 0 ? NULL : find_shard(cache, target);
    if (s)
        drop_all_of(cache, s);
    while (target < 0 && !mlt_list_empty(&cache->shelves))
        drop_all_of(cache, mlt_container_of(cache->shelves.next, shard, node));
}

// ---- gets

bool mlt_win_cache_get(mlt_win_cache *cache, int32_t target, int64_t disp, void *to, uint64_t bytes,
                       bool at_once, uint64_t room)
{
    const entry *e = find(cache, target, disp);
    if (!e || e->bytes < bytes)
        return false;
    if (!e->from) {
        memcpy(to, e->own, bytes);
        return true;
    }
    if (at_once || cache->used + sizeof(promise) > room)
        return false;
    *MLT_ARRAY_ADD(cache->promises, cache->promise_count, cache->promise_room) =
        (promise){e->from, to, bytes, target};
    cache->used += sizeof(promise);
    return true;
}

void mlt_win_cache_note(mlt_win_cache *cache, int32_t target, int64_t disp, const void *from,
                        uint64_t bytes, uint64_t room)
{
    entry *e = find(cache, target, disp);
    if (e)
        drop(cache, e); // of fewer bytes
    uint64_t cost = sizeof *e + bytes;
    if (bytes >= room || cost > room)
        return;
    if (cache->used + cost > room)
        mlt_win_cache_forget(cache, -1);
    if (cache->used + cost > room)
        return; // promises take it all
    shard *s = want_shard(cache, target);
    e = mlt_xcalloc(1, sizeof *e);
    *e = (entry){.target = target,
                 .hash = hash_of(target, disp),
                 .disp = disp,
                 .bytes = bytes,
                 .from = from};
    mlt_list_push_back(&s->entries, &e->shard);
    mlt_list_push_back(&cache->soon, &e->soon);
    mlt_table_add(&cache->entries, e->hash, (uintptr_t)e);
    cache->used += cost;
}

// ---- the wait is over

static void give_promises(mlt_win_cache *cache, int32_t target)
{
    size_t left = 0;
    for (size_t i = 0; i < cache->promise_count; i++) {
        promise *p = &cache->promises[i];
        if (target < 0 || p->target == target)
            memmove(p->to, p->from, p->bytes);
        else
            cache->promises[left++] = *p;
    }
    cache->used -= (cache->promise_count - left) * sizeof *cache->promises;
    cache->promise_count = left;
}

static void take_in(entry *e)
{
    e->own = mlt_xcalloc(1, e->bytes);
    memcpy(e->own, e->from, e->bytes);
    e->from = NULL;
    mlt_list_remove(&e->soon);
}

void mlt_win_cache_settle(mlt_win_cache *cache, int32_t target, bool keep)
{
    give_promises(cache, target);
    if (!keep) {
        mlt_win_cache_forget(cache, target);
        return;
    }
    MLT_LIST_EACH_SAFE(entry, e, &cache->soon, soon)
        if (target < 0 || e->target == target)
            take_in(e);
}
