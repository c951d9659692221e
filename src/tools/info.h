// SPDX-License-Identifier: BSD-3-Clause
// `millet info`: what this Millet is, how it is set, what it would choose here, and which MPI
// functions it has.
#pragma once

#include "tools/args.h"

extern const mlt_command mlt_info_command;
