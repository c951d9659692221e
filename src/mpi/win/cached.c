// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/win/cached.h"

#include "mpi/p2p/request.h"
#include "mpi_bodies.h"
#include "os/os.h"
#include "win/cache.h"
#include "win/side.h"

// A get, as far as a cache must know it.
typedef struct want {
    mlt_win *win;
    int target;
    MPI_Aint disp;
    void *to;
    uint64_t bytes;
    uint64_t room; // of the cache
} want;

// Nobody may change what the rank gets from the target now; see cached.h.
static bool is_still(const mlt_win *win, int target, bool promised)
{
    uint32_t flags = win->side.flags;
    if (flags & MLT_WINF_LOCKED_ALL)
        return promised;
    if (flags & MLT_WINF_LOCKED) {
        const mlt_win_held *held = mlt_win_find_held(&win->side, target);
        return held && held->taken && (promised || held->class == MLT_WIN_EXCLUSIVE);
    }
    if (flags & MLT_WINF_STARTED)
        return mlt_win_started_for(&win->side, target);
    return flags & MLT_WINF_FENCED;
}

static bool cached_is_plain(const mlt_type *type, MPI_Count count)
{
    return type && type->committed && type->contiguous && count > 0 && count < UINT32_MAX &&
           type->size < UINT32_MAX;
}

// Whether a cache may answer; what is wrong with the call is for the body to say.
static bool wants(void *to, MPI_Count count, const mlt_type *type, int target, MPI_Aint disp,
                  MPI_Count there_count, const mlt_type *there, mlt_win *win,
                  const mlt_intercept_call *along, want *w)
{
    const mlt_intercept_wrapper *cache =
        &along->walk.interceptor->spec->wrappers[along->walk.next - 1];
    if (!cached_is_plain(type, count) || !cached_is_plain(there, there_count) ||
        (uint64_t)count * type->size != (uint64_t)there_count * there->size ||
        (uintptr_t)to <= (uintptr_t)MPI_IN_PLACE ||
        (uint32_t)target >= (uint32_t)win->side.part->ranks || target == win->side.me ||
        mlt_win_shared_of(win)->flavor == MPI_WIN_FLAVOR_SHARED ||
        !is_still(win, target, cache->until_unlock))
        return false;
    const mlt_win_peer *peer = mlt_win_peer_of(win->side.part, target);
    if (peer->reach == MLT_WIN_NEAR || peer->direct)
        return false;
    *w = (want){win, target, disp, to, (uint64_t)count * type->size, cache->room};
    return w->bytes > 0;
}

// True: the get is done, or is when the rank waits for its operations.
static bool hits(const want *w, const mlt_intercept_call *along, bool at_once)
{
    uint64_t begin = (uint64_t)mlt_os_now_ns();
    const mlt_win_notes *notes = w->win->notes;
    if (!notes || !notes->cache ||
        !mlt_win_cache_get(notes->cache, w->target, w->disp, w->to, w->bytes, at_once, w->room))
        return false;
    if (w->win->side.flags & MLT_WINF_FENCED)
        w->win->side.flags |= MLT_WINF_ACCESSED;
    mlt_intercept_cache_asked(&along->walk, true, (uint64_t)mlt_os_now_ns() - begin);
    return true;
}

static void cached_note(const want *w)
{
    mlt_win_notes *notes = mlt_win_notes_of(w->win);
    if (!notes->cache)
        notes->cache = mlt_win_cache_new();
    mlt_win_cache_note(notes->cache, w->target, w->disp, w->to, w->bytes, w->room);
}

// What a call with a request brings is not kept: the user may change it when the request is done, which
// nobody tells the cache.
int mlt_cached_Get(mlt_rank *me, void *origin_addr, MPI_Count origin_count,
                   const mlt_type *origin_datatype, int target_rank, MPI_Aint target_disp,
                   MPI_Count target_count, const mlt_type *target_datatype, mlt_win *win,
                   const mlt_how *how, mlt_intercept_call *along)
{
    want w = {0};
    bool passive = win->side.flags & (MLT_WINF_LOCKED | MLT_WINF_LOCKED_ALL);
    bool asks = along->walk.at_cache && (!how || (how->request && passive)) &&
                wants(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                      target_count, target_datatype, win, along, &w);
    if (asks && hits(&w, along, how)) {
        if (how)
            *how->request = mlt_req_sent_handle();
        return MPI_SUCCESS;
    }
    uint64_t begin = asks ? (uint64_t)mlt_os_now_ns() : 0;
    if (along->walk.at_cache)
        mlt_intercept_goes_on(me, how ? MLT_FN_Rget : MLT_FN_Get, along);
    int code = mlt_mpi_Get(me, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                           target_count, target_datatype, win, how);
    if (asks && code == MPI_SUCCESS) {
        if (!how)
            cached_note(&w);
        mlt_intercept_cache_asked(&along->walk, false, (uint64_t)mlt_os_now_ns() - begin);
    }
    return code;
}

void mlt_win_cached_are_done(mlt_win *win, int target, bool goes_on)
{
    bool fault = win->side.busy && win->side.busy->fault; // who knows what came
    mlt_win_cache_settle(win->notes->cache, target, goes_on && !fault);
}

void mlt_win_cached_changes(mlt_win *win, int target)
{
    if (win->notes && win->notes->cache && target >= -1)
        mlt_win_cache_forget(win->notes->cache, target);
}
