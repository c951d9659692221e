// SPDX-License-Identifier: BSD-3-Clause
// The cache of gets against a model: random gets, changes and waits of a rank, with targets whose
// memory others change whenever the rules allow it.
#include "win/cache.h"

#include "base/unit_test.h"

enum {
    TARGETS = 3,
    PLACES = 5,
    MOST = 6, // bytes of a get
    BUFFERS = 400,
};

// What a target has now.
static unsigned char memory[TARGETS][PLACES + MOST];

// A get that was not waited for: what it brings, which the cache must not know before.
typedef struct flying {
    unsigned char *to;
    unsigned char brings[MOST];
    uint64_t bytes;
    int32_t target;
    bool asked; // else the cache has answered
} flying;

static flying now[BUFFERS];
static uint32_t now_count;
static unsigned char buffers[BUFFERS][MOST];
static uint32_t next; // of buffers
static uint64_t answers;

static void change(int32_t target)
{
    for (int i = 0; i < PLACES + MOST; i++)
        memory[target][i] = (unsigned char)random64();
}

static void get(mlt_win_cache *cache, uint64_t room)
{
    int32_t target = (int32_t)below(TARGETS);
    int64_t place = below(PLACES);
    flying *f = &now[now_count];
    *f = (flying){.to = buffers[next++], .bytes = 1 + below(MOST), .target = target};
    memcpy(f->brings, &memory[target][place], f->bytes);
    memset(f->to, 0xee, MOST);
    bool at_once = below(4) == 0;
    bool answered = mlt_win_cache_get(cache, target, place, f->to, f->bytes, at_once, room);
    answers += answered;
    if (answered && at_once) {
        CHECK(memcmp(f->to, f->brings, f->bytes) == 0);
        return;
    }
    if (at_once)
        return; // it goes its own way
    f->asked = !answered;
    if (f->asked)
        mlt_win_cache_note(cache, target, place, f->to, f->bytes, room);
    now_count++;
}

static void settle(mlt_win_cache *cache, int32_t target, bool keep)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < now_count; i++) // what was asked for comes
        if (now[i].asked && (target < 0 || now[i].target == target))
            memcpy(now[i].to, now[i].brings, now[i].bytes);
    mlt_win_cache_settle(cache, target, keep);
    for (uint32_t i = 0; i < now_count; i++) {
        if (target >= 0 && now[i].target != target) {
            now[left++] = now[i];
            continue;
        }
        CHECK(memcmp(now[i].to, now[i].brings, now[i].bytes) == 0);
        memset(now[i].to, 0xdd, MOST); // the user's again
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

// A place of which much came answers gets of less, not of more.
static void check_sizes(void)
{
    unsigned char a[64], b[64];
    mlt_win_cache *cache = mlt_win_cache_new();
    memset(a, 7, sizeof a);
    mlt_win_cache_note(cache, 1, 40, a, 16, 4096);
    mlt_win_cache_settle(cache, 1, true);
    memset(a, 8, sizeof a);
    CHECK(!mlt_win_cache_get(cache, 1, 40, b, 17, true, 4096));
    CHECK(!mlt_win_cache_get(cache, 1, 41, b, 1, true, 4096));
    CHECK(!mlt_win_cache_get(cache, 0, 40, b, 1, true, 4096));
    CHECK(mlt_win_cache_get(cache, 1, 40, b, 16, true, 4096) && b[0] == 7 && b[15] == 7);
    mlt_win_cache_note(cache, 2, 0, a, 4096, 4096); // too large: the other one stays
    mlt_win_cache_settle(cache, -1, true);
    CHECK(!mlt_win_cache_get(cache, 2, 0, b, 1, true, 4096));
    CHECK(mlt_win_cache_get(cache, 1, 40, b, 16, true, 4096));
    mlt_win_cache_note(cache, 2, 0, a, 60, 200); // full: it begins anew
    mlt_win_cache_settle(cache, -1, true);
    CHECK(mlt_win_cache_get(cache, 2, 0, b, 60, true, 200) && b[59] == 8);
    CHECK(!mlt_win_cache_get(cache, 1, 40, b, 16, true, 200));
    mlt_win_cache_free(cache);
}

int main(void)
{
    check_sizes();
    for (uint64_t seed = 1; seed <= 30; seed++) {
        try_one(seed, 1 << 20);
        try_one(seed, 700); // about six places
        try_one(seed, 0);
    }
    CHECK(answers > 1000);
    mlt_win_cache_free(NULL);
    return 0;
}
