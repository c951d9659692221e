// SPDX-License-Identifier: BSD-3-Clause
// The stack on which a rule book runs: ranks that are fibers may have a few KiB only, and Lua and the
// checker need more.
#pragma once

#include "fiber/fiber.h"

typedef struct mlt_lua_stack {
    char *memory; // guard page first; NULL: not made yet
    void (*run)(void *arg);
    void *arg;
    void *own_sp, *caller_sp;
    mlt_fiber here, home; // for the sanitizers
    const void *home_stack;
    size_t home_size;
    bool busy;
} mlt_lua_stack;

// run(arg) on that stack, now; where it is on it already, just run(arg). It must return.
void mlt_lua_on_stack(mlt_lua_stack *stack, void (*run)(void *arg), void *arg);
void mlt_lua_stack_fini(mlt_lua_stack *stack); // zeroed is fine
