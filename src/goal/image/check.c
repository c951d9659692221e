// SPDX-License-Identifier: BSD-3-Clause
// Is this code? Three walks along it: does it consist of actions, do its offsets and counts fit
// each other, and are indices, requests and slots those that the compiler would give. Actions that
// depend stand after what they depend on, so there is no cycle.
//
// Nothing is followed before it is known to lie in the code.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "goal/image/image_int.h"

typedef struct check {
    const mlt_goal_image_header *header;
    const mlt_goal_image_rank *rank;
    const mlt_goal_image_buffer *buffer;
    const unsigned char *code;
    mlt_goal_sched sched;
    uint32_t action;    // which one is looked at
    uint32_t *place;    // by offset / 8: 1 + the number of the action that begins there; 0: none
    uint32_t *incoming; // by number: dependencies found
    uint32_t messages;
    uint64_t memory; // the largest end used of the plain memory
    uint32_t users;
    bool wild;
} check;

// ---- parameters

static const char *check_span_fault(check *c, uint32_t buf, uint64_t at, uint64_t size)
{
    if (at + size < at)
        return "has bytes that end beyond 2^64";
    if (buf == MLT_GOAL_MEMORY) {
        if (size && at + size > c->memory)
            c->memory = at + size;
        return NULL;
    }
    if (buf >= c->rank->buffers)
        return "names a buffer that the rank has not";
    // No bytes are nowhere, as for mlt_goal_rank_in_bounds.
    return !size || at + size <= c->buffer[buf].size ? NULL
                                                     : "has bytes beyond the end of its buffer";
}

static const char *message_fault(check *c, int kind, const mlt_act_message *m)
{
    bool wild = m->peer == MLT_GOAL_ANY || m->tag == MLT_GOAL_ANY;
    if (m->peer < MLT_GOAL_ANY || (m->peer >= 0 && (uint32_t)m->peer >= c->header->ranks))
        return "has a peer that is no rank of the program";
    if (m->tag < MLT_GOAL_ANY)
        return "has a negative tag";
    if (kind == MLT_GOAL_SEND && wild)
        return "sends to any rank or with any tag";
    if (m->flags & ~(0xffff00u | (kind == MLT_GOAL_SEND ? MLT_GOAL_SYNCHRONOUS : 0)))
        return "has flags that do not exist";
    c->wild |= wild;
    c->messages++;
    if ((kind == MLT_GOAL_SEND || kind == MLT_GOAL_RECV) && m->buf == MLT_GOAL_NOWHERE)
        return m->at + m->size < m->at ? "has bytes that end beyond 2^64" : NULL;
    return check_span_fault(c, m->buf, m->at, m->size);
}

static const char *check_exec_fault(check *c, int kind, const mlt_act_exec *x)
{
    bool user = kind == MLT_GOAL_USER || kind == MLT_GOAL_RECV_USER;
    if (x->flags & ~MLT_GOAL_REVERSED)
        return "has flags that do not exist";
    const char *fault = check_span_fault(c, x->buf[0], x->at[0], x->size[0]);
    if (!fault)
        fault = check_span_fault(c, x->buf[1], x->at[1], x->size[1]);
    if (fault)
        return fault;
    if (user) {
        if (x->op || x->type || x->user > UINT16_MAX)
            return "calls a function that cannot be";
        if (x->user >= c->users)
            c->users = x->user + 1;
        return NULL;
    }
    if (x->op >= MLT_OPS || x->type >= MLT_OP_TYPES || x->user)
        return "has an operation or a type that does not exist";
    if (x->size[0] != x->size[1])
        return "has two buffers that differ in size";
    return x->size[0] % mlt_op_type_bytes[x->type]
               ? "has a size that is no whole number of elements"
               : NULL;
}

static const char *parameter_fault(check *c, const mlt_act *act)
{
    int kind = act->type & MLT_ACT_KIND;
    const unsigned char *at = (const unsigned char *)(act + 1);
    const char *fault = NULL;
    const mlt_act_message *message = NULL;
    if (mlt_goal_is_message(&(mlt_goal_action){.kind = (uint8_t)kind})) {
        message = (const mlt_act_message *)at;
        fault = message_fault(c, kind, message);
        at += sizeof *message;
    }
    if (fault || kind == MLT_GOAL_SEND || kind == MLT_GOAL_RECV || kind == MLT_GOAL_NOP)
        return fault;
    if (kind == MLT_GOAL_CALC) {
        const mlt_act_calc *calc = (const mlt_act_calc *)at;
        return calc->cpu > UINT8_MAX || calc->nic > UINT8_MAX ? "has no such CPU" : NULL;
    }
    const mlt_act_exec *exec = (const mlt_act_exec *)at;
    if (message && (message->buf != exec->buf[1] || message->at != exec->at[1] ||
                    message->size != exec->size[1] || (message->flags >> 8 & 0xff) != exec->cpu))
        return "receives other bytes than it works on";
    return check_exec_fault(c, kind, exec);
}

