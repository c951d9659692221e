// SPDX-License-Identifier: BSD-3-Clause
// What stands out in a run, as sentences: the slow rank, the receiver that all send to, ranks that work one after the
// other, work that is spread unevenly, messages that take long, ranks without a core.
#pragma once

#include "tools/trace/causes.h"

enum { MLT_FINDING_BYTES = 256, MLT_FINDINGS_MOST = 8 };

typedef struct mlt_finding {
    int64_t rank; // that it is about; -1: none
    char text[MLT_FINDING_BYTES];
} mlt_finding;

// The one that matters most comes first. Returns how many there are, at least 1.
int mlt_findings_of(const mlt_causes *causes, mlt_finding found[MLT_FINDINGS_MOST]);
