// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/table.h"
#include "coll/alg/emit.h"
#include "coll/choose.h"
#include "coll/intercept.h"
#include "lua/goal.h"
#include "lua/stack.h"

typedef struct mlt_lua_rulebook mlt_lua_rulebook;

typedef struct mlt_lua_rule { // beside mlt_lua_rulebook.rules[i]
    int line;
    int function;            // in the registry; LUA_NOREF: the rule is a table
    const mlt_coll_alg *alg; // of the table
} mlt_lua_rule;

typedef struct mlt_lua_alg {
    mlt_coll_alg base; // base.user is this
    mlt_lua_rulebook *rulebook;
    int line;
    int emit, refuses; // in the registry; refuses may be LUA_NOREF
} mlt_lua_alg;

enum { MLT_LUA_PROVEN = 256 }; // shapes that a rule book remembers

struct mlt_lua_rulebook {
    mlt_coll_rulebook base; // its counts are those of the lists below
    lua_State *L;
    mlt_lua_stack stack; // on which Lua runs
    mlt_lua_goal goal;
    const mlt_coll_alg *const *built_in;
    char *file;
    const char *short_file; // without folders
    const char *text;       // of the file, while it is read
    size_t text_length;
    mlt_coll_rule *rules;
    mlt_lua_rule *more; // [rules]
    mlt_lua_alg **algs;
    mlt_coll_path *paths;
    mlt_intercept_spec *interceptors;
    mlt_name_table texts; // that the others point to; each is its own name
    char *failure;        // where a failure of `emit` goes; NULL: it ends the process
    uint64_t
        last_step; // goal.total that proving all of the rule book may take; UINT64_MAX: no limit
    struct {
        const mlt_coll_alg *alg;
        mlt_coll_shape shape; // its pointers are not used
        uint64_t hosts;       // the hash of its map; 0: one host
    } proven[MLT_LUA_PROVEN];
    uint32_t proven_count; // the last MLT_LUA_PROVEN of them are there
};

// The state's rule book.
mlt_lua_rulebook *mlt_lua_rulebook_of(lua_State *L);

// Runs a function of C that finds `arg` on the stack, in a protected call on the rule book's own stack.
// False: a message.
bool mlt_lua_rulebook_run(mlt_lua_rulebook *rulebook, int (*run)(lua_State *L), void *arg,
                          char *why, size_t why_size) MLT_MUST_CHECK;

// A copy that lives as long as the rule book; equal texts have one.
const char *mlt_lua_keep(mlt_lua_rulebook *rulebook, const char *text);

// "my.lua:12"
const char *mlt_lua_place(mlt_lua_rulebook *rulebook, int line);

// In a protected call: rule, algorithm and path become functions of the state; what they are given
// is in the rule book afterwards. read_end, when the file has been run, resolves names that had to wait
// for its end.
void mlt_lua_read_begin(lua_State *L);
void mlt_lua_read_end(lua_State *L);

// In a protected call: what a rule that is a function has returned, at the top of the stack, into
// *out and *alg; false: nil, the rule does not speak of this.
bool mlt_lua_read_answer(lua_State *L, mlt_lua_rulebook *rulebook, mlt_collective collective,
                         mlt_coll_rule *out, const mlt_coll_alg **alg);

// Each call has its limit of steps, but a proof makes thousands of calls. False: they have taken
// too many together (last_step), and `why` tells.
bool mlt_lua_in_time(const mlt_lua_rulebook *rulebook, const char *what, char *why,
                     size_t why_size);

// mlt_coll_alg.emit and refuses of a user's algorithm.
void mlt_lua_alg_emit(const mlt_emit *e);
const char *mlt_lua_alg_refuses(const mlt_coll_shape *shape);

// mlt_coll_rulebook.saw.
bool mlt_lua_saw(mlt_coll_rulebook *rulebook, const mlt_intercept_wrapper *wrapper,
                 const mlt_intercept_event *event, mlt_intercept_answer *answer, char *why,
                 size_t why_size);

// mlt_coll_rulebook.map, drops and fold.
bool mlt_lua_map(mlt_coll_rulebook *rulebook, int function, const struct mlt_coll_passing *passing,
                 mlt_op_type type, void *data, uint64_t count, char *why, size_t why_size);
bool mlt_lua_drops(mlt_coll_rulebook *rulebook, int function,
                   const struct mlt_coll_passing *passing, bool *drops, char *why, size_t why_size);
bool mlt_lua_fold(mlt_coll_rulebook *rulebook, int function, mlt_op_type type, void *result,
                  const void *lower, const void *higher, uint64_t count, char *why,
                  size_t why_size);

// Tries the wrappers of a path that say they are neutral on small groups, against the collective's
// definition. MLT_OK, or a message.
mlt_status mlt_lua_prove_neutral(mlt_lua_rulebook *rulebook, const mlt_coll_path *path, char *why,
                                 size_t why_size) MLT_MUST_CHECK;

// mlt_coll_rulebook.prove.
mlt_status mlt_lua_alg_prove(mlt_coll_rulebook *rulebook, const mlt_coll_alg *alg,
                             const mlt_coll_shape *shape, char *why, size_t why_size);
