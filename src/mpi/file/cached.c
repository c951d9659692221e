// SPDX-License-Identifier: BSD-3-Clause
// The cache is the windows' (win/cache.h): the file is its one target, and a place is a byte of the view.
#include "mpi/file/file.h"
#include "mpi/intercept.h"
#include "os/os.h"
#include "win/cache.h"

static mlt_win_place place_of(const mlt_file_call *c, uint64_t bytes)
{
    return (mlt_win_place){.disp = c->offset * (int64_t)c->file->view->unit, .bytes = bytes};
}

static mlt_win_buffer reads_into(const mlt_file_call *c)
{
    return (mlt_win_buffer){(void *)(uintptr_t)c->buf, c->type->contiguous ? NULL : c->type};
}

static uint64_t room_of(const mlt_intercept_call *along)
{
    return along->walk.interceptor->spec->wrappers[along->walk.next - 1].room;
}

static bool may_answer(const mlt_file_call *c, const mlt_intercept_call *along)
{
    const mlt_file *file = c->file;
    return along->walk.at_cache && file->shared->amode & MPI_MODE_RDONLY && !file->atomic &&
           file->view->rep->kind == MLT_DATAREP_MEMORY;
}

uint64_t mlt_file_cached_answer(const mlt_file_call *c, const mlt_intercept_call *along)
{
    uint64_t begin = (uint64_t)mlt_os_now_ns(), bytes = (uint64_t)c->count * c->type->size;
    mlt_win_place place = place_of(c, bytes);
    mlt_win_buffer to = reads_into(c);
    if (!may_answer(c, along) || !bytes || !c->file->cache ||
        !mlt_win_cache_get(c->file->cache, &place, &to, true, room_of(along)))
        return 0;
    mlt_intercept_cache_asked(&along->walk, true, (uint64_t)mlt_os_now_ns() - begin);
    return bytes;
}

void mlt_file_cached_note(const mlt_file_call *c, const mlt_intercept_call *along, uint64_t bytes,
                          uint64_t since_ns)
{
    mlt_file *file = c->file;
    if (!may_answer(c, along) || !bytes)
        return;
    if (!file->cache)
        file->cache = mlt_win_cache_new();
    mlt_win_place place = place_of(c, bytes);
    mlt_win_buffer from = reads_into(c);
    mlt_win_kept *kept = mlt_win_cache_keep(file->cache, &place, room_of(along));
    if (kept)
        mlt_win_kept_fill(kept, &from);
    mlt_win_kept_drop(kept);
    mlt_intercept_cache_asked(&along->walk, false, (uint64_t)mlt_os_now_ns() - since_ns);
}

void mlt_file_cached_forget(mlt_file *file)
{
    if (file->cache)
        mlt_win_cache_forget(file->cache, -1);
}
