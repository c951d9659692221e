// SPDX-License-Identifier: BSD-3-Clause
// Settings of processes and channels; read once before the first worker starts, constant
// afterwards.
#pragma once

#include "base/settings.h"

typedef struct mlt_csp_conf {
    const char *names;                     // "", "job", or a name server's file
    const char *names_iface, *names_ports; // at which others reach it: net/iface.h; "": any
} mlt_csp_conf;

extern mlt_csp_conf mlt_csp_conf_now;
extern const mlt_settings_table mlt_csp_settings;
