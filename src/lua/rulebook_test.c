// SPDX-License-Identifier: BSD-3-Clause
// Rule books: what a file says is what is answered; every way to be wrong has its sentence with file and
// line; a wrong algorithm is refused in the checker's words.
#include "lua/rulebook.h"

#include <pthread.h>
#include <source_dir.h>
#include <string.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "coll/alg/hosts/map.h"
#include "coll/choice.h"
#include "coll/rulebook.h"
#include "judge/check/check.h"
#include "lua/limit.h"
#include "lua/rulebook_int.h"

enum { WHY = 4096 };

static char path[] = "/tmp/millet_book_XXXXXX.lua", why[WHY];

static const char *write_rulebook(const char *text)
{
    FILE *to = fopen(path, "w");
    CHECK(to);
    CHECK(fputs(text, to) >= 0);
    CHECK(fclose(to) == 0);
    return path;
}

static mlt_coll_rulebook *open_rulebook(const char *text)
{
    mlt_coll_rulebook *rulebook = NULL;
    why[0] = '\0';
    mlt_status status =
        mlt_lua_rulebook_open(mlt_coll_algs, write_rulebook(text), &rulebook, why, WHY);
    if (status == MLT_ERR_UNSUPPORTED)
        exit(77);
    if (status != MLT_OK)
        fprintf(stderr, "%s\n", why);
    CHECK(status == MLT_OK && rulebook);
    return rulebook;
}

static mlt_coll_question question(mlt_collective collective, uint32_t ranks, uint64_t bytes)
{
    return (mlt_coll_question){.collective = collective,
                               .ranks = ranks,
                               .all_ranks = ranks,
                               .bytes = bytes,
                               .op = MLT_OP_SUM,
                               .type = MLT_OP_FLOAT64,
                               .element = 8,
                               .commutes = true,
                               .reach = MLT_REACH_HOST,
                               .comm = "MPI_COMM_WORLD"};
}

// ---- what is answered

static void test_rules(void)
{
    mlt_coll_rulebook *rulebook = open_rulebook(
        "rule { coll = 'allreduce', ranks = {2, 64}, bytes = {0, '8K'}, comm = 'A', "
        "alg = 'recursive_doubling', flat = true, why = 'short' }\n"
        "rule { coll = 'allgather', alg = 'recursive_doubling' }\n"
        "rule { coll = 'allgather', ranks = 6, alg = 'ring' }\n"
        "rule(function(q)\n"
        "  if q.coll == 'bcast' and q.bytes > 1e6 then return { alg = 'chain', segment = 65536, "
        "why = 'long ' .. q.ranks } end\n"
        "end)\n"
        "rule { coll = 'bcast', reach = 'worker', alg = 'linear' }\n"
        "rule { coll = 'bcast', crowded = true, bytes = {100, math.huge}, alg = 'binary' }\n"
        "rule { coll = 'bcast', crowded = false, bytes = {200}, alg = 'knomial', radix = 4 }\n"
        "rule { coll = 'scan', hosts = {2, 8}, each = 2, alg = 'hosts' }\n"
        "rule { coll = 'scan', reads = true, alg = 'linear' }\n"
        "rule { coll = 'scan', reads = false, alg = 'recursive_doubling' }\n");
    CHECK(rulebook->rules_count == 10 && rulebook->rules[3].alg == NULL && rulebook->rules[0].alg);
    mlt_coll_choice c;
    mlt_coll_question q = question(MLT_COLL_ALLREDUCE, 64, 8192);
    CHECK(!rulebook->choose(rulebook, &q, &c, why, WHY) && !*why);
    q.comm = "A";
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && !*why);
    CHECK(strcmp(c.alg->name, "recursive_doubling") == 0 && c.flat && strcmp(c.why, "short") == 0);
    CHECK(c.alg == mlt_coll_named(mlt_coll_algs, NULL, MLT_COLL_ALLREDUCE, "recursive_doubling"));
    CHECK(strstr(c.by, ".lua:1") && !strchr(c.by, '/'));
    q.bytes = 8193;
    CHECK(!rulebook->choose(rulebook, &q, &c, why, WHY));
    q.bytes = 8192, q.ranks = 65;
    CHECK(!rulebook->choose(rulebook, &q, &c, why, WHY));
    q.ranks = 1;
    CHECK(!rulebook->choose(rulebook, &q, &c, why, WHY));

    // A rule whose algorithm refuses is passed over, and that is told.
    q = question(MLT_COLL_ALLGATHER, 6, 8);
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && strcmp(c.alg->name, "ring") == 0);
    CHECK(!*why && strstr(c.passed, ".lua:2: allgather.recursive_doubling is not for this: the "
                                    "number of ranks must be a power of two"));
    q.ranks = 7;
    CHECK(!rulebook->choose(rulebook, &q, &c, why, WHY) && !*why &&
          strstr(c.passed, "is not for this"));
    q.ranks = 8;
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && !*why && !*c.passed);

    q = question(MLT_COLL_BCAST, 5, 1000001);
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && strcmp(c.alg->name, "chain") == 0);
    const char *kept = c.why;
    CHECK(c.segment == 65536 && strcmp(kept, "long 5") == 0 && strstr(c.by, ".lua:4"));
    for (q.ranks = 6; q.ranks < 2000; q.ranks++) // what was answered stays
        CHECK(rulebook->choose(rulebook, &q, &c, why, WHY));
    CHECK(strcmp(kept, "long 5") == 0);
    q = question(MLT_COLL_BCAST, 5, 150);
    CHECK(!rulebook->choose(rulebook, &q, &c, why, WHY));
    q.crowded = true;
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && strcmp(c.alg->name, "binary") == 0);
    q.reach = MLT_REACH_WORKER;
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && strcmp(c.alg->name, "linear") == 0);
    q.reach = MLT_REACH_PROCESS, q.crowded = false, q.bytes = 200;
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && c.radix == 4);

    const uint32_t names[] = {0, 0, 1, 1, 2, 2};
    mlt_coll_hosts *hosts = mlt_coll_hosts_new(6, names, 3);
    q = question(MLT_COLL_SCAN, 6, 8);
    q.hosts = hosts, q.reach = MLT_REACH_NETWORK;
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && strcmp(c.alg->name, "hosts") == 0);
    hosts->most = 3;
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && strcmp(c.alg->name, "hosts") != 0);
    mlt_coll_hosts_free(hosts);
    q = question(MLT_COLL_SCAN, 5, 8);
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) &&
          strcmp(c.alg->name, "recursive_doubling") == 0);
    q.reads = true;
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && strcmp(c.alg->name, "linear") == 0);

    // Through the front door: the built-in rules answer where the rule book does not.
    q = question(MLT_COLL_BARRIER, 5, 0);
    mlt_coll_choose(rulebook, &q, &c, why, WHY);
    CHECK(strcmp(c.by, "built in") == 0 && !*why);
    rulebook->free(rulebook);
}

