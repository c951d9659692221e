// SPDX-License-Identifier: BSD-3-Clause
#include "win/range.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "os/os.h"
#include "win/lock.h"

typedef struct region {
    uint64_t at, bytes;
} region;

typedef struct regions {
    uint32_t count, room;
    region all[]; // by address
} regions;

enum { RANGE_RUNS = 16 };

// The first one that begins after an address.
static uint32_t first_after(const regions *r, uint64_t at)
{
    return r ? MLT_ARRAY_SEARCH(i, r->count, r->all[i].at <= at) : 0;
}

// Regions that touch are one to those that use them.
static bool is_attached(const regions *r, uint64_t at, uint64_t bytes)
{
    for (uint32_t i = first_after(r, at); bytes; i++) {
        if (i == 0 || i > r->count || at < r->all[i - 1].at)
            return false;
        uint64_t from = at - r->all[i - 1].at;
        if (from >= r->all[i - 1].bytes)
            return false;
        uint64_t n = r->all[i - 1].bytes - from;
        if (n >= bytes)
            return true;
        at += n;
        bytes -= n;
    }
    return true;
}

static regions *regions_of(const mlt_win_descriptor *descriptor)
{
    return (regions *)(uintptr_t)descriptor->size;
}

static bool runs_attached(mlt_win_descriptor *descriptor, uint64_t at, const mlt_type_run *runs,
                          uint32_t count)
{
    bool fine = true;
    mlt_win_guard(NULL, &descriptor->lock);
    for (uint32_t r = 0; r < count && fine; r++)
        for (uint64_t i = 0; i < runs[r].count && fine; i++)
            fine = is_attached(regions_of(descriptor),
                               at + (uint64_t)runs[r].at + i * (uint64_t)runs[r].stride,
                               runs[r].length);
    mlt_win_unguard(&descriptor->lock);
    return fine;
}

static bool run_inside(const mlt_type_run *run, __int128 at, uint64_t size)
{
    if (run->count == 0 || run->length == 0)
        return true;
    __int128 first = at + run->at, last = first + (__int128)(run->count - 1) * run->stride;
    __int128 low = first < last ? first : last, high = first < last ? last : first;
    return low >= 0 && high + run->length <= size;
}

mlt_win_fault mlt_win_check_runs(mlt_win_descriptor *descriptor, mlt_win_flavor flavor,
                                 int64_t disp, const mlt_type_run *runs, uint32_t count,
                                 uint64_t *at)
{
    __int128 begin = (__int128)disp * descriptor->unit;
    *at = (uint64_t)begin;
    if (flavor == MLT_WIN_DYNAMIC)
        return runs_attached(descriptor, *at, runs, count) ? MLT_WIN_FINE : MLT_WIN_UNATTACHED;
    for (uint32_t r = 0; r < count; r++)
        if (!run_inside(&runs[r], begin, descriptor->size))
            return MLT_WIN_BEYOND;
    return MLT_WIN_FINE;
}

mlt_win_fault mlt_win_check_oddity(mlt_win_descriptor *descriptor, mlt_win_flavor flavor,
                                   int64_t disp, uint64_t count, const mlt_type *type, uint64_t *at)
{
    uint64_t bytes = count * type->size;
    mlt_win_fault fault = mlt_win_check_runs(descriptor, flavor, disp, NULL, 0, at);
    if (bytes && flavor != MLT_WIN_DYNAMIC) { // the box around all elements
        mlt_type_run box = {.at = type->true_lb,
                            .stride = type->extent,
                            .length = (uint64_t)type->true_extent,
                            .count = count};
        return mlt_win_check_runs(descriptor, flavor, disp, &box, 1, at);
    }
    for (uint64_t done = 0; done < bytes && fault == MLT_WIN_FINE;) {
        mlt_type_run runs[RANGE_RUNS];
        uint32_t n = RANGE_RUNS;
        done += mlt_type_runs(type, done, bytes - done, runs, &n);
        fault = mlt_win_check_runs(descriptor, flavor, disp, runs, n, at);
    }
    return fault;
}

// ---- attached memory of other processes

struct mlt_win_seen {
    const mlt_win_descriptor *descriptor;
    uint32_t list; // seat->lists at that time
    regions regions;
};

