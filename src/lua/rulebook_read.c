// SPDX-License-Identifier: BSD-3-Clause
// rule, algorithm and path: what a rule book's file says, into the rule book. Every function here runs in a
// protected call and leaves by a Lua error with file and line if something is wrong.
#include <inttypes.h>
#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "coll/alter.h"
#include "coll/choice.h"
#include "goal/text/text.h"
#include "lua/rulebook_int.h"

enum {
    RULEBOOK_READ_SENTENCE = 400,
    MOST_RADIX = 1 << 28,
    LONGEST_NAME = 40,
    LONGEST_HOST = 255,
    MOST_WRAPPERS = 64
};

// ---- tables with known keys. The table is at `index`; `what` is whose it is ("rule").

static void no_such(lua_State *L, const char *what, const char *kind, const char *name,
                    const char *const *names, size_t count)
{
    char nearest[200];
    mlt_coll_nearest(name, strlen(name), names, count, nearest, sizeof nearest);
    luaL_error(L, "%s: there is no %s '%s'%s", what, kind, name, nearest);
}

// Keys that nobody knows are mistakes. array: numbers are keys too.
static void check_keys(lua_State *L, int index, const char *what, const char *const *keys,
                       size_t count, bool array)
{
    index = lua_absindex(L, index);
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        if (array && lua_type(L, -2) == LUA_TNUMBER)
            continue;
        if (lua_type(L, -2) == LUA_TSTRING) {
            const char *key = lua_tostring(L, -2);
            size_t i = 0;
            while (i < count && strcmp(keys[i], key) != 0)
                i++;
            if (i < count)
                continue;
            no_such(L, what, "key", key, keys, count);
        }
        char text[80];
        luaL_error(L, "%s: its keys are words such as %s, but one is %s", what, keys[0],
                   mlt_lua_shown(L, -2, text));
    }
}

static void wrong(lua_State *L, const char *what, const char *key, const char *wanted)
{
    char text[80];
    luaL_error(L, "%s: %s should be %s, not %s", what, key, wanted, mlt_lua_shown(L, -1, text));
}

// A text, NULL if it is not there. It stays as long as the rule book: the table may be gone before that,
// and nothing else keeps a text that one of its metamethods made.
static const char *text_field(lua_State *L, int index, const char *what, const char *key)
{
    int type = lua_getfield(L, index, key);
    if (type != LUA_TNIL && type != LUA_TSTRING)
        wrong(L, what, key, "a text");
    const char *text = lua_tostring(L, -1);
    if (text) {
        lua_getfield(L, LUA_REGISTRYINDEX, "texts");
        lua_pushvalue(L, -2);
        lua_pushboolean(L, 1);
        lua_rawset(L, -3);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return text;
}

// -1: not there, else 0 or 1.
static int bool_field(lua_State *L, int index, const char *what, const char *key)
{
    int type = lua_getfield(L, index, key);
    if (type != LUA_TNIL && type != LUA_TBOOLEAN)
        wrong(L, what, key, "true or false");
    int value = type == LUA_TNIL ? -1 : lua_toboolean(L, -1);
    lua_pop(L, 1);
    return value;
}

// The value at the top: a whole number, or a text such as "64K". UINT64_MAX: without end.
static bool is_size(lua_State *L, uint64_t *out)
{
    if (lua_type(L, -1) == LUA_TSTRING) {
        size_t length;
        const char *text = lua_tolstring(L, -1, &length);
        return mlt_coll_size(text, length, out) && *out <= INT64_MAX;
    }
    if (lua_type(L, -1) != LUA_TNUMBER)
        return false;
    int whole;
    lua_Integer value = lua_tointegerx(L, -1, &whole);
    if (!whole && isinf(lua_tonumber(L, -1)) && lua_tonumber(L, -1) > 0) {
        *out = UINT64_MAX;
        return true;
    }
    *out = (uint64_t)value;
    return whole && value >= 0;
}

// 0: not there.
static uint64_t number_field(lua_State *L, int index, const char *what, const char *key,
                             uint64_t most)
{
    uint64_t value = 0;
    if (lua_getfield(L, index, key) != LUA_TNIL && (!is_size(L, &value) || !value || value > most))
        wrong(L, what, key, "a whole number above 0");
    lua_pop(L, 1);
    return value;
}

// {from, to}, {from}, or one number; `to` is 0 if there is no end.
static void range_field(lua_State *L, int index, const char *key, uint64_t *from, uint64_t *to)
{
    static const char wanted[] = "a number or {from, to}";
    int type = lua_getfield(L, index, key);
    *from = *to = 0;
    if (type == LUA_TTABLE) {
        size_t count = lua_rawlen(L, -1);
        if (count < 1 || count > 2)
            wrong(L, "rule", key, wanted);
        check_keys(L, -1, "rule", &key, 1, true);
        lua_rawgeti(L, -1, 1);
        if (!is_size(L, from) || *from == UINT64_MAX)
            wrong(L, "rule", key, "{from, to} of whole numbers");
        lua_pop(L, 1);
        *to = UINT64_MAX;
        if (count == 2) {
            lua_rawgeti(L, -1, 2);
            if (!is_size(L, to))
                wrong(L, "rule", key, "{from, to} of whole numbers");
            lua_pop(L, 1);
        }
    } else if (type != LUA_TNIL) {
        if (!is_size(L, from) || *from == UINT64_MAX)
            wrong(L, "rule", key, wanted);
        *to = *from;
    } else
        *to = UINT64_MAX;
    lua_pop(L, 1);
    char text[RULEBOOK_READ_SENTENCE];
    if (*to < *from)
        snprintf(text, sizeof text, "%s: no number is from %" PRIu64 " to %" PRIu64, key, *from,
                 *to);
    else if (*to == 0)
        snprintf(text, sizeof text, "%s: nothing is asked for up to 0", key);
    else {
        *to = *to == UINT64_MAX ? 0 : *to;
        return;
    }
    luaL_error(L, "rule: %s", text);
}

static mlt_collective coll_field(lua_State *L, int index, const char *what, bool may_lack)
{
    const char *name = text_field(L, index, what, "coll");
    if (!name && may_lack)
        return MLT_COLLECTIVES;
    if (!name)
        luaL_error(L, "%s: it should say which collective it is for, such as coll = \"bcast\"",
                   what);
    mlt_collective c = mlt_collective_named(name, strlen(name));
    char why[RULEBOOK_READ_SENTENCE];
    if (c == MLT_COLLECTIVES) {
        mlt_coll_no_collective(name, strlen(name), why, sizeof why);
        luaL_error(L, "%s: %s", what, why);
    }
    return c;
}

static int line_of(lua_State *L)
{
    lua_Debug caller;
    return lua_getstack(L, 1, &caller) && lua_getinfo(L, "l", &caller) ? caller.currentline : 0;
}

static void open_only(lua_State *L, const char *what)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "reading");
    if (!lua_toboolean(L, -1))
        luaL_error(L, "%s is only for the file itself, not for its functions later", what);
    lua_pop(L, 1);
}

