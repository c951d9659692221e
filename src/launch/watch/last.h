// SPDX-License-Identifier: BSD-3-Clause
// What the head prints when a job has ended, whoever started its processes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "launch/plan/options.h"
#include "launch/watch/leaks.h"
#include "launch/watch/map.h"
#include "launch/watch/report.h"

// --report, for a job that took so long. False: there is no memory for it.
bool mlt_last_report(const mlt_options *options, mlt_report *report, mlt_path_map *map,
                     uint64_t wall_ns);

// What ranks have not freed, unless mpirun shall be quiet.
void mlt_last_leaks(const mlt_options *options, mlt_leaks *leaks);
