// SPDX-License-Identifier: BSD-3-Clause
// Group operations done by hand, with real bytes: which buffers a rank has, where that which it
// brings lies, and what `out` holds afterwards. It shares no code with the checker.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "coll/alg/tree.h"
#include "goal/spec.h"

#define HAND_NONE UINT64_MAX

typedef struct hand {
    const mlt_goal_spec *is;
    uint32_t ranks;
    uint64_t element, n;
    // to = to op from
    void (*combine)(const void *user, void *to, const void *from, uint64_t bytes);
    const void *user;
    uint8_t **brings; // [ranks]; NULL: nothing
    uint8_t **in;     // [ranks] as it was at first; NULL: it has none
    uint8_t **out;
} hand;

// ---- sizes

static inline bool hand_rooted(mlt_collective c)
{
    return c == MLT_COLL_BCAST || c == MLT_COLL_REDUCE || c == MLT_COLL_GATHER ||
           c == MLT_COLL_SCATTER;
}

// Where rank r's block begins.
static inline uint64_t hand_start(const hand *h, uint32_t r)
{
    return h->is->starts ? h->is->starts[r] * h->element : r * h->n;
}

static inline uint64_t hand_block(const hand *h, uint32_t r)
{
    return hand_start(h, r + 1) - hand_start(h, r);
}

// alltoall: where the block for (or of) s begins in rank r's buffers.
static inline uint64_t hand_pair(const hand *h, uint32_t r, uint32_t s)
{
    const uint64_t *starts = h->is->starts;
    return starts ? (starts[r + 1] - starts[r]) * starts[s] * h->n : s * h->n;
}

// Bytes of `in` and `out` (of a bcast: out is its buf); HAND_NONE: the rank has none.
static inline uint64_t hand_in_bytes(const hand *h, uint32_t r)
{
    const mlt_goal_spec *is = h->is;
    bool root = r == is->root;
    switch (is->collective) {
    case MLT_COLL_BARRIER:
    case MLT_COLL_BCAST:
        return HAND_NONE;
    case MLT_COLL_SCATTER:
        return root ? hand_start(h, h->ranks) : HAND_NONE;
    case MLT_COLL_ALLTOALL:
        return hand_pair(h, r, h->ranks);
    case MLT_COLL_REDUCE_SCATTER:
        return hand_start(h, h->ranks);
    case MLT_COLL_GATHER:
        return is->in_place && root ? HAND_NONE : hand_block(h, r);
    case MLT_COLL_ALLGATHER:
        return is->in_place ? HAND_NONE : hand_block(h, r);
    case MLT_COLL_REDUCE:
        return is->in_place && root ? HAND_NONE : h->n;
    case MLT_COLL_REDUCE_TO:
        return is->contributes[r] ? h->n : HAND_NONE;
    case MLT_COLL_EXCHANGE:
        return is->parts[r].in;
    default:
        return is->in_place ? HAND_NONE : h->n;
    }
}

static inline uint64_t hand_out_bytes(const hand *h, uint32_t r)
{
    const mlt_goal_spec *is = h->is;
    bool root = r == is->root;
    switch (is->collective) {
    case MLT_COLL_BARRIER:
        return HAND_NONE;
    case MLT_COLL_REDUCE:
        return root ? h->n : HAND_NONE;
    case MLT_COLL_GATHER:
        return root ? hand_start(h, h->ranks) : HAND_NONE;
    case MLT_COLL_ALLGATHER:
        return hand_start(h, h->ranks);
    case MLT_COLL_ALLTOALL:
        return hand_pair(h, r, h->ranks);
    case MLT_COLL_SCATTER:
        return is->in_place && root ? HAND_NONE : hand_block(h, r);
    case MLT_COLL_REDUCE_SCATTER:
        return hand_block(h, r);
    case MLT_COLL_REDUCE_TO:
        return is->receives[r] ? h->n : HAND_NONE;
    case MLT_COLL_EXCHANGE:
        return is->parts[r].out;
    default:
        return h->n;
    }
}

// Where a rank finds what it brings, in `in` or in `out`.
typedef struct hand_place {
    bool out;
    uint64_t at, bytes; // HAND_NONE: it brings nothing
} hand_place;