// ---- rule

static const char *const answer_keys[] = {"alg", "segment", "radix", "window", "flat", "why"};
enum { ANSWER_KEYS = 6 };

// What an answer says beside the algorithm.
static void read_parameters(lua_State *L, int index, const char *what, mlt_coll_rule *out)
{
    out->segment = number_field(L, index, what, "segment", INT64_MAX);
    out->radix = (uint32_t)number_field(L, index, what, "radix", MOST_RADIX);
    out->window = (uint32_t)number_field(L, index, what, "window", MOST_RADIX);
    out->flat = bool_field(L, index, what, "flat") == 1;
}

static uint8_t reach_field(lua_State *L)
{
    const char *name = text_field(L, 1, "rule", "reach");
    if (!name)
        return 0;
    for (int i = 0; i < MLT_REACHES; i++)
        if (strcmp(name, mlt_coll_reach_names[i]) == 0)
            return (uint8_t)(1 << i);
    no_such(L, "rule", "reach", name, mlt_coll_reach_names, MLT_REACHES);
    return 0;
}

// 1: only if; -1: only if not; 0: it is not there.
static int8_t condition_field(lua_State *L, const char *name)
{
    int value = bool_field(L, 1, "rule", name);
    return (int8_t)(value < 0 ? 0 : value ? 1 : -1);
}

static void count_field(lua_State *L, const char *key, const char *what, uint32_t *out_from,
                        uint32_t *out_to)
{
    uint64_t from, to;
    range_field(L, 1, key, &from, &to);
    if (from > UINT32_MAX || to > UINT32_MAX)
        luaL_error(L, "rule: %s are counted up to 2^32 - 1", what);
    *out_from = (uint32_t)from;
    *out_to = (uint32_t)to;
}

static void read_rule(lua_State *L, mlt_lua_rulebook *rulebook, mlt_coll_rule *out)
{
    static const char *const keys[] = {"coll",    "total", "ranks", "bytes",   "reach",   "hosts",
                                       "crowded", "comm",  "alg",   "segment", "radix",   "each",
                                       "window",  "flat",  "why",   "reads",   "sharing", "cores"};
    check_keys(L, 1, "rule", keys, sizeof keys / sizeof *keys, false);
    out->collective = coll_field(L, 1, "rule", false);
    count_field(L, "ranks", "ranks", &out->ranks_from, &out->ranks_to);
    range_field(L, 1, "bytes", &out->bytes_from, &out->bytes_to);
    range_field(L, 1, "total", &out->total_from, &out->total_to);
    count_field(L, "sharing", "workers for each core", &out->sharing_from, &out->sharing_to);
    count_field(L, "cores", "cores", &out->cores_from, &out->cores_to);
    count_field(L, "hosts", "hosts", &out->hosts_from, &out->hosts_to);
    count_field(L, "each", "ranks of a host", &out->each_from, &out->each_to);
    out->reach = reach_field(L);
    out->crowded = condition_field(L, "crowded");
    out->reads = condition_field(L, "reads");
    const char *comm = text_field(L, 1, "rule", "comm"), *why = text_field(L, 1, "rule", "why");
    const char *alg = text_field(L, 1, "rule", "alg");
    if (!alg)
        luaL_error(L, "rule: it should name an algorithm, such as alg = \"binomial\"");
    read_parameters(L, 1, "rule", out);
    out->comm = comm ? mlt_lua_keep(rulebook, comm) : NULL;
    out->why = why ? mlt_lua_keep(rulebook, why) : "the file says so";
    out->alg = mlt_lua_keep(rulebook, alg); // it may be declared further down: read_end looks
}

