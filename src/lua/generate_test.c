// SPDX-License-Identifier: BSD-3-Clause
// Scripts and the programs that they make; every wrong argument and its sentence.
#include "lua/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "goal/graph.h"

static char why[1000];

static mlt_status try_script(const char *script, uint32_t ranks, mlt_goal_program **out)
{
    *out = NULL;
    why[0] = 0;
    return mlt_lua_generate("s.lua", script, strlen(script), ranks, NULL, 0, 0, NULL, NULL, out,
                            why, sizeof why);
}

static mlt_goal_program *good(const char *script, uint32_t ranks)
{
    mlt_goal_program *program;
    mlt_status status = try_script(script, ranks, &program);
    if (status != MLT_OK)
        fprintf(stderr, "%s\n", why);
    CHECK(status == MLT_OK && program && program->ranks == ranks);
    char fault[200];
    CHECK(mlt_goal_program_valid(program, fault, sizeof fault) == MLT_OK);
    return program;
}

// The whole script fails with exactly that sentence.
static void bad(const char *script, const char *sentence)
{
    mlt_goal_program *program;
    CHECK(try_script(script, 4, &program) == MLT_ERR_INVALID && !program);
    if (strcmp(why, sentence) != 0)
        fprintf(stderr, "for:     %s\nis:      %s\nwanted:  %s\n", script, why, sentence);
    CHECK(strcmp(why, sentence) == 0);
}

// One call in the second line of a function, on rank 0: "s.lua:2: SENTENCE (rank 0)".
static void bad_call(const char *line, const char *sentence)
{
    char script[500], wanted[600];
    snprintf(script, sizeof script, "return function(g, rank, p)\n%s\nend", line);
    snprintf(wanted, sizeof wanted, "s.lua:2: %s (rank 0)", sentence);
    bad(script, wanted);
}

static void test_all_functions(void)
{
    mlt_goal_program *p = good("return function(g, rank, p)\n"
                               "  local a, b = g:buffer('a', 64), g:buffer('b', 32)\n"
                               "  local s = g:send(a + 8, 16, (rank + 1) % p)\n"
                               "  local r = g:recv(4 + b, 16, (rank - 1) % p, 7)\n"
                               "  local e = g:exec('sumInt32', a + 40 - 8, 8, 100, 8)\n"
                               "  local u = g:exec(3, 10, 5, b, 0)\n"
                               "  local v = g:exec_reversed('maxFloat64', a, 8, b, 8)\n"
                               "  local c, d = g:calc(500), g:calc(600.0, 2)\n"
                               "  local n = g:nop()\n"
                               "  g:requ(n, s)\n"
                               "  g:irequ(n, r)\n"
                               "  g:label(e, 'e1')\n"
                               "  assert(s == 0 and n == 7 and a + 1 == 1 + a and a ~= b)\n"
                               "  assert(tostring(b + 3) == 'b+3')\n"
                               "end",
                               3);
    for (uint32_t rank = 0; rank < 3; rank++) {
        const mlt_goal_rank *r = &p->rank[rank];
        const mlt_goal_action *a = r->actions;
        CHECK(r->count == 8 && r->deps_count == 2 && r->buffers_count == 2);
        CHECK(r->buffers[0].size == 64 && r->buffers[1].size == 32);
        CHECK(strcmp(mlt_goal_name_text(p, r->buffers[1].name), "b") == 0);
        CHECK(a[0].kind == MLT_GOAL_SEND && a[0].peer == (int32_t)((rank + 1) % 3) && !a[0].tag);
        CHECK(a[0].buf[0] == 1 && a[0].at[0] == 8 && a[0].size[0] == 16 && a[0].line == 3);
        CHECK(a[1].kind == MLT_GOAL_RECV && a[1].peer == (int32_t)((rank + 2) % 3));
        CHECK(a[1].tag == 7 && a[1].buf[0] == 2 && a[1].at[0] == 4 && a[1].line == 4);
        CHECK(a[2].kind == MLT_GOAL_EXEC && a[2].op == MLT_OP_SUM && a[2].type == MLT_OP_INT32);
        CHECK(a[2].at[0] == 32 && a[2].buf[1] == MLT_GOAL_MEMORY && a[2].at[1] == 100);
        CHECK(strcmp(mlt_goal_name_text(p, a[2].label), "e1") == 0 && !a[2].flags);
        CHECK(a[3].kind == MLT_GOAL_USER && a[3].user == 3 && a[3].size[0] == 5 && !a[3].size[1]);
        CHECK(a[4].kind == MLT_GOAL_EXEC && a[4].op == MLT_OP_MAX && a[4].type == MLT_OP_FLOAT64);
        CHECK(a[4].flags == MLT_GOAL_REVERSED);
        CHECK(a[5].kind == MLT_GOAL_CALC && a[5].size[0] == 500 && !a[5].cpu);
        CHECK(a[6].kind == MLT_GOAL_CALC && a[6].size[0] == 600 && a[6].cpu == 2);
        CHECK(a[7].kind == MLT_GOAL_NOP && a[7].line == 9);
        CHECK(r->deps[0].action == 7 && r->deps[0].on == 0);
        CHECK(r->deps[1].action == 7 && r->deps[1].on == (1 | MLT_GOAL_STARTED));
    }
    mlt_goal_program_free(p);
}

