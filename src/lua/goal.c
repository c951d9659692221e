// SPDX-License-Identifier: BSD-3-Clause
#include "lua/goal.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/character.h"
#include "base/text.h"
#include "coll/alg/alg.h"
#include "goal/derive.h"
#include "goal/text/text.h"
#include "lua/library.h"

typedef struct address { // userdata: a place in a named buffer
    uint32_t rank, buf;
    int64_t at;
    uint64_t call; // of the user's function that declared it
} address;

static const char *const address_type = "GOAL address", *const goal_type = "GOAL";

mlt_lua_goal *mlt_lua_goal_of(lua_State *L)
{
    return *(mlt_lua_goal **)lua_getextraspace(L);
}

static void *allocate(void *user, void *old, size_t old_size, size_t size)
{
    mlt_lua_goal *c = user;
    if (!old)
        old_size = 0; // then it is a kind of object
    if (!size) {
        free(old);
        c->used -= old_size;
        return NULL;
    }
    if (c->used - old_size + size > MLT_LUA_MEMORY)
        return NULL;
    void *memory = realloc(old, size);
    if (memory)
        c->used += size - old_size;
    return memory;
}

lua_State *mlt_lua_new(mlt_lua_goal *goal)
{
    lua_State *L = lua_newstate(allocate, goal);
    if (L)
        *(mlt_lua_goal **)lua_getextraspace(L) = goal;
    return L;
}

// ---- arguments of g's functions

typedef struct call {
    lua_State *L;
    mlt_lua_goal *c;
    const char *name; // "send"
    mlt_goal_rank *rank;
} call;

static _Noreturn MLT_PRINTF(2, 3) void fail(const call *f, const char *format, ...)
{
    char sentence[400];
    MLT_TEXT_PRINT(sentence, sizeof sentence, format);
    luaL_error(f->L, "%s: %s", f->name, sentence);
    abort(); // luaL_error does not return, but does not say so
}

const char *mlt_lua_shown(lua_State *L, int index, char text[80])
{
    switch (lua_type(L, index)) {
    case LUA_TNONE:
    case LUA_TNIL:
        return "nil";
    case LUA_TSTRING:
        snprintf(text, 80, "\"%.60s\"", lua_tostring(L, index));
        return text;
    case LUA_TNUMBER:
        lua_pushvalue(L, index); // lua_tostring would change the original
        snprintf(text, 80, "%s", lua_tostring(L, -1));
        lua_pop(L, 1);
        return text;
    case LUA_TBOOLEAN:
        return lua_toboolean(L, index) ? "true" : "false";
    default:
        snprintf(text, 80, "a %s", luaL_typename(L, index));
        return text;
    }
}

static const char *shown(const call *f, int index, char text[80])
{
    return mlt_lua_shown(f->L, index, text);
}

// Argument 1 is g, then come `least` to `most` others.
static call goal_begin(lua_State *L, const char *name, int least, int most)
{
    call f = {L, mlt_lua_goal_of(L), name, NULL};
    if (!luaL_testudata(L, 1, goal_type))
        fail(&f, "its first argument should be g, as in g:%s(...) with a colon", name);
    if (f.c->rank == MLT_LUA_CLOSED)
        fail(&f, "g is only for the function that it was given to, while that runs");
    f.rank = &f.c->program->rank[f.c->slot];
    int given = lua_gettop(L) - 1;
    if (given >= least && given <= most)
        return f;
    if (least == most)
        fail(&f, "it takes %d argument%s, but got %d", least, least == 1 ? "" : "s", given);
    fail(&f, "it takes %d to %d arguments, but got %d", least, most, given);
}

static int64_t integer(const call *f, int index, const char *what, int64_t least, int64_t most)
{
    int is_number;
    lua_Integer value = 0;
    char text[80];
    if (lua_type(f->L, index) == LUA_TNUMBER) // "7" is a mistake
        value = lua_tointegerx(f->L, index, &is_number);
    else
        is_number = 0;
    if (!is_number)
        fail(f, "the %s should be a whole number, not %s", what, shown(f, index, text));
    if (value < least || value > most)
        fail(f, "the %s is %" PRId64 ", but should be %" PRId64 " to %" PRId64, what,
             (int64_t)value, least, most);
    return value;
}

static int32_t peer(const call *f, int index, const char *what)
{
    return (int32_t)integer(f, index, what, 0, (int64_t)f->c->ranks - 1);
}

