// SPDX-License-Identifier: BSD-3-Clause
// What can be said of single actions and of pairs: they are valid and in bounds, and every message
// has both ends, of one size.
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "judge/check/check_int.h"

// ---- valid, in bounds

static const char *senseless(const mlt_goal_program *program, const mlt_goal_action *action)
{
    const char *fault = mlt_goal_action_senseless(program, action);
    bool typed = mlt_goal_has_two(action) && !mlt_goal_is_user(action);
    mlt_goal_span first = mlt_goal_span_of(action, 0), second = mlt_goal_span_of(action, 1);
    return fault || !typed || !mlt_goal_spans_meet(first, second) || first.at == second.at
               ? fault
               : "its two buffers overlap in part; they must be apart or the same";
}

// False: the span goes round the end of all addresses.
static bool check_span(mlt_check *check, mlt_goal_place place, int which)
{
    const mlt_goal_program *program = check->program;
    const mlt_goal_action *action = mlt_check_action(check, place);
    uint32_t buf = action->buf[which];
    uint64_t at = action->at[which], size = action->size[which];
    char text[MLT_CHECK_TEXT], bytes[MLT_CHECK_TEXT];
    if (buf == MLT_GOAL_NOWHERE)
        return true;
    bool wraps = at + size < at;
    bool named = buf != MLT_GOAL_MEMORY && buf != MLT_GOAL_ADDRESS;
    uint64_t room = named ? program->rank[place.rank].buffers[buf - 1].size : UINT64_MAX;
    if (!wraps && at + size <= room)
        return true;
    mlt_goal_finding *finding = mlt_check_found(check, MLT_FAULT_BOUNDS, place,
                                                (mlt_goal_place){place.rank, MLT_GOAL_NONE});
    if (!finding)
        return !wraps;
    finding->buf = buf;
    finding->from = wraps ? at : at > room ? at : room;
    finding->to = wraps ? UINT64_MAX : at + size;
    if (wraps)
        mlt_check_say(finding, "%s goes beyond the end of all addresses",
                      mlt_check_describe(check, place, text));
    else if (!size)
        mlt_check_say(finding, "%s begins beyond the end of %s, which has %" PRIu64 " bytes",
                      mlt_check_describe(check, place, text),
                      mlt_check_buffer_name(program, place.rank, buf), room);
    else
        mlt_check_say(finding, "%s touches %s, which has %" PRIu64 " bytes",
                      mlt_check_describe(check, place, text),
                      mlt_check_bytes(program, place.rank, buf, finding->from, finding->to, bytes),
                      room);
    return !wraps;
}

static bool check_action(mlt_check *check, mlt_goal_place place)
{
    const mlt_goal_program *program = check->program;
    const mlt_goal_action *action = mlt_check_action(check, place);
    const mlt_goal_place none = {place.rank, MLT_GOAL_NONE};
    char text[MLT_CHECK_TEXT];
    const char *fault = mlt_goal_action_broken(program, &program->rank[place.rank], action);
    if (fault) {
        mlt_goal_finding *finding = mlt_check_found(check, MLT_FAULT_INVALID, place, none);
        if (finding)
            mlt_check_say(finding, "rank %u, action %u: %s", place.rank, place.action, fault);
        return false;
    }
    bool usable = true;
    int spans = mlt_goal_has_two(action) ? 2 : mlt_goal_is_message(action);
    for (int i = 0; i < spans; i++)
        usable &= check_span(check, place, i);
    fault = senseless(program, action);
    if (!fault)
        return usable;
    mlt_goal_finding *finding = mlt_check_found(check, MLT_FAULT_INVALID, place, none);
    if (finding)
        mlt_check_say(finding, "%s: %s", mlt_check_describe(check, place, text), fault);
    // A peer that is not there only leaves its message unmatched; an odd exec has no result.
    return usable && !mlt_goal_has_two(action);
}

static bool check_deps(mlt_check *check, uint32_t r)
{
    const mlt_goal_rank *rank = &check->program->rank[r];
    bool usable = true;
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        uint32_t on = mlt_goal_plain(rank->deps[d].on);
        if (rank->deps[d].action < rank->count && on < rank->count)
            continue;
        usable = false;
        mlt_check_tell(check, MLT_FAULT_INVALID, r,
                       "rank %u: dependency %u (of action %u on action %u) names an action that "
                       "is not there; there are %u",
                       r, d, rank->deps[d].action, on, rank->count);
    }
    return usable;
}

bool mlt_check_valid(mlt_check *check)
{
    bool usable = true;
    mlt_check_looked(check, MLT_FAULT_INVALID);
    mlt_check_looked(check, MLT_FAULT_BOUNDS);
    for (uint32_t r = 0; r < check->program->ranks; r++) {
        for (uint32_t a = 0; a < check->program->rank[r].count; a++)
            usable &= check_action(check, (mlt_goal_place){r, a});
        usable &= check_deps(check, r);
    }
    return usable;
}

// ---- cycles

