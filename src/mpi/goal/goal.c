// SPDX-License-Identifier: BSD-3-Clause
// Building goals: the functions of millet/goal.h that make a program.
#include "mpi/goal/goal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "goal_bodies.h"
#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi/settings.h"

static mlt_registry goals = MLT_REGISTRY_INIT(struct GOAL_Goal_s);

// ---- memory

mlt_goal_block *mlt_goal_block_new(uint64_t size)
{
    if (size > PTRDIFF_MAX - 2 * sizeof(mlt_goal_block))
        return NULL;
    uint64_t whole = (sizeof(mlt_goal_block) + size + 63) & ~UINT64_C(63);
    mlt_goal_block *block = aligned_alloc(64, whole);
    if (!block)
        return NULL;
    memset(block, 0, whole);
    block->refs = 1;
    return block;
}

void mlt_goal_block_drop(mlt_goal_block *block)
{
    if (block && --block->refs == 0)
        free(block);
}

// ---- handles

void mlt_goal_enter_again(mlt_goal_call *call)
{
    call->moved = mlt_thread_adopt(call->fn);
    call->me = MLT_OUT_OF_LINE(mlt_mpi_enter)(call->fn);
}

void *mlt_goal_object_of(mlt_rank *me, mlt_goal_object *o, uint32_t magic, const char *name,
                         int *code)
{
    if (MLT_UNLIKELY(!mlt_handle_is_address((uintptr_t)o) || !mlt_registry_is(&o->head, magic)))
        *code = mlt_bad_handle(me, NULL, me->fn, MPI_ERR_ARG, name,
                               magic == MLT_GOAL_MAGIC ? "GOAL_Goal" : "GOAL_Sched", (uintptr_t)o);
    else if (MLT_LIKELY(o->rank == me))
        return o;
    else
        *code = mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_ARG,
                              "argument %s is one of rank %d, but should be one of rank "
                              "%d; " MLT_HANDLE_OF_OTHER,
                              name, (int)o->rank->world, (int)me->world);
    return NULL;
}

mlt_comm *mlt_goal_comm_of(mlt_rank *me, MPI_Comm handle, int *code)
{
    mlt_comm *comm = mlt_comm_of(me, handle);
    if (!comm)
        *code = mlt_bad_handle(me, NULL, me->fn, MPI_ERR_COMM, "comm", "communicator",
                               (uintptr_t)handle);
    else if (comm->inter)
        *code = mlt_comm_bad_inter(me, comm, "comm");
    return comm && !comm->inter ? comm : NULL;
}

int mlt_goal_need_comm(mlt_rank *me, const struct GOAL_Goal_s *g)
{
    if (MLT_LIKELY(g->comm && (g->comm->magic == MLT_COMM_MAGIC ||  // else it has been freed, but
                               g->comm != &mlt_mpi_of(me)->world))) // only MPI_Finalize frees that
        return MPI_SUCCESS;
    return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_COMM,
                         "the goal has no communicator, for there is no MPI_COMM_WORLD before "
                         "MPI_Init or after MPI_Finalize; set one with GOAL_Set_comm first");
}

GOAL_Goal mlt_goal_Create(mlt_rank *me)
{
    struct GOAL_Goal_s *g = mlt_registry_take(&goals);
    mlt_comm *world = &mlt_mpi_of(me)->world;
    if (world->magic == MLT_COMM_MAGIC)
        mlt_comm_hold(world);
    else // the rank has sessions only
        world = NULL;
    struct GOAL_Goal_s made = {.rank = me,
                               .comm = world,
                               .program = mlt_goal_program_new(1),
                               .window = (uint32_t)mlt_mpi_settings.goal_window};
    mlt_registry_fill(g, &made, sizeof made);
    mlt_registry_name(&g->head, MLT_GOAL_MAGIC);
    return g;
}

