// SPDX-License-Identifier: BSD-3-Clause
// The sum of a file's bytes, by which processes see whether they read the same. It keeps out mistakes,
// not enemies.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// False: the file cannot be read, and errno says why.
bool mlt_os_sum(const char *file, uint64_t *sum);

enum { MLT_SUM_BYTES = 17 };
void mlt_os_sum_text(uint64_t sum, char text[MLT_SUM_BYTES]); // as settings have it