// ---- the walks

// *at moves past a list, which must fit.
static bool list_fits(const check *c, uint64_t *at)
{
    uint64_t left = c->rank->bytes - *at;
    if (left < 4)
        return false;
    const mlt_act_list *list = (const mlt_act_list *)(c->code + *at);
    if (list->count > (left - 4) / 4)
        return false;
    *at += 4 + 4 * (uint64_t)list->count;
    return true;
}

// ... and past the filling, which must be 0.
static bool filled_up(const check *c, uint64_t *at)
{
    if (*at % 8 == 0)
        return true;
    uint32_t filling; // the code's size is a multiple of 8
    memcpy(&filling, c->code + *at, sizeof filling);
    *at += sizeof filling;
    return !filling;
}

// First walk: actions from end to end.
static const char *shape_fault(check *c)
{
    uint64_t at = 0, bytes = c->rank->bytes;
    if (!list_fits(c, &at) || !filled_up(c, &at))
        return "has a list of independent actions that does not end";
    for (c->action = 0; at < bytes; c->action++) {
        if (bytes - at < sizeof(mlt_act))
            return "does not end in the code";
        const mlt_act *act = (const mlt_act *)(c->code + at);
        int kind = act->type & MLT_ACT_KIND;
        if (kind < MLT_GOAL_SEND || kind >= MLT_GOAL_KINDS ||
            act->type & ~(MLT_ACT_KIND | MLT_ACT_STARTERS))
            return "is of a kind that does not exist";
        c->place[at / 8] = c->action + 1;
        at += sizeof *act;
        if (bytes - at < mlt_act_parameter_bytes[kind])
            return "does not end in the code";
        at += mlt_act_parameter_bytes[kind];
        if (!list_fits(c, &at) || (act->type & MLT_ACT_STARTERS && !list_fits(c, &at)))
            return "has more dependents than the code has room for";
        if (!filled_up(c, &at))
            return "has something after its dependents";
        if (c->action >= c->rank->actions)
            return "is one too many";
        const char *fault = parameter_fault(c, act);
        if (fault)
            return fault;
    }
    uint32_t actions = c->action;
    c->action = MLT_GOAL_NONE;
    return actions == c->rank->actions ? NULL : "has fewer actions than it says";
}

// The number of the action at an offset; MLT_GOAL_NONE: none begins there.
static uint32_t action_at(const check *c, uint32_t offset)
{
    if (offset % 8 || offset >= c->rank->bytes)
        return MLT_GOAL_NONE;
    return c->place[offset / 8] - 1;
}

static const char *list_fault(check *c, const mlt_act_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t to = action_at(c, list->offset[i]);
        if (to == MLT_GOAL_NONE)
            return "has a dependent where no action begins";
        if (to <= c->action)
            return "has a dependent that stands before it";
        c->incoming[to]++;
    }
    return NULL;
}

static const mlt_act *first_act(const check *c)
{
    return mlt_goal_sched_first(&c->sched);
}

// Second walk: sources and dependents.
static const char *edges_fault(check *c)
{
    const mlt_act_list *independent = (const mlt_act_list *)c->code;
    uint32_t free_count = 0;
    const mlt_act *act = first_act(c);
    for (c->action = 0; c->action < c->rank->actions; c->action++, act = mlt_act_next(act)) {
        // An action that has it as a dependent stands before it.
        if (act->sources != c->incoming[c->action])
            return "has another number of sources than actions that name it";
        free_count += !act->sources;
        const char *fault = list_fault(c, mlt_act_dependents(act));
        if (!fault && act->type & MLT_ACT_STARTERS)
            fault = mlt_act_starters(act)->count ? list_fault(c, mlt_act_starters(act))
                                                 : "has an empty list of those that wait for it";
        if (fault)
            return fault;
    }
    c->action = MLT_GOAL_NONE;
    for (uint32_t i = 0; i < independent->count; i++) {
        uint32_t a = action_at(c, independent->offset[i]);
        if (a == MLT_GOAL_NONE || c->incoming[a])
            return "has an independent action that is none, or has it twice";
        c->incoming[a] = MLT_GOAL_NONE; // seen
    }
    return free_count == independent->count ? NULL : "does not name all its independent actions";
}

// ---- indices and requests

static bool is_message(const mlt_act *act)
{
    return mlt_goal_is_message(&(mlt_goal_action){.kind = (uint8_t)(act->type & MLT_ACT_KIND)});
}