// What a function sees of a question.
static void test_question(void)
{
    mlt_coll_rulebook *rulebook =
        open_rulebook("rule(function(q)\n"
                      "  local t = {}\n"
                      "  for k, v in pairs(q) do t[#t + 1] = k .. '=' .. tostring(v) end\n"
                      "  return { alg = 'ring', why = table.concat(t, ' ') }\n"
                      "end)\n");
    mlt_coll_choice c;
    mlt_coll_question q = question(MLT_COLL_ALLREDUCE, 3, 24);
    q.all_ranks = 12;
    q.cores = 4;
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY));
    CHECK(strcmp(c.why,
                 "all_ranks=12 bytes=24 coll=allreduce comm=MPI_COMM_WORLD commutes=true "
                 "cores=4 crowded=false each=3 element=8 hosts=1 in_place=false op=sum ranks=3 "
                 "reach=host reads=false reproducible=false sharing=1 type=Float64 uneven=false") ==
          0);
    q.op = MLT_OPS, q.commutes = true;
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && strstr(c.why, "op=user"));
    CHECK(!strstr(c.why, "type="));
    rulebook->free(rulebook);
}

// Fields that a shape never has are mistakes; those that it does not always have are nil.
static void test_fields_of_shapes(void)
{
    mlt_coll_rulebook *rulebook =
        open_rulebook("algorithm { coll = 'bcast', name = 'mine', emit = function(g, s)\n"
                      "  assert(not s.segment and not s.f and not s.host)\n"
                      "  return g:buffer('buf', s.size)\nend }\n");
    mlt_coll_shape shape = {.ranks = 3, .count = 1, .type = MLT_OP_INT32};
    mlt_goal_program *program = NULL;
    CHECK(mlt_lua_rulebook_program(rulebook, rulebook->algs[0], &shape, NULL, NULL, &program, why,
                                   WHY) == MLT_ERR_INVALID);
    CHECK(strstr(why, ".lua:3: shape has no field \"size\"; it has rank, ranks, root, count, "));
    CHECK(strstr(why, "(rank 0)"));
    rulebook->free(rulebook);
}

// Functions that fail are no matter of the next rule.
static void test_failing_rule(void)
{
    mlt_coll_rulebook *rulebook = open_rulebook("rule(function(q) return q.nothing.more end)\n"
                                                "rule { coll = 'bcast', alg = 'linear' }\n");
    mlt_coll_choice c;
    mlt_coll_question q = question(MLT_COLL_BCAST, 3, 24);
    CHECK(!rulebook->choose(rulebook, &q, &c, why, WHY));
    CHECK(
        strstr(why, ".lua:1: what a rule is asked has no field \"nothing\"; it has coll, ranks, "));
    CHECK(mlt_lua_rulebook_prove(rulebook, why, WHY) == MLT_ERR_INVALID);
    CHECK(strstr(why, "has no field \"nothing\"") && strstr(why, "(asked for barrier, 1 ranks"));
    rulebook->free(rulebook);
    rulebook =
        open_rulebook("rule(function(q) while true do pcall(function() while true do end end) end "
                      "end)\n");
    CHECK(!rulebook->choose(rulebook, &q, &c, why, WHY));
    CHECK(strstr(why, ".lua:1: it runs for too long: more than 50000000 steps"));
    rulebook->free(rulebook);
    // Each call is short enough, but there are 800.
    rulebook = open_rulebook("rule(function(q) for i = 1, 2e7 do end end)\n");
    CHECK(!rulebook->choose(rulebook, &q, &c, why, WHY) && !*why);
    CHECK(mlt_lua_rulebook_prove(rulebook, why, WHY) == MLT_ERR_INVALID);
    CHECK(strstr(why, "takes too long: trying it took more than 200000000 steps"));
    rulebook->free(rulebook);
    // Nor do the calls for one shape take more together: this one is slow for 16 ranks only.
    rulebook =
        open_rulebook("algorithm { coll = 'bcast', name = 'slow', emit = function(g, shape)\n"
                      "  if shape.ranks == 16 then for i = 1, 4e7 do end end\n"
                      "  local b = g:buffer('buf', shape.bytes)\n"
                      "  if shape.rank ~= shape.root then g:recv(b, shape.bytes, shape.root) end\n"
                      "  for r = 0, shape.ranks - 1 do\n"
                      "    if shape.rank == shape.root and r ~= shape.root then\n"
                      "      g:send(b, shape.bytes, r)\n"
                      "    end\n"
                      "  end\n"
                      "end }\n");
    CHECK(mlt_lua_rulebook_prove(rulebook, why, WHY) == MLT_ERR_INVALID);
    CHECK(strstr(why, "slow takes too long: trying it took more than 200000000 steps"));
    CHECK(((mlt_lua_rulebook *)rulebook)->goal.total < MLT_LUA_PROOF_STEPS + MLT_LUA_BOOK_STEPS);
    rulebook->free(rulebook);
    // What a metamethod says is nobody's.
    rulebook =
        open_rulebook("rule(setmetatable({}, {__index = function(t, k) return k == 'coll' and "
                      "'bc' .. 'ast' or k == 'alg' and 'lin' .. ('ear'):rep(1) or nil end}))\n"
                      "rule(function(q) return setmetatable({}, {__index = function(t, k) return "
                      "k == 'alg' and 'ring' or k == 'why' and 'w' .. q.ranks or nil end}) end)\n");
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && strcmp(c.alg->name, "linear") == 0);
    q = question(MLT_COLL_ALLREDUCE, 3, 24);
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && strcmp(c.why, "w3") == 0);
    rulebook->free(rulebook);
    // Every rank has a state of its own: math.random is not there, tables have no address.
    rulebook = open_rulebook("assert(not math.random and not math.randomseed)\n"
                             "rule { coll = 'bcast', alg = 'linear', why = tostring({}) }\n");
    q = question(MLT_COLL_BCAST, 3, 24);
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && strcmp(c.why, "table: 1") == 0);
    rulebook->free(rulebook);
}

