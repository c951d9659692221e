// SPDX-License-Identifier: BSD-3-Clause
#include "win/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/table.h"
#include "type/build.h"

struct mlt_win_kept {
    uint32_t refs; // the entry's, that of a read under way
    bool here;     // its bytes are
    uint64_t bytes;
    char data[];
};

// Where a user's data lie, beyond the life of the type that says so.
typedef struct held {
    void *at;
    mlt_type *type; // malloc's; NULL: no gaps
} held;

// What came from a place of a target.
typedef struct entry {
    mlt_list_node shard; // of its target
    mlt_list_node soon;  // of those that lie in a user's buffer
    mlt_win_place place;
    mlt_type *shape; // malloc's, as place.shape
    uint32_t hash;
    held from;          // the user's buffer
    mlt_win_kept *kept; // NULL: they are in `from`
} entry;

// All that came from one target.
typedef struct shard {
    mlt_list_node node; // of all shelves
    mlt_list_node entries;
    int32_t target;
} shard;

// An answer that was promised.
typedef struct promise {
    held from, to;
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

// ---- data

static mlt_type *hold_copy(const mlt_type *type)
{
    if (!type)
        return NULL;
    mlt_type *copy = mlt_xcalloc(1, sizeof *copy);
    mlt_type_make_dup(copy, type);
    return copy;
}

static void drop_copy(mlt_type *type)
{
    if (type)
        mlt_type_unmake(type);
    free(type);
}

static held hold(void *at, const mlt_type *type)
{
    return (held){at, hold_copy(type)};
}

static void pack(void *to, const void *from, const mlt_type *type, uint64_t bytes)
{
    if (type)
        mlt_type_pack(type, from, 0, to, bytes);
    else
        memcpy(to, from, bytes);
}

static void unpack(void *to, const mlt_type *type, const void *from, uint64_t bytes)
{
    if (type)
        mlt_type_unpack(type, to, 0, from, bytes);
    else
        memcpy(to, from, bytes);
}

static mlt_win_kept *new_kept(uint64_t bytes)
{
    mlt_win_kept *kept = mlt_xcalloc(1, sizeof *kept + bytes);
    kept->bytes = bytes;
    kept->refs = 1;
    return kept;
}

void mlt_win_kept_fill(mlt_win_kept *kept, const mlt_win_buffer *from)
{
    pack(kept->data, from->at, from->type, kept->bytes);
    kept->here = true;
}

void mlt_win_kept_drop(mlt_win_kept *kept)
{
    if (kept && --kept->refs == 0)
        free(kept);
}

// ---- the cache

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
    for (size_t i = 0; i < cache->promise_count; i++) {
        drop_copy(cache->promises[i].from.type);
        drop_copy(cache->promises[i].to.type);
    }
    mlt_table_free(&cache->entries);
    mlt_table_free(&cache->by_target);
    free(cache->promises);
    free(cache);
}

// ---- entries

static uint32_t hash_of(const mlt_win_place *place)
{
    uint64_t at = mlt_hash_mix((uint32_t)place->target, (uint64_t)place->disp);
    const mlt_type *shape = place->shape;
    return mlt_hash_word(shape ? mlt_hash_mix((uint32_t)at, (uintptr_t)shape->layout) : at);
}

