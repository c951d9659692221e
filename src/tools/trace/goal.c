// SPDX-License-Identifier: BSD-3-Clause
// A run as a GOAL program in LogGOPSim's dialect: each rank's messages in the order in which they left
// and their receives were posted, and what it computed between calls.
//
// Actions of a rank follow one another. A send that a blocking call has made must end before what
// follows the call, any other one must only have started. A receive must have ended before what
// follows the first blocking call after its message came. So the program has no deadlock that the run
// could not have had, and overlaps what the run did.
//
// A collective is its schedule, as the trace tells it: its actions wait for each other as they did,
// and for nothing else. It has ended when all its messages have left or come.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "goal/exec.h"
#include "p2p/context.h"
#include "tools/trace/sequences.h"
#include "tools/trace/trace.h"
#include "trace/schedule.h"

typedef struct trace_goal_step {
    uint64_t time, end; // end: of a call
    uint64_t bytes;
    int32_t peer; // POSTED: -1: anybody
    int32_t key;  // the tag of the run; POSTED: negative: any
    uint32_t context;
    uint32_t number; // of its sequence
    uint32_t run;    // STARTED, OVER: which of the rank's
    uint64_t other;  // place of a POSTED's match, of a MATCHED's posting; NOBODY: none
    uint64_t action; // POSTED: of its receive; 0: none
    uint8_t kind;
    bool blocking;  // a call: it ends when its messages may be forgotten
    bool completes; // ... and so may what earlier calls have begun
} trace_goal_step;

#define NOBODY UINT64_MAX

enum { OVER = MLT_TRACE_KIND_COUNT }; // kind of a step: all messages of a run have left or come

typedef struct goal_run { // of a schedule
    const mlt_trace_schedule *schedule;
    uint64_t before; // actions of the rank before its first one
    uint32_t context, number;
    uint32_t left; // messages that are not under way yet
    bool wide;     // numbers come in any order
    bool over;
    bool outside;                       // it started in no call of MPI: groups of processes call it
    const struct trace_goal_step *call; // the blocking one that it started in; NULL: none
} goal_run;

typedef struct rank_steps {
    trace_goal_step *steps;
    goal_run *runs;
    uint32_t *open; // runs that are not over
    uint64_t count, room;
    uint32_t run_count, run_room, open_count, open_room;
} rank_steps;

// A schedule that some worker has told, read.
typedef struct goal_schedule {
    mlt_trace_schedule schedule;
    bool read, wrong;
} goal_schedule;

typedef struct recorder {
    rank_steps *ranks;
    uint32_t rank_count, rank_room;
    mlt_sequences sequences;
    mlt_sequences put;  // messages of runs, as they are written
    mlt_sequences tags; // GOAL's, and 1, by context and tag of the run
    uint32_t tag_count;
    goal_schedule *schedules; // by their places among the facts
    const mlt_trace_facts_table *facts;
} recorder;

static rank_steps *steps_of(recorder *r, uint32_t rank)
{
    MLT_ARRAY_WANT(r->ranks, rank + 1, r->rank_room);
    for (; r->rank_count <= rank; r->rank_count++)
        r->ranks[r->rank_count] = (rank_steps){.steps = NULL};
    return &r->ranks[rank];
}

static uint32_t goal_tag(recorder *r, uint32_t context, int32_t tag)
{
    mlt_sequence *s = mlt_sequence_at(&r->tags, (uint64_t)context + 1, (uint32_t)tag);
    if (!s->sent)
        s->sent = ++r->tag_count;
    return (uint32_t)s->sent - 1;
}

// Calls that leave their messages to later ones, or to a buffer.
static bool is_blocking(const recorder *r, uint16_t fn)
{
    static const char *const others[] = {"MPI_Init", "MPI_Info_", "MPI_Intercomm_", "MPI_Iprobe",
                                         "MPI_Improbe"};
    char room[32];
    const char *name = mlt_facts_fn(r->facts, fn, room);
    if (strncmp(name, "MPI_Start", 9) == 0 || strncmp(name, "MPI_Pready", 10) == 0 ||
        strncmp(name, "MPI_Bsend", 9) == 0)
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(name, others[i], strlen(others[i])) == 0)
            return true;
    return strncmp(name, "MPI_I", 5) != 0;
}

