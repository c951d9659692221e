// SPDX-License-Identifier: BSD-3-Clause
// A user's algorithm: its Lua function as mlt_coll_alg's emit, and its proof.
#include <inttypes.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "coll/alg/hosts/map.h"
#include "judge/check/check.h"
#include "lua/limit.h"
#include "lua/rulebook.h"
#include "lua/rulebook_int.h"

enum {
    RULEBOOK_ALG_SENTENCE = 1024,
    MOST_RANKS = 1024,      // all ranks are made and proven up to here,
    MOST_ACTIONS = 1 << 18, // and no more actions than this
};

// ---- calling

static uint64_t element_of(const mlt_coll_shape *shape)
{
    return shape->element ? shape->element : mlt_op_type_bytes[shape->type];
}

// hosts: how many there are; host[rank]: the number of a rank's, from 0.
static void push_hosts(lua_State *L, const mlt_coll_shape *shape)
{
    const mlt_coll_hosts *map = shape->hosts;
    mlt_lua_set_number(L, "hosts", map ? map->hosts : 1);
    if (!map)
        return;
    lua_createtable(L, (int)map->ranks, 1);
    for (uint32_t r = 0; r < map->ranks; r++) {
        lua_pushinteger(L, map->of[r]);
        lua_rawseti(L, -2, r);
    }
    lua_setfield(L, -2, "host");
}

// What the user's functions get. What a rule leaves to the algorithm is not there.
static void push_shape(lua_State *L, const mlt_lua_alg *alg, const mlt_coll_shape *shape)
{
    static const char *const fields[] = {"rank",   "ranks", "root", "count",    "element", "bytes",
                                         "f",      "op",    "type", "in_place", "segment", "radix",
                                         "window", "hosts", "host", NULL};
    uint64_t element = element_of(shape);
    lua_createtable(L, 0, 16);
    mlt_lua_known_fields(L, "shape", fields);
    push_hosts(L, shape);
    mlt_lua_set_number(L, "ranks", shape->ranks);
    mlt_lua_set_number(L, "root", shape->root);
    mlt_lua_set_number(L, "count", shape->count);
    mlt_lua_set_number(L, "element", element);
    mlt_lua_set_number(L, "bytes", shape->count * element);
    if (shape->segment)
        mlt_lua_set_number(L, "segment", shape->segment * element);
    if (shape->radix)
        mlt_lua_set_number(L, "radix", shape->radix);
    if (shape->window)
        mlt_lua_set_number(L, "window", shape->window);
    mlt_lua_set_bool(L, "in_place", shape->in_place);
    if (!mlt_collective_reduces(alg->base.collective))
        return;
    if (shape->op < MLT_OPS) {
        lua_pushfstring(L, "%s%s", mlt_op_names[shape->op], mlt_op_type_names[shape->type]);
        lua_setfield(L, -2, "f");
        mlt_lua_set_text(L, "op", mlt_op_names[shape->op]);
        mlt_lua_set_text(L, "type", mlt_op_type_names[shape->type]);
    } else {
        mlt_lua_set_number(L, "f", 0); // the user's function 0, as GOAL calls it
        mlt_lua_set_text(L, "op", "user");
    }
}

typedef struct making { // one rank's part, for the protected call
    const mlt_lua_alg *alg;
    const mlt_coll_shape *shape;
    uint32_t rank;
    const char *reason; // of `refuses`
} making;

static int protected_emit(lua_State *L)
{
    const making *m = lua_touserdata(L, 1);
    mlt_lua_rank_begin(L, m->rank, m->shape->ranks);
    lua_rawgeti(L, LUA_REGISTRYINDEX, m->alg->emit);
    mlt_lua_push_g(L);
    push_shape(L, m->alg, m->shape);
    mlt_lua_set_number(L, "rank", m->rank);
    lua_call(L, 2, 0);
    mlt_lua_rank_end(L);
    return 0;
}

// Adds one rank's part to the program. False: the user's function failed, and `why` tells.
static bool emit(const mlt_coll_shape *shape, const mlt_lua_alg *alg, mlt_goal_program *program,
                 uint32_t rank, char *why, size_t why_size)
{
    mlt_lua_rulebook *rulebook = alg->rulebook;
    making m = {alg, shape, rank, NULL};
    rulebook->goal.program = program;
    rulebook->goal.rank = rank; // for messages
    bool fine = mlt_lua_rulebook_run(rulebook, protected_emit, &m, why, why_size);
    rulebook->goal.rank = MLT_LUA_CLOSED;
    rulebook->goal.program = NULL;
    return fine;
}

