// SPDX-License-Identifier: BSD-3-Clause
// What scripts have of Lua: it ends within its steps whatever a script does, says the same in every
// state, and does what Lua's own does otherwise.
#include "lua/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "lua/generate.h"

enum { STEPS = 300 * 1000 };

static char why[2000];

static mlt_status run(const char *script, uint64_t steps)
{
    mlt_goal_program *program = NULL;
    why[0] = 0;
    mlt_status status = mlt_lua_generate("s.lua", script, strlen(script), 2, NULL, 0, steps, NULL,
                                         NULL, &program, why, sizeof why);
    if (status == MLT_OK)
        mlt_goal_program_free(program);
    return status;
}

// ---- it ends

// Each would take days, or for ever.
static const char *const endless[] = {
    "while true do end",
    "for i = 1, math.huge do end",
    "local function f() return f() end f()",
    "while true do pcall(function() while true do end end) end",
    "while true do pcall(pcall, pcall, error) end",
    "while true do xpcall(error, function() while true do end end) end",
    "xpcall(function() while true do end end, function() while true do end end)",
    "xpcall(function() while true do end end, function() while true do pcall(error) end end)",
    "error(setmetatable({}, {__tostring = function() while true do end end}))",
    "local t <close> = setmetatable({}, {__close = function() while true do end end}) error('x')",
    ("local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) "
     "while true do pcall(function() return t[1] end) end"),
    "local s = ('a'):rep(40) s:find(('a?'):rep(40) .. s)",
    "local s = ('a'):rep(3000) s:find('.-.-.-.-.-b')",
    "local s = ('a'):rep(3000) s:match('(.*)(.*)(.*)b')",
    "local s = ('a'):rep(3000) s:gsub('.-.-.-b', '')",
    "local s = ('a'):rep(3000) for _ in s:gmatch('.-.-.-.-b') do end",
    "local s = ('('):rep(100000) for i = 1, 1e9 do s:find('%b()') end",
    "table.move({}, 1, 10^15, 2)",
    "table.move({}, 10^15, 2 * 10^15, 1, {})",
    "table.move(setmetatable({}, {__index = rawlen, __newindex = rawequal}), 1, 10^15, 2)",
    "table.concat(setmetatable({}, {__index = rawlen}), '', 1, 10^15)",
    "table.concat(setmetatable({}, {__index = rawlen, __len = function() return 10^15 // 1 end}))",
    "string.rep('', 10^15)",
    "table.sort(setmetatable({}, {__len = function() return 10^15 // 1 end}), rawequal)",
    "local t = {} for i = 1, 50000 do t[i] = i end table.sort(t, function() return true end)",
    "for k in next, setmetatable({}, {}) do end while true do next({}) end",
    "load = tostring while load(1) do end",
    "return (function() repeat until false end)()",
};

static void test_ends(void)
{
    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
        // In the script itself, and in its function.
        for (int inside = 0; inside < 2; inside++) {
            char script[400];
            snprintf(script, sizeof script, inside ? "return function(g) %s end" : "%s",
                     endless[i]);
            if (inside && strncmp(endless[i], "return", 6) == 0)
                continue;
            mlt_status status = run(script, STEPS);
            if (status == MLT_OK || !strstr(why, "it runs for too long: more than "))
                fprintf(stderr, "%s: %s\n", script, status == MLT_OK ? "it went well" : why);
            CHECK(status == MLT_ERR_INVALID && strstr(why, "it runs for too long: more than "));
            CHECK(!inside || strstr(why, " steps (rank 0)"));
        }
    }
    CHECK(run("return function(g)\n\n while true do end end", 1000) == MLT_ERR_INVALID);
    CHECK(strcmp(why, "s.lua:3: it runs for too long: more than 1000 steps (rank 0)") == 0);
    // The steps are each rank's, not all ranks' together.
    CHECK(run("for i = 1, 8e4 do end return function() for i = 1, 8e4 do end end", 90 * 1000) ==
          MLT_OK);
}

