// SPDX-License-Identifier: BSD-3-Clause
#include "coll/rulebook.h"

#include <stdio.h>

static const mlt_coll_lua_plugin *plugin(const char *file, char *why, size_t why_size)
{
    char own[512];
    const mlt_plugin_head *head = mlt_os_plugin(MLT_LUA_PLUGIN, MLT_LUA_PLUGIN_TABLE,
                                                MLT_LUA_PLUGIN_VERSION, own, sizeof own);
    if (head && head->layout == MLT_LUA_PLUGIN_LAYOUT)
        return (const mlt_coll_lua_plugin *)head;
    snprintf(why, why_size, "'%s' cannot be read: %s", file,
             head ? MLT_LUA_PLUGIN " is of another build of Millet" : own);
    return NULL;
}

mlt_status mlt_coll_rulebook_open(const char *file, mlt_coll_rulebook **out, char *why,
                                  size_t why_size)
{
    const mlt_coll_lua_plugin *lua = plugin(file, why, why_size);
    return lua ? lua->open(mlt_coll_algs, file, out, why, why_size) : MLT_ERR_UNSUPPORTED;
}

mlt_status mlt_coll_rulebook_check(const char *file, char *why, size_t why_size)
{
    int unused;
    const mlt_coll_lua_plugin *lua = plugin(file, why, why_size);
    return lua ? lua->head.check(file, NULL, 0, &unused, why, why_size) : MLT_ERR_UNSUPPORTED;
}
