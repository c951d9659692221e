// SPDX-License-Identifier: BSD-3-Clause
#include "goal/spec.h"

#define NAME(UPPER, lower) #lower,
const char *const mlt_collective_names[MLT_COLLECTIVES] = {MLT_COLLECTIVE_LIST(NAME)};
