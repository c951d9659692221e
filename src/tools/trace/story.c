// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/story.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/compare.h"
#include "base/memory.h"
#include "tools/trace/sequences.h"
#include "tools/trace/trace.h"

// ---- functions

static const struct {
    const char *name; // after MPI_, without the I of those that do not wait
    mlt_story_group group;
} functions[] = {
    {"Barrier", MLT_GROUP_BARRIER},
    {"Finalize", MLT_GROUP_BARRIER},
    {"Allreduce", MLT_GROUP_ALL},
    {"Allgather", MLT_GROUP_ALL},
    {"Allgatherv", MLT_GROUP_ALL},
    {"Alltoall", MLT_GROUP_ALL},
    {"Alltoallv", MLT_GROUP_ALL},
    {"Alltoallw", MLT_GROUP_ALL},
    {"Reduce_scatter", MLT_GROUP_ALL},
    {"Reduce_scatter_block", MLT_GROUP_ALL},
    {"Comm_split", MLT_GROUP_ALL},
    {"Comm_split_type", MLT_GROUP_ALL},
    {"Comm_dup", MLT_GROUP_ALL},
    {"Comm_create", MLT_GROUP_ALL},
    {"Bcast", MLT_GROUP_FROM},
    {"Scatter", MLT_GROUP_FROM},
    {"Scatterv", MLT_GROUP_FROM},
    {"Reduce", MLT_GROUP_TO},
    {"Gather", MLT_GROUP_TO},
    {"Gatherv", MLT_GROUP_TO},
    {"Scan", MLT_GROUP_CHAIN},
    {"Exscan", MLT_GROUP_CHAIN},
    {"Put", MLT_GROUP_WINDOWS},
    {"Get", MLT_GROUP_WINDOWS},
    {"Accumulate", MLT_GROUP_WINDOWS},
    {"Get_accumulate", MLT_GROUP_WINDOWS},
    {"Fetch_and_op", MLT_GROUP_WINDOWS},
    {"Compare_and_swap", MLT_GROUP_WINDOWS},
    {"Rput", MLT_GROUP_WINDOWS},
    {"Rget", MLT_GROUP_WINDOWS},
};

// How names of other functions begin.
static const struct {
    const char *begin;
    mlt_story_group group;
} families[] = {
    {"Win_", MLT_GROUP_WINDOWS},       {"Send", MLT_GROUP_MESSAGES},
    {"Recv", MLT_GROUP_MESSAGES},      {"Ssend", MLT_GROUP_MESSAGES},
    {"Bsend", MLT_GROUP_MESSAGES},     {"Rsend", MLT_GROUP_MESSAGES},
    {"Wait", MLT_GROUP_MESSAGES},      {"Test", MLT_GROUP_MESSAGES},
    {"Probe", MLT_GROUP_MESSAGES},     {"Mprobe", MLT_GROUP_MESSAGES},
    {"Mrecv", MLT_GROUP_MESSAGES},     {"Start", MLT_GROUP_MESSAGES},
    {"Pready", MLT_GROUP_MESSAGES},    {"Parrived", MLT_GROUP_MESSAGES},
    {"Neighbor_", MLT_GROUP_MESSAGES}, {"Sendrecv", MLT_GROUP_MESSAGES},
};

static mlt_story_group group_of(const char *name)
{
    size_t length = strlen(name);
    if (length > 2 && strcmp(name + length - 2, "_c") == 0)
        length -= 2;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strlen(functions[i].name) == length && strncmp(functions[i].name, name, length) == 0)
            return functions[i].group;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strncmp(families[i].begin, name, strlen(families[i].begin)) == 0)
            return families[i].group;
    return MLT_GROUP_OTHER;
}

static void know_functions(mlt_story *story)
{
    char room[32], upper[64];
    for (uint16_t fn = 0; fn < MLT_TRACE_FNS; fn++) {
        const char *name = mlt_facts_fn(&story->trace->facts, fn, room);
        if (strncmp(name, "MPI_", 4) != 0)
            continue;
        mlt_story_group group = group_of(name + 4);
        if (group == MLT_GROUP_OTHER && name[4] == 'I' && name[5]) {
            snprintf(upper, sizeof upper, "%c%s", name[5] - 'a' + 'A', name + 6);
            group = group_of(upper);
            story->nonblocking[fn] = group != MLT_GROUP_OTHER;
        }
        story->groups[fn] = (uint8_t)group;
    }
}

