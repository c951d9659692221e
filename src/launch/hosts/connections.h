// SPDX-License-Identifier: BSD-3-Clause
// What an agent does for connections between hosts: its processes ask for them, its broker makes
// them (launch/hosts/broker.h), and the cards that brokers need travel as frames, when they are
// needed first. A connection that one host cannot make is tried by the other: a firewall often lets
// connections pass one way only. If that fails too, the job ends with what both have tried.
#pragma once

#include <stdint.h>

#include "launch/agent.h"
#include "launch/hosts/frame.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"
#include "net/key.h"

typedef struct mlt_connections mlt_connections;

typedef struct mlt_connections_conf {
    const mlt_options *options;
    const mlt_placement *plan;
    uint32_t host; // this one
    uint64_t identity;
    const mlt_key *key; // must outlive it
    int loop;
    // Sends a frame to the host or the head that it is for.
    void (*send)(void *user, const mlt_frame *frame, const void *body);
    void *user;
} mlt_connections_conf;

// Listens. Ends mpirun on failure.
mlt_connections *mlt_connections_new(const mlt_connections_conf *conf);
void mlt_connections_free(mlt_connections *connections); // NULL is fine

// The agent whose processes get the connections; before the first frame.
void mlt_connections_join(mlt_connections *connections, mlt_agent *agent);

// A process of this host wants a connection to a process of another, or has ended.
void mlt_connections_want(mlt_connections *connections, uint32_t proc, uint32_t peer);
void mlt_connections_gone(mlt_connections *connections, uint32_t proc);

// CARD_WANTED, CARD and DIAL_BACK; others have no effect.
void mlt_connections_take(mlt_connections *connections, const mlt_frame *frame, const char *body);
