// SPDX-License-Identifier: BSD-3-Clause
#include "host/fork.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "base/export.h"
#include "base/upcalls.h"
#include "host/entry.h"
#include "host/libc/environ.h"
#include "host/libc/signals.h"
#include "host/start.h"
#include "host/stdio/input.h"
#include "host/stdio/output.h"

// Written in a child that has just been forked, which has one thread.
static struct {
    bool child, early;
    mlt_rank *rank;
} forked;

bool mlt_fork_is_child(void)
{
    return forked.child;
}

bool mlt_fork_was_early(void)
{
    return forked.early;
}

mlt_rank *mlt_fork_rank(void)
{
    return forked.rank;
}

// From now on the thread is no rank's: the fast ways of MPI, csp.h and flow.h do not let it in.
static void in_child(void)
{
    forked.early = !mlt_entry_joined();
    if (forked.early || forked.child)
        return;
    forked.rank = mlt_thread_rank();
    forked.child = true;
    mlt_fiber_user = NULL;
    if (mlt_upcalls.forked)
        mlt_upcalls.forked();
    if (forked.rank) {
        mlt_output_forked(forked.rank);
        mlt_signals_forked(forked.rank);
        mlt_environ_forked(forked.rank);
        mlt_input_forked(forked.rank);
    }
}

// Early, so that handlers of the program's own come after it.
__attribute__((constructor)) static void hook(void)
{
    (void)pthread_atfork(NULL, NULL, in_child); // without memory a child is not told apart
}

// A fork that calls no handlers. Older libcs do not have it.
MLT_INTERPOSE pid_t _Fork(void)
{
    pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "_Fork");
    pid_t pid = next ? next() : fork();
    if (pid == 0)
        in_child();
    return pid;
}
