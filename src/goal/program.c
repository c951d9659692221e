// SPDX-License-Identifier: BSD-3-Clause
#include "goal/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "goal/text/text.h"

// Room for one element more in an array that grows by doubling. Not MLT_ARRAY_WANT: most ranks have
// few dependencies, so it begins with 2; and numbers have no more than 31 bits.
static void *more(void *array, uint32_t count, uint32_t *room, size_t element)
{
    if (MLT_LIKELY(count < *room))
        return array;
    uint64_t wanted = *room ? 2ull * *room : 2;
    if (wanted >= MLT_GOAL_STARTED)
        wanted = MLT_GOAL_STARTED - 1;
    if (count >= wanted)
        mlt_fatal("a GOAL program of one rank has at most %u actions, dependencies and buffers",
                  MLT_GOAL_STARTED - 1);
    array = mlt_xrealloc(array, wanted, element);
    *room = (uint32_t)wanted;
    return array;
}

mlt_goal_program *mlt_goal_program_new(uint32_t ranks)
{
    mlt_goal_program *program = mlt_xcalloc(1, sizeof *program);
    program->names_room = 64;
    program->names = mlt_xcalloc(1, program->names_room);
    program->names_size = 1; // ""
    mlt_goal_program_grow(program, ranks);
    return program;
}

void mlt_goal_program_grow(mlt_goal_program *program, uint32_t ranks)
{
    if (ranks <= program->ranks)
        return;
    mlt_assert(ranks <= MLT_GOAL_MAX_RANKS);
    bool first = !program->rank; // pages of ranks that stay empty are never touched then
    program->rank = first ? mlt_xcalloc(ranks, sizeof *program->rank)
                          : mlt_xrealloc(program->rank, ranks, sizeof *program->rank);
    if (!first)
        memset(program->rank + program->ranks, 0, (ranks - program->ranks) * sizeof *program->rank);
    program->ranks = ranks;
}

static void *copy_of(const void *from, size_t bytes)
{
    if (!bytes)
        return NULL;
    void *to = mlt_xcalloc(1, bytes);
    memcpy(to, from, bytes);
    return to;
}

mlt_goal_program *mlt_goal_program_copy(const mlt_goal_program *program)
{
    mlt_goal_program *copy = mlt_xcalloc(1, sizeof *copy);
    *copy = *program;
    copy->names = copy_of(program->names, program->names_room);
    copy->name_table.slots = copy_of(program->name_table.slots,
                                     program->name_table.size * sizeof *copy->name_table.slots);
    copy->rank = copy_of(program->rank, program->ranks * sizeof *copy->rank);
    for (uint32_t r = 0; r < copy->ranks; r++) {
        mlt_goal_rank *rank = &copy->rank[r];
        rank->actions = copy_of(rank->actions, rank->count * sizeof *rank->actions);
        rank->deps = copy_of(rank->deps, rank->deps_count * sizeof *rank->deps);
        rank->buffers = copy_of(rank->buffers, rank->buffers_count * sizeof *rank->buffers);
        rank->room = rank->count;
        rank->deps_room = rank->deps_count;
        rank->buffers_room = rank->buffers_count;
    }
    return copy;
}

void mlt_goal_program_free(mlt_goal_program *program)
{
    if (!program)
        return;
    for (uint32_t r = 0; r < program->ranks; r++) {
        free(program->rank[r].actions);
        free(program->rank[r].deps);
        free(program->rank[r].buffers);
    }
    free(program->rank);
    free(program->names);
    mlt_table_free(&program->name_table);
    free(program);
}

// ---- names

