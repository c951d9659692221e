// SPDX-License-Identifier: BSD-3-Clause
// The settings of all layers, for the library and for `millet info`.
#pragma once

#include <stddef.h>

#include "base/settings.h"

// Returns how many tables there are; the lowest layer's comes first.
size_t mlt_lib_settings(mlt_settings_table *tables, size_t most);
