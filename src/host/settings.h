// SPDX-License-Identifier: BSD-3-Clause
// Settings of ranks' output; read once before the first worker starts, constant afterwards.
#ifndef MLT_HOST_SETTINGS_H
#define MLT_HOST_SETTINGS_H

#include <stdint.h>

#include "base/settings.h"

typedef struct mlt_host_conf {
    int64_t label;
    int64_t globals;               // index of its choices: shared, private
    const char *private_libraries; // beginnings of names, with commas between
    const char *shared_libraries;
    const char *outfile, *errfile; // "": none
} mlt_host_conf;

extern mlt_host_conf mlt_host_settings;
extern const mlt_settings_table mlt_host_settings_table;

#endif
