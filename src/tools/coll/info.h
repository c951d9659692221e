// SPDX-License-Identifier: BSD-3-Clause
// `millet info --coll`: which algorithm a collective would use and why; or all collectives,
// algorithms and rules.
#pragma once

#include "coll/alg/alg.h"
#include "tools/args.h"

enum { MLT_INFO_COLL_ARGS = 18 };
extern mlt_arg mlt_info_coll_args[MLT_INFO_COLL_ARGS];

void mlt_info_coll(const char *collective); // NULL: all

// The collective of that name.
mlt_collective mlt_info_collective(const char *name);
