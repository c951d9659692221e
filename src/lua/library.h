// SPDX-License-Identifier: BSD-3-Clause
// What scripts have of Lua: its base, string, table, math and utf8, less what reaches files or byte
// code, and with other functions where Lua's own could run without end (limit.h) or would differ
// from state to state. Every rank reads a rule book in a state of its own, and all must come to the same
// answers; a script must make the same program each time. So no address is ever shown, tables are
// walked through in the order of their keys, and sorting is stable.
#pragma once

#include "lua/goal.h"

// In a protected call: all of it. print goes to standard error.
void mlt_lua_library_open(lua_State *L);

// In a protected call: no numbers by chance, for states that must agree.
void mlt_lua_library_without_chance(lua_State *L);
