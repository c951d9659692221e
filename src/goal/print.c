// SPDX-License-Identifier: BSD-3-Clause
// Actions and programs as text.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "goal/text.h"

typedef struct out {
    char *text;
    size_t size, used;
} out;

static void put(out *o, const char *format, ...) MLT_PRINTF(2, 3);

static void put(out *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(o->used < o->size ? o->text + o->used : NULL,
                      o->used < o->size ? o->size - o->used : 0, format, args);
    va_end(args);
    if (n > 0)
        o->used += (size_t)n;
}

static void put_span(out *o, const mlt_goal_program *program, uint32_t rank,
                     const mlt_goal_action *action, int which)
{
    uint32_t buf = action->buf[which];
    const mlt_goal_rank *r = &program->rank[rank];
    if (buf == MLT_GOAL_NOWHERE)
        put(o, "none,%" PRIu64, action->size[which]);
    else if (buf == MLT_GOAL_MEMORY)
        put(o, "%" PRIu64 ",%" PRIu64, action->at[which], action->size[which]);
    else if (buf == MLT_GOAL_ADDRESS)
        put(o, "0x%" PRIx64 ",%" PRIu64, action->at[which], action->size[which]);
    else
        put(o, "%s+%" PRIu64 ",%" PRIu64,
            buf <= r->buffers_count ? mlt_goal_name_text(program, r->buffers[buf - 1].name) : "?",
            action->at[which], action->size[which]);
}

static void put_function(out *o, const mlt_goal_action *action)
{
    if (action->kind == MLT_GOAL_USER || action->kind == MLT_GOAL_RECV_USER)
        put(o, "user %u", action->user);
    else
        put(o, "%s%s", action->op < MLT_OPS ? mlt_op_names[action->op] : "?",
            action->type < MLT_OP_TYPES ? mlt_op_type_names[action->type] : "?");
}

static void put_peer(out *o, const mlt_goal_action *action)
{
    const char *word = action->kind == MLT_GOAL_SEND ? "to" : "from";
    if (action->peer == MLT_GOAL_ANY)
        put(o, " %s any", word);
    else
        put(o, " %s %" PRId32, word, action->peer);
    if (action->tag == MLT_GOAL_ANY)
        put(o, " tag any");
    else if (action->tag)
        put(o, " tag %" PRId32, action->tag);
    if (action->flags & MLT_GOAL_SYNCHRONOUS)
        put(o, " sync");
}

char *mlt_goal_print_action(const mlt_goal_program *program, uint32_t rank,
                            const mlt_goal_action *action, char *text, size_t size)
{
    out o = {text, size, 0};
    switch (action->kind) {
    case MLT_GOAL_SEND:
    case MLT_GOAL_RECV:
        put(&o, action->kind == MLT_GOAL_SEND ? "send " : "recv ");
        put_span(&o, program, rank, action, 0);
        put_peer(&o, action);
        break;
    case MLT_GOAL_EXEC:
    case MLT_GOAL_USER:
        put(&o, "exec ");
        put_function(&o, action);
        put(&o, " with ");
        put_span(&o, program, rank, action, 0);
        put(&o, " ");
        put_span(&o, program, rank, action, 1);
        break;
    case MLT_GOAL_RECV_EXEC:
    case MLT_GOAL_RECV_USER:
        put(&o, "recv ");
        put_span(&o, program, rank, action, 1);
        put_peer(&o, action);
        put(&o, " then ");
        put_function(&o, action);
        put(&o, " with ");
        put_span(&o, program, rank, action, 0);
        break;
    case MLT_GOAL_CALC:
        put(&o, "calc %" PRIu64, action->size[0]);
        break;
    case MLT_GOAL_NOP:
        put(&o, "nop");
        break;
    default:
        put(&o, "?");
    }
    if (action->flags & MLT_GOAL_REVERSED)
        put(&o, " reversed");
    if (action->cpu)
        put(&o, " cpu %u", action->cpu);
    if (action->nic)
        put(&o, " nic %u", action->nic);
    return text;
}
