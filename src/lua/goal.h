// SPDX-License-Identifier: BSD-3-Clause
// What scripts and rule books share: a Lua state without files, processes or network, and g, whose
// functions add to the program of the rank that is being made (docs/reference/goal-lua.md). If they
// cannot accept something, they raise a Lua error with the place in the script.
//
// Errors leave by longjmp: nothing that calls Lua may hold memory of its own meanwhile.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "goal/program.h"

typedef struct lua_State lua_State; // as lua.h has it, which is not everywhere

enum { MLT_LUA_MEMORY = 1 << 30 }; // bytes that a script's own values may take
#define MLT_LUA_CLOSED UINT32_MAX  // no rank is being made

// What a state belongs to. All zero except rank, limit and reverses, which the owner sets.
typedef struct mlt_lua_goal {
    mlt_goal_program *program;
    uint32_t rank;  // that is being made, or MLT_LUA_CLOSED
    uint32_t ranks; // that there are
    uint32_t slot;  // where the rank stands in the program: programs of one rank have one place
    uint64_t call;  // of the user's function: counts them
    bool automatic; // dependencies of this rank are to be derived
    bool reverses;  // a user's function may be told that its operands come in the other order
    size_t used;    // bytes of Lua's
    uint64_t shown; // tables, functions: how many have been given a number (library.h)
    // How long it may run (limit.h). The owner sets the limit.
    uint64_t limit, steps;      // of a call; of the one that runs
    uint64_t total;             // steps of all calls
    uint64_t begun_ns, look_ns; // processor time when it began; when to look at that again
    bool spent;                 // nothing runs any more
} mlt_lua_goal;

// NULL: memory is exhausted. `goal` stays where it is until lua_close.
lua_State *mlt_lua_new(mlt_lua_goal *goal);
mlt_lua_goal *mlt_lua_goal_of(lua_State *L);

// In a protected call: the library (library.h) and g's functions.
void mlt_lua_open(lua_State *L);
void mlt_lua_push_g(lua_State *L);

// In a protected call: the rank's part begins, and ends well; whoever catches an error closes.
void mlt_lua_rank_begin(lua_State *L, uint32_t rank, uint32_t ranks);
void mlt_lua_rank_end(lua_State *L);

// In a protected call: a field of the table on the stack.
void mlt_lua_set_number(lua_State *L, const char *name, uint64_t value);
void mlt_lua_set_text(lua_State *L, const char *name, const char *value);
void mlt_lua_set_bool(lua_State *L, const char *name, bool value);

// In a protected call: a field of the table on the stack that is not in `names` (NULL at the end) is an
// error, which lists them. `what` is how messages call the table.
void mlt_lua_known_fields(lua_State *L, const char *what, const char *const *names);

// For lua_pcall: makes a text of an error, whatever value it is.
int mlt_lua_sentence(lua_State *L);

// The error on the stack as a message, with the rank that was being made; `name` is the file's.
void mlt_lua_explain(lua_State *L, int status, const char *name, char *why, size_t why_size);

// The value at an index as a message may quote it: in `text`, or a constant.
const char *mlt_lua_shown(lua_State *L, int index, char text[80]);
