// SPDX-License-Identifier: BSD-3-Clause
// The environment of a rank, where a process holds several: what one sets or takes away, others do
// not see. getenv, setenv and the like of the calling rank, and the environment of programs that
// it starts.
//
// All ranks begin with the same array, which nobody changes. A rank that changes its environment
// gets an array of its own. If ranks have globals of their own, the rank's `environ` leads to it;
// otherwise `environ` is the process's, and only the functions know better.
#pragma once

#include "p2p/p2p.h"

// Where mpirun has dealt the host's GPUs (launch/plan/deal.h), ranks begin with arrays that say in
// MILLET_GPU_DEVICE which of them are the rank's.

// Before ranks run, once it is known that there are several.
void mlt_environ_begin(void);

// A rank begins, and has its globals: its `environ` is right from here on.
void mlt_environ_rank(mlt_rank *me);

// What its main gets: `envp`, which is the process's, as a rule.
char **mlt_environ_given(const mlt_rank *me, char **envp);

// The environment of the calling rank; the process's for others.
char **mlt_environ(void);

// A child that the rank has just forked: libc, too, has the rank's environment there.
void mlt_environ_forked(mlt_rank *me);

struct mlt_environ;
void mlt_environ_free(struct mlt_environ *own);