int mlt_goal_Free(mlt_rank *me, GOAL_Goal *goal)
{
    int code;
    if (!goal)
        return mlt_bad_null(me, NULL, me->fn, MPI_ERR_ARG, "goal", "the address of a handle");
    struct GOAL_Goal_s *g = mlt_goal_of(me, *goal, &code);
    if (!g)
        return code;
    mlt_registry_name(&g->head, 0);
    mlt_goal_program_free(g->program);
    for (uint32_t i = 0; i < g->named_count; i++)
        mlt_goal_block_drop(g->named[i].block);
    free(g->named);
    free(g->func);
    if (g->comm)
        mlt_comm_drop(g->comm);
    mlt_registry_give(&goals, g);
    *goal = NULL;
    return MPI_SUCCESS;
}

// ---- buffers

// The last named buffer that begins at or before an address; NULL: none does.
static const mlt_goal_named *named_before(const struct GOAL_Goal_s *g, uintptr_t at)
{
    uint32_t after = MLT_ARRAY_SEARCH(i, g->named_count, g->named[i].base <= at);
    return after ? &g->named[after - 1] : NULL;
}

static const char *goal_name_of(const struct GOAL_Goal_s *g, const mlt_goal_named *n)
{
    return mlt_goal_name_text(g->program, g->program->rank[0].buffers[n->id - 1].name);
}

// A named buffer that shares bytes with [at, at + size); NULL: none does.
static const mlt_goal_named *named_in(const struct GOAL_Goal_s *g, uintptr_t at, uint64_t size)
{
    const mlt_goal_named *n = size ? named_before(g, at + size - 1) : NULL;
    return n && n->base + n->size > at ? n : NULL;
}

// Span i of an action: bytes of the process. An MPI code; raised if they lie partly in a named buffer.
static int goal_span(mlt_rank *me, const struct GOAL_Goal_s *g, const char *argument,
                     const void *buf, mlt_goal_action *action, int i)
{
    uint64_t size = action->size[i];
    uintptr_t base = (uintptr_t)buf;
    if (size && !buf)
        return mlt_bad_null(me, g->comm, me->fn, MPI_ERR_BUFFER, argument,
                            "the address of the bytes");
    if (size > PTRDIFF_MAX || base + size < base)
        return mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_COUNT,
                             "%llu bytes from %p on are more than there are addresses",
                             (unsigned long long)size, buf);
    const mlt_goal_named *n = named_in(g, base, size);
    action->buf[i] = n ? n->id : MLT_GOAL_ADDRESS;
    action->at[i] = n ? base - n->base : base;
    if (!n || (n->base <= base && base + size <= n->base + n->size))
        return MPI_SUCCESS;
    return mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_BUFFER,
                         "argument %s is %p, and its %llu bytes lie partly in the buffer '%s', of "
                         "%llu bytes at %p; they should lie inside or outside",
                         argument, buf, (unsigned long long)size, goal_name_of(g, n),
                         (unsigned long long)n->size, (void *)n->base);
}

// Spans that are addresses and lie in the new buffer become spans of it.
static int adopt_spans(mlt_rank *me, struct GOAL_Goal_s *g, const mlt_goal_named *n, bool change)
{
    mlt_goal_rank *r = &g->program->rank[0];
    for (uint32_t a = 0; a < r->count; a++)
        for (int i = 0; i < 2; i++) {
            mlt_goal_action *action = &r->actions[a];
            uint64_t from = action->at[i], to = from + action->size[i];
            if (action->buf[i] != MLT_GOAL_ADDRESS || to <= n->base || from >= n->base + n->size ||
                from == to)
                continue;
            if (from < n->base || to > n->base + n->size)
                return mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_BUFFER,
                                     "action %u has bytes that lie partly in the new buffer; they "
                                     "should lie inside or outside",
                                     (unsigned)a);
            if (change) {
                action->buf[i] = n->id;
                action->at[i] = from - n->base;
            }
        }
    return MPI_SUCCESS;
}

