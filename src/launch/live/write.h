// SPDX-License-Identifier: BSD-3-Clause
// A snapshot as text: as Prometheus reads it, and as JSON.
#pragma once

#include "base/text.h"
#include "launch/live/snap.h"

void mlt_live_write_metrics(const mlt_live_job *job, const mlt_live_snap *snap, mlt_text *out);
void mlt_live_write_json(const mlt_live_job *job, const mlt_live_snap *snap, mlt_text *out);
