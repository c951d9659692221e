// SPDX-License-Identifier: BSD-3-Clause
// The simulator's inside: a program as flat arrays over all ranks, and the state of a run. Only for
// src/judge/sim.
//
//     sim.c     mlt_sim_simulate: the others, in this order
//     build.c   program -> actions, dependents, lanes; which send meets which receive
//     run.c     the events
//     travel.c  messages on the links of a described machine
//     crowd.c   ranks that share processors of a described machine
//     path.c    the critical path; the message of a deadlock
//
// An action has a number: ranks one after the other, as in mlt_goal_pairs. A lane is a pair of CPU
// and NIC of a rank; programs that use only one of each have lane = rank, and one cache line is
// then all the state of a rank. Lanes of the same CPU share the first one's cpu_free, those of the
// same NIC the first one's send_free and recv_free.
//
// Two modes. `fixed`, without wildcards: a receive is the partner of its send from the beginning,
// an event of a message names the receive, and matching is a look at two bits. Otherwise an event
// of a message names the send, and posted receives and unexpected messages wait in lists, a pair of
// lists a rank.
//
// Waiting. An event that finds its CPU or NIC busy is tried again when they are free, with the
// number that it had. Those that wait for the same (sends of a lane, messages of a lane, local work
// of a CPU) are tried in the order of their numbers. So only the first of them is in the queue; the
// others are parked in a ring after it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "goal/program.h"
#include "judge/net/route.h"
#include "judge/net/share.h"
#include "judge/sim/queue.h"
#include "judge/sim/sim.h"

#define MLT_SIM_NONE UINT32_MAX
enum { MLT_SIM_MOST_ACTIONS = INT32_MAX };           // an event's `what` has one bit more
#define MLT_SIM_MOST_TIME  (UINT64_C(1) << 62)       // ps
#define MLT_SIM_MOST_BYTES ((UINT64_C(1) << 50) - 1) // of an action; ns of a calc

enum { // mlt_sim_action.bits: kind, then flags, then size
    MLT_SIM_SEND = 0,
    MLT_SIM_RECV = 1,
    MLT_SIM_CALC = 2, // size is ns
    MLT_SIM_EXEC = 3, // size is bytes
    MLT_SIM_NOP = 4,
    MLT_SIM_KIND = 7,
    MLT_SIM_STARTERS = 1 << 3,  // somebody waits for its start only
    MLT_SIM_SYNC = 1 << 4,      // a send that ends when it is matched
    MLT_SIM_THEN_EXEC = 1 << 5, // a receive with work after it
    MLT_SIM_POSTED = 1 << 6,    // a receive
    MLT_SIM_ARRIVED = 1 << 7,   // a receive (fixed): its message was there first
    MLT_SIM_RECEIVED = 1 << 8,  // a receive: only its work is left
    MLT_SIM_FINISHED = 1 << 9,
    MLT_SIM_STARTED = 1 << 10,
    MLT_SIM_FREE = 1 << 11,  // it has no dependencies at all
    MLT_SIM_NEAR = 1 << 12,  // a send, and its receive: both ends are on one host of a cluster
    MLT_SIM_LARGE = 1 << 13, // the same: of more than S bytes
    MLT_SIM_SIZE_SHIFT = 14,
};

typedef struct mlt_sim_action {
    uint64_t bits;
    uint64_t time;    // before it is ready: when it is so far. Parked: its number. A send whose
                      // message has come before its receive: when a CPU took up the message
    uint32_t link;    // before it is ready: dependencies left. Then: the next in a ring or list
    uint32_t partner; // the other end. Not fixed, a send that is not matched: lane of its message
    uint32_t lane;
    uint32_t next_at; // its dependents: next[next_at .. that of the following action)
} mlt_sim_action;
_Static_assert(sizeof(mlt_sim_action) == 32, "two to a cache line");

typedef struct mlt_sim_waiters {
    uint32_t first; // seq of the first, which is in the queue; MLT_SIM_NONE: nobody waits
    uint32_t last;  // the last parked one; it links to the first parked one
} mlt_sim_waiters;