static void test_paths(void)
{
    mlt_coll_rulebook *rulebook = open_rulebook(
        "path { coll = 'allreduce', comm = 'B', 'count', { 'delay', us = 100 }, 'combine' }\n"
        "path { 'trace', {'check'} }\n");
    const mlt_coll_path *p = mlt_coll_rulebook_path(rulebook, MLT_COLL_ALLREDUCE, "B");
    CHECK(p && p == &rulebook->paths[0] && p->count == 3 && strstr(p->by, ".lua:1"));
    CHECK(p->stages[0].wrapper == MLT_WRAP_COUNT && p->stages[1].wrapper == MLT_WRAP_DELAY &&
          p->stages[1].delay_us == 100 && p->stages[2].wrapper == MLT_WRAP_COMBINE);
    p = mlt_coll_rulebook_path(rulebook, MLT_COLL_ALLREDUCE, "C");
    CHECK(p && p == &rulebook->paths[1] && p->count == 2 && p->stages[1].wrapper == MLT_WRAP_CHECK);
    CHECK(mlt_coll_rulebook_path(rulebook, MLT_COLL_BCAST, "B") == p);
    CHECK(!mlt_coll_rulebook_path(NULL, MLT_COLL_BCAST, "B"));
    rulebook->free(rulebook);
    rulebook = open_rulebook("path { coll = 'scan', 'count' }");
    CHECK(!mlt_coll_rulebook_path(rulebook, MLT_COLL_BCAST, ""));
    rulebook->free(rulebook);
}

// Wrappers that say they are neutral: NULL if they are, else what the proof says.
static void test_neutral(void)
{
    static const struct {
        const char *text, *why;
    } tries[] = {
        {"path { coll = 'bcast', {'map', operand = function(x) return x end, neutral = true} }",
         NULL},
        {"path { coll = 'gather', {'map', type = 'UInt16', operand = function(x) return x ~ 7 end, "
         "result = function(x) return x ~ 7 end, neutral = true}, 'combine' }",
         NULL},
        {"path { coll = 'alltoall', {'map', type = 'Int8', operand = function(x, i, e) return x + "
         "e.rank end, neutral = true} }",
         ":1: path: a wrapper says that it is neutral, but in alltoall (Int8) of 2 ranks, 1 "
         "in a worker, rank 0 gets -128 as element 4, where 127 is right"},
        {"path { coll = 'allreduce', {'op', op = 'sum', with = function(a, b) return a + b end, "
         "neutral = true}, 'combine' }",
         NULL},
        {"path { coll = 'scan', {'op', op = 'max', with = function(a, b) return a > b and a or b "
         "end, type = 'Int64', neutral = true}, 'combine' }",
         NULL},
        // 2^64 - 1 is -1 in Lua.
        {"path { coll = 'scan', {'op', op = 'max', with = function(a, b) return a > b and a or b "
         "end, neutral = true}, 'combine' }",
         "scan (max of UInt64) of 2 ranks"},
        {"path { coll = 'reduce', 'combine', {'op', op = 'min', type = 'Float64', with = "
         "math.max, neutral = true} }",
         "reduce (min of Float64) of 2 ranks, 1 in a worker, rank 1 gets "},
        {"path { coll = 'reduce', 'combine', {'map', type = 'Int32', operand = function(x, i, e) "
         "return e.worker and x or 0 end, neutral = true} }",
         NULL},
        {"path { coll = 'reduce', 'combine', {'map', operand = function(x) return x + 0.5 end, "
         "neutral = true} }",
         "of Int8 is a whole number of at most 64 bits"},
        {"path { coll = 'exscan', {'map', result = function(x) return nil end, neutral = true} }",
         "its function answers nil, but an element of Int8 is a whole number of at most 64 bits"},
        {"path { coll = 'reduce_scatter', {'map', operand = function(x) while true do end end, "
         "neutral = true} }",
         ":1: path: "},
        {"path { coll = 'bcast', {'map', operand = function(x) return x + 1 end} }",
         NULL}, // says nothing
        {"local neg = function(x) return -x end; path { coll = 'allreduce', {'map', type = "
         "'Int32', "
         "operand = neg, result = neg, neutral = true}, {'op', op = 'sum', with = function(a, b) "
         "return a + b end, neutral = true} }",
         "in allreduce (max of Int32) of 2 ranks"}, // the map is not of sums only
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        why[0] = 0;
        mlt_coll_rulebook *rulebook = open_rulebook(tries[i].text);
        mlt_status status = mlt_lua_rulebook_prove(rulebook, why, WHY);
        bool fine = tries[i].why ? status != MLT_OK && strstr(why, tries[i].why) : status == MLT_OK;
        if (!fine)
            failed(__FILE__, __LINE__, why[0] ? why : tries[i].text);
        rulebook->free(rulebook);
    }
}

// ---- what is refused when it is read