static int add_buffer(mlt_rank *me, struct GOAL_Goal_s *g, const char *name, mlt_goal_named n)
{
    if (!name || !name[0])
        return mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_ARG,
                             "argument name is %s, but should be the name of a buffer",
                             name ? "empty" : "NULL");
    if (mlt_goal_buffer_find(g->program, 0, name) != MLT_GOAL_NOWHERE)
        return mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_ARG,
                             "argument name is '%s', but the goal has a buffer of that name", name);
    const mlt_goal_named *other = named_in(g, n.base, n.size);
    if (other)
        return mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_BUFFER,
                             "the buffer '%s' would overlap with '%s', of %llu bytes at %p", name,
                             goal_name_of(g, other), (unsigned long long)other->size,
                             (void *)other->base);
    int code = adopt_spans(me, g, &n, false);
    if (code != MPI_SUCCESS)
        return code;
    n.id = mlt_goal_buffer_add(g->program, 0, name, n.size);
    (void)adopt_spans(me, g, &n, true); // which found nothing wrong
    uint32_t at = MLT_ARRAY_SEARCH(i, g->named_count, g->named[i].base <= n.base);
    *MLT_ARRAY_INSERT(g->named, g->named_count, g->named_room, at) = n;
    return MPI_SUCCESS;
}

int mlt_goal_Buffer(mlt_rank *me, GOAL_Goal g, const char *name, void *base, size_t size)
{
    if (!base)
        return mlt_bad_null(me, g->comm, me->fn, MPI_ERR_BUFFER, "base", "the address of a buffer");
    if (size == 0 || size > PTRDIFF_MAX || (uintptr_t)base + size < size)
        return mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_COUNT,
                             "argument size is %zu, but should be at least 1 and end before the "
                             "last address",
                             size);
    return add_buffer(me, g, name, (mlt_goal_named){.base = (uintptr_t)base, .size = size});
}

void *mlt_goal_Alloc(mlt_rank *me, GOAL_Goal g, const char *name, size_t size)
{
    if (size == 0) {
        mlt_bad_value(me, g->comm, me->fn, MPI_ERR_COUNT, "size", 0, "at least 1");
        return NULL;
    }
    mlt_goal_block *block = mlt_goal_block_new(size);
    if (!block) {
        mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_NO_MEM, MLT_NO_ROOM "a buffer of %zu bytes",
                      size);
        return NULL;
    }
    mlt_goal_named n = {.base = (uintptr_t)block->bytes, .size = size, .block = block};
    if (add_buffer(me, g, name, n) == MPI_SUCCESS)
        return block->bytes;
    mlt_goal_block_drop(block);
    return NULL;
}

// ---- actions

GOAL_id mlt_goal_add_action(mlt_rank *me, GOAL_Goal g, const mlt_goal_action *action)
{
    if (g->program->rank[0].count < INT_MAX)
        return (GOAL_id)mlt_goal_add(g->program, 0, action);
    mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_OTHER, "a goal has at most %d actions", INT_MAX);
    return -1;
}

static int check_peer(mlt_rank *me, struct GOAL_Goal_s *g, bool sends, int peer)
{
    int code = mlt_goal_need_comm(me, g);
    if (code != MPI_SUCCESS || peer == MPI_PROC_NULL || (peer >= 0 && peer < g->comm->size))
        return code;
    if (sends || peer != MPI_ANY_SOURCE)
        return mlt_bad_rank(me, g->comm, me->fn, MPI_ERR_RANK, sends ? "dest" : "source", peer,
                            " or MPI_PROC_NULL");
    if (g->plain)
        return MPI_SUCCESS;
    return mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_RANK,
                         "argument source is MPI_ANY_SOURCE, but messages of this goal are matched "
                         "by their place in the programs; set GOAL_PLAIN on all ranks to match "
                         "them as they come");
}