static int l_rule(lua_State *L)
{
    char text[80];
    mlt_lua_rulebook *rulebook = mlt_lua_rulebook_of(L);
    mlt_coll_rule rule = {.collective = MLT_COLLECTIVES};
    mlt_lua_rule more = {.line = line_of(L), .function = LUA_NOREF};
    open_only(L, "rule");
    if (lua_gettop(L) != 1 || !(lua_istable(L, 1) || lua_isfunction(L, 1)))
        luaL_error(L, "rule: it takes a table {...} or a function(q), not %s",
                   mlt_lua_shown(L, 1, text));
    if (lua_istable(L, 1))
        read_rule(L, rulebook, &rule);
    else {
        rule.why = "the file's function says so";
        lua_pushvalue(L, 1);
        more.function = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    rule.by = mlt_lua_place(rulebook, more.line);
    uint32_t count = rulebook->base.rules_count + 1;
    rulebook->rules = mlt_xrealloc(rulebook->rules, count, sizeof *rulebook->rules);
    rulebook->more = mlt_xrealloc(rulebook->more, count, sizeof *rulebook->more);
    rulebook->rules[count - 1] = rule;
    rulebook->more[count - 1] = more;
    rulebook->base.rules_count = count;
    return 0;
}

// The algorithm of a rule; an error at `where` if there is none or it takes less than it gets.
static const mlt_coll_alg *resolve(lua_State *L, mlt_lua_rulebook *rulebook, const char *where,
                                   const mlt_coll_rule *rule)
{
    char why[RULEBOOK_READ_SENTENCE];
    mlt_coll_rulebook lists = {.algs = (const mlt_coll_alg *const *)rulebook->algs,
                               .algs_count = rulebook->base.algs_count};
    const mlt_coll_alg *alg =
        mlt_coll_named(rulebook->built_in, &lists, rule->collective, rule->alg);
    if (!alg)
        mlt_coll_no_algorithm(rulebook->built_in, &lists, rule->collective, rule->alg,
                              strlen(rule->alg), why, sizeof why);
    if (!alg || !mlt_coll_rule_takes(rule, alg, why, sizeof why)) {
        lua_pushfstring(L, "%s: rule: %s", where, why);
        lua_error(L);
    }
    return alg;
}

bool mlt_lua_read_answer(lua_State *L, mlt_lua_rulebook *rulebook, mlt_collective collective,
                         mlt_coll_rule *out, const mlt_coll_alg **alg)
{
    char text[80];
    if (lua_isnil(L, -1))
        return false;
    static const char what[] = "what the rule's function returned";
    if (!lua_istable(L, -1))
        luaL_error(L, "%s should be nil or a table such as { alg = \"chain\" }, not %s", what,
                   mlt_lua_shown(L, -1, text));
    int index = lua_absindex(L, -1);
    check_keys(L, index, what, answer_keys, ANSWER_KEYS, false);
    *out = (mlt_coll_rule){.collective = collective, .why = "the file's function says so"};
    read_parameters(L, index, what, out);
    out->alg = text_field(L, index, what, "alg");
    if (!out->alg)
        luaL_error(L, "%s names no algorithm, such as alg = \"binomial\"", what);
    const char *why = text_field(L, index, what, "why");
    if (why)
        out->why = why;
    *alg = resolve(L, rulebook, rulebook->short_file, out);
    out->alg = (*alg)->name;
    return true;
}

// ---- algorithm

static void takes_field(lua_State *L, mlt_coll_alg *alg)
{
    static const char *const names[] = {"segment", "radix", "window"};
    bool *const flags[] = {&alg->uses_segment, &alg->uses_radix, &alg->uses_window};
    int type = lua_getfield(L, 1, "takes");
    if (type != LUA_TNIL && type != LUA_TTABLE)
        wrong(L, "algorithm", "takes", "a list such as {\"segment\"}");
    size_t count = type == LUA_TTABLE ? lua_rawlen(L, -1) : 0;
    for (size_t i = 1; i <= count; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i);
        const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
        int which = 0;
        while (which < 3 && strcmp(names[which], name) != 0)
            which++;
        if (which == 3)
            wrong(L, "algorithm", "takes", "a list of segment, radix and window");
        *flags[which] = true;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static int function_field(lua_State *L, const char *key, bool needed)
{
    int type = lua_getfield(L, 1, key);
    if (type == LUA_TNIL && !needed) {
        lua_pop(L, 1);
        return LUA_NOREF;
    }
    if (type != LUA_TFUNCTION)
        wrong(L, "algorithm", key,
              needed ? "a function(g, shape)" : "a function(shape) that returns nil or a sentence");
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

static const char *name_field(lua_State *L, mlt_lua_rulebook *rulebook, mlt_collective collective)
{
    const char *name = text_field(L, 1, "algorithm", "name");
    if (!name || strlen(name) > LONGEST_NAME ||
        !mlt_goal_is_identifier(MLT_GOAL_PAPER, name, strlen(name)))
        luaL_error(L, "algorithm: it should have a name of letters, digits and underscores, such "
                      "as name = \"mine\"");
    mlt_coll_rulebook lists = {.algs = (const mlt_coll_alg *const *)rulebook->algs,
                               .algs_count = rulebook->base.algs_count};
    if (mlt_coll_named(rulebook->built_in, &lists, collective, name))
        luaL_error(L, "algorithm: there is a %s.%s already", mlt_collective_names[collective],
                   name);
    return name;
}

static int l_algorithm(lua_State *L)
{
    static const char *const keys[] = {"coll",     "name",  "help", "in_order",
                                       "in_place", "takes", "emit", "refuses"};
    char text[80];
    mlt_lua_rulebook *rulebook = mlt_lua_rulebook_of(L);
    open_only(L, "algorithm");
    if (lua_gettop(L) != 1 || !lua_istable(L, 1))
        luaL_error(L, "algorithm: it takes a table {...}, not %s", mlt_lua_shown(L, 1, text));
    check_keys(L, 1, "algorithm", keys, sizeof keys / sizeof *keys, false);
    mlt_coll_alg alg = {.collective = coll_field(L, 1, "algorithm", false),
                        .emit = mlt_lua_alg_emit};
    if (alg.collective == MLT_COLL_REDUCE_TO || alg.collective == MLT_COLL_EXCHANGE)
        luaL_error(L, "algorithm: %s has an algorithm of its own only, no others",
                   mlt_collective_names[alg.collective]);
    const char *name = name_field(L, rulebook, alg.collective);
    const char *help = text_field(L, 1, "algorithm", "help");
    alg.in_order = bool_field(L, 1, "algorithm", "in_order") == 1;
    alg.in_place = bool_field(L, 1, "algorithm", "in_place") == 1;
    if (alg.in_order && !mlt_collective_reduces(alg.collective))
        luaL_error(L, "algorithm: in_order is about operands, which %s has not",
                   mlt_collective_names[alg.collective]);
    takes_field(L, &alg);
    int emit = function_field(L, "emit", true), refuses = function_field(L, "refuses", false);
    if (refuses != LUA_NOREF)
        alg.refuses = mlt_lua_alg_refuses;
    alg.name = mlt_lua_keep(rulebook, name);
    alg.help = help ? mlt_lua_keep(rulebook, help) : "a user's";
    // From here on nothing raises an error.
    mlt_lua_alg *own = mlt_xcalloc(1, sizeof *own);
    *own = (mlt_lua_alg){alg, rulebook, line_of(L), emit, refuses};
    own->base.user = own;
    rulebook->algs =
        mlt_xrealloc(rulebook->algs, rulebook->base.algs_count + 1, sizeof *rulebook->algs);
    rulebook->algs[rulebook->base.algs_count++] = own;
    return 0;
}

// ---- path

// What a cache is given: {"cache", keep = "unlock", bytes = 65536}.
static void read_cache(lua_State *L, int table, mlt_intercept_wrapper *wrapper)
{
    const char *keep = text_field(L, table, "path", "keep");
    if (keep && strcmp(keep, "unlock") != 0)
        luaL_error(L, "path: a cache takes keep = \"unlock\", not \"%s\"", keep);
    wrapper->until_unlock = keep != NULL;
    uint64_t room = number_field(L, table, "path", "bytes", UINT32_MAX);
    wrapper->room = room ? room : wrapper->room;
}

static size_t count_wrappers(lua_State *L)
{
    size_t count = lua_rawlen(L, 1);
    if (count < 1 || count > MOST_WRAPPERS)
        luaL_error(L, "path: it should have 1 to %d wrappers, such as \"count\"", MOST_WRAPPERS);
    return count;
}

// Why `cache` is not for collective calls.
static const char no_cache_of_calls[] = "a collective call brings new data each time";

// The wrapper at the top of the stack: "count" or {"delay", us = 100}.
static mlt_intercept_wrapper read_wrapper(lua_State *L)
{
    static const char *const keys[] = {"us", "keep", "bytes"};
    enum { CACHE_ROOM = 1 << 20 };
    char text[80];
    bool table = lua_istable(L, -1);
    mlt_intercept_wrapper wrapper = {.kind = 0, .room = CACHE_ROOM};
    if (table) {
        check_keys(L, -1, "path", keys, 3, true);
        lua_rawgeti(L, -1, 1);
    } else
        lua_pushvalue(L, -1);
    if (lua_type(L, -1) != LUA_TSTRING)
        luaL_error(L, "path: a wrapper is a name or {name, ...}, not %s",
                   mlt_lua_shown(L, -1, text));
    const char *name = lua_tostring(L, -1);
    while (wrapper.kind < MLT_WRAPPERS && strcmp(mlt_coll_wrapper_names[wrapper.kind], name) != 0)
        wrapper.kind++;
    if (wrapper.kind == MLT_WRAPPERS)
        no_such(L, "path", "wrapper", name, mlt_coll_wrapper_names, MLT_WRAPPERS);
    lua_pop(L, 1);
    wrapper.delay_us = table ? number_field(L, lua_absindex(L, -1), "path", "us", UINT32_MAX) : 0;
    if ((wrapper.kind == MLT_WRAP_DELAY) != (wrapper.delay_us > 0))
        luaL_error(L, wrapper.delay_us ? "path: only delay takes us"
                                       : "path: a delay says how long: {\"delay\", us = 100}");
    if (table && wrapper.kind == MLT_WRAP_CACHE)
        read_cache(L, lua_absindex(L, -1), &wrapper);
    else if (table && (text_field(L, lua_absindex(L, -1), "path", "keep") ||
                       number_field(L, lua_absindex(L, -1), "path", "bytes", UINT32_MAX)))
        luaL_error(L, "path: only cache takes keep and bytes");
    return wrapper;
}

// ---- wrappers that change what passes (coll/alter.h)

enum { MOST_ALTER_KEYS = 5 };
static const char *const alter_keys[MLT_WRAPPERS][MOST_ALTER_KEYS] = {
    [MLT_WRAP_MAP] = {"operand", "result", "type", "neutral"},
    [MLT_WRAP_DROP] = {"when", "with", "type"},
    [MLT_WRAP_OP] = {"with", "op", "type", "commutes", "neutral"},
};

// The function at `key` of the table at the top of the stack; 0: none.
static int alter_function(lua_State *L, const char *name, const char *key, bool needed)
{
    int type = lua_getfield(L, -1, key);
    if (type == LUA_TNIL && needed)
        luaL_error(L, "path: %s needs a function: { \"%s\", %s = function(...) ... end }", name,
                   name, key);
    if (type != LUA_TNIL && type != LUA_TFUNCTION)
        wrong(L, name, key, "a function");
    if (type == LUA_TFUNCTION)
        return luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pop(L, 1);
    return 0;
}

// One of `names` at `key`; `count`: it is not there.
static uint8_t alter_name(lua_State *L, const char *what, const char *key, const char *const *names,
                          size_t count)
{
    const char *name = text_field(L, lua_absindex(L, -1), what, key);
    size_t i = 0;
    while (name && i < count && strcmp(names[i], name) != 0)
        i++;
    if (name && i == count)
        no_such(L, what, key, name, names, count);
    return (uint8_t)(name ? i : count);
}

static void read_drop(lua_State *L, mlt_coll_stage *stage)
{
    stage->function[0] = alter_function(L, "drop", "when", true);
    int type = lua_getfield(L, -1, "with");
    if (type != LUA_TNIL && type != LUA_TNUMBER)
        wrong(L, "drop", "with", "a number");
    stage->filled = type == LUA_TNUMBER;
    stage->fill = lua_tonumber(L, -1);
    int whole = 0;
    stage->fill_whole = lua_tointegerx(L, -1, &whole);
    stage->whole = stage->filled && whole;
    lua_pop(L, 1);
}

// {"map", ...} at the top of the stack, of a path of calls of `collective` (MLT_COLLECTIVES: any).
static mlt_coll_stage read_alter(lua_State *L, mlt_coll_wrapper wrapper, mlt_collective collective,
                                 bool combined)
{
    const char *name = mlt_coll_wrapper_names[wrapper];
    char why[160];
    unsigned char unused[8];
    size_t keys = 0;
    while (keys < MOST_ALTER_KEYS && alter_keys[wrapper][keys])
        keys++;
    check_keys(L, -1, name, alter_keys[wrapper], keys, true);
    mlt_coll_stage stage = {.wrapper = (uint8_t)wrapper, .op = MLT_OPS};
    stage.type = alter_name(L, name, "type", mlt_op_type_names, MLT_OP_TYPES);
    stage.neutral = bool_field(L, lua_absindex(L, -1), name, "neutral") == 1;
    int commutes = bool_field(L, lua_absindex(L, -1), name, "commutes");
    stage.commutes = commutes == 1;
    if (wrapper == MLT_WRAP_MAP) {
        stage.function[0] = alter_function(L, name, "operand", false);
        stage.function[1] = alter_function(L, name, "result", false);
        if (!stage.function[0] && !stage.function[1])
            luaL_error(L,
                       "path: a map has a function: { \"map\", operand = function(x) return 2 * x "
                       "end }, or result = ...");
    } else if (wrapper == MLT_WRAP_DROP)
        read_drop(L, &stage);
    else {
        stage.function[0] = alter_function(L, name, "with", true);
        stage.op = alter_name(L, name, "op", mlt_op_names, MLT_OPS);
    }
    if (stage.type == MLT_OP_FLOAT16)
        luaL_error(L, "path: %s: elements of Float16 are not for functions", name);
    if (stage.filled && stage.type < MLT_OP_TYPES &&
        !mlt_alter_fill(&stage, (mlt_op_type)stage.type, unused, why, sizeof why))
        luaL_error(L, "path: %s", why);
    if (collective == MLT_COLLECTIVES)
        luaL_error(L,
                   "path: %s changes what passes, so its path names one collective, such as coll "
                   "= \"allreduce\"",
                   name);
    if (collective == MLT_COLL_BARRIER || collective == MLT_COLL_EXCHANGE ||
        collective == MLT_COLL_REDUCE_TO)
        luaL_error(L, "path: %s is not for %s", name, mlt_collective_names[collective]);
    if (wrapper == MLT_WRAP_OP && !mlt_collective_reduces(collective))
        luaL_error(L, "path: op combines, which %s does not", mlt_collective_names[collective]);
    if (combined && collective != MLT_COLL_REDUCE && collective != MLT_COLL_ALLREDUCE)
        luaL_error(L, "path: after combine, %s is for reduce and allreduce only", name);
    if (stage.neutral && wrapper == MLT_WRAP_OP && stage.op == MLT_OPS)
        luaL_error(L, "path: an op that is neutral says in place of which it stands, such as op = "
                      "\"sum\"");
    return stage;
}

// {"remote", host = "b", protocol = "tcp"} at the top of the stack.
static mlt_coll_stage read_remote(lua_State *L, mlt_collective collective, bool combined)
{
    static const char *const keys[] = {"host", "protocol"}, *const protocols[] = {"shm", "tcp",
                                                                                  "ofi"};
    check_keys(L, -1, "remote", keys, 2, true);
    const char *host = text_field(L, lua_absindex(L, -1), "remote", "host");
    uint8_t protocol = alter_name(L, "remote", "protocol", protocols, 3);
    if (!host || !*host || strlen(host) > LONGEST_HOST || strpbrk(host, ", "))
        luaL_error(L, "path: remote names a host: { \"remote\", host = \"b\" }");
    if (collective != MLT_COLL_ALLREDUCE)
        luaL_error(L,
                   "path: remote is for allreduce: another collective ends where its root is, or "
                   "everywhere");
    if (!combined)
        luaL_error(L, "path: remote comes after combine: it stands around the stage between hosts");
    return (mlt_coll_stage){.wrapper = MLT_WRAP_REMOTE,
                            .host = mlt_lua_keep(mlt_lua_rulebook_of(L), host),
                            .protocol = protocol < 3 ? protocols[protocol] : NULL};
}

static bool is_remote(lua_State *L)
{
    lua_pushvalue(L, -1);
    if (lua_istable(L, -1)) {
        lua_rawgeti(L, -1, 1);
        lua_remove(L, -2);
    }
    bool remote = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "remote") == 0;
    lua_pop(L, 1);
    if (remote && !lua_istable(L, -1))
        luaL_error(L, "path: remote names a host: { \"remote\", host = \"b\" }");
    return remote;
}

// The name of the wrapper at the top of the stack, if it changes what passes; MLT_WRAPPERS: it does not.
static mlt_coll_wrapper alter_named(lua_State *L)
{
    if (!lua_istable(L, -1)) {
        for (int w = MLT_WRAP_MAP; w <= MLT_WRAP_OP; w++)
            if (lua_type(L, -1) == LUA_TSTRING &&
                strcmp(lua_tostring(L, -1), mlt_coll_wrapper_names[w]) == 0)
                luaL_error(L, "path: %s needs a function: {\"%s\", %s = function(...) ... end}",
                           mlt_coll_wrapper_names[w], mlt_coll_wrapper_names[w], alter_keys[w][0]);
        return MLT_WRAPPERS;
    }
    lua_rawgeti(L, -1, 1);
    const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    int w = MLT_WRAP_MAP;
    while (w <= MLT_WRAP_OP && strcmp(mlt_coll_wrapper_names[w], name) != 0)
        w++;
    lua_pop(L, 1);
    return w <= MLT_WRAP_OP ? (mlt_coll_wrapper)w : MLT_WRAPPERS;
}

// The stages of the path of calls at 1.
static uint32_t read_stages(lua_State *L, mlt_collective collective,
                            mlt_coll_stage stages[MOST_WRAPPERS])
{
    size_t count = count_wrappers(L);
    bool combined = false;
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 1, (lua_Integer)i + 1);
        mlt_coll_wrapper wrapper = alter_named(L);
        if (is_remote(L))
            stages[i] = read_remote(L, collective, combined);
        else if (wrapper < MLT_WRAPPERS)
            stages[i] = read_alter(L, wrapper, collective, combined);
        else {
            mlt_intercept_wrapper w = read_wrapper(L);
            stages[i] = (mlt_coll_stage){.wrapper = w.kind, .delay_us = w.delay_us};
        }
        if (stages[i].wrapper == MLT_WRAP_CACHE)
            luaL_error(L, "path: cache stands around windows and files only: %s",
                       no_cache_of_calls);
        combined |= stages[i].wrapper == MLT_WRAP_COMBINE;
        for (size_t j = 0; j < i; j++)
            if (stages[i].wrapper == stages[j].wrapper && stages[i].wrapper != MLT_WRAP_MAP &&
                stages[i].wrapper != MLT_WRAP_DROP)
                luaL_error(L, "path: %s comes twice", mlt_coll_wrapper_names[stages[i].wrapper]);
        lua_pop(L, 1);
    }
    return (uint32_t)count;
}