static void test_paper_names(void)
{
    mlt_goal_program *p = good("return function(g, i, p)\n"
                               "  local b = GOAL_Buffer(g, 'buf', 8)\n"
                               "  local rcv = GOAL_Rcv(g, b, 8, i)\n"
                               "  local send = GOAL_Send(g, b, 8, i)\n"
                               "  GOAL_Requ(g, send, rcv)\n"
                               "  GOAL_Requ_start(g, GOAL_Nop(g), GOAL_Recv(g, b, 8, i))\n"
                               "  GOAL_Label(g, GOAL_Calc(g, 1), 'x')\n"
                               "  GOAL_Exec(g, 'bandUInt8', 0, 1, 1, 1)\n"
                               "  GOAL_Exec_reversed(g, 'copyInt8', 0, 1, 1, 1)\n"
                               "end",
                               2);
    CHECK(p->rank[1].count == 7 && p->rank[1].deps_count == 2);
    mlt_goal_program_free(p);
}

static void test_auto(void)
{
    mlt_goal_program *p = good("return function(g, rank, p)\n"
                               "  g:recv(0, 8, rank)\n"
                               "  g:exec('sumInt64', 8, 8, 0, 8)\n"
                               "  g:send(8, 8, rank)\n"
                               "  g:send(100, 8, rank)\n"
                               "  if rank == 1 then GOAL_Auto(g) end\n"
                               "end",
                               3);
    CHECK(!p->rank[0].deps_count && !p->rank[2].deps_count && p->rank[1].deps_count == 2);
    mlt_goal_graph *graph = mlt_goal_graph_new(&p->rank[1]);
    CHECK(mlt_goal_before(graph, 0, 1) && mlt_goal_before(graph, 1, 2));
    CHECK(!mlt_goal_before(graph, 2, 3) && !mlt_goal_before(graph, 3, 0));
    mlt_goal_graph_free(graph);
    mlt_goal_program_free(p);
}

static void seen(void *user, double done)
{
    double *last = user;
    CHECK(done >= *last && done <= 1);
    *last = done;
}

static void test_arguments(void)
{
    const char *script = "local n = tonumber(arg.n)\n"
                         "return function(g, rank, p)\n"
                         "  for i = 1, n do g:nop() end\n"
                         "  assert(arg.what == 'x=y' and arg.none == nil)\n"
                         "end";
    const mlt_lua_arg args[] = {{"n", "3"}, {"what", "x=y"}};
    mlt_goal_program *p;
    double last = 0;
    CHECK(mlt_lua_generate("s.lua", script, strlen(script), 700, args, 2, 0, seen, &last, &p, why,
                           sizeof why) == MLT_OK);
    CHECK(last == 1 && p->ranks == 700 && p->rank[699].count == 3);
    mlt_goal_program_free(p);

    // The same random numbers in each run; no files, no code from elsewhere.
    const char *repeat = "assert(not io and not os and not debug and not require and not load)\n"
                         "assert(not dofile and not loadfile and not package and not coroutine)\n"
                         "assert(string.rep and table.concat and math.floor and utf8.char)\n"
                         "return function(g, rank, p) g:calc(math.random(1 << 40)) end";
    mlt_goal_program *one = good(repeat, 2), *other = good(repeat, 2);
    CHECK(one->rank[1].actions[0].size[0] == other->rank[1].actions[0].size[0]);
    mlt_goal_program_free(one);
    mlt_goal_program_free(other);
}

