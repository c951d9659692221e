// SPDX-License-Identifier: BSD-3-Clause
// Schedules as objects: made, freed, bound to memory and functions.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "goal/derive.h"
#include "goal_bodies.h"
#include "mpi/error/error.h"
#include "mpi/goal/goal.h"
#include "mpi/settings.h"

enum { SCHED_WHY = 1024 };

static mlt_registry schedules = MLT_REGISTRY_INIT(struct GOAL_Sched_s);

// ---- handles and lives

void mlt_goal_runs_drop(mlt_goal_runs *runs)
{
    if (runs && --runs->refs == 0)
        free(runs);
}

static mlt_goal_runs *runs_of(mlt_comm *comm)
{
    mlt_comm_extra *extra = mlt_comm_extra_of(comm);
    if (!extra->goal) {
        extra->goal = mlt_xcalloc(1, sizeof *extra->goal);
        extra->goal->refs = 1;
        mlt_list_init(&extra->goal->active);
    }
    extra->goal->refs++;
    return extra->goal;
}

void mlt_goal_sched_drop(struct GOAL_Sched_s *s)
{
    if (--s->refs > 0)
        return;
    for (uint32_t b = 0; b < s->sched->buffers; b++)
        mlt_goal_block_drop(s->block[b]);
    free(s->block);
    if (s->spare) {
        mlt_req_init(s->spare, s->rank, MLT_REQ_OTHER);
        mlt_req_free(s->spare);
    }
    if (s->run) {
        free(s->run->order);
        free(s->run->scratch);
    }
    mlt_run_free(s->run);
    mlt_goal_sched_free(s->sched);
    mlt_goal_program_free(s->program);
    mlt_goal_image_free(s->image);
    free(s->file);
    mlt_goal_runs_drop(s->runs);
    mlt_comm_drop(s->comm);
    mlt_registry_give(&schedules, s);
}

struct GOAL_Sched_s *mlt_goal_sched_make(mlt_rank *me, mlt_comm *comm, mlt_goal_sched *sched,
                                         struct mlt_goal_image *image, void *file, int *code)
{
    char why[SCHED_WHY];
    struct GOAL_Sched_s *s = mlt_registry_take(&schedules);
    mlt_comm_hold(comm);
    struct GOAL_Sched_s made = {
        .rank = me,
        .comm = comm,
        .refs = 1,
        .sched = sched,
        .image = image,
        .file = file,
        .block = mlt_xcalloc(sched->buffers, sizeof(void *)),
        .runs = runs_of(comm),
        .place = {.rank = me,
                  .context = comm->context + MLT_CONTEXT_COLLECTIVE,
                  .self = comm->rank,
                  .base = comm->base,
                  .stride = comm->stride,
                  .world = comm->map ? mlt_map_member : NULL,
                  .group = comm->map},
        .offload = mlt_mpi_settings.goal_offload && me->worker->sched->gate, // MPI_Init has seen it
    };
    mlt_registry_fill(s, &made, sizeof made);
    if (mlt_run_new(sched, INT_MAX, &s->run, why, sizeof why) == MLT_OK) {
        if (s->run->result_bytes[true])
            s->run->scratch = mlt_xcalloc(s->run->result_bytes[true], 1);
        s->spare = mlt_req_new(me);
        mlt_req_retire(s->spare);
        mlt_registry_name(&s->head, MLT_GOAL_SCHED_MAGIC);
        return s;
    }
    mlt_goal_sched_drop(s);
    *code = mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG, "%s", why);
    return NULL;
}

static bool own_memory(struct GOAL_Sched_s *s, uint32_t b)
{
    if (!s->block[b] && s->sched->buffer[b].size)
        s->block[b] = mlt_goal_block_new(s->sched->buffer[b].size);
    s->run->base[b] = s->block[b] ? s->block[b]->bytes : NULL;
    return s->block[b] || !s->sched->buffer[b].size;
}

bool mlt_goal_sched_furnish(struct GOAL_Sched_s *s)
{
    for (uint32_t b = 0; b < s->sched->buffers; b++)
        if (!s->run->base[b] && !own_memory(s, b))
            return false;
    return true;
}

int mlt_goal_Sched_free(mlt_rank *me, GOAL_Sched *sched)
{
    int code;
    if (!sched)
        return mlt_bad_null(me, NULL, me->fn, MPI_ERR_ARG, "sched", "the address of a handle");
    struct GOAL_Sched_s *s = mlt_goal_sched_of(me, *sched, &code);
    if (!s)
        return code;
    mlt_registry_name(&s->head, 0);
    mlt_goal_sched_drop(s);
    *sched = NULL;
    return MPI_SUCCESS;
}

