// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/causes.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"

enum {
    DEPTH = 100,                // of causes of causes
    STEPS_OF_A_WAIT = 50,       // on average: beyond it a cause is not traced further
    STEPS_LEAST = 10 * 1000000, // in any case
    LARGE = 4096,               // bytes: such a message may not come with its envelope
};

#define CAUSE_NAME(cause, name, help) name,
#define CAUSE_HELP(cause, name, help) help,
const char *const mlt_cause_names[MLT_CAUSE_COUNT] = {MLT_CAUSES(CAUSE_NAME)};
const char *const mlt_cause_helps[MLT_CAUSE_COUNT] = {MLT_CAUSES(CAUSE_HELP)};

static void know_waits(mlt_causes *c)
{
    static const struct {
        const char *name;
        mlt_cause cause;
    } known[] = {{"a message", MLT_CAUSE_LATE_SENDER}, {"a receiver", MLT_CAUSE_LATE_RECEIVER},
                 {"a collective", MLT_CAUSE_N_TO_N},   {"time", MLT_CAUSE_ASLEEP},
                 {"a window", MLT_CAUSE_WINDOW},       {"a probe", MLT_CAUSE_LATE_SENDER}};
    char room[32];
    for (int how = 0; how < MLT_TRACE_HOWS; how++) {
        const char *name =
            mlt_facts_how(&c->story->trace->facts, MLT_TRACE_WAIT, (uint8_t)how, room);
        c->hows[how] = MLT_CAUSE_OTHER;
        c->processes[how] = strcmp(name, "a CSP process") == 0;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (strcmp(known[i].name, name) == 0)
                c->hows[how] = (uint8_t)known[i].cause;
    }
}

// ---- parts of a wait

typedef struct parts {
    mlt_cause_part *all;
    uint64_t begin, end; // of what is left of the wait
    int count;
} parts;

// The next part, up to a time; nothing if that is over already.
static void cut(parts *p, uint64_t until, mlt_cause cause, int64_t rank)
{
    until = until < p->end ? until : p->end;
    if (until <= p->begin)
        return;
    p->all[p->count++] = (mlt_cause_part){p->begin, until, rank, cause};
    p->begin = until;
}

static mlt_cause cause_of(mlt_story_group group)
{
    switch (group) {
    case MLT_GROUP_BARRIER:
        return MLT_CAUSE_BARRIER;
    case MLT_GROUP_ALL:
    case MLT_GROUP_CHAIN:
        return MLT_CAUSE_N_TO_N;
    case MLT_GROUP_FROM:
        return MLT_CAUSE_LATE_BROADCAST;
    case MLT_GROUP_TO:
        return MLT_CAUSE_EARLY_REDUCE;
    default:
        return MLT_CAUSE_LATE_SENDER;
    }
}

static void cut_message(parts *p, const mlt_story_message *m, mlt_cause late)
{
    if (m->sent == MLT_STORY_UNKNOWN) {
        cut(p, m->matched, late, m->from);
    } else {
        cut(p, m->sent, late, m->from);
        cut(p, m->matched, MLT_CAUSE_ON_ITS_WAY, m->from);
    }
    // Once they have met, data of a large message still come.
    cut(p, p->end, m->bytes < LARGE ? MLT_CAUSE_NOT_RUN : MLT_CAUSE_ON_ITS_WAY, -1);
}

// In a collective that waits for all, or for its root. False: the message that ended the wait says more.
static bool cut_meeting(const mlt_story *s, parts *p, uint32_t rank, const mlt_story_call *call)
{
    if (call->meeting == MLT_STORY_NONE || call->nonblocking)
        return false;
    const mlt_story_meeting *m = &s->meetings[call->meeting];
    bool all = call->group == MLT_GROUP_BARRIER || call->group == MLT_GROUP_ALL;
    bool root = call->group == MLT_GROUP_TO && m->root == call->begin;
    bool from = call->group == MLT_GROUP_FROM && m->root != MLT_STORY_UNKNOWN;
    uint64_t came = from ? m->root : m->last;
    int64_t late = from ? (int64_t)call->peer : (int64_t)m->late;
    if ((!all && !root && !from) || late == rank || came <= p->begin)
        return false;
    cut(p, came, cause_of(call->group), late);
    cut(p, p->end, MLT_CAUSE_ON_ITS_WAY, -1);
    return true;
}

