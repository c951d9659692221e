// SPDX-License-Identifier: BSD-3-Clause
// The cache of gets against a model: random gets, changes and waits of a rank, with targets whose
// memory others change whenever the rules allow it. Elements have gaps or not, here and there; some
// gets have a request, whose user changes the buffer when it is done.
#include "win/cache.h"

#include <string.h>

#include "base/unit_test.h"
#include "type/build.h"

enum {
    TARGETS = 3,
    PLACES = 5,
    MOST = 6, // bytes of a get
    WIDE = 2 * MOST,
    BUFFERS = 400,
    REQUESTS = 8,
};

// What a target has now.
static unsigned char memory[TARGETS][PLACES + WIDE];
static mlt_type every_other; // byte of two

static const mlt_type *some_type(void)
{
    return below(3) == 0 ? &every_other : NULL;
}

// Bytes of elements, one after the other.
static void gather(unsigned char *to, const unsigned char *from, const mlt_type *type,
                   uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        to[i] = from[type ? 2 * i : i];
}

static void spread(unsigned char *to, const mlt_type *type, const unsigned char *from,
                   uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        to[type ? 2 * i : i] = from[i];
}

// A get that was not waited for: what it brings, which the cache must not know before.
typedef struct flying {
    unsigned char *to;
    const mlt_type *type;
    unsigned char brings[MOST];
    uint64_t bytes;
    int32_t target;
    bool asked; // else the cache has answered
} flying;

static flying now[BUFFERS];
static uint32_t now_count;
static unsigned char buffers[BUFFERS][WIDE];
static uint32_t next; // of buffers
static uint64_t answers;

static void change(int32_t target)
{
    for (int i = 0; i < PLACES + WIDE; i++)
        memory[target][i] = (unsigned char)random64();
}

static void must_be(const flying *f)
{
    unsigned char got[MOST];
    gather(got, f->to, f->type, f->bytes);
    CHECK(memcmp(got, f->brings, f->bytes) == 0);
    for (uint64_t i = 0; f->type && i < f->bytes; i++)
        CHECK(f->to[2 * i + 1] == 0xee); // gaps stay
}

// A get with a request is done before the next wait, or is still under way when that comes.
typedef struct asked {
    mlt_win_kept *kept;
    unsigned char brings[MOST];
} asked;
static asked requests[REQUESTS];

static void finish_request(asked *r)
{
    if (!r->kept)
        return;
    mlt_win_kept_fill(r->kept, &(mlt_win_buffer){r->brings, NULL});
    mlt_win_kept_drop(r->kept);
    r->kept = NULL;
}

static void get(mlt_win_cache *cache, uint64_t room)
{
    mlt_win_place place = {.disp = below(PLACES),
                           .shape = some_type(),
                           .bytes = 1 + below(MOST),
                           .target = (int32_t)below(TARGETS)};
    flying *f = &now[now_count];
    *f = (flying){
        .to = buffers[next++], .type = some_type(), .bytes = place.bytes, .target = place.target};
    gather(f->brings, &memory[place.target][place.disp], place.shape, place.bytes);
    memset(f->to, 0xee, WIDE);
    bool at_once = below(4) == 0;
    mlt_win_buffer to = {f->to, f->type};
    bool answered = mlt_win_cache_get(cache, &place, &to, at_once, room);
    answers += answered;
    if (answered && at_once)
        must_be(f);
    else if (at_once && below(2)) {
        asked *r = &requests[below(REQUESTS)];
        finish_request(r);
        memcpy(r->brings, f->brings, sizeof r->brings);
        r->kept = mlt_win_cache_keep(cache, &place, room);
    }
    if (at_once)
        return; // it goes its own way
    f->asked = !answered;
    if (f->asked)
        mlt_win_cache_note(cache, &place, &to, room);
    now_count++;
}

static void settle(mlt_win_cache *cache, int32_t target, bool keep)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < now_count; i++) // what was asked for comes
        if (now[i].asked && (target < 0 || now[i].target == target))
            spread(now[i].to, now[i].type, now[i].brings, now[i].bytes);
    for (int i = 0; i < REQUESTS; i++)
        finish_request(&requests[i]);
    mlt_win_cache_settle(cache, target, keep);
    for (uint32_t i = 0; i < now_count; i++) {
        if (target >= 0 && now[i].target != target) {
            now[left++] = now[i];
            continue;
        }
        must_be(&now[i]);
        memset(now[i].to, 0xdd, WIDE); // the user's again
    }
    now_count = left;
    next = left ? next : 0;
}

static void try_one(uint64_t seed, uint64_t room)
{
    now_seed = random_state = seed;
    mlt_win_cache *cache = mlt_win_cache_new();
    for (int32_t t = 0; t < TARGETS; t++)
        change(t);
    for (int step = 0; step < 2000; step++) {
        int32_t target = (int32_t)below(TARGETS);
        uint32_t what = below(100);
        if (next == BUFFERS || what < 8)
            settle(cache, next < BUFFERS && below(2) ? target : -1, true);
        else if (what < 10) { // an epoch of one ends, and its memory changes
            settle(cache, target, false);
            change(target);
        } else if (what < 11) { // the same of all
            settle(cache, -1, false);
            for (int32_t t = 0; t < TARGETS; t++)
                change(t);
        } else if (what < 14) { // the rank itself changes it
            mlt_win_cache_forget(cache, target);
            change(target);
        } else
            get(cache, room);
    }
    settle(cache, -1, false);
    mlt_win_cache_free(cache);
}

