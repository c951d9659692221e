// SPDX-License-Identifier: BSD-3-Clause
// How long a script may run. A call has a number of steps: instructions of Lua's, counted by a
// hook, and what library functions charge for work that grows with their arguments (library.h).
// Beside it stands a limit on processor time, for instructions that are slow one by one.
//
// Once the steps are spent, every further instruction fails, so that a script cannot go on after a
// pcall. Nothing may run without the hook. So scripts have no __gc, which Lua calls without the
// hook, and another xpcall than Lua's, which would call its handler without it.
#pragma once

#include <stdint.h>

#include "lua/goal.h"

enum {
    MLT_LUA_BOOK_STEPS = 50 * 1000 * 1000,   // of a function of a rule book: half a second
    MLT_LUA_PROOF_STEPS = 200 * 1000 * 1000, // of all calls that prove an algorithm, or try rules
    MLT_LUA_SCRIPT_STEPS =
        100 * 1000 * 1000, // of a script, or of its function for one rank: a second
};

// Runs the function below `arguments` values within the steps of the state (mlt_lua_goal.limit).
// LUA_OK, or the error is on the stack, as a text.
int mlt_lua_call(lua_State *L, int arguments, int results);

// Runs a function of C within the steps; it finds `arg` on the stack, and returns nothing. False: a
// message, in which `name` is the file's.
bool mlt_lua_run(lua_State *L, int (*run)(lua_State *L), void *arg, const char *name, char *why,
                 size_t why_size) MLT_MUST_CHECK;

// In a protected call: the steps count from here again.
void mlt_lua_limit_begin(lua_State *L);

// In a protected call: so many steps have been taken, or are about to be. Raises an error if they
// are too many.
void mlt_lua_charge(lua_State *L, uint64_t steps);
