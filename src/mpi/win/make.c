// SPDX-License-Identifier: BSD-3-Clause
// Making and freeing windows.
//
// Each rank leaves at its worker what it gives. The last one of a worker makes the worker's block,
// and brings the block's card to the agreement of all ranks, which also takes a number for the window.
// Afterwards every worker has all cards. A barrier ends the call, since a packet of another rank may
// come before the agreement is over here.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gpu/gpu.h"
#include "mpi/coll/coll.h"
#include "mpi/comm/shared.h"
#include "mpi/error/errhandler.h"
#include "mpi/error/error.h"
#include "mpi/info/memkind.h"
#include "mpi/self.h"
#include "mpi/win/win.h"
#include "mpi_bodies.h"
#include "win/cache.h"
#include "win/range.h"
#include "win/settings.h"
#include "win/side.h"

// A window that ranks of a worker are making.
typedef struct making {
    mlt_comm_shared *of; // the communicator's
    uint32_t refs;       // ranks that are in the call
    mlt_win_part *part;
    bool failed, numbered;
} making;

// What a worker brings to the agreement.
typedef struct ticket {
    uint32_t place, failed;
    mlt_win_card card;
} ticket;

typedef mlt_win_recipe recipe;

// ---- the worker's part

static uint32_t even_of(const mlt_members *members)
{
    uint32_t even = members->at[0].present;
    for (uint32_t p = 0; p < members->workers; p++)
        if (members->at[p].present != even || members->at[p].first != p * even)
            return 0;
    return members->contiguous ? even : 0;
}

static mlt_win_flavor flavor_of(const recipe *r)
{
    switch (r->flavor) {
    case MPI_WIN_FLAVOR_CREATE:
        return MLT_WIN_CREATED;
    case MPI_WIN_FLAVOR_DYNAMIC:
        return MLT_WIN_DYNAMIC;
    default:
        return r->contiguous ? MLT_WIN_CONTIGUOUS : MLT_WIN_ALLOCATED;
    }
}

static mlt_win_part *make_part(mlt_comm *comm, const recipe *r)
{
    const mlt_members *members = mlt_comm_members(comm);
    mlt_worker *worker = comm->owner->worker;
    mlt_win_part *part = mlt_win_part_new(&(mlt_win_facts){
        .worker = worker,
        .flavor = flavor_of(r),
        .ranks = comm->size,
        .workers = members->workers,
        .place = members->place,
        .contiguous = members->contiguous,
        .shares = r->flavor == MPI_WIN_FLAVOR_SHARED || mlt_win_conf.windows == MLT_WINDOWS_SHARED,
        .even = even_of(members),
        .world = mlt_map_member,
        .group = mlt_comm_group(comm),
    });
    for (uint32_t p = 0; p < members->workers; p++)
        mlt_win_part_peer(part, p, mlt_worker_of_rank(worker, members->at[p].speaker),
                          (int32_t)members->at[p].first);
    mlt_win_shared *shared = mlt_xcalloc(1, sizeof *shared);
    shared->flavor = r->flavor;
    shared->group = mlt_map_hold(mlt_comm_group(comm));
    shared->info = mlt_win_hints(r->info);
    shared->no_locks = mlt_info_flag(r->info, "no_locks", false);
    part->owner = shared;
    return part;
}

// All ranks of a communicator make a window before any of them makes the next one.
static making *find_making(mlt_comm *comm, const recipe *r)
{
    mlt_comm_shared *of = mlt_comm_shared_of(comm);
    making *m = of->window;
    if (!m) {
        m = of->window = mlt_xcalloc(1, sizeof *m);
        m->of = of;
        m->part = make_part(comm, r);
    }
    return m;
}

static void drop_part(mlt_win_part *part)
{
    mlt_win_shared *shared = part->refs == 1 ? part->owner : NULL;
    mlt_win_part_drop(part);
    if (!shared)
        return;
    if (shared->comm)
        mlt_comm_drop(shared->comm);
    mlt_map_drop(shared->group);
    mlt_info_free(shared->info);
    free(shared);
}

static void drop_making(making *m)
{
    if (--m->refs > 0)
        return;
    drop_part(m->part);
    free(m);
}

// ---- the agreement