// Reads the list of a descriptor whose guard the caller has.
static mlt_status read_list(struct mlt_win_seen **seen, pid_t pid,
                            const mlt_win_descriptor *descriptor)
{
    regions head = {.count = 0};
    mlt_status status =
        descriptor->size ? mlt_os_read_peer(pid, &head, descriptor->size, sizeof head) : MLT_OK;
    if (status != MLT_OK)
        return status;
    struct mlt_win_seen *s = *seen =
        mlt_xrealloc(*seen, 1, sizeof *s + head.count * sizeof(region));
    s->descriptor = descriptor;
    s->list = atomic_load_explicit(&descriptor->lists, memory_order_relaxed);
    s->regions = (regions){.count = head.count, .room = head.count};
    status = mlt_os_read_peer(pid, s->regions.all, descriptor->size + sizeof head,
                              head.count * sizeof(region));
    if (status != MLT_OK)
        s->descriptor = NULL;
    return status;
}

mlt_status mlt_win_check_peer(struct mlt_win_seen **seen, pid_t pid, mlt_win_descriptor *descriptor,
                              uint64_t at, uint64_t bytes, mlt_win_fault *fault)
{
    // Acquire: pairs with the release of `changed`; the list is read under its guard, anyway.
    uint32_t list = atomic_load_explicit(&descriptor->lists, memory_order_acquire);
    mlt_status status = MLT_OK;
    if (!*seen || (*seen)->descriptor != descriptor || (*seen)->list != list) {
        mlt_win_guard(NULL, &descriptor->lock);
        status = read_list(seen, pid, descriptor);
        mlt_win_unguard(&descriptor->lock);
    }
    *fault = status == MLT_OK && is_attached(&(*seen)->regions, at, bytes) ? MLT_WIN_FINE
                                                                           : MLT_WIN_UNATTACHED;
    return status;
}

// ---- attached memory

// The list has changed; the caller has the guard.
static void changed(mlt_win_descriptor *descriptor)
{
    uint32_t list = atomic_load_explicit(&descriptor->lists, memory_order_relaxed);
    atomic_store_explicit(&descriptor->lists, list + 1, memory_order_release);
}

static regions *grown(regions *r)
{
    if (r && r->count < r->room)
        return r;
    uint32_t room = r ? 2 * r->room : 4, count = r ? r->count : 0;
    r = mlt_xrealloc(r, 1, sizeof *r + room * sizeof *r->all);
    r->room = room;
    r->count = count;
    return r;
}

bool mlt_win_attach(mlt_win_descriptor *descriptor, uint64_t at, uint64_t bytes, bool device)
{
    mlt_win_guard(NULL, &descriptor->lock);
    if (device)
        atomic_store_explicit(&descriptor->device, true, memory_order_relaxed);
    regions *r = grown(regions_of(descriptor));
    descriptor->size = (uintptr_t)r;
    uint32_t i = first_after(r, at);
    bool fits = (i == 0 || at - r->all[i - 1].at >= r->all[i - 1].bytes) &&
                (i == 0 || at != r->all[i - 1].at) && (i == r->count || r->all[i].at - at >= bytes);
    if (fits) {
        memmove(&r->all[i + 1], &r->all[i], (r->count - i) * sizeof *r->all);
        r->all[i] = (region){at, bytes};
        r->count++;
    }
    changed(descriptor);
    mlt_win_unguard(&descriptor->lock);
    return fits;
}

bool mlt_win_detach(mlt_win_descriptor *descriptor, uint64_t at)
{
    mlt_win_guard(NULL, &descriptor->lock);
    regions *r = regions_of(descriptor);
    uint32_t i = first_after(r, at);
    bool found = i > 0 && r->all[i - 1].at == at;
    if (found) {
        memmove(&r->all[i - 1], &r->all[i], (r->count - i) * sizeof *r->all);
        r->count--;
        changed(descriptor);
    }
    mlt_win_unguard(&descriptor->lock);
    return found;
}

void mlt_win_detach_all(mlt_win_descriptor *descriptor)
{
    free(regions_of(descriptor));
    descriptor->size = 0;
}