// A place as those below say it.
static mlt_win_place at(int32_t target, int64_t disp, uint64_t bytes)
{
    return (mlt_win_place){.disp = disp, .bytes = bytes, .target = target};
}

static bool asks(mlt_win_cache *cache, mlt_win_place place, void *to, uint64_t room)
{
    return mlt_win_cache_get(cache, &place, &(mlt_win_buffer){to, NULL}, true, room);
}

static void comes(mlt_win_cache *cache, mlt_win_place place, void *from, uint64_t room)
{
    mlt_win_cache_note(cache, &place, &(mlt_win_buffer){from, NULL}, room);
    mlt_win_cache_settle(cache, -1, true);
}

// A place of which much came answers gets of less, not of more.
static void check_sizes(void)
{
    unsigned char a[64], b[64];
    mlt_win_cache *cache = mlt_win_cache_new();
    memset(a, 7, sizeof a);
    comes(cache, at(1, 40, 16), a, 4096);
    memset(a, 8, sizeof a);
    CHECK(!asks(cache, at(1, 40, 17), b, 4096));
    CHECK(!asks(cache, at(1, 41, 1), b, 4096));
    CHECK(!asks(cache, at(0, 40, 1), b, 4096));
    CHECK(asks(cache, at(1, 40, 16), b, 4096) && b[0] == 7 && b[15] == 7);
    comes(cache, at(2, 0, 4096), a, 4096); // too large: the other one stays
    CHECK(!asks(cache, at(2, 0, 1), b, 4096));
    CHECK(asks(cache, at(1, 40, 16), b, 4096));
    comes(cache, at(2, 0, 60), a, 300); // full: it begins anew
    CHECK(asks(cache, at(2, 0, 60), b, 300) && b[59] == 8);
    CHECK(!asks(cache, at(1, 40, 16), b, 300));
    mlt_win_cache_free(cache);
}

// A get with a request answers when its bytes are there, whatever has become of the cache.
static void check_requests(void)
{
    unsigned char a[8], b[8];
    mlt_win_cache *cache = mlt_win_cache_new();
    mlt_win_place place = at(1, 0, 8);
    memset(a, 5, sizeof a);
    mlt_win_kept *kept = mlt_win_cache_keep(cache, &place, 4096);
    CHECK(kept && !asks(cache, place, b, 4096));
    mlt_win_cache_settle(cache, 1, true);
    CHECK(!asks(cache, place, b, 4096)); // not here
    mlt_win_kept_fill(kept, &(mlt_win_buffer){a, NULL});
    mlt_win_kept_drop(kept);
    CHECK(asks(cache, place, b, 4096) && b[7] == 5);
    kept = mlt_win_cache_keep(cache, &place, 4096);
    mlt_win_cache_forget(cache, 1);
    mlt_win_kept_fill(kept, &(mlt_win_buffer){a, NULL});
    mlt_win_kept_drop(kept);
    CHECK(!asks(cache, place, b, 4096)); // it changed meanwhile
    kept = mlt_win_cache_keep(cache, &place, 4096);
    mlt_win_cache_free(cache);
    mlt_win_kept_drop(kept);
    CHECK(!mlt_win_cache_keep(cache = mlt_win_cache_new(), &place, 8)); // no room
    mlt_win_cache_free(cache);
}

// A type that is gone: the next one may have its address, but not its layout.
static void check_types(void)
{
    mlt_win_cache *cache = mlt_win_cache_new();
    unsigned char a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[8] = {0};
    mlt_type pair;
    CHECK(mlt_type_make_vector(&pair, MLT_TYPE_BYTE, 2, 1, 2) == MLT_OK);
    mlt_win_place place = {.shape = &pair, .bytes = 2, .target = 1};
    mlt_win_buffer from = {a, &pair}, to = {b, NULL};
    mlt_win_cache_note(cache, &place, &from, 4096);
    mlt_type_unmake(&pair);
    mlt_win_cache_settle(cache, -1, true);
    CHECK(mlt_type_make_vector(&pair, MLT_TYPE_BYTE, 2, 1, 3) == MLT_OK);
    CHECK(!mlt_win_cache_get(cache, &place, &to, true, 4096));
    mlt_type_unmake(&pair);
    mlt_win_cache_free(cache);
}

int main(void)
{
    CHECK(mlt_type_make_resized(&every_other, MLT_TYPE_BYTE, 0, 2) == MLT_OK);
    check_sizes();
    check_requests();
    check_types();
    for (uint64_t seed = 1; seed <= 30; seed++) {
        try_one(seed, 1 << 20);
        try_one(seed, 900); // about six places
        try_one(seed, 0);
    }
    CHECK(answers > 1000);
    mlt_win_cache_free(NULL);
    mlt_type_unmake(&every_other);
    return 0;
}