static void finish_make(mlt_agreement *agreement)
{
    making *m = agreement->participants->user;
    mlt_win_shared *shared = m->part->owner;
    m->of->window = NULL;
    for (const mlt_agreement_item *i = NULL; (i = mlt_agreement_next(agreement, i));) {
        const ticket *t = mlt_agreement_item_data(i);
        bool fits = i->bytes == sizeof *t && t->place < m->part->workers; // it may be another job's
        m->failed |= !fits || t->failed;
        if (fits)
            mlt_win_part_card(m->part, t->place, &t->card);
    }
    if (!agreement->context)
        return;
    m->numbered = true;
    mlt_comm_shared *new = mlt_comm_shared_new(
        mlt_context_join(agreement->worker, agreement->context), mlt_map_hold(shared->group), NULL);
    new->members = mlt_members_hold(agreement->place.members);
    mlt_participant *g = agreement->participants;
    shared->comm = mlt_comm_new(g->rank, new, 0, g->order, NULL);
    mlt_list_remove(&shared->comm->link); // it may outlive that rank's MPI
    if (!m->failed)
        mlt_win_part_open(m->part, new->context);
}

// Where the ranks' memories begin if one follows the other; of all of them together how many bytes.
static uint64_t win_make_lay_out(mlt_win_part *part, const mlt_gathered *sizes, bool *fits)
{
    uint64_t *begin = mlt_xcalloc((size_t)part->ranks + 1, sizeof *begin);
    for (int32_t r = 0; r < part->ranks; r++) {
        uint64_t size;
        memcpy(&size, (const char *)sizes->data + sizes->at[r], sizeof size);
        *fits &= size <= INT64_MAX - begin[r];
        begin[r + 1] = begin[r] + (*fits ? size : 0);
    }
    MLT_LIST_EACH(mlt_win_join, join, &part->joins, node) {
        join->base = begin[join->me];
    }
    uint64_t all = begin[part->ranks];
    free(begin);
    return all;
}

static void make_block(mlt_win_part *part, const recipe *r, const mlt_gathered *sizes, ticket *t)
{
    bool fits = true;
    uint64_t all = sizes ? win_make_lay_out(part, sizes, &fits) : 0;
    t->place = part->place;
    t->failed =
        !fits || mlt_win_part_block(part, r->align, part->place == 0 ? all : 0, &t->card) != MLT_OK;
}

static bool lies_on_device(const void *base, uint64_t size)
{
    return mlt_gpu_is_on() && size && mlt_gpu_owns(base);
}

static int win_make_agreement(mlt_rank *me, mlt_comm *comm, const recipe *r,
                              const mlt_gathered *sizes, mlt_win *win)
{
    making *m = find_making(comm, r);
    mlt_win_part *part = m->part;
    mlt_win_join join = {.side = &win->side,
                         .me = comm->rank,
                         .base = (uintptr_t)r->base,
                         .size = (uint64_t)r->size,
                         .unit = (uint64_t)r->unit,
                         .device = r->flavor == MPI_WIN_FLAVOR_CREATE &&
                                   lies_on_device(r->base, (uint64_t)r->size)};
    ticket t = {.place = 0};
    m->refs++;
    win->side.local = (uint32_t)(me - me->worker->ranks);
    mlt_win_part_join(part, &join);
    const mlt_members *members = mlt_comm_members(comm);
    bool last = part->came == members->at[members->place].present;
    if (last)
        make_block(part, r, sizes, &t);
    mlt_participant participant = {.rank = me, .order = mlt_comm_order(comm), .user = m};
    mlt_agreement_place place = mlt_comm_place(comm, true, finish_make);
    mlt_agreement_come(&participant, &place, &t, last ? sizeof t : 0);
    mlt_agreement_wait(&participant, place.context);
    int code = MPI_SUCCESS;
    if (!m->numbered)
        code = mlt_comm_no_context(me, comm);
    else if (m->failed)
        code = mlt_mpi_raise(me, comm, me->fn, MPI_ERR_NO_MEM,
                             MLT_NO_ROOM "a window of %lld bytes of this rank, and those of others",
                             (long long)r->size);
    else
        part->refs++;
    drop_making(m);
    return code;
}

// ---- checks

