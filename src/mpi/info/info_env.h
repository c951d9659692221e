// SPDX-License-Identifier: BSD-3-Clause
// What MPI_INFO_ENV holds: how this program was started.
#pragma once

#include "mpi/info/info.h"

// The process's one object, never freed; made by the first call. Ranks of a process were started by
// one command, so it is the same for all of them.
mlt_info *mlt_info_env(void);

// Keys "command" and "argv" from main's arguments; nothing changes without any (argc 0 or argv
// NULL).
void mlt_info_env_arguments(mlt_info *info, int argc, char *const *argv);
