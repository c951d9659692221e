// SPDX-License-Identifier: BSD-3-Clause
// What a line of PMI-1 says.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// The value of a key in "cmd=NAME key=value ...". False: it has none, or one that is too long.
bool mlt_pmi_find(const char *line, const char *key, char *value, size_t size);
