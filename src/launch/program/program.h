// SPDX-License-Identifier: BSD-3-Clause
// Finding the program of a section before anything is started.
#pragma once

#include <stdbool.h>

// The file to execute for `name`: as it is if it has a slash (seen from `dir`, which may be NULL),
// else from `path` and then PATH, else from the working directory. Ends mpirun with 127 if there is
// none and with 126 if it may not be executed. The text lives until mpirun ends.
const char *mlt_program_find(const char *name, const char *dir, const char *path);

// True if mlt_program_find would find it.
bool mlt_program_is_there(const char *name, const char *dir, const char *path);