enum { MLT_SIM_WAIT_SEND, MLT_SIM_WAIT_MESSAGE, MLT_SIM_WAIT_LOCAL, MLT_SIM_WAITS };

typedef struct mlt_sim_lane {
    uint64_t cpu_free, send_free, recv_free;
    mlt_sim_waiters wait[MLT_SIM_WAITS];
    uint32_t cpu, nic; // the lanes whose *_free count
    uint64_t end;      // of the last action here
} mlt_sim_lane;
_Static_assert(sizeof(mlt_sim_lane) == 64, "one cache line");

// ---- for the critical path: why something happened when it did

typedef enum mlt_sim_point {
    MLT_SIM_AT_START,
    MLT_SIM_AT_SECOND, // a send: its message is taken up; a receive: its work begins
    MLT_SIM_AT_FINISH,
} mlt_sim_point;

typedef struct mlt_sim_ref {
    uint32_t action;
    uint8_t point; // mlt_sim_point
    uint8_t why;   // mlt_sim_why
} mlt_sim_ref;

typedef struct mlt_sim_node {
    uint64_t time;
    mlt_sim_ref cause;
} mlt_sim_node;

typedef struct mlt_sim_holders { // of a lane: what kept it busy last
    mlt_sim_ref cpu, send, recv;
} mlt_sim_holders;

typedef struct mlt_sim_lists { // of a rank, if not fixed; first and last, MLT_SIM_NONE: empty
    uint32_t posted, posted_last;
    uint32_t unexpected, unexpected_last;
} mlt_sim_lists;

typedef struct mlt_sim_envelope { // of a message's end, if not fixed
    int32_t peer, tag;
} mlt_sim_envelope;

typedef struct mlt_sim_cost {
    uint64_t L, o, g; // ps
    double G, O;      // ps a byte
} mlt_sim_cost;

// A message that is on its way over links.
typedef struct mlt_sim_traveller {
    uint64_t late;     // when its head would have come here if it had come as late as its tail does
    uint32_t send;     // its action; free ones: the next
    uint32_t from, to; // NICs; within a host: NUMA nodes
    uint32_t what;     // the event of its arrival
    uint32_t hop;
    bool inside; // within a host
    bool loose;  // it may come to its first link after others that were sent later
} mlt_sim_traveller;

typedef struct mlt_sim_travel {
    mlt_network net;
    uint32_t *nic; // [ranks]
    double noise;  // of messages within hosts
    uint64_t seed;
    uint32_t *node;   // [ranks]: NUMA nodes; NULL: messages within hosts pass no links
    mlt_share *links; // [net.links]
    uint64_t latency[MLT_NETWORK_KINDS];
    double byte[MLT_NETWORK_KINDS]; // ps a byte; 0: unlimited
    mlt_sim_traveller *travellers;
    uint32_t travellers_count, travellers_room, unused;
} mlt_sim_travel;

typedef struct mlt_sim_processor {
    uint64_t free;    // when its last work ends
    uint32_t owner;   // the lane of the CPU that it runs; MLT_SIM_NONE: it was never used
    mlt_sim_ref last; // its last work
} mlt_sim_processor;

typedef struct mlt_sim_crowd {
    uint32_t each; // processors of a host
    uint64_t change, wake;
    mlt_sim_processor *all; // host by host
    uint32_t *at;           // [lanes]: where a lane's CPU ran last; MLT_SIM_NONE: nowhere yet
    uint64_t *since;        // [lanes]: its CPU waits for a processor since; UINT64_MAX: it does not
    uint32_t *ranks;        // [hosts]
} mlt_sim_crowd;

// An event's `what` for a traveller is its number and this; without a cluster the bit is part of
// the action's number.
enum { MLT_SIM_MESSAGE_EVENT = 1 };
#define MLT_SIM_HOP (UINT32_C(1) << 31)