GOAL_id mlt_goal_add_message(mlt_rank *me, GOAL_Goal g, bool sends, const void *buf, size_t size,
                             int peer, int tag)
{
    if (check_peer(me, g, sends, peer) != MPI_SUCCESS)
        return -1;
    if (tag < 0) {
        if (tag == MPI_ANY_TAG)
            mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_TAG,
                          "argument tag is MPI_ANY_TAG, but should be at least 0: messages of a "
                          "schedule are matched by their tags");
        else
            mlt_bad_value(me, g->comm, me->fn, MPI_ERR_TAG, "tag", tag, "at least 0");
        return -1;
    }
    mlt_goal_action action = {
        .kind = (uint8_t)(sends ? MLT_GOAL_SEND : MLT_GOAL_RECV),
        .peer = peer == MPI_ANY_SOURCE ? MLT_GOAL_ANY : peer,
        .tag = tag,
        .buf = {0, MLT_GOAL_NOWHERE},
        .size = {size, 0},
    };
    if (goal_span(me, g, "buf", buf, &action, 0) != MPI_SUCCESS)
        return -1;
    if (peer == MPI_PROC_NULL)
        action = (mlt_goal_action){.kind = MLT_GOAL_NOP};
    return mlt_goal_add_action(me, g, &action);
}

// ---- local work

GOAL_fid mlt_goal_Reg_func(mlt_rank *me, GOAL_Goal g, GOAL_Func *func)
{
    if (!func) {
        mlt_bad_null(me, g->comm, me->fn, MPI_ERR_ARG, "func", "a function");
        return -1;
    }
    if (g->func_count > UINT16_MAX) {
        mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_OTHER, "a goal has at most %d functions",
                      UINT16_MAX + 1);
        return -1;
    }
    *MLT_ARRAY_ADD(g->func, g->func_count, g->func_room) = func;
    return (GOAL_fid)g->func_count - 1;
}

// The sizes and places of a predefined function's operands. False: raised.
static bool check_predefined(mlt_rank *me, const struct GOAL_Goal_s *g, const mlt_goal_action *a)
{
    unsigned bytes = mlt_op_type_bytes[a->type];
    if (a->size[0] != a->size[1] || a->size[0] % bytes) {
        mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_COUNT,
                      "arguments size1 and size2 are %llu and %llu, but should be the same, and a "
                      "multiple of the %u bytes of %s",
                      (unsigned long long)a->size[0], (unsigned long long)a->size[1], bytes,
                      mlt_op_type_names[a->type]);
        return false;
    }
    if (a->buf[0] != a->buf[1] || a->at[0] == a->at[1] || a->at[0] + a->size[0] <= a->at[1] ||
        a->at[1] + a->size[1] <= a->at[0])
        return true;
    mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_BUFFER,
                  "buf1 and buf2 overlap; they should be the same bytes or different ones");
    return false;
}

static bool check_user(mlt_rank *me, const struct GOAL_Goal_s *g, const mlt_goal_action *a)
{
    if (a->size[0] > INT_MAX || a->size[1] > INT_MAX)
        mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_COUNT,
                      "a function of the user's is given %llu bytes, but sizes are an int there, "
                      "so at most %d",
                      (unsigned long long)a->size[a->size[0] <= INT_MAX], INT_MAX);
    else if ((a->flags & MLT_GOAL_REVERSED) && a->size[0] != a->size[1])
        mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_COUNT,
                      "arguments size1 and size2 are %llu and %llu, but reversed operands should "
                      "have the same size",
                      (unsigned long long)a->size[0], (unsigned long long)a->size[1]);
    else
        return true;
    return false;
}

GOAL_id mlt_goal_add_exec(mlt_rank *me, GOAL_Goal g, GOAL_fid func, void *buf1, size_t size1,
                          const void *buf2, size_t size2, int flags)
{
    unsigned op = (unsigned)func >> 8 & 0xff, type = (unsigned)func & 0xff;
    bool user = func >= 0 && func < (GOAL_fid)g->func_count;
    if (!user && (func >> 16 != 1 || op >= MLT_OPS || type >= MLT_OP_TYPES)) {
        mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_OP,
                      "argument func is %d, but should be a predefined function such as "
                      "GOAL_sumInt32, or one that GOAL_Reg_func gave (there are %u)",
                      func, (unsigned)g->func_count);
        return -1;
    }
    mlt_goal_action action = {
        .kind = (uint8_t)(user ? MLT_GOAL_USER : MLT_GOAL_EXEC),
        .op = (uint8_t)(user ? 0 : op),
        .type = (uint8_t)(user ? 0 : type),
        .flags = (uint8_t)flags,
        .user = (uint16_t)(user ? func : 0),
        .size = {size1, size2},
    };
    if (goal_span(me, g, "buf1", buf1, &action, 0) != MPI_SUCCESS ||
        goal_span(me, g, "buf2", buf2, &action, 1) != MPI_SUCCESS ||
        !(user ? check_user(me, g, &action) : check_predefined(me, g, &action)))
        return -1;
    return mlt_goal_add_action(me, g, &action);
}

