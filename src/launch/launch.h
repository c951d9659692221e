// SPDX-License-Identifier: BSD-3-Clause
// A whole job, from its options to its exit code.
#ifndef MLT_LAUNCH_LAUNCH_H
#define MLT_LAUNCH_LAUNCH_H

#include "launch/plan/options.h"

int mlt_launch(const mlt_options *options);

#endif