static void match_tell_cycle(mlt_check *check, uint32_t r, const mlt_goal_graph *graph)
{
    uint32_t first = graph->cycle[0], second = graph->cycle[graph->cycle_count > 1];
    mlt_goal_finding *finding = mlt_check_found(check, MLT_FAULT_CYCLE, (mlt_goal_place){r, first},
                                                (mlt_goal_place){r, second});
    if (!finding)
        return;
    char text[MLT_CHECK_TEXT];
    if (graph->cycle_count == 1)
        mlt_check_say(finding, "on rank %u an action requires itself", r);
    else
        mlt_check_say(finding, "on rank %u %u actions require each other", r, graph->cycle_count);
    enum { SHOWN = 12 };
    uint32_t shown = graph->cycle_count < SHOWN ? graph->cycle_count : SHOWN;
    for (uint32_t i = 0; i < shown; i++)
        mlt_check_say(finding, "\n    %s requires",
                      mlt_check_describe(check, (mlt_goal_place){r, graph->cycle[i]}, text));
    if (shown < graph->cycle_count)
        mlt_check_say(finding, "\n    ... (%u more)", graph->cycle_count - shown);
    mlt_check_say(finding, "\n    %s", mlt_check_describe(check, (mlt_goal_place){r, first}, text));
}

bool mlt_check_cycles(mlt_check *check)
{
    const mlt_goal_program *program = check->program;
    bool acyclic = true;
    mlt_check_looked(check, MLT_FAULT_CYCLE);
    check->graph = mlt_xcalloc(program->ranks, sizeof *check->graph);
    for (uint32_t r = 0; r < program->ranks; r++) {
        check->graph[r] = mlt_goal_graph_new(&program->rank[r]);
        if (check->graph[r]->order)
            continue;
        acyclic = false;
        match_tell_cycle(check, r, check->graph[r]);
    }
    return acyclic;
}

// ---- messages

static bool is_wild(const mlt_goal_action *action)
{
    return mlt_goal_is_recv(action) &&
           (action->peer == MLT_GOAL_ANY || action->tag == MLT_GOAL_ANY);
}

// True if the receive `recv` of the send's peer may take the message of the send of `from`.
static bool takes(const mlt_goal_action *recv, const mlt_goal_action *send, uint32_t from)
{
    return (recv->peer == MLT_GOAL_ANY || recv->peer == (int32_t)from) &&
           (recv->tag == MLT_GOAL_ANY || recv->tag == send->tag);
}

// How like the action `other` of rank `at` is to the partner that `action` of `rank` lacks; 0: not
// at all.
static int likeness(const mlt_goal_action *action, uint32_t rank, const mlt_goal_action *other,
                    uint32_t at, bool free)
{
    bool send = action->kind == MLT_GOAL_SEND;
    if (!mlt_goal_is_message(other) || (other->kind == MLT_GOAL_SEND) == send || is_wild(other))
        return 0;
    bool peer = (uint32_t)action->peer == at && (uint32_t)other->peer == rank;
    int like = (peer ? 8 : 0) + (other->tag == action->tag ? 2 : 0) + (free ? 4 : 0) +
               (mlt_goal_message_bytes(other) == mlt_goal_message_bytes(action) ? 1 : 0);
    return peer || free ? like : 0;
}

// The action of the peer that may have been meant; its action is MLT_GOAL_NONE if there is none.
static mlt_goal_place nearest(const mlt_check *check, mlt_goal_place place)
{
    const mlt_goal_action *action = mlt_check_action(check, place);
    mlt_goal_place best = {(uint32_t)action->peer, MLT_GOAL_NONE};
    int most = 0;
    const mlt_goal_rank *peer = &check->program->rank[action->peer];
    for (uint32_t a = 0; a < peer->count; a++) {
        mlt_goal_place other = {(uint32_t)action->peer, a};
        bool lone = mlt_goal_partner(check->pairs, other.rank, a).action == MLT_GOAL_NONE;
        int like = likeness(action, place.rank, &peer->actions[a], other.rank,
                            mlt_goal_is_message(&peer->actions[a]) && lone);
        if (like > most) {
            most = like;
            best = other;
        }
    }
    return best;
}

// "rank 2 has no receive from 0 with tag 5; it has one with tag 4", the latter as an example line.
static void tell_unmatched(mlt_check *check, mlt_goal_place place)
{
    const mlt_goal_action *action = mlt_check_action(check, place);
    bool send = action->kind == MLT_GOAL_SEND;
    char text[MLT_CHECK_TEXT];
    if (action->peer < 0 || (uint32_t)action->peer >= check->program->ranks)
        return; // told as invalid
    mlt_goal_place near = nearest(check, place);
    mlt_goal_finding *finding = mlt_check_found(check, MLT_FAULT_UNMATCHED, place, near);
    if (!finding)
        return;
    mlt_check_say(finding, "rank %d has no %s %u with tag %d for %s", action->peer,
                  send ? "receive from" : "send to", place.rank, action->tag,
                  mlt_check_describe(check, place, text));
    if (near.action == MLT_GOAL_NONE) {
        mlt_check_say(finding, "; it has %s at all", send ? "no such receive" : "no such send");
        return;
    }
    const mlt_goal_action *other = mlt_check_action(check, near);
    bool same = (uint32_t)other->peer == place.rank && other->tag == action->tag;
    if (same)
        mlt_check_say(finding, "; those that it has take others of this flow, the last is");
    else if ((uint32_t)other->peer == place.rank)
        mlt_check_say(finding, "; it has one with tag %d", other->tag);
    else
        mlt_check_say(finding, "; it has one %s %d", send ? "from" : "to", other->peer);
    mlt_check_say(finding, "\n    %s", mlt_check_describe(check, near, text));
}

