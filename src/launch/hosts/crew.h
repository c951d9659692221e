// SPDX-License-Identifier: BSD-3-Clause
// The agents of other hosts that this process has started: by a remote shell each, whose standard
// input and output are the channel (launch/hosts/frame.h). mpirun has a crew, and so has an agent
// that has hosts below it.
//
// All hosts but mpirun's own are in one order, that of the plan. An agent is responsible for a
// range of it: for its first host itself, and for the rest through a crew of its own. So a range
// says who is below whom, and where a frame goes.
#ifndef MLT_LAUNCH_HOSTS_CREW_H
#define MLT_LAUNCH_HOSTS_CREW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/hosts/frame.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"
#include "net/key.h"
#include "net/peer.h"

enum {
    MLT_CREW_BEAT_MS = 500, // a tick, at which each neighbour is sent a beat
};

typedef struct mlt_crew mlt_crew;

typedef struct mlt_crew_conf {
    const mlt_options *options; // rsh, agent, silent_ms, fan_out
    const mlt_plan *plan;
    uint32_t head_host;   // that is in nobody's range; MLT_FRAME_HEAD: none
    uint32_t first, last; // the range, in the order of hosts without head_host; `last` is not in it
    bool waits; // agents come by themselves (mlt_crew_came), one for each host; no shell is started
    const mlt_key *key;
    const char *task; // for each agent
    size_t task_size;
    int loop;
    // A frame from below, or one that the crew makes: FAILED, LOST.
    void (*take)(void *user, const mlt_frame *frame, char *body);
    // Text of a remote shell or a login script, a line; also what an agent prints itself.
    void (*line)(void *user, uint32_t host, const char *text);
    void *user;
} mlt_crew_conf;

// The number of hosts that have a place in the order, and the one at a place.
uint32_t mlt_crew_hosts(const mlt_plan *plan, uint32_t head_host);
uint32_t mlt_crew_host_at(uint32_t place, uint32_t head_host);
uint32_t mlt_crew_place_of(uint32_t host, uint32_t head_host);

// Ticks without a word after which a neighbour is lost.
uint32_t mlt_crew_patience(int64_t silent_ms);

// Starts the remote shells. Those that fail are told as FAILED, later. The range is not empty.
mlt_crew *mlt_crew_new(const mlt_crew_conf *conf);
void mlt_crew_free(mlt_crew *crew); // NULL is fine

// The agent of that host has come by this connection, which becomes the crew's and is encrypted
// with its keys. False: it is not waited for, and the connection is closed.
bool mlt_crew_came(mlt_crew *crew, uint32_t host, mlt_net_peer *peer);

// Sends a frame down, to the host that it is for or to all.
void mlt_crew_send(mlt_crew *crew, const mlt_frame *frame, const void *body);

// Writes what waits to be sent, for at most that time: this process is about to be stopped.
void mlt_crew_flush(mlt_crew *crew, int limit_ms);

// True if the host is in the crew's range.
bool mlt_crew_has(const mlt_crew *crew, uint32_t host);

// A child of this process has ended. False: it was no remote shell.
bool mlt_crew_reaped(mlt_crew *crew, pid_t pid, int status);

// This process has been stopped: nobody was silent in that time.
void mlt_crew_woke(mlt_crew *crew);

// From now on an agent that ends is no failure; busy tells whether some are left.
void mlt_crew_end(mlt_crew *crew);
bool mlt_crew_busy(const mlt_crew *crew);

// Closes the channels, so that agents end everything, and kills remote shells that are left.
void mlt_crew_close(mlt_crew *crew);
void mlt_crew_kill(mlt_crew *crew);

#endif
