// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/win/cached.h"

#include "mpi/p2p/request.h"
#include "mpi_bodies.h"
#include "os/os.h"
#include "win/cache.h"
#include "win/op.h"
#include "win/side.h"

// A read: of what, whereto.
typedef struct reads {
    void *to;
    MPI_Count count;
    const mlt_type *type;
    int target;
    MPI_Aint disp;
    MPI_Count there_count;
    const mlt_type *there;
} reads;

// The same, as far as a cache must know it.
typedef struct want {
    mlt_win *win;
    mlt_win_place place;
    mlt_win_buffer to;
    uint64_t room;     // of the cache
    uint64_t begin_ns; // when it was asked; 0: it was not
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

static bool cached_is_fine(const mlt_type *type, MPI_Count count)
{
    return type && type->committed && count > 0 && count < UINT32_MAX && type->size < UINT32_MAX;
}

static const mlt_type *with_gaps(const mlt_type *type)
{
    return type->contiguous ? NULL : type;
}

// Whether a cache may answer; what is wrong with the call is for the body to say.
static bool wants(const reads *r, mlt_win *win, const mlt_intercept_call *along, want *w)
{
    const mlt_intercept_wrapper *cache =
        &along->walk.interceptor->spec->wrappers[along->walk.next - 1];
    if (!cached_is_fine(r->type, r->count) || !cached_is_fine(r->there, r->there_count) ||
        (uint64_t)r->count * r->type->size != (uint64_t)r->there_count * r->there->size ||
        (uintptr_t)r->to <= (uintptr_t)MPI_IN_PLACE ||
        (uint32_t)r->target >= (uint32_t)win->side.part->ranks || r->target == win->side.me ||
        mlt_win_shared_of(win)->flavor == MPI_WIN_FLAVOR_SHARED ||
        !is_still(win, r->target, cache->until_unlock))
        return false;
    const mlt_win_peer *peer = mlt_win_peer_of(win->side.part, r->target);
    if (peer->reach == MLT_WIN_NEAR || peer->direct)
        return false;
    *w = (want){.win = win,
                .place = {.disp = r->disp,
                          .shape = with_gaps(r->there),
                          .bytes = (uint64_t)r->count * r->type->size,
                          .target = r->target},
                .to = {r->to, with_gaps(r->type)},
                .room = cache->room};
    return w->place.bytes > 0;
}

static bool hits(const want *w, const mlt_intercept_call *along, bool at_once)
{
    const mlt_win_notes *notes = w->win->notes;
    if (!notes || !notes->cache ||
        !mlt_win_cache_get(notes->cache, &w->place, &w->to, at_once, w->room))
        return false;
    if (w->win->side.flags & MLT_WINF_FENCED)
        w->win->side.flags |= MLT_WINF_ACCESSED;
    mlt_intercept_cache_asked(&along->walk, true, (uint64_t)mlt_os_now_ns() - w->begin_ns);
    return true;
}

// True: the cache has answered, and the read is done, or is when the rank waits for its operations.
// False: now the call passes the wrappers behind the cache. May suspend.
static bool answers(mlt_rank *me, mlt_win *win, const reads *r, const mlt_how *how,
                    mlt_intercept_call *along, want *w)
{
    uint16_t fn = me->fn;
    bool passive = win->side.flags & (MLT_WINF_LOCKED | MLT_WINF_LOCKED_ALL);
    if (!along->walk.at_cache)
        return false;
    if ((!how || (how->request && passive)) && wants(r, win, along, w)) {
        w->begin_ns = (uint64_t)mlt_os_now_ns();
        if (hits(w, along, how)) {
            if (how)
                *how->request = mlt_req_sent_handle();
            return true;
        }
    }
    mlt_intercept_goes_on(me, fn, along);
    return false;
}

// A read with a request: its user may change the bytes as soon as that is done, and tells nobody.
static void keep(mlt_rank *me, const want *w, mlt_win_cache *cache, MPI_Request request)
{
    mlt_win_kept *kept = mlt_win_cache_keep(cache, &w->place, w->room);
    if (!kept)
        return;
    mlt_req *req = request == mlt_req_sent_handle() ? NULL : mlt_req_mine(me, request);
    if (req && mlt_win_op_keep(&w->win->side, req, kept))
        return;
    mlt_win_kept_fill(kept, &w->to); // it is done already
    mlt_win_kept_drop(kept);
}

// What the cache has not answered has begun.
static void cached_note(mlt_rank *me, const want *w, const mlt_how *how,
                        const mlt_intercept_call *along)
{
    mlt_win_notes *notes = mlt_win_notes_of(w->win);
    if (!notes->cache)
        notes->cache = mlt_win_cache_new();
    if (how)
        keep(me, w, notes->cache, *how->request);
    else
        mlt_win_cache_note(notes->cache, &w->place, &w->to, w->room);
    mlt_intercept_cache_asked(&along->walk, false, (uint64_t)mlt_os_now_ns() - w->begin_ns);
}

int mlt_cached_Get(mlt_rank *me, void *origin_addr, MPI_Count origin_count,
                   const mlt_type *origin_datatype, int target_rank, MPI_Aint target_disp,
                   MPI_Count target_count, const mlt_type *target_datatype, mlt_win *win,
                   const mlt_how *how, mlt_intercept_call *along)
{
    want w = {0};
    const reads r = {origin_addr, origin_count, origin_datatype, target_rank,
                     target_disp, target_count, target_datatype};
    if (answers(me, win, &r, how, along, &w))
        return MPI_SUCCESS;
    int code = mlt_mpi_Get(me, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                           target_count, target_datatype, win, how);
    if (w.begin_ns && code == MPI_SUCCESS)
        cached_note(me, &w, how, along);
    return code;
}

// With another operation than MPI_NO_OP the way does not stop at a cache. A result of other types than
// the target's is for the body to judge.
int mlt_cached_Get_accumulate(mlt_rank *me, const void *origin_addr, MPI_Count origin_count,
                              const mlt_type *origin_datatype, void *result_addr,
                              MPI_Count result_count, const mlt_type *result_datatype,
                              int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                              const mlt_type *target_datatype, MPI_Op op, mlt_win *win,
                              const mlt_how *how, mlt_intercept_call *along)
{
    want w = {0};
    const reads r = {result_addr,     result_count,
                     result_datatype, target_rank,
                     target_disp,     result_datatype == target_datatype ? target_count : 0,
                     target_datatype};
    if (answers(me, win, &r, how, along, &w))
        return MPI_SUCCESS;
    int code = mlt_mpi_Get_accumulate(me, origin_addr, origin_count, origin_datatype, result_addr,
                                      result_count, result_datatype, target_rank, target_disp,
                                      target_count, target_datatype, op, win, how);
    if (w.begin_ns && code == MPI_SUCCESS)
        cached_note(me, &w, how, along);
    return code;
}

int mlt_cached_Fetch_and_op(mlt_rank *me, const void *origin_addr, void *result_addr,
                            const mlt_type *datatype, int target_rank, MPI_Aint target_disp,
                            MPI_Op op, mlt_win *win, mlt_intercept_call *along)
{
    want w = {0};
    int count = datatype && datatype->code; // derived ones are for the body to refuse
    const reads r = {result_addr,
                     count,
                     datatype,
                     target_rank,
                     target_disp,
                     count,
                     mlt_dtype_original(datatype)};
    if (answers(me, win, &r, MLT_BLOCKING, along, &w))
        return MPI_SUCCESS;
    int code = mlt_mpi_Fetch_and_op(me, origin_addr, result_addr, datatype, target_rank,
                                    target_disp, op, win);
    if (w.begin_ns && code == MPI_SUCCESS)
        cached_note(me, &w, MLT_BLOCKING, along);
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
