// SPDX-License-Identifier: BSD-3-Clause
// Parts of Millet that a process maps only when asked for: shared objects in lib/millet, found from
// where this code itself is (lib/libmpi_abi.so.1, bin/mpirun, a test of the build tree), so that an
// installed tree may be moved. Each exports one table of functions that begins with a head.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mlt_plugin_head {
    uint32_t version; // of the table
    uint32_t
        layout; // of what both sides look at, as coll/rulebook.h counts it; mpirun looks at none
    // A file of rules and algorithms ("" or NULL: none) and what is forced ("" or NULL: nothing; if
    // reproducible, only canonical reductions), with all proofs. MLT_ERR_INVALID: `why` tells what
    // is wrong, in one line or, where the checker speaks, in several; *force_is_wrong which of both
    // it is.
    mlt_status (*check)(const char *file, const char *force, int reproducible, int *force_is_wrong,
                        char *why, size_t why_size);
} mlt_plugin_head;

enum { MLT_LUA_PLUGIN_VERSION = 2 };
#define MLT_LUA_PLUGIN       "millet_lua.so"
#define MLT_LUA_PLUGIN_TABLE "mlt_lua_plugin_table"

// The table of a plug-in, mapped once and for as long as the process lives; several threads may
// ask. On failure (it is missing, or of another version) NULL and a message in why. Wants a large
// stack, as dlopen does.
const mlt_plugin_head *mlt_os_plugin(const char *file, const char *table, uint32_t version,
                                     char *why, size_t why_size) MLT_MUST_CHECK;
