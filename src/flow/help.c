// SPDX-License-Identifier: BSD-3-Clause
// The word says who has the worker. Its thread and the helper change it by compare-and-swap;
// acquire when one takes the worker, release when one lets it go: what one did, the other sees.
//
//     OWN --thread goes--> AWAY --helper takes--> HELD --helper lets go--> AWAY
//      ^                     │                      │ thread wants it
//      └------- comes back --┘                    WANTED --helper lets go--> OWN, and a wake
//
// Often a module's next call follows at once, so the return of a call wakes nobody: the helper
// naps, and looks by itself. It rests only while no long data is under way.
#include "flow/help.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "base/list.h"
#include "csp/chan.h"
#include "fiber/io.h"
#include "os/os.h"
#include "p2p/worker.h"

enum { OWN, AWAY, HELD, WANTED }; // word
enum { REST, NAPS, HELP_END };    // state

enum {
    NAP_NS = 50000,   // between looks: short beside the time that long data takes
    POLLS = 100,      // without news, before the helper naps
    SPINS = 1000,     // before a thread that comes back sleeps until the helper's step is over
    MOST_RANKS = 256, // of a worker that is looked at
};

struct mlt_flow_helper {
    mlt_flow_program *program;
    pthread_t thread;
    mlt_rank *rank;
    _Alignas(64) _Atomic uint32_t word, state;
};

// Of a thread that is away: its program.
static _Thread_local mlt_flow_program *left __attribute__((tls_model("initial-exec")));

static bool change(struct mlt_flow_helper *h, uint32_t from, uint32_t to, memory_order order)
{
    return atomic_compare_exchange_strong_explicit(&h->word, &from, to, order,
                                                   memory_order_relaxed);
}

// ---- the helper

// With the worker: until nothing comes, or somebody wants it. False: nothing came.
static bool drive(struct mlt_flow_helper *h)
{
    mlt_worker *w = h->program->csp->worker;
    bool any = false;
    // Relaxed: this is a look, and letting go orders the rest.
    for (uint32_t n = 0; n < POLLS && h->program->busy &&
                         atomic_load_explicit(&h->word, memory_order_relaxed) == HELD;
         n++)
        if (mlt_worker_step(w)) {
            any = true;
            n = 0;
        }
    return any;
}

static void let_go(struct mlt_flow_helper *h)
{
    if (change(h, HELD, AWAY, memory_order_release))
        return;
    atomic_store_explicit(&h->word, OWN, memory_order_release);
    mlt_os_futex_wake(&h->word, 1);
}

static void *help(void *arg)
{
    struct mlt_flow_helper *h = arg;
    mlt_fiber_user = h->rank;
    mlt_csp_self = h->program->csp;
    mlt_flow_self = h->program;
    mlt_os_run_anywhere();
    for (;;) {
        // acquire: pairs with the store of END, before which the program is in order.
        uint32_t state = atomic_load_explicit(&h->state, memory_order_acquire);
        if (state == HELP_END)
            return NULL;
        if (state == REST) {
            mlt_os_futex_wait(&h->state, REST, MLT_OS_FOREVER);
            continue;
        }
        bool any = false;
        if (change(h, AWAY, HELD, memory_order_acquire)) {
            any = drive(h);
            let_go(h);
        }
        if (!any)
            mlt_os_futex_wait(&h->state, NAPS, NAP_NS);
    }
}

// The signals of the program are for its own threads.
static MLT_COLD struct mlt_flow_helper *helper_new(mlt_flow_program *program)
{
    struct mlt_flow_helper *h = aligned_alloc(64, sizeof *h);
    if (!h)
        return NULL;
    *h = (struct mlt_flow_helper){.program = program, .rank = mlt_csp_rank()};
    atomic_init(&h->word, OWN);
    atomic_init(&h->state, REST);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&h->thread, NULL, help, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        return h;
    free(h);
    return NULL; // computing and communicating take the sum, but nothing is lost
}

static void set_state(struct mlt_flow_helper *h, uint32_t state)
{
    atomic_store_explicit(&h->state, state, memory_order_release);
    mlt_os_futex_wake(&h->state, 1);
}

void mlt_flow_help_end(mlt_flow_program *program)
{
    struct mlt_flow_helper *h = program->helper;
    if (!h)
        return;
    program->helper = NULL;
    set_state(h, HELP_END);
    pthread_join(h->thread, NULL);
    free(h);
}

void mlt_flow_help_more(mlt_flow_program *program, bool plain)
{
    program->busy++;
    program->plain += plain;
}

void mlt_flow_help_less(mlt_flow_program *program, bool plain)
{
    program->busy--;
    program->plain -= plain;
    if (program->busy == 0 && program->helper) // it looks by itself
        atomic_store_explicit(&program->helper->state, REST, memory_order_relaxed);
}

// ---- the worker's thread

// Nobody but flow uses this worker. Whatever a module does with csp makes a process, a channel, a
// port or a barrier first, or waits for a descriptor.
static bool is_ours(const mlt_flow_program *p)
{
    const mlt_csp *csp = p->csp;
    const mlt_worker *w = csp->worker;
    const csp_chan *youngest = mlt_container_of(csp->chans.prev, csp_chan, all);
    if (w->count > MOST_RANKS || csp->processes != p->processes || mlt_io_was_used(csp->sched) ||
        mlt_list_empty(&csp->chans) || !youngest->queue || !mlt_list_empty(&csp->barriers) ||
        !mlt_list_empty(&csp->ports))
        return false;
    for (uint32_t i = 0; i < w->count; i++)
        if (atomic_load_explicit(&w->ranks[i].life, memory_order_relaxed))
            return false;
    return true;
}

void mlt_flow_go_away(mlt_flow_program *program)
{
    if (program->plain || program->helpless || !is_ours(program))
        return;
    struct mlt_flow_helper *h = program->helper;
    if (!h) {
        h = program->helper = helper_new(program);
        program->helpless = !h;
    }
    if (!h)
        return;
    if (atomic_load_explicit(&h->state, memory_order_relaxed) == REST)
        set_state(h, NAPS);
    left = program;
    mlt_flow_self = NULL;
    mlt_csp_self = NULL;
    atomic_store_explicit(&h->word, AWAY, memory_order_release);
}

static void wait_for(struct mlt_flow_helper *h)
{
    for (uint32_t n = 0; atomic_load_explicit(&h->word, memory_order_acquire) != OWN; n++)
        if (n < SPINS)
            mlt_arch_pause();
        else
            mlt_os_futex_wait(&h->word, WANTED, MLT_OS_FOREVER);
}

mlt_flow_program *mlt_flow_come_back(void)
{
    mlt_flow_program *program = left;
    if (!program)
        return NULL;
    struct mlt_flow_helper *h = program->helper;
    while (!change(h, AWAY, OWN, memory_order_acquire))
        if (change(h, HELD, WANTED, memory_order_relaxed)) {
            wait_for(h);
            break;
        }
    left = NULL;
    mlt_flow_self = program;
    mlt_csp_self = program->csp;
    return program;
}

void mlt_flow_forked(void)
{
    left = NULL;
    mlt_flow_self = NULL;
}

mlt_csp *mlt_flow_csp_back(void)
{
    const mlt_flow_program *program = mlt_flow_come_back();
    return program ? program->csp : NULL;
}