// Why `check`, which compares what all ranks of a call say, is none of theirs.
static const char *const no_check[MLT_INTERCEPT_KINDS] = {
    [MLT_INTERCEPT_MESSAGES] = "mpirun --strict compares the two sides of a message",
    [MLT_INTERCEPT_WINDOW] = "an operation on a window has one side",
    [MLT_INTERCEPT_FILE] = "ranks may read and write different places",
    [MLT_INTERCEPT_CHANNEL] = "both sides of a channel have the size of its values from it",
    [MLT_INTERCEPT_CSP_PORT] = "a port takes messages of any size",
    [MLT_INTERCEPT_CSP_GROUP] =
        "around those of a group write path { comm = \"its name\", \"check\" }",
    [MLT_INTERCEPT_QUEUE] = "millet flow has compared the types of both sides",
};

// The same of `cache`.
static const char *const no_cache[MLT_INTERCEPT_KINDS] = {
    [MLT_INTERCEPT_MESSAGES] = "a message is received once",
    [MLT_INTERCEPT_CHANNEL] = "a value is read once",
    [MLT_INTERCEPT_CSP_PORT] = "a message is received once",
    [MLT_INTERCEPT_CSP_GROUP] = no_cache_of_calls,
    [MLT_INTERCEPT_QUEUE] = "an element is taken once",
};

