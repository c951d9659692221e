// SPDX-License-Identifier: BSD-3-Clause
// A communicator for collective operations that are written as processes, as in Bjørndalen and
// Sampson, Process-Oriented Collective Operations (2008), section 2: what its listings call comm,
// and their helper functions. Messages have any length.
//
// With `./collectives 8` the members of the group are 8 processes, and there is a channel from each
// to each: a send waits until its message has been taken. With `mpirun -n 8 ./collectives` each is
// a node, which has a port for each: a send does not wait, as in the paper's section 3.
#ifndef COMM_H
#define COMM_H

#include <millet/csp.h>
#include <stddef.h>

enum { COMM_MOST = 64 }; // members of a group

typedef struct comm {
    int rank, groupsize;
    // One of the two, [groupsize] each: from and to each of the others.
    csp_in **in;
    csp_out **out;
    csp_port **ports;
    csp_target **targets;
    int *count; // a number that all members share; NULL if they are nodes
} comm;

// Runs member(comm) as every member of a group of argv[1] (or 8) processes, or of all nodes of the
// job if there are several. Returns 0 if all members here did.
int comm_run(int argc, char **argv, int (*member)(comm *c));

void send_to(comm *c, int rank, const void *data, size_t bytes);
void recv_from(comm *c, int rank, void *data, size_t bytes);

// Lists of ranks.
typedef struct ranks {
    int count, rank[COMM_MOST];
} ranks;
ranks range(int first, int end);
ranks others(const comm *c);

// From one of these that has sent something: it is taken off the list.
void recv_from_any(comm *c, ranks *from, void *data, size_t bytes);

// pass_on and recv_from_other are processes with such an argument.
typedef struct message {
    comm *c;
    int rank;
    void *data; // pass_on does not write to it
    size_t bytes;
} message;
int pass_on(void *arg);
int recv_from_other(void *arg);

// The same data to all; what rank r sends to data + r * bytes. All at once.
void pass_on_multiple(comm *c, ranks to, const void *data, size_t bytes);
void recv_from_multiple(comm *c, ranks from, void *data, size_t bytes);

// The binomial tree with rank 0 as its root. A subtree holds every 2^k-th rank: fine for what keeps
// no order.
ranks binom_get_children(int rank, int groupsize);
int binom_get_parent(int rank);

// Another one, whose subtrees are neighbours, so that a reduction along it keeps the order of
// ranks: whom to receive from, in this order, and whom to send to (one, or none).
void get_reduce_peers_binom(const comm *c, ranks *from, ranks *to);

#endif