static void know_inner(mlt_story *story)
{
    static const struct {
        uint8_t kind, inner;
        const char *name; // NULL: any other
    } known[] = {
        {MLT_TRACE_WINDOW, MLT_INNER_LOCK, "a lock"},
        {MLT_TRACE_WINDOW, MLT_INNER_LOCK, "locks"},
        {MLT_TRACE_WINDOW, MLT_INNER_WINDOW, NULL},
        {MLT_TRACE_CSP, MLT_INNER_ROOM, "a reader"},
        {MLT_TRACE_CSP, MLT_INNER_ROOM, "room at a port"},
        {MLT_TRACE_FLOW, MLT_INNER_ROOM, "room"},
        {MLT_TRACE_FLOW, MLT_INNER_ROOM, "room on another worker"},
        {MLT_TRACE_WAIT, MLT_STORY_INNER_PROCESSES, "a CSP process"},
    };
    char room[32];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int how = 0; how < MLT_TRACE_HOWS; how++) {
            uint8_t *inner = &story->inner[known[i].kind][how];
            const char *name =
                mlt_facts_how(&story->trace->facts, known[i].kind, (uint8_t)how, room);
            if (!*inner && (!known[i].name || strcmp(known[i].name, name) == 0))
                *inner = known[i].inner;
        }
}

// ---- reading

typedef struct departure { // a message that left
    uint64_t time, bytes, number;
    uint32_t from, to, context;
    int32_t tag;
} departure;

typedef struct story_start { // a worker's trace goes on
    uint64_t time;
    uint32_t worker;
} story_start;

typedef struct story_reader {
    mlt_story *story;
    mlt_trace_see *also;
    void *user;
    mlt_sequences sequences;
    departure *left;
    story_start *starts; // by worker and time when all are there
    uint64_t left_count, left_room, start_count, start_room;
} story_reader;

static mlt_story_rank *story_rank_of(mlt_story *story, uint32_t rank)
{
    MLT_ARRAY_WANT(story->ranks, (size_t)rank + 1, story->rank_room);
    for (; story->rank_count <= rank; story->rank_count++)
        story->ranks[story->rank_count] = (mlt_story_rank){
            .begin = MLT_STORY_UNKNOWN, .matched = MLT_STORY_NONE, .left = MLT_STORY_NONE};
    return &story->ranks[rank];
}

static void add_call(mlt_story *story, mlt_story_rank *r, const mlt_trace_event *e)
{
    uint32_t index = r->call_count;
    uint16_t fn = e->fn % MLT_TRACE_FNS;
    *MLT_ARRAY_ADD(r->calls, r->call_count, r->call_room) =
        (mlt_story_call){.begin = e->time,
                         .end = e->time + e->span,
                         .bytes = e->bytes,
                         .peer = e->peer,
                         .tag = e->tag,
                         .context = e->context,
                         .fn = fn,
                         .group = story->groups[fn],
                         .nonblocking = story->nonblocking[fn],
                         .meeting = MLT_STORY_NONE};
    for (uint32_t i = r->open; i < r->wait_count; i++)
        if (r->waits[i].begin >= e->time)
            r->waits[i].call = index;
    r->open = r->wait_count;
    r->unsorted |= index > 0 && r->calls[index - 1].begin > e->time;
}

static mlt_story_wait *put_wait(mlt_story_rank *r, uint64_t begin, uint64_t end, uint8_t how)
{
    mlt_story_wait *w = MLT_ARRAY_ADD(r->waits, r->wait_count, r->wait_room);
    *w = (mlt_story_wait){.begin = begin,
                          .end = end,
                          .call = MLT_STORY_NONE,
                          .message = MLT_STORY_NONE,
                          .sent = r->left,
                          .peer = -1,
                          .how = how,
                          .ran = -1,
                          .ready = MLT_STORY_UNKNOWN};
    return w;
}

