// SPDX-License-Identifier: BSD-3-Clause
// From a schedule back to a program. Actions stand as in the code, except that messages of one
// peer, direction and tag change places so that they are in the order of their slots: that order is
// what says which message meets which.
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "goal/image/image_int.h"

static bool has_message(int kind)
{
    return mlt_goal_is_message(&(mlt_goal_action){.kind = (uint8_t)kind});
}

mlt_goal_action mlt_act_action(const mlt_act *act)
{
    mlt_goal_action action = {.kind = (uint8_t)(act->type & MLT_ACT_KIND)};
    const unsigned char *at = (const unsigned char *)(act + 1);
    if (has_message(action.kind)) {
        const mlt_act_message *message = (const mlt_act_message *)at;
        action.peer = message->peer;
        action.tag = message->tag;
        action.flags = message->flags & MLT_GOAL_SYNCHRONOUS;
        action.cpu = message->flags >> 8 & 0xff;
        action.nic = message->flags >> 16 & 0xff;
        mlt_goal_span_set(&action, 0, (mlt_goal_span){message->buf, message->at, message->size});
        at += sizeof *message;
    }
    if (action.kind == MLT_GOAL_CALC) {
        const mlt_act_calc *calc = (const mlt_act_calc *)at;
        action.size[0] = calc->ns;
        action.cpu = (uint8_t)calc->cpu;
        action.nic = (uint8_t)calc->nic;
    } else if (mlt_act_parameter_bytes[action.kind] >= sizeof(mlt_act_exec)) {
        const mlt_act_exec *exec = (const mlt_act_exec *)at;
        action.op = exec->op;
        action.type = exec->type;
        action.flags |= exec->flags & MLT_GOAL_REVERSED;
        action.cpu = exec->cpu;
        action.user = (uint16_t)exec->user;
        for (int i = 0; i < 2; i++)
            mlt_goal_span_set(&action, i,
                              (mlt_goal_span){exec->buf[i], exec->at[i], exec->size[i]});
    }
    return action;
}

// ---- places of messages

typedef struct image_program_message {
    uint64_t flow; // peer and direction
    int32_t tag;
    uint32_t slot, place;
} image_program_message;

static int image_program_compare_flow(const image_program_message *a,
                                      const image_program_message *b)
{
    if (a->flow != b->flow)
        return a->flow < b->flow ? -1 : 1;
    return a->tag < b->tag ? -1 : a->tag > b->tag;
}

static int by_place(const void *pa, const void *pb)
{
    const image_program_message *a = pa, *b = pb;
    int flow = image_program_compare_flow(a, b);
    return flow ? flow : a->place < b->place ? -1 : a->place > b->place;
}

static int by_slot(const void *pa, const void *pb)
{
    const image_program_message *a = pa, *b = pb;
    int flow = image_program_compare_flow(a, b);
    return flow ? flow : a->slot < b->slot ? -1 : a->slot > b->slot;
}

static bool in_order(const image_program_message *at, uint32_t count,
                     int (*compare)(const void *, const void *))
{
    for (uint32_t i = 1; i < count; i++)
        if (compare(&at[i - 1], &at[i]) > 0)
            return false;
    return true;
}

// The messages of the code, as it has them; how many.
static uint32_t collect(const mlt_goal_sched *sched, image_program_message *at)
{
    uint32_t count = 0;
    const mlt_act *act = mlt_goal_sched_first(sched);
    for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act)) {
        int kind = act->type & MLT_ACT_KIND;
        if (!has_message(kind))
            continue;
        const mlt_act_message *m = (const mlt_act_message *)(act + 1);
        at[count++] = (image_program_message){
            (uint64_t)(uint32_t)m->peer << 1 | (kind != MLT_GOAL_SEND), m->tag, m->slot, i};
    }
    return count;
}

// number[i]: of the i-th action of the code in the program. Where slots ascend as the code does,
// which is usual, nothing changes places.
static uint32_t *numbers(const mlt_goal_sched *sched)
{
    uint32_t *number = mlt_xcalloc(sched->actions, sizeof *number);
    image_program_message *at = mlt_xcalloc(sched->actions, sizeof *at), *sorted;
    uint32_t count = collect(sched, at);
    for (uint32_t i = 0; i < sched->actions; i++)
        number[i] = i;
    if (!in_order(at, count, by_place))
        qsort(at, count, sizeof *at, by_place);
    if (!in_order(at, count, by_slot)) {
        sorted = mlt_xcalloc(count, sizeof *sorted);
        memcpy(sorted, at, count * sizeof *at);
        qsort(sorted, count, sizeof *sorted, by_slot);
        for (uint32_t i = 0; i < count; i++)
            number[sorted[i].place] = at[i].place;
        free(sorted);
    }
    free(at);
    return number;
}

// ---- the program

static void require_all(mlt_goal_rank *rank, const mlt_act_list *list, const uint32_t *number_at,
                        uint32_t on)
{
    for (uint32_t i = 0; i < list->count; i++)
        rank->deps[rank->deps_count++] = (mlt_goal_dep){number_at[list->offset[i] / 8], on};
}

static uint64_t count_deps(const mlt_goal_sched *sched)
{
    uint64_t deps = 0; // each action says how many it has
    const mlt_act *act = mlt_goal_sched_first(sched);
    for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act))
        deps += act->sources;
    return deps;
}

void mlt_goal_image_to_program(const mlt_goal_sched *sched, mlt_goal_program *program)
{
    mlt_goal_rank *rank = &program->rank[sched->rank];
    mlt_assert(!rank->count && !rank->buffers_count);
    for (uint32_t b = 1; b < sched->buffers; b++)
        mlt_goal_buffer_add(program, sched->rank, sched->buffer[b].name, sched->buffer[b].size);
    mlt_goal_room(rank, sched->actions, count_deps(sched));
    rank->count = sched->actions;
    uint32_t *number = numbers(sched);
    uint32_t *number_at = mlt_xcalloc(sched->bytes / 8, sizeof *number_at);
    const mlt_act *act = mlt_goal_sched_first(sched);
    for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act)) {
        rank->actions[number[i]] = mlt_act_action(act);
        number_at[((const unsigned char *)act - sched->code) / 8] = number[i];
    }
    act = mlt_goal_sched_first(sched);
    for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act)) {
        require_all(rank, mlt_act_dependents(act), number_at, number[i]);
        if (act->type & MLT_ACT_STARTERS)
            require_all(rank, mlt_act_starters(act), number_at, number[i] | MLT_GOAL_STARTED);
    }
    free(number);
    free(number_at);
}

mlt_goal_program *mlt_goal_image_program(const mlt_goal_image *image)
{
    mlt_goal_program *program = mlt_goal_program_new(mlt_goal_image_ranks(image));
    for (uint32_t i = 0; i < image->header->held; i++) {
        mlt_goal_sched *sched = mlt_goal_image_entry(image, &image->rank[i]);
        mlt_goal_image_to_program(sched, program);
        mlt_goal_sched_free(sched);
    }
    return program;
}
