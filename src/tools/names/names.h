// SPDX-License-Identifier: BSD-3-Clause
// `millet names`: the name server of a user's programs, and questions to it.
#pragma once

#include "tools/args.h"

extern const mlt_command mlt_names_commands;
