// SPDX-License-Identifier: BSD-3-Clause
// What a message about a flow program is.
#pragma once

typedef enum mlt_flow_severity {
    MLT_FLOW_ERROR,
    MLT_FLOW_WARNING,
} mlt_flow_severity;