static const char *no_combine(mlt_intercept_kind kind)
{
    return kind == MLT_INTERCEPT_CSP_GROUP ? "members of a group on one worker always combine"
                                           : "operations of several ranks do not become one";
}

// The wrapper of an interceptor at the top of the stack, which stays there: as read_wrapper, or a function.
static mlt_intercept_wrapper read_interceptor_wrapper(lua_State *L, mlt_intercept_kind kind)
{
    if (lua_isfunction(L, -1)) {
        lua_pushvalue(L, -1);
        return (mlt_intercept_wrapper){.kind = MLT_WRAPPERS,
                                       .function = luaL_ref(L, LUA_REGISTRYINDEX)};
    }
    mlt_coll_wrapper alters = is_remote(L) ? MLT_WRAP_REMOTE : alter_named(L);
    if (alters < MLT_WRAPPERS)
        luaL_error(L, "path: %s stands around collective calls only",
                   mlt_coll_wrapper_names[alters]);
    mlt_intercept_wrapper wrapper = read_wrapper(L);
    if (wrapper.until_unlock && kind == MLT_INTERCEPT_FILE)
        luaL_error(L, "path: keep = \"unlock\" is for windows: a file has no locks");
    if (wrapper.kind == MLT_WRAP_CACHE && no_cache[kind])
        luaL_error(L, "path: cache stands around windows and files only: %s", no_cache[kind]);
    if (wrapper.kind == MLT_WRAP_CHECK || wrapper.kind == MLT_WRAP_COMBINE)
        luaL_error(L, "path: %s stands around collective calls only: %s",
                   mlt_coll_wrapper_names[wrapper.kind],
                   wrapper.kind == MLT_WRAP_CHECK ? no_check[kind] : no_combine(kind));
    return wrapper;
}