// ---- functions

// The result of a GOAL_Func is its first buffer. Reversed, the other operand comes first, so it is
// moved there; its own waits in scratch memory.
static void call_func(void *func, const mlt_run_operands *o)
{
    void *second = o->second;
    if (o->reversed && o->bytes) {
        memcpy(o->scratch, o->result, o->bytes);
        memmove(o->result, o->second, o->bytes);
        second = o->scratch;
    }
    mlt_sched *sched = mlt_sched_self; // NULL on a thread that drives it instead of the worker
    const char *before = sched ? mlt_sched_pin(sched, "a function of a GOAL schedule") : NULL;
    // mlt_goal_sched_make lets no larger sizes through.
    ((GOAL_Func *)(uintptr_t)func)(o->result, (int)o->bytes, second, (int)o->second_bytes);
    if (sched)
        mlt_sched_unpin(sched, before);
}

static void bind_func(mlt_run *run, uint32_t number, GOAL_Func *func)
{
    run->function[number] = call_func;
    run->argument[number] = (void *)(uintptr_t)func;
}

// ---- compiling

// The goal's program is of one rank, which is the communicator's rank to whoever compiles it.
static mlt_status compile_one(const mlt_goal_program *program, const mlt_comm *comm,
                              const mlt_goal_sched_options *options, mlt_goal_sched **out,
                              char *why)
{
    mlt_goal_program view =
        mlt_goal_program_as_rank(program, (uint32_t)comm->rank, (uint32_t)comm->size);
    return mlt_goal_sched_compile(&view, (uint32_t)comm->rank, options, out, why, SCHED_WHY);
}

static void bind_goal(struct GOAL_Sched_s *s, const struct GOAL_Goal_s *g)
{
    for (uint32_t i = 0; i < g->named_count; i++) {
        const mlt_goal_named *n = &g->named[i];
        s->run->base[n->id] = (unsigned char *)n->base;
        s->block[n->id] = n->block;
        if (n->block)
            n->block->refs++;
    }
    for (uint32_t f = 0; f < s->sched->users; f++)
        bind_func(s->run, f, g->func[f]);
}

GOAL_Sched mlt_goal_Compile(mlt_rank *me, GOAL_Goal g)
{
    int code;
    char why[SCHED_WHY];
    if (mlt_goal_need_comm(me, g) != MPI_SUCCESS)
        return NULL;
    mlt_goal_program *derived = g->automatic ? mlt_goal_program_copy(g->program) : NULL;
    if (derived)
        mlt_goal_derive(derived, 0);
    mlt_goal_sched_options options = {.window = g->window, .plain = g->plain};
    mlt_goal_sched *sched = NULL;
    mlt_status status = compile_one(derived ? derived : g->program, g->comm, &options, &sched, why);
    mlt_goal_program_free(derived);
    if (status != MLT_OK) {
        mlt_mpi_raise(me, g->comm, me->fn, MPI_ERR_ARG, "%s", why);
        return NULL;
    }
    struct GOAL_Sched_s *s = mlt_goal_sched_make(me, g->comm, sched, NULL, NULL, &code);
    if (s)
        bind_goal(s, g);
    return s;
}

// ---- what it is bound to

// False: it is under way; raised.
static bool rests(mlt_rank *me, struct GOAL_Sched_s *s, int *code)
{
    if (!s->run->running)
        return true;
    *code = mlt_mpi_raise(me, s->comm, me->fn, MPI_ERR_ARG,
                          "argument sched is under way, but should be changed between runs: wait "
                          "for its request first");
    return false;
}

// The buffer of a name; UINT32_MAX: there is none; raised.
static uint32_t buffer_of(mlt_rank *me, struct GOAL_Sched_s *s, const char *name, int *code)
{
    for (uint32_t b = 0; name && b < s->sched->buffers; b++)
        if (strcmp(s->sched->buffer[b].name, name) == 0)
            return b;
    if (name)
        *code = mlt_mpi_raise(me, s->comm, me->fn, MPI_ERR_ARG,
                              "argument name is '%s', but the schedule has no buffer of that name",
                              name);
    else
        *code = mlt_bad_null(me, s->comm, me->fn, MPI_ERR_ARG, "name",
                             "the name of a buffer, or \"\" for the plain memory");
    return UINT32_MAX;
}

