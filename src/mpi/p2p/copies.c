// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/p2p/copies.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "mpi/coll/coll.h"
#include "mpi/fortran.h"
#include "mpi/p2p/partition.h"
#include "mpi/p2p/request.h"

// Partitions are asked for by several threads, each perhaps by two.
static pthread_mutex_t copies_lock = PTHREAD_MUTEX_INITIALIZER;

// Where a request has the first of its copies.
static mlt_fortran_copy **copies_place_of(const mlt_req *req)
{
    mlt_assert(req->flags & (MLT_REQF_COLL | MLT_REQF_PART));
    return req->flags & MLT_REQF_COLL ? mlt_coll_request_copies(req) : mlt_part_copies(req);
}

static uint32_t copies_parts_of(const mlt_fortran_copy *copy)
{
    return copy->part ? (uint32_t)(copy->bytes / copy->part) : 0;
}

static void copies_end(mlt_fortran_copy *copy)
{
    uint32_t parts = copies_parts_of(copy);
    if (copy->out && !copy->is_back && !parts)
        copy->move(copy, 0, copy->bytes, true);
    for (uint32_t i = 0; copy->out && !copy->is_back && i < parts; i++)
        if (!copy->parts_back[i])
            copy->move(copy, i * copy->part, copy->part, true);
    copy->is_back = true;
}

static void copies_drop(mlt_fortran_copy *copy)
{
    free(copy->parts_back);
    copy->free(copy);
}

void mlt_fortran_keep(MPI_Request request, mlt_fortran_copy *copy)
{
    copy->parts_back = copy->part ? mlt_xcalloc(copies_parts_of(copy), sizeof(bool)) : NULL;
    mlt_req *req = request == MPI_REQUEST_NULL ? NULL : mlt_req_of(request);
    if (!req || (req->flags & MLT_REQF_SHARED)) { // it is done already
        copies_end(copy);
        copies_drop(copy);
        return;
    }
    copy->next = req->flags & MLT_REQF_COPIES ? *copies_place_of(req) : NULL;
    copy->is_back = false;
    *copies_place_of(req) = copy;
    req->flags |= MLT_REQF_COPIES;
}

void mlt_copies_start(mlt_req *req)
{
    for (mlt_fortran_copy *copy = *copies_place_of(req); copy; copy = copy->next) {
        copy->is_back = false;
        if (copy->parts_back)
            memset(copy->parts_back, 0, copies_parts_of(copy));
        if (!copy->part || copy->out)
            copy->move(copy, 0, copy->bytes, false);
    }
}

void mlt_copies_end(mlt_req *req)
{
    for (mlt_fortran_copy *copy = *copies_place_of(req); copy; copy = copy->next)
        copies_end(copy);
}

void mlt_copies_free(mlt_req *req)
{
    mlt_fortran_copy *next, *copy = *copies_place_of(req);
    for (; copy; copy = next) {
        next = copy->next;
        copies_drop(copy);
    }
    req->flags &= ~(uint32_t)MLT_REQF_COPIES;
}

void mlt_copies_ready(mlt_req *req, uint32_t low, uint32_t high)
{
    mlt_fortran_copy *copy = *copies_place_of(req);
    copy->move(copy, low * copy->part, (int64_t)(high - low + 1) * copy->part, false);
}

void mlt_copies_arrived(mlt_req *req, uint32_t partition)
{
    mlt_fortran_copy *copy = *copies_place_of(req);
    pthread_mutex_lock(&copies_lock);
    if (!copy->parts_back[partition])
        copy->move(copy, partition * copy->part, copy->part, true);
    copy->parts_back[partition] = true;
    pthread_mutex_unlock(&copies_lock);
}
