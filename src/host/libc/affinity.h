// SPDX-License-Identifier: BSD-3-Clause
// On which cores a rank wants to run, where ranks share a worker.
//
// Run-times of OpenMP and many programs bind the thread that calls them, in every rank. Where ranks
// share a worker that thread is the worker's: two workers would end up on one core, and a rank would
// find the core that another one has chosen. So there a rank's wish is remembered and told back to it,
// and its worker stays where it is. Threads that the rank starts begin with the mask that it wished for,
// and bind themselves as they like.
//
// A rank that is alone in its worker binds its own thread, and nothing comes in between.
#pragma once

#include <sched.h>
#include <stdbool.h>

#include "p2p/p2p.h"

// The mask that the rank has wished for; false if it has not.
bool mlt_affinity_of(const mlt_rank *rank, cpu_set_t *mask);
