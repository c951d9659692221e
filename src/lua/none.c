// SPDX-License-Identifier: BSD-3-Clause
// In the place of generate.c, goal.c and rule book*.c where there is no Lua to build with.
#include <stdio.h>

#include "lua/generate.h"
#include "lua/rulebook.h"

mlt_status mlt_lua_generate(const char *name, const char *script, size_t length, uint32_t ranks,
                            const mlt_lua_arg *args, size_t args_count, uint64_t steps,
                            void (*progress)(void *user, double done), void *user,
                            mlt_goal_program **out, char *why, size_t why_size)
{
    return mlt_fail(
        MLT_ERR_UNSUPPORTED, why, why_size,
        "%s: this Millet was built without Lua 5.4 and runs no scripts; build it where Lua's "
        "headers and library are (liblua5.4-dev)",
        name);
}

bool mlt_lua_is_rulebook(const char *name, const char *script, size_t length)
{
    return false; // so it is refused as a script
}

mlt_status mlt_lua_rulebook_read(const mlt_coll_alg *const *algs, const char *file,
                                 const char *text, size_t length, mlt_coll_rulebook **out,
                                 char *why, size_t why_size)
{
    return mlt_lua_rulebook_open(algs, file, out, why, why_size);
}

mlt_status mlt_lua_rulebook_program(mlt_coll_rulebook *rulebook, const mlt_coll_alg *alg,
                                    const mlt_coll_shape *shape,
                                    void (*progress)(void *user, double done), void *user,
                                    mlt_goal_program **out, char *why, size_t why_size)
{
    return mlt_lua_rulebook_prove(rulebook, why, why_size);
}

mlt_status mlt_lua_rulebook_open(const mlt_coll_alg *const *algs, const char *file,
                                 mlt_coll_rulebook **out, char *why, size_t why_size)
{
    return mlt_fail(
        MLT_ERR_UNSUPPORTED, why, why_size,
        "%s: this Millet was built without Lua 5.4 and reads no file of rules; build it where "
        "Lua's headers and library are (liblua5.4-dev)",
        file);
}

mlt_status mlt_lua_rulebook_prove(mlt_coll_rulebook *rulebook, char *why, size_t why_size)
{
    return mlt_fail(MLT_ERR_UNSUPPORTED, why, why_size, "there is no rule book without Lua");
}
