// SPDX-License-Identifier: BSD-3-Clause
#include "launch/mpir.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"

// ---- what debuggers look for. They write and read these from outside: hence volatile.

#define SEEN __attribute__((visibility("default")))

typedef struct {
    char *host_name, *executable_name;
    int pid;
} MPIR_PROCDESC;

enum { MPIR_NULL, MPIR_DEBUG_SPAWNED, MPIR_DEBUG_ABORTING };

SEEN extern MPIR_PROCDESC *MPIR_proctable;
SEEN extern int MPIR_proctable_size;
SEEN extern volatile int MPIR_being_debugged;
SEEN extern volatile int MPIR_debug_state;
SEEN extern char *MPIR_debug_abort_string;
SEEN extern int MPIR_i_am_starter;
SEEN extern int MPIR_partial_attach_ok;
SEEN extern int MPIR_acquired_pre_main;
SEEN extern int MPIR_ignore_queues;
SEEN void *MPIR_Breakpoint(void);

MPIR_PROCDESC *MPIR_proctable;
int MPIR_proctable_size;
volatile int MPIR_being_debugged; // the debugger's
volatile int MPIR_debug_state;
char *MPIR_debug_abort_string;
// That these are there says something; their values do not.
int MPIR_i_am_starter;      // it is no MPI process itself
int MPIR_partial_attach_ok; // mpirun lets processes go on, also those that nobody attaches to
int MPIR_acquired_pre_main; // they wait before main
int MPIR_ignore_queues;     // no library shows queues of messages

__attribute__((noinline)) void *MPIR_Breakpoint(void)
{
    __asm__ volatile(""); // debuggers stop here
    return NULL;
}

// ---- the table

typedef struct shared { // by guard and watcher
    _Atomic uint32_t complete;
    uint32_t count;
    MPIR_PROCDESC table[];
} shared;

static shared *mpir_own;
static pid_t mpir_guard;

bool mlt_mpir_is_debugged(void)
{
    return MPIR_being_debugged != 0;
}

void mlt_mpir_begin(uint32_t procs)
{
    size_t bytes = sizeof *mpir_own + procs * sizeof *mpir_own->table;
    mpir_own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mpir_own == MAP_FAILED)
        mlt_no_room("the table of processes");
    mpir_own->count = procs;
    mpir_guard = getpid();
    MPIR_proctable = mpir_own->table;
    if (mlt_mpir_is_debugged())
        return; // at the breakpoint
    MPIR_proctable_size = (int)procs;
    MPIR_debug_state = MPIR_DEBUG_SPAWNED;
}

void mlt_mpir_started(uint32_t proc, const char *host, const char *program, pid_t pid)
{
    if (!mpir_own)
        return;
    MPIR_PROCDESC *row = &mpir_own->table[proc];
    row->host_name = (char *)(uintptr_t)host;
    row->executable_name = (char *)(uintptr_t)program;
    mlt_mpir_is(proc, pid);
}

void mlt_mpir_is(uint32_t proc, pid_t pid)
{
    // release: whoever sees the number sees the names.
    if (mpir_own && pid > 0)
        __atomic_store_n(&mpir_own->table[proc].pid, pid, __ATOMIC_RELEASE);
}

void mlt_mpir_stop(void)
{
    // release: pairs with the guard's acquire in mlt_mpir_look; the table is whole.
    atomic_store_explicit(&mpir_own->complete, 1, memory_order_release);
    (void)kill(mpir_guard, SIGCHLD);
}

void mlt_mpir_look(int fd)
{
    // acquire: pairs with mlt_mpir_stop.
    if (!mpir_own || !atomic_load_explicit(&mpir_own->complete, memory_order_acquire))
        return;
    atomic_store_explicit(&mpir_own->complete, 0, memory_order_relaxed);
    MPIR_proctable_size = (int)mpir_own->count;
    MPIR_debug_state = MPIR_DEBUG_SPAWNED;
    (void)MPIR_Breakpoint();
    (void)!write(fd, "", 1); // a watcher that is gone needs it no more
}