void mlt_lua_alg_emit(const mlt_emit *e)
{
    const mlt_lua_alg *alg = e->shape->user;
    char why[RULEBOOK_ALG_SENTENCE], *failure;
    mlt_assert(alg);
    failure = alg->rulebook->failure;
    if ((failure && *failure) || emit(e->shape, alg, e->program, e->rank, why, sizeof why))
        return;
    if (!failure)
        mlt_fatal("%s", why);
    snprintf(failure, RULEBOOK_ALG_SENTENCE, "%s", why);
}

static int protected_refuse(lua_State *L)
{
    making *m = lua_touserdata(L, 1);
    char text[80];
    lua_rawgeti(L, LUA_REGISTRYINDEX, m->alg->refuses);
    push_shape(L, m->alg, m->shape);
    lua_call(L, 1, 1);
    if (lua_isnil(L, -1) || (lua_isboolean(L, -1) && !lua_toboolean(L, -1)))
        return 0;
    if (lua_type(L, -1) != LUA_TSTRING)
        luaL_error(L, "refuses should return nil or a sentence, not %s",
                   mlt_lua_shown(L, -1, text));
    // The text stays as long as the rule book does.
    lua_getfield(L, LUA_REGISTRYINDEX, "texts");
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    m->reason = lua_tostring(L, -2);
    return 0;
}

const char *mlt_lua_alg_refuses(const mlt_coll_shape *shape)
{
    const mlt_lua_alg *alg = shape->user;
    char why[RULEBOOK_ALG_SENTENCE];
    mlt_assert(alg);
    making m = {alg, shape, 0, NULL};
    if (!mlt_lua_rulebook_run(alg->rulebook, protected_refuse, &m, why, sizeof why))
        return mlt_lua_keep(alg->rulebook, why);
    return m.reason;
}

mlt_status mlt_lua_rulebook_program(mlt_coll_rulebook *base, const mlt_coll_alg *alg,
                                    const mlt_coll_shape *shape,
                                    void (*progress)(void *user, double done), void *user,
                                    mlt_goal_program **out, char *why, size_t why_size)
{
    mlt_lua_rulebook *rulebook = (mlt_lua_rulebook *)base;
    mlt_coll_shape own = *shape;
    char failure[RULEBOOK_ALG_SENTENCE] = "";
    own.user = alg->user;
    rulebook->failure = failure;
    mlt_status status = mlt_coll_program(alg, &own, progress, user, out, why, why_size);
    rulebook->failure = NULL;
    if (status != MLT_OK || !*failure)
        return status;
    mlt_goal_program_free(*out);
    *out = NULL;
    return mlt_fail(MLT_ERR_INVALID, why, why_size, "%s", failure);
}

// ---- proving

static bool same(const mlt_coll_shape *a, const mlt_coll_shape *b)
{
    return a->ranks == b->ranks && a->root == b->root && a->count == b->count && a->op == b->op &&
           a->type == b->type && element_of(a) == element_of(b) && a->segment == b->segment &&
           a->radix == b->radix && a->window == b->window && a->in_place == b->in_place;
}

static uint64_t hash_of(const mlt_coll_shape *shape)
{
    return shape->hosts ? shape->hosts->hash : 0;
}

static bool remembered(const mlt_lua_rulebook *rulebook, const mlt_coll_alg *alg,
                       const mlt_coll_shape *shape)
{
    for (uint32_t i = 0; i < MLT_LUA_PROVEN && i < rulebook->proven_count; i++)
        if (rulebook->proven[i].alg == alg && rulebook->proven[i].hosts == hash_of(shape) &&
            same(&rulebook->proven[i].shape, shape))
            return true;
    return false;
}

static void remember(mlt_lua_rulebook *rulebook, const mlt_coll_alg *alg,
                     const mlt_coll_shape *shape)
{
    uint32_t at = rulebook->proven_count++ % MLT_LUA_PROVEN;
    rulebook->proven[at].alg = alg;
    rulebook->proven[at].shape = *shape;
    rulebook->proven[at].hosts = hash_of(shape);
}

