// SPDX-License-Identifier: BSD-3-Clause
// --grain: what the ranks of a section are, when -nfg and --workers do not say it.
//
//     process   each a process                            as -n N --workers process
//     thread    each a thread of one process              as -n N --workers thread
//     fiber     all in one process, a worker a core       as -n CORES -nfg N/CORES, also if it does
//                                                         not come out even
//     auto      fiber if the job has more ranks than cores and nothing speaks against it, which the
//               program's files and the limits of a process tell; else process
//
// On several hosts "one process" is one on each, and hosts are taken to have as many cores as this
// one.
#pragma once

#include <stdint.h>

#include "launch/plan/options.h"

// Decides for all sections: changes workers, packed and told of the apps, and the stacks of their
// ranks. paths are the apps' programs. Ends mpirun if options contradict each other.
void mlt_grain_decide(mlt_options *options, const char *const *paths, uint32_t cores);