// The rank waited while its processes ran or waited. Where one of these had no room, that is what the
// rank waited for; the rest of its wait is the event's. Waits of several processes share their time.
static void put_around(mlt_story_rank *r, const mlt_trace_event *e)
{
    uint32_t count = r->wait_count - r->within;
    uint64_t at = e->time, end = e->time + e->span;
    mlt_story_wait *inner = mlt_xcalloc(count, sizeof *inner);
    if (count) { // else there may be no array at all
        memcpy(inner, r->waits + r->within, count * sizeof *inner);
        qsort(inner, count, sizeof *inner, mlt_compare_ascending);
    }
    r->wait_count = r->within;
    for (uint32_t i = 0; i < count; i++) {
        mlt_story_wait *w = &inner[i];
        w->begin = w->begin > at ? w->begin : at;
        w->end = w->end < end ? w->end : end;
        if (w->begin >= w->end)
            continue;
        if (w->begin > at)
            (void)put_wait(r, at, w->begin, e->how);
        at = w->end;
        *put_wait(r, w->begin, w->end, e->how) = *w;
    }
    if (at < end)
        (void)put_wait(r, at, end, e->how);
    free(inner);
}

// ---- a rank whose modules run computes, though its own fiber waits for them

static void add_points(mlt_story_rank *r, const mlt_trace_event *e, bool life)
{
    MLT_ARRAY_WANT(r->points, r->point_count + 2, r->point_room);
    r->points[r->point_count++] = (mlt_story_point){e->time, life ? 1 : -1};
    r->points[r->point_count++] = (mlt_story_point){e->time + e->span, life ? -1 : 1};
    r->lived |= life;
}

// Leaves of the points where it begins (more 1) and ends (more 0) that at least one module runs.
static uint32_t find_running(mlt_story_rank *r)
{
    uint32_t kept = 0;
    int run = 0;
    MLT_ARRAY_SORT(r->points, r->point_count, mlt_compare_ascending);
    for (uint32_t i = 0; i < r->point_count; i++) {
        bool ran = run > 0;
        run += r->points[i].more;
        bool last = i + 1 == r->point_count || r->points[i + 1].time > r->points[i].time;
        if (!last) { // all that happens at once counts together
            r->points[i + 1].more += r->points[i].more;
            run -= r->points[i].more;
        } else if (ran != (run > 0)) {
            r->points[kept++] = (mlt_story_point){r->points[i].time, run > 0};
        }
    }
    return kept;
}

static void put_part(mlt_story_rank *r, const mlt_story_wait *of, uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return;
    mlt_story_wait *w = put_wait(r, begin, end, of->how);
    *w = *of;
    w->begin = begin;
    w->end = end;
}

// Takes out of the rank's waits from `first` on, which follow each other, when a module of it ran.
static void cut_running(mlt_story_rank *r, uint32_t first)
{
    uint32_t count = r->wait_count - first, points = find_running(r), p = 0;
    mlt_story_wait *waits = mlt_xcalloc(count + 1, sizeof *waits);
    if (count)
        memcpy(waits, r->waits + first, count * sizeof *waits);
    r->wait_count = first;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = waits[i].begin;
        while (p < points && r->points[p].time <= at)
            p++;
        bool runs = p > 0 && r->points[p - 1].more;
        for (; p < points && r->points[p].time < waits[i].end; p++) {
            if (!runs)
                put_part(r, &waits[i], at, r->points[p].time);
            at = r->points[p].time;
            runs = r->points[p].more;
        }
        if (!runs)
            put_part(r, &waits[i], at, waits[i].end);
    }
    free(waits);
}

static void add_wait(mlt_story *story, mlt_story_rank *r, const mlt_trace_event *e)
{
    bool met = r->matched != MLT_STORY_NONE && story->messages[r->matched].matched >= e->time;
    uint64_t end = e->time + e->span;
    if (story->inner[MLT_TRACE_WAIT][e->how] == MLT_STORY_INNER_PROCESSES && !r->hint.inner) {
        uint32_t first = r->within;
        put_around(r, e);
        if (r->lived)
            cut_running(r, first);
        r->point_count = 0;
        r->lived = false;
        r->within = r->wait_count;
        return;
    }
    r->wait_count = r->within; // of processes: its own wait says more
    mlt_story_wait *w = put_wait(r, e->time, end, e->how);
    r->within = r->wait_count;
    w->message = met ? r->matched : MLT_STORY_NONE;
    w->peer = e->peer;
    if (r->hint.inner && r->hint.time == e->time) {
        w->inner = r->hint.inner;
        w->peer = r->hint.peer;
    }
    if (r->ready.inner && r->ready.time >= e->time && r->ready.time < end) {
        w->ready = r->ready.time;
        w->ran = r->ready.peer;
    }
    r->hint.inner = r->ready.inner = MLT_INNER_NONE;
}