static int32_t tag(const call *f, int index)
{
    return lua_isnoneornil(f->L, index) ? 0 : (int32_t)integer(f, index, "tag", 0, INT32_MAX);
}

static uint32_t action(const call *f, int index, const char *what)
{
    if (!f->rank->count)
        fail(f, "there is no action yet; send, recv, exec, calc and nop make some");
    return (uint32_t)integer(f, index, what, 0, (int64_t)f->rank->count - 1);
}

// Two arguments: where, and how many bytes.
static mlt_goal_span span(const call *f, int index)
{
    uint64_t size = (uint64_t)integer(f, index + 1, "size", 0, INT64_MAX);
    address *at = luaL_testudata(f->L, index, address_type);
    if (!at) {
        char text[80];
        int is_number;
        lua_Integer plain = lua_tointegerx(f->L, index, &is_number);
        if (!is_number || lua_type(f->L, index) != LUA_TNUMBER)
            fail(f, "the address should be a buffer, one with an offset, or a whole number, not %s",
                 shown(f, index, text));
        if (plain < 0 || (uint64_t)plain > INT64_MAX - size)
            fail(f, "the address is %" PRId64 ", but should be 0 or more, and its end below 2^63",
                 (int64_t)plain);
        return (mlt_goal_span){MLT_GOAL_MEMORY, (uint64_t)plain, size};
    }
    if (at->rank != f->c->rank)
        fail(f, "this buffer belongs to rank %" PRIu32 "; each rank declares its own", at->rank);
    if (at->call != f->c->call)
        fail(f, "this buffer was declared by an earlier call of the function; each declares its "
                "own");
    const mlt_goal_buffer *buffer = &f->rank->buffers[at->buf - 1];
    if (at->at < 0 || (uint64_t)at->at > buffer->size || size > buffer->size - (uint64_t)at->at)
        fail(f,
             "bytes %" PRId64 " and the %" PRIu64 " from there are not all in the buffer %s, "
             "which has %" PRIu64,
             at->at, size, mlt_goal_name_text(f->c->program, buffer->name), buffer->size);
    return (mlt_goal_span){at->buf, (uint64_t)at->at, size};
}

// An identifier that GOAL text can say in either dialect.
static const char *identifier(const call *f, int index, const char *what)
{
    char text[80];
    size_t length;
    if (lua_type(f->L, index) != LUA_TSTRING)
        fail(f, "the %s should be a string, not %s", what, shown(f, index, text));
    const char *name = lua_tolstring(f->L, index, &length);
    if (!mlt_goal_is_identifier(MLT_GOAL_PAPER, name, length))
        fail(f,
             "the %s is %s, but should be letters, digits and underscores, a letter first, and no "
             "word of GOAL",
             what, shown(f, index, text));
    return name;
}

// ---- what g can do

// Adds the action and returns its number to Lua.
static int add(const call *f, mlt_goal_action *a)
{
    lua_Debug caller;
    if (lua_getstack(f->L, 1, &caller) && lua_getinfo(f->L, "l", &caller) && caller.currentline > 0)
        a->line = (uint32_t)caller.currentline;
    lua_pushinteger(f->L, mlt_goal_add(f->c->program, f->c->slot, a));
    return 1;
}

// Functions that come in pairs know by their upvalue which of both they are.
static bool is_second(lua_State *L)
{
    return lua_toboolean(L, lua_upvalueindex(1));
}

static int g_message(lua_State *L)
{
    bool recv = is_second(L);
    call f = goal_begin(L, recv ? "recv" : "send", 3, 4);
    mlt_goal_span s = span(&f, 2);
    mlt_goal_action a = {.kind = recv ? MLT_GOAL_RECV : MLT_GOAL_SEND,
                         .buf = {s.buf},
                         .at = {s.at},
                         .size = {s.size}};
    a.peer = peer(&f, 4, recv ? "sender" : "receiver");
    a.tag = tag(&f, 5);
    return add(&f, &a);
}

// "sumInt32", or the number of one of the user's functions.
static void function(const call *f, int index, mlt_goal_action *a)
{
    char text[80];
    if (lua_type(f->L, index) == LUA_TNUMBER) {
        a->kind = MLT_GOAL_USER;
        a->user = (uint16_t)integer(f, index, "function's number", 0, UINT16_MAX);
        return;
    }
    const char *name = lua_type(f->L, index) == LUA_TSTRING ? lua_tostring(f->L, index) : "";
    mlt_op op = MLT_OPS;
    mlt_op_type type = MLT_OP_TYPES;
    if (!mlt_goal_function(name, &op, &type) || op == MLT_OPS || type == MLT_OP_TYPES)
        fail(f,
             "the function should be an operation and a type such as \"sumInt32\" or "
             "\"maxFloat64\", or the number of one of the user's, not %s",
             shown(f, index, text));
    a->kind = MLT_GOAL_EXEC;
    a->op = (uint8_t)op;
    a->type = (uint8_t)type;
}