static const struct {
    const char *text, *sentence;
} mistakes[] = {
    {"", "it has no rule, no algorithm and no path"},
    {"rule {\n", ".lua:2: "},
    {"rule { coll = 'allredcue', alg = 'ring' }",
     ".lua:1: rule: there is no collective 'allredcue'; the nearest are allreduce, "},
    {"rule { alg = 'ring' }", "it should say which collective"},
    {"rule { coll = 5, alg = 'ring' }", "rule: coll should be a text, not 5"},
    {"\nrule { coll = 'bcast', alg = 'binominal' }",
     ".lua:2: rule: there is no algorithm 'binominal' for bcast; the nearest are binomial, "},
    {"rule { coll = 'bcast' }", "it should name an algorithm"},
    {"rule { coll = 'bcast', alg = 'linear', byte = 5 }",
     "rule: there is no key 'byte'; the nearest are bytes, "},
    {"rule { 'bcast', alg = 'linear' }", "its keys are words such as coll, but one is 1"},
    {"rule { coll = 'bcast', alg = 'linear', bytes = {9, 8} }",
     "rule: bytes: no number is from 9 to 8"},
    {"rule { coll = 'bcast', alg = 'linear', bytes = 0 }", "nothing is asked for up to 0"},
    {"rule { coll = 'bcast', alg = 'linear', bytes = {} }",
     "bytes should be a number or {from, to}, not a table"},
    {"rule { coll = 'bcast', alg = 'linear', bytes = {1, 2, 3} }", "a number or {from, to}"},
    {"rule { coll = 'bcast', alg = 'linear', bytes = {1.5, 2} }", "of whole numbers, not 1.5"},
    {"rule { coll = 'bcast', alg = 'linear', bytes = {1, 'x'} }", "of whole numbers, not \"x\""},
    {"rule { coll = 'bcast', alg = 'linear', bytes = {1, -2} }", "of whole numbers, not -2"},
    {"rule { coll = 'bcast', alg = 'linear', bytes = true }", "not true"},
    {"rule { coll = 'bcast', alg = 'linear', ranks = {1, 2^40} }", "up to 2^32 - 1"},
    {"rule { coll = 'bcast', alg = 'linear', hosts = {1, 2^40} }",
     "hosts are counted up to 2^32 - 1"},
    {"rule { coll = 'bcast', alg = 'linear', segment = 8 }", "bcast.linear takes no segment"},
    {"rule { coll = 'bcast', alg = 'chain', segment = 0 }",
     "segment should be a whole number above 0, not 0"},
    {"rule { coll = 'bcast', alg = 'knomial', radix = 1e12 }", "radix should be"},
    {"rule { coll = 'bcast', alg = 'linear', flat = 1 }", "flat should be true or false, not 1"},
    {"rule { coll = 'bcast', alg = 'linear', reach = 'hots' }",
     "there is no reach 'hots'; the nearest are host"},
    {"rule { coll = 'bcast', alg = 'linear', why = {} }", "why should be a text, not a table"},
    {"rule(5)", "it takes a table {...} or a function(q), not 5"},
    {"rule()", "not nil"},
    {"algorithm(5)", "it takes a table {...}, not 5"},
    {"algorithm { coll = 'bcast' }", "it should have a name"},
    {"algorithm { coll = 'bcast', name = 'a b' }", "it should have a name"},
    {"algorithm { coll = 'bcast', name = 'chain' }", "there is a bcast.chain already"},
    {"algorithm { coll = 'bcast', name = 'a' }", "emit should be a function(g, shape), not nil"},
    {"algorithm { coll = 'bcast', name = 'a', emit = print, refuses = 5 }",
     "refuses should be a function(shape)"},
    {"algorithm { coll = 'bcast', name = 'a', emit = print, takes = 5 }",
     "takes should be a list such as"},
    {"algorithm { coll = 'bcast', name = 'a', emit = print, takes = {'x'} }",
     "a list of segment, radix and window, not \"x\""},
    {"algorithm { coll = 'bcast', name = 'a', emit = print, in_order = true }",
     "in_order is about operands, which bcast has not"},
    {"algorithm { coll = 'exchange', name = 'a', emit = print }", "no others"},
    {"algorithm { coll = 'bcast', name = 'a', emit = print, emits = 5 }",
     "there is no key 'emits'; the nearest are emit, "},
    {"for i = 1, 2 do algorithm { coll = 'bcast', name = 'a', emit = print } end",
     "there is a bcast.a already"},
    {"path(5)", "it takes a table {...}, not 5"},
    {"path {}", "it should have 1 to 64 wrappers"},
    {"path { 'cuont' }", "there is no wrapper 'cuont'; the nearest are count, "},
    {"path { 5 }", "a wrapper is a name or {name, ...}, not 5"},
    {"path { 'delay' }", "a delay says how long"},
    {"path { {'count', us = 5} }", "only delay takes us"},
    {"path { {'delay', ms = 5} }", "there is no key 'ms'; the nearest are us, keep and bytes"},
    {"path { 'count', 'trace', 'count' }", "count comes twice"},
    {"path { coll = 'reduce', 'map' }", "map needs a function: {\"map\", operand = function"},
    {"path { coll = 'reduce', {'map'} }", "a map has a function"},
    {"path { coll = 'reduce', {'map', operand = 5} }", "map: operand should be a function, not 5"},
    {"path { coll = 'reduce', {'map', when = print} }", "map: there is no key 'when'"},
    {"path { coll = 'reduce', {'map', result = print, type = 'Int33'} }",
     "map: there is no type 'Int33'; the nearest are Int3"},
    {"path { coll = 'reduce', {'map', result = print, type = 'Float16'} }", "elements of Float16"},
    {"path { {'map', result = print} }",
     "map changes what passes, so its path names one collective"},
    {"path { coll = 'barrier', {'map', result = print} }", "map is not for barrier"},
    {"path { coll = 'bcast', 'combine', {'map', result = print} }",
     "after combine, map is for reduce and allreduce only"},
    {"path { coll = 'bcast', {'op', with = print} }", "op combines, which bcast does not"},
    {"path { coll = 'scan', {'op', op = 'sum'} }",
     "op needs a function: { \"op\", with = function"},
    {"path { coll = 'scan', {'op', with = print, op = 'add'} }", "op: there is no op 'add'"},
    {"path { coll = 'scan', {'op', with = print, neutral = true} }",
     "an op that is neutral says in place of which it stands"},
    {"path { coll = 'scan', {'op', with = print}, {'op', with = print} }", "op comes twice"},
    {"path { coll = 'scan', {'drop', when = print, neutral = true} }",
     "drop: there is no key 'neutral'"},
    {"path { coll = 'scan', {'drop', when = print, with = 'x'} }", "with should be a number"},
    {"path { coll = 'scan', {'drop', when = print, with = 1e30, type = 'Int64'} }",
     "drop: with = 1e+30 does not fit into Int64"},
    {"path { coll = 'scan', {'drop', when = print, with = 1e39, type = 'Float32'} }",
     "drop: with = 1e+39 does not fit into Float32"},
    {"path { coll = 'scan', {'drop', when = print, with = 128, type = 'Int8'} }",
     "drop: with = 128 does not fit into Int8"},
    {"path { coll = 'scan', {'drop', when = print, with = -1, type = 'UInt32'} }",
     "drop: with = -1 does not fit into UInt32"},
    {"path { coll = 'scan', {'drop', when = print, with = 0.5, type = 'UInt64'} }",
     "drop: with = 0.5 does not fit into UInt64"},
    {"path { coll = 'allreduce', 'combine', 'remote' }", "remote names a host"},
    {"path { coll = 'allreduce', 'combine', {'remote', protocol = 'tcp'} }", "remote names a host"},
    {"path { coll = 'allreduce', 'combine', {'remote', host = 'a,b'} }", "remote names a host"},
    {"path { coll = 'allreduce', 'combine', {'remote', host = 'b', protocol = 'udp'} }",
     "remote: there is no protocol 'udp'; the nearest are "},
    {"path { coll = 'allreduce', {'remote', host = 'b'}, 'combine' }",
     "remote comes after combine"},
    {"path { coll = 'bcast', 'combine', {'remote', host = 'b'} }", "remote is for allreduce"},
    {"path { 'combine', {'remote', host = 'b'} }", "remote is for allreduce"},
    {"path { group = '*', {'remote', host = 'b'} }", "remote stands around collective calls only"},
    {"path { channel = '*', {'map', result = print} }", "map stands around collective calls only"},
    {"path { coll = 'x', 'count' }", "there is no collective 'x'"},
    {"io.open('x')", ".lua:1: attempt to index a nil value (global 'io')"},
    {"local x = math.random()", "attempt to call a nil value (field 'random')"},
    {"error({})", "raised an error that is a table"},
    {"return function(g, rank, p) end", "it returns a function, which only `millet goal` takes"},
};

