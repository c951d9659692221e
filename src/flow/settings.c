// SPDX-License-Identifier: BSD-3-Clause
#include "flow/settings.h"

mlt_flow_conf mlt_flow_conf_now = {.balance = 1, .report = ""};

static const mlt_setting settings[] = {
    {"flow_balance", MLT_SETTING_BOOL, "yes", NULL,
     "plan reductions of a flow program that run at once around each other's busy workers; `no` is "
     "for comparison",
     &mlt_flow_conf_now.balance, MLT_SCOPE_INTERNAL},
    {"flow_report", MLT_SETTING_TEXT, "", NULL,
     "the file to which a flow program writes what passed each queue, for `millet flow draw "
     "--colour`; timing the waits costs a little, so the default is none",
     &mlt_flow_conf_now.report, MLT_SCOPE_JOB},
};

const mlt_settings_table mlt_flow_settings = {"flow", settings, sizeof settings / sizeof *settings};
