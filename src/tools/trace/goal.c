// SPDX-License-Identifier: BSD-3-Clause
// A run as a GOAL program in LogGOPSim's dialect: each rank's messages in the order in which they left
// and their receives were posted, and what it computed between calls.
//
// Actions of a rank follow one another. A send that a blocking call has made must end before what
// follows the call, any other one must only have started. A receive must have ended before what
// follows the first blocking call after its message came. So the program has no deadlock that the run
// could not have had, and overlaps what the run did.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tools/trace/streams.h"
#include "tools/trace/trace.h"

typedef struct trace_goal_step {
    uint64_t time, end; // end: of a call
    uint64_t bytes;
    int32_t peer; // POSTED: -1: anybody
    int32_t key;  // the tag of the run; POSTED: negative: any
    uint32_t context;
    uint32_t tag;    // as GOAL has it
    uint32_t number; // of its stream
    uint64_t other;  // place of a POSTED's match, of a MATCHED's posting; NOBODY: none
    uint64_t action; // POSTED: of its receive; 0: none
    uint8_t kind;
    bool blocking; // a call: it ends when its messages may be forgotten
} trace_goal_step;

#define NOBODY UINT64_MAX

typedef struct rank_steps {
    trace_goal_step *steps;
    uint64_t count, room;
} rank_steps;

typedef struct tags {
    uint64_t *keys; // context and tag; the index is GOAL's tag
    uint32_t count, room;
} tags;

typedef struct recorder {
    rank_steps *ranks;
    uint32_t rank_count, rank_room;
    mlt_streams streams;
    tags tags;
    const mlt_trace_facts_table *facts;
} recorder;

static rank_steps *steps_of(recorder *r, uint32_t rank)
{
    MLT_ARRAY_WANT(r->ranks, rank + 1, r->rank_room);
    for (; r->rank_count <= rank; r->rank_count++)
        r->ranks[r->rank_count] = (rank_steps){NULL, 0, 0};
    return &r->ranks[rank];
}

// Most programs have a handful: those that were used last are found first.
static uint32_t tag_of(tags *t, const mlt_trace_event *e)
{
    uint64_t key = (uint64_t)e->context << 32 | (uint32_t)e->tag;
    for (uint32_t i = t->count; i > 0; i--)
        if (t->keys[i - 1] == key)
            return i - 1;
    MLT_ARRAY_WANT(t->keys, t->count + 1, t->room);
    t->keys[t->count] = key;
    return t->count++;
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

static void trace_goal_see(void *user, uint32_t worker, const mlt_trace_event *e)
{
    recorder *r = user;
    bool message = (e->kind == MLT_TRACE_SENT || e->kind == MLT_TRACE_MATCHED) && e->peer >= 0;
    if (e->rank > INT32_MAX ||
        (!message && e->kind != MLT_TRACE_CALL && e->kind != MLT_TRACE_POSTED))
        return;
    trace_goal_step s = {.time = e->time,
                         .end = e->time + e->span,
                         .bytes = e->bytes,
                         .peer = e->peer,
                         .key = e->tag,
                         .context = e->context,
                         .other = NOBODY,
                         .kind = e->kind};
    s.blocking = e->kind == MLT_TRACE_CALL && is_blocking(r, e->fn);
    if (message) {
        bool leaves = e->kind == MLT_TRACE_SENT;
        uint32_t peer = (uint32_t)e->peer;
        mlt_stream *stream = mlt_stream_of(&r->streams, leaves ? e->rank : peer,
                                           leaves ? peer : e->rank, e->context, e->tag);
        s.tag = tag_of(&r->tags, e);
        s.number = (uint32_t)(leaves ? stream->sent++ : stream->matched++);
        (void)steps_of(r, peer);
    }
    rank_steps *steps = steps_of(r, e->rank);
    *MLT_ARRAY_ADD(steps->steps, steps->count, steps->room) = s;
}

// By time; a match belongs to the call that ends then, anything else to the one that begins.
static int trace_goal_place_of(uint8_t kind)
{
    return kind == MLT_TRACE_MATCHED ? 0 : 1 + kind;
}

static int trace_goal_order(const void *a, const void *b)
{
    const trace_goal_step *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->kind != y->kind)
        return trace_goal_place_of(x->kind) - trace_goal_place_of(y->kind);
    return (x->number > y->number) - (x->number < y->number);
}

