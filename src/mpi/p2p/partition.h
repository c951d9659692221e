// SPDX-License-Identifier: BSD-3-Clause
// Partitioned messages (MPI_Psend_init and the like): what the rest of the MPI layer calls. A
// partitioned request is a persistent MLT_REQ_OTHER with the flag MLT_REQF_PART. How partitions
// move: partition_int.h.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/comm/comm.h"
#include "p2p/p2p.h"

struct mlt_ctl_wait;
struct mlt_parts;

// Kinds of packets from here on are of partitioned messages (csp/net/route.h has the others).
enum { MLT_PACKET_PARTITIONS = 0x700, MLT_PACKET_PARTITIONS_LAST = 0x7ff };

static inline bool mlt_part_owns_packet(uint16_t kind)
{
    return kind >= MLT_PACKET_PARTITIONS && kind <= MLT_PACKET_PARTITIONS_LAST;
}

// MPI_Start, of an inactive one.
void mlt_part_request_start(mlt_req *req);

// mlt_req_close of one that is done.
void mlt_part_request_end(mlt_req *req);

// Where its copies are, if its flags say that it has some (copies.h).
struct mlt_fortran_copy **mlt_part_copies(const mlt_req *req);

// MPI_Request_free: a send under way to which partitions are missing can never complete without its
// handle.
bool mlt_part_may_free(const mlt_req *req);

// For MPI_Test and the like, of a request that is active and not done: true if it is, for all of its
// partitions are here. What says so inside of a process, a packet, may still be on its way.
bool mlt_part_is_over(mlt_req *req);

// Such a packet came.
void mlt_part_packet(mlt_worker *worker, uint32_t from, const mlt_packet *packet, const void *data,
                     uint64_t bytes);

// For hang reports: fills in what a partitioned request waits for. Leaves others as they are.
void mlt_part_look(const mlt_req *req, struct mlt_ctl_wait *out);

void mlt_parts_free(struct mlt_parts *parts); // of a worker that ends; NULL is fine

// MPI_Psend_init, MPI_Precv_init.
int mlt_part_init(mlt_rank *me, const void *buf, int partitions, MPI_Count count,
                  const mlt_type *type, int peer, int tag, mlt_comm *comm, MPI_Info info,
                  MPI_Request *request, bool sends);
