// SPDX-License-Identifier: BSD-3-Clause
// Whose the global variables of ranks are that share a process: mpirun --globals, MILLET_GLOBALS.
#pragma once

typedef enum mlt_globals_mode {
    MLT_GLOBALS_AUTO, // each rank has its own where that is possible; elsewhere a note says why not
    MLT_GLOBALS_PRIVATE, // ... and a process where that is impossible does not start
    MLT_GLOBALS_SHARED,  // ranks have them in common
} mlt_globals_mode;

// In the order of the values, as settings want it; and what holds if nobody says anything.
#define MLT_GLOBALS_CHOICES "auto|private|shared"
#define MLT_GLOBALS_DEFAULT "auto"
