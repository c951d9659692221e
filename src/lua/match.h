// SPDX-License-Identifier: BSD-3-Clause
// string.find, match, gmatch and gsub of Lua 5.4, with a price: a pattern with some repeats takes
// longer than anybody can wait for, and Lua's own functions look at no hook meanwhile. They accept
// what Lua's accept, give what they give, and charge a step for each character that is looked at.
#pragma once

#include "lua/goal.h"

// In a protected call: puts them into the table at the top of the stack.
void mlt_lua_match_open(lua_State *L);
