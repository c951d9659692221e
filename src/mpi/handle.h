// SPDX-License-Identifier: BSD-3-Clause
// Handles become objects. A handle is 0..4095 (predefined, or wrong) or the address of an object of
// ours, which begins a pool's memory and so stays readable after it was freed; its magic is cleared
// then. NULL: a bad handle.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/comm/comm.h"
#include "mpi/self.h"
#include "mpi/type/dtype.h"
#include "os/os.h"
#include "p2p/p2p.h"
#include "type/type.h"

enum { MLT_HANDLE_PREDEFINED = 4096, MLT_MESSAGE_MAGIC = 0x03e55a9e };

// A message between MPI_Mprobe and its receive; from mlt_mpi_worker.messages. The handle is its
// address.
typedef struct mlt_message {
    uint32_t magic; // MLT_MESSAGE_MAGIC while it lives
    mlt_msg_info info;
    mlt_rank *rank;
    mlt_comm *comm;
    mlt_msg *msg;
} mlt_message;

// True if the value may be the address of an object.
static inline bool mlt_handle_is_address(uintptr_t h)
{
    return h >= MLT_HANDLE_PREDEFINED && h % sizeof(void *) == 0;
}

// False: it is an address where no memory is, so that a look at its magic number would end the
// program. A call of the system, for functions that take long anyhow.
static inline bool mlt_handle_is_readable(uintptr_t h)
{
    return !mlt_handle_is_address(h) || mlt_os_is_readable((const void *)h);
}

// The magic of the world is 0 while the rank has only sessions, so no test of ours lets it through.
// NULL also for MPI_COMM_SELF before it was made: this one calls nothing.
static inline mlt_comm *mlt_comm_known(const mlt_rank *me, MPI_Comm handle)
{
    uintptr_t h = (uintptr_t)handle;
    mlt_comm *comm = &mlt_mpi_of(me)->world;
    if (MLT_LIKELY(h == (uintptr_t)MPI_COMM_WORLD))
        return MLT_LIKELY(comm->magic != 0) ? comm : NULL;
    comm = h == (uintptr_t)MPI_COMM_SELF ? mlt_mpi_self_known(me) : (mlt_comm *)h;
    if (h == (uintptr_t)MPI_COMM_SELF ? !comm : !mlt_handle_is_address(h) || comm->owner != me)
        return NULL;
    return MLT_LIKELY(comm->magic == MLT_COMM_MAGIC) ? comm : NULL;
}

static inline mlt_comm *mlt_comm_of(mlt_rank *me, MPI_Comm handle)
{
    if ((uintptr_t)handle == (uintptr_t)MPI_COMM_SELF)
        (void)mlt_comm_self(me);
    return mlt_comm_known(me, handle);
}

// For a handle of which nothing was known: it is MPI_COMM_SELF, and was not made then; another thread
// of the rank may have made it since. The surface makes it and calls again, so that no other call pays
// for that.
static inline bool mlt_comm_lacks_self(const mlt_rank *me, MPI_Comm handle)
{
    const mlt_comm *self = mlt_mpi_self_known(me);
    return (uintptr_t)handle == (uintptr_t)MPI_COMM_SELF && (!self || self->magic != 0) &&
           mlt_mpi_of(me)->world.magic != 0;
}

// The communicator of another rank of the process that a handle stands for; NULL: none.
static inline const mlt_comm *mlt_comm_of_other(const mlt_rank *me, uintptr_t h)
{
    const mlt_comm *comm = (const mlt_comm *)h;
    return mlt_handle_is_address(h) && comm->magic == MLT_COMM_MAGIC && comm->owner != me ? comm
                                                                                          : NULL;
}

// The type is a predefined one, or none: it is committed, and small.
static inline bool mlt_type_is_code(MPI_Datatype handle)
{
    return MLT_LIKELY((uintptr_t)handle < 1024);
}

static inline const mlt_type *mlt_type_of(MPI_Datatype handle)
{
    uintptr_t h = (uintptr_t)handle;
    const mlt_type *type = mlt_type_coded(h);
    if (mlt_type_is_code(handle))
        return MLT_LIKELY(type->magic != 0) ? type : NULL;
    if (!mlt_handle_is_address(h))
        return NULL;
    type = (const mlt_type *)h;
    return MLT_LIKELY(type->magic == MLT_TYPE_MAGIC) ? type : NULL;
}

// The same, and a rank of this worker made it, if it is a derived one.
static inline const mlt_type *mlt_type_mine(const mlt_rank *me, MPI_Datatype handle)
{
    const mlt_type *type = mlt_type_of(handle);
    if (!mlt_type_is_code(handle) && type && mlt_dtype_is_foreign(me, type))
        return NULL;
    return type;
}

// What MPI_DATATYPE_NULL means to a call that moves `count` elements: without any, their type does
// not count. NULL: it is wrong.
static inline const mlt_type *mlt_type_of_none(MPI_Datatype handle, MPI_Count count)
{
    return handle == MPI_DATATYPE_NULL && count == 0 ? MLT_TYPE_BYTE : NULL;
}

// MPI_REQUEST_NULL gives NULL too: ask for it first.
static inline mlt_req *mlt_req_of(MPI_Request handle)
{
    uintptr_t h = (uintptr_t)handle;
    mlt_req *req = (mlt_req *)h;
    return mlt_handle_is_address(h) && req->magic == MLT_REQ_MAGIC ? req : NULL;
}

static inline MPI_Request mlt_req_handle(mlt_req *req)
{
    return (MPI_Request)req;
}

// MPI_X_toint and MPI_X_fromint, MPI_X_c2f and MPI_X_f2c; null: the null handle, for a number that was
// never given.
int mlt_handle_toint(const void *handle);
void *mlt_handle_fromint(int number, void *null);

// MPI_Status_c2f and the like: a status is the same in C and Fortran. name: of the argument `from`.
int mlt_status_copy(mlt_rank *me, void *to, const void *from, const char *name);

// MPI_MESSAGE_NULL and MPI_MESSAGE_NO_PROC give NULL too.
static inline mlt_message *mlt_message_of(MPI_Message handle)
{
    uintptr_t h = (uintptr_t)handle;
    mlt_message *message = (mlt_message *)h;
    return mlt_handle_is_address(h) && message->magic == MLT_MESSAGE_MAGIC ? message : NULL;
}