// Who let a process of the rank go on that had waited since then; -1: nobody that is known.
static int32_t let_on(const mlt_story_rank *r, int32_t process, uint64_t since)
{
    bool known = r->woken.inner && r->woken.process == process && r->woken.time >= since;
    return known ? r->woken.peer : -1;
}

// What the rank waited for, or a process of it, which has no other event of its wait.
static void add_inner(mlt_story *story, mlt_story_rank *r, const mlt_trace_event *e)
{
    uint8_t inner = story->inner[e->kind][e->how];
    bool window = e->kind == MLT_TRACE_WINDOW;
    int32_t process = window ? 0 : e->peer;
    int32_t peer = window ? e->tag : let_on(r, process, e->time);
    if (process > 0)
        add_points(r, e, e->kind == MLT_TRACE_FLOW && story->depths.is_life[e->how]);
    if (process == 0) {
        r->hint = (mlt_story_hint){e->time, peer, 0, inner};
    } else if (inner) {
        mlt_story_wait *w = put_wait(r, e->time, e->time + e->span, 0);
        w->inner = inner;
        w->peer = peer;
    }
}

static void add_match(story_reader *in, mlt_story_rank *r, const mlt_trace_event *e)
{
    mlt_story *story = in->story;
    mlt_sequence *s =
        mlt_sequence_of(&in->sequences, (uint32_t)e->peer, e->rank, e->context, e->tag);
    r->matched = (uint32_t)story->message_count;
    *MLT_ARRAY_ADD(story->messages, story->message_count, story->message_room) =
        (mlt_story_message){.sent = MLT_STORY_UNKNOWN,
                            .matched = e->time,
                            .bytes = e->bytes,
                            .from = (uint32_t)e->peer,
                            .to = e->rank,
                            .context = e->context,
                            .tag = e->tag,
                            .number = s->matched++};
}

static void add_departure(story_reader *in, mlt_story_rank *r, const mlt_trace_event *e)
{
    mlt_sequence *s =
        mlt_sequence_of(&in->sequences, e->rank, (uint32_t)e->peer, e->context, e->tag);
    r->left = (uint32_t)in->left_count;
    *MLT_ARRAY_ADD(in->left, in->left_count, in->left_room) = (departure){.time = e->time,
                                                                          .bytes = e->bytes,
                                                                          .number = s->sent++,
                                                                          .from = e->rank,
                                                                          .to = (uint32_t)e->peer,
                                                                          .context = e->context,
                                                                          .tag = e->tag};
}

static void story_see(void *user, uint32_t worker, const mlt_trace_event *e)
{
    story_reader *in = user;
    if (in->also)
        in->also(in->user, worker, e);
    mlt_depths_see(&in->story->depths, worker, e);
    if (e->kind == MLT_TRACE_TRACED && e->how == MLT_TRACE_GOES_ON) { // after a pause
        *MLT_ARRAY_ADD(in->starts, in->start_count, in->start_room) =
            (story_start){e->time, worker};
        in->story->pauses++;
    }
    if (e->rank > INT32_MAX)
        return;
    mlt_story_rank *r = story_rank_of(in->story, e->rank);
    r->worker = worker;
    r->begin = e->time < r->begin ? e->time : r->begin;
    r->end = e->time + e->span > r->end ? e->time + e->span : r->end;
    if (e->kind == MLT_TRACE_CALL)
        add_call(in->story, r, e);
    else if (e->kind == MLT_TRACE_WAIT)
        add_wait(in->story, r, e);
    else if (e->kind == MLT_TRACE_MATCHED && e->peer >= 0)
        add_match(in, r, e);
    else if (e->kind == MLT_TRACE_SENT && e->peer >= 0)
        add_departure(in, r, e);
    else if (e->kind == MLT_TRACE_WINDOW || e->kind == MLT_TRACE_CSP || e->kind == MLT_TRACE_FLOW)
        add_inner(in->story, r, e);
    else if (e->kind == MLT_TRACE_READY && e->tag == 0)
        r->ready = (mlt_story_hint){e->time, e->peer, 0, 1};
    else if (e->kind == MLT_TRACE_COPIED)
        *MLT_ARRAY_ADD(in->story->copies, in->story->copy_count, in->story->copy_room) =
            (mlt_story_copy){e->time, e->time + e->span, e->bytes, e->rank, e->how};
    else if (e->kind == MLT_TRACE_WOKEN)
        r->woken = (mlt_story_hint){e->time, e->peer, e->tag, 1};
}

