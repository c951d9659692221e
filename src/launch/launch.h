// SPDX-License-Identifier: BSD-3-Clause
// A whole job, from its options to its exit code.
#pragma once

#include "launch/children/parent.h"
#include "launch/plan/options.h"

// Changes the options where they leave something to mpirun (launch/plan/grain.h). The parent is there
// if another job has spawned this one; else NULL.
int mlt_launch(mlt_options *options, mlt_parent *parent);