static int g_exec(lua_State *L)
{
    bool reversed = is_second(L);
    call f = goal_begin(L, reversed ? "exec_reversed" : "exec", 5, 5);
    mlt_goal_action a = {.flags = reversed ? MLT_GOAL_REVERSED : 0};
    function(&f, 2, &a);
    mlt_goal_span first = span(&f, 3), second = span(&f, 5);
    if (a.kind == MLT_GOAL_EXEC) {
        uint8_t element = mlt_op_type_bytes[a.type];
        if (first.size != second.size)
            fail(&f, "both sizes should be the same, not %" PRIu64 " and %" PRIu64, first.size,
                 second.size);
        if (first.size % element)
            fail(&f, "%" PRIu64 " bytes are no whole number of %s, which have %u", first.size,
                 mlt_op_type_names[a.type], element);
    } else if (reversed && !f.c->reverses)
        fail(&f, "the user's functions say themselves which operand comes first; use exec");
    memcpy(a.buf, (uint32_t[]){first.buf, second.buf}, sizeof a.buf);
    memcpy(a.at, (uint64_t[]){first.at, second.at}, sizeof a.at);
    memcpy(a.size, (uint64_t[]){first.size, second.size}, sizeof a.size);
    return add(&f, &a);
}

static int g_calc(lua_State *L)
{
    call f = goal_begin(L, "calc", 1, 2);
    mlt_goal_action a = {.kind = MLT_GOAL_CALC};
    a.size[0] = (uint64_t)integer(&f, 2, "time in ns", 0, INT64_MAX);
    if (!lua_isnoneornil(L, 3))
        a.cpu = (uint8_t)integer(&f, 3, "cpu", 0, UINT8_MAX);
    return add(&f, &a);
}

static int g_nop(lua_State *L)
{
    call f = goal_begin(L, "nop", 0, 0);
    mlt_goal_action a = {.kind = MLT_GOAL_NOP};
    return add(&f, &a);
}

static int g_require(lua_State *L)
{
    bool started = is_second(L);
    call f = goal_begin(L, started ? "irequ" : "requ", 2, 2);
    uint32_t a = action(&f, 2, "first action"), b = action(&f, 3, "second action");
    if (a == b)
        fail(&f, "action %" PRIu32 " cannot wait for itself", a);
    mlt_goal_require(f.c->program, f.c->slot, a, b | (started ? MLT_GOAL_STARTED : 0));
    return 0;
}

static int push_address(lua_State *L, address value)
{
    address *at = lua_newuserdatauv(L, sizeof *at, 0);
    *at = value;
    luaL_setmetatable(L, address_type);
    return 1;
}

static int g_buffer(lua_State *L)
{
    call f = goal_begin(L, "buffer", 2, 2);
    const char *name = identifier(&f, 2, "name");
    uint64_t size = (uint64_t)integer(&f, 3, "size", 0, INT64_MAX);
    if (mlt_goal_buffer_find(f.c->program, f.c->slot, name) != MLT_GOAL_NOWHERE)
        fail(&f, "this rank has a buffer %s already", name);
    uint32_t buf = mlt_goal_buffer_add(f.c->program, f.c->slot, name, size);
    return push_address(L, (address){f.c->rank, buf, 0, f.c->call});
}

static int g_label(lua_State *L)
{
    call f = goal_begin(L, "label", 2, 2);
    uint32_t a = action(&f, 2, "action");
    const char *name = identifier(&f, 3, "name");
    // The rank's labels so far: a table in the registry, made anew for each rank.
    lua_getfield(L, LUA_REGISTRYINDEX, "labels");
    lua_pushvalue(L, 3);
    if (lua_rawget(L, -2) != LUA_TNIL)
        fail(&f, "this rank has an action %s already", name);
    lua_pop(L, 1);
    lua_pushvalue(L, 3);
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
    f.rank->actions[a].label = mlt_goal_name(f.c->program, name, strlen(name));
    return 0;
}

static int g_auto(lua_State *L)
{
    call f = goal_begin(L, "auto", 0, 0);
    f.c->automatic = true;
    return 0;
}

