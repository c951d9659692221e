// SPDX-License-Identifier: BSD-3-Clause
#include "lua/library.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/character.h"
#include "lua/limit.h"
#include "lua/match.h"

enum { SEED = 20091115 }; // math.random gives the same numbers in each run

// Lua's hash seed differs from state to state, and with it the order of `next`; its sort takes a
// pivot by the clock. Written in Lua, these are counted by the hook as they are.
static const char prelude[] =
    "local next, type, error, rawget = next, type, error, rawget\n"
    "local getmetatable, format = getmetatable, string.format\n"
    "local function ordered(kind) return kind == 'number' or kind == 'string' end\n"
    "local function before(a, b)\n"
    "  local x, y = type(a), type(b)\n"
    "  if x ~= y then return x < y end\n"
    "  if ordered(x) then return a < b end\n"
    "  return x == 'boolean' and b and not a\n" // of the others there is one at most
    "end\n"
    // From list to list and back, runs of 1, 2, 4, ...: equal elements stay as they are.
    "local function merge(from, to, low, middle, high, less)\n"
    "  local i, j = low, middle\n"
    "  for k = low, high - 1 do\n"
    "    if i < middle and (j >= high or not less(from[j], from[i])) then\n"
    "      to[k] = from[i] i = i + 1\n"
    "    else to[k] = from[j] j = j + 1 end\n"
    "  end\n"
    "end\n"
    "local function sorted(list, n, less)\n"
    "  local other, width = {}, 1\n"
    "  while width < n do\n"
    "    for low = 1, n, 2 * width do\n"
    "      local middle, high = low + width, low + 2 * width\n"
    "      if middle > n + 1 then middle = n + 1 end\n"
    "      if high > n + 1 then high = n + 1 end\n"
    "      merge(list, other, low, middle, high, less)\n"
    "    end\n"
    "    list, other, width = other, list, 2 * width\n"
    "  end\n"
    "  return list\n"
    "end\n"
    "function table.sort(t, less)\n"
    "  if type(t) ~= 'table' then\n"
    "    error(format(\"bad argument #1 to 'sort' (table expected, got %s)\", type(t)), 2)\n"
    "  end\n"
    "  if less ~= nil and type(less) ~= 'function' then\n"
    "    error(format(\"bad argument #2 to 'sort' (function expected, got %s)\","
    " type(less)), 2)\n"
    "  end\n"
    "  local n, list = #t, {}\n"
    "  for i = 1, n do list[i] = t[i] end\n"
    "  list = sorted(list, n, less or function(a, b) return a < b end)\n"
    "  for i = 1, n do t[i] = list[i] end\n"
    "end\n"
    "local function keys_of(t)\n"
    "  local keys, n, in_order, seen = {}, 0, true, {}\n"
    "  for k in next, t do\n"
    "    local kind = type(k)\n"
    "    if not ordered(kind) and kind ~= 'boolean' then\n"
    "      if seen[kind] then\n"
    "        error('keys that are ' .. kind .. 's have no order: their addresses differ from rank '"
    " .. 'to rank and from run to run; use names or numbers', 3)\n"
    "      end\n"
    "      seen[kind] = true\n"
    "    end\n"
    "    if n > 0 and in_order then in_order = before(keys[n], k) end\n"
    "    n = n + 1 keys[n] = k\n"
    "  end\n"
    "  if not in_order then keys = sorted(keys, n, before) end\n"
    "  return keys, n\n"
    "end\n"
    "local function check(t, name)\n"
    "  if type(t) ~= 'table' then\n"
    "    error(format(\"bad argument #1 to '%s' (table expected, got %s)\", name,"
    " t == nil and 'nil' or type(t)), 3)\n"
    "  end\n"
    "end\n"
    "function pairs(t)\n"
    "  local meta = getmetatable(t)\n"
    "  local own = type(meta) == 'table' and rawget(meta, '__pairs')\n"
    "  if own then\n"
    "    local a, b, c = own(t)\n"
    "    return a, b, c\n"
    "  end\n"
    "  check(t, 'pairs')\n"
    "  local keys, n = keys_of(t)\n"
    "  local i = 0\n"
    "  return function()\n"
    "    while i < n do\n"
    "      i = i + 1\n"
    "      local value = rawget(t, keys[i])\n"
    "      if value ~= nil then return keys[i], value end\n"
    "    end\n"
    "  end, t, nil\n"
    "end\n"
    "function _ENV.next(t, key)\n"
    "  check(t, 'next')\n"
    "  local keys, n = keys_of(t)\n"
    "  for i = 1, n do\n"
    "    if key == nil or before(key, keys[i]) then return keys[i], rawget(t, keys[i]) end\n"
    "  end\n"
    "  return nil\n"
    "end\n";

// ---- texts of values

