// SPDX-License-Identifier: BSD-3-Clause
// The agent of a host that is not mpirun's own: `mpirun --agent`, started by a remote shell, with
// the channel to mpirun (or to the agent above) as its standard input and output.
//
// Nothing of its part of the job outlives it, or the channel: if the channel ends or is silent too
// long, everything is killed. It is two processes, as mpirun is (launch/guard.h).
#pragma once

// Returns the exit code.
int mlt_agent_serve(void);