typedef struct mlt_sim {
    const mlt_goal_program *program;                           // ask mlt_sim_part for its ranks
    const mlt_goal_program *(*part)(void *arg, uint32_t rank); // as in the options
    void *part_arg;
    mlt_sim_queue queue;
    mlt_sim_action *actions; // [count + 1]: the last one ends the dependents
    uint32_t *next;          // dependents' numbers, MLT_GOAL_STARTED: on the start only
    mlt_sim_lane *lanes;
    mlt_sim_cost cost[3];     // between hosts; within one; within one, of more than S
    double exec;              // ps a byte
    mlt_sim_travel *travel;   // NULL: there is no cluster
    mlt_sim_crowd *crowd;     // NULL: each rank has its own processors
    uint32_t seq;             // the next number
    uint32_t count, finished; // actions
    uint32_t lanes_count, lanes_room;
    bool fixed, late;   // late: the time went beyond MLT_SIM_MOST_TIME
    uint32_t *first;    // [ranks + 1]: number of a rank's first action
    uint64_t *sync_end; // [count]: when a synchronous send's CPU was free; NULL: there are none
    mlt_sim_lists *lists;
    mlt_sim_envelope *envelopes; // [count], with lists: what mlt_sim_part gave does not stay
    // Several CPUs or NICs. NULL: lane = rank.
    uint32_t *lane_rank, *lane_next; // a rank's lanes are linked, from rank_lane
    uint16_t *lane_key;              // cpu << 8 | nic
    uint32_t *rank_lane;
    // keep_path
    mlt_sim_node *nodes; // [2 * count]: AT_START, AT_SECOND
    mlt_sim_holders *holders;
    uint32_t last_action; // the one that ended last
    mlt_sim_result *result;
} mlt_sim;

static inline uint64_t mlt_sim_size(const mlt_sim_action *action)
{
    return action->bits >> MLT_SIM_SIZE_SHIFT;
}

// Of what becomes ready at once, sends go first, then receives, then the rest.
static inline unsigned mlt_sim_order(uint64_t bits)
{
    unsigned kind = bits & MLT_SIM_KIND;
    return kind < MLT_SIM_CALC ? kind : MLT_SIM_CALC;
}

static inline uint32_t mlt_sim_rank(const mlt_sim *sim, uint32_t lane)
{
    return sim->lane_rank ? sim->lane_rank[lane] : lane;
}

// ---- prices, in ps; never more than an eighth of MLT_SIM_MOST_TIME, so that sums stay sums

static inline uint64_t mlt_sim_price(double ps)
{
    double most = (double)(MLT_SIM_MOST_TIME / 8);
    return (uint64_t)((ps < most ? ps : most) + 0.5);
}

static inline uint64_t mlt_sim_bytes(uint64_t size, double per_byte) // all but the first
{
    return size > 1 ? mlt_sim_price((double)(size - 1) * per_byte) : 0;
}

static inline const mlt_sim_cost *mlt_sim_cost_of(const mlt_sim *sim, const mlt_sim_action *action)
{
    uint64_t near = (action->bits & MLT_SIM_NEAR) != 0;
    return &sim->cost[near << (near & action->bits / MLT_SIM_LARGE)];
}

static inline uint64_t mlt_sim_send_cpu(const mlt_sim *sim, const mlt_sim_action *action)
{
    const mlt_sim_cost *cost = mlt_sim_cost_of(sim, action);
    return cost->o + mlt_sim_bytes(mlt_sim_size(action), cost->O);
}

static inline uint64_t mlt_sim_recv_cpu(const mlt_sim *sim, const mlt_sim_action *action)
{
    const mlt_sim_cost *cost = mlt_sim_cost_of(sim, action);
    return cost->o + mlt_sim_bytes(mlt_sim_size(action), cost->O > cost->G ? cost->O : cost->G);
}

static inline uint64_t mlt_sim_nic(const mlt_sim *sim, const mlt_sim_action *action)
{
    const mlt_sim_cost *cost = mlt_sim_cost_of(sim, action);
    return cost->g + mlt_sim_bytes(mlt_sim_size(action), cost->G);
}