static void test_wrong_calls(void)
{
    bad_call("g.send(0, 8, 1)",
             "send: its first argument should be g, as in g:send(...) with a colon");
    bad_call("g:send(0, 8)", "send: it takes 3 to 4 arguments, but got 2");
    bad_call("g:recv(0, 8, 1, 0, 0)", "recv: it takes 3 to 4 arguments, but got 5");
    bad_call("g:requ(1)", "requ: it takes 2 arguments, but got 1");
    bad_call("g:nop(1)", "nop: it takes 0 arguments, but got 1");
    bad_call("g:send(0, 8, 4)", "send: the receiver is 4, but should be 0 to 3");
    bad_call("g:recv(0, 8, rank - 1)", "recv: the sender is -1, but should be 0 to 3");
    bad_call("g:send(0, 8, 1.5)", "send: the receiver should be a whole number, not 1.5");
    bad_call("g:send(0, 8, '1')", "send: the receiver should be a whole number, not \"1\"");
    bad_call("g:send(0, nil, 1)", "send: the size should be a whole number, not nil");
    bad_call("g:send(0, -8, 1)", "send: the size is -8, but should be 0 to 9223372036854775807");
    bad_call("g:send(-1, 8, 1)",
             "send: the address is -1, but should be 0 or more, and its end below 2^63");
    bad_call("g:send(math.maxinteger, 8, 1)",
             "send: the address is 9223372036854775807, but should be 0 or more, and its end below "
             "2^63");
    bad_call("g:send('buf', 8, 1)", "send: the address should be a buffer, one with an offset, or "
                                    "a whole number, not \"buf\"");
    bad_call("g:send({}, 8, 1)", "send: the address should be a buffer, one with an offset, or a "
                                 "whole number, not a table");
    bad_call("g:send(true, 8, 1)", "send: the address should be a buffer, one with an offset, or "
                                   "a whole number, not true");
    bad_call("g:send(0, 8, 1, -1)", "send: the tag is -1, but should be 0 to 2147483647");
    bad_call("g:send(g:buffer('b', 8) + 4, 5, 1)",
             "send: bytes 4 and the 5 from there are not all in the buffer b, which has 8");
    bad_call("g:send(g:buffer('b', 8) - 4, 5, 1)",
             "send: bytes -4 and the 5 from there are not all in the buffer b, which has 8");
    bad_call("g:exec('sumInt33', 0, 4, 4, 4)",
             "exec: the function should be an operation and a type such as \"sumInt32\" or "
             "\"maxFloat64\", or the number of one of the user's, not \"sumInt33\"");
    bad_call("g:exec(nil, 0, 4, 4, 4)",
             "exec: the function should be an operation and a type such as \"sumInt32\" or "
             "\"maxFloat64\", or the number of one of the user's, not nil");
    bad_call("g:exec(70000, 0, 4, 4, 4)",
             "exec: the function's number is 70000, but should be 0 to 65535");
    bad_call("g:exec('sumInt32', 0, 4, 4, 8)", "exec: both sizes should be the same, not 4 and 8");
    bad_call("g:exec('sumInt32', 0, 6, 8, 6)",
             "exec: 6 bytes are no whole number of Int32, which have 4");
    bad_call("g:exec_reversed(1, 0, 6, 8, 6)",
             "exec_reversed: the user's functions say themselves which operand comes first; use "
             "exec");
    bad_call("g:calc(-1)", "calc: the time in ns is -1, but should be 0 to 9223372036854775807");
    bad_call("g:calc(1, 256)", "calc: the cpu is 256, but should be 0 to 255");
    bad_call("g:requ(0, 0)",
             "requ: there is no action yet; send, recv, exec, calc and nop make some");
    bad_call("g:requ(g:nop(), -1)", "requ: the second action is -1, but should be 0 to 0");
    bad_call("g:irequ(5, g:nop())", "irequ: the first action is 5, but should be 0 to 0");
    bad_call("local n = g:nop() g:requ(n, n)", "requ: action 0 cannot wait for itself");
    bad_call("g:buffer('2x', 1)",
             "buffer: the name is \"2x\", but should be letters, digits and underscores, a letter "
             "first, and no word of GOAL");
    bad_call("g:buffer('send', 1)",
             "buffer: the name is \"send\", but should be letters, digits and underscores, a "
             "letter first, and no word of GOAL");
    bad_call("g:buffer(7, 1)", "buffer: the name should be a string, not 7");
    bad_call("g:buffer('b', -1)", "buffer: the size is -1, but should be 0 to 9223372036854775807");
    bad_call("g:buffer('b', 1) g:buffer('b', 1)", "buffer: this rank has a buffer b already");
    bad_call("g:label(g:nop(), 'a') g:label(g:nop(), 'a')",
             "label: this rank has an action a already");
    bad_call("g:label(g:nop(), 'requ')",
             "label: the name is \"requ\", but should be letters, digits and underscores, a "
             "letter first, and no word of GOAL");
    bad_call("return g:buffer('b', 8) + 'x'", "a buffer plus takes a whole number, not a string");
    bad_call("return 8 - g:buffer('b', 8)", "a buffer minus takes a whole number, not a number");
    bad_call("return g:buffer('b', 8) + 1 + math.maxinteger",
             "an offset of a buffer is beyond 2^63");
}

