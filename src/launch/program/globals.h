// SPDX-License-Identifier: BSD-3-Clause
// The note about variables that ranks of one process share.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "launch/program/libraries.h"

// Says which writable variables of the program and of its own libraries `ranks` ranks share, and
// why. The small ones come first, for a counter does more harm than a table; `all`
// names all of them.
void mlt_globals_note(const char *path, const char *dir, const char *name, uint32_t ranks,
                      const mlt_libraries *libraries, bool all, const char *why);
