// SPDX-License-Identifier: BSD-3-Clause
// Where several ranks share a process, the library's own pthread_create and thrd_create come before
// libc's, as its __libc_start_main does, and note which rank starts the thread. Threads that
// something else starts (TSan, for one) belong to no rank, and get an error if they call MPI.
#include "host/start.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

#include "base/export.h"
#include "fiber/sanitize.h"
#include "host/entry.h"
#include "host/fork.h"
#include "host/globals.h"
#include "host/libc/libc.h"
#include "host/libc/locale.h"
#include "host/own.h"

// The rank whose thread started this one, in a process of several ranks; NULL on ranks' own
// threads.
static _Thread_local mlt_rank *starter;

mlt_rank *mlt_thread_rank(void)
{
    mlt_rank *me = mlt_rank_self();
    if (me)
        return me;
    if (mlt_fork_is_child())
        return mlt_fork_rank();
    return starter ? starter : mlt_entry_only_rank();
}

mlt_rank *mlt_thread_sharer(void)
{
    mlt_rank *me = mlt_entry_many() ? mlt_thread_rank() : NULL;
    return me && me->worker && !me->ended ? me : NULL;
}

// ---- who starts whom

typedef struct start {
    void *(*run)(void *arg);
    int (*run_c11)(void *arg);
    void *arg;
    mlt_rank *rank;
} start;

// NULL: nothing needs to be noted. TSan knows a new thread only after we would have run in it.
static start *note(void *(*run)(void *), int (*run_c11)(void *), void *arg, bool *failed)
{
    *failed = false;
    mlt_rank *rank = mlt_entry_many() && !MLT_SANITIZED_THREAD ? mlt_thread_rank() : NULL;
    if (!rank)
        return NULL;
    start *s = malloc(sizeof *s);
    if (s)
        *s = (start){run, run_c11, arg, rank};
    *failed = !s;
    mlt_own_of(rank)->threads = true;
    return s;
}

static start start_begin(void *noted)
{
    start s = *(start *)noted;
    free(noted);
    starter = s.rank;
    mlt_entry_unpin(s.rank);
    mlt_globals_thread(s.rank);
    mlt_locale_thread(s.rank);
    return s;
}

static void *run(void *noted)
{
    start s = start_begin(noted);
    return s.run(s.arg);
}

static int run_c11(void *noted)
{
    start s = start_begin(noted);
    return s.run_c11(s.arg);
}

MLT_INTERPOSE int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
                                 void *(*function)(void *), void *restrict arg)
{
    bool failed;
    start *s = note(function, NULL, arg, &failed);
    if (failed)
        return EAGAIN;
    if (!s)
        return MLT_LIBC(pthread_create)(thread, attr, function, arg);
    int error = MLT_LIBC(pthread_create)(thread, attr, run, s);
    if (error)
        free(s);
    return error;
}

MLT_INTERPOSE int thrd_create(thrd_t *thread, thrd_start_t function, void *arg)
{
    bool failed;
    start *s = note(NULL, function, arg, &failed);
    if (failed)
        return thrd_nomem;
    if (!s)
        return MLT_LIBC(thrd_create)(thread, function, arg);
    int error = MLT_LIBC(thrd_create)(thread, run_c11, s);
    if (error != thrd_success)
        free(s);
    return error;
}
