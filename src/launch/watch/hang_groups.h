// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a hung job, those that do the same in one line.
#pragma once

#include <stdio.h>

#include "launch/watch/hang.h"

// The records are sorted (mlt_hang_sort).
void mlt_hang_print_groups(const mlt_hang *hang, FILE *out);
