// SPDX-License-Identifier: BSD-3-Clause
// Patterns are Lua's: for any bytes as a text and a pattern, string.find, match, gmatch and gsub
// say what the functions of the system's Lua say, errors included. Both are short: those know no
// limit.
#include "lua/match.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "lua/limit.h"
#include <fuzz/fuzz.h>

enum { LONGEST = 12 };

// What patterns are made of, beside letters of their own.
static const char *const words[] = {
    "a",  "b",  "ab",  ".",  "%a", "%D", "[ab]",   "[^a]",  "[a-c]", "[]a]", "[%w_]", "a*",
    "b+", ".-", "a?",  "(",  ")",  "()", "%1",     "^",     "$",     "%b()", "%f[b]", "%%",
    "%",  "[",  "x",   "]",  "%z", "-",  "%g-",    "[a-]",  "[^]",   "%f",   "%b",    "[%a-z]",
    "*",  "%W", "%S*", "%2", "%0", "+",  "[%]a]*", "[^%s]", "%u",    "%p",   "%c",    "%x",
};
enum { WORDS = sizeof words / sizeof *words };

static const char compare[] =
    "local stock, own = ...\n"
    "local function said(f, ...)\n"
    "  local all = table.pack(pcall(f, ...))\n"
    "  for i = 1, all.n do all[i] = tostring(all[i]) end\n"
    "  return table.concat(all, '|')\n"
    "end\n"
    "local function list(gmatch, s, p, init)\n"
    "  local t = {}\n"
    "  for a, b in gmatch(s, p, init) do t[#t + 1] = tostring(a) .. ',' .. tostring(b) end\n"
    "  return table.concat(t, ';')\n"
    "end\n"
    "local function alike(name, a, b, s, p, init, repl)\n"
    "  if a ~= b then\n"
    "    error(string.format('%s %q %q %d %q: %s, but Lua says %s', name, s, p, init, repl, b, "
    "a))\n"
    "  end\n"
    "end\n"
    "local map = {a = 'A', b = false, ab = 12, [1] = 'one', [2] = {}}\n"
    "local function f(x, y) return x ~= 'b' and (y or x) end\n"
    "return function(s, p, init, repl)\n"
    "  local function both(name, ...)\n"
    "    alike(name, said(stock[name], s, p, ...), said(own[name], s, p, ...), s, p, init, repl)\n"
    "  end\n"
    "  both('find', init) both('match', init) both('find', init, true)\n"
    "  both('gsub', repl) both('gsub', repl, init) both('gsub', map) both('gsub', f, 3)\n"
    "  alike('gmatch', said(list, stock.gmatch, s, p, init), said(list, own.gmatch, s, p, init),\n"
    "        s, p, init, repl)\n"
    "end\n";

static mlt_lua_goal goal = {.rank = MLT_LUA_CLOSED, .limit = UINT64_MAX};

static int protected_open(lua_State *L)
{
    luaL_openlibs(L);
    if (luaL_loadbuffer(L, compare, sizeof compare - 1, "=compare") != LUA_OK)
        lua_error(L);
    lua_getglobal(L, LUA_STRLIBNAME);
    lua_newtable(L);
    mlt_lua_match_open(L);
    lua_call(L, 2, 1);
    lua_setglobal(L, "compare");
    return 0;
}

static lua_State *state(void)
{
    static lua_State *L;
    if (L)
        return L;
    L = mlt_lua_new(&goal);
    lua_pushcfunction(L, protected_open);
    if (mlt_lua_call(L, 0, 0) != LUA_OK)
        mlt_fatal("%s", lua_tostring(L, -1));
    return L;
}

// A byte of a pattern is a word, or above all words itself.
static void push_pattern(lua_State *L, const uint8_t *bytes, size_t size)
{
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (size_t i = 0; i < size && i < LONGEST; i++)
        if (bytes[i] % 64 < WORDS)
            luaL_addstring(&b, words[bytes[i] % 64]);
        else
            luaL_addchar(&b, (char)bytes[i]);
    luaL_pushresult(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char letters[] = "aab(b)c%x0 1"; // and the NUL behind them
    if (size < 3)
        return 0;
    size_t pattern = bytes[0] % (LONGEST + 1), rest = size - 2;
    pattern = pattern < rest ? pattern : rest;
    size_t length = rest - pattern < 2 * LONGEST ? rest - pattern : 2 * LONGEST;
    char text[2 * LONGEST + 1], with[4] = {'%', (char)bytes[size - 1], 'y', '\0'};
    for (size_t i = 0; i < length; i++)
        text[i] = letters[bytes[2 + pattern + i] % sizeof letters];
    lua_State *L = state();
    lua_getglobal(L, "compare");
    lua_pushlstring(L, text, length);
    push_pattern(L, bytes + 2, pattern);
    lua_pushinteger(L, (signed char)bytes[1] / 4);
    lua_pushstring(L, with);
    if (mlt_lua_call(L, 4, 0) != LUA_OK)
        mlt_fatal("%s", lua_tostring(L, -1));
    lua_settop(L, 0);
    return 0;
}