// The wrappers of the path at 1, of objects of that kind. Returns how many.
static uint32_t read_wrappers(lua_State *L, mlt_intercept_kind kind,
                              mlt_intercept_wrapper wrappers[MOST_WRAPPERS])
{
    size_t count = count_wrappers(L);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 1, (lua_Integer)i + 1);
        wrappers[i] = read_interceptor_wrapper(L, kind);
        for (size_t j = 0; j < i; j++)
            if (wrappers[i].kind == MLT_WRAP_CACHE && wrappers[j].kind == MLT_WRAP_CACHE)
                luaL_error(L, "path: cache comes twice: the second would never be asked");
        lua_pop(L, 1);
    }
    return (uint32_t)count;
}

// Whether the table at 1 is the path of other objects than collective calls: just one kind.
static bool is_interceptor(lua_State *L)
{
    int kinds = 0;
    for (int kind = 0; kind < MLT_INTERCEPT_KINDS; kind++)
        kinds += text_field(L, 1, "path", mlt_intercept_kind_names[kind]) != NULL;
    if (kinds > 1 ||
        (kinds && (text_field(L, 1, "path", "coll") || text_field(L, 1, "path", "comm"))))
        luaL_error(
            L, "path: a path is about one of messages, window, file, channel, port, group, queue, "
               "or coll and comm");
    return kinds > 0;
}