static inline hand_place hand_brings(const hand *h, uint32_t r)
{
    mlt_collective c = h->is->collective;
    if (c == MLT_COLL_BARRIER || (c == MLT_COLL_BCAST && r != h->is->root))
        return (hand_place){false, 0, HAND_NONE};
    if (c == MLT_COLL_BCAST)
        return (hand_place){true, 0, h->n};
    uint64_t in = hand_in_bytes(h, r);
    if (in != HAND_NONE || !h->is->in_place || c == MLT_COLL_SCATTER)
        return (hand_place){false, 0, in};
    if (c == MLT_COLL_GATHER || c == MLT_COLL_ALLGATHER)
        return (hand_place){true, hand_start(h, r), hand_block(h, r)};
    return (hand_place){true, 0, h->n};
}

// ---- the beginning: buffers hold what they hold

static inline uint8_t *hand_copy(const uint8_t *from, uint64_t bytes)
{
    if (bytes == HAND_NONE)
        return NULL;
    uint8_t *copy = malloc(bytes + 1);
    if (!copy || (!from && bytes))
        abort();
    if (bytes)
        memcpy(copy, from, bytes);
    return copy;
}

// buffer finds a rank's buffer by name; NULL: it has none.
static inline void hand_begin(hand *h, uint8_t *(*buffer)(void *from, uint32_t rank, const char *),
                              void *from)
{
    h->brings = calloc(h->ranks, sizeof *h->brings);
    h->in = calloc(h->ranks, sizeof *h->in);
    h->out = calloc(h->ranks, sizeof *h->out);
    if (!h->brings || !h->in || !h->out)
        abort();
    const char *out = h->is->collective == MLT_COLL_BCAST ? "buf" : "out";
    for (uint32_t r = 0; r < h->ranks; r++) {
        h->in[r] = hand_copy(buffer(from, r, "in"), hand_in_bytes(h, r));
        h->out[r] = hand_copy(buffer(from, r, out), hand_out_bytes(h, r));
        hand_place place = hand_brings(h, r);
        if (place.bytes != HAND_NONE)
            h->brings[r] = hand_copy((place.out ? h->out[r] : h->in[r]) + place.at, place.bytes);
    }
}

static inline void hand_end(hand *h)
{
    for (uint32_t r = 0; r < h->ranks; r++) {
        free(h->brings[r]);
        free(h->in[r]);
        free(h->out[r]);
    }
    free(h->brings);
    free(h->in);
    free(h->out);
}

// ---- the end

// to = the reduction of `bytes` from `at` on, of the ranks [low, high) of a list, in the brackets
// of mlt_canonical_split
static inline void hand_brackets(const hand *h, uint8_t *to, uint64_t at, uint64_t bytes,
                                 const uint32_t *list, uint32_t low, uint32_t high)
{
    if (high - low == 1) {
        memcpy(to, h->brings[list[low]] + at, bytes);
        return;
    }
    uint8_t *right = malloc(bytes);
    if (!right)
        abort();
    uint32_t split = mlt_canonical_split(low, high);
    hand_brackets(h, to, at, bytes, list, low, split);
    hand_brackets(h, right, at, bytes, list, split, high);
    h->combine(h->user, to, right, bytes);
    free(right);
}

// The same of ranks [low, high) that contribute.
static inline void hand_reduce(const hand *h, uint8_t *to, uint64_t at, uint64_t bytes,
                               uint32_t low, uint32_t high)
{
    uint32_t count = 0, *list = malloc((high - low + 1ull) * sizeof *list);
    if (!list)
        abort();
    for (uint32_t r = low; r < high; r++)
        if (h->brings[r])
            list[count++] = r;
    if (count && bytes)
        hand_brackets(h, to, at, bytes, list, 0, count);
    free(list);
}

static inline void hand_exchange(const hand *h, uint32_t rank, uint8_t *out)
{
    const mlt_goal_messages *mine = &h->is->parts[rank];
    for (uint32_t i = 0; i < mine->recvs; i++) {
        const mlt_goal_message *recv = &mine->recv[i];
        const mlt_goal_messages *theirs = &h->is->parts[recv->peer];
        uint32_t nth = 0;
        for (uint32_t j = 0; j < i; j++)
            nth += mine->recv[j].peer == recv->peer && mine->recv[j].tag == recv->tag;
        for (uint32_t j = 0; j < theirs->sends; j++)
            if (theirs->send[j].peer == rank && theirs->send[j].tag == recv->tag && nth-- == 0)
                memcpy(out + recv->at, h->brings[recv->peer] + theirs->send[j].at, recv->bytes);
    }
}

