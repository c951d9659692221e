// SPDX-License-Identifier: BSD-3-Clause
// Wrappers of a user's own: functions of a rule book that see each operation that is intercepted (coll/intercept.h).
#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lua/limit.h"
#include "lua/rulebook_int.h"

enum { MOST_US = 60000000 }; // a minute

typedef struct seeing { // for the protected call
    const mlt_intercept_wrapper *wrapper;
    const mlt_intercept_event *event;
    mlt_intercept_answer *answer;
} seeing;

static void push_event(lua_State *L, const mlt_intercept_event *e)
{
    static const char *const fields[] = {"kind",  "name", "call", "rank",
                                         "bytes", "peer", "tag",  NULL};
    lua_createtable(L, 0, 7);
    mlt_lua_known_fields(L, "an event", fields);
    mlt_lua_set_text(L, "kind", mlt_intercept_kind_names[e->kind]);
    mlt_lua_set_text(L, "name", e->name);
    mlt_lua_set_text(L, "call", e->call);
    mlt_lua_set_number(L, "rank", (uint64_t)e->rank);
    mlt_lua_set_number(L, "bytes", e->bytes);
    if (e->peer >= 0)
        mlt_lua_set_number(L, "peer", (uint64_t)e->peer);
    if (e->tag >= 0)
        mlt_lua_set_number(L, "tag", (uint64_t)e->tag);
}

// nil, or microseconds to wait; then nil, or a line for the log.
static int protected_see(lua_State *L)
{
    seeing *s = lua_touserdata(L, 1);
    char text[80];
    lua_rawgeti(L, LUA_REGISTRYINDEX, s->wrapper->function);
    push_event(L, s->event);
    lua_call(L, 1, 2);
    double us = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : 0;
    if ((!lua_isnil(L, -2) && lua_type(L, -2) != LUA_TNUMBER) || !(us >= 0 && us <= MOST_US))
        return luaL_error(L, "a wrapper answers nil or up to %d microseconds, not %s", MOST_US,
                          mlt_lua_shown(L, -2, text));
    if (!lua_isnil(L, -1) && lua_type(L, -1) != LUA_TSTRING)
        return luaL_error(L, "the second answer of a wrapper is nil or a line for the log, not %s",
                          mlt_lua_shown(L, -1, text));
    s->answer->delay_us = (uint64_t)ceil(us);
    if (lua_type(L, -1) == LUA_TSTRING)
        snprintf(s->answer->line, sizeof s->answer->line, "%s", lua_tostring(L, -1));
    s->answer->line[strcspn(s->answer->line, "\n")] = '\0';
    return 0;
}

bool mlt_lua_saw(mlt_coll_rulebook *base, const mlt_intercept_wrapper *wrapper,
                 const mlt_intercept_event *event, mlt_intercept_answer *answer, char *why,
                 size_t why_size)
{
    seeing s = {wrapper, event, answer};
    return mlt_lua_rulebook_run((mlt_lua_rulebook *)base, protected_see, &s, why, why_size);
}