static uint32_t goal_program_hash_of(const char *text, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

uint32_t mlt_goal_name(mlt_goal_program *program, const char *text, size_t length)
{
    if (!length)
        return 0;
    uint32_t hash = goal_program_hash_of(text, length);
    mlt_table_look look = mlt_table_look_for(&program->name_table, hash);
    while (mlt_table_next(&look)) {
        const char *name = program->names + look.word;
        if (look.word + length < program->names_size && !name[length] &&
            memcmp(name, text, length) == 0)
            return (uint32_t)look.word;
    }
    uint64_t wanted = (uint64_t)program->names_size + length + 1;
    if (wanted > program->names_room) {
        uint64_t room = 2 * wanted;
        if (room > UINT32_MAX)
            mlt_fatal("the names of a GOAL program take at most 2 GiB");
        program->names = mlt_xrealloc(program->names, room, 1);
        program->names_room = (uint32_t)room;
    }
    uint32_t name = program->names_size;
    memcpy(program->names + name, text, length);
    program->names[name + length] = 0;
    program->names_size = (uint32_t)wanted;
    mlt_table_add(&program->name_table, hash, name);
    return name;
}

// ---- adding

void mlt_goal_room(mlt_goal_rank *rank, uint64_t actions, uint64_t deps)
{
    if (actions >= MLT_GOAL_STARTED || deps >= MLT_GOAL_STARTED)
        mlt_fatal("a GOAL program of one rank has at most %u actions and dependencies",
                  MLT_GOAL_STARTED - 1);
    if (actions > rank->room) {
        free(rank->actions);
        rank->actions = mlt_xcalloc(actions, sizeof *rank->actions);
        rank->room = (uint32_t)actions;
    }
    if (deps > rank->deps_room) {
        free(rank->deps);
        rank->deps = mlt_xcalloc(deps, sizeof *rank->deps);
        rank->deps_room = (uint32_t)deps;
    }
}

uint32_t mlt_goal_add(mlt_goal_program *program, uint32_t rank, const mlt_goal_action *action)
{
    mlt_goal_rank *r = &program->rank[rank];
    r->actions = more(r->actions, r->count, &r->room, sizeof *r->actions);
    r->actions[r->count] = *action;
    return r->count++;
}

void mlt_goal_require(mlt_goal_program *program, uint32_t rank, uint32_t action, uint32_t on)
{
    mlt_goal_rank *r = &program->rank[rank];
    mlt_assert(action < r->count && mlt_goal_plain(on) < r->count);
    r->deps = more(r->deps, r->deps_count, &r->deps_room, sizeof *r->deps);
    r->deps[r->deps_count++] = (mlt_goal_dep){action, on};
}

uint32_t mlt_goal_buffer_add(mlt_goal_program *program, uint32_t rank, const char *name,
                             uint64_t size)
{
    mlt_goal_rank *r = &program->rank[rank];
    r->buffers = more(r->buffers, r->buffers_count, &r->buffers_room, sizeof *r->buffers);
    r->buffers[r->buffers_count] =
        (mlt_goal_buffer){.name = mlt_goal_name(program, name, strlen(name)), .size = size};
    return ++r->buffers_count;
}

uint32_t mlt_goal_buffer_find(const mlt_goal_program *program, uint32_t rank, const char *name)
{
    const mlt_goal_rank *r = &program->rank[rank];
    for (uint32_t b = 0; b < r->buffers_count; b++)
        if (strcmp(program->names + r->buffers[b].name, name) == 0)
            return b + 1;
    return MLT_GOAL_NOWHERE;
}

static uint32_t add_message(mlt_goal_program *program, uint32_t rank, mlt_goal_kind kind,
                            mlt_goal_span span, int32_t peer, int32_t tag)
{
    mlt_goal_action action = {.kind = (uint8_t)kind, .peer = peer, .tag = tag};
    mlt_goal_span_set(&action, 0, span);
    return mlt_goal_add(program, rank, &action);
}

uint32_t mlt_goal_send(mlt_goal_program *program, uint32_t rank, mlt_goal_span span, int32_t to,
                       int32_t tag)
{
    return add_message(program, rank, MLT_GOAL_SEND, span, to, tag);
}

uint32_t mlt_goal_recv(mlt_goal_program *program, uint32_t rank, mlt_goal_span span, int32_t from,
                       int32_t tag)
{
    return add_message(program, rank, MLT_GOAL_RECV, span, from, tag);
}

// ---- looking

static void access_add(mlt_goal_access *out, int *count, const mlt_goal_action *action, int which,
                       bool reads, bool writes)
{
    if (action->buf[which] != MLT_GOAL_NOWHERE && action->size[which])
        out[(*count)++] = (mlt_goal_access){mlt_goal_span_of(action, which), reads, writes};
}

int mlt_goal_accesses(const mlt_goal_action *action, mlt_goal_access out[2])
{
    int count = 0;
    bool two = mlt_goal_has_two(action), recv = mlt_goal_is_recv(action);
    bool send = action->kind == MLT_GOAL_SEND;
    bool copies = action->op == MLT_OP_COPY && !(action->flags & MLT_GOAL_REVERSED) &&
                  !mlt_goal_is_user(action);
    if (two || recv || send)
        access_add(out, &count, action, 0, send || (two && !copies), !send);
    if (two)
        access_add(out, &count, action, 1, !recv, recv);
    return count;
}

uint64_t mlt_goal_buffer_size(const mlt_goal_program *program, uint32_t rank, uint32_t buf)
{
    const mlt_goal_rank *r = &program->rank[rank];
    if (buf != MLT_GOAL_MEMORY)
        return buf <= r->buffers_count ? r->buffers[buf - 1].size : UINT64_MAX;
    uint64_t size = 0;
    for (uint32_t a = 0; a < r->count; a++) {
        mlt_goal_access access[2];
        int count = mlt_goal_accesses(&r->actions[a], access);
        for (int i = 0; i < count; i++)
            if (access[i].span.buf == MLT_GOAL_MEMORY &&
                access[i].span.at + access[i].span.size > size)
                size = access[i].span.at + access[i].span.size;
    }
    return size;
}

char *mlt_goal_describe(const mlt_goal_program *program, uint32_t rank, uint32_t action, char *text,
                        size_t size)
{
    const mlt_goal_action *a = &program->rank[rank].actions[action];
    char what[256];
    mlt_goal_print_action(program, rank, a, what, sizeof what);
    const char *label = mlt_goal_name_text(program, a->label);
    int n = snprintf(text, size, "rank %u, action %u (%s%s%s)", rank, action, label,
                     *label ? ": " : "", what);
    if (a->line && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, ", line %u", a->line);
    return text;
}

bool mlt_goal_has_wildcards(const mlt_goal_program *program)
{
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t a = 0; a < program->rank[r].count; a++) {
            const mlt_goal_action *action = &program->rank[r].actions[a];
            if (mlt_goal_is_recv(action) &&
                (action->peer == MLT_GOAL_ANY || action->tag == MLT_GOAL_ANY))
                return true;
        }
    return false;
}

