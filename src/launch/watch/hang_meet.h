// SPDX-License-Identifier: BSD-3-Clause
// Ranks of a hung job that are in different collectives, but meet.
#pragma once

#include <stdio.h>

#include "launch/watch/hang.h"

// A line for each call that is not the same everywhere, or has two roots; of the first few.
void mlt_hang_print_mismatches(const mlt_hang *hang, FILE *out);
