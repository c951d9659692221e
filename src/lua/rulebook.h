// SPDX-License-Identifier: BSD-3-Clause
// A user's file of rules, algorithms and paths for collectives;
// docs/reference/collectives-choice.md tells how to write one. A rule book (coll/choose.h) is one Lua
// state; it belongs to one thread.
//
//     rule { coll = "bcast", bytes = {0, 65536}, alg = "mine" }
//     algorithm { coll = "bcast", name = "mine", emit = function(g, shape) ... end }
#pragma once

#include <stddef.h>

#include "base/status.h"
#include "coll/choose.h"

// Reads the file; answers of the rule book point into `algs` for built-in algorithms. Nothing is proven.
// On failure `why` has file and line. MLT_ERR_UNSUPPORTED: built without Lua.
mlt_status mlt_lua_rulebook_open(const mlt_coll_alg *const *algs, const char *file,
                                 mlt_coll_rulebook **out, char *why,
                                 size_t why_size) MLT_MUST_CHECK;

// The same of a text; `file` is its name in messages.
mlt_status mlt_lua_rulebook_read(const mlt_coll_alg *const *algs, const char *file,
                                 const char *text, size_t length, mlt_coll_rulebook **out,
                                 char *why, size_t why_size) MLT_MUST_CHECK;

// mlt_coll_program of one of the rule book's own algorithms: a mistake in its function is an error, with
// file and line, not the end of the process.
mlt_status mlt_lua_rulebook_program(mlt_coll_rulebook *rulebook, const mlt_coll_alg *alg,
                                    const mlt_coll_shape *shape,
                                    void (*progress)(void *user, double done), void *user,
                                    mlt_goal_program **out, char *why,
                                    size_t why_size) MLT_MUST_CHECK;

// Proves every algorithm of the rule book for many shapes, and tries every rule that is a function. On
// failure `why` says which one is wrong for which shape, in the checker's words.
mlt_status mlt_lua_rulebook_prove(mlt_coll_rulebook *rulebook, char *why,
                                  size_t why_size) MLT_MUST_CHECK;

// What mpirun asks before it starts anything (os/plugin.h): the file with all proofs, and whether
// what is forced is there.
mlt_status mlt_lua_rulebook_check(const char *file, const char *force, int reproducible,
                                  int *force_is_wrong, char *why, size_t why_size) MLT_MUST_CHECK;