// A receive costs what its message does.
static inline void mlt_sim_receives(mlt_sim_action *recv, const mlt_sim_action *send)
{
    const uint64_t where = MLT_SIM_NEAR | MLT_SIM_LARGE;
    recv->bits &= (UINT64_C(1) << MLT_SIM_SIZE_SHIFT) - 1 - where;
    recv->bits |= (send->bits & where) | mlt_sim_size(send) << MLT_SIM_SIZE_SHIFT;
}

static inline void mlt_sim_put(mlt_sim *sim, uint64_t time, uint32_t what, uint32_t seq)
{
    if (MLT_UNLIKELY(time > MLT_SIM_MOST_TIME)) {
        sim->late = true;
        return;
    }
    mlt_sim_queue_push(&sim->queue, (mlt_sim_event){time, what, seq});
}

// What a calc, an exec, or the work after a receive costs.
uint64_t mlt_sim_work(const mlt_sim *sim, uint32_t number);

mlt_goal_place mlt_sim_place(const mlt_sim *sim, uint32_t number);

// A rank of the program, until the next call.
static inline const mlt_goal_rank *mlt_sim_part(const mlt_sim *sim, uint32_t rank)
{
    return sim->part ? sim->part(sim->part_arg, rank)->rank : &sim->program->rank[rank];
}

static inline const mlt_goal_action *mlt_sim_source(const mlt_sim *sim, mlt_goal_place place)
{
    return &mlt_sim_part(sim, place.rank)->actions[place.action];
}

// mlt_goal_describe of it.
char *mlt_sim_describe(const mlt_sim *sim, mlt_goal_place place, char *text, size_t size);

// ---- the parts

mlt_status mlt_sim_build(mlt_sim *sim, const mlt_sim_options *options, char *why,
                         size_t why_size) MLT_MUST_CHECK;
void mlt_sim_run(mlt_sim *sim, const mlt_sim_options *options);
void mlt_sim_path(mlt_sim *sim);

// With a cluster. Before mlt_sim_build's passes; after the run, what the result says of links.
mlt_status mlt_sim_travel_begin(mlt_sim *sim, const mlt_sim_options *options, char *why,
                                size_t why_size) MLT_MUST_CHECK;
// How much later than usual a message within a host comes (cluster.noise).
uint64_t mlt_sim_noise(const mlt_sim *sim, uint32_t send);
void mlt_sim_travel_end(mlt_sim *sim);
void mlt_sim_travel_fini(mlt_sim *sim);
// True if both ranks are on one host.
bool mlt_sim_is_near(const mlt_sim *sim, uint32_t rank, uint32_t other);
// A send's head reaches its NIC's link at `time`; its arrival becomes the event (what, seq).
void mlt_sim_depart(mlt_sim *sim, uint32_t send, uint64_t time, uint32_t what, uint32_t seq);
void mlt_sim_hop(mlt_sim *sim, const mlt_sim_event *event);
// How long a send's message takes from NIC to NIC if nobody shares a link with it, L included.
uint64_t mlt_sim_alone(const mlt_sim *sim, uint32_t send);

// With a cluster, after mlt_sim_build. Ranks that share processors, if it says so.
void mlt_sim_crowd_begin(mlt_sim *sim, const struct mlt_cluster *cluster);
void mlt_sim_crowd_fini(mlt_sim *sim);
// The lane's CPU, which is free, has something to do: when it can, at `now` or later. If it must
// wait or change, the node, unless NULL, learns why.
uint64_t mlt_sim_enter(mlt_sim *sim, uint32_t home, uint64_t now, mlt_sim_node *node);
// It is busy until `end`.
void mlt_sim_used(mlt_sim *sim, uint32_t home, uint64_t end, mlt_sim_ref by);

void mlt_sim_deadlock(const mlt_sim *sim, char *why, size_t why_size);