// Whether both ends of a message are in the trace.
static bool is_whole(recorder *r, uint32_t rank, const trace_goal_step *s)
{
    bool leaves = s->kind == MLT_TRACE_SENT;
    uint64_t key = r->tags.keys[s->tag];
    const mlt_stream *stream =
        mlt_stream_of(&r->streams, leaves ? rank : (uint32_t)s->peer,
                      leaves ? (uint32_t)s->peer : rank, (uint32_t)(key >> 32), (int32_t)key);
    return s->number < (leaves ? stream->matched : stream->sent);
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
    uint64_t count; // of actions so far
    uint64_t last;  // that is no message under way; 0: none
    uint64_t begun; // the last message after it, which must have started; 0: none
    actions sends;  // of the call that runs now
    actions came;   // receives whose messages are there
    bool ended;     // a call that waits for both has ended: they must have, too
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

static void put_send(chain *c, const trace_goal_step *s)
{
    fprintf(c->out, "a%" PRIu64 ": send %" PRIu64 "b to %" PRId32 " tag %u\n", c->count + 1,
            s->bytes, s->peer, s->tag);
    link_action(c, true);
    add_action(&c->sends, c->count);
}

static void put_receive(chain *c, const trace_goal_step *matched)
{
    fprintf(c->out, "a%" PRIu64 ": recv %" PRIu64 "b from %" PRId32 " tag %u\n", c->count + 1,
            matched->bytes, matched->peer, matched->tag);
    link_action(c, true);
}

// Returns 1 if the message is left out.
static uint64_t put_message(recorder *r, chain *c, uint32_t rank, trace_goal_step *steps,
                            trace_goal_step *s)
{
    const trace_goal_step *message = s->kind == MLT_TRACE_POSTED ? &steps[s->other] : s;
    bool whole = is_whole(r, rank, message);
    if (whole && s->kind == MLT_TRACE_SENT) {
        put_send(c, s);
    } else if (whole && s->kind == MLT_TRACE_POSTED) {
        put_receive(c, message);
        s->action = c->count;
    } else if (whole && s->other == NOBODY) {
        put_receive(c, message);
        add_action(&c->came, c->count);
    } else if (whole) {
        add_action(&c->came, steps[s->other].action);
    }
    return !whole && s->kind != MLT_TRACE_POSTED;
}

// A call has ended. One that leaves its messages to later calls needs them only to have started.
static void end_call(chain *c, const trace_goal_step *call)
{
    if (call->blocking)
        c->ended = c->ended || c->sends.count || c->came.count;
    else if (!c->ended)
        c->sends.count = 0;
}

// The end of a short send is a guess (mpi/p2p/traced.c): the next call may seem to begin before it.
enum { GUESSED_NS = 1000 };

// Returns how many messages were left out.
static uint64_t trace_goal_put_rank(recorder *r, uint32_t rank, FILE *out)
{
    rank_steps *all = &r->ranks[rank];
    const trace_goal_step *call = NULL; // that runs, or ran last
    chain c = {.out = out};
    uint64_t until = 0, left_out = 0;
    MLT_ARRAY_SORT(all->steps, all->count, trace_goal_order);
    pair_all(all);
    fprintf(out, "rank %u {\n", rank);
    for (trace_goal_step *s = all->steps; s < all->steps + all->count; s++) {
        if (s->kind == MLT_TRACE_POSTED && s->other == NOBODY)
            continue; // it was cancelled, or the run ended before
        if (s->kind != MLT_TRACE_CALL) {
            left_out += put_message(r, &c, rank, all->steps, s);
            continue;
        }
        if (call && s->time >= call->end)
            end_call(&c, call);
        if (call &&
            s->time + GUESSED_NS >= until) { // also of no time: what ranks do alike looks alike
            uint64_t ns = s->time > until ? s->time - until : 0;
            fprintf(out, "a%" PRIu64 ": calc %" PRIu64 "\n", c.count + 1, ns);
            link_action(&c, false);
        }
        until = s->end > until ? s->end : until;
        call = s;
    }
    fprintf(out, "}\n");
    free(c.sends.items);
    free(c.came.items);
    return left_out;
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
    }
    return left_out;
}
