// SPDX-License-Identifier: BSD-3-Clause
// The simulator: what a program would cost on a machine of that many ranks, under LogGOPS.
//
// Times are in picoseconds inside, so that parts of a nanosecond a byte are exact enough; options
// and reports speak of nanoseconds. The rules are LogGOPSim's (docs/reference/goal-simulator.md). A
// send holds its CPU for o+(s-1)O and its NIC for g+(s-1)G. The first byte arrives o+L after the
// start. On arrival the receiver's CPU is busy for o+max((s-1)O,(s-1)G) and its NIC for g+(s-1)G,
// receive posted or not; posting costs nothing. A message of more than S bytes ends for its sender
// when it is matched. Ties go by order of insertion. exec costs `exec` times its bytes.
//
// Messages meet their receives as program.h says: by the order of the program, or, if some receive
// of the program is a wildcard, as they come. A message is handled by the CPU and NIC that its
// receive names; with wildcards, by those that its send names.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "goal/pairs.h"
#include "goal/program.h"

typedef struct mlt_loggops {
    double L, o, g, G, O; // ns, ns, ns, ns a byte, ns a byte
    uint64_t S;           // bytes
    double exec;          // ns a byte of a local operation
} mlt_loggops;
extern const mlt_loggops mlt_loggops_default; // LogGOPSim's: 2500, 1500, 1000, 6, 0, 65535; exec 0

struct mlt_cluster;

typedef struct mlt_sim_options {
    mlt_loggops machine;
    // A described machine (judge/net/cluster.h), borrowed; then `machine` does not count. Messages
    // between hosts go over the links of its network, and share them.
    const struct mlt_cluster *cluster;
    uint64_t seed;                             // of the cluster's noise
    bool keep_times;                           // start and end of every action: for the timeline
    bool keep_path;                            // the critical path
    bool by_arrival;                           // equal tags: as messages come, as LogGOPSim does
    void (*progress)(void *user, double done); // finished actions, 0..1; may be NULL
    void *user;
    // For a program that is not there as a whole: rank 0 of what this returns is the given rank, until it
    // is called again. The program that is simulated only says how many ranks there are.
    const mlt_goal_program *(*part)(void *arg, uint32_t rank);
    void *part_arg;
} mlt_sim_options;

// Why a step of the critical path began when it did.
typedef enum mlt_sim_why {
    MLT_SIM_FIRST,       // nothing before it
    MLT_SIM_DEPENDS,     // the step before it, of the same rank, had to finish (or start)
    MLT_SIM_MESSAGE,     // the step before it, of another rank, sent it
    MLT_SIM_CPU,         // the CPU was busy with the step before it
    MLT_SIM_NIC,         // the NIC was
    MLT_SIM_MATCHED,     // a rendezvous: the step before it, of another rank, posted the receive
    MLT_SIM_SHARED_CORE, // ranks share processors, and one was busy with the step before it
} mlt_sim_why;

typedef struct mlt_sim_step {
    mlt_goal_place place;
    mlt_sim_why cause;
    uint64_t start_ps, end_ps;
    // MESSAGE between the hosts of a cluster: how long it was in the network, and how much of that
    // because it shared links with others.
    uint64_t network_ps, contention_ps;
} mlt_sim_step;

typedef struct mlt_sim_link {
    char name[96];
    uint64_t messages, bytes;
    uint64_t busy_ps; // its bytes at its bandwidth
} mlt_sim_link;

typedef struct mlt_sim_result {
    uint32_t ranks;
    uint64_t *rank_end_ps; // [ranks]: when a rank's last action ended
    uint64_t total_ps;     // the greatest
    uint64_t events, messages, bytes, actions;
    uint64_t unexpected;    // messages that came before their receive
    uint64_t unexpected_ps; // how long they waited for it, summed
    // With keep_times: by the action's number as in mlt_goal_pairs (ranks one after the other).
    // A receive starts when it is posted; cpu_start_ps is when a CPU took up its message. For the others
    // cpu_start_ps is action_start_ps.
    uint64_t *action_start_ps, *cpu_start_ps, *action_end_ps;
    mlt_goal_place *other; // with keep_times, of a message action: its other end
    mlt_sim_step *path;    // with keep_path: first to last
    uint64_t path_count;
    double seconds; // of simulation, real time
    // With a cluster: messages between hosts, links that they passed, and the links that were busy
    // the longest, first to last.
    uint64_t network_messages, hops;
    uint64_t context_switches; // a shared processor passed from one rank to another
    mlt_sim_link *links;
    uint32_t links_count;
} mlt_sim_result;

// On failure (a deadlock: then which actions wait for what; a send that nobody receives; a program
// or a machine that is not valid; more than 2^62 ps) an error message. At most 2^31 - 1 actions,
// with a cluster 2^30 - 1.
// The caller frees the result.
mlt_status mlt_sim_simulate(const mlt_goal_program *program, const mlt_sim_options *options,
                            mlt_sim_result **out, char *why, size_t why_size) MLT_MUST_CHECK;
void mlt_sim_result_free(mlt_sim_result *result);
