// SPDX-License-Identifier: BSD-3-Clause
// A described machine: hosts with cores and NICs, where ranks are, what messages cost within a host
// and between hosts, and the network. Read from a small text (docs/reference/goal-machine.md).
//
//     hosts 64
//     cores 16
//     within-host   L 200 o 100 g 50 G 0.05
//     between-hosts L 500 o 300 g 100 G 0.08
//     network fat-tree levels 2 radix 16
//     link host   latency 100 bandwidth 12.5
//     link switch latency 100 bandwidth 12.5
//     sockets 2
//     numa 4
//     link memory bandwidth 50
//     link numa   latency 40 bandwidth 30
//     link socket latency 60 bandwidth 25
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "judge/sim/sim.h"

typedef enum mlt_network_shape {
    MLT_NETWORK_CROSSBAR,
    MLT_NETWORK_FAT_TREE,
    MLT_NETWORK_TORUS,
    MLT_NETWORK_DRAGONFLY,
} mlt_network_shape;

typedef enum mlt_network_kind { // of links
    MLT_NETWORK_HOST,           // between a NIC and its switch
    MLT_NETWORK_SWITCH,         // between switches; in a dragonfly, of one group
    MLT_NETWORK_GLOBAL,         // between the groups of a dragonfly
    MLT_NETWORK_MEMORY,         // within a host: the memory of a NUMA node
    MLT_NETWORK_NUMA,           // from one node to another
    MLT_NETWORK_SOCKET,         // from one socket to another
    MLT_NETWORK_KINDS,
} mlt_network_kind;

typedef struct mlt_network_cost {
    double latency;   // ns
    double bandwidth; // bytes a ns, that is, GB/s; 0: unlimited
} mlt_network_cost;

typedef enum mlt_cluster_place {
    MLT_PLACE_BLOCK,       // ranks 0, 1, ... fill the cores of host 0, then those of host 1
    MLT_PLACE_ROUND_ROBIN, // a rank for each host, then the next for each
    MLT_PLACE_LIST,
} mlt_cluster_place;

enum { MLT_NETWORK_DIMENSIONS = 6, MLT_NETWORK_LEVELS = 6 };
enum { MLT_CLUSTER_HOSTS = 1 << 22, MLT_CLUSTER_NICS = 64, MLT_CLUSTER_CORES = 1 << 20 };
enum { MLT_CLUSTER_PROCESSORS = 4096, MLT_CLUSTER_NODES = 256 };
#define MLT_CLUSTER_LINKS (UINT32_C(1) << 26) // what a network has at most

typedef struct mlt_cluster {
    uint32_t hosts, cores, nics;
    uint32_t numa, sockets; // of a host: NUMA nodes, each with cores and memory; sockets of nodes
    uint32_t processors;    // of a host, shared by its ranks; 0: each rank has its own
    double change;          // ns: a processor that is busy passes from one rank to another
    double wake;            // ns: until a rank that slept runs on a processor that is idle
    mlt_cluster_place place;
    uint32_t *list; // LIST: the host of each rank
    uint32_t list_count;
    mlt_loggops within, between; // S and exec are the same in all
    mlt_loggops large;           // within a host, messages of more than S
    double noise; // within a host a message comes later by this part of its time, times three
                  // times the square of a random number from 0 to 1, which is 1 in the mean
    mlt_network_shape shape;
    mlt_network_cost cost[MLT_NETWORK_KINDS];
    uint32_t levels, radix;  // FAT_TREE
    double oversubscription; // ports to hosts for each port up, at the lowest switches
    uint32_t size[MLT_NETWORK_DIMENSIONS]; // TORUS
    uint32_t dimensions;
    uint32_t groups, routers, group_hosts, global; // DRAGONFLY: hosts and links of a router
    bool valiant;
} mlt_cluster;

// Reads a text, which need not end with a NUL; `name` is what errors call it. On a fault
// "name:line:column: what is wrong", one sentence. The caller frees the cluster.
mlt_status mlt_cluster_read(const char *name, const char *text, size_t length, mlt_cluster **out,
                            char *why, size_t why_size) MLT_MUST_CHECK;
void mlt_cluster_free(mlt_cluster *cluster); // NULL is fine

// The NIC of each rank: its host times nics, and which of the host's; ranks of a host take turns.
// On failure (there is no room for so many) an error message.
mlt_status mlt_cluster_ranks(const mlt_cluster *cluster, uint32_t ranks, uint32_t *nic, char *why,
                             size_t why_size) MLT_MUST_CHECK;

// The NUMA node of each rank, of all hosts' nodes: the cores of a host, or its processors, are dealt
// out among its nodes in blocks, and its ranks among them in turn.
void mlt_cluster_nodes(const mlt_cluster *cluster, uint32_t ranks, const uint32_t *nic,
                       uint32_t *node);

// "fat-tree of 4,096 hosts": for reports. Returns text.
const char *mlt_cluster_describe(const mlt_cluster *cluster, char *text, size_t size);
