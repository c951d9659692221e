// SPDX-License-Identifier: BSD-3-Clause
// What we keep in an MPI_Status: the three public fields, and in MPI_internal
//
//     [0..1] bytes received, 64 bits (memcpy: a status is aligned to 4 bytes only)
//     [2]    1 if the operation was cancelled
//     [3..4] unused
//
// MPI_ERROR is written by an empty status, and by calls that complete several operations when one
// of them failed; otherwise it keeps what the user had there, as the standard says.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "p2p/p2p.h"

// status may be MPI_STATUS_IGNORE in all of these.
static inline void mlt_status_set(MPI_Status *status, int source, int tag, uint64_t bytes,
                                  bool cancelled)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    memcpy(status->MPI_internal, &bytes, sizeof bytes);
    status->MPI_internal[2] = cancelled;
}

// Of a null or inactive request.
static inline void mlt_status_set_empty(MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    mlt_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
    status->MPI_ERROR = MPI_SUCCESS;
}

// Of a receive or a probe whose source is MPI_PROC_NULL.
static inline void mlt_status_set_proc_null(MPI_Status *status)
{
    mlt_status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
}

// Of a message that a probe found.
static inline void mlt_status_set_info(MPI_Status *status, const mlt_msg_info *info)
{
    mlt_status_set(status, info->from, info->tag, info->bytes, false);
}

// Of a request that is done. Source and tag mean nothing in the status of a send or of what was
// cancelled.
static inline void mlt_status_set_req(MPI_Status *status, const mlt_req *req)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    if (req->kind == MLT_REQ_SEND || req->cancelled)
        mlt_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, req->cancelled);
    else
        mlt_status_set(status, req->from, req->got_tag, req->got, req->cancelled);
}

static inline uint64_t mlt_status_bytes(const MPI_Status *status)
{
    uint64_t bytes;
    memcpy(&bytes, status->MPI_internal, sizeof bytes);
    return bytes;
}

static inline void mlt_status_set_bytes(MPI_Status *status, uint64_t bytes)
{
    memcpy(status->MPI_internal, &bytes, sizeof bytes);
}