// Every rank can map every other's memory.
static bool all_share(mlt_comm *comm)
{
    mlt_job *job = comm->owner->worker->boot->job;
    const mlt_members *members = mlt_comm_members(comm);
    if (members->foreign)
        return false;
    uint32_t first = mlt_worker_of_rank(comm->owner->worker, members->at[0].speaker);
    for (uint32_t p = 1; p < members->workers; p++) {
        uint32_t worker = mlt_worker_of_rank(comm->owner->worker, members->at[p].speaker);
        if (mlt_job_host_of(job, worker) != mlt_job_host_of(job, first))
            return false;
    }
    return true;
}

static int win_make_check(mlt_rank *me, mlt_comm *comm, const recipe *r, MPI_Info info)
{
    if (info != MPI_INFO_NULL && !r->info)
        return mlt_bad_info(me, comm, me->fn, info);
    if (comm->inter)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_COMM,
                             "argument comm is an intercommunicator, but windows are made of "
                             "intracommunicators");
    if (r->size < 0)
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_SIZE, "size", r->size, "at least 0");
    if (r->unit <= 0)
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_DISP, "disp_unit", r->unit, "at least 1");
    if (r->flavor == MPI_WIN_FLAVOR_CREATE && !r->base && r->size > 0)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_BASE, "base",
                            "the address of memory, as size is above 0");
    if (r->flavor == MPI_WIN_FLAVOR_SHARED && !all_share(comm))
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_RMA_SHARED,
                             "the ranks of %s do not share memory; MPI_Comm_split_type with "
                             "MPI_COMM_TYPE_SHARED makes communicators of ranks that do",
                             mlt_comm_name(me, comm));
    if (comm->size >= MLT_WIN_MOST_RANKS)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_COMM, "a window has at most %d ranks",
                             MLT_WIN_MOST_RANKS - 1);
    return MPI_SUCCESS;
}

static uint64_t alignment(const mlt_info *info)
{
    const char *text = mlt_info_get(info, "mpi_minimum_memory_alignment");
    uint64_t align = text ? strtoull(text, NULL, 10) : 1;
    return align && (align & (align - 1)) == 0 && align <= UINT64_C(1) << 40 ? align : 1;
}

// What the rank's session asked for and the rank asserts may be another rank's otherwise.
static void note_memory(mlt_win *win, const char *asked, const char *asserted)
{
    if (!asked && !asserted)
        return;
    mlt_info *info = mlt_win_notes_of(win)->info = mlt_info_new();
    if (asked)
        mlt_info_set(info, MLT_MEMKIND_KEY, asked);
    if (asserted)
        mlt_info_set(info, MLT_MEMKIND_ASSERT, asserted);
}

// ---- the calls

int mlt_win_make(mlt_rank *me, mlt_comm *comm, recipe *r, MPI_Info info, void *baseptr,
                 MPI_Win *handle)
{
    mlt_pool *pool = &mlt_mpi_worker_of(me)->wins;
    mlt_gathered sizes;
    uint64_t size = (uint64_t)r->size;
    r->info = mlt_info_of(info);
    r->align = baseptr ? alignment(r->info) : 1;
    r->contiguous = r->flavor == MPI_WIN_FLAVOR_SHARED &&
                    !mlt_info_flag(r->info, "alloc_shared_noncontig", false);
    int code = win_make_check(me, comm, r, info);
    if (code == MPI_SUCCESS && r->contiguous)
        code = mlt_comm_gather(me, comm, &size, sizeof size, &sizes);
    if (code != MPI_SUCCESS)
        return code;
    mlt_win *win = mlt_pool_take(pool);
    *win = (mlt_win){.magic = 0};
    code = win_make_agreement(me, comm, r, r->contiguous ? &sizes : NULL, win);
    if (r->contiguous)
        mlt_gathered_free(&sizes);
    if (code != MPI_SUCCESS) {
        mlt_pool_give_last(pool, win);
        return code;
    }
    note_memory(win, mlt_memkind_of_comm(comm), mlt_info_get(r->info, MLT_MEMKIND_ASSERT));
    win->magic = MLT_WIN_MAGIC;
    mlt_win_barrier(me, win);
    if (baseptr)
        *(void **)baseptr = mlt_win_memory(win->side.part, win->side.me);
    *handle = (MPI_Win)win;
    return MPI_SUCCESS;
}

// ---- freeing

static void notes_free(mlt_win_notes *notes)
{
    if (!notes)
        return;
    mlt_errhandler_drop(notes->errhandler);
    mlt_attrs_forget(&notes->attrs);
    mlt_info_free(notes->info);
    mlt_win_cache_free(notes->cache);
    free(notes->name);
    free(notes);
}

