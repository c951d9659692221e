// SPDX-License-Identifier: BSD-3-Clause
// `millet top [JOB]`: what a running job does.
#pragma once

#include "tools/args.h"

extern const mlt_command mlt_top_command;
