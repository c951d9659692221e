// SPDX-License-Identifier: BSD-3-Clause
// Patterns of names of ranks' output files.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The name: %r is the rank, %h the host, %p the process id, %% a percent sign. Cut if it is longer.
void mlt_pattern_name(char *out, size_t size, const char *pattern, int32_t rank);

// True if each rank has a name of its own.
bool mlt_pattern_names_rank(const char *pattern);
