// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/trace_run.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "goal/exec.h"
#include "mpi/self.h"
#include "os/os.h"
#include "trace/tracer.h"
#include "type/op.h"

enum {
    MOST_TEXT = 32 << 20, // of a schedule: a fact is one chunk (trace/chunk.h)
    TRIED_BYTES = 4096,   // by which an operation is timed
    TRIES = 8,
    UNTOLD = UINT32_MAX, // mlt_run.told: its text is too long
};

// ---- what operations take

// Picoseconds for TRIED_BYTES, and 1; 0: not known yet.
static _Atomic uint64_t op_ps[MLT_OPS][MLT_OP_TYPES];

// One runs in less than a microsecond, so it is tried: no event says what it took.
static uint64_t time_op(uint8_t op, uint8_t type)
{
    unsigned char *memory = mlt_xcalloc(2, TRIED_BYTES);
    mlt_op_kernel *kernel = mlt_op_kernels[op][type];
    uint64_t begun = 0, count = TRIED_BYTES / mlt_op_type_bytes[type];
    for (uint32_t i = 0; i <= TRIES; i++) {
        kernel(memory, memory + TRIED_BYTES, count);
        if (i == 0) // the first one finds nothing in the cache
            begun = mlt_os_now_ns();
    }
    uint64_t ps = (mlt_os_now_ns() - begun) * 1000 / TRIES;
    free(memory);
    return ps + 1;
}

static uint64_t op_ns(const mlt_act_exec *e)
{
    if (e->size[0] == 0)
        return 0;
    // relaxed: a number that is there is right, and two threads may both find out.
    uint64_t ps = atomic_load_explicit(&op_ps[e->op][e->type], memory_order_relaxed);
    if (!ps) {
        ps = time_op(e->op, e->type);
        atomic_store_explicit(&op_ps[e->op][e->type], ps, memory_order_relaxed);
    }
    return (uint64_t)((double)(ps - 1) / 1000 * (double)e->size[0] / TRIED_BYTES + 0.5);
}

// What an action computes takes so long; 0 of functions of the user's: not known.
static uint64_t work_ns(const mlt_act *act)
{
    const unsigned char *parameters = (const unsigned char *)(act + 1);
    switch (act->type & MLT_ACT_KIND) {
    case MLT_GOAL_CALC:
        return ((const mlt_act_calc *)parameters)->ns;
    case MLT_GOAL_EXEC:
        return op_ns((const mlt_act_exec *)parameters);
    case MLT_GOAL_RECV_EXEC:
        return op_ns((const mlt_act_exec *)(parameters + sizeof(mlt_act_message)));
    default:
        return 0;
    }
}

// ---- the text

typedef struct source { // of an action, in the list of all of them
    uint32_t action, next;
    bool start;
} source;

typedef struct teller {
    const mlt_run *run;
    const mlt_act **act; // [actions], as they are told
    uint32_t *number;    // [code bytes / 8]: which of them begins there
    uint32_t *first;     // [actions]: its source that was added last, and 1; 0: none
    source *sources;
    uint32_t source_count;
} teller;

// In the order of the program, from which tools see loops better than from that of the code; false:
// it is not known.
static bool order_by_program(teller *t)
{
    const mlt_goal_sched *sched = t->run->sched;
    const mlt_act *act = mlt_goal_sched_first(sched);
    for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act)) {
        uint32_t at = sched->origin ? sched->origin[i] : MLT_GOAL_NONE;
        if (at >= sched->actions || t->act[at])
            return false;
        t->act[at] = act;
    }
    return true;
}

static void order_by_code(teller *t)
{
    const mlt_act *act = mlt_goal_sched_first(t->run->sched);
    for (uint32_t i = 0; i < t->run->sched->actions; i++, act = mlt_act_next(act))
        t->act[i] = act;
}

// False: one would wait for a later one.
static bool add_sources(teller *t, const mlt_act_list *list, uint32_t of, bool start)
{
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t action = t->number[list->offset[i] / 8];
        if (action <= of)
            return false;
        t->sources[t->source_count++] = (source){of, t->first[action], start};
        t->first[action] = t->source_count;
    }
    return true;
}

