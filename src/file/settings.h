// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdint.h>

#include "base/settings.h"

typedef enum mlt_file_async {
    MLT_FILE_ASYNC_AUTO,
    MLT_FILE_ASYNC_URING,
    MLT_FILE_ASYNC_THREADS,
} mlt_file_async;

typedef struct mlt_file_settings {
    int64_t async; // mlt_file_async
} mlt_file_settings;

extern mlt_file_settings mlt_file_conf;
extern const mlt_settings_table mlt_file_settings_table;
