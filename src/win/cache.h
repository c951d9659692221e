// SPDX-License-Identifier: BSD-3-Clause
// What a rank has read from other ranks' windows, so that it need not be asked for again.
// mpi/win/cached.c decides in which epochs it may answer; here is how.
//
// A get that is under way lands in the user's buffer, which nobody touches until the rank has waited
// for its operations. Until then the cache only knows where: another get of the same is answered by
// a copy as soon as the wait is over (mlt_win_cache_settle). Only what is kept beyond such a wait is
// copied into memory of the cache's own, without gaps. A read with a request ends by itself: then the
// cache is given its copy at that moment (mlt_win_kept).
//
// Reads are told apart by target, displacement and shape: the layout of the target's elements, if it
// has gaps. The displacement unit, which need not be known here, is the same for all reads from a target.
// A read is answered if one of at least as many bytes came from the same place.
//
// It belongs to a rank. Nothing here suspends.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "type/type.h"

typedef struct mlt_win_cache mlt_win_cache;

// What is read.
typedef struct mlt_win_place {
    int64_t disp;
    const mlt_type *shape; // of the target's elements; NULL: they have no gaps
    uint64_t bytes;        // without gaps
    int32_t target;
} mlt_win_place;

// Where the user wants it.
typedef struct mlt_win_buffer {
    void *at;
    const mlt_type *type; // NULL: no gaps
} mlt_win_buffer;

mlt_win_cache *mlt_win_cache_new(void);
void mlt_win_cache_free(mlt_win_cache *cache); // NULL is allowed

// True: it answers. The bytes are in `to`, or, unless at_once, are there after the next settle that
// includes the target; until then nobody touches `to`. room: bytes that the
// cache may take, in all.
bool mlt_win_cache_get(mlt_win_cache *cache, const mlt_win_place *place, const mlt_win_buffer *to,
                       bool at_once, uint64_t room);

// A get has begun that was not answered. Its bytes are in `from` at the next settle that includes
// the target; until then nobody touches them. A cache that is full begins anew; what is larger than
// all of it is not noted.
void mlt_win_cache_note(mlt_win_cache *cache, const mlt_win_place *place,
                        const mlt_win_buffer *from, uint64_t room);

// The bytes of a read whose user may change them before the next settle. Counted.
typedef struct mlt_win_kept mlt_win_kept;

// Such a read has begun: mlt_win_kept_fill gives its bytes when they are there, and mlt_win_kept_drop
// gives up the caller's reference. NULL: there is no room.
mlt_win_kept *mlt_win_cache_keep(mlt_win_cache *cache, const mlt_win_place *place, uint64_t room);
void mlt_win_kept_fill(mlt_win_kept *kept, const mlt_win_buffer *from);
void mlt_win_kept_drop(mlt_win_kept *kept);

// All operations on the target (-1: on all) are done: answers that were promised are given. keep:
// what came is kept on; otherwise all that came from the target is forgotten.
void mlt_win_cache_settle(mlt_win_cache *cache, int32_t target, bool keep);

// The target's memory (-1: of all) changes: what came from there answers no more. Answers that were
// promised before are given all the same.
void mlt_win_cache_forget(mlt_win_cache *cache, int32_t target);
