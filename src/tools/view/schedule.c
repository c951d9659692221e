// SPDX-License-Identifier: BSD-3-Clause
#include "tools/view/schedule.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "tools/view/pack.h"

#define SMALL_BYTES  4096
#define LEAST_NS     20.0
#define USUAL_L      1000.0
#define BYTE_NS      0.1
#define FIRST_OF_OPS 4 // of a communicator's eight contexts, those of collective operations

typedef struct party {
    uint32_t rank;
    uint64_t came, left;
} party;

typedef struct message {
    uint32_t from, to; // places in the parties
    uint64_t bytes, sent, matched;
    uint64_t simulated_sent, simulated_matched; // ps; 0, 0: not simulated
    uint32_t step;         // messages that had to come one after the other before it
    uint32_t sends, takes; // actions of the program
} message;

typedef struct schedule {
    const mlt_story_meeting *meeting;
    uint32_t index; // of the meeting
    party *parties; // by rank
    uint32_t party_count, party_room;
    message *messages; // by when they were sent
    uint32_t message_count, message_room;
    uint64_t simulated_ps;
    char why[256]; // it could not be simulated; "": it was
} schedule;

mlt_loggops mlt_schedule_machine(const mlt_story *s)
{
    double fastest = 0;
    for (uint64_t i = 0; i < s->message_count; i++) {
        const mlt_story_message *m = &s->messages[i];
        if (m->sent == MLT_STORY_UNKNOWN || m->matched == MLT_STORY_UNKNOWN ||
            m->bytes > SMALL_BYTES || m->matched <= m->sent)
            continue;
        double ns = (double)(m->matched - m->sent);
        fastest = fastest == 0 || ns < fastest ? ns : fastest;
    }
    fastest = fastest == 0 ? USUAL_L : fastest < LEAST_NS ? LEAST_NS : fastest;
    return (mlt_loggops){.L = fastest, .G = BYTE_NS, .S = UINT64_MAX};
}

// ---- which collectives

// What the ranks needed after the last one had come.
static uint64_t needed(const mlt_story_meeting *m)
{
    return m->end - m->last;
}

static uint32_t schedule_choose(const mlt_story *s, schedule *chosen)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->meeting_count; i++) {
        const mlt_story_meeting *m = &s->meetings[i];
        uint32_t at = 0;
        if (m->ranks < 2 || m->ranks > MLT_SCHEDULE_RANKS)
            continue;
        while (at < count &&
               (chosen[at].meeting->fn != m->fn || chosen[at].meeting->context != m->context))
            at++;
        if (at == MLT_SCHEDULES_MOST)
            continue;
        if (at == count)
            chosen[count++] = (schedule){.meeting = m, .index = i};
        else if (needed(m) > needed(chosen[at].meeting))
            chosen[at] = (schedule){.meeting = m, .index = i};
    }
    return count;
}

static void find_parties(const mlt_story *s, schedule *c)
{
    for (uint32_t rank = 0; rank < s->rank_count; rank++) {
        const mlt_story_rank *r = &s->ranks[rank];
        for (uint32_t i = mlt_pack_first(r, c->meeting->first);
             i < r->call_count && r->calls[i].begin <= c->meeting->last; i++) {
            if (r->calls[i].meeting != c->index)
                continue;
            *MLT_ARRAY_ADD(c->parties, c->party_count, c->party_room) =
                (party){rank, r->calls[i].begin, r->calls[i].end};
            break;
        }
    }
}

static uint32_t schedule_place_of(const schedule *c, uint32_t rank)
{
    for (uint32_t i = 0; i < c->party_count; i++)
        if (c->parties[i].rank == rank)
            return i;
    return MLT_STORY_NONE;
}

static void add_message(schedule *c, const mlt_story_message *m)
{
    uint32_t from = schedule_place_of(c, m->from), to = schedule_place_of(c, m->to);
    if (from == MLT_STORY_NONE || to == MLT_STORY_NONE || c->message_count > MLT_SCHEDULE_MESSAGES)
        return;
    *MLT_ARRAY_ADD(c->messages, c->message_count, c->message_room) = (message){
        .from = from, .to = to, .bytes = m->bytes, .sent = m->sent, .matched = m->matched};
}

static void find_messages(const mlt_story *s, schedule *chosen, uint32_t count)
{
    for (uint64_t i = 0; i < s->message_count; i++) {
        const mlt_story_message *m = &s->messages[i];
        if (m->context % 8 < FIRST_OF_OPS || m->sent == MLT_STORY_UNKNOWN ||
            m->matched == MLT_STORY_UNKNOWN || m->from >= s->rank_count)
            continue;
        const mlt_story_rank *r = &s->ranks[m->from];
        uint32_t call = mlt_pack_first(r, m->sent);
        if (call == r->call_count || r->calls[call].begin > m->sent)
            continue;
        for (uint32_t k = 0; k < count; k++)
            if (chosen[k].index == r->calls[call].meeting)
                add_message(&chosen[k], m);
    }
}

static int by_sent(const void *a, const void *b)
{
    const message *x = a, *y = b;
    return x->sent != y->sent ? (x->sent < y->sent ? -1 : 1)
                              : (x->matched > y->matched) - (x->matched < y->matched);
}