// ---- messages: the n-th that left is the n-th that was matched
//
// Unless traces pause: then some messages have but one end in the trace. A message that left before the
// receiver's trace went on may have been matched in the pause, so it has no match; and one that was
// matched before the next one left has left in the sender's pause.

// Where the sends of a sequence begin in an array of all sends, sequence after sequence.
static uint64_t *place_sends(mlt_sequences *sequences)
{
    uint64_t *base = mlt_xcalloc(sequences->size + 1, sizeof *base), sum = 0;
    for (uint64_t i = 0; i < sequences->size; i++) {
        base[i] = sum;
        sum += sequences->all[i].sent;
    }
    return base;
}

static uint32_t add_unreceived(mlt_story *story, const departure *d)
{
    MLT_ARRAY_WANT(story->messages, story->message_count + 1, story->message_room);
    story->messages[story->message_count] = (mlt_story_message){.sent = d->time,
                                                                .matched = MLT_STORY_UNKNOWN,
                                                                .bytes = d->bytes,
                                                                .from = d->from,
                                                                .to = d->to,
                                                                .context = d->context,
                                                                .tag = d->tag,
                                                                .number = d->number};
    return (uint32_t)story->message_count++;
}

// Waits know what was sent before them by its place among what left; from now on by the message.
static void name_sent(mlt_story *story, const uint32_t *message_of)
{
    for (uint32_t rank = 0; rank < story->rank_count; rank++)
        for (uint32_t i = 0; i < story->ranks[rank].wait_count; i++) {
            mlt_story_wait *w = &story->ranks[rank].waits[i];
            w->sent = w->sent == MLT_STORY_NONE ? MLT_STORY_NONE : message_of[w->sent];
        }
}

static int start_order(const void *a, const void *b)
{
    const story_start *x = a, *y = b;
    return mlt_compare_words((uint64_t[]){x->worker, x->time}, (uint64_t[]){y->worker, y->time}, 2);
}

// When the worker's trace last went on before that time; 0: it never paused.
static uint64_t last_start(const story_reader *in, uint32_t worker, uint64_t time)
{
    const story_start limit = {time, worker};
    uint64_t at = MLT_ARRAY_SEARCH(i, in->start_count, start_order(&in->starts[i], &limit) <= 0);
    return at && in->starts[at - 1].worker == worker ? in->starts[at - 1].time : 0;
}

// Which of its sequence's sends is that of a message: after those of the messages before it, *next is the
// first that may be. False: none.
static bool find_send(const story_reader *in, const mlt_story_message *m, const uint32_t *sends,
                      uint64_t count, uint64_t *next)
{
    if (!in->start_count) {
        *next = m->number;
        return m->number < count;
    }
    uint64_t since = last_start(in, in->story->ranks[m->to].worker, m->matched);
    while (*next < count && in->left[sends[*next]].time < since)
        ++*next;
    return *next < count && in->left[sends[*next]].time <= m->matched;
}

