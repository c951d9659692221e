// SPDX-License-Identifier: BSD-3-Clause
// GOAL from a Lua function (the system's Lua 5.4): the preprocessor that the paper asks for.
//
//     return function(g, rank, p)          -- called once for each rank 0..p-1
//       local buf = g:buffer("buf", 64)
//       local r = g:recv(buf + 0, 64, rank - 1)
//       local s = g:send(buf + 0, 64, rank + 1)
//       g:requ(s, r)
//     end
//
// docs/reference/goal-lua.md has all of g's functions. Scripts get no files, no processes and no
// network, only Lua's base, string, table, math and utf8.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "goal/program.h"

// True if the script calls rule, algorithm or path: it is a rule book (lua/rulebook.h). It runs for that, as
// far as the first of these calls, and prints nothing.
bool mlt_lua_is_rulebook(const char *name, const char *script, size_t length);

typedef struct mlt_lua_arg { // --set name=value: the script's global table `arg`
    const char *name, *value;
} mlt_lua_arg;

// steps: the most that the script may take, and then its function for each rank (limit.h); 0:
// MLT_LUA_SCRIPT_STEPS. On failure why holds Lua's message with file and line, or what was wrong
// with an argument of one of g's functions, with the rank it was called for. MLT_ERR_UNSUPPORTED:
// built without Lua.
mlt_status mlt_lua_generate(const char *name, const char *script, size_t length, uint32_t ranks,
                            const mlt_lua_arg *args, size_t args_count, uint64_t steps,
                            void (*progress)(void *user, double done), void *user,
                            mlt_goal_program **out, char *why, size_t why_size) MLT_MUST_CHECK;
