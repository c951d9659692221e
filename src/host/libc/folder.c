// SPDX-License-Identifier: BSD-3-Clause
#include "host/libc/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/export.h"
#include "base/log.h"
#include "base/memory.h"
#include "boot/job.h"
#include "host/caller.h"
#include "host/libc/libc.h"
#include "host/own.h"
#include "host/switch.h"
#include "p2p/worker.h"

// A directory in which some ranks of a worker are.
typedef struct place {
    struct place *next;
    dev_t device;
    ino_t number;
    int fd;
    uint32_t users;
} place;

struct mlt_folder {
    place *place;
    mode_t mask;
};

// Of the calling worker. Its ranks start at home, where the job is.
static _Thread_local struct {
    enum { UNTOUCHED, OWN, SHARED } state;
    place home, *now; // where the thread is
    place *others;
    mode_t home_mask, mask;
} folder_here;

// ---- places

// Of the current directory; NULL, and errno: there is no descriptor for it.
static MLT_FOR_TAKEN place *place_here(void)
{
    int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0)
        return NULL;
    place *p = folder_here.others;
    while (p && (p->device != about.st_dev || p->number != about.st_ino))
        p = p->next;
    if (p) {
        close(fd);
    } else {
        p = mlt_xcalloc(1, sizeof *p);
        *p = (place){folder_here.others, about.st_dev, about.st_ino, fd, 0};
        folder_here.others = p;
    }
    return p;
}

static void place_hold(place *p)
{
    p->users++;
}

static void place_drop(place *p)
{
    if (--p->users > 0 || p == &folder_here.home)
        return;
    place **at = &folder_here.others;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    close(p->fd);
    free(p);
}

static void go_to(place *p)
{
    if (p == folder_here.now)
        return;
    if (MLT_LIBC(fchdir)(p->fd) != 0)
        mlt_fatal("a rank cannot return to its current directory, which Millet has as descriptor "
                  "%d: %s",
                  p->fd, strerror(errno));
    folder_here.now = p;
}

static void set_mask(mode_t mask)
{
    if (mask != folder_here.mask)
        (void)MLT_LIBC(umask)(mask);
    folder_here.mask = mask;
}

static void folder_swap(const mlt_rank *from, const mlt_rank *to)
{
    const mlt_rank_own *own = to ? to->own : NULL;
    const struct mlt_folder *folder = own ? own->folder : NULL;
    if (!to)
        return;
    int saved = errno;
    go_to(folder ? folder->place : &folder_here.home);
    set_mask(folder ? folder->mask : folder_here.home_mask);
    errno = saved;
}

// ---- the first change in a worker

static void note_shared(int error)
{
    static atomic_flag noted = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set_explicit(&noted, memory_order_relaxed))
        mlt_log("note: the ranks of this process share its current directory and umask, which one "
                "of them has changed: the system refuses them their own (%s)",
                strerror(error));
}

// The thread gets its own from the system, unless it is the only one that runs ranks.
static bool part_from_others(const mlt_worker *w)
{
    const mlt_job_proc *proc = mlt_job_proc_at(w->boot->job, w->boot->proc);
    if (proc->workers == 1 || unshare(CLONE_FS) == 0)
        return true;
    note_shared(errno);
    return false;
}

static void folder_begin(mlt_worker *w)
{
    folder_here.state = SHARED;
    if (!part_from_others(w))
        return;
    folder_here.home.fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder_here.home.fd < 0) {
        note_shared(errno);
        return;
    }
    folder_here.home_mask = folder_here.mask = MLT_LIBC(umask)(0);
    (void)MLT_LIBC(umask)(folder_here.mask);
    folder_here.now = &folder_here.home;
    folder_here.state = OWN;
    if (w->count > 1)
        mlt_switch_want(w->sched, MLT_SWITCH_FOLDER, folder_swap);
}

// What the rank has changed; NULL: it changes the process's.
static MLT_FOR_TAKEN struct mlt_folder *folder_of(mlt_rank *me)
{
    int saved = errno;
    if (folder_here.state == UNTOUCHED)
        folder_begin(me->worker);
    errno = saved;
    if (folder_here.state == SHARED)
        return NULL;
    mlt_rank_own *own = mlt_own_of(me);
    if (!own->folder) {
        own->folder = mlt_xcalloc(1, sizeof *own->folder);
        *own->folder = (struct mlt_folder){&folder_here.home, folder_here.home_mask};
        place_hold(&folder_here.home);
    }
    return own->folder;
}

void mlt_folder_free(struct mlt_folder *folder)
{
    if (!folder)
        return;
    go_to(&folder_here.home);
    place_drop(folder->place);
    free(folder);
}

// ---- the calls

#if MLT_TAKES_OVER

// The rank has gone somewhere, if `failed` is 0.
static int arrive(struct mlt_folder *folder, int failed)
{
    if (failed || !folder)
        return failed;
    place *p = place_here();
    if (!p) { // too many descriptors are open
        int why = errno;
        (void)MLT_LIBC(fchdir)(folder->place->fd);
        errno = why;
        return -1;
    }
    place_hold(p);
    place_drop(folder->place);
    folder->place = folder_here.now = p;
    return 0;
}

MLT_INTERPOSE int chdir(const char *path)
{
    mlt_rank *me = mlt_caller_rank(MLT_CALLER);
    struct mlt_folder *folder = me ? folder_of(me) : NULL;
    return arrive(folder, MLT_LIBC(chdir)(path));
}

MLT_INTERPOSE int fchdir(int fd)
{
    mlt_rank *me = mlt_caller_rank(MLT_CALLER);
    struct mlt_folder *folder = me ? folder_of(me) : NULL;
    return arrive(folder, MLT_LIBC(fchdir)(fd));
}

MLT_INTERPOSE mode_t umask(mode_t mask)
{
    mlt_rank *me = mlt_caller_rank(MLT_CALLER);
    struct mlt_folder *folder = me ? folder_of(me) : NULL;
    if (folder)
        folder->mask = folder_here.mask = mask & 0777;
    return MLT_LIBC(umask)(mask);
}

#endif