// A message is one step behind those that its sender had received before.
static void count_steps(schedule *c)
{
    MLT_ARRAY_SORT(c->messages, c->message_count, by_sent);
    for (uint32_t i = 0; i < c->message_count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (c->messages[k].to == c->messages[i].from &&
                c->messages[k].matched <= c->messages[i].sent &&
                c->messages[k].step >= c->messages[i].step)
                c->messages[i].step = c->messages[k].step + 1;
}

// ---- the simulation

// A rank comes when it came; then it sends what it sent, each after what it had received before.
static void add_rank(mlt_goal_program *program, schedule *c, uint32_t place)
{
    const mlt_goal_action comes = {.kind = MLT_GOAL_CALC,
                                   .buf = {MLT_GOAL_NOWHERE, MLT_GOAL_NOWHERE},
                                   .size = {c->parties[place].came - c->meeting->first}};
    uint32_t start = mlt_goal_add(program, place, &comes), before = MLT_GOAL_NONE;
    for (uint32_t i = 0; i < c->message_count; i++) {
        message *m = &c->messages[i];
        if (m->to != place)
            continue;
        m->takes = mlt_goal_recv(program, place, (mlt_goal_span){MLT_GOAL_NOWHERE, 0, m->bytes},
                                 (int32_t)m->from, (int32_t)i);
        mlt_goal_require(program, place, m->takes, start);
    }
    for (uint32_t i = 0; i < c->message_count; i++) {
        message *m = &c->messages[i];
        if (m->from != place)
            continue;
        m->sends = mlt_goal_send(program, place, (mlt_goal_span){MLT_GOAL_NOWHERE, 0, m->bytes},
                                 (int32_t)m->to, (int32_t)i);
        mlt_goal_require(program, place, m->sends, start);
        if (before != MLT_GOAL_NONE)
            mlt_goal_require(program, place, m->sends, before | MLT_GOAL_STARTED);
        for (uint32_t k = 0; k < c->message_count; k++)
            if (c->messages[k].to == place && c->messages[k].matched <= m->sent)
                mlt_goal_require(program, place, m->sends, c->messages[k].takes);
        before = m->sends;
    }
}

static void schedule_simulate(schedule *c, const mlt_loggops *machine)
{
    const mlt_sim_options options = {.machine = *machine, .keep_times = true};
    mlt_goal_program *program = mlt_goal_program_new(c->party_count);
    mlt_sim_result *result = NULL;
    for (uint32_t i = 0; i < c->party_count; i++)
        add_rank(program, c, i);
    if (mlt_sim_simulate(program, &options, &result, c->why, sizeof c->why) == MLT_OK) {
        uint64_t *first = mlt_xcalloc((size_t)c->party_count + 1, sizeof *first);
        c->why[0] = 0;
        c->simulated_ps = result->total_ps;
        for (uint32_t i = 0; i < c->party_count; i++)
            first[i + 1] = first[i] + program->rank[i].count;
        for (uint32_t i = 0; i < c->message_count; i++) {
            message *m = &c->messages[i];
            m->simulated_sent = result->action_start_ps[first[m->from] + m->sends];
            m->simulated_matched = result->action_end_ps[first[m->to] + m->takes];
        }
        free(first);
    }
    mlt_sim_result_free(result);
    mlt_goal_program_free(program);
}

// ---- what the page reads

static void put_schedule(const schedule *c, mlt_text *json)
{
    uint64_t first = c->meeting->first;
    mlt_text_add(json,
                 "{\"fn\":%u,\"context\":%u,\"first\":%" PRIu64 ",\"last\":%" PRIu64
                 ",\"end\":%" PRIu64 ",\"simulated\":%" PRIu64 ",\"why\":",
                 c->meeting->fn, c->meeting->context, first, c->meeting->last, c->meeting->end,
                 c->simulated_ps / 1000);
    mlt_text_json(json, c->why);
    mlt_text_add(json, ",\"ranks\":[");
    for (uint32_t i = 0; i < c->party_count; i++)
        mlt_text_add(json, "%s[%u,%" PRIu64 ",%" PRIu64 "]", i ? "," : "", c->parties[i].rank,
                     c->parties[i].came - first, c->parties[i].left - first);
    mlt_text_add(json, "],\"messages\":[");
    for (uint32_t i = 0; i < c->message_count; i++) {
        const message *m = &c->messages[i];
        mlt_text_add(json,
                     "%s[%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u]",
                     i ? "," : "", m->from, m->to, m->bytes, m->sent - first, m->matched - first,
                     m->simulated_sent / 1000, m->simulated_matched / 1000, m->step);
    }
    mlt_text_add(json, "]}");
}

void mlt_schedules_write(const mlt_story *story, const mlt_loggops *machine, mlt_text *json)
{
    schedule *chosen = mlt_xcalloc(MLT_SCHEDULES_MOST, sizeof *chosen);
    uint32_t count = schedule_choose(story, chosen);
    bool more = false;
    for (uint32_t i = 0; i < count; i++)
        find_parties(story, &chosen[i]);
    if (count)
        find_messages(story, chosen, count);
    mlt_text_add(json, ",\n\"schedules\":[");
    for (uint32_t i = 0; i < count; i++) {
        schedule *c = &chosen[i];
        if (c->message_count && c->message_count <= MLT_SCHEDULE_MESSAGES) {
            count_steps(c);
            schedule_simulate(c, machine);
            mlt_text_add(json, more ? ",\n" : "");
            put_schedule(c, json);
            more = true;
        }
        free(c->parties);
        free(c->messages);
    }
    mlt_text_add(json, "],\"machine\":[%g,%g]", machine->L, machine->G);
    free(chosen);
}
