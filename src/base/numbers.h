// SPDX-License-Identifier: BSD-3-Clause
// Numbers for people.
#pragma once

#include <stdint.h>

enum { MLT_NUMBER_BYTES = 32 };

// Each writes into text and returns it.
const char *mlt_number(char text[MLT_NUMBER_BYTES], uint64_t n); // 1,000,000
const char *mlt_bytes(char text[MLT_NUMBER_BYTES], uint64_t n);  // 512 bytes, 6.1 GiB
const char *mlt_time(char text[MLT_NUMBER_BYTES], uint64_t ns);  // 250 ns, 1.23 ms, 4.56 s