// A table, a function: the number that it got when it was first shown.
static lua_Integer number_of(lua_State *L, int index)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "numbers");
    lua_pushvalue(L, index);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_pushvalue(L, index);
        lua_pushinteger(L, (lua_Integer)++mlt_lua_goal_of(L)->shown);
        lua_pushvalue(L, -1);
        lua_insert(L, -3);
        lua_rawset(L, -4);
    }
    lua_Integer number = lua_tointeger(L, -1);
    lua_pop(L, 2);
    return number;
}

// As luaL_tolstring, without addresses. The text is on the stack.
static const char *push_text(lua_State *L, int index, size_t *length)
{
    index = lua_absindex(L, index);
    int type = lua_type(L, index);
    bool own = luaL_getmetafield(L, index, "__tostring") != LUA_TNIL;
    if (own)
        lua_pop(L, 1);
    if (own || (type != LUA_TTABLE && type != LUA_TFUNCTION && type != LUA_TUSERDATA &&
                type != LUA_TTHREAD && type != LUA_TLIGHTUSERDATA))
        return luaL_tolstring(L, index, length);
    const char *name = luaL_typename(L, index);
    if (luaL_getmetafield(L, index, "__name") == LUA_TSTRING)
        name = lua_tostring(L, -1);
    else
        lua_pushnil(L); // it is in place of the name
    lua_pushfstring(L, "%s: %I", name, (LUAI_UACINT)number_of(L, index));
    lua_remove(L, -2);
    return lua_tolstring(L, -1, length);
}

static int l_tostring(lua_State *L)
{
    luaL_checkany(L, 1);
    push_text(L, 1, NULL);
    return 1;
}

// A terminal does what control characters say; whoever runs a script has not asked for that.
static void add_shown(luaL_Buffer *b, const char *text, size_t length)
{
    const char *end = text + length;
    while (text < end) {
        bool shown;
        size_t n = mlt_character(text, end, &shown);
        if (shown || *text == '\t' || *text == '\n')
            luaL_addlstring(b, text, n);
        else
            for (size_t i = 0; i < n; i++) {
                char code[8];
                snprintf(code, sizeof code, "\\x%02x", (unsigned char)text[i]);
                luaL_addstring(b, code);
            }
        text += n;
    }
}

// To standard error: the program itself may go to standard output.
static int l_print(lua_State *L)
{
    int count = lua_gettop(L);
    for (int i = 1; i <= count; i++) {
        size_t length;
        push_text(L, i, &length);
        lua_replace(L, i);
        mlt_lua_charge(L, length);
    }
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = 1; i <= count; i++) {
        size_t length;
        const char *text = lua_tolstring(L, i, &length);
        if (i > 1)
            luaL_addchar(&b, '\t');
        add_shown(&b, text, length);
    }
    luaL_addchar(&b, '\n');
    luaL_pushresult(&b);
    size_t length;
    const char *line = lua_tolstring(L, -1, &length);
    fwrite(line, 1, length, stderr);
    return 0;
}

// ---- functions that call Lua's own, which is their upvalue

static int call_own(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

// The letter of the conversion whose '%' is at `at`; *after: where it ends.
static char conversion(const char *at, const char *end, const char **after)
{
    at++;
    while (at < end && *at && strchr("-+ #0123456789.", *at))
        at++;
    *after = at < end ? at + 1 : end;
    return at < end ? *at : '\0';
}

// %s of a table would show its address, as %p does.
static int l_format(lua_State *L)
{
    size_t length;
    const char *at = luaL_checklstring(L, 1, &length), *end = at + length;
    int argument = 1, count = lua_gettop(L);
    while ((at = memchr(at, '%', (size_t)(end - at)))) {
        char letter = conversion(at, end, &at);
        if (letter == '%')
            continue;
        argument++;
        if (letter == 'p')
            luaL_error(L, "format: %%p shows an address, which differs from rank to rank and from "
                          "run to run");
        if (letter != 's' || argument > count || lua_isstring(L, argument))
            continue;
        push_text(L, argument, NULL);
        lua_replace(L, argument);
    }
    return call_own(L);
}

static uint64_t distance(lua_Integer from, lua_Integer to)
{
    return to < from ? 0 : (uint64_t)to - (uint64_t)from;
}

static int l_rep(lua_State *L)
{
    lua_Integer n = luaL_checkinteger(L, 2);
    mlt_lua_charge(L, distance(0, n) / 16); // of nothing it may be any number
    return call_own(L);
}

static int l_move(lua_State *L)
{
    mlt_lua_charge(L, distance(luaL_checkinteger(L, 2), luaL_checkinteger(L, 3)));
    return call_own(L);
}

static int l_concat(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Integer last = lua_isnoneornil(L, 4) ? luaL_len(L, 1) : luaL_checkinteger(L, 4);
    if (lua_gettop(L) < 4)
        lua_settop(L, 4);
    lua_pushinteger(L, last);
    lua_replace(L, 4); // __len is not asked again: it may say something else
    mlt_lua_charge(L, distance(luaL_optinteger(L, 3, 1), last));
    return call_own(L);
}

// What comes after the place moves by one.
static int shift(lua_State *L, int place, int arguments)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    if (lua_gettop(L) < arguments)
        return call_own(L);
    if (luaL_getmetafield(L, 1, "__len") != LUA_TNIL)
        luaL_error(L, "a table with __len cannot be shifted: its length could be anything");
    lua_Integer length = (lua_Integer)luaL_len(L, 1);
    mlt_lua_charge(L, distance(luaL_checkinteger(L, place), length));
    return call_own(L);
}

