// SPDX-License-Identifier: BSD-3-Clause
// The agents of other hosts that this process has started: by a remote shell each, whose standard
// input and output are the channel (launch/hosts/frame.h). mpirun has such agents, and so has an agent
// that has hosts below it.
//
// All hosts but mpirun's own are in one order, that of the plan. An agent is responsible for a
// range of it: for its first host itself, and for the rest through agents of its own. So a range
// says who is below whom, and where a frame goes.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/hosts/frame.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"
#include "net/key.h"
#include "net/peer.h"

enum {
    MLT_AGENTS_BEAT_MS = 500, // a tick, at which each neighbour is sent a beat
};

typedef struct mlt_agents mlt_agents;

typedef struct mlt_agents_conf {
    const mlt_options *options; // rsh, agent, silent_ms, fan_out
    const mlt_placement *plan;
    uint32_t head_host;   // that is in nobody's range; MLT_FRAME_HEAD: none
    uint32_t first, last; // the range, in the order of hosts without head_host; `last` is not in it
    bool
        waits; // agents come by themselves (mlt_agents_came), one for each host; no shell is started
    const mlt_key *key;
    const char *task; // for each agent
    size_t task_size;
    // A frame from below, or one that is made here: FAILED, LOST, and SAY for a line of a remote shell
    // or a login script, or what an agent prints itself.
    void (*take)(void *user, const mlt_frame *frame, char *body);
    void *user;
} mlt_agents_conf;

// The number of hosts that have a place in the order, and the place of one.
uint32_t mlt_agents_hosts(const mlt_placement *plan, uint32_t head_host);
uint32_t mlt_agents_place_of(uint32_t host, uint32_t head_host);

// Ticks without a word after which a neighbour is lost.
uint32_t mlt_agents_patience(int64_t silent_ms);

// Starts the remote shells. Those that fail are told as FAILED, later. The range is not empty.
mlt_agents *mlt_agents_new(const mlt_agents_conf *conf);
void mlt_agents_free(mlt_agents *agents); // NULL is fine

// The agent of that host has come by this connection, which becomes the agents's and is encrypted
// with its keys. False: it is not waited for, and the connection is closed.
bool mlt_agents_came(mlt_agents *agents, uint32_t host, mlt_net_peer *peer);

// Sends a frame down, to the host that it is for or to all.
void mlt_agents_send(mlt_agents *agents, const mlt_frame *frame, const void *body);

// Writes what waits to be sent, for at most that time: this process is about to be stopped.
void mlt_agents_flush(mlt_agents *agents, int limit_ms);

// True if the host is in the agents's range.
bool mlt_agents_has(const mlt_agents *agents, uint32_t host);

// A child of this process has ended. False: it was no remote shell.
bool mlt_agents_reaped(mlt_agents *agents, pid_t pid, int status);

// This process has been stopped: nobody was silent in that time.
void mlt_agents_woke(mlt_agents *agents);

// From now on an agent that ends is no failure; busy tells whether some are left.
void mlt_agents_end(mlt_agents *agents);
bool mlt_agents_busy(const mlt_agents *agents);

// Closes the channels, so that agents end everything, and kills remote shells that are left.
void mlt_agents_close(mlt_agents *agents);
void mlt_agents_kill(mlt_agents *agents);