// What would run unseen, or cannot be counted, is refused at once.
static void test_refused(void)
{
    static const struct {
        const char *script, *sentence;
    } cases[] = {
        {"setmetatable({}, {__gc = function() while true do end end})",
         "s.lua:1: setmetatable: scripts have no __gc: when it would run differs from rank to "
         "rank"},
        {"table.insert(setmetatable({}, {__len = function() return 10^15 // 1 end}), 1, 0)",
         "s.lua:1: a table with __len cannot be shifted: its length could be anything"},
        {"table.remove(setmetatable({}, {__len = function() return 10^15 // 1 end}), 1)",
         "s.lua:1: a table with __len cannot be shifted: its length could be anything"},
        {"collectgarbage()", "s.lua:1: attempt to call a nil value (global 'collectgarbage')"},
        {"warn('x')", "s.lua:1: attempt to call a nil value (global 'warn')"},
        {"load('x')", "s.lua:1: attempt to call a nil value (global 'load')"},
        {"coroutine.wrap(error)", "s.lua:1: attempt to index a nil value (global 'coroutine')"},
        {"string.format('%p', {})",
         "s.lua:1: format: %p shows an address, which differs from rank to rank and from run to "
         "run"},
        {"for k in pairs {[{}] = 1, [{}] = 2} do end",
         "s.lua:1: keys that are tables have no order: their addresses differ from rank to rank "
         "and from run to run; use names or numbers"},
        {"next {[print] = 1, [pairs] = 2}",
         "s.lua:1: keys that are functions have no order: their addresses differ from rank to rank "
         "and from run to run; use names or numbers"},
        {"pairs(nil)", "s.lua:1: bad argument #1 to 'pairs' (table expected, got nil)"},
        {"next(7)", "s.lua:1: bad argument #1 to 'next' (table expected, got number)"},
        {"table.sort(7)", "s.lua:1: bad argument #1 to 'sort' (table expected, got number)"},
        {"table.sort({}, 7)", "s.lua:1: bad argument #2 to 'sort' (function expected, got number)"},
        {"error('\27[2Jx\\0y')", "s.lua:1: ?[2Jx"},
        {"error('a\\nb\\xff\\u{202e}\\u{e9}')", "s.lua:1: a\nb??\xc3\xa9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(run(cases[i].script, STEPS) == MLT_ERR_INVALID);
        if (strcmp(why, cases[i].sentence) != 0)
            fprintf(stderr, "for: %s\nis:  %s\n", cases[i].script, why);
        CHECK(strcmp(why, cases[i].sentence) == 0);
    }
    // g and addresses are the library's: nobody gives them a finalizer.
    CHECK(run("return function(g) assert(not getmetatable(g) and not getmetatable(g:buffer('a', "
              "1))) end",
              STEPS) == MLT_OK);
}

static void test_memory(void)
{
    CHECK(run("local s = 'x' while true do s = s .. s end", STEPS) == MLT_ERR_INVALID);
    CHECK(strcmp(why, "s.lua: the script's values need more than 1024 MiB of memory") == 0);
}

// ---- it says the same everywhere

// Texts of tables, orders of keys: of a state with another hash seed and other addresses.
static const char *const same_text =
    "local out, t, f = {}, {}, function() end\n"
    "local function add(...) for _, v in ipairs {...} do out[#out + 1] = v end end\n"
    "add(tostring(t), tostring(f), tostring({}), tostring(t), tostring(print) ~= tostring(next))\n"
    "add(string.format('%s %5s %d%%', t, 'x', 7))\n"
    "local all = {[true] = 1, [false] = 2, [3.5] = 3, [-1] = 4, [t] = 5, [f] = 6}\n"
    "for i = 1, 20 do all['k' .. i * 7919 % 20] = i all[i] = i end\n"
    "for k, v in pairs(all) do add(k == t and 't' or k == f and 'f' or k, v) end\n"
    "for k, v in next, all do add(v) end\n"
    "for k in pairs(setmetatable({}, {__pairs = function() return next, {z = 1} end})) do\n"
    "  add(k)\n"
    "end\n"
    "local list = {}\n"
    "for i = 1, 400 do list[i] = {i * 31 % 7, i} end\n"
    "table.sort(list, function(a, b) return a[1] < b[1] end)\n"
    "for i = 2, #list do\n"
    "  assert(list[i - 1][1] < list[i][1] or list[i - 1][2] < list[i][2])\n"
    "end\n"
    "add(math.random(1000)) math.randomseed() add(math.random(1000))\n"
    "local removed = {a = 1, b = 2, c = 3}\n"
    "for k in pairs(removed) do add(k) removed.b = nil end\n"
    "for i = 1, #out do out[i] = tostring(out[i]) end\n"
    "error(table.concat(out, ' '), 0)\n";

static void test_same(void)
{
    static char first[sizeof why];
    for (int i = 0; i < 5; i++) {
        CHECK(run(same_text, 0) == MLT_ERR_INVALID);
        if (i == 0)
            memcpy(first, why, sizeof first);
        if (strcmp(first, why) != 0)
            fprintf(stderr, "once:  %s\nagain: %s\n", first, why);
        CHECK(strcmp(first, why) == 0);
    }
    static const char beginning[] = "table: 1 function: 2 table: 3 table: 1 true table: 1     x 7% "
                                    "false 2 true 1 f 6 -1 4 1 1 2 2 3 3 3.5 3 4 4";
    if (strncmp(first, beginning, strlen(beginning)) != 0)
        fprintf(stderr, "%s\n", first);
    CHECK(strncmp(first, beginning, strlen(beginning)) == 0);
    CHECK(strstr(first, " z ") && strstr(first, " a c") && !strstr(first, " a b c"));
}

// print shows what controls a terminal, and does not send it.
static void test_print(void)
{
    char name[] = "/tmp/millet_print_XXXXXX", text[200];
    int fd = mkstemp(name), old = dup(2);
    CHECK(fd >= 0 && old >= 0 && unlink(name) == 0 && dup2(fd, 2) == 2);
    mlt_status status = run("print('a\\27[2Jb\\0c\\xc2\\x9b', 'd\\te\\n\\u{e9}', {}, nil, 1.5)\n"
                            "return function() end",
                            STEPS);
    CHECK(dup2(old, 2) == 2 && close(old) == 0);
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    CHECK(n > 0 && status == MLT_OK && close(fd) == 0);
    text[n] = '\0';
    CHECK(strcmp(text, "a\\x1b[2Jb\\x00c\\xc2\\x9b\td\te\n\xc3\xa9\ttable: 1\tnil\t1.5\n") == 0);
}

int main(void)
{
    if (run("return function() end", 0) == MLT_ERR_UNSUPPORTED)
        return 77;
    test_ends();
    test_refused();
    test_memory();
    test_same();
    test_print();
    return 0;
}