static void say_shape(const mlt_lua_alg *alg, const mlt_coll_shape *shape, char *text, size_t size)
{
    char root[40] = "", what[60] = "";
    if (shape->root)
        snprintf(root, sizeof root, ", root %" PRIu32, shape->root);
    if (mlt_collective_reduces(alg->base.collective))
        snprintf(what, sizeof what, ", %s%s",
                 shape->op < MLT_OPS ? mlt_op_names[shape->op] : "a user's function",
                 shape->op < MLT_OPS ? mlt_op_type_names[shape->type] : "");
    snprintf(text, size, "%" PRIu32 " rank%s%s, %" PRIu64 " element%s of %" PRIu64 " byte%s%s%s",
             shape->ranks, shape->ranks == 1 ? "" : "s", root, shape->count,
             shape->count == 1 ? "" : "s", element_of(shape), element_of(shape) == 1 ? "" : "s",
             what, shape->in_place ? ", in place" : "");
}

static mlt_status judge(const mlt_lua_alg *alg, const mlt_coll_shape *shape,
                        const mlt_goal_program *program, char *why, size_t why_size)
{
    mlt_goal_spec spec = mlt_coll_spec(&alg->base, shape);
    mlt_goal_check_options options = {.is = &spec, .limit = 1};
    mlt_goal_verdict *verdict = mlt_goal_check(program, &options);
    bool ok = mlt_goal_verdict_ok(verdict);
    if (!ok) {
        char text[200];
        say_shape(alg, shape, text, sizeof text);
        snprintf(why, why_size, "%s:%d: %s.%s is wrong for %s: %s", alg->rulebook->short_file,
                 alg->line, mlt_collective_names[alg->base.collective], alg->base.name, text,
                 verdict->count ? verdict->findings[0].text : "the checker says no more");
        size_t n = strlen(why);
        while (n && why[n - 1] == '\n')
            why[--n] = '\0';
    }
    mlt_goal_verdict_free(verdict);
    return ok ? MLT_OK : MLT_ERR_INVALID;
}

// Beyond what can be proven in a moment: that the function runs at all, for some ranks.
static mlt_status try_some(const mlt_lua_alg *alg, const mlt_coll_shape *shape, char *why,
                           size_t why_size)
{
    const uint32_t some[] = {0, 1, shape->ranks / 2, shape->ranks - 1};
    bool fine = true;
    for (int i = 0; i < 4 && fine; i++) {
        mlt_goal_program *program = mlt_goal_program_new(1);
        fine = emit(shape, alg, program, some[i], why, why_size);
        mlt_goal_program_free(program);
    }
    return fine ? MLT_OK : MLT_ERR_INVALID;
}

typedef struct proving {
    mlt_lua_rulebook *rulebook;
    const mlt_lua_alg *alg;
    const mlt_coll_shape *shape;
    char *why;
    size_t why_size;
    mlt_status status;
} proving;

static void run_prove(void *arg)
{
    proving *p = arg;
    p->status = MLT_OK;
    if (p->shape->ranks > MOST_RANKS) {
        p->status = try_some(p->alg, p->shape, p->why, p->why_size);
        return;
    }
    mlt_goal_program *program = mlt_goal_program_new(p->shape->ranks);
    uint64_t actions = 0;
    for (uint32_t r = 0; r < p->shape->ranks && p->status == MLT_OK; r++) {
        if (!emit(p->shape, p->alg, program, r, p->why, p->why_size) ||
            !mlt_lua_in_time(p->rulebook, p->alg->base.name, p->why, p->why_size))
            p->status = MLT_ERR_INVALID;
        actions += program->rank[r].count;
    }
    if (p->status == MLT_OK && actions <= MOST_ACTIONS)
        p->status = judge(p->alg, p->shape, program, p->why, p->why_size);
    mlt_goal_program_free(program);
}

mlt_status mlt_lua_alg_prove(mlt_coll_rulebook *base, const mlt_coll_alg *of,
                             const mlt_coll_shape *shape, char *why, size_t why_size)
{
    mlt_lua_rulebook *rulebook = (mlt_lua_rulebook *)base;
    const mlt_lua_alg *alg = of->user;
    if (of->emit != mlt_lua_alg_emit || alg->rulebook != rulebook ||
        remembered(rulebook, of, shape))
        return MLT_OK;
    proving p = {rulebook, alg, shape, why, why_size, MLT_OK};
    mlt_lua_on_stack(&rulebook->stack, run_prove, &p);
    if (p.status == MLT_OK)
        remember(rulebook, of, shape);
    return p.status;
}
