// SPDX-License-Identifier: BSD-3-Clause
// What an agent does for connections between hosts: its processes ask for them, its broker makes
// them (launch/hosts/broker.h), and the cards that brokers need travel as frames, when they are
// needed first. A connection that one host cannot make is tried by the other: a firewall often lets
// connections pass one way only. If that fails too, the job ends with what both have tried.
#ifndef MLT_LAUNCH_HOSTS_LINKS_H
#define MLT_LAUNCH_HOSTS_LINKS_H

#include <stdint.h>

#include "launch/agent.h"
#include "launch/hosts/frame.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"
#include "net/key.h"

typedef struct mlt_links mlt_links;

typedef struct mlt_links_conf {
    const mlt_options *options;
    const mlt_plan *plan;
    uint32_t host; // this one
    uint64_t identity;
    const mlt_key *key; // must outlive it
    int loop;
    // Sends a frame to the host or the head that it is for.
    void (*send)(void *user, const mlt_frame *frame, const void *body);
    void *user;
} mlt_links_conf;

// Listens. Ends mpirun on failure.
mlt_links *mlt_links_new(const mlt_links_conf *conf);
void mlt_links_free(mlt_links *links); // NULL is fine

// The agent whose processes get the connections; before the first frame.
void mlt_links_join(mlt_links *links, mlt_agent *agent);

// A process of this host wants a connection to a process of another, or has ended.
void mlt_links_want(mlt_links *links, uint32_t proc, uint32_t peer);
void mlt_links_gone(mlt_links *links, uint32_t proc);

// CARD_WANTED, CARD and DIAL_BACK; others have no effect.
void mlt_links_take(mlt_links *links, const mlt_frame *frame, const char *body);

#endif
