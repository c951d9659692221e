// SPDX-License-Identifier: BSD-3-Clause
// The settings of buffers in device memory.
#pragma once

#include <stdint.h>

#include "base/settings.h"

typedef enum mlt_gpu_want {
    MLT_GPU_WANT_AUTO, // the driver that the program has loaded, as soon as it has one
    MLT_GPU_WANT_CUDA, // CUDA's, from MPI's initialisation on, which fails where it cannot be had
    MLT_GPU_WANT_NONE, // every pointer is one of the host
} mlt_gpu_want;

typedef struct mlt_gpu_settings {
    int64_t want; // mlt_gpu_want
} mlt_gpu_settings;

extern mlt_gpu_settings mlt_gpu_conf;
extern const mlt_settings_table mlt_gpu_settings_table;
