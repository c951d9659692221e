// SPDX-License-Identifier: BSD-3-Clause
#include "flow/settings.h"

mlt_flow_conf mlt_flow_conf_now = {.balance = 1, .report = ""};

static const mlt_setting settings[] = {
    {"flow_balance", MLT_SETTING_BOOL, "yes", NULL,
     "reductions of a flow program that run at once go around each other's busy workers; `no` is "
     "for comparison",
     &mlt_flow_conf_now.balance},
    {"flow_report", MLT_SETTING_TEXT, "", NULL,
     "a file for what passed each queue of a flow program, which `millet flow draw --colour` "
     "reads; timing the waits costs little, but nobody asks by default",
     &mlt_flow_conf_now.report},
};

const mlt_settings_table mlt_flow_settings = {"flow", settings, sizeof settings / sizeof *settings};