static int read_interceptor(lua_State *L)
{
    mlt_intercept_kind kind = MLT_INTERCEPT_MESSAGES;
    while (!text_field(L, 1, "path", mlt_intercept_kind_names[kind]))
        kind++;
    const char *name = text_field(L, 1, "path", mlt_intercept_kind_names[kind]);
    mlt_lua_rulebook *rulebook = mlt_lua_rulebook_of(L);
    mlt_intercept_wrapper wrappers[MOST_WRAPPERS];
    uint32_t count = read_wrappers(L, kind, wrappers);
    mlt_intercept_wrapper *own = mlt_xcalloc(count, sizeof *own);
    memcpy(own, wrappers, count * sizeof *own);
    rulebook->interceptors =
        mlt_xrealloc(rulebook->interceptors, rulebook->base.interceptors_count + 1,
                     sizeof *rulebook->interceptors);
    rulebook->interceptors[rulebook->base.interceptors_count++] =
        (mlt_intercept_spec){.kind = (uint8_t)kind,
                             .name = mlt_lua_keep(rulebook, name),
                             .wrappers = own,
                             .count = count,
                             .by = mlt_lua_place(rulebook, line_of(L))};
    return 0;
}

static int l_path(lua_State *L)
{
    static const char *const keys[] = {"coll",    "comm", "messages", "window", "file",
                                       "channel", "port", "group",    "queue"};
    _Static_assert(MLT_INTERCEPT_KINDS == 7, "keys has their names");
    mlt_lua_rulebook *rulebook = mlt_lua_rulebook_of(L);
    mlt_coll_stage stages[MOST_WRAPPERS];
    char text[80];
    open_only(L, "path");
    if (lua_gettop(L) != 1 || !lua_istable(L, 1))
        luaL_error(L, "path: it takes a table {...}, not %s", mlt_lua_shown(L, 1, text));
    check_keys(L, 1, "path", keys, sizeof keys / sizeof *keys, true);
    if (is_interceptor(L))
        return read_interceptor(L);
    mlt_coll_path path = {.collective = coll_field(L, 1, "path", true)};
    const char *comm = text_field(L, 1, "path", "comm");
    uint32_t count = read_stages(L, path.collective, stages);
    path.comm = comm ? mlt_lua_keep(rulebook, comm) : NULL;
    path.by = mlt_lua_place(rulebook, line_of(L));
    mlt_coll_stage *own = mlt_xcalloc(count, sizeof *own);
    memcpy(own, stages, count * sizeof *own);
    path.stages = own;
    path.count = count;
    rulebook->paths =
        mlt_xrealloc(rulebook->paths, rulebook->base.paths_count + 1, sizeof *rulebook->paths);
    rulebook->paths[rulebook->base.paths_count++] = path;
    return 0;
}

// ---- the file

void mlt_lua_read_begin(lua_State *L)
{
    lua_pushcfunction(L, l_rule);
    lua_setglobal(L, "rule");
    lua_pushcfunction(L, l_algorithm);
    lua_setglobal(L, "algorithm");
    lua_pushcfunction(L, l_path);
    lua_setglobal(L, "path");
    lua_pushboolean(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "reading");
}

void mlt_lua_read_end(lua_State *L)
{
    mlt_lua_rulebook *rulebook = mlt_lua_rulebook_of(L);
    lua_pushboolean(L, 0);
    lua_setfield(L, LUA_REGISTRYINDEX, "reading");
    for (uint32_t i = 0; i < rulebook->base.rules_count; i++)
        if (rulebook->more[i].function == LUA_NOREF) {
            const mlt_coll_rule *rule = &rulebook->rules[i];
            rulebook->more[i].alg = resolve(L, rulebook, rule->by, rule);
        }
    if (!rulebook->base.rules_count && !rulebook->base.algs_count && !rulebook->base.paths_count &&
        !rulebook->base.interceptors_count)
        luaL_error(L, "%s: it has no rule, no algorithm and no path", rulebook->short_file);
}
