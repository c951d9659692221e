// SPDX-License-Identifier: BSD-3-Clause
// `millet paths JOB`, `millet paths set JOB BOOK`: which rule books a running job was given, and another one.
#pragma once

#include "tools/args.h"

extern const mlt_command mlt_paths_commands;