static int free_in_epoch(mlt_rank *me, mlt_win *win)
{
    uint32_t flags = win->side.flags;
    const char *what = flags & MLT_WINF_LOCKED       ? "it holds a lock of it; call MPI_Win_unlock"
                       : flags & MLT_WINF_LOCKED_ALL ? "it has locked all; call MPI_Win_unlock_all"
                       : flags & MLT_WINF_STARTED ? "it has started an epoch; call MPI_Win_complete"
                       : flags & MLT_WINF_POSTED  ? "it has posted; call MPI_Win_wait"
                                                  : "it has called operations since the last "
                                                    "fence; call MPI_Win_fence";
    return mlt_win_raise(me, win, MPI_ERR_RMA_SYNC, "the rank frees %s in an epoch: %s first",
                         mlt_win_called(win), what);
}

int mlt_mpi_Win_free(mlt_rank *me, MPI_Win *handle)
{
    enum {
        OPEN = MLT_WINF_LOCKED | MLT_WINF_LOCKED_ALL | MLT_WINF_STARTED | MLT_WINF_POSTED |
               MLT_WINF_ACCESSED
    };
    mlt_win *win = mlt_win_mine(me, *handle);
    if (!win)
        return mlt_bad_win(me, *handle);
    if (win->side.flags & OPEN)
        return free_in_epoch(me, win);
    if (win->notes && win->notes->attrs.first) {
        int code = mlt_attrs_delete_all(me, MLT_ATTR_WIN, *handle, &win->notes->attrs);
        if (code != MPI_SUCCESS)
            return mlt_errhandler_call(me, mlt_win_errhandler(win), win, code);
    }
    mlt_win_part *part = win->side.part;
    mlt_win_flush(&win->side, -1, mlt_mpi_call(me));
    mlt_win_barrier(me, win);
    if (part->flavor == MLT_WIN_DYNAMIC)
        mlt_win_detach_all(mlt_win_own_descriptor(&win->side));
    part->sides[win->side.me - part->peers[part->place].first] = NULL;
    mlt_win_busy_free(&win->side);
    notes_free(win->notes);
    win->magic = 0;
    mlt_pool_give_last(&mlt_mpi_worker_of(me)->wins, win);
    drop_part(part);
    *handle = MPI_WIN_NULL;
    return MPI_SUCCESS;
}

// ---- dynamic windows

static int check_dynamic(mlt_rank *me, mlt_win *win)
{
    if (win->side.part->flavor == MLT_WIN_DYNAMIC)
        return MPI_SUCCESS;
    return mlt_win_raise(me, win, MPI_ERR_RMA_FLAVOR,
                         "%s does not stem from MPI_Win_create_dynamic", mlt_win_called(win));
}

int mlt_mpi_Win_attach(mlt_rank *me, mlt_win *win, void *base, MPI_Aint size)
{
    int code = check_dynamic(me, win);
    if (code != MPI_SUCCESS)
        return code;
    if (size < 0)
        return mlt_win_raise(me, win, MPI_ERR_SIZE,
                             "argument size is %lld, but should be at least 0", (long long)size);
    if (!base && size > 0)
        return mlt_win_raise(me, win, MPI_ERR_BASE,
                             "argument base is NULL, but should be the address of memory");
    if (!mlt_win_attach(mlt_win_own_descriptor(&win->side), (uintptr_t)base, (uint64_t)size,
                        lies_on_device(base, (uint64_t)size)))
        return mlt_win_raise(me, win, MPI_ERR_RMA_ATTACH,
                             "memory of [%p, %p) overlaps memory that is attached to %s already",
                             base, (void *)((char *)base + size), mlt_win_called(win));
    return MPI_SUCCESS;
}

int mlt_mpi_Win_detach(mlt_rank *me, mlt_win *win, const void *base)
{
    int code = check_dynamic(me, win);
    if (code != MPI_SUCCESS)
        return code;
    if (!mlt_win_detach(mlt_win_own_descriptor(&win->side), (uintptr_t)base))
        return mlt_win_raise(me, win, MPI_ERR_RMA_ATTACH,
                             "no memory that begins at %p is attached to %s", base,
                             mlt_win_called(win));
    return MPI_SUCCESS;
}
