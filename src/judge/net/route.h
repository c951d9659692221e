// SPDX-License-Identifier: BSD-3-Clause
// A network's links, numbered, and the way from one NIC to another. Links have one direction.
//
//     crossbar    NIC -> the switch -> NIC
//     fat-tree    up to the first switch that is above both, and down. Which of the switches of a
//                 level is decided by the receiver (destination modulo width), so all ways to one
//                 host meet at the top and stay together
//     torus       dimension by dimension, the shorter way round; if both are equal, upwards
//     dragonfly   the groups' routers are connected each to each. A link inside the group to the
//                 router that has a link to the other group, that link, a link inside. With
//                 valiant through a third group, which the salt chooses
//
// Within a host, if it has memory that is shared or nodes: the memory of the sender's NUMA node;
// from there to the receiver's node, if that is another; and from socket to socket, if that is.
#pragma once

#include "judge/net/cluster.h"

typedef struct mlt_network {
    const mlt_cluster *cluster;
    uint32_t links, ends;                  // ends: NICs of all hosts
    uint32_t base[2 * MLT_NETWORK_LEVELS]; // first link of each part, see route.c
    // FAT_TREE, by level from 1 on: hosts below a switch, switches that are side by side
    uint32_t below[MLT_NETWORK_LEVELS + 1], wide[MLT_NETWORK_LEVELS + 1];
    uint32_t parallel; // DRAGONFLY: links from one group to another
    bool inside;       // there are links within hosts, from `inner` on, `inner_each` a host
    uint32_t inner, inner_each;
} mlt_network;

// False: the network has more than MLT_CLUSTER_LINKS links. The cluster is borrowed.
bool mlt_network_init(mlt_network *net, const mlt_cluster *cluster) MLT_MUST_CHECK;

// Hosts that a network of this shape has room for; a crossbar: as many as can be.
uint64_t mlt_network_capacity(const mlt_cluster *cluster);

// The hop-th link, from 0, of the way between NICs of two hosts. The last is the one of
// mlt_network_is_last; it must not be asked for more.
uint32_t mlt_network_hop(const mlt_network *net, uint32_t from, uint32_t to, uint32_t salt,
                         uint32_t hop);

static inline bool mlt_network_is_last(const mlt_network *net, uint32_t link) // it leads to a NIC
{
    return link >= net->ends && link < 2 * net->ends;
}

// The same between nodes of one host (mlt_cluster_nodes), if net->inside; MLT_NETWORK_NO_LINK after the last.
#define MLT_NETWORK_NO_LINK UINT32_MAX
uint32_t mlt_network_inner_hop(const mlt_network *net, uint32_t from, uint32_t to, uint32_t hop);

mlt_network_kind mlt_network_kind_of(const mlt_network *net, uint32_t link);
// size: at least 96. Returns text.
const char *mlt_network_link_name(const mlt_network *net, uint32_t link, char *text, size_t size);
