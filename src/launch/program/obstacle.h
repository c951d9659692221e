// SPDX-License-Identifier: BSD-3-Clause
// What keeps the ranks of a program from sharing a process, as far as its files tell: threads of
// its own, processes that it starts, what it asks or changes that only a process has.
#pragma once

#include <stdbool.h>

#include "launch/program/libraries.h"

// The reason, as a sentence ("the program starts threads of its own (pthread_create)"), freed by
// the caller; NULL: nothing speaks against it. shared: ranks will have globals in common.
char *mlt_obstacle_find(const char *path, const char *dir, const mlt_libraries *libraries,
                        bool shared);
