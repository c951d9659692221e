// SPDX-License-Identifier: BSD-3-Clause
// getopt for ranks that share a process; parse.h parses. A rank with globals of its own has its own
// variables (optind, optarg, ...) among them, and there is nothing to do.
//
// Other ranks share these variables. The program reads them between the calls and long after the
// last one, and nobody sees it do that. So ranks must parse one after the other, and none may go on
// while another parses.
//
//     fibers of a worker     run one after the other anyway; the variables are exchanged at a
//                            switch, and when the calling rank is another one than before
//     workers (threads)      the first call takes the turn for the worker, and ranks of others wait
//                            for it. A rank that has parsed waits for all others, in MPI_Init, or
//                            at the end of its options if MPI is initialised: they parse, each
//                            worker in its turn, or are blocked in MPI, or have ended. Then all go
//                            on, and the variables have the values that all parsings end with.
//
// A program that sets optind before its first call has done so before its turn came: that is right
// for fibers and processes only. All waits are bounded. A rank that parses when others may read the
// variables (its parsing began late, or is its second one) gets a note on standard error.
#pragma once

#include "p2p/p2p.h"

// MPI is initialised in the rank. May suspend.
void mlt_getopt_init_done(mlt_rank *me);

struct mlt_getopt;

// The rank has ended.
void mlt_getopt_free(struct mlt_getopt *place);