// Methods of g, and the names that the paper's listings call them by; which of a pair it is.
static const struct {
    const char *name, *paper;
    lua_CFunction run;
    bool second;
} functions[] = {
    {"send", "GOAL_Send", g_message, false},
    {"recv", "GOAL_Recv", g_message, true},
    {"exec", "GOAL_Exec", g_exec, false},
    {"exec_reversed", "GOAL_Exec_reversed", g_exec, true},
    {"calc", "GOAL_Calc", g_calc, false},
    {"nop", "GOAL_Nop", g_nop, false},
    {"requ", "GOAL_Requ", g_require, false},
    {"irequ", "GOAL_Requ_start", g_require, true},
    {"buffer", "GOAL_Buffer", g_buffer, false},
    {"label", "GOAL_Label", g_label, false},
    {"auto", "GOAL_Auto", g_auto, false},
};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

// ---- addresses: buffer + offset

static int address_add(lua_State *L, int sign)
{
    int which = luaL_testudata(L, 1, address_type) ? 1 : 2, other = 3 - which, is_number;
    address *at = luaL_checkudata(L, which, address_type);
    lua_Integer offset = lua_tointegerx(L, other, &is_number), sum;
    if (!is_number || (sign < 0 && which == 2))
        return luaL_error(L, "a buffer %s takes a whole number, not a %s",
                          sign < 0 ? "minus" : "plus", luaL_typename(L, other));
    bool wraps = sign < 0 ? __builtin_sub_overflow(at->at, offset, &sum)
                          : __builtin_add_overflow(at->at, offset, &sum);
    if (wraps)
        return luaL_error(L, "an offset of a buffer is beyond 2^63");
    return push_address(L, (address){at->rank, at->buf, sum, at->call});
}

static int address_plus(lua_State *L)
{
    return address_add(L, 1);
}

static int address_minus(lua_State *L)
{
    return address_add(L, -1);
}

static int address_equals(lua_State *L)
{
    address *a = luaL_checkudata(L, 1, address_type), *b = luaL_checkudata(L, 2, address_type);
    lua_pushboolean(L,
                    a->rank == b->rank && a->buf == b->buf && a->at == b->at && a->call == b->call);
    return 1;
}

static int address_text(lua_State *L)
{
    address *at = luaL_checkudata(L, 1, address_type);
    const mlt_lua_goal *c = mlt_lua_goal_of(L);
    if (c->rank == MLT_LUA_CLOSED || at->call != c->call) { // its name is gone
        lua_pushfstring(L, "buffer %d+%I", (int)at->buf, (LUAI_UACINT)at->at);
        return 1;
    }
    const mlt_goal_buffer *buffer = &c->program->rank[c->slot].buffers[at->buf - 1];
    lua_pushfstring(L, "%s+%I", mlt_goal_name_text(c->program, buffer->name), (LUAI_UACINT)at->at);
    return 1;
}

// ---- the state

// Raises the error for a name that is not there; `names` has those that are, with commas.
static int refuse_name(lua_State *L, const char *what, const char *kind, const char *names)
{
    char text[80];
    return luaL_error(L, "%s has no %s %s; it has %s", what, kind, mlt_lua_shown(L, 2, text),
                      names);
}

static int no_method(lua_State *L)
{
    return refuse_name(L, "g", "method", lua_tostring(L, lua_upvalueindex(1)));
}

// The upvalues are the table's name, its fields with commas, and a set of them.
static int no_field(lua_State *L)
{
    lua_pushvalue(L, 2);
    if (lua_type(L, 2) == LUA_TSTRING && lua_rawget(L, lua_upvalueindex(3)) != LUA_TNIL)
        return 0; // a field that is not always there
    return refuse_name(L, lua_tostring(L, lua_upvalueindex(1)), "field",
                       lua_tostring(L, lua_upvalueindex(2)));
}

// Of the metatable on the stack: scripts cannot get it, and so give it no __gc.
static void lock(lua_State *L)
{
    mlt_lua_set_bool(L, "__metatable", false);
}

void mlt_lua_known_fields(lua_State *L, const char *what, const char *const *names)
{
    if (luaL_newmetatable(L, what)) {
        lock(L);
        lua_pushstring(L, what);
        luaL_Buffer list;
        lua_newtable(L);
        for (const char *const *name = names; *name; name++)
            mlt_lua_set_bool(L, *name, true);
        luaL_buffinit(L, &list);
        for (const char *const *name = names; *name; name++) {
            luaL_addstring(&list, name == names ? "" : ", ");
            luaL_addstring(&list, *name);
        }
        luaL_pushresult(&list);
        lua_insert(L, -2);
        lua_pushcclosure(L, no_field, 3);
        lua_setfield(L, -2, "__index");
    }
    lua_setmetatable(L, -2);
}