// What an event beside the wait says it was for. False: none does.
static bool cut_inner(parts *p, const mlt_story_wait *w)
{
    static const mlt_cause causes[] = {[MLT_INNER_LOCK] = MLT_CAUSE_LOCK,
                                       [MLT_INNER_WINDOW] = MLT_CAUSE_WINDOW,
                                       [MLT_INNER_ROOM] = MLT_CAUSE_FULL_QUEUE};
    if (w->inner == MLT_INNER_NONE || w->inner == MLT_STORY_INNER_PROCESSES)
        return false;
    cut(p, p->end, causes[w->inner], w->peer);
    return true;
}

static void cut_wait(const mlt_causes *c, parts *p, uint32_t rank, const mlt_story_wait *w)
{
    const mlt_story *s = c->story;
    const mlt_story_call *call = w->call == MLT_STORY_NONE ? NULL : &s->ranks[rank].calls[w->call];
    mlt_cause cause = c->hows[w->how];
    if (cut_inner(p, w) || (call && cut_meeting(s, p, rank, call)))
        return;
    if (cause == MLT_CAUSE_OTHER && c->processes[w->how]) {
        cut(p, p->end, cause, -1); // its own processes, which run meanwhile
    } else if (w->message != MLT_STORY_NONE) {
        mlt_story_group group = call ? call->group : MLT_GROUP_MESSAGES;
        cut_message(p, &s->messages[w->message], cause_of(group));
    } else if (cause == MLT_CAUSE_LATE_RECEIVER) {
        const mlt_story_message *m = w->sent != MLT_STORY_NONE ? &s->messages[w->sent] : NULL;
        if (m && (w->peer < 0 || m->to == (uint32_t)w->peer)) {
            cut(p, m->matched, cause, m->to);
            cut(p, p->end, MLT_CAUSE_ON_ITS_WAY, m->to);
        } else {
            cut(p, p->end, cause, w->peer);
        }
    } else if (cause == MLT_CAUSE_N_TO_N) { // ranks of one worker, whose parts need no message
        bool over = call && call->meeting != MLT_STORY_NONE && !call->nonblocking;
        cut(p, p->end, over ? MLT_CAUSE_ON_ITS_WAY : call ? cause_of(call->group) : cause, -1);
    } else {
        cut(p, p->end, cause, cause == MLT_CAUSE_LATE_SENDER ? w->peer : -1);
    }
}

int mlt_cause_parts(const mlt_causes *c, uint32_t rank, const mlt_story_wait *w,
                    mlt_cause_part out[MLT_CAUSE_PARTS])
{
    parts p = {out, w->begin, w->ready == MLT_STORY_UNKNOWN ? w->end : w->ready, 0};
    cut_wait(c, &p, rank, w);
    p.end = w->end;
    cut(&p, p.end, MLT_CAUSE_STARVED, w->ran);
    return p.count;
}

// ---- who is to blame

typedef struct blamer {
    mlt_causes *c;
    mlt_cause cause; // what the wait is called that is traced
} blamer;

static void accuse(blamer *b, uint32_t rank, uint64_t ns)
{
    b->c->blamed[(uint64_t)b->cause * b->c->story->rank_count + rank] += ns;
    b->c->blamed_ns += ns;
}

// Somebody waited from begin to end for that rank.
static void blame(blamer *b, uint32_t rank, uint64_t begin, uint64_t end, int depth)
{
    const mlt_story *s = b->c->story;
    const mlt_story_rank *r = &s->ranks[rank];
    mlt_cause_part all[MLT_CAUSE_PARTS];
    for (uint32_t i = mlt_story_wait_after(r, begin); i < r->wait_count && begin < end; i++) {
        if (r->waits[i].begin >= end || b->c->steps == 0)
            break;
        b->c->steps--;
        int count = mlt_cause_parts(b->c, rank, &r->waits[i], all);
        for (int p = 0; p < count; p++) {
            uint64_t from = all[p].begin > begin ? all[p].begin : begin;
            uint64_t to = all[p].end < end ? all[p].end : end;
            if (from >= to || all[p].cause == MLT_CAUSE_ASLEEP) // it stands for what the rank does
                continue;
            accuse(b, rank, from - begin);
            if (mlt_cause_is_late(all[p].cause) && all[p].rank >= 0 &&
                all[p].rank < s->rank_count && depth < DEPTH)
                blame(b, (uint32_t)all[p].rank, from, to, depth + 1);
            begin = to;
        }
    }
    if (begin < end)
        accuse(b, rank, end - begin);
}

