// SPDX-License-Identifier: BSD-3-Clause
// The user's file for collectives and what is forced, looked at once before anything is started.
#pragma once

#include "launch/plan/options.h"

// Ends mpirun with one message if a section's MILLET_COLL or MILLET_FORCE is wrong. Maps nothing if
// there is neither.
void mlt_launch_check_coll(const mlt_options *options);
