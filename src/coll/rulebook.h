// SPDX-License-Identifier: BSD-3-Clause
// Opening a user's rule book (choose.h): a Lua file of rules and algorithms
// (docs/reference/collectives-choice.md). Lua is in a plug-in (os/plugin.h), which only processes
// that have such a file map.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "coll/choose.h"
#include "os/plugin.h"

// The table that the plug-in exports.
typedef struct mlt_coll_lua_plugin {
    mlt_plugin_head head;
    // algs: the caller's built-in algorithms, so that answers point to those. MLT_ERR_UNSUPPORTED:
    // built without Lua.
    mlt_status (*open)(const mlt_coll_alg *const *algs, const char *file, mlt_coll_rulebook **out,
                       char *why, size_t why_size);
} mlt_coll_lua_plugin;

// What both sides look at, in one number: a library and a plug-in of two builds do not meet.
enum {
    MLT_LUA_PLUGIN_LAYOUT = ((((((sizeof(mlt_coll_question) * 31 + sizeof(mlt_coll_choice)) * 31 +
                                 sizeof(mlt_coll_rule)) *
                                    31 +
                                sizeof(mlt_coll_shape)) *
                                   31 +
                               sizeof(mlt_coll_alg)) *
                                  31 +
                              sizeof(mlt_coll_rulebook)) *
                                 31 +
                             sizeof(mlt_goal_program)) %
                                INT32_MAX ^
                            (size_t)MLT_COLLECTIVES << 16
};

// Reads the file: one rule book for each worker, used by its thread alone, and freed by book->free. What
// mlt_coll_rulebook_check proves is taken as proven; book->prove does the rest. On failure an error
// message with file and line. Wants a large stack, not that of a small fiber.
mlt_status mlt_coll_rulebook_open(const char *file, mlt_coll_rulebook **out, char *why,
                                  size_t why_size) MLT_MUST_CHECK;

// Reads the file and proves its algorithms for many shapes. mpirun does that before it starts
// ranks; for a file that mpirun has not seen, call it once. why may have several lines.
mlt_status mlt_coll_rulebook_check(const char *file, char *why, size_t why_size) MLT_MUST_CHECK;
