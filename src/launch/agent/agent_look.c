// SPDX-License-Identifier: BSD-3-Clause
// Looks at workers: whether they move, what they wait for, what people outside want to see.
#include "launch/agent/agent_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "boot/board.h"
#include "boot/recorder.h"
#include "launch/live/look.h"
#include "launch/program/libraries.h"
#include "launch/say.h"
#include "launch/watch/calls.h"
#include "launch/watch/change.h"
#include "launch/watch/hang.h"
#include "os/os.h"

static const uint64_t agent_collect_ns = 2000 * MLT_AGENT_MS; // since the last record
static const uint64_t change_ns = 5 * MLT_AGENT_MS;
enum { MOST_PEEKS = 4 };

// True if the worker sleeps, and only a message can wake it.
static bool sleeps(mlt_agent *a, uint32_t local, uint32_t *epoch)
{
    mlt_job_worker *own = mlt_job_local_at(a->job, local);
    // acquire: as in mlt_job_observe.
    *epoch = atomic_load_explicit(&own->epoch, memory_order_acquire);
    uint32_t state = atomic_load_explicit(&own->state, memory_order_acquire) & MLT_NAP_STATE;
    return (state == MLT_WORKER_ASLEEP || state == MLT_WORKER_LISTENS) &&
           !atomic_load_explicit(&own->wakes_itself, memory_order_acquire);
}

void mlt_agent_look(mlt_agent *a, int64_t number)
{
    for (uint32_t i = 0; i < a->workers; i++) {
        uint32_t epoch;
        bool asleep = sleeps(a, i, &epoch);
        a->states[i].stands = asleep && epoch == a->states[i].epoch;
        a->states[i].epoch = asleep ? epoch : epoch - 1; // of one that is awake nothing is known
    }
    mlt_job_observation found = mlt_job_observe(a->job);
    mlt_agent_tell(a, MLT_FRAME_LOOKED, a->conf.host, number, &found, sizeof found);
}

void mlt_agent_look_live(mlt_agent *a, int64_t number)
{
    mlt_live_child *children = mlt_xcalloc(a->count + 1, sizeof *children);
    mlt_live_snap snap = {0};
    mlt_text part = {0};
    for (uint32_t i = 0; i < a->count; i++) {
        const mlt_agent_child *c = &a->children[i];
        children[i] = (mlt_live_child){c->proc, c->mpi_pid && c->pid ? c->mpi_pid : c->pid};
    }
    mlt_live_look(&snap, a->job, a->conf.plan, children, a->count);
    mlt_live_snap_pack(&snap, a->conf.host, &part);
    mlt_text_put(&part, "", 1); // the NUL behind
    mlt_agent_tell(a, MLT_FRAME_LIVED, a->conf.host, number, part.text, part.length - 1);
    mlt_text_free(&part);
    mlt_live_snap_fini(&snap);
    free(children);
}

// Why a worker of a process did not answer.
static mlt_hang_state unanswered(mlt_agent *a, const mlt_agent_child *c, uint32_t local,
                                 uint32_t ranks)
{
    const mlt_job_worker *worker = mlt_job_local_at(a->job, local);
    uint32_t thread = atomic_load_explicit(&worker->thread, memory_order_relaxed);
    char state = mlt_os_state_of(c->mpi_pid ? c->mpi_pid : c->pid, thread, NULL);
    bool calls = mlt_recorder_mark(mlt_recorder_at(a->job, local)) != a->states[local].mark;
    if (calls && state != 'T' && state != 't')
        return ranks > 1 ? MLT_HANG_CROWDED : MLT_HANG_CALLING;
    switch (state) {
    case 'T':
        return MLT_HANG_STOPPED;
    case 't':
        return MLT_HANG_TRACED;
    case 'R':
        return ranks > 1 ? MLT_HANG_BUSY : MLT_HANG_COMPUTING;
    default:
        return MLT_HANG_OUTSIDE;
    }
}

static mlt_frame_state state_of(mlt_agent *a, const mlt_agent_child *c, uint32_t local,
                                uint32_t worker)
{
    // acquire: what the worker did before it ended or went to sleep is done.
    uint32_t asleep =
        atomic_load_explicit(&mlt_job_local_at(a->job, local)->state, memory_order_acquire) &
        MLT_NAP_STATE;
    uint32_t first, ranks = mlt_placement_ranks_of(a->conf.plan, worker, &first);
    mlt_hang_state state = asleep == MLT_WORKER_ENDED    ? MLT_HANG_ENDED
                           : asleep == MLT_WORKER_UNBORN ? MLT_HANG_UNBORN
                           : a->states[local].answered   ? MLT_HANG_RUNNING
                                                         : unanswered(a, c, local, ranks);
    return (mlt_frame_state){.state = (uint8_t)state, .stands = a->states[local].stands};
}

void mlt_agent_finish_collecting(mlt_agent *a)
{
    mlt_frame_state *states = mlt_xcalloc(a->workers + 1, sizeof *states); // and the NUL behind
    uint32_t local = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        const mlt_placement_proc *proc = mlt_agent_plan_of(a, a->children[i].proc);
        for (uint32_t k = 0; k < proc->workers; k++, local++)
            states[local] = state_of(a, &a->children[i], local, proc->first_worker + k);
    }
    a->collecting = false;
    a->collect_until = 0;
    mlt_agent_set_timer(a);
    mlt_text calls = {0};
    mlt_calls_of_host(&calls, a->job, a->conf.plan, a->conf.host);
    if (calls.length > 0 && calls.length < MLT_FRAME_MOST)
        mlt_agent_tell(a, MLT_FRAME_CALLS, a->conf.host, 0, calls.text, calls.length);
    mlt_text_free(&calls);
    mlt_agent_tell(a, MLT_FRAME_STATES, a->conf.host, 0, states, a->workers * sizeof *states);
    free(states);
}

