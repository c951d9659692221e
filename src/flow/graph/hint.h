// SPDX-License-Identifier: BSD-3-Clause
// What a name that does not exist may have meant, for the end of a message.
#pragma once

#include <stddef.h>

// ": did you mean x?" if one of the names is near, else ": there are x, y and z" (the first eight),
// or nothing if there are no names. Returns text.
const char *mlt_flow_hint(char *text, size_t size, const char *asked, const char *const *names,
                          size_t count);
