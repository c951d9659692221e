// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdint.h>

#include "base/settings.h"

typedef enum mlt_windows { MLT_WINDOWS_SHARED, MLT_WINDOWS_MESSAGES } mlt_windows;

typedef struct mlt_win_settings {
    int64_t windows; // mlt_windows
} mlt_win_settings;

extern mlt_win_settings mlt_win_conf;
extern const mlt_settings_table mlt_win_settings_table;
