// SPDX-License-Identifier: BSD-3-Clause
// The map of context numbers: who deals out which. A message matches only a receive of the same
// context, so messages of different kinds never meet as long as ranges do not overlap. All workers
// of a job use the same map.
//
//     0 .. 23                        MPI_COMM_WORLD and SELF, founding (mpi/comm/comm.h)
//     24 .. 0x6fffffff               communicators, eight each (mpi/comm/context.h)
//     0x70000000 .. 0x7fffffff       the same, those with ranks of several jobs
//     0x80000000 .. 0xbfffffff       MPIX_Reduce_to, two each, by hash (mpi/coll/reduce_to.c)
//     0xc0000000 .. 0xcfffffff       offers of partitioned messages, one for each communicator
//     0xd0000000                     their data (mpi/p2p/partition_int.h)
//     0xd0000001                     the same between jobs
//     0xd0000002 .. 0xdfffffff       free
//     0xe0000000 .. 0xefffffff       flow: the first for links, then two a part (flow/run.h)
//     0xf0000000 .. 0xffffffff       groups of processes: the first for all workers (csp/group.h)
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MLT_CONTEXT_COMMS          UINT32_C(24)
#define MLT_CONTEXT_COMMS_LAST     UINT32_C(0x6fffffff)
#define MLT_CONTEXT_ABROAD         UINT32_C(0x70000000)
#define MLT_CONTEXT_ABROAD_LAST    UINT32_C(0x7fffffff)
#define MLT_CONTEXT_REDUCE_TO      UINT32_C(0x80000000)
#define MLT_CONTEXT_REDUCE_TO_LAST UINT32_C(0xbfffffff)
#define MLT_CONTEXT_OFFERS         UINT32_C(0xc0000000)
#define MLT_CONTEXT_OFFERS_LAST    UINT32_C(0xcfffffff)
#define MLT_CONTEXT_PARTITIONS     UINT32_C(0xd0000000)
#define MLT_CONTEXT_PARTS_ABROAD   UINT32_C(0xd0000001)
#define MLT_CONTEXT_FLOW           UINT32_C(0xe0000000)
#define MLT_CONTEXT_FLOW_LAST      UINT32_C(0xefffffff)
#define MLT_CONTEXT_CSP            UINT32_C(0xf0000000)
#define MLT_CONTEXT_CSP_LAST       UINT32_MAX

_Static_assert(MLT_CONTEXT_COMMS < MLT_CONTEXT_COMMS_LAST &&
                   MLT_CONTEXT_COMMS_LAST < MLT_CONTEXT_ABROAD &&
                   MLT_CONTEXT_ABROAD_LAST < MLT_CONTEXT_REDUCE_TO &&
                   MLT_CONTEXT_REDUCE_TO < MLT_CONTEXT_REDUCE_TO_LAST &&
                   MLT_CONTEXT_REDUCE_TO_LAST < MLT_CONTEXT_OFFERS &&
                   MLT_CONTEXT_ABROAD_LAST / 8 <= MLT_CONTEXT_OFFERS_LAST - MLT_CONTEXT_OFFERS &&
                   MLT_CONTEXT_OFFERS_LAST < MLT_CONTEXT_PARTITIONS &&
                   MLT_CONTEXT_PARTITIONS < MLT_CONTEXT_PARTS_ABROAD &&
                   MLT_CONTEXT_PARTS_ABROAD < MLT_CONTEXT_FLOW &&
                   MLT_CONTEXT_FLOW < MLT_CONTEXT_FLOW_LAST &&
                   MLT_CONTEXT_FLOW_LAST < MLT_CONTEXT_CSP &&
                   MLT_CONTEXT_CSP < MLT_CONTEXT_CSP_LAST,
               "ranges do not overlap");

// Of the eight contexts of a communicator, the first has the program's messages, and the last four
// those of collectives (mpi/comm/comm.h). In the others the library makes communicators, where each
// rank sends or receives one message after the other.
static inline bool mlt_p2p_is_agreement(uint32_t context)
{
    enum { EIGHT = 8, GROUPS = 16, COLLECTIVES = 4 };
    uint32_t part = context % EIGHT;
    return context < MLT_CONTEXT_REDUCE_TO && (part == 0 ? context == GROUPS : part < COLLECTIVES);
}