void mlt_agent_collect(mlt_agent *a)
{
    if (a->collecting)
        return;
    a->collecting = true;
    a->open_answers = 0;
    for (uint32_t i = 0; i < a->workers; i++) {
        mlt_agent_worker *w = &a->states[i];
        w->mark = mlt_recorder_mark(mlt_recorder_at(a->job, i));
        w->answered = w->told = false;
        uint32_t asleep = mlt_job_state_of(mlt_job_local_at(a->job, i)), epoch;
        w->stands &= sleeps(a, i, &epoch) && epoch == w->epoch;
        a->open_answers += asleep != MLT_WORKER_ENDED && asleep != MLT_WORKER_UNBORN;
    }
    a->collect_until = mlt_os_now_ns() + agent_collect_ns;
    mlt_agent_set_timer(a);
    mlt_job_ask_waits(a->job);
    if (a->open_answers == 0)
        mlt_agent_finish_collecting(a);
}

bool mlt_agent_take_waits(mlt_agent *a, const mlt_agent_child *c, const mlt_ctl *head)
{
    const mlt_placement_proc *proc = mlt_agent_plan_of(a, c->proc);
    if (!a->collecting || head->detail < proc->first_worker ||
        head->detail - proc->first_worker >= proc->workers)
        return false;
    uint32_t local = mlt_job_location_at(a->job, head->detail)->local;
    if (a->states[local].answered)
        return false;
    a->collect_until =
        mlt_os_now_ns() + agent_collect_ns; // those of a million ranks may take longer
    mlt_agent_set_timer(a);
    if (head->type == MLT_CTL_PROCS) {
        bool first = !a->states[local].told;
        a->states[local].told = true;
        return first;
    }
    if (head->type == MLT_CTL_WAITS_END) {
        a->states[local].answered = true;
        if (a->open_answers > 0)
            a->open_answers--;
    }
    return true;
}

// A rank that has not joined may have loaded another MPI since: a module of an interpreter, or a
// program that a script started. Each such rank is alone, and takes itself for the whole job.
void mlt_agent_peek(mlt_agent *a, uint64_t now)
{
    const mlt_placement *plan = a->conf.plan;
    a->peek_at = ++a->peeks < MOST_PEEKS ? now + (mlt_agent_peek_ns << a->peeks) : 0;
    for (uint32_t i = 0; i < a->count; i++) {
        const mlt_agent_child *own = &a->children[i];
        char *path = own->pid && !own->attached ? mlt_libraries_loaded(own->pid) : NULL;
        if (!path)
            continue;
        char name[64];
        mlt_placement_name(plan, own->proc, name, sizeof name);
        mlt_say(
            "note: %s runs another MPI (%s, of %s): each of the %u ranks is alone; use a program "
            "or module that is made for the standard ABI or for Millet, or the mpirun of that "
            "MPI",
            name, path, mlt_libraries_vendor(strrchr(path, '/') + 1), plan->ranks);
        free(path);
        a->peek_at = 0;
        return;
    }
}

// ---- Rule books for the running job (watch/change.h)

// Tells when all workers of this host have looked. One that computes looks later.
void mlt_agent_await_look(mlt_agent *a)
{
    if (mlt_board_looked(a->job, a->change))
        mlt_agent_tell(a, MLT_FRAME_KNOWS, a->conf.host, a->change, NULL, 0);
    else
        a->change_at = mlt_os_now_ns() + change_ns;
}

// A decision has two slots: the word that takes effect, and the answer for the rank that decided. Where
// there is no room for both, there is none on any host.
static void keep_decision(mlt_agent *a, const mlt_decision *d)
{
    mlt_job_board *board = mlt_job_board_at(a->job);
    if (!mlt_board_slot(board, MLT_BOARD_ANSWERS | d->key, true) ||
        !mlt_board_write(board, d->key, d->word))
        (void)!mlt_board_write(board, MLT_BOARD_FULL, 1);
}

void mlt_agent_take_change(mlt_agent *a, const mlt_frame *frame, const void *body)
{
    mlt_job_board *board = mlt_job_board_at(a->job);
    mlt_decision d = {0};
    if (frame->length == sizeof d)
        memcpy(&d, body, sizeof d);
    switch (frame->type) {
    case MLT_FRAME_CHANGE: // its slots are the first ones
        (void)!mlt_board_write(board, MLT_BOARD_FULL, mlt_board_word(board, MLT_BOARD_FULL));
        (void)!mlt_board_write(board, MLT_BOARD_KNOWN, mlt_board_word(board, MLT_BOARD_KNOWN));
        a->change = mlt_job_want_rules(a->job, body);
        if (a->conf.plan->host_count > 1)
            mlt_agent_await_look(a);
        mlt_agent_set_timer(a);
        break;
    case MLT_FRAME_KNOWN:
        (void)!mlt_board_write(board, MLT_BOARD_KNOWN, (uint64_t)frame->value);
        break;
    case MLT_FRAME_DECIDED:
        keep_decision(a, &d);
        mlt_agent_tell(a, MLT_FRAME_KEPT, a->conf.host, frame->value, NULL, 0);
        break;
    default: // SPREAD
        if (mlt_board_slot(board, MLT_BOARD_ANSWERS | d.key, false))
            (void)!mlt_board_write(board, MLT_BOARD_ANSWERS | d.key, d.word);
        break;
    }
}
