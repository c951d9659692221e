// SPDX-License-Identifier: BSD-3-Clause
// The note about globals: ranks of one process share the program's variables, and mpirun says so.
#ifndef MLT_LAUNCH_GLOBALS_H
#define MLT_LAUNCH_GLOBALS_H

#include <stdint.h>

// Says once for this program which writable variables `ranks` ranks of a process share, if there
// are any. `path` is seen from `dir` (may be NULL); `name` is what the user typed.
void mlt_globals_note(const char *path, const char *dir, const char *name, uint32_t ranks);

#endif