// Elements of both lie in the same bytes. Layouts are held, so one address means one layout.
static bool same_shape(const mlt_type *a, const mlt_type *b)
{
    if (!a || !b)
        return a == b;
    return a->layout == b->layout && a->size == b->size && a->extent == b->extent;
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

static entry *find(const mlt_win_cache *cache, const mlt_win_place *place)
{
    mlt_table_look look = mlt_table_look_for(&cache->entries, hash_of(place));
    while (mlt_table_next(&look)) {
        entry *e = (entry *)look.word;
        if (e->place.target == place->target && e->place.disp == place->disp &&
            same_shape(e->shape, place->shape))
            return e;
    }
    return NULL;
}

static uint64_t cost_of(uint64_t bytes)
{
    return sizeof(entry) + sizeof(mlt_win_kept) + bytes; // as if it had them already
}

static void drop(mlt_win_cache *cache, entry *e)
{
    cache->used -= cost_of(e->place.bytes);
    (void)mlt_table_remove(&cache->entries, e->hash, (uintptr_t)e);
    mlt_list_remove(&e->shard);
    mlt_list_remove(&e->soon);
    mlt_win_kept_drop(e->kept);
    drop_copy(e->shape);
    drop_copy(e->from.type);
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

bool mlt_win_cache_get(mlt_win_cache *cache, const mlt_win_place *place, const mlt_win_buffer *to,
                       bool at_once, uint64_t room)
{
    const entry *e = find(cache, place);
    if (!e || e->place.bytes < place->bytes)
        return false;
    if (e->kept) {
        if (e->kept->here)
            unpack(to->at, to->type, e->kept->data, place->bytes);
        return e->kept->here;
    }
    if (at_once || cache->used + sizeof(promise) > room)
        return false;
    *MLT_ARRAY_ADD(cache->promises, cache->promise_count, cache->promise_room) = (promise){
        hold(e->from.at, e->from.type), hold(to->at, to->type), place->bytes, place->target};
    cache->used += sizeof(promise);
    return true;
}

// NULL: there is no room.
static entry *add(mlt_win_cache *cache, const mlt_win_place *place, uint64_t room)
{
    entry *e = find(cache, place);
    if (e)
        drop(cache, e); // of fewer bytes, or under way
    uint64_t cost = cost_of(place->bytes);
    if (place->bytes >= room || cost > room)
        return NULL;
    if (cache->used + cost > room)
        mlt_win_cache_forget(cache, -1);
    if (cache->used + cost > room)
        return NULL; // promises take it all
    shard *s = want_shard(cache, place->target);
    e = mlt_xcalloc(1, sizeof *e);
    *e = (entry){.place = *place, .hash = hash_of(place), .shape = hold_copy(place->shape)};
    e->place.shape = e->shape;
    mlt_list_init(&e->soon);
    mlt_list_push_back(&s->entries, &e->shard);
    mlt_table_add(&cache->entries, e->hash, (uintptr_t)e);
    cache->used += cost;
    return e;
}

void mlt_win_cache_note(mlt_win_cache *cache, const mlt_win_place *place,
                        const mlt_win_buffer *from, uint64_t room)
{
    entry *e = add(cache, place, room);
    if (!e)
        return;
    e->from = hold(from->at, from->type);
    mlt_list_push_back(&cache->soon, &e->soon);
}

mlt_win_kept *mlt_win_cache_keep(mlt_win_cache *cache, const mlt_win_place *place, uint64_t room)
{
    entry *e = add(cache, place, room);
    if (!e)
        return NULL;
    e->kept = new_kept(place->bytes);
    e->kept->refs++;
    return e->kept;
}

// ---- the wait is over

static void give(const promise *p)
{
    if (!p->from.type && !p->to.type) {
        memmove(p->to.at, p->from.at, p->bytes);
        return;
    }
    char *between = mlt_xrealloc(NULL, 1, p->bytes);
    pack(between, p->from.at, p->from.type, p->bytes);
    unpack(p->to.at, p->to.type, between, p->bytes);
    free(between);
}

static void give_promises(mlt_win_cache *cache, int32_t target)
{
    size_t left = 0;
    for (size_t i = 0; i < cache->promise_count; i++) {
        promise *p = &cache->promises[i];
        if (target >= 0 && p->target != target) {
            cache->promises[left++] = *p;
            continue;
        }
        give(p);
        drop_copy(p->from.type);
        drop_copy(p->to.type);
    }
    cache->used -= (cache->promise_count - left) * sizeof *cache->promises;
    cache->promise_count = left;
}

static void take_in(entry *e)
{
    e->kept = new_kept(e->place.bytes);
    mlt_win_kept_fill(e->kept, &(mlt_win_buffer){e->from.at, e->from.type});
    drop_copy(e->from.type);
    e->from = (held){NULL, NULL};
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
        if (target < 0 || e->place.target == target)
            take_in(e);
}
