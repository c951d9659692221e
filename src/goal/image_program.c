// SPDX-License-Identifier: BSD-3-Clause
// From a schedule back to a program. Actions stand as in the code, except that messages of one
// peer, direction and tag change places so that they are in the order of their slots: that order is
// what says which message meets which.
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "goal/image_int.h"

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
        action.buf[0] = message->buf;
        action.at[0] = message->at;
        action.size[0] = message->size;
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
        for (int i = 0; i < 2; i++) {
            action.buf[i] = exec->buf[i];
            action.at[i] = exec->at[i];
            action.size[i] = exec->size[i];
        }
    }
    return action;
}

// ---- places of messages

typedef struct message {
    uint64_t flow; // peer and direction
    int32_t tag;
    uint32_t slot, place;
} message;

static int compare_flow(const message *a, const message *b)
{
    if (a->flow != b->flow)
        return a->flow < b->flow ? -1 : 1;
    return a->tag < b->tag ? -1 : a->tag > b->tag;
}

static int by_place(const void *pa, const void *pb)
{
    const message *a = pa, *b = pb;
    int flow = compare_flow(a, b);
    return flow ? flow : a->place < b->place ? -1 : a->place > b->place;
}

static int by_slot(const void *pa, const void *pb)
{
    const message *a = pa, *b = pb;
    int flow = compare_flow(a, b);
    return flow ? flow : a->slot < b->slot ? -1 : a->slot > b->slot;
}

// number[i]: of the i-th action of the code in the program.
static uint32_t *numbers(const mlt_goal_sched *sched)
{
    uint32_t *number = mlt_take(sched->actions, sizeof *number), count = 0;
    message *at = mlt_take(sched->actions, sizeof *at);
    const mlt_act *act = mlt_sched_first(sched);
    for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act)) {
        number[i] = i;
        int kind = act->type & MLT_ACT_KIND;
        if (!has_message(kind))
            continue;
        const mlt_act_message *m = (const mlt_act_message *)(act + 1);
        at[count++] = (message){(uint64_t)(uint32_t)m->peer << 1 | (kind != MLT_GOAL_SEND), m->tag,
                                m->slot, i};
    }
    message *sorted = mlt_take(count, sizeof *sorted);
    qsort(at, count, sizeof *at, by_place);
    memcpy(sorted, at, count * sizeof *at);
    qsort(sorted, count, sizeof *sorted, by_slot);
    for (uint32_t i = 0; i < count; i++)
        number[sorted[i].place] = at[i].place;
    free(sorted);
    free(at);
    return number;
}

// ---- the program

static void require_all(mlt_goal_program *program, const mlt_goal_sched *sched,
                        const mlt_act_list *list, const uint32_t *number_at, uint32_t on)
{
    for (uint32_t i = 0; i < list->count; i++)
        mlt_goal_require(program, sched->rank, number_at[list->offset[i] / 8], on);
}

void mlt_image_to_program(const mlt_goal_sched *sched, mlt_goal_program *program)
{
    mlt_goal_rank *rank = &program->rank[sched->rank];
    mlt_assert(!rank->count && !rank->buffers_count);
    for (uint32_t b = 1; b < sched->buffers; b++)
        mlt_goal_buffer_add(program, sched->rank, sched->buffer[b].name, sched->buffer[b].size);
    uint32_t *number = numbers(sched), *number_at = mlt_take(sched->bytes / 8, sizeof *number_at);
    for (uint32_t i = 0; i < sched->actions; i++) // room; the next loop fills it
        mlt_goal_add(program, sched->rank, &(mlt_goal_action){.kind = MLT_GOAL_NOP});
    const mlt_act *act = mlt_sched_first(sched);
    for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act)) {
        rank->actions[number[i]] = mlt_act_action(act);
        number_at[((const unsigned char *)act - sched->code) / 8] = number[i];
    }
    act = mlt_sched_first(sched);
    for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act)) {
        require_all(program, sched, mlt_act_dependents(act), number_at, number[i]);
        if (act->type & MLT_ACT_STARTERS)
            require_all(program, sched, mlt_act_starters(act), number_at,
                        number[i] | MLT_GOAL_STARTED);
    }
    free(number);
    free(number_at);
}

mlt_goal_program *mlt_image_program(const mlt_image *image)
{
    mlt_goal_program *program = mlt_goal_program_new(mlt_image_ranks(image));
    for (uint32_t i = 0; i < image->header->held; i++) {
        mlt_goal_sched *sched = mlt_image_sched(image, image->rank[i].rank);
        mlt_image_to_program(sched, program);
        mlt_goal_sched_free(sched);
    }
    return program;
}