static bool gather(teller *t)
{
    const mlt_goal_sched *sched = t->run->sched;
    bool fine = true;
    t->source_count = 0;
    memset(t->first, 0, sched->actions * sizeof *t->first);
    for (uint32_t i = 0; i < sched->actions; i++)
        t->number[((const unsigned char *)t->act[i] - sched->code) / 8] = i;
    for (uint32_t i = 0; fine && i < sched->actions; i++) {
        const mlt_act *act = t->act[i];
        fine = add_sources(t, mlt_act_dependents(act), i, false) &&
               (!(act->type & MLT_ACT_STARTERS) || add_sources(t, mlt_act_starters(act), i, true));
    }
    return fine;
}

static uint64_t count_sources(const mlt_goal_sched *sched)
{
    const mlt_act *act = mlt_goal_sched_first(sched);
    uint64_t count = 0;
    for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act))
        count += act->sources;
    return count;
}

static void tell_message(mlt_text *text, const mlt_run *run, const mlt_act *act)
{
    const mlt_act_message *m = mlt_act_message_of(act);
    bool sends = (act->type & MLT_ACT_KIND) == MLT_GOAL_SEND;
    mlt_text_add(text, "%c%" PRId32 ",%" PRIu32 ",%" PRIu64, sends ? 's' : 'r',
                 mlt_run_world(run->place, m->peer), m->slot, m->size);
    if (!sends)
        mlt_text_add(text, ",%" PRIu64, work_ns(act));
}

static void tell_action(mlt_text *text, const teller *t, const mlt_act *act, uint32_t i)
{
    switch (act->type & MLT_ACT_KIND) {
    case MLT_GOAL_SEND:
    case MLT_GOAL_RECV:
    case MLT_GOAL_RECV_EXEC:
    case MLT_GOAL_RECV_USER:
        tell_message(text, t->run, act);
        break;
    default:
        mlt_text_add(text, "c%" PRIu64, work_ns(act));
    }
    for (uint32_t s = t->first[i]; s > 0; s = t->sources[s - 1].next)
        mlt_text_add(text, "%c%" PRIu32, t->sources[s - 1].start ? '^' : '<',
                     i - t->sources[s - 1].action);
}

static void tell_actions(mlt_text *text, const mlt_run *run)
{
    const mlt_goal_sched *sched = run->sched;
    teller t = {.run = run,
                .act = mlt_xcalloc(sched->actions, sizeof *t.act),
                .number = mlt_xcalloc(sched->bytes / 8 + 1, sizeof *t.number),
                .first = mlt_xcalloc(sched->actions, sizeof *t.first),
                .sources = mlt_xcalloc(count_sources(sched), sizeof *t.sources)};
    if (!order_by_program(&t) || !gather(&t)) {
        order_by_code(&t);
        bool fine = gather(&t); // the code's order is a topological one
        mlt_assert(fine);
    }
    for (uint32_t i = 0; i < sched->actions && text->length < MOST_TEXT; i++) {
        if (i > 0)
            mlt_text_put(text, " ", 1);
        tell_action(text, &t, t.act[i], i);
    }
    free(t.act);
    free(t.number);
    free(t.first);
    free(t.sources);
}

uint32_t mlt_mpi_trace_schedule(mlt_worker *worker, mlt_run *run)
{
    mlt_mpi_worker *w = worker->mpi;
    if (run->told)
        return run->told == UNTOLD ? 0 : run->told;
    mlt_text text = {0};
    mlt_text_add(&text, "schedule\t%u\t%u\t", worker->index, w->trace_schedules + 1);
    tell_actions(&text, run);
    run->told = UNTOLD;
    if (text.length < MOST_TEXT) {
        mlt_text_put(&text, "\n", 1);
        mlt_trace_facts(worker->index, text.text, text.length);
        run->told = ++w->trace_schedules;
    }
    mlt_text_free(&text);
    return run->told == UNTOLD ? 0 : run->told;
}
