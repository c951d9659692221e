// SPDX-License-Identifier: BSD-3-Clause
// Collective operations in which each rank knows only its own list of messages: MPI_Gatherv and the
// like, those with neighbours, and those with the ranks of the other group.
//
// A rank has blocks to send and blocks to receive; a function of the operation says who gets and gives
// each. Blocks without bytes are no messages; both sides know.
//
// Blocks of types without gaps are sent from and received into the user's memory, wherever they
// lie; if a block has gaps, its whole list is packed.
//
// A schedule is kept for its shape: two numbers if blocks are alike, else the messages. So calls
// with lists cost O(blocks) to check and compare, and allocate nothing when they come again.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/coll/coll.h"
#include "mpi/comm/comm.h"
#include "p2p/p2p.h"

// The peer of block i in the team's numbers, and the tag that both sides know it by (0 at first);
// -1: nobody. `root` is what mlt_coll_exchange was given.
typedef int32_t mlt_coll_list_peer(const mlt_comm *comm, int32_t root, bool sends, uint32_t i,
                                   int32_t *tag);

// One side, as the user gives it.
typedef struct mlt_coll_list {
    const char *which; // "send", "recv": its arguments are called sendbuf, recvcounts and so on
    const void *buf;
    uint32_t blocks;           // 0: nothing is looked at
    MPI_Count count;           // of each block; they lie one after the other; unless
    bool listed;               // it is
    mlt_coll_numbers counts;   // [blocks], and the blocks begin at
    mlt_coll_numbers displs;   // [blocks] extents
    const char *displs_name;   // "displs", "sdispls", "rdispls"
    const mlt_type *type;      // of all blocks; may be NULL, a bad handle; unless
    bool typed;                // each has a type of
    const MPI_Datatype *types; // [blocks]; displs are bytes then
    bool same;                 // one block, the same for all peers
    bool apart;                // it is the other list's buffer, too: packed before anything is done
} mlt_coll_list;

// Such a side: of the arguments sendbuf, sendcounts, sdispls and sendtype or sendtypes; or sendbuf,
// sendcount, sendtype.
#define MLT_COLL_LIST_OF(which_, buf_, counts_, name_, displs_, ...)                               \
    (&(mlt_coll_list){.which = which_,                                                             \
                      .buf = buf_,                                                                 \
                      .listed = true,                                                              \
                      .counts = counts_,                                                           \
                      .displs = displs_,                                                           \
                      .displs_name = name_,                                                        \
                      __VA_ARGS__})
#define MLT_COLL_LIST(which_, buf_, counts_, name_, displs_, type_)                                \
    MLT_COLL_LIST_OF(which_, buf_, counts_, name_, displs_, .type = type_)
#define MLT_COLL_LIST_TYPED(which_, buf_, counts_, name_, displs_, types_)                         \
    MLT_COLL_LIST_OF(which_, buf_, counts_, name_, displs_, .typed = true, .types = types_)
#define MLT_COLL_LIST_ALIKE(which_, buf_, count_, type_)                                           \
    (&(mlt_coll_list){.which = which_, .buf = buf_, .count = count_, .type = type_})

extern const mlt_coll_list mlt_coll_list_nothing;

// Checks the lists, and runs, starts or keeps that exchange, which is a call of that form. `root` is the
// user's, if there is one. An MPI code, raised. May suspend.
int mlt_coll_exchange(mlt_rank *me, mlt_comm *comm, const mlt_coll_list *send,
                      const mlt_coll_list *recv, mlt_coll_list_peer *peer, int32_t root,
                      mlt_coll_form form, const mlt_how *how);

// MPI_Gatherv and MPI_Scatterv: `all` is the root's side. MPI_Alltoallv and MPI_Alltoallw. With neighbours,
// if the communicator has a topology.
int mlt_coll_rooted_lists(mlt_rank *me, mlt_coll_form form, mlt_coll_list *one, mlt_coll_list *all,
                          int root, mlt_comm *comm, const mlt_how *how);
int mlt_coll_all_lists(mlt_rank *me, mlt_coll_list *send, mlt_coll_list *recv, mlt_comm *comm,
                       const mlt_how *how);
int mlt_coll_neighbors(mlt_rank *me, mlt_coll_list *send, mlt_coll_list *recv, mlt_coll_form form,
                       mlt_comm *comm, const mlt_how *how);

// A list's argument that must be there ("recvcounts") is NULL.
int mlt_coll_bad_array(mlt_rank *me, mlt_comm *comm, const char *name) MLT_COLD;
// "argument recvcounts[3] is -1, but should be ..."
int mlt_coll_bad_element(mlt_rank *me, mlt_comm *comm, int class, const char *name, uint64_t index,
                         int64_t value, const char *should) MLT_COLD;