static void pair_messages(story_reader *in)
{
    mlt_story *story = in->story;
    mlt_sequences *sequences = &in->sequences;
    uint64_t *base = place_sends(sequences);
    uint32_t *placed = mlt_xcalloc(in->left_count + 1, sizeof *placed);
    uint32_t *message_of = mlt_xcalloc(in->left_count + 1, sizeof *message_of);
    uint64_t *next =
        mlt_xcalloc(sequences->size + 1, sizeof *next); // [sequences]: sends that are not paired
    if (in->start_count)
        qsort(in->starts, in->start_count, sizeof *in->starts, start_order);
    for (uint64_t i = 0; i < in->left_count; i++) {
        const departure *d = &in->left[i];
        mlt_sequence *s = mlt_sequence_of(sequences, d->from, d->to, d->context, d->tag);
        placed[base[s - sequences->all] + d->number] = (uint32_t)i;
        message_of[i] = MLT_STORY_NONE;
    }
    for (uint64_t i = 0; i < story->message_count; i++) {
        mlt_story_message *m = &story->messages[i];
        mlt_sequence *s = mlt_sequence_of(sequences, m->from, m->to, m->context, m->tag);
        const uint32_t *sends = placed + base[s - sequences->all];
        uint64_t *at = &next[s - sequences->all];
        if (find_send(in, m, sends, s->sent, at)) {
            uint32_t left = sends[(*at)++];
            m->sent = in->left[left].time;
            message_of[left] = (uint32_t)i;
        }
    }
    for (uint64_t i = 0; i < in->left_count; i++)
        if (message_of[i] == MLT_STORY_NONE)
            message_of[i] = add_unreceived(story, &in->left[i]);
    name_sent(story, message_of);
    free(next);
    free(base);
    free(placed);
    free(message_of);
}

// ---- order

static int call_order(const void *a, const void *b)
{
    return mlt_compare_words(a, b, 2); // begin and end
}

// Calls of threads of one rank overlap; their waits lose their calls then.
static void sort_calls(mlt_story_rank *r)
{
    if (!r->unsorted)
        return;
    qsort(r->calls, r->call_count, sizeof *r->calls, call_order);
    for (uint32_t i = 0; i < r->wait_count; i++)
        r->waits[i].call = MLT_STORY_NONE;
}

// ---- meetings

// Communicators that one call has split off have the same number. Messages tell which ranks are in one.
// They are kept in tables of sequences.h: `sent` of an entry is 1 + a rank or a number, 0: none yet.

enum { BLOCK = 8 }; // numbers of contexts that a communicator has

static uint64_t *circle_of(mlt_sequences *c, uint32_t block, uint32_t rank)
{
    return &mlt_sequence_at(c, (uint64_t)block + 1, rank)->sent;
}

// Ranks that exchanged messages in a block of contexts are in one communicator: the least of them is its name.
static uint32_t root_of(mlt_sequences *c, uint32_t block, uint32_t rank)
{
    for (;;) {
        uint64_t up = *circle_of(c, block, rank);
        if (!up || up == (uint64_t)rank + 1)
            return rank;
        uint64_t above = *circle_of(c, block, (uint32_t)up - 1);
        if (above)
            *circle_of(c, block, rank) = above;
        rank = (uint32_t)up - 1;
    }
}

static void story_join(mlt_sequences *c, uint32_t block, uint32_t a, uint32_t b)
{
    a = root_of(c, block, a);
    b = root_of(c, block, b);
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    *circle_of(c, block, low) = *circle_of(c, block, high) = (uint64_t)low + 1;
}

// Ranks of a worker combine without messages: one that sent none is with those of its worker that did.
static void join_workers(mlt_story *story, mlt_sequences *c)
{
    mlt_sequences first = {0};
    for (uint32_t rank = 0; rank < story->rank_count; rank++) {
        const mlt_story_rank *r = &story->ranks[rank];
        uint32_t last = 0;
        for (uint32_t i = 0; i < r->call_count; i++) {
            uint32_t block = r->calls[i].context / BLOCK;
            if (block == 0 || block == last || r->calls[i].group == MLT_GROUP_OTHER)
                continue;
            last = block;
            uint64_t *leader = circle_of(&first, block, r->worker);
            if (!*leader)
                *leader = (uint64_t)rank + 1;
            else if (!*circle_of(c, block, rank))
                story_join(c, block, (uint32_t)*leader - 1, rank);
        }
    }
}