static uint32_t request_of(const mlt_act *act)
{
    return ((const mlt_act_message *)(act + 1))->request;
}

static const char *no_window_fault(check *c)
{
    uint32_t requests = 0;
    const mlt_act *act = first_act(c);
    for (c->action = 0; c->action < c->rank->actions; c->action++, act = mlt_act_next(act)) {
        if (act->index != c->action)
            return "has another index than its place";
        if (is_message(act) && request_of(act) != requests++)
            return "has another request than its number among the messages";
    }
    c->action = MLT_GOAL_NONE;
    return c->rank->indices == c->rank->actions && c->rank->requests == requests
               ? NULL
               : "says another number of indices or requests than it has";
}

// Do all dependents stand at `last` or before?
static bool within(const check *c, const mlt_act *act, uint64_t last)
{
    const mlt_act_list *list = mlt_act_dependents(act);
    for (int starters = 0; list; starters++) {
        for (uint32_t i = 0; i < list->count; i++)
            if (action_at(c, list->offset[i]) > last)
                return false;
        list = !starters && act->type & MLT_ACT_STARTERS ? mlt_act_starters(act) : NULL;
    }
    return true;
}

// Everyone but in the first segment has a source, which is in the segment or the no-op before it;
// everyone but in the last one has a dependent by its end, which is in the segment or the no-op
// behind it. So whatever order is chosen, the no-op has seen the segment's end.
static const char *segments_fault(check *c)
{
    uint32_t length = c->rank->window < UINT16_MAX ? c->rank->window : UINT16_MAX;
    uint32_t period = length + 1, requests = 0, most = 0;
    uint32_t actions = c->rank->actions;
    if (actions <= period || actions % period == 0)
        return "has segments that do not fit its number of actions";
    const mlt_act *act = first_act(c);
    for (c->action = 0; c->action < actions; c->action++, act = mlt_act_next(act)) {
        uint64_t segment = c->action / period, joint = segment * period + length;
        bool is_joint = c->action == joint, last = joint >= actions;
        if (act->index != c->action % period)
            return "has another index than its place in the segment";
        if (is_joint && act->type != MLT_GOAL_NOP)
            return "stands where the no-op after a segment should";
        if (segment && !act->sources)
            return "does not wait for the segment before it";
        if (!last && !mlt_act_dependents(act)->count)
            return "is waited for by no one in its segment";
        if (!within(c, act, is_joint ? joint + length : joint))
            return "has a dependent beyond its segment";
        if (is_message(act) && request_of(act) != requests++)
            return "has another request than its number among the messages of its segment";
        most = requests > most ? requests : most;
        requests = is_joint ? 0 : requests;
    }
    c->action = MLT_GOAL_NONE;
    return c->rank->indices == period && c->rank->requests == most
               ? NULL
               : "says another number of indices or requests than it has";
}

// Takes the index of an action for it; false if another one has it.
static bool claim(const check *c, uint32_t *holder, uint32_t index, uint32_t action)
{
    if (index >= c->rank->indices || (holder[index] && holder[index] != action + 1))
        return false;
    holder[index] = action + 1;
    return true;
}

static bool claim_dependents(const check *c, uint32_t *holder, const mlt_act_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (!claim(c, holder, mlt_goal_sched_act(&c->sched, list->offset[i])->index,
                   action_at(c, list->offset[i])))
            return false;
    return true;
}

// As the compiler gave indices: those that are free again when an action has left the window.
static const char *slide_fault(check *c, uint32_t *holder)
{
    const mlt_act *act = first_act(c), *leaves = act;
    uint32_t messages = 0, window = c->rank->window, greatest = 0;
    for (c->action = 0; c->action < c->rank->actions; c->action++, act = mlt_act_next(act)) {
        if (c->action >= window) {
            holder[leaves->index] = 0;
            leaves = mlt_act_next(leaves);
        }
        if (!claim(c, holder, act->index, c->action) ||
            !claim_dependents(c, holder, mlt_act_dependents(act)) ||
            (act->type & MLT_ACT_STARTERS && !claim_dependents(c, holder, mlt_act_starters(act))))
            return "or one that waits for it has an index that another one needs";
        greatest = act->index > greatest ? act->index : greatest;
        if (is_message(act) && request_of(act) != messages++ % window)
            return "has another request than its number among the messages";
    }
    c->action = MLT_GOAL_NONE;
    return c->rank->indices == greatest + 1 &&
                   c->rank->requests == (messages < window ? messages : window)
               ? NULL
               : "says another number of indices or requests than it has";
}