void mlt_lua_set_number(lua_State *L, const char *name, uint64_t value)
{
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, name);
}

void mlt_lua_set_text(lua_State *L, const char *name, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, name);
}

void mlt_lua_set_bool(lua_State *L, const char *name, bool value)
{
    lua_pushboolean(L, value);
    lua_setfield(L, -2, name);
}

// Methods are found in a table; what is not in it is asked of that table's own metatable.
static void open_methods(lua_State *L)
{
    luaL_Buffer list;
    lua_newtable(L);
    for (int i = 0; i < FUNCTIONS; i++) {
        lua_pushboolean(L, functions[i].second);
        lua_pushcclosure(L, functions[i].run, 1);
        lua_pushvalue(L, -1);
        lua_setfield(L, -3, functions[i].name);
        lua_setglobal(L, functions[i].paper);
    }
    lua_newtable(L);
    luaL_buffinit(L, &list);
    for (int i = 0; i < FUNCTIONS; i++) {
        luaL_addstring(&list, i ? ", " : "");
        luaL_addstring(&list, functions[i].name);
    }
    luaL_pushresult(&list);
    lua_pushcclosure(L, no_method, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

static void open_goal(lua_State *L)
{
    luaL_newmetatable(L, goal_type);
    lock(L);
    open_methods(L);
    lua_setfield(L, -2, "__index");
    lua_getglobal(L, "GOAL_Recv"); // the listings have both spellings
    lua_setglobal(L, "GOAL_Rcv");
    luaL_newmetatable(L, address_type);
    static const luaL_Reg of_addresses[] = {{"__add", address_plus},
                                            {"__sub", address_minus},
                                            {"__eq", address_equals},
                                            {"__tostring", address_text},
                                            {NULL, NULL}};
    luaL_setfuncs(L, of_addresses, 0);
    lock(L);
    lua_settop(L, 0);
}

void mlt_lua_open(lua_State *L)
{
    mlt_lua_library_open(L);
    open_goal(L);
}

void mlt_lua_push_g(lua_State *L)
{
    lua_newuserdatauv(L, 0, 0);
    luaL_setmetatable(L, goal_type);
}

void mlt_lua_rank_begin(lua_State *L, uint32_t rank, uint32_t ranks)
{
    mlt_lua_goal *c = mlt_lua_goal_of(L);
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, "labels");
    c->call++;
    c->rank = rank;
    c->ranks = ranks;
    c->slot = mlt_coll_slot(c->program, rank);
    c->automatic = false;
}

void mlt_lua_rank_end(lua_State *L)
{
    mlt_lua_goal *c = mlt_lua_goal_of(L);
    if (c->automatic)
        mlt_goal_derive(c->program, c->slot);
}

// ---- errors

int mlt_lua_sentence(lua_State *L)
{
    if (lua_type(L, 1) != LUA_TSTRING) {
        if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING)
            return 1;
        lua_pushfstring(L, "the script raised an error that is a %s, not a sentence",
                        luaL_typename(L, 1));
    }
    return 1;
}

// What a script says may have anything in it; its lines stay lines.
static void copy_shown(char *to, size_t size, const char *from)
{
    const char *end = from + strlen(from);
    size_t used = 0;
    while (from < end) {
        bool shown;
        size_t n = mlt_character(from, end, &shown);
        bool stays = shown || *from == '\n' || *from == '\t';
        if (used + n + 1 > size)
            break;
        if (stays)
            memcpy(to + used, from, n);
        else
            to[used] = '?';
        used += stays ? n : 1;
        from += n;
    }
    to[used] = '\0';
}

void mlt_lua_explain(lua_State *L, int status, const char *name, char *why, size_t why_size)
{
    const mlt_lua_goal *c = mlt_lua_goal_of(L);
    const char *message = lua_tostring(L, -1);
    if (status == LUA_ERRMEM)
        snprintf(why, why_size, "%s: the script's values need more than %d MiB of memory", name,
                 MLT_LUA_MEMORY >> 20);
    else
        copy_shown(why, why_size, message ? message : "the script failed");
    size_t used = strlen(why);
    if (c->rank != MLT_LUA_CLOSED)
        snprintf(why + used, why_size - used, " (rank %" PRIu32 ")", c->rank);
}
