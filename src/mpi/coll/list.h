// SPDX-License-Identifier: BSD-3-Clause
// Collective operations that are lists of messages: with neighbours, or with the ranks of the other
// group. Each rank has blocks to send and blocks to receive; who gets and gives each is said by a
// function of the communicator.
//
// Blocks of types without gaps are sent from and received into the user's memory, wherever they
// lie; only if a block has gaps, its whole side is packed.
//
// A schedule is kept for its shape: two numbers if blocks are alike, else where each lies. So calls
// with lists cost O(blocks) to check and compare, and allocate nothing when they come again.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/coll/coll.h"
#include "mpi/coll/exchange.h"
#include "mpi/comm/comm.h"
#include "p2p/p2p.h"

// The peer of block i in the team's numbers, and the tag that both sides know it by (0 at first);
// -1: nobody. `root` is what mlt_coll_list_exchange was given.
typedef int32_t mlt_coll_list_peer(const mlt_comm *comm, int32_t root, bool sends, uint32_t i,
                                   int32_t *tag);

// One side, as the user gives it. Its arguments are called sendbuf, recvcounts, sdispls and so on.
typedef struct mlt_listing {
    const char *which; // "send", "recv"
    const void *buf;
    uint32_t blocks; // 0: nothing is looked at
    // Blocks that are alike, one after the other: counts.at is NULL.
    MPI_Count count;
    const mlt_type *type;      // may be NULL: a bad handle
    mlt_coll_numbers counts;   // [blocks]
    mlt_coll_numbers displs;   // [blocks], in extents
    const char *displs_name;   // if it is not sdispls, rdispls; else NULL
    const MPI_Datatype *types; // [blocks], if `typed`: then displs are bytes, and type is not used
    bool listed;               // counts and displs count, not count
    bool typed;
    bool same; // one block, the same for all peers (count, type)
} mlt_listing;

// Runs, starts or keeps that exchange, which is a call of that form. An MPI code, raised. May
// suspend.
int mlt_coll_list_exchange(mlt_rank *me, mlt_comm *comm, const mlt_listing *send,
                           const mlt_listing *recv, mlt_coll_list_peer *peer, int32_t root,
                           mlt_coll_form form, mlt_coll_how how);