static void test_mistakes(void)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        mlt_coll_rulebook *rulebook = NULL;
        why[0] = '\0';
        mlt_status status = mlt_lua_rulebook_open(mlt_coll_algs, write_rulebook(mistakes[i].text),
                                                  &rulebook, why, WHY);
        if (status != MLT_ERR_INVALID || !strstr(why, mistakes[i].sentence) || strchr(why, '\n'))
            fprintf(stderr, "%s\n'%s' instead of '%s'\n", mistakes[i].text, why,
                    mistakes[i].sentence);
        CHECK(status == MLT_ERR_INVALID && !rulebook && strstr(why, mistakes[i].sentence));
        CHECK(!strchr(why, '\n'));
    }
    mlt_coll_rulebook *rulebook = NULL;
    CHECK(mlt_lua_rulebook_open(mlt_coll_algs, "/nowhere/x.lua", &rulebook, why, WHY) ==
          MLT_ERR_INVALID);
    CHECK(strcmp(why, "'/nowhere/x.lua' cannot be read: No such file or directory") == 0);
    CHECK(mlt_lua_rulebook_open(mlt_coll_algs, "/tmp", &rulebook, why, WHY) == MLT_ERR_INVALID);
    CHECK(strcmp(why, "'/tmp' cannot be read: Is a directory") == 0);
    int ends[2];
    char name[32];
    CHECK(pipe(ends) == 0 && write(ends[1], "never", 5) == 5 && close(ends[1]) == 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    CHECK(mlt_lua_rulebook_open(mlt_coll_algs, name, &rulebook, why, WHY) == MLT_ERR_INVALID);
    CHECK(strstr(why, "it is a pipe, but a rule book is read more than once"));
    close(ends[0]);
}

// What a function returns is looked at as a table of the file is.
static void test_answers(void)
{
    static const struct {
        const char *returns, *sentence;
    } wrongs[] = {
        {"5", "should be nil or a table such as { alg = \"chain\" }, not 5"},
        {"{ alg = 'x' }", "there is no algorithm 'x' for bcast"},
        {"{}", "names no algorithm"},
        {"{ alg = 'linear', radix = 3 }", "bcast.linear takes no radix"},
        {"{ alg = 'linear', bytes = 3 }", "there is no key 'bytes'"},
        {"{ alg = 'chain', segment = -1 }", "segment should be a whole number above 0, not -1"},
        {"error('no')", ".lua:1: no"},
        {"rule { coll = 'bcast', alg = 'linear' }", "rule is only for the file itself"},
    };
    mlt_coll_question q = question(MLT_COLL_BCAST, 3, 24);
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        char text[300];
        mlt_coll_choice c;
        snprintf(text, sizeof text, "rule(function(q) return %s end)", wrongs[i].returns);
        mlt_coll_rulebook *rulebook = open_rulebook(text);
        bool answered = rulebook->choose(rulebook, &q, &c, why, WHY);
        if (!strstr(why, wrongs[i].sentence))
            fprintf(stderr, "%s: '%s'\n", text, why);
        CHECK(!answered && strstr(why, wrongs[i].sentence) && !strchr(why, '\n'));
        rulebook->free(rulebook);
    }
}

// ---- algorithms

