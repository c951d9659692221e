// SPDX-License-Identifier: BSD-3-Clause
#include "csp/settings.h"

mlt_csp_conf mlt_csp_conf_now = {.names = "", .names_iface = "", .names_ports = ""};

static const mlt_setting settings[] = {
    {"names", MLT_SETTING_TEXT, "", NULL,
     "what keeps names: the file of a name server (`millet names start`), or `job` for the job "
     "alone; if it is not set, the server at the usual place if one runs, else the job",
     &mlt_csp_conf_now.names, MLT_SCOPE_PROCESS},
    {"names_iface", MLT_SETTING_TEXT, "", NULL,
     "interfaces, subnets or addresses (eth0,10.0.0.0/8) at which programs of other hosts reach "
     "what this program registers; if it is not set, all. Only with a name server that listens for "
     "other hosts",
     &mlt_csp_conf_now.names_iface, MLT_SCOPE_PROCESS},
    {"names_ports", MLT_SETTING_TEXT, "", NULL,
     "the ports for it (40000-40100); if it is not set, any that is free",
     &mlt_csp_conf_now.names_ports, MLT_SCOPE_PROCESS},
};

const mlt_settings_table mlt_csp_settings = {"csp", settings, sizeof settings / sizeof *settings};
