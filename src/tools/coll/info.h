// SPDX-License-Identifier: BSD-3-Clause
// `millet info --coll`: which algorithm a collective would use and why; or all collectives,
// algorithms and rules.
#pragma once

#include "tools/args.h"

extern const mlt_arg_group mlt_info_coll_group; // its options

// argv[0] is the command's name, the rest are its words and options without --coll.
int mlt_info_coll_main(int argc, char **argv);