static const char *const right[] = {
    "coll = 'bcast', name = 'flat', emit = function(g, s)\n"
    "  local b = g:buffer('buf', s.bytes)\n"
    "  if s.rank ~= s.root then g:recv(b, s.bytes, s.root) return end\n"
    "  for r = 0, s.ranks - 1 do if r ~= s.root then g:send(b, s.bytes, r) end end\n"
    "end",
    // Operands in the order of ranks, with the shape's own operation, in place or not.
    "coll = 'scan', name = 'line', in_order = true, in_place = true, emit = function(g, s)\n"
    "  local i = not s.in_place and g:buffer('in', s.bytes)\n"
    "  local o, t = g:buffer('out', s.bytes), g:buffer('tmp', s.bytes)\n"
    "  if i then g:exec('copyUInt8', o, s.bytes, i, s.bytes) end\n"
    "  if s.rank > 0 then\n"
    "    g:recv(t, s.bytes, s.rank - 1)\n"
    "    g:exec_reversed(s.f, o, s.bytes, t, s.bytes)\n"
    "  end\n"
    "  if s.rank < s.ranks - 1 then g:send(o, s.bytes, s.rank + 1) end\n"
    "  g:auto()\n"
    "end",
    "coll = 'barrier', name = 'round', takes = {'radix'}, emit = function(g, s)\n"
    "  local got\n"
    "  for lap = 1, 2 do\n"
    "    if s.ranks == 1 then return end\n"
    "    if s.rank > 0 or lap > 1 then\n"
    "      local r = g:recv(0, 0, (s.rank - 1) % s.ranks)\n"
    "      if got then g:requ(r, got) end\n"
    "      got = r\n"
    "    end\n"
    "    if lap < 2 or s.rank < s.ranks - 1 then\n"
    "      local m = g:send(0, 0, (s.rank + 1) % s.ranks)\n"
    "      if got then g:requ(m, got) end\n"
    "      got = m\n"
    "    end\n"
    "  end\n"
    "end",
};

static const struct {
    const char *text, *sentence;
} wrong_algorithms[] = {
    // Root 0 only.
    {"coll = 'bcast', name = 'zero', emit = function(g, s)\n"
     "  local b = g:buffer('buf', s.bytes)\n"
     "  if s.rank > 0 then g:recv(b, s.bytes, 0) return end\n"
     "  for r = 1, s.ranks - 1 do g:send(b, s.bytes, r) end\n"
     "end",
     ".lua:1: bcast.zero is wrong for 2 ranks, root 1, 1 element of 8 bytes: "},
    // The wrong operation.
    {"coll = 'scan', name = 'sums', emit = function(g, s)\n"
     "  local i, o = g:buffer('in', s.bytes), g:buffer('out', s.bytes)\n"
     "  local t = g:buffer('tmp', s.bytes)\n"
     "  g:exec('copyUInt8', o, s.bytes, i, s.bytes)\n"
     "  if s.rank > 0 then g:recv(t, s.bytes, s.rank - 1)\n"
     "    g:exec('sumUInt8', o, s.bytes, t, s.bytes) end\n"
     "  if s.rank < s.ranks - 1 then g:send(o, s.bytes, s.rank + 1) end\n"
     "  g:auto()\n"
     "end",
     "scan.sums is wrong for 2 ranks, 1 element of 8 bytes, maxFloat64: "},
    // Not in order, though it says so.
    {"coll = 'scan', name = 'turned', in_order = true, emit = function(g, s)\n"
     "  local i, o = g:buffer('in', s.bytes), g:buffer('out', s.bytes)\n"
     "  local t = g:buffer('tmp', s.bytes)\n"
     "  g:exec('copyUInt8', o, s.bytes, i, s.bytes)\n"
     "  if s.rank > 0 then g:recv(t, s.bytes, s.rank - 1)\n"
     "    g:exec(s.f, o, s.bytes, t, s.bytes) end\n"
     "  if s.rank < s.ranks - 1 then g:send(o, s.bytes, s.rank + 1) end\n"
     "  g:auto()\n"
     "end",
     "scan.turned is wrong for 2 ranks"},
    // Everybody waits for everybody.
    {"coll = 'barrier', name = 'stuck', emit = function(g, s)\n"
     "  if s.ranks < 4 then return end\n"
     "end",
     "barrier.stuck is wrong for 2 ranks"},
    {"coll = 'barrier', name = 'fails', emit = function(g, s)\n"
     "  if s.ranks == 5 then g:send(0, 0, s.ranks) end\n"
     "end",
     "barrier.fails is wrong for 2 ranks"},
    {"coll = 'barrier', name = 'fails', emit = function(g, s)\n"
     "  g:send(0, 0, s.ranks)\n"
     "end",
     ".lua:2: send: the receiver is 1, but should be 0 to 0 (rank 0)"},
    {"coll = 'bcast', name = 'kept', emit = function(g, s)\n"
     "  kept = kept or {}\n"
     "  kept[s.rank] = kept[s.rank] or g:buffer('buf', s.bytes)\n"
     "  local shown = tostring(kept[s.rank])\n"
     "  g:send(kept[s.rank], 0, s.rank)\n"
     "  g:recv(kept[s.rank], 0, s.rank)\n"
     "end",
     ".lua:5: send: this buffer was declared by an earlier call of the function"},
    {"coll = 'barrier', name = 'never', emit = function(g, s) end,\n"
     "  refuses = function(s) return 'no' end",
     "barrier.never refuses every shape"},
    {"coll = 'barrier', name = 'never', emit = function(g, s) end,\n"
     "  refuses = function(s) return 5 end",
     "refuses every shape"},
};

static void test_algorithms(void)
{
    char text[2000];
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        snprintf(text, sizeof text, "algorithm { %s }", right[i]);
        mlt_coll_rulebook *rulebook = open_rulebook(text);
        mlt_status status = mlt_lua_rulebook_prove(rulebook, why, WHY);
        if (status != MLT_OK)
            fprintf(stderr, "%s\n", why);
        CHECK(status == MLT_OK && rulebook->algs_count == 1);
        rulebook->free(rulebook);
    }
    for (size_t i = 0; i < sizeof wrong_algorithms / sizeof *wrong_algorithms; i++) {
        snprintf(text, sizeof text, "algorithm { %s }", wrong_algorithms[i].text);
        mlt_coll_rulebook *rulebook = open_rulebook(text);
        mlt_status status = mlt_lua_rulebook_prove(rulebook, why, WHY);
        if (status != MLT_ERR_INVALID || !strstr(why, wrong_algorithms[i].sentence))
            fprintf(stderr, "'%s' instead of '%s'\n", why, wrong_algorithms[i].sentence);
        CHECK(status == MLT_ERR_INVALID && strstr(why, wrong_algorithms[i].sentence));
        rulebook->free(rulebook);
    }
}

