// SPDX-License-Identifier: BSD-3-Clause
// Numbers of command lines, `-D N=32`: those of the language, with a sign.
#pragma once

#include <stdbool.h>

// "32", "-1", "0x20", with nothing around it. False: it is not such a number ("010" is none, for C
// would read it as 8), or a long cannot hold it.
bool mlt_flow_number_parse(const char *text, long *value);
