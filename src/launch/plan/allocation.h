// SPDX-License-Identifier: BSD-3-Clause
// The hosts that a batch system has given to the job in which mpirun runs, and the system's own tool
// that starts agents there.
//
//     Slurm         SLURM_JOB_NODELIST "node[01-03,07]", SLURM_TASKS_PER_NODE "4(x2),3"   srun
//     PBS           PBS_NODEFILE: a file with a line for each slot                       ssh
//     LSF           LSB_DJOB_HOSTFILE, such a file, or LSB_MCPU_HOSTS "a 4 b 2"          blaunch
//     Grid Engine   PE_HOSTFILE: a file with lines "host slots queue processors"         qrsh -inherit
//     OAR           OAR_NODEFILE, a file as PBS has it                                   oarsh
//
// Whoever names hosts or a remote shell is obeyed; so is this. A tool that is not there is replaced
// by ssh. (PBS's pbsdsh does not pass standard input on, which is an agent's channel.)
#pragma once

#include <stdbool.h>

#include "launch/plan/hosts.h"

typedef struct mlt_allocation {
    const char *system; // "Slurm"
    const char *source; // the variable
    char *shell;        // in place of ssh; NULL: ssh. Freed with free()
} mlt_allocation;

// Adds the hosts, with their slots, to an empty list. False: there is no allocation. What cannot be
// read ends mpirun with a message that names it.
bool mlt_allocation_find(mlt_allocation *found, mlt_hosts *hosts);

// Slurm's two texts; `counts` may be NULL: one slot each. Ends mpirun if they do not fit.
void mlt_allocation_read_slurm(mlt_hosts *hosts, const char *nodes, const char *counts);

// "a 4 b 2".
void mlt_allocation_read_pairs(mlt_hosts *hosts, const char *source, const char *text);