static int l_insert(lua_State *L)
{
    return shift(L, 2, 3);
}

static int l_remove(lua_State *L)
{
    return shift(L, 2, 2);
}

// Finalizers run at any time, and without a hook.
static int l_setmetatable(lua_State *L)
{
    if (lua_istable(L, 2)) {
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL)
            luaL_error(L, "setmetatable: scripts have no __gc: when it would run differs from rank "
                          "to rank");
        lua_pop(L, 1);
    }
    return call_own(L);
}

// Without a number it would take one from the clock.
static int l_randomseed(lua_State *L)
{
    if (lua_gettop(L) == 0)
        lua_pushinteger(L, SEED);
    return call_own(L);
}

// The handler runs when the function has been left: without the debug library it sees no
// difference, and inside it would run without a hook. Stack: handler, function, its arguments.
static int l_xpcall(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_pushvalue(L, 1);
    lua_copy(L, 2, 1);
    lua_replace(L, 2);
    if (lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0) == LUA_OK) {
        lua_pushboolean(L, 1);
        lua_replace(L, 1);
        return lua_gettop(L);
    }
    if (lua_pcall(L, 1, LUA_MULTRET, 0) != LUA_OK)
        lua_settop(L, 1); // the handler's own error
    lua_pushboolean(L, 0);
    lua_insert(L, 1);
    return lua_gettop(L);
}

// ---- the state

static const struct {
    const char *library, *name; // NULL: global
    lua_CFunction run;
} replaced[] = {
    {NULL, "print", l_print},
    {NULL, "tostring", l_tostring},
    {NULL, "setmetatable", l_setmetatable},
    {NULL, "xpcall", l_xpcall},
    {LUA_STRLIBNAME, "format", l_format},
    {LUA_STRLIBNAME, "rep", l_rep},
    {LUA_TABLIBNAME, "move", l_move},
    {LUA_TABLIBNAME, "concat", l_concat},
    {LUA_TABLIBNAME, "insert", l_insert},
    {LUA_TABLIBNAME, "remove", l_remove},
    {LUA_MATHLIBNAME, "randomseed", l_randomseed},
};

static void replace(lua_State *L)
{
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
        if (replaced[i].library)
            lua_getglobal(L, replaced[i].library);
        else
            lua_pushglobaltable(L);
        lua_getfield(L, -1, replaced[i].name);
        lua_pushcclosure(L, replaced[i].run, 1);
        lua_setfield(L, -2, replaced[i].name);
        lua_pop(L, 1);
    }
    lua_getglobal(L, LUA_STRLIBNAME);
    mlt_lua_match_open(L);
    lua_pop(L, 1);
}

static void remove_globals(lua_State *L)
{
    // No files, no byte code, which Lua does not check; the collector is nobody's business, and
    // warnings go nowhere.
    static const char *const gone[] = {"dofile", "loadfile", "load", "collectgarbage", "warn"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        lua_pushnil(L);
        lua_setglobal(L, gone[i]);
    }
}

// "numbers" of the registry: what has been shown; its keys are weak.
static void open_numbers(lua_State *L)
{
    lua_newtable(L);
    lua_newtable(L);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_setfield(L, LUA_REGISTRYINDEX, "numbers");
}

void mlt_lua_library_open(lua_State *L)
{
    luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
    luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 1);
    luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 1);
    luaL_requiref(L, LUA_UTF8LIBNAME, luaopen_utf8, 1);
    luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 1);
    lua_getfield(L, -1, "randomseed");
    lua_pushinteger(L, SEED);
    lua_call(L, 1, 0);
    lua_settop(L, 0);
    open_numbers(L);
    replace(L);
    remove_globals(L);
    if (luaL_loadbufferx(L, prelude, sizeof prelude - 1, "=library", "t") != LUA_OK)
        lua_error(L);
    lua_call(L, 0, 0);
}

void mlt_lua_library_without_chance(lua_State *L)
{
    lua_getglobal(L, LUA_MATHLIBNAME);
    lua_pushnil(L);
    lua_setfield(L, -2, "random");
    lua_pushnil(L);
    lua_setfield(L, -2, "randomseed");
    lua_pop(L, 1);
}
