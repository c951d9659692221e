// SPDX-License-Identifier: BSD-3-Clause
// `millet paths JOB`, `millet paths set JOB BOOK`: which rule books a running job was given, and another one.
#ifndef MLT_TOOLS_LIVE_PATHS_H
#define MLT_TOOLS_LIVE_PATHS_H

#include "tools/commands.h"

extern const mlt_commands mlt_paths_commands;

#endif
