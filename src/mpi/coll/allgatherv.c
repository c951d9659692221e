// SPDX-License-Identifier: BSD-3-Clause
// MPI_Allgatherv: blocks that differ, and everybody knows all of them.
#include "mpi/coll/coll.h"
#include "mpi/coll/inter.h"
#include "mpi/coll/list.h"
#include "mpi/error/error.h"
#include "mpi_bodies.h"

// What the counts and displacements amount to.
typedef struct allgatherv_view {
    bool even;     // all blocks have as many bytes
    bool row;      // they lie one after the other, the first at
    int64_t first; // so many elements from the buffer
} allgatherv_view;

// Fills in starts [ranks + 1], in bytes.
static int allgatherv_look(mlt_rank *me, mlt_comm *comm, const mlt_coll_list *recv,
                           uint64_t *starts, allgatherv_view *v)
{
    const mlt_type *type = recv->type;
    bool some = false;
    uint64_t elements = 0;
    *v = (allgatherv_view){.even = true, .row = true};
    for (uint64_t b = 0, at = 0; b < (uint64_t)comm->size; b++) {
        int64_t count = mlt_coll_number(recv->counts, b), bytes, all;
        if (MLT_UNLIKELY(count < 0))
            return mlt_coll_bad_element(me, comm, MPI_ERR_COUNT, "recvcounts", b, count,
                                        "at least 0");
        if (MLT_UNLIKELY(__builtin_mul_overflow(count, (int64_t)type->size, &bytes) ||
                         __builtin_add_overflow((int64_t)at, bytes, &all)))
            return mlt_coll_bad_total(me, comm);
        starts[b] = at;
        at = starts[b + 1] = (uint64_t)all;
        v->even = v->even && (uint64_t)bytes == starts[1];
        if (!bytes)
            continue;
        // Where the first of all elements would lie, if this is a row.
        int64_t first = (int64_t)((uint64_t)mlt_coll_number(recv->displs, b) - elements);
        if (!some)
            v->first = first;
        v->row = v->row && v->first == first;
        some = true;
        elements += (uint64_t)count;
    }
    if (MLT_UNLIKELY(some && !recv->buf) && mlt_coll_needs_address(type))
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_BUFFER, "recvbuf", "where the data lies");
    return MPI_SUCCESS;
}

// A row of contiguous elements needs no lists; else they go after the starts.
static mlt_coll_side allgatherv_side_of(const mlt_comm *comm, const mlt_coll_list *recv,
                                        const allgatherv_view *v, const uint64_t *starts,
                                        uint64_t *room)
{
    uint64_t ranks = (uint64_t)comm->size;
    mlt_coll_side side = {.buf = (void *)(uintptr_t)recv->buf, .type = recv->type};
    if (v->row && recv->type->contiguous) {
        side.buf =
            (void *)((uintptr_t)recv->buf + (uintptr_t)v->first * (uintptr_t)recv->type->extent);
        side.blocks = 1;
        side.count = recv->type->size ? starts[ranks] / recv->type->size : 0;
        return side;
    }
    uint64_t *counts = room;
    int64_t *displs = (int64_t *)(counts + ranks);
    for (uint64_t b = 0; b < ranks; b++) {
        counts[b] = (uint64_t)mlt_coll_number(recv->counts, b);
        displs[b] = mlt_coll_number(recv->displs, b);
    }
    side.blocks = ranks;
    side.counts = counts;
    side.displs = displs;
    return side;
}

static int allgatherv_check(mlt_rank *me, mlt_comm *comm, const mlt_coll_data *send,
                            const mlt_coll_list *recv)
{
    if (MLT_UNLIKELY(!recv->counts.at))
        return mlt_coll_bad_array(me, comm, "recvcounts");
    if (MLT_UNLIKELY(!recv->displs.at))
        return mlt_coll_bad_array(me, comm, "displs");
    int code = mlt_coll_check_data(me, comm, &(mlt_coll_data){"recv", recv->buf, 0, recv->type});
    if (code == MPI_SUCCESS && !mlt_coll_in_place(send->buf))
        code = mlt_coll_check_data(me, comm, send);
    return code;
}

// The rest, with memory that goes with the job.
static int allgatherv_go(mlt_rank *me, mlt_comm *comm, const mlt_coll_data *send,
                         const mlt_coll_list *recv, uint64_t *memory, const mlt_how *how)
{
    bool in_place = mlt_coll_in_place(send->buf);
    allgatherv_view v;
    int code = allgatherv_look(me, comm, recv, memory, &v);
    if (code == MPI_SUCCESS && !in_place) {
        uint64_t own = memory[comm->rank + 1] - memory[comm->rank];
        uint64_t sent = mlt_coll_data_bytes(send);
        if (MLT_UNLIKELY(sent != own))
            code = mlt_coll_bad_sizes(me, comm, sent, own);
    }
    if (MLT_UNLIKELY(code != MPI_SUCCESS)) {
        mlt_coll_memory_give(me, memory);
        return code;
    }
    mlt_coll_what what = {
        .collective = MLT_COLL_ALLGATHER,
        .in_place = in_place,
        .kind = mlt_type_kind(recv->type),
        .kind_sent = mlt_type_kind(recv->type),
        .element = 1,
        .count = v.even ? memory[1] : 0,
        .starts = v.even ? NULL : memory,
    };
    mlt_coll_side out = allgatherv_side_of(comm, recv, &v, memory, memory + comm->size + 1);
    if (mlt_coll_is_quick(me, comm, how) && !out.displs && (in_place || send->type->contiguous)) {
        code = mlt_coll_quick(me, comm, &what, in_place ? NULL : send->buf, out.buf);
        mlt_coll_memory_give(me, memory);
        return code;
    }
    mlt_coll_job job = {
        .comm = comm,
        .what = what,
        .out = out,
        .reads_out = in_place,
        .writes_out = true,
        .memory = memory,
    };
    if (!in_place)
        job.in = mlt_coll_data_side(send, 1);
    return mlt_coll_go(me, &job, how);
}

int mlt_mpi_Allgatherv(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                       const mlt_type *sendtype, void *recvbuf, mlt_coll_numbers recvcounts,
                       mlt_coll_numbers displs, const mlt_type *recvtype, mlt_comm *comm,
                       const mlt_how *how)
{
    mlt_coll_list *recv = MLT_COLL_LIST("recv", recvbuf, recvcounts, "displs", displs, recvtype);
    if (MLT_UNLIKELY(comm->inter)) {
        mlt_coll_list *send = MLT_COLL_LIST_ALIKE("send", sendbuf, sendcount, sendtype);
        send->same = true;
        send->blocks = recv->blocks = (uint32_t)comm->peers;
        return mlt_coll_exchange(me, comm, send, recv, mlt_inter_peer, MPI_ROOT, MLT_FORM_ALLGATHER,
                                 how);
    }
    mlt_coll_data send = MLT_COLL_DATA(send);
    int code = allgatherv_check(me, comm, &send, recv);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    uint64_t words = 3 * (uint64_t)comm->size + 1; // starts, counts, displacements
    return allgatherv_go(me, comm, &send, recv, mlt_coll_memory_take(me, words * sizeof(uint64_t)),
                         how);
}
