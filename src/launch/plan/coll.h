// SPDX-License-Identifier: BSD-3-Clause
// The user's file for collectives and what is forced, looked at once before anything is started.
#pragma once

#include "launch/plan/options.h"
#include "launch/plan/plan.h"

// Ends mpirun with one message if a section's MILLET_COLL or MILLET_FORCE is wrong. Maps nothing if
// there is neither.
void mlt_launch_check_coll(const mlt_options *options);

// Tells ranks the names of the job's hosts, if they have a rule book, whose paths may name one.
void mlt_launch_tell_hosts(const mlt_placement *plan);
