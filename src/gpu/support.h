// SPDX-License-Identifier: BSD-3-Clause
// What a program is told when it asks whether buffers may be in device memory.
#pragma once

#include <stdbool.h>

// CUDA's: the settings allow it, and the process has the driver or could load it. False also means
// that nobody has such memory. It does not start the driver, which takes a second and would break
// processes that fork, so a driver that finds no device counts.
bool mlt_gpu_is_supported(void);
