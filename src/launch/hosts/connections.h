// SPDX-License-Identifier: BSD-3-Clause
// What an agent does for connections between hosts: its processes ask for them, its broker makes
// them (launch/hosts/broker.h), and the cards that brokers need travel as frames, when they are
// needed first. A connection that one host cannot make is tried by the other: a firewall often lets
// connections pass one way only. If that fails too, the job ends with what both have tried.
#pragma once

#include <stdint.h>

#include "launch/agent/agent.h"
#include "launch/hosts/frame.h"
#include "net/iface.h"

typedef struct mlt_connections mlt_connections;

// Listens, for the agent of this host, whose processes get the connections. Ends mpirun on failure.
mlt_connections *mlt_connections_new(const mlt_agent_conf *conf, mlt_agent *agent);
void mlt_connections_free(mlt_connections *connections); // NULL is fine

// A process of this host wants a connection to a process of another, or has ended.
void mlt_connections_want(mlt_connections *connections, uint32_t proc, uint32_t peer);
void mlt_connections_gone(mlt_connections *connections, uint32_t proc);

// CARD_WANTED, CARD and DIAL_BACK; others have no effect.
void mlt_connections_take(mlt_connections *connections, const mlt_frame *frame, const char *body);

// What --iface and --port-range say; the texts have been read once. Ends mpirun if they are wrong.
void mlt_connections_net(const mlt_options *options, mlt_iface_filter *filter,
                         mlt_iface_ports *ports);