static bool is_rulebook(const char *script)
{
    return mlt_lua_is_rulebook("s.lua", script, strlen(script));
}

static void test_rulebooks(void)
{
    CHECK(is_rulebook("algorithm { }") && is_rulebook("rule(1)") &&
          is_rulebook("local x = 1\npath()"));
    CHECK(is_rulebook("for i = 1, 3 do pcall(rule) end return function() end"));
    CHECK(!is_rulebook("return function(g, rank, p) end") && !is_rulebook("") &&
          !is_rulebook("algorithm {"));
    CHECK(!is_rulebook("error('rule')") && !is_rulebook("local n = arg.n + 1 rule()"));
    CHECK(!is_rulebook("while true do end")); // within its steps
}

static void test_wrong_scripts(void)
{
    bad("return function(g) g:sned() end", "s.lua:1: g has no method \"sned\"; it has send, recv, "
                                           "exec, exec_reversed, calc, nop, requ, "
                                           "irequ, buffer, label, auto (rank 0)");
    bad("return function(g", "s.lua:1: ')' expected near <eof>");
    bad("return 7", "s.lua: the script should return a function(g, rank, p), not a number, or say "
                    "algorithm { ... }");
    bad("", "s.lua: the script should return a function(g, rank, p), not a nil, or say algorithm { "
            "... }");
    bad("\x1bLua", "attempt to load a binary chunk (mode is 't')");
    bad("local b\nreturn function(g, rank)\nb = b or g:buffer('b', 8)\ng:nop()\n"
        "if rank == 2 then g:send(b, 8, 0) end\nend",
        "s.lua:5: send: this buffer belongs to rank 0; each rank declares its own (rank 2)");
    bad("local k\nsetmetatable(_G, {__index = function() return 1 end})\n"
        "return function(g, rank)\nif rank == 3 then error('enough') end end",
        "s.lua:4: enough (rank 3)");
    bad("return function(g, rank) error({}) end",
        "the script raised an error that is a table, not a sentence (rank 0)");
    bad("return function(g, rank) error(setmetatable({}, {__tostring = function() return 'mine' "
        "end})) end",
        "mine (rank 0)");
    bad("return function(g) local s = string.rep('x', 1 << 30) end",
        "s.lua: the script's values need more than 1024 MiB of memory (rank 0)");

    mlt_goal_program *program;
    CHECK(try_script("local function f(x) return 1 + f(x) end\nreturn function(g) f(1) end", 1,
                     &program) == MLT_ERR_INVALID);
    CHECK(strstr(why, "s.lua:1: stack overflow"));
    CHECK(try_script("return function() end", 0, &program) == MLT_ERR_INVALID);
    CHECK(strcmp(why, "s.lua: the number of ranks must be 1 to 268435456, not 0") == 0);
    CHECK(try_script("return function() end", UINT32_MAX, &program) == MLT_ERR_INVALID);
}

int main(void)
{
    mlt_goal_program *program;
    if (try_script("return function() end", 1, &program) == MLT_ERR_UNSUPPORTED) {
        CHECK(strstr(why, "built without Lua"));
        printf("built without Lua: nothing to test\n");
        return 77;
    }
    mlt_goal_program_free(program);
    test_all_functions();
    test_paper_names();
    test_auto();
    test_arguments();
    test_wrong_calls();
    test_rulebooks();
    test_wrong_scripts();
    return 0;
}