static const char *indices_fault(check *c)
{
    const mlt_goal_image_rank *rank = c->rank;
    if (!rank->window)
        return rank->flags & MLT_GOAL_SCHED_SEGMENTS ? "has segments of no actions"
                                                     : no_window_fault(c);
    if (rank->flags & MLT_GOAL_SCHED_SEGMENTS)
        return segments_fault(c);
    if (rank->window >= rank->actions)
        return "has a window that is larger than it";
    if (rank->indices > rank->actions || rank->indices > 2 * (uint64_t)rank->window)
        return "has more indices than its window allows";
    uint32_t *holder = mlt_xcalloc(rank->indices, sizeof *holder);
    const char *fault = slide_fault(c, holder);
    free(holder);
    return fault;
}

// ---- slots: of each peer and direction, 0, 1, ... once each, and tags in their order

typedef struct check_flow {
    uint64_t key; // 0: free
    uint32_t count, first;
} check_flow;

static check_flow *check_flow_find(check_flow *table, uint32_t size, const mlt_act *act)
{
    const mlt_act_message *m = (const mlt_act_message *)(act + 1);
    bool recv = (act->type & MLT_ACT_KIND) != MLT_GOAL_SEND;
    uint64_t key = ((uint64_t)(uint32_t)m->peer << 1 | recv) + 1;
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (size - 1);
    while (table[at].key && table[at].key != key)
        at = (at + 1) & (size - 1);
    table[at].key = key;
    return &table[at];
}

// tags[flow's first + slot]: 1 + tag, 0: no one has that slot yet.
static const char *fill_tags(check *c, check_flow *table, uint32_t size, uint64_t *tags)
{
    const mlt_act *act = first_act(c);
    for (c->action = 0; c->action < c->rank->actions; c->action++, act = mlt_act_next(act)) {
        if (!is_message(act))
            continue;
        const mlt_act_message *m = (const mlt_act_message *)(act + 1);
        const check_flow *f = check_flow_find(table, size, act);
        if (m->slot >= f->count || tags[f->first + m->slot])
            return "has a slot that another one has, or that is too large";
        tags[f->first + m->slot] = 1 + (uint64_t)(uint32_t)m->tag;
    }
    c->action = MLT_GOAL_NONE;
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t s = 1; s < table[i].count; s++)
            if (tags[table[i].first + s] < tags[table[i].first + s - 1])
                return "has slots that are not in the order of the tags";
    return NULL;
}

static const char *slots_fault(check *c)
{
    uint32_t size = 2, first = 0;
    while (size < 2 * (uint64_t)c->messages && size < 1u << 31)
        size *= 2;
    check_flow *table = mlt_xcalloc(size, sizeof *table);
    uint64_t *tags = mlt_xcalloc(c->messages, sizeof *tags);
    const mlt_act *act = first_act(c);
    for (uint32_t i = 0; i < c->rank->actions; i++, act = mlt_act_next(act))
        if (is_message(act))
            check_flow_find(table, size, act)->count++;
    for (uint32_t i = 0; i < size; i++) {
        table[i].first = first;
        first += table[i].count;
    }
    const char *fault = fill_tags(c, table, size, tags);
    free(table);
    free(tags);
    return fault;
}

// ---- all of it

static const char *totals_fault(const check *c)
{
    if (c->rank->flags & ~(MLT_GOAL_SCHED_PLAIN | MLT_GOAL_SCHED_SEGMENTS))
        return "has flags that a file cannot have";
    if (c->wild && !(c->rank->flags & MLT_GOAL_SCHED_PLAIN))
        return "receives from any rank or with any tag and says that it does not";
    if (c->users != c->rank->users)
        return "says another number of user functions than it calls";
    return c->memory == c->buffer[0].size ? NULL : "says another size of its memory than it uses";
}

const char *mlt_goal_image_code_fault(const mlt_goal_image *image, const mlt_goal_image_rank *rank,
                                      uint32_t *action)
{
    check c = {.header = image->header,
               .rank = rank,
               .buffer = image->buffer + rank->buffer,
               .code = image->bytes + rank->code};
    c.sched.code = c.code;
    c.action = MLT_GOAL_NONE;
    if (rank->actions > rank->bytes / 16) { // before memory is taken for them
        *action = MLT_GOAL_NONE;
        return "has fewer actions than it says";
    }
    c.place = mlt_xcalloc(rank->bytes / 8, sizeof *c.place);
    c.incoming = mlt_xcalloc(rank->actions, sizeof *c.incoming);
    const char *fault = shape_fault(&c);
    if (!fault)
        fault = edges_fault(&c);
    if (!fault)
        fault = indices_fault(&c);
    if (!fault)
        fault = slots_fault(&c);
    if (!fault)
        fault = totals_fault(&c);
    free(c.place);
    free(c.incoming);
    *action = c.action;
    return fault;
}
