// SPDX-License-Identifier: BSD-3-Clause
// One Lua state a script. The script's function is called for each rank with the same g (goal.h).
// The state is freed by mlt_lua_generate, the program belongs to it until the end.
#include "lua/generate.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>

#include "base/memory.h"
#include "lua/goal.h"
#include "lua/limit.h"

typedef struct request { // of mlt_lua_generate, for the protected call
    const char *name, *script;
    size_t length, args_count;
    const mlt_lua_arg *args;
    uint32_t ranks;
    void (*progress)(void *user, double done);
    void *user;
} request;

static void set_arguments(lua_State *L, const request *r)
{
    lua_newtable(L);
    for (size_t i = 0; i < r->args_count; i++)
        mlt_lua_set_text(L, r->args[i].name, r->args[i].value);
    lua_setglobal(L, "arg");
}

// Runs the script; what it returns is on the stack.
static void load(lua_State *L, const request *r)
{
    lua_pushfstring(L, "@%s", r->name);
    int status = luaL_loadbufferx(L, r->script, r->length, lua_tostring(L, -1), "t");
    if (status != LUA_OK)
        lua_error(L);
    lua_call(L, 0, 1);
}

static int protected_run(lua_State *L)
{
    const request *r = lua_touserdata(L, 1);
    mlt_lua_open(L);
    set_arguments(L, r);
    load(L, r);
    if (lua_type(L, -1) != LUA_TFUNCTION)
        luaL_error(
            L,
            "%s: the script should return a function(g, rank, p), not a %s, or say algorithm "
            "{ ... }",
            r->name, luaL_typename(L, -1));
    mlt_lua_push_g(L);
    uint32_t told = r->ranks / 256 + 1;
    for (uint32_t rank = 0; rank < r->ranks; rank++) {
        mlt_lua_limit_begin(L);
        mlt_lua_rank_begin(L, rank, r->ranks);
        lua_pushvalue(L, -2); // the function
        lua_pushvalue(L, -2); // g
        lua_pushinteger(L, rank);
        lua_pushinteger(L, r->ranks);
        lua_call(L, 3, 0);
        mlt_lua_rank_end(L);
        if (r->progress && rank % told == 0)
            r->progress(r->user, (double)rank / r->ranks);
    }
    if (r->progress)
        r->progress(r->user, 1);
    return 0;
}

static int is_called(lua_State *L)
{
    *(bool *)lua_touserdata(L, lua_upvalueindex(1)) = true;
    return luaL_error(L, "it is a rule book");
}

static int do_nothing(lua_State *L)
{
    return 0;
}

static int protected_look(lua_State *L)
{
    static const char *const words[] = {"rule", "algorithm", "path"};
    const request *r = lua_touserdata(L, 1);
    mlt_lua_open(L);
    set_arguments(L, r);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        lua_pushlightuserdata(L, r->user);
        lua_pushcclosure(L, is_called, 1);
        lua_setglobal(L, words[i]);
    }
    lua_pushcfunction(L, do_nothing);
    lua_setglobal(L, "print");
    load(L, r);
    return 0;
}

bool mlt_lua_is_rulebook(const char *name, const char *script, size_t length)
{
    bool rulebook = false;
    mlt_lua_goal c = {.rank = MLT_LUA_CLOSED, .limit = MLT_LUA_BOOK_STEPS};
    request r = {.name = name, .script = script, .length = length, .user = &rulebook};
    lua_State *L = mlt_lua_new(&c);
    if (!L)
        return false; // whoever reads it next says so
    char why[80];     // a mistake is told by whoever reads it next
    (void)!mlt_lua_run(L, protected_look, &r, name, why, sizeof why);
    lua_close(L);
    return rulebook;
}

mlt_status mlt_lua_generate(const char *name, const char *script, size_t length, uint32_t ranks,
                            const mlt_lua_arg *args, size_t args_count, uint64_t steps,
                            void (*progress)(void *user, double done), void *user,
                            mlt_goal_program **out, char *why, size_t why_size)
{
    if (!ranks || ranks > MLT_GOAL_MAX_RANKS)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "%s: the number of ranks must be 1 to %d, not %" PRIu32, name,
                        MLT_GOAL_MAX_RANKS, ranks);
    mlt_lua_goal c = {.rank = MLT_LUA_CLOSED, .limit = steps ? steps : MLT_LUA_SCRIPT_STEPS};
    request r = {name, script, length, args_count, args, ranks, progress, user};
    lua_State *L = mlt_lua_new(&c);
    if (!L)
        return mlt_fail(MLT_ERR_NO_MEMORY, why, why_size, "%s: " MLT_NO_ROOM "Lua", name);
    c.program = mlt_goal_program_new(ranks);
    bool fine = mlt_lua_run(L, protected_run, &r, name, why, why_size);
    lua_close(L);
    if (fine)
        *out = c.program;
    else
        mlt_goal_program_free(c.program);
    return fine ? MLT_OK : MLT_ERR_INVALID;
}
