// SPDX-License-Identifier: BSD-3-Clause
// Packets about windows. A packet's object is the window's id, src and dst are ranks of it.
//
//     OP        origin -> target   a piece of an operation (op.c)
//     DONE      target -> origin   it is done, with what was fetched; word: the operation
//     LOCK      origin -> target   wants a lock; word: bits below
//     LOCKED    target -> origin   has it
//     UNLOCK    origin -> target   gives it back; answered by FREED
//     FREED     target -> origin
//     WOKEN     any -> waiter      its node has the lock that it waits for; word 1: its proxy
//     POST      target -> origin   MPI_Win_post
//     COMPLETE  origin -> target   MPI_Win_complete
//     ASK       origin -> target   a request is on the origin's mailbox (help.h); word: its number
//     ASK_LONG  origin -> target   the same, of data that lie in the origin's memory
//
// Packets come from processes of the job, on other hosts too, and from other jobs that have a part of
// the window. None can harm more than the memory of its window: what does not fit is answered with a
// fault, or ignored.
#pragma once

#include <stdint.h>

#include "p2p/p2p.h"
#include "win/part.h"

typedef enum mlt_win_packet_kind {
    MLT_WIN_PACKET_FIRST = 0x500,
    MLT_WIN_PACKET_OP = MLT_WIN_PACKET_FIRST,
    MLT_WIN_PACKET_DONE,
    MLT_WIN_PACKET_LOCK,
    MLT_WIN_PACKET_LOCKED,
    MLT_WIN_PACKET_UNLOCK,
    MLT_WIN_PACKET_FREED,
    MLT_WIN_PACKET_WOKEN,
    MLT_WIN_PACKET_POST,
    MLT_WIN_PACKET_COMPLETE,
    MLT_WIN_PACKET_ASK,
    MLT_WIN_PACKET_ASK_LONG,
    MLT_WIN_PACKET_END,
} mlt_win_packet_kind;

// Bits of LOCK's and UNLOCK's word.
enum {
    MLT_WIN_WORD_EXCLUSIVE = 1,
    MLT_WIN_WORD_ONE = 2, // the domain's ONE, too: the origin has none of it yet, or gives it back
    MLT_WIN_WORD_ALL = 4, // the domain's ALL, and no rank's own
    MLT_WIN_WORD_HOLDS = 8, // mlt_win_want.holds
};

static inline bool mlt_win_packet_is(uint16_t kind)
{
    return kind >= MLT_WIN_PACKET_FIRST && kind < MLT_WIN_PACKET_END;
}

// mlt_upcalls.packet, for these kinds.
void mlt_win_packet(mlt_worker *worker, uint32_t from, const mlt_packet *packet, const void *data,
                    uint64_t bytes);

// Sends one.
void mlt_win_tell(mlt_win_part *part, mlt_win_packet_kind kind, int32_t src, int32_t dst,
                  int32_t word, const void *data, uint64_t bytes);

// The node has the lock that it waited for.
void mlt_win_tell_woken(mlt_win_part *part, uint32_t node);