static void attend(mlt_story *story, mlt_sequences *numbers, mlt_sequences *meetings,
                   mlt_sequences *comms, uint32_t rank, mlt_story_call *call)
{
    uint32_t block = call->context / BLOCK;
    uint64_t what = ((uint64_t)call->context + 1) << 16 | call->fn;
    uint32_t number = (uint32_t)mlt_sequence_at(numbers, what, rank)->sent++;
    uint64_t group = block ? root_of(comms, block, rank) : 0;
    uint64_t *found = &mlt_sequence_at(meetings, what, group << 32 | number)->sent;
    if (!*found) {
        *MLT_ARRAY_ADD(story->meetings, story->meeting_count, story->meeting_room) =
            (mlt_story_meeting){.first = MLT_STORY_UNKNOWN,
                                .root = MLT_STORY_UNKNOWN,
                                .context = call->context,
                                .fn = call->fn};
        *found = story->meeting_count;
    }
    mlt_story_meeting *m = &story->meetings[*found - 1];
    call->meeting = (uint32_t)*found - 1;
    m->first = call->begin < m->first ? call->begin : m->first;
    m->end = call->end > m->end ? call->end : m->end;
    if (call->context == 0 && call->peer >= 0 &&
        (uint32_t)call->peer == rank) // ranks of the world are its own
        m->root = call->begin;
    if (m->ranks++ == 0 || call->begin > m->last) {
        m->last = call->begin;
        m->late = rank;
    }
}

// Nobody leaves a barrier before the last one has come. Where the numbers say so, ranks were taken for a group that
// they are not: such a meeting is none.
static void check_meetings(mlt_story *story)
{
    for (uint32_t rank = 0; rank < story->rank_count; rank++)
        for (uint32_t i = 0; i < story->ranks[rank].call_count; i++) {
            mlt_story_call *call = &story->ranks[rank].calls[i];
            if (call->meeting == MLT_STORY_NONE)
                continue;
            mlt_story_meeting *m = &story->meetings[call->meeting];
            bool together = call->group == MLT_GROUP_BARRIER || call->group == MLT_GROUP_ALL;
            if (together && !call->nonblocking && call->end < m->last)
                m->ranks = 0;
            m->waited += m->last - call->begin;
        }
    for (uint32_t rank = 0; rank < story->rank_count; rank++)
        for (uint32_t i = 0; i < story->ranks[rank].call_count; i++) {
            mlt_story_call *call = &story->ranks[rank].calls[i];
            if (call->meeting != MLT_STORY_NONE && story->meetings[call->meeting].ranks < 2)
                call->meeting = MLT_STORY_NONE;
        }
}

static void find_meetings(mlt_story *story)
{
    mlt_sequences comms = {0}, numbers = {0}, meetings = {0};
    for (uint64_t i = 0; i < story->message_count; i++)
        if (story->messages[i].context >= BLOCK && story->messages[i].to < story->rank_count)
            story_join(&comms, story->messages[i].context / BLOCK, story->messages[i].from,
                       story->messages[i].to);
    join_workers(story, &comms);
    for (uint32_t rank = 0; rank < story->rank_count; rank++)
        for (uint32_t i = 0; i < story->ranks[rank].call_count; i++) {
            mlt_story_call *call = &story->ranks[rank].calls[i];
            if (call->group >= MLT_GROUP_BARRIER && call->group <= MLT_GROUP_CHAIN)
                attend(story, &numbers, &meetings, &comms, rank, call);
        }
    check_meetings(story);
}

// ---- the whole

void mlt_story_read(mlt_story *story, const mlt_trace *trace, mlt_trace_see *also, void *user)
{
    story_reader in = {.story = story, .also = also, .user = user};
    memset(story, 0, sizeof *story);
    story->trace = trace;
    story->length_ns = trace->end_ns - trace->begin_ns;
    know_functions(story);
    know_inner(story);
    mlt_depths_begin(&story->depths, trace);
    story->damaged = mlt_trace_walk(trace, story_see, &in);
    mlt_depths_end(&story->depths);
    pair_messages(&in);
    for (uint32_t rank = 0; rank < story->rank_count; rank++) {
        sort_calls(&story->ranks[rank]);
        if (story->ranks[rank].end > story->length_ns)
            story->length_ns = story->ranks[rank].end;
    }
    find_meetings(story);
    free(in.sequences.all);
    free(in.left);
    free(in.starts);
}

uint32_t mlt_story_wait_after(const mlt_story_rank *rank, uint64_t time)
{
    return MLT_ARRAY_SEARCH(i, rank->wait_count, rank->waits[i].end <= time);
}