int mlt_goal_Sched_bind(mlt_rank *me, GOAL_Sched s, const char *name, void *base)
{
    int code;
    uint32_t b = buffer_of(me, s, name, &code);
    if (b == UINT32_MAX || !rests(me, s, &code))
        return code;
    if (base)
        s->run->base[b] = base;
    else if (!own_memory(s, b))
        return mlt_mpi_raise(me, s->comm, me->fn, MPI_ERR_NO_MEM,
                             MLT_NO_ROOM "the %llu bytes of the buffer '%s'",
                             (unsigned long long)s->sched->buffer[b].size, name);
    return MPI_SUCCESS;
}

int mlt_goal_Sched_buffer(mlt_rank *me, GOAL_Sched s, const char *name, void **base, size_t *size)
{
    int code;
    uint32_t b = buffer_of(me, s, name, &code);
    if (b == UINT32_MAX)
        return code;
    if (base)
        *base = s->run->base[b];
    if (size)
        *size = s->sched->buffer[b].size;
    return MPI_SUCCESS;
}

int mlt_goal_Sched_func(mlt_rank *me, GOAL_Sched s, GOAL_fid number, GOAL_Func *func)
{
    int code;
    if (!rests(me, s, &code))
        return code;
    if (number < 0 || number > UINT16_MAX)
        return mlt_bad_value(me, s->comm, me->fn, MPI_ERR_ARG, "number", number,
                             "the N of `exec user N`, from 0 to 65535");
    if (!func)
        return mlt_bad_null(me, s->comm, me->fn, MPI_ERR_ARG, "func", "a function");
    if ((uint32_t)number < s->sched->users) // another rank's part may call it, and this one not
        bind_func(s->run, (uint32_t)number, func);
    return MPI_SUCCESS;
}

// ---- settings

static void note_order(struct GOAL_Sched_s *s, bool wanted)
{
    free(s->run->order);
    s->run->order = wanted ? mlt_xcalloc((size_t)s->sched->actions + 1, sizeof(uint32_t)) : NULL;
}

int mlt_goal_Sched_set(mlt_rank *me, GOAL_Sched s, int what, long value)
{
    int code = MPI_SUCCESS;
    if (!rests(me, s, &code))
        return code;
    if (what != GOAL_OFFLOAD && what != GOAL_ORDER && what != GOAL_CALC)
        return mlt_bad_value(me, s->comm, me->fn, MPI_ERR_ARG, "what", what,
                             "GOAL_OFFLOAD, GOAL_ORDER or GOAL_CALC");
    if ((code = mlt_goal_check_flag(me, s->comm, value)) != MPI_SUCCESS)
        return code;
    if (what == GOAL_OFFLOAD && value &&
        (code = mlt_goal_offload_allow(me, s->comm)) != MPI_SUCCESS)
        return code;
    if (what == GOAL_OFFLOAD)
        s->offload = value;
    else if (what == GOAL_CALC)
        s->run->takes_time = value;
    else if (value != (s->run->order != NULL))
        note_order(s, value);
    return MPI_SUCCESS;
}

// Where an action stands in the code; `offsets` ascend as the code does.
static uint32_t sched_place_of(const uint32_t *offsets, uint32_t count, uint32_t offset)
{
    uint32_t low = 0, high = count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (offsets[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int mlt_goal_Sched_order(mlt_rank *me, GOAL_Sched s, GOAL_id *ids, int size, int *count)
{
    int code;
    if (!rests(me, s, &code))
        return code;
    if (!s->run->order)
        return mlt_mpi_raise(me, s->comm, me->fn, MPI_ERR_ARG,
                             "the schedule does not note the order of its actions; set GOAL_ORDER "
                             "before the run");
    if (!count || (size > 0 && !ids))
        return mlt_bad_null(me, s->comm, me->fn, MPI_ERR_ARG, count ? "ids" : "count",
                            count ? "room for ids" : "where the number goes");
    const mlt_goal_sched *code_of = s->sched;
    uint32_t n = code_of->actions, *offsets = mlt_xcalloc((size_t)n + 1, sizeof *offsets);
    const mlt_act *act = mlt_goal_sched_first(code_of);
    for (uint32_t i = 0; i < n; i++, act = mlt_act_next(act))
        offsets[i] = (uint32_t)((const unsigned char *)act - code_of->code);
    *count = 0;
    for (uint32_t i = 0; i < s->run->finished; i++) {
        uint32_t id = sched_place_of(offsets, n, s->run->order[i]);
        if (code_of->origin)
            id = code_of->origin[id];
        if (id == MLT_GOAL_NONE)
            continue;
        if (*count < size)
            ids[*count] = (GOAL_id)id;
        ++*count;
    }
    free(offsets);
    return MPI_SUCCESS;
}