// ---- validity

static bool known_buffer(const mlt_goal_program *program, const mlt_goal_rank *rank, uint32_t buf)
{
    if (buf == MLT_GOAL_MEMORY || buf == MLT_GOAL_ADDRESS || buf == MLT_GOAL_NOWHERE)
        return true;
    return buf <= rank->buffers_count && rank->buffers[buf - 1].name < program->names_size;
}

const char *mlt_goal_action_broken(const mlt_goal_program *program, const mlt_goal_rank *rank,
                                   const mlt_goal_action *action)
{
    bool two = mlt_goal_has_two(action);
    if (action->kind < MLT_GOAL_SEND || action->kind >= MLT_GOAL_KINDS)
        return "there is no such kind of action";
    if (action->label >= program->names_size)
        return "its name is none of the program's";
    if ((two || mlt_goal_is_message(action)) && !known_buffer(program, rank, action->buf[0]))
        return "it names a buffer that the rank has not";
    if (two && !known_buffer(program, rank, action->buf[1]))
        return "it names a buffer that the rank has not";
    return two && !mlt_goal_is_user(action) &&
                   (action->op >= MLT_OPS || action->type >= MLT_OP_TYPES)
               ? "it has no operation or no type"
               : NULL;
}

const char *mlt_goal_action_senseless(const mlt_goal_program *program,
                                      const mlt_goal_action *action)
{
    int32_t least = action->kind == MLT_GOAL_SEND ? 0 : MLT_GOAL_ANY;
    if (mlt_goal_is_message(action)) {
        if (action->peer < least || (action->peer >= 0 && (uint32_t)action->peer >= program->ranks))
            return "its peer is no rank of the program";
        if (action->tag < least)
            return "its tag is negative";
    }
    if (!mlt_goal_has_two(action))
        return NULL;
    for (int i = 0; i < 2; i++)
        if (action->buf[i] == MLT_GOAL_NOWHERE && action->size[i])
            return "it works on no memory";
    if (mlt_goal_is_user(action))
        return NULL;
    if (action->size[0] != action->size[1])
        return "its two buffers differ in size";
    return action->size[0] % mlt_op_type_bytes[action->type]
               ? "its size is no whole number of elements"
               : NULL;
}