// ---- dependencies, settings

int mlt_goal_add_order(mlt_rank *me, GOAL_Goal g, GOAL_id a, GOAL_id b, uint32_t flag)
{
    GOAL_id ids[] = {a, b}, count = (GOAL_id)g->program->rank[0].count;
    for (int i = 0; i < 2; i++)
        if (ids[i] < 0 || ids[i] >= count)
            return mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_ARG,
                                 "argument %s is %d, but should be the id of an action: the goal "
                                 "has %d",
                                 i ? "b" : "a", ids[i], count);
    if (a == b)
        return mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_ARG,
                             "arguments a and b are both %d, but no action can wait for itself", a);
    mlt_goal_require(g->program, 0, (uint32_t)a, (uint32_t)b | flag);
    return MPI_SUCCESS;
}

int mlt_goal_check_flag(mlt_rank *me, mlt_comm *comm, long value)
{
    if (value == 0 || value == 1)
        return MPI_SUCCESS;
    return mlt_bad_value(me, comm, me->fn, MPI_ERR_ARG, "value", value, "0 or 1");
}

// Raises that a receive takes any source, so that messages must be matched as they come.
static int check_no_any(mlt_rank *me, const struct GOAL_Goal_s *g)
{
    const mlt_goal_rank *r = &g->program->rank[0];
    for (uint32_t a = 0; a < r->count; a++)
        if (r->actions[a].kind == MLT_GOAL_RECV && r->actions[a].peer == MLT_GOAL_ANY)
            return mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_ARG,
                                 "argument value is 0, but action %u receives from "
                                 "MPI_ANY_SOURCE, which needs GOAL_PLAIN",
                                 (unsigned)a);
    return MPI_SUCCESS;
}

int mlt_goal_Set(mlt_rank *me, GOAL_Goal g, int what, long value)
{
    int code = MPI_SUCCESS;
    if (what == GOAL_WINDOW) {
        if (value < 0 || value > INT_MAX)
            return mlt_bad_value(me, g->comm, me->fn, MPI_ERR_ARG, "value", value,
                                 "a number of actions from 0 (no limit) to 2147483647");
        g->window = (uint32_t)value;
    } else if (what == GOAL_AUTO) {
        code = mlt_goal_check_flag(me, g->comm, value);
        if (code == MPI_SUCCESS)
            g->automatic = value;
    } else if (what == GOAL_PLAIN) {
        code = mlt_goal_check_flag(me, g->comm, value);
        if (code == MPI_SUCCESS && !value)
            code = check_no_any(me, g);
        if (code == MPI_SUCCESS)
            g->plain = value;
    } else {
        return mlt_bad_value(me, g->comm, me->fn, MPI_ERR_ARG, "what", what,
                             "GOAL_AUTO, GOAL_WINDOW or GOAL_PLAIN");
    }
    return code;
}

int mlt_goal_Set_comm(mlt_rank *me, GOAL_Goal g, mlt_comm *comm)
{
    const mlt_goal_rank *r = &g->program->rank[0];
    for (uint32_t a = 0; a < r->count; a++)
        if (mlt_goal_is_message(&r->actions[a]) && r->actions[a].peer >= comm->size)
            return mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_RANK,
                                 "argument comm has %d ranks, but action %u names rank %d",
                                 (int)comm->size, (unsigned)a, (int)r->actions[a].peer);
    mlt_comm_hold(comm);
    if (g->comm)
        mlt_comm_drop(g->comm);
    g->comm = comm;
    return MPI_SUCCESS;
}
