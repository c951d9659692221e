// SPDX-License-Identifier: BSD-3-Clause
// Whether what an operation names lies inside of a window. Of a dynamic one the descriptor's size is the
// address of the list of attached memory, in its process; the descriptor's guard guards that list.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "type/type.h"
#include "win/op.h"
#include "win/part.h"

// `runs`, counted from displacement `disp`, lie inside. *at: where displacement disp is, counted from
// the window's begin. Numbers may be anything.
mlt_win_fault mlt_win_check_runs(mlt_win_descriptor *descriptor, mlt_win_flavor flavor,
                                 int64_t disp, const mlt_type_run *runs, uint32_t count,
                                 uint64_t *at);

// The same for `count` elements of a type.
mlt_win_fault mlt_win_check_oddity(mlt_win_descriptor *descriptor, mlt_win_flavor flavor,
                                   int64_t disp, uint64_t count, const mlt_type *type,
                                   uint64_t *at) MLT_COLD;
static inline mlt_win_fault mlt_win_check(mlt_win_descriptor *descriptor, mlt_win_flavor flavor,
                                          int64_t disp, uint64_t count, const mlt_type *type,
                                          uint64_t *at)
{
    uint64_t bytes = count * type->size, unit = descriptor->unit;
    if (MLT_LIKELY(type->contiguous && flavor != MLT_WIN_DYNAMIC &&
                   (uint64_t)disp < UINT64_C(1) << 32 && unit < UINT64_C(1) << 31)) {
        *at = (uint64_t)disp * unit;
        return *at <= descriptor->size && bytes <= descriptor->size - *at ? MLT_WIN_FINE
                                                                          : MLT_WIN_BEYOND;
    }
    return mlt_win_check_oddity(descriptor, flavor, disp, count, type, at);
}

// The same for `bytes` bytes at an address of a dynamic window in another process of this host, whose
// list is read there once it has changed. MLT_ERR_UNSUPPORTED: the system refuses. *seen: what was
// read last; free's, NULL at first.
struct mlt_win_seen;
mlt_status mlt_win_check_peer(struct mlt_win_seen **seen, pid_t pid, mlt_win_descriptor *descriptor,
                              uint64_t at, uint64_t bytes, mlt_win_fault *fault) MLT_MUST_CHECK;

// Dynamic windows. attach: false if it overlaps memory that is attached. detach: false if none that
// is attached begins there.
// device: it is memory of one.
bool mlt_win_attach(mlt_win_descriptor *descriptor, uint64_t at, uint64_t bytes, bool device);
bool mlt_win_detach(mlt_win_descriptor *descriptor, uint64_t at);
void mlt_win_detach_all(mlt_win_descriptor *descriptor);