static void check_size(mlt_check *check, mlt_goal_place send, mlt_goal_place recv)
{
    uint64_t sent = mlt_goal_message_bytes(mlt_check_action(check, send));
    uint64_t taken = mlt_goal_message_bytes(mlt_check_action(check, recv));
    if (sent == taken)
        return;
    mlt_goal_finding *finding = mlt_check_found(check, MLT_FAULT_SIZE, send, recv);
    if (!finding)
        return;
    char text[MLT_CHECK_TEXT];
    mlt_check_say(finding, "a message of %" PRIu64 " bytes meets a receive of %" PRIu64, sent,
                  taken);
    mlt_check_say(finding, "\n    %s", mlt_check_describe(check, send, text));
    mlt_check_say(finding, "\n    %s", mlt_check_describe(check, recv, text));
}

// With wildcards the pairs are not known. A send that some wildcard may take is let pass; which
// receive takes it cannot be proven. A rank must still have as many receives as messages.
typedef struct wild {
    uint64_t sends, wilds; // that no exact partner was found for, by receiving rank
} wild;

static bool wild_takes(const mlt_check *check, mlt_goal_place place)
{
    const mlt_goal_action *send = mlt_check_action(check, place);
    const mlt_goal_rank *peer = &check->program->rank[send->peer];
    for (uint32_t a = 0; a < peer->count; a++)
        if (is_wild(&peer->actions[a]) && takes(&peer->actions[a], send, place.rank))
            return true;
    return false;
}

static void tell_wild(mlt_check *check, mlt_goal_place place)
{
    const mlt_goal_action *action = mlt_check_action(check, place);
    mlt_goal_finding *finding = mlt_check_found(check, MLT_FAULT_WILDCARD, place,
                                                (mlt_goal_place){place.rank, MLT_GOAL_NONE});
    if (!finding)
        return;
    char text[MLT_CHECK_TEXT];
    mlt_check_say(finding, "%s takes what comes first: nothing can be proven about it; name the %s",
                  mlt_check_describe(check, place, text),
                  action->peer == MLT_GOAL_ANY ? "rank" : "tag");
}

// Counts what is left for the wildcards; true if the action needs no finding of its own.
static bool count_wild(mlt_check *check, wild *wilds, mlt_goal_place place)
{
    const mlt_goal_action *action = mlt_check_action(check, place);
    if (is_wild(action)) {
        tell_wild(check, place);
        wilds[place.rank].wilds++;
        return true;
    }
    if (!check->wildcards || action->kind != MLT_GOAL_SEND || action->peer < 0 ||
        (uint32_t)action->peer >= check->program->ranks || !wild_takes(check, place))
        return false;
    wilds[action->peer].sends++;
    return true;
}

static void tell_wild_counts(mlt_check *check, uint32_t r, wild w)
{
    if (w.sends == w.wilds)
        return;
    mlt_check_tell(check, MLT_FAULT_UNMATCHED, r,
                   "rank %u has %" PRIu64 " receives from any rank or with any tag, but %" PRIu64
                   " messages are left for them",
                   r, w.wilds, w.sends);
}

void mlt_check_match(mlt_check *check)
{
    const mlt_goal_program *program = check->program;
    wild *wilds = mlt_xcalloc(program->ranks, sizeof *wilds);
    mlt_check_looked(check, MLT_FAULT_UNMATCHED);
    mlt_check_looked(check, MLT_FAULT_SIZE);
    mlt_check_looked(check, MLT_FAULT_WILDCARD);
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t a = 0; a < program->rank[r].count; a++) {
            mlt_goal_place place = {r, a};
            const mlt_goal_action *action = &program->rank[r].actions[a];
            if (!mlt_goal_is_message(action))
                continue;
            mlt_goal_place other = mlt_goal_partner(check->pairs, r, a);
            if (other.action != MLT_GOAL_NONE && action->kind == MLT_GOAL_SEND)
                check_size(check, place, other);
            else if (other.action == MLT_GOAL_NONE && !count_wild(check, wilds, place))
                tell_unmatched(check, place);
        }
    for (uint32_t r = 0; r < program->ranks; r++)
        tell_wild_counts(check, r, wilds[r]);
    free(wilds);
}
