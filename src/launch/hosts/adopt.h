// SPDX-License-Identifier: BSD-3-Clause
// The agent of a host whose processes a foreign launcher has started: `mpirun --adopt`. The first
// process of a host starts it; all of them find it by the name of their job (boot/foreign/adoption.h).
//
// The agent of process 0's host is also the head of the job (launch/watch/watch.h): it hears from
// process 0 of all others, makes the plan, and listens for the agents of the other hosts, which
// dial it. From then on everything is as under mpirun, except that nobody is started: START hands
// each process its descriptors.
//
// Its processes are no children of the agent. It sees by pidfds that they end, ends when all have,
// and they end when it does: each has the end of a pipe, the lifeline, whose other end only the
// agent has.
#pragma once

// `leader`: the number of the process that has started this one, as text; `program`: its name.
// Returns the exit code.
int mlt_adopt(const char *leader, const char *program);