// What the rank's out holds in the end; it must be there, and be no open one.
static inline void hand_result(const hand *h, uint32_t r, uint8_t *out)
{
    const mlt_goal_spec *is = h->is;
    uint64_t bytes = hand_out_bytes(h, r);
    memcpy(out, h->out[r], bytes);
    switch (is->collective) {
    case MLT_COLL_BCAST:
        memcpy(out, h->brings[is->root], bytes);
        break;
    case MLT_COLL_GATHER:
    case MLT_COLL_ALLGATHER:
        for (uint32_t s = 0; s < h->ranks; s++)
            memcpy(out + hand_start(h, s), h->brings[s], hand_block(h, s));
        break;
    case MLT_COLL_SCATTER:
        memcpy(out, h->brings[is->root] + hand_start(h, r), bytes);
        break;
    case MLT_COLL_ALLTOALL:
        for (uint32_t s = 0; s < h->ranks; s++)
            memcpy(out + hand_pair(h, r, s), h->brings[s] + hand_pair(h, s, r),
                   hand_pair(h, r, s + 1) - hand_pair(h, r, s));
        break;
    case MLT_COLL_REDUCE_SCATTER:
        hand_reduce(h, out, hand_start(h, r), bytes, 0, h->ranks);
        break;
    case MLT_COLL_SCAN:
        hand_reduce(h, out, 0, bytes, 0, r + 1);
        break;
    case MLT_COLL_EXSCAN:
        hand_reduce(h, out, 0, bytes, 0, r);
        break;
    case MLT_COLL_EXCHANGE:
        hand_exchange(h, r, out);
        break;
    default:
        hand_reduce(h, out, 0, bytes, 0, h->ranks);
    }
}

// True if out, now at `now`, may be as it is.
static inline bool hand_right(const hand *h, uint32_t r, const uint8_t *now)
{
    uint64_t bytes = hand_out_bytes(h, r);
    bool open = h->is->collective == MLT_COLL_EXSCAN && r == 0 && !h->is->in_place;
    if (bytes == HAND_NONE || open || !bytes)
        return true;
    uint8_t *want = malloc(bytes);
    if (!want)
        abort();
    hand_result(h, r, want);
    bool same = memcmp(want, now, bytes) == 0;
    free(want);
    return same;
}

// ---- a user's function, on elements of 5 bytes: the lower 4 are a map x -> a x + b with a odd,
// and maps are composed; the last byte is that of the left one. Or, if it is to commute, all 5 are
// an odd number, and numbers are multiplied. What is no whole number of elements becomes something
// else.

enum { HAND_ELEMENT = 5 };

static inline uint64_t hand_load(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, (size_t)bytes);
    return value;
}

static inline void hand_user(bool commutes, uint8_t *to, const uint8_t *from, uint64_t bytes,
                             bool reversed)
{
    if (bytes % HAND_ELEMENT)
        memset(to, (int)(to[0] + 77), bytes);
    for (uint64_t i = 0; bytes % HAND_ELEMENT == 0 && i < bytes; i += HAND_ELEMENT) {
        uint8_t left[HAND_ELEMENT], right[HAND_ELEMENT];
        memcpy(left, (reversed ? from : to) + i, HAND_ELEMENT);
        memcpy(right, (reversed ? to : from) + i, HAND_ELEMENT);
        if (commutes) {
            uint64_t product = (hand_load(left, 5) | 1) * (hand_load(right, 5) | 1);
            memcpy(to + i, &product, HAND_ELEMENT);
            continue;
        }
        uint16_t la = (uint16_t)(hand_load(left, 2) | 1), ra = (uint16_t)(hand_load(right, 2) | 1);
        uint16_t lb = (uint16_t)hand_load(left + 2, 2), rb = (uint16_t)hand_load(right + 2, 2);
        uint16_t a = (uint16_t)((uint32_t)la * ra), b = (uint16_t)((uint32_t)la * rb + lb);
        memcpy(to + i, &a, 2);
        memcpy(to + i + 2, &b, 2);
        to[i + 4] = left[4];
    }
}
