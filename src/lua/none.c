// SPDX-License-Identifier: BSD-3-Clause
// In the place of generate.c where there is no Lua to build with.
#include <stdio.h>

#include "lua/generate.h"

mlt_status mlt_lua_generate(const char *name, const char *script, size_t length, uint32_t ranks,
                            const mlt_lua_arg *args, size_t args_count,
                            void (*progress)(void *user, double done), void *user,
                            mlt_goal_program **out, char *why, size_t why_size)
{
    snprintf(why, why_size,
             "%s: this Millet was built without Lua 5.4 and runs no scripts; build it where Lua's "
             "headers and library are (liblua5.4-dev)",
             name);
    return MLT_ERR_UNSUPPORTED;
}