// Calls that may end a nonblocking collective.
static bool is_completing(const recorder *r, uint16_t fn)
{
    static const char *const begins[] = {"MPI_Wait", "MPI_Test", "MPI_Request_get_status",
                                         "MPI_Finalize"};
    char room[32];
    const char *name = mlt_facts_fn(r->facts, fn, room);
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static trace_goal_step *add_step(rank_steps *steps, const mlt_trace_event *e)
{
    trace_goal_step *s = MLT_ARRAY_ADD(steps->steps, steps->count, steps->room);
    *s = (trace_goal_step){.time = e->time,
                           .end = e->time + e->span,
                           .bytes = e->bytes,
                           .peer = e->peer,
                           .key = e->tag,
                           .context = e->context,
                           .other = NOBODY,
                           .kind = e->kind};
    return s;
}

// ---- runs of schedules

static const mlt_trace_schedule *schedule_of(recorder *r, uint32_t worker, uint64_t number)
{
    const mlt_trace_told *told =
        number <= UINT32_MAX ? mlt_facts_schedule(r->facts, worker, (uint32_t)number) : NULL;
    if (!told)
        return NULL;
    if (!r->schedules)
        r->schedules = mlt_xcalloc(r->facts->schedule_count, sizeof *r->schedules);
    goal_schedule *s = &r->schedules[told - r->facts->schedules];
    if (!s->read) {
        s->read = true;
        s->wrong = !mlt_trace_schedule_read(&s->schedule, told->actions);
    }
    return s->wrong ? NULL : &s->schedule;
}

// All messages of one slot are one sequence: a communicator's calls follow each other on all ranks
// alike. Persistent operations start in any order, so there the tag has the number.
static int32_t tag_of_slot(const goal_run *run, uint32_t slot)
{
    uint32_t low, tag = mlt_run_tags(run->wide ? run->number : 0, run->wide, &low);
    return (int32_t)((slot < MLT_RUN_WIDE_SLOTS ? low : tag) | slot);
}

static mlt_sequence *sequence_of_run(mlt_sequences *sequences, const goal_run *run, uint32_t rank,
                                     const mlt_trace_action *a)
{
    bool leaves = a->kind == 's';
    return mlt_sequence_of(sequences, leaves ? rank : a->peer, leaves ? a->peer : rank,
                           run->context, tag_of_slot(run, a->slot));
}

static bool is_of_run(const goal_run *run, const mlt_trace_event *e)
{
    uint32_t low, tag = mlt_run_tags(run->number, run->wide, &low);
    uint32_t slot = MLT_RUN_SLOTS + 1, low_slot = MLT_RUN_WIDE_SLOTS + 1;
    if (run->context != e->context)
        return false;
    return ((uint32_t)e->tag & ~slot) == tag ||
           (run->wide && ((uint32_t)e->tag & ~low_slot) == low);
}

static void run_is_over(rank_steps *steps, uint32_t run, const mlt_trace_event *e)
{
    trace_goal_step *s = add_step(steps, e);
    s->kind = OVER;
    s->run = run;
}

static void see_started(recorder *r, uint32_t worker, const mlt_trace_event *e)
{
    const mlt_trace_schedule *schedule = schedule_of(r, worker, e->bytes);
    rank_steps *steps = steps_of(r, e->rank);
    if (!schedule || !schedule->actions)
        return;
    uint32_t index = steps->run_count;
    goal_run *run = MLT_ARRAY_ADD(steps->runs, steps->run_count, steps->run_room);
    *run = (goal_run){.schedule = schedule,
                      .context = e->context,
                      .number = (uint32_t)e->tag,
                      .left = schedule->messages,
                      .wide = e->how};
    for (uint32_t i = 0; i < schedule->actions; i++) {
        const mlt_trace_action *a = &schedule->action[i];
        if (a->kind == 'c')
            continue;
        mlt_sequence *sequence = sequence_of_run(&r->sequences, run, e->rank, a);
        if (a->kind == 's')
            sequence->sent++;
        else
            sequence->matched++;
    }
    add_step(steps, e)->run = index;
    if (run->left)
        *MLT_ARRAY_ADD(steps->open, steps->open_count, steps->open_room) = index;
    else
        run_is_over(steps, index, e);
}

// True: the message is of a run, which has been told as a whole.
static bool see_message_of_run(recorder *r, const mlt_trace_event *e)
{
    rank_steps *steps = steps_of(r, e->rank);
    for (uint32_t i = steps->open_count; i > 0; i--) {
        uint32_t index = steps->open[i - 1];
        goal_run *run = &steps->runs[index];
        if (!is_of_run(run, e))
            continue;
        if (e->kind != MLT_TRACE_POSTED && --run->left == 0) {
            steps->open[i - 1] = steps->open[--steps->open_count];
            run_is_over(steps, index, e);
        }
        return true;
    }
    return false;
}

// ---- events

static void trace_goal_see(void *user, uint32_t worker, const mlt_trace_event *e)
{
    recorder *r = user;
    bool message = (e->kind == MLT_TRACE_SENT || e->kind == MLT_TRACE_MATCHED) && e->peer >= 0;
    bool posted = e->kind == MLT_TRACE_POSTED;
    if (e->rank > INT32_MAX)
        return;
    if (e->kind == MLT_TRACE_STARTED)
        see_started(r, worker, e);
    if ((!message && e->kind != MLT_TRACE_CALL && !posted) ||
        ((message || posted) && e->tag < 0 && see_message_of_run(r, e)))
        return;
    if (message)
        (void)steps_of(r, (uint32_t)e->peer);
    trace_goal_step *s = add_step(steps_of(r, e->rank), e);
    if (e->kind == MLT_TRACE_CALL) {
        s->blocking = is_blocking(r, e->fn);
        s->completes = is_completing(r, e->fn);
    }
    if (message) {
        bool leaves = e->kind == MLT_TRACE_SENT;
        uint32_t peer = (uint32_t)e->peer;
        mlt_sequence *sequence = mlt_sequence_of(&r->sequences, leaves ? e->rank : peer,
                                                 leaves ? peer : e->rank, e->context, e->tag);
        s->number = (uint32_t)(leaves ? sequence->sent++ : sequence->matched++);
    }
}

// By time; a match belongs to the call that ends then, anything else to the one that begins.
static int trace_goal_place_of(uint8_t kind)
{
    return kind == MLT_TRACE_MATCHED ? 0 : kind == OVER ? 1 : 2 + kind;
}

static int trace_goal_order(const void *a, const void *b)
{
    const trace_goal_step *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->kind != y->kind)
        return trace_goal_place_of(x->kind) - trace_goal_place_of(y->kind);
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

// Whether both ends of a message are in the trace.
static bool is_whole(recorder *r, uint32_t rank, const trace_goal_step *s)
{
    bool leaves = s->kind == MLT_TRACE_SENT;
    const mlt_sequence *sequence =
        mlt_sequence_of(&r->sequences, leaves ? rank : (uint32_t)s->peer,
                        leaves ? (uint32_t)s->peer : rank, s->context, s->key);
    return s->number < (leaves ? sequence->matched : sequence->sent);
}

// ---- postings and their matches

// The places of postings that are not matched yet, the oldest first.
typedef struct postings {
    uint64_t *places;
    size_t count, room;
} postings;

static bool takes(const trace_goal_step *posted, const trace_goal_step *matched)
{
    return posted->context == matched->context &&
           (posted->peer < 0 || posted->peer == matched->peer) &&
           (posted->key < 0 || posted->key == matched->key);
}

// As MPI matches: the oldest that takes it. None: the message was there before its receive.
static void pair(postings *open, trace_goal_step *steps, uint64_t matched)
{
    for (size_t i = 0; i < open->count; i++) {
        uint64_t posted = open->places[i];
        if (!takes(&steps[posted], &steps[matched]))
            continue;
        steps[posted].other = matched;
        steps[matched].other = posted;
        memmove(open->places + i, open->places + i + 1, (--open->count - i) * sizeof *open->places);
        return;
    }
}

static void pair_all(rank_steps *all)
{
    postings open = {NULL, 0, 0};
    for (uint64_t i = 0; i < all->count; i++) {
        if (all->steps[i].kind == MLT_TRACE_MATCHED) {
            pair(&open, all->steps, i);
        } else if (all->steps[i].kind == MLT_TRACE_POSTED) {
            *MLT_ARRAY_ADD(open.places, open.count, open.room) = i;
        }
    }
    free(open.places);
}

// ---- actions

typedef struct actions {
    uint64_t *items;
    size_t count, room;
} actions;

// What the next action of a rank waits for.
typedef struct chain {
    FILE *out;
    uint64_t count;     // of actions so far
    uint64_t last;      // that is no message under way; 0: none
    uint64_t begun;     // the last message after it, which must have started; 0: none
    actions sends;      // of the call that runs now
    actions came;       // receives whose messages are there
    uint64_t agreed;    // the last message that ended of those that make communicators; 0: none
    uint32_t agreement; // its context
    goal_run *runs;     // of the rank
    actions open;       // ... those that nothing waits for yet
    bool ended;         // a call that waits for both has ended: they must have, too
} chain;

static void require(const chain *c, const char *how, uint64_t action)
{
    fprintf(c->out, "a%" PRIu64 " %s a%" PRIu64 "\n", c->count + 1, how, action);
}

static void require_all(chain *c, actions *all)
{
    for (size_t i = 0; i < all->count; i++) {
        require(c, "requires", all->items[i]);
        c->begun = all->items[i] == c->begun ? 0 : c->begun;
    }
    all->count = 0;
}

static void add_action(actions *all, uint64_t action)
{
    *MLT_ARRAY_ADD(all->items, all->count, all->room) = action;
}

// After the text of action count + 1. message: others need not wait until it ends.
static void link_action(chain *c, bool message)
{
    if (c->last)
        require(c, "requires", c->last);
    if (c->ended) {
        require_all(c, &c->sends);
        require_all(c, &c->came);
    }
    if (c->begun)
        require(c, "irequires", c->begun);
    c->ended = false;
    c->count++;
    c->begun = message ? c->count : 0;
    c->last = message ? c->last : c->count;
}

// Where communicators are made, one thing follows the other: what has ended last is waited for.
static void link_message(chain *c, uint32_t context)
{
    if (c->agreed && c->agreement == context && mlt_p2p_is_agreement(context))
        require(c, "requires", c->agreed);
    link_action(c, true);
}

static void message_ended(chain *c, uint32_t context, uint64_t action)
{
    if (!mlt_p2p_is_agreement(context))
        return;
    c->agreement = context;
    c->agreed = action;
}

static void put_send(recorder *r, chain *c, const trace_goal_step *s)
{
    fprintf(c->out, "a%" PRIu64 ": send %" PRIu64 "b to %" PRId32 " tag %u\n", c->count + 1,
            s->bytes, s->peer, goal_tag(r, s->context, s->key));
    link_message(c, s->context);
    add_action(&c->sends, c->count);
}

static void put_receive(recorder *r, chain *c, const trace_goal_step *matched)
{
    fprintf(c->out, "a%" PRIu64 ": recv %" PRIu64 "b from %" PRId32 " tag %u\n", c->count + 1,
            matched->bytes, matched->peer, goal_tag(r, matched->context, matched->key));
    link_message(c, matched->context);
}

// Returns 1 if the message is left out.
static uint64_t put_message(recorder *r, chain *c, uint32_t rank, trace_goal_step *steps,
                            trace_goal_step *s)
{
    const trace_goal_step *message = s->kind == MLT_TRACE_POSTED ? &steps[s->other] : s;
    bool whole = is_whole(r, rank, message);
    if (whole && s->kind == MLT_TRACE_SENT) {
        put_send(r, c, s);
        message_ended(c, s->context, c->count);
    } else if (whole && s->kind == MLT_TRACE_POSTED) {
        put_receive(r, c, message);
        s->action = c->count;
    } else if (whole && s->other == NOBODY) {
        put_receive(r, c, message);
        add_action(&c->came, c->count);
        message_ended(c, s->context, c->count);
    } else if (whole) {
        add_action(&c->came, steps[s->other].action);
        message_ended(c, s->context, steps[s->other].action);
    }
    return !whole && s->kind != MLT_TRACE_POSTED;
}

static void put_calc(chain *c, uint64_t ns)
{
    fprintf(c->out, "a%" PRIu64 ": calc %" PRIu64 "\n", c->count + 1, ns);
    link_action(c, false);
}

// ---- runs as actions

static bool has_calc(const mlt_trace_action *a)
{
    return a->kind == 'r' && a->work_ns > 0;
}

// A message whose other end is not in the trace leaves nothing but its dependencies. Returns 1 then.
static uint64_t put_run_message(recorder *r, const chain *c, uint32_t rank, const goal_run *run,
                                const mlt_trace_action *a)
{
    bool leaves = a->kind == 's';
    const mlt_sequence *all = sequence_of_run(&r->sequences, run, rank, a);
    uint64_t whole = all->sent < all->matched ? all->sent : all->matched;
    mlt_sequence *put = sequence_of_run(&r->put, run, rank, a);
    if ((leaves ? put->sent++ : put->matched++) >= whole) {
        fprintf(c->out, "calc 0\n");
        return 1;
    }
    fprintf(c->out, "%s %" PRIu64 "b %s %" PRIu32 " tag %u\n", leaves ? "send" : "recv", a->bytes,
            leaves ? "to" : "from", a->peer, goal_tag(r, run->context, tag_of_slot(run, a->slot)));
    return 0;
}

static void require_sources(const chain *c, const mlt_trace_schedule *s, const mlt_trace_action *a,
                            const uint64_t *ends)
{
    for (uint32_t i = 0; i < a->sources; i++) {
        const mlt_trace_source *source = &s->source[a->first_source + i];
        uint64_t end = ends[source->action];
        bool start = source->start && has_calc(&s->action[source->action]);
        require(c, source->start ? "irequires" : "requires", start ? end - 1 : end);
    }
    if (!a->sources && c->last)
        require(c, "requires", c->last);
}

// The places of the actions' ends among the rank's actions.
static uint64_t *ends_of(const goal_run *run)
{
    const mlt_trace_schedule *s = run->schedule;
    uint64_t at = run->before, *ends = mlt_xcalloc(s->actions, sizeof *ends);
    for (uint32_t i = 0; i < s->actions; i++)
        ends[i] = at += 1 + has_calc(&s->action[i]);
    return ends;
}

// What follows must wait for all messages, and for work that nothing in the run waits for.
static void end_run(chain *c, const goal_run *run)
{
    uint64_t *ends = ends_of(run);
    for (uint32_t i = 0; i < run->schedule->actions; i++)
        if (run->schedule->action[i].kind != 'c' || run->schedule->action[i].last)
            add_action(&c->came, ends[i]);
    free(ends);
}

// Returns how many messages were left out.
static uint64_t put_run(recorder *r, chain *c, uint32_t rank, goal_run *run)
{
    const mlt_trace_schedule *s = run->schedule;
    uint64_t left_out = 0, begun = 0;
    if (c->begun || c->ended) // one action waits for these; the run's first ones wait for it
        put_calc(c, 0);
    run->before = c->count;
    uint64_t *ends = ends_of(run);
    for (uint32_t i = 0; i < s->actions; i++) {
        const mlt_trace_action *a = &s->action[i];
        begun = a->sources ? begun : c->count + 1;
        fprintf(c->out, "a%" PRIu64 ": ", c->count + 1);
        if (a->kind == 'c')
            fprintf(c->out, "calc %" PRIu64 "\n", a->work_ns);
        else
            left_out += put_run_message(r, c, rank, run, a);
        require_sources(c, s, a, ends);
        c->count++;
        if (has_calc(a)) {
            fprintf(c->out, "a%" PRIu64 ": calc %" PRIu64 "\n", c->count + 1, a->work_ns);
            require(c, "requires", c->count);
            c->count++;
        }
    }
    free(ends);
    c->begun = begun;
    return left_out;
}

// A blocking call has ended: what follows waits for its own run, or, after calls that wait for
// requests, for all that are over. The trace does not tell which of them the call asked for.
static void end_runs(chain *c, const trace_goal_step *call)
{
    size_t left = 0;
    for (size_t i = 0; i < c->open.count; i++) {
        const goal_run *run = &c->runs[c->open.items[i]];
        if (run->over && (call->completes || run->call == call))
            end_run(c, run);
        else
            c->open.items[left++] = c->open.items[i];
    }
    c->open.count = left;
}

// ---- ranks

// A call has ended. One that leaves its messages to later calls needs them only to have started.
static void end_call(chain *c, const trace_goal_step *call)
{
    end_runs(c, call);
    if (call->blocking)
        c->ended = c->ended || c->sends.count || c->came.count;
    else if (!c->ended)
        c->sends.count = 0;
}

// No call says who waits for it: whatever follows.
static void end_outside(chain *c, const goal_run *run)
{
    end_run(c, run);
    c->ended = true;
}

// A run starts or is over; `call` runs, or ran last.
static uint64_t put_run_step(recorder *r, chain *c, uint32_t rank, const trace_goal_step *s,
                             const trace_goal_step *call)
{
    goal_run *run = &c->runs[s->run];
    if (s->kind == OVER) {
        run->over = true;
        if (run->outside)
            end_outside(c, run);
        return 0;
    }
    run->outside = !call || s->time > call->end;
    run->call = !run->outside && call->blocking ? call : NULL;
    uint64_t left_out = put_run(r, c, rank, run);
    if (!run->outside)
        add_action(&c->open, s->run);
    else if (run->over) // at the same time
        end_outside(c, run);
    return left_out;
}

// The end of a short send is a guess (mpi/p2p/traced.c): the next call may seem to begin before it.
enum { GUESSED_NS = 1000 };

// Returns how many messages were left out.
static uint64_t trace_goal_put_rank(recorder *r, uint32_t rank, FILE *out)
{
    rank_steps *all = &r->ranks[rank];
    const trace_goal_step *call = NULL; // that runs, or ran last
    chain c = {.out = out, .runs = all->runs};
    uint64_t until = 0, left_out = 0;
    MLT_ARRAY_SORT(all->steps, all->count, trace_goal_order);
    pair_all(all);
    fprintf(out, "rank %u {\n", rank);
    for (trace_goal_step *s = all->steps; s < all->steps + all->count; s++) {
        if (s->kind == MLT_TRACE_POSTED && s->other == NOBODY)
            continue; // it was cancelled, or the run ended before
        if (s->kind == MLT_TRACE_STARTED || s->kind == OVER) {
            left_out += put_run_step(r, &c, rank, s, call);
            continue;
        }
        if (s->kind != MLT_TRACE_CALL) {
            left_out += put_message(r, &c, rank, all->steps, s);
            continue;
        }
        if (call && s->time >= call->end)
            end_call(&c, call);
        if (call &&
            s->time + GUESSED_NS >= until) { // also of no time: what ranks do alike looks alike
            put_calc(&c, s->time > until ? s->time - until : 0);
        }
        until = s->end > until ? s->end : until;
        call = s;
    }
    fprintf(out, "}\n");
    free(c.sends.items);
    free(c.came.items);
    free(c.open.items);
    return left_out;
}

static void recorder_free(recorder *r)
{
    for (uint32_t i = 0; r->schedules && i < r->facts->schedule_count; i++)
        mlt_trace_schedule_free(&r->schedules[i].schedule);
    free(r->schedules);
    free(r->sequences.all);
    free(r->put.all);
    free(r->tags.all);
    free(r->ranks);
}

uint64_t mlt_trace_goal(const mlt_trace *trace, FILE *out)
{
    recorder r = {.facts = &trace->facts};
    uint64_t left_out = 0;
    (void)mlt_trace_walk(trace, trace_goal_see, &r);
    if (trace->facts.ranks > r.rank_count && trace->facts.ranks <= INT32_MAX)
        (void)steps_of(&r, trace->facts.ranks - 1);
    fprintf(out, "num_ranks %u\n", r.rank_count);
    for (uint32_t rank = 0; rank < r.rank_count; rank++) {
        left_out += trace_goal_put_rank(&r, rank, out);
        free(r.ranks[rank].steps);
        free(r.ranks[rank].runs);
        free(r.ranks[rank].open);
    }
    recorder_free(&r);
    return left_out;
}