static void blame_wait(mlt_causes *c, uint32_t rank, const mlt_story_wait *wait)
{
    mlt_cause_part all[MLT_CAUSE_PARTS];
    int count = mlt_cause_parts(c, rank, wait, all);
    for (int p = 0; p < count; p++) {
        blamer b = {c, all[p].cause};
        c->ns[b.cause] += all[p].end - all[p].begin;
        c->count[b.cause]++;
        if (mlt_cause_is_late(b.cause) && all[p].rank >= 0 && all[p].rank < c->story->rank_count)
            blame(&b, (uint32_t)all[p].rank, all[p].begin, all[p].end, 0);
    }
}

uint64_t mlt_causes_blamed(const mlt_causes *c, uint32_t rank)
{
    uint64_t sum = 0;
    for (int cause = 0; cause < MLT_CAUSE_COUNT; cause++)
        sum += c->blamed[(uint64_t)cause * c->story->rank_count + rank];
    return sum;
}

uint32_t mlt_causes_worst(const mlt_causes *c, unsigned cause)
{
    uint32_t worst = 0;
    uint64_t most = 0;
    for (uint32_t rank = 0; rank < c->story->rank_count; rank++) {
        uint64_t ns = cause == MLT_CAUSE_COUNT
                          ? mlt_causes_blamed(c, rank)
                          : c->blamed[(uint64_t)cause * c->story->rank_count + rank];
        worst = ns > most ? rank : worst;
        most = ns > most ? ns : most;
    }
    return worst;
}

// ---- what a rank does

typedef struct teller {
    mlt_causes_see *see;
    void *user;
    uint64_t at;
} teller;

static void causes_tell(teller *t, unsigned what, uint64_t until)
{
    if (until <= t->at)
        return;
    t->see(t->user, what, t->at, until);
    t->at = until;
}

static unsigned does(const mlt_story_call *call)
{
    switch ((mlt_story_group)call->group) {
    case MLT_GROUP_MESSAGES:
        return MLT_DOES_MESSAGES;
    case MLT_GROUP_OTHER:
    case MLT_GROUP_WINDOWS:
        return MLT_DOES_OTHER;
    default:
        return MLT_DOES_COLLECTIVES;
    }
}

static void tell_waits(const mlt_causes *c, uint32_t rank, teller *t, unsigned between,
                       uint32_t *next, uint64_t until)
{
    const mlt_story_rank *r = &c->story->ranks[rank];
    mlt_cause_part all[MLT_CAUSE_PARTS];
    for (; *next < r->wait_count && r->waits[*next].begin < until; ++*next) {
        int count = mlt_cause_parts(c, rank, &r->waits[*next], all);
        causes_tell(t, between, r->waits[*next].begin);
        for (int p = 0; p < count; p++)
            causes_tell(t, all[p].cause, all[p].end);
    }
    causes_tell(t, between, until);
}

void mlt_causes_walk(const mlt_causes *c, uint32_t rank, mlt_causes_see *see, void *user)
{
    const mlt_story_rank *r = &c->story->ranks[rank];
    teller t = {see, user, r->begin};
    uint32_t next = 0;
    for (uint32_t i = 0; i < r->call_count; i++) {
        tell_waits(c, rank, &t, MLT_DOES_COMPUTE, &next, r->calls[i].begin);
        tell_waits(c, rank, &t, does(&r->calls[i]), &next, r->calls[i].end);
    }
    tell_waits(c, rank, &t, MLT_DOES_COMPUTE, &next, r->end);
}

static void add_time(void *user, unsigned what, uint64_t begin, uint64_t end)
{
    uint64_t *sums = user;
    sums[what] += end - begin;
}

