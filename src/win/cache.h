// SPDX-License-Identifier: BSD-3-Clause
// What a rank's gets have brought from other ranks' windows, so that it need not be asked for again.
// mpi/win/cached.c decides in which epochs it may answer; here is how.
//
// A get that is under way lands in the user's buffer, which nobody touches until the rank has waited
// for its operations. Until then the cache only knows where: another get of the same is answered by
// a copy as soon as the wait is over (mlt_win_cache_settle). Only what is kept beyond such a wait is
// copied into memory of the cache's own.
//
// Gets are told apart by target and displacement; the displacement unit, which need not be known
// here, is the same for all gets from a target. A get is answered if one of at least as many bytes
// came from the same place.
//
// It belongs to a rank. Nothing here suspends.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct mlt_win_cache mlt_win_cache;

mlt_win_cache *mlt_win_cache_new(void);
void mlt_win_cache_free(mlt_win_cache *cache); // NULL is allowed

// True: it answers. The bytes are in `to`, or, unless at_once, are there after the next settle that
// includes the target; until then nobody touches `to`. room: bytes that the
// cache may take, in all.
bool mlt_win_cache_get(mlt_win_cache *cache, int32_t target, int64_t disp, void *to, uint64_t bytes,
                       bool at_once, uint64_t room);

// A get has begun that was not answered. Its bytes are in `from` at the next settle that includes
// the target; until then nobody touches them. A cache that is full begins anew; what is larger than
// all of it is not noted.
void mlt_win_cache_note(mlt_win_cache *cache, int32_t target, int64_t disp, const void *from,
                        uint64_t bytes, uint64_t room);

// All operations on the target (-1: on all) are done: answers that were promised are given. keep:
// what came is kept on; otherwise all that came from the target is forgotten.
void mlt_win_cache_settle(mlt_win_cache *cache, int32_t target, bool keep);

// The target's memory (-1: of all) changes: what came from there answers no more. Answers that were
// promised before are given all the same.
void mlt_win_cache_forget(mlt_win_cache *cache, int32_t target);
