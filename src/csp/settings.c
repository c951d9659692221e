// SPDX-License-Identifier: BSD-3-Clause
#include "csp/settings.h"

mlt_csp_conf mlt_csp_conf_now = {.names = ""};

static const mlt_setting settings[] = {
    {"names", MLT_SETTING_TEXT, "", NULL,
     "what keeps names: the file of a name server (`millet names start`), or `job` for the job "
     "alone; if it is not set, the server at the usual place if one runs, else the job",
     &mlt_csp_conf_now.names},
};

const mlt_settings_table mlt_csp_settings = {"csp", settings, sizeof settings / sizeof *settings};
