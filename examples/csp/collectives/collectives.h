// SPDX-License-Identifier: BSD-3-Clause
// The collective operations of the paper's listings 2 to 17, and one that it left open.
#ifndef COLLECTIVES_H
#define COLLECTIVES_H

#include "comm.h"

// broadcast.c. What rank 0 has in data, all have.
void broadcast_linear(comm *c, void *data, size_t bytes);
void broadcast_binomial(comm *c, void *data, size_t bytes);

// reduce.c. Rank 0 gets func over all.
typedef long function(long lower, long higher);
long reduce_linear(comm *c, long data, function *func);
long reduce_binom1(comm *c, long data, function *func);
long reduce_binom2(comm *c, long data, function *func);
long reduce_binom3(comm *c, long data, function *func);
long reduce_as_they_come(comm *c, long data, function *func);

// barrier.c
void barrier_non_par(comm *c);
void barrier_linear(comm *c);
void barrier_binom(comm *c);

// allreduce.c
long allreduce(comm *c, long data, function *func);

// gather.c. Rank 0 gets the values of all.
void gather_seq(comm *c, long data, long *all);
void gather_par(comm *c, long data, long *all);

// allgather.c
void allgather(comm *c, long data, long *all);

// scatter.c. Rank i gets data[i] of rank 0.
long scatter_seq(comm *c, const long *data);
long scatter_par(comm *c, const long *data);

// alltoall.c. Rank i gets all[k] = data[i] of rank k.
void scatter_send(comm *c, const long *data, ranks to);
void alltoall(comm *c, const long *data, long *all);

#endif