const char *mlt_goal_action_fault(const mlt_goal_program *program, const mlt_goal_rank *rank,
                                  const mlt_goal_action *action)
{
    const char *fault = mlt_goal_action_broken(program, rank, action);
    int spans = mlt_goal_has_two(action) ? 2 : mlt_goal_is_message(action);
    for (int i = 0; i < spans && !fault; i++)
        if (action->at[i] + action->size[i] < action->at[i])
            fault = "its bytes end beyond 2^64";
    return fault ? fault : mlt_goal_action_senseless(program, action);
}

mlt_status mlt_goal_program_valid(const mlt_goal_program *program, char *why, size_t why_size)
{
    for (uint32_t r = 0; r < program->ranks; r++) {
        const mlt_goal_rank *rank = &program->rank[r];
        for (uint32_t a = 0; a < rank->count; a++) {
            const char *fault = mlt_goal_action_fault(program, rank, &rank->actions[a]);
            if (!fault)
                continue;
            return mlt_fail(MLT_ERR_INVALID, why, why_size, "action %u of rank %u is not valid: %s",
                            a, r, fault);
        }
        for (uint32_t d = 0; d < rank->deps_count; d++) {
            uint32_t on = mlt_goal_plain(rank->deps[d].on);
            if (rank->deps[d].action < rank->count && on < rank->count)
                continue;
            return mlt_fail(MLT_ERR_INVALID, why, why_size,
                            "dependency %u of rank %u names an action that is not there", d, r);
        }
    }
    return MLT_OK;
}

mlt_status mlt_goal_rank_in_bounds(const mlt_goal_program *program, uint32_t rank, char *why,
                                   size_t why_size)
{
    const mlt_goal_rank *r = &program->rank[rank];
    for (uint32_t a = 0; a < r->count; a++) {
        mlt_goal_access access[2];
        int count = mlt_goal_accesses(&r->actions[a], access);
        for (int i = 0; i < count; i++) {
            mlt_goal_span span = access[i].span;
            if (span.buf == MLT_GOAL_MEMORY || span.buf > r->buffers_count)
                continue;
            const mlt_goal_buffer *buffer = &r->buffers[span.buf - 1];
            if (span.size <= buffer->size && span.at <= buffer->size - span.size)
                continue;
            char what[512];
            return mlt_fail(MLT_ERR_INVALID, why, why_size,
                            "%s reaches beyond '%s', which has %" PRIu64 " bytes",
                            mlt_goal_describe(program, rank, a, what, sizeof what),
                            mlt_goal_name_text(program, buffer->name), buffer->size);
        }
    }
    return MLT_OK;
}
