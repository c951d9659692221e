// SPDX-License-Identifier: BSD-3-Clause
// For programs that have nothing above.
#include "base/above.h"

const mlt_above_calls mlt_above __attribute__((weak)) = {0};