static void frame_waits(const mlt_causes *c, uint32_t rank, uint32_t *next, uint64_t until,
                        mlt_causes_frame *see, void *user)
{
    const mlt_story_rank *r = &c->story->ranks[rank];
    mlt_cause_part all[MLT_CAUSE_PARTS];
    for (; *next < r->wait_count && r->waits[*next].begin < until; ++*next) {
        int count = mlt_cause_parts(c, rank, &r->waits[*next], all);
        for (int p = 0; p < count && all[p].begin < until; p++) {
            see(user, rank, all[p].cause, true, all[p].begin);
            see(user, rank, all[p].cause, false, all[p].end < until ? all[p].end : until);
        }
    }
}

void mlt_causes_frames(const mlt_causes *c, uint32_t rank, mlt_causes_frame *see, void *user)
{
    const mlt_story_rank *r = &c->story->ranks[rank];
    uint32_t next = 0;
    for (uint32_t i = 0; i < r->call_count; i++) {
        unsigned frame = MLT_CAUSE_COUNT + r->calls[i].fn;
        frame_waits(c, rank, &next, r->calls[i].begin, see, user);
        see(user, rank, frame, true, r->calls[i].begin);
        frame_waits(c, rank, &next, r->calls[i].end, see, user);
        see(user, rank, frame, false, r->calls[i].end);
    }
    frame_waits(c, rank, &next, UINT64_MAX, see, user);
}

// ---- the critical path

static void step_back(mlt_causes *c, uint32_t rank, uint64_t begin, uint64_t end)
{
    *MLT_ARRAY_ADD(c->path, c->path_count, c->path_room) = (mlt_cause_step){begin, end, rank};
}

// The last moment before a time at which the rank went on because another one did something; -1: none.
static int64_t went_on(const mlt_causes *c, uint32_t rank, uint64_t before, uint64_t *when)
{
    const mlt_story_rank *r = &c->story->ranks[rank];
    mlt_cause_part all[MLT_CAUSE_PARTS];
    uint32_t i = mlt_story_wait_after(r, before);
    i = i < r->wait_count ? i + 1 : i; // a part of it may be over
    for (; i > 0; i--) {
        int count = mlt_cause_parts(c, rank, &r->waits[i - 1], all);
        for (int p = count; p > 0; p--)
            if (mlt_cause_is_late(all[p - 1].cause) && all[p - 1].rank >= 0 &&
                all[p - 1].rank < c->story->rank_count && all[p - 1].end < before) {
                *when = all[p - 1].end;
                return all[p - 1].rank;
            }
    }
    return -1;
}

static void find_path(mlt_causes *c)
{
    const mlt_story *s = c->story;
    uint32_t rank = 0;
    for (uint32_t i = 1; i < s->rank_count; i++)
        rank = s->ranks[i].end > s->ranks[rank].end ? i : rank;
    if (s->rank_count == 0)
        return;
    uint64_t time = s->ranks[rank].end, when = 0;
    for (int64_t from; (from = went_on(c, rank, time, &when)) >= 0;
         time = when, rank = (uint32_t)from)
        step_back(c, rank, when, time);
    if (s->ranks[rank].begin < time)
        step_back(c, rank, s->ranks[rank].begin, time);
    for (uint64_t i = 0; i < c->path_count / 2; i++) {
        mlt_cause_step swap = c->path[i];
        c->path[i] = c->path[c->path_count - 1 - i];
        c->path[c->path_count - 1 - i] = swap;
    }
}

// ---- the whole

void mlt_causes_find(mlt_causes *c, const mlt_story *story)
{
    memset(c, 0, sizeof *c);
    c->story = story;
    c->blamed = mlt_xcalloc((size_t)story->rank_count * MLT_CAUSE_COUNT, sizeof *c->blamed);
    c->does = mlt_xcalloc((size_t)story->rank_count * MLT_DOES_COUNT, sizeof *c->does);
    c->steps = STEPS_LEAST;
    know_waits(c);
    for (uint32_t rank = 0; rank < story->rank_count; rank++)
        c->steps += (uint64_t)STEPS_OF_A_WAIT * story->ranks[rank].wait_count;
    for (uint32_t rank = 0; rank < story->rank_count; rank++) {
        for (uint32_t i = 0; i < story->ranks[rank].wait_count; i++)
            blame_wait(c, rank, &story->ranks[rank].waits[i]);
        if (story->ranks[rank].begin != MLT_STORY_UNKNOWN)
            mlt_causes_walk(c, rank, add_time, &c->does[(size_t)rank * MLT_DOES_COUNT]);
    }
    find_path(c);
}
