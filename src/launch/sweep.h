// SPDX-License-Identifier: BSD-3-Clause
// Leaves nothing behind: kills what the ranks started and did not end.
#pragma once

// Kills and reaps every process that descends from mpirun (orphans are its children: it is their
// subreaper). Costs one system call if there is none.
void mlt_sweep(void);
