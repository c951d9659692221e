// SPDX-License-Identifier: BSD-3-Clause
// Functions of a rule book that change what passes (coll/alter.h): they are called element by
// element, with numbers.
#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include "coll/alter.h"
#include "lua/limit.h"
#include "lua/rulebook_int.h"

typedef struct altering { // for the protected call
    int function;
    const mlt_coll_passing *passing;
    mlt_op_type type;
    unsigned char *data;
    const unsigned char *lower, *higher; // fold
    uint64_t count;
    bool drops;
} altering;

static void push_passing(lua_State *L, const mlt_coll_passing *p)
{
    static const char *const fields[] = {"name", "coll",  "rank",   "ranks",
                                         "root", "bytes", "worker", NULL};
    lua_createtable(L, 0, 7);
    mlt_lua_known_fields(L, "what passes", fields);
    mlt_lua_set_text(L, "name", p->name);
    mlt_lua_set_text(L, "coll", mlt_collective_names[p->collective]);
    mlt_lua_set_number(L, "rank", p->rank);
    mlt_lua_set_number(L, "ranks", p->ranks);
    mlt_lua_set_number(L, "root", p->root);
    mlt_lua_set_number(L, "bytes", p->bytes);
    mlt_lua_set_bool(L, "worker", p->worker);
}

// ---- elements

// Numbers of 64 bits without a sign are those with one of the same bits, as in Lua.
static void push_element(lua_State *L, mlt_op_type type, const unsigned char *at)
{
    int64_t whole = 0;
    float single;
    double number;
    uint32_t bits = 8 * mlt_op_type_bytes[type];
    switch (type) {
    case MLT_OP_FLOAT32:
        memcpy(&single, at, sizeof single);
        lua_pushnumber(L, single);
        return;
    case MLT_OP_FLOAT64:
        memcpy(&number, at, sizeof number);
        lua_pushnumber(L, number);
        return;
    default:
        memcpy(&whole, at, mlt_op_type_bytes[type]); // little-endian
        if (type <= MLT_OP_INT64)
            whole = (int64_t)((uint64_t)whole << (64 - bits)) >> (64 - bits);
        lua_pushinteger(L, whole);
    }
}

// The number at the top of the stack, which goes. Whole ones wrap around.
static void take_element(lua_State *L, mlt_op_type type, unsigned char *at)
{
    char text[80];
    int whole = 0;
    int64_t integer = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &whole) : 0;
    double number = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
    float single = (float)number;
    bool is_float = type == MLT_OP_FLOAT32 || type == MLT_OP_FLOAT64;
    if (lua_type(L, -1) != LUA_TNUMBER || (!is_float && !whole))
        luaL_error(L, "its function answers %s, but an element of %s is a %s",
                   mlt_lua_shown(L, -1, text), mlt_op_type_names[type],
                   is_float ? "number" : "whole number of at most 64 bits");
    if (type == MLT_OP_FLOAT32)
        memcpy(at, &single, sizeof single);
    else if (type == MLT_OP_FLOAT64)
        memcpy(at, &number, sizeof number);
    else
        memcpy(at, &integer, mlt_op_type_bytes[type]);
    lua_pop(L, 1);
}

// ---- the calls

static int protected_map(lua_State *L)
{
    altering *a = lua_touserdata(L, 1);
    uint32_t size = mlt_op_type_bytes[a->type];
    push_passing(L, a->passing);
    lua_rawgeti(L, LUA_REGISTRYINDEX, a->function);
    for (uint64_t i = 0; i < a->count; i++) {
        lua_pushvalue(L, -1);
        push_element(L, a->type, a->data + i * size);
        lua_pushinteger(L, (lua_Integer)i + 1);
        lua_pushvalue(L, -5);
        lua_call(L, 3, 1);
        take_element(L, a->type, a->data + i * size);
    }
    return 0;
}

static int protected_fold(lua_State *L)
{
    altering *a = lua_touserdata(L, 1);
    uint32_t size = mlt_op_type_bytes[a->type];
    lua_rawgeti(L, LUA_REGISTRYINDEX, a->function);
    for (uint64_t i = 0; i < a->count; i++) {
        lua_pushvalue(L, -1);
        push_element(L, a->type, a->lower + i * size);
        push_element(L, a->type, a->higher + i * size);
        lua_call(L, 2, 1);
        take_element(L, a->type, a->data + i * size);
    }
    return 0;
}

static int protected_drops(lua_State *L)
{
    altering *a = lua_touserdata(L, 1);
    char text[80];
    lua_rawgeti(L, LUA_REGISTRYINDEX, a->function);
    push_passing(L, a->passing);
    lua_call(L, 1, 1);
    if (!lua_isnil(L, -1) && !lua_isboolean(L, -1))
        luaL_error(L, "a drop's function answers true, false or nil, not %s",
                   mlt_lua_shown(L, -1, text));
    a->drops = lua_toboolean(L, -1);
    return 0;
}

bool mlt_lua_map(mlt_coll_rulebook *base, int function, const mlt_coll_passing *passing,
                 mlt_op_type type, void *data, uint64_t count, char *why, size_t why_size)
{
    altering a = {
        .function = function, .passing = passing, .type = type, .data = data, .count = count};
    return mlt_lua_rulebook_run((mlt_lua_rulebook *)base, protected_map, &a, why, why_size);
}

bool mlt_lua_drops(mlt_coll_rulebook *base, int function, const mlt_coll_passing *passing,
                   bool *drops, char *why, size_t why_size)
{
    altering a = {.function = function, .passing = passing};
    bool fine = mlt_lua_rulebook_run((mlt_lua_rulebook *)base, protected_drops, &a, why, why_size);
    *drops = a.drops;
    return fine;
}

bool mlt_lua_fold(mlt_coll_rulebook *base, int function, mlt_op_type type, void *result,
                  const void *lower, const void *higher, uint64_t count, char *why, size_t why_size)
{
    altering a = {.function = function,
                  .type = type,
                  .data = result,
                  .lower = lower,
                  .higher = higher,
                  .count = count};
    return mlt_lua_rulebook_run((mlt_lua_rulebook *)base, protected_fold, &a, why, why_size);
}