// Wrong beyond what is tried on loading: the exact shape is proven when it is asked for.
static void test_exact_shape(void)
{
    mlt_coll_rulebook *rulebook = open_rulebook(
        "algorithm { coll = 'bcast', name = 'odd', emit = function(g, s)\n"
        "  local b = g:buffer('buf', s.bytes)\n"
        "  if s.rank ~= s.root then g:recv(b, s.bytes, s.root) return end\n"
        "  for r = 0, s.ranks - 1 do\n"
        "    if r ~= s.root and (s.count ~= 99 or r < 9) then g:send(b, s.bytes, r) end\n"
        "  end\n"
        "  if s.ranks == 5000 then error('too many') end\n"
        "end, refuses = function(s) if s.ranks == 77 then return 'not 77' end end }\n"
        "rule { coll = 'bcast', alg = 'odd' }\n");
    CHECK(mlt_lua_rulebook_prove(rulebook, why, WHY) == MLT_OK);
    const mlt_coll_alg *alg = rulebook->algs[0];
    mlt_coll_shape shape = {.ranks = 50, .count = 98, .element = 1, .user = alg->user};
    CHECK(rulebook->prove(rulebook, alg, &shape, why, WHY) == MLT_OK);
    CHECK(rulebook->prove(rulebook, alg, &shape, why, WHY) == MLT_OK);
    shape.count = 99;
    for (int i = 0; i < 2; i++) { // each time
        why[0] = '\0';
        CHECK(rulebook->prove(rulebook, alg, &shape, why, WHY) == MLT_ERR_INVALID);
        CHECK(strstr(why, "bcast.odd is wrong for 50 ranks, 99 elements of 1 byte: "));
    }
    shape.ranks = 8;
    CHECK(rulebook->prove(rulebook, alg, &shape, why, WHY) == MLT_OK);
    shape.ranks = 5000, shape.count = 3; // not all are made, but the function must run
    CHECK(rulebook->prove(rulebook, alg, &shape, why, WHY) == MLT_ERR_INVALID);
    CHECK(strstr(why, ".lua:7: too many (rank 0)"));
    shape.ranks = 4000, shape.count = 99; // beyond what is proven
    CHECK(rulebook->prove(rulebook, alg, &shape, why, WHY) == MLT_OK);
    const mlt_coll_alg *other = mlt_coll_named(mlt_coll_algs, NULL, MLT_COLL_BCAST, "linear");
    CHECK(rulebook->prove(rulebook, other, &shape, why, WHY) == MLT_OK);
    for (uint32_t i = 1; i < 600; i++) { // more than it remembers
        shape = (mlt_coll_shape){.ranks = 2, .count = i, .element = 1, .user = alg->user};
        CHECK(rulebook->prove(rulebook, alg, &shape, why, WHY) == MLT_OK);
    }
    mlt_coll_question q = question(MLT_COLL_BCAST, 77, 8);
    mlt_coll_choice c;
    CHECK(!rulebook->choose(rulebook, &q, &c, why, WHY) && !*why);
    CHECK(strstr(c.passed, "bcast.odd is not for this: not 77"));
    q.uneven = true, q.ranks = 7;
    CHECK(!rulebook->choose(rulebook, &q, &c, why, WHY) && !*why);
    CHECK(strstr(c.passed, "must have the same size"));
    rulebook->free(rulebook);
}

// The example for several hosts knows where ranks are; another layout is another shape.
static void test_hosts(void)
{
    static const char file[] = MLT_SOURCE_DIR "/examples/coll/hosts.lua";
    mlt_coll_rulebook *rulebook = NULL;
    CHECK(mlt_lua_rulebook_open(mlt_coll_algs, file, &rulebook, why, WHY) == MLT_OK);
    CHECK(mlt_lua_rulebook_prove(rulebook, why, WHY) == MLT_OK);
    const uint32_t names[][6] = {{0, 0, 0, 1, 1, 1}, {0, 1, 2, 0, 1, 2}, {4, 4, 0, 4, 4, 4}};
    for (int i = 0; i < 3; i++) {
        mlt_coll_hosts *hosts = mlt_coll_hosts_new(6, names[i], 5);
        mlt_coll_question q = question(MLT_COLL_BCAST, 6, 8);
        q.hosts = hosts, q.reach = MLT_REACH_NETWORK;
        mlt_coll_choice c;
        CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && c.alg == rulebook->algs[0]);
        mlt_coll_shape shape = mlt_coll_choice_shape(&q, &c);
        shape.root = 4;
        CHECK(rulebook->prove(rulebook, c.alg, &shape, why, WHY) == MLT_OK);
        mlt_coll_hosts_free(hosts);
    }
    mlt_coll_question q = question(MLT_COLL_BCAST, 6, 8);
    mlt_coll_choice c;
    CHECK(!rulebook->choose(rulebook, &q, &c, why, WHY) && !*why);
    rulebook->free(rulebook);
}

