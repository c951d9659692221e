// SPDX-License-Identifier: BSD-3-Clause
// The one name that millet_lua.so exports: MLT_LUA_PLUGIN_TABLE (os/plugin.h, coll/rulebook.h).
#include "coll/rulebook.h"
#include "lua/rulebook.h"

__attribute__((visibility("default"))) extern const mlt_coll_lua_plugin mlt_lua_plugin_table;

const mlt_coll_lua_plugin mlt_lua_plugin_table = {
    .head = {MLT_LUA_PLUGIN_VERSION, MLT_LUA_PLUGIN_LAYOUT, mlt_lua_rulebook_check},
    .open = mlt_lua_rulebook_open,
};
