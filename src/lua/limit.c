// SPDX-License-Identifier: BSD-3-Clause
#include "lua/limit.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>

#include "os/os.h"

enum {
    TICK = 1000,            // instructions from hook to hook,
    HEAVY_TICK = 10,        // and where one of them may go through this much memory:
    HEAVY_BYTES = 64 << 20, // comparing two texts, say
    SECONDS = 20            // of processor time for a call
};

static const uint64_t second_ns = 1000 * 1000 * 1000;

static void tick(lua_State *L, lua_Debug *unused);

static void spent(lua_State *L, int level, const char *format, uint64_t value)
{
    char sentence[80];
    mlt_lua_goal_of(L)->spent = true;
    lua_sethook(L, tick, LUA_MASKCOUNT, 1);
    luaL_where(L, level);
    snprintf(sentence, sizeof sentence, format, value);
    lua_pushstring(L, sentence);
    lua_concat(L, 2);
    lua_error(L);
}

// The clock of the processor's time costs a system call, the other one almost nothing: it says when
// to ask.
static bool is_late(mlt_lua_goal *c)
{
    uint64_t now = mlt_os_now_ns();
    if (now < c->look_ns)
        return false;
    c->look_ns = now + second_ns;
    return mlt_os_thread_ns() - c->begun_ns > SECONDS * second_ns;
}

static void charge(lua_State *L, uint64_t steps, int level)
{
    mlt_lua_goal *c = mlt_lua_goal_of(L);
    uint64_t left = c->limit - c->steps;
    if (c->spent || steps > left)
        spent(L, level, "it runs for too long: more than %" PRIu64 " steps", c->limit);
    c->steps += steps;
    if (is_late(c))
        spent(L, level, "it runs for too long: more than %" PRIu64 " seconds", SECONDS);
}

static void tick(lua_State *L, lua_Debug *unused)
{
    mlt_lua_goal *c = mlt_lua_goal_of(L);
    int due = c->used > HEAVY_BYTES ? HEAVY_TICK : TICK;
    int was = lua_gethookcount(L);
    if (due != was)
        lua_sethook(L, tick, LUA_MASKCOUNT, due);
    charge(L, (uint64_t)was, 0);
}

void mlt_lua_charge(lua_State *L, uint64_t steps)
{
    charge(L, steps, 1);
}

void mlt_lua_limit_begin(lua_State *L)
{
    mlt_lua_goal *c = mlt_lua_goal_of(L);
    c->steps = 0;
    c->spent = false;
    c->begun_ns = mlt_os_thread_ns();
    c->look_ns = mlt_os_now_ns() + second_ns;
    lua_sethook(L, tick, LUA_MASKCOUNT, TICK);
}

int mlt_lua_call(lua_State *L, int arguments, int results)
{
    int function = lua_gettop(L) - arguments;
    lua_pushcfunction(L, mlt_lua_sentence);
    lua_insert(L, function);
    mlt_lua_limit_begin(L);
    int status = lua_pcall(L, arguments, results, function);
    lua_sethook(L, NULL, 0, 0);
    lua_remove(L, function);
    mlt_lua_goal_of(L)->total += mlt_lua_goal_of(L)->steps;
    return status;
}

bool mlt_lua_run(lua_State *L, int (*run)(lua_State *L), void *arg, const char *name, char *why,
                 size_t why_size)
{
    lua_pushcfunction(L, run);
    lua_pushlightuserdata(L, arg);
    int status = mlt_lua_call(L, 1, 0);
    if (status != LUA_OK)
        mlt_lua_explain(L, status, name, why, why_size);
    lua_settop(L, 0);
    return status == LUA_OK;
}