// A program of a user's algorithm, made as others are.
static void test_program(void)
{
    char text[2000];
    snprintf(text, sizeof text, "algorithm { %s }\nrule { coll = 'scan', alg = 'line' }\n",
             right[1]);
    mlt_coll_rulebook *rulebook = open_rulebook(text);
    mlt_coll_question q = question(MLT_COLL_SCAN, 9, 80);
    q.commutes = false, q.in_place = true;
    mlt_coll_choice c;
    CHECK(rulebook->choose(rulebook, &q, &c, why, WHY) && c.alg == rulebook->algs[0]);
    mlt_coll_shape shape = mlt_coll_choice_shape(&q, &c);
    CHECK(shape.user == c.alg->user && shape.in_place && shape.count == 10);
    mlt_goal_program *program;
    CHECK(mlt_coll_program(c.alg, &shape, NULL, NULL, &program, why, WHY) == MLT_OK);
    mlt_goal_spec spec = mlt_coll_spec(c.alg, &shape);
    mlt_goal_check_options options = {.is = &spec};
    mlt_goal_verdict *verdict = mlt_goal_check(program, &options);
    CHECK(mlt_goal_verdict_ok(verdict) && verdict->in_rank_order);
    CHECK(program->rank[1].actions[0].line == 6); // findings name it
    mlt_goal_verdict_free(verdict);
    mlt_goal_program_free(program);
    rulebook->free(rulebook);
}

// ---- the plug-in, in threads whose own stack is small

enum { THREADS = 4, STACK = 192 * 1024 };

static void *use_plugin(void *unused)
{
    char own[1024];
    mlt_coll_rulebook *rulebook;
    mlt_status status = mlt_coll_rulebook_open(path, &rulebook, own, sizeof own);
    if (status != MLT_OK)
        return strdup(own);
    mlt_coll_question q = question(MLT_COLL_SCAN, 16, 80);
    mlt_coll_choice c;
    mlt_coll_choose(rulebook, &q, &c, own, sizeof own);
    if (*own || c.alg != rulebook->algs[0])
        return strdup("another algorithm");
    mlt_coll_shape shape = mlt_coll_choice_shape(&q, &c);
    if (rulebook->prove(rulebook, c.alg, &shape, own, sizeof own) != MLT_OK)
        return strdup(own);
    mlt_goal_program *program;
    if (mlt_coll_program(c.alg, &shape, NULL, NULL, &program, own, sizeof own) != MLT_OK)
        return strdup(own);
    mlt_goal_program_free(program);
    q = question(MLT_COLL_BCAST, 16, 80);
    mlt_coll_choose(rulebook, &q, &c, own, sizeof own);
    // Built-in ones are the caller's own, not the plug-in's.
    if (c.alg != mlt_coll_named(mlt_coll_algs, NULL, MLT_COLL_BCAST, "linear"))
        return strdup("not the caller's algorithm");
    rulebook->free(rulebook);
    return NULL;
}

static void test_plugin(void)
{
    char text[2000], own[2000];
    snprintf(text, sizeof text,
             "algorithm { %s }\nrule { coll = 'scan', alg = 'line' }\n"
             "rule { coll = 'bcast', alg = 'linear' }\n",
             right[1]);
    write_rulebook(text);
    pthread_t threads[THREADS];
    pthread_attr_t attr;
    CHECK(pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, STACK) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], &attr, use_plugin, NULL) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *sentence;
        CHECK(pthread_join(threads[i], &sentence) == 0);
        if (sentence)
            fprintf(stderr, "%s\n", (char *)sentence);
        CHECK(!sentence);
    }
    CHECK(mlt_coll_rulebook_check(path, own, sizeof own) == MLT_OK);
    snprintf(text, sizeof text, "algorithm { %s }", wrong_algorithms[0].text);
    write_rulebook(text);
    CHECK(mlt_coll_rulebook_check(path, own, sizeof own) == MLT_ERR_INVALID);
    CHECK(strstr(own, wrong_algorithms[0].sentence));
    CHECK(!mlt_os_plugin(MLT_LUA_PLUGIN, MLT_LUA_PLUGIN_TABLE, 9999, own, sizeof own));
    CHECK(strstr(own, "is of another version of Millet"));
    CHECK(!mlt_os_plugin("millet_none.so", "x", 1, own, sizeof own));
    CHECK(strstr(own, "lib/millet/millet_none.so' is missing, which belongs to Millet"));
}

// mpirun's question.
static void test_check(void)
{
    int force_is_wrong;
    const char *file =
        write_rulebook("algorithm { coll = 'barrier', name = 'own', emit = function() end,"
                       " refuses = function(s) if s.ranks > 1 then return 'no' end end }");
    CHECK(mlt_lua_rulebook_check(file, "barrier=own,bcast=chain:segment=8K", 0, &force_is_wrong,
                                 why, WHY) == MLT_OK);
    CHECK(mlt_lua_rulebook_check(NULL, "allreduce=ring", 0, &force_is_wrong, why, WHY) == MLT_OK);
    CHECK(mlt_lua_rulebook_check(NULL, "reduce=binomial,allreduce=ring", 1, &force_is_wrong, why,
                                 WHY) == MLT_ERR_INVALID);
    CHECK(force_is_wrong && strstr(why, "allreduce.ring") && strstr(why, " binomial"));
    CHECK(mlt_lua_rulebook_check(NULL, "bcast=chain,allreduce=binomial", 1, &force_is_wrong, why,
                                 WHY) == MLT_OK);
    CHECK(mlt_lua_rulebook_check(file, "", 0, &force_is_wrong, why, WHY) == MLT_OK);
    CHECK(mlt_lua_rulebook_check(NULL, "barrier=own", 0, &force_is_wrong, why, WHY) ==
          MLT_ERR_INVALID);
    CHECK(force_is_wrong && strstr(why, "there is no algorithm 'own' for barrier"));
    CHECK(mlt_lua_rulebook_check("/nowhere", "x", 0, &force_is_wrong, why, WHY) == MLT_ERR_INVALID);
    CHECK(!force_is_wrong && strstr(why, "'/nowhere' cannot be read"));
}

int main(void)
{
    int fd = mkstemps(path, 4);
    CHECK(fd >= 0);
    close(fd);
    test_rules();
    test_question();
    test_failing_rule();
    test_fields_of_shapes();
    test_paths();
    test_neutral();
    test_mistakes();
    test_answers();
    test_algorithms();
    test_exact_shape();
    test_hosts();
    test_program();
    test_check();
    test_plugin();
    unlink(path);
    return 0;
}
