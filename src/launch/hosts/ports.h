// SPDX-License-Identifier: BSD-3-Clause
// What an agent does for connections between jobs. Ranks ask at desks (boot/rpc.h):
//
//     OPEN, CLOSE     a port is a listener of its own (net/listen.h), with a key of its own. Its name
//                     has both, and the addresses of this host
//     ACCEPT          hands over the next connection that has greeted there
//     CONNECT         dials the port of another job and greets
//     JOIN, LEARN     a bond: a broker (broker.h) of the processes of all jobs in it, under a key that
//                     both sides of a greeting can compute and nobody else
//     WATCH           the line, over which the two roots have talked, is the agents' from now on
//
// The greeting encrypts, whether the jobs do or not: its two keys make the key of the bond. Ranks
// carry that key to the other agents of their job, sealed with the job's key.
//
// The lines tell of the end of a job. An agent whose processes have all given up the bond says so;
// a line that ends without a word is the end of a job that others are still connected with.
//
// A local job opens no socket before one of its ranks asks for a port. One thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "boot/ctl.h"
#include "launch/plan/options.h"
#include "net/address.h"
#include "net/key.h"

typedef struct mlt_ports mlt_ports;

typedef struct mlt_ports_conf {
    const mlt_options *options;
    const mlt_key *key; // of the job; NULL: it has none, being on one host. Must outlive it
    const char *name;   // of this host
    // A connection to another job. The descriptor stays the ports'.
    void (*link)(void *user, uint32_t proc, const mlt_ctl_link *link, int fd);
    // The job cannot go on; one sentence.
    void (*lost)(void *user, const char *text);
    void *user;
} mlt_ports_conf;

mlt_ports *mlt_ports_new(const mlt_ports_conf *conf);

// The job has ended; NULL is fine. why: what it died of, for those that are still connected; NULL:
// it ended in order.
void mlt_ports_free(mlt_ports *ports, const char *why);

// A process of this host has an rpc; the descriptor becomes the ports'.
void mlt_ports_rpc(mlt_ports *ports, uint32_t proc, int fd);

// It wants a connection to a process of that bond, or needs the bond no longer. Numbers that are
// wrong have no effect.
void mlt_ports_want(mlt_ports *ports, uint32_t proc, uint64_t bond, int64_t peer);
void mlt_ports_parted(mlt_ports *ports, uint32_t proc, uint64_t bond);

// It has ended, in order or not: its ports are closed.
void mlt_ports_gone(mlt_ports *ports, uint32_t proc, bool in_order);

// ---- names of ports, for tests

#define MLT_PORT_NAME_MOST 1024 // with the NUL at its end: MPI_MAX_PORT_NAME

typedef struct mlt_port_name {
    uint64_t number;
    mlt_key key;
    uint16_t port;
    uint32_t count;
    mlt_address addresses[MLT_ADDRESSES];
} mlt_port_name;

void mlt_port_name_write(char out[MLT_PORT_NAME_MOST], const mlt_port_name *name);
bool mlt_port_name_read(mlt_port_name *name, const char *text) MLT_MUST_CHECK;
