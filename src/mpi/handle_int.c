// SPDX-License-Identifier: BSD-3-Clause
// Handles as integers: MPI_X_toint and MPI_X_fromint, and on top of them MPI_X_c2f and MPI_X_f2c.
//
// A predefined handle is its own number. Any other is the address of an object, which gets a number
// from FIRST on when it is first asked for, and keeps it: the table only grows, by as many entries
// as there are different addresses. A number that was never given gives the null handle.
//
// Fortran's programs come here at every call, so both ways are quick: from a number without the
// lock, and to a number by a small cache, whose entries never become wrong.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/table.h"
#include "mpi/error/error.h"
#include "mpi/fortran.h"
#include "mpi/handle.h"
#include "mpi_bodies.h"

enum {
    HANDLE_INT_FIRST = MLT_HANDLE_PREDEFINED,
    HANDLE_INT_FIRST_CHUNK = 256,
    HANDLE_INT_CHUNKS = 22,
    HANDLE_INT_MOST = INT32_MAX / 2,
    CACHED = 1024,
};

static pthread_mutex_t handle_int_lock = PTHREAD_MUTEX_INITIALIZER;
static mlt_table places;                  // indices, by address; under the lock
static void **chunks[HANDLE_INT_CHUNKS];  // chunk c has FIRST_CHUNK << c handles; they never move
static _Atomic uint32_t handle_int_count; // of handles that have a number; written under the lock

static _Atomic uint32_t cache[CACHED]; // by a hash of the handle: its index + 1; 0: none yet

// Where the handle of an index is.
static void **handle_int_place_of(uint32_t index)
{
    uint32_t c = 31 - (uint32_t)__builtin_clz(index / HANDLE_INT_FIRST_CHUNK + 1);
    return &chunks[c][index - HANDLE_INT_FIRST_CHUNK * ((1u << c) - 1)];
}

// The index of a handle, which gets one if it has none yet. Under the lock.
static uint32_t index_of(void *handle)
{
    uint32_t hash = mlt_hash_word((uintptr_t)handle);
    for (mlt_table_look look = mlt_table_look_for(&places, hash); mlt_table_next(&look);)
        if (*handle_int_place_of((uint32_t)look.word) == handle)
            return (uint32_t)look.word;
    uint32_t index = atomic_load_explicit(&handle_int_count, memory_order_relaxed);
    uint32_t c = 31 - (uint32_t)__builtin_clz(index / HANDLE_INT_FIRST_CHUNK + 1);
    if (index > HANDLE_INT_MOST)
        mlt_no_room("more than %u handles as integers", index);
    if (!chunks[c] && !(chunks[c] = calloc((size_t)HANDLE_INT_FIRST_CHUNK << c, sizeof(void *))))
        mlt_no_room("%u handles as integers", HANDLE_INT_FIRST_CHUNK << c);
    *handle_int_place_of(index) = handle;
    mlt_table_add(&places, hash, index);
    // Pairs with the look of fromint: who sees the count sees the handle and its chunk.
    atomic_store_explicit(&handle_int_count, index + 1, memory_order_release);
    return index;
}

static int toint(void *handle)
{
    if ((uintptr_t)handle < HANDLE_INT_FIRST)
        return (int)(uintptr_t)handle;
    uint64_t mixed = (uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15);
    _Atomic uint32_t *slot = &cache[(uint32_t)(mixed >> 32) % CACHED];
    // Pairs with the store below: who sees the index sees what lies there, which never changes.
    uint32_t index = atomic_load_explicit(slot, memory_order_acquire);
    if (MLT_LIKELY(index && *handle_int_place_of(index - 1) == handle))
        return HANDLE_INT_FIRST + (int)(index - 1);
    pthread_mutex_lock(&handle_int_lock);
    index = index_of(handle);
    pthread_mutex_unlock(&handle_int_lock);
    atomic_store_explicit(slot, index + 1, memory_order_release);
    return HANDLE_INT_FIRST + (int)index;
}

static void *fromint(int number, void *null)
{
    uint32_t index = (uint32_t)number - HANDLE_INT_FIRST;
    if (number >= 0 && number < HANDLE_INT_FIRST)
        return (void *)(uintptr_t)number;
    if (number < 0 || index >= atomic_load_explicit(&handle_int_count, memory_order_acquire))
        return null;
    return *handle_int_place_of(index);
}

void *mlt_fortran_handle(int number)
{
    return fromint(number, NULL);
}

int mlt_fortran_number(const void *handle)
{
    return toint((void *)(uintptr_t)handle);
}

// ---- to and from int

int mlt_mpi_Comm_toint(MPI_Comm comm)
{
    return toint(comm);
}

MPI_Comm mlt_mpi_Comm_fromint(int comm)
{
    return fromint(comm, MPI_COMM_NULL);
}

int mlt_mpi_Errhandler_toint(MPI_Errhandler errhandler)
{
    return toint(errhandler);
}

MPI_Errhandler mlt_mpi_Errhandler_fromint(int errhandler)
{
    return fromint(errhandler, MPI_ERRHANDLER_NULL);
}

int mlt_mpi_File_toint(MPI_File file)
{
    return toint(file);
}

MPI_File mlt_mpi_File_fromint(int file)
{
    return fromint(file, MPI_FILE_NULL);
}

int mlt_mpi_Group_toint(MPI_Group group)
{
    return toint(group);
}

MPI_Group mlt_mpi_Group_fromint(int group)
{
    return fromint(group, MPI_GROUP_NULL);
}

int mlt_mpi_Info_toint(MPI_Info info)
{
    return toint(info);
}

MPI_Info mlt_mpi_Info_fromint(int info)
{
    return fromint(info, MPI_INFO_NULL);
}

int mlt_mpi_Message_toint(MPI_Message message)
{
    return toint(message);
}

MPI_Message mlt_mpi_Message_fromint(int message)
{
    return fromint(message, MPI_MESSAGE_NULL);
}

int mlt_mpi_Op_toint(MPI_Op op)
{
    return toint(op);
}

MPI_Op mlt_mpi_Op_fromint(int op)
{
    return fromint(op, MPI_OP_NULL);
}

int mlt_mpi_Request_toint(MPI_Request request)
{
    return toint(request);
}

MPI_Request mlt_mpi_Request_fromint(int request)
{
    return fromint(request, MPI_REQUEST_NULL);
}

int mlt_mpi_Session_toint(MPI_Session session)
{
    return toint(session);
}

MPI_Session mlt_mpi_Session_fromint(int session)
{
    return fromint(session, MPI_SESSION_NULL);
}

int mlt_mpi_Type_toint(MPI_Datatype datatype)
{
    return toint(datatype);
}

MPI_Datatype mlt_mpi_Type_fromint(int datatype)
{
    return fromint(datatype, MPI_DATATYPE_NULL);
}

int mlt_mpi_Win_toint(MPI_Win win)
{
    return toint(win);
}

MPI_Win mlt_mpi_Win_fromint(int win)
{
    return fromint(win, MPI_WIN_NULL);
}

// ---- to and from Fortran's default INTEGER, which is an int

MPI_Fint mlt_mpi_Comm_c2f(MPI_Comm comm)
{
    return toint(comm);
}

MPI_Comm mlt_mpi_Comm_f2c(MPI_Fint comm)
{
    return fromint(comm, MPI_COMM_NULL);
}

MPI_Fint mlt_mpi_Errhandler_c2f(MPI_Errhandler errhandler)
{
    return toint(errhandler);
}

MPI_Errhandler mlt_mpi_Errhandler_f2c(MPI_Fint errhandler)
{
    return fromint(errhandler, MPI_ERRHANDLER_NULL);
}

MPI_Fint mlt_mpi_File_c2f(MPI_File file)
{
    return toint(file);
}

MPI_File mlt_mpi_File_f2c(MPI_Fint file)
{
    return fromint(file, MPI_FILE_NULL);
}

MPI_Fint mlt_mpi_Group_c2f(MPI_Group group)
{
    return toint(group);
}

MPI_Group mlt_mpi_Group_f2c(MPI_Fint group)
{
    return fromint(group, MPI_GROUP_NULL);
}

MPI_Fint mlt_mpi_Info_c2f(MPI_Info info)
{
    return toint(info);
}

MPI_Info mlt_mpi_Info_f2c(MPI_Fint info)
{
    return fromint(info, MPI_INFO_NULL);
}

MPI_Fint mlt_mpi_Message_c2f(MPI_Message message)
{
    return toint(message);
}

MPI_Message mlt_mpi_Message_f2c(MPI_Fint message)
{
    return fromint(message, MPI_MESSAGE_NULL);
}

MPI_Fint mlt_mpi_Op_c2f(MPI_Op op)
{
    return toint(op);
}

MPI_Op mlt_mpi_Op_f2c(MPI_Fint op)
{
    return fromint(op, MPI_OP_NULL);
}

MPI_Fint mlt_mpi_Request_c2f(MPI_Request request)
{
    return toint(request);
}

MPI_Request mlt_mpi_Request_f2c(MPI_Fint request)
{
    return fromint(request, MPI_REQUEST_NULL);
}

MPI_Fint mlt_mpi_Session_c2f(MPI_Session session)
{
    return toint(session);
}

MPI_Session mlt_mpi_Session_f2c(MPI_Fint session)
{
    return fromint(session, MPI_SESSION_NULL);
}

MPI_Fint mlt_mpi_Type_c2f(MPI_Datatype datatype)
{
    return toint(datatype);
}

MPI_Datatype mlt_mpi_Type_f2c(MPI_Fint datatype)
{
    return fromint(datatype, MPI_DATATYPE_NULL);
}

MPI_Fint mlt_mpi_Win_c2f(MPI_Win win)
{
    return toint(win);
}

MPI_Win mlt_mpi_Win_f2c(MPI_Fint win)
{
    return fromint(win, MPI_WIN_NULL);
}

// ---- statuses: eight INTEGERs in both of Fortran's forms, as in C

_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint) &&
                   sizeof(MPI_F08_status) == sizeof(MPI_Status),
               "a status is the same in C and Fortran");

static int handle_int_copy(mlt_rank *me, void *to, const void *from, const char *from_name)
{
    if (!from)
        return mlt_bad_null(me, NULL, me->fn, MPI_ERR_ARG, from_name, "the address of a status");
    memcpy(to, from, sizeof(MPI_Status));
    return MPI_SUCCESS;
}

int mlt_mpi_Status_c2f(mlt_rank *me, const MPI_Status *c_status, MPI_Fint *f_status)
{
    return handle_int_copy(me, f_status, c_status, "c_status");
}

int mlt_mpi_Status_f2c(mlt_rank *me, const MPI_Fint *f_status, MPI_Status *c_status)
{
    return handle_int_copy(me, c_status, f_status, "f_status");
}

int mlt_mpi_Status_c2f08(mlt_rank *me, const MPI_Status *c_status, MPI_F08_status *f08_status)
{
    return handle_int_copy(me, f08_status, c_status, "c_status");
}

int mlt_mpi_Status_f082c(mlt_rank *me, const MPI_F08_status *f08_status, MPI_Status *c_status)
{
    return handle_int_copy(me, c_status, f08_status, "f08_status");
}

int mlt_mpi_Status_f2f08(mlt_rank *me, const MPI_Fint *f_status, MPI_F08_status *f08_status)
{
    return handle_int_copy(me, f08_status, f_status, "f_status");
}

int mlt_mpi_Status_f082f(mlt_rank *me, const MPI_F08_status *f08_status, MPI_Fint *f_status)
{
    return handle_int_copy(me, f_status, f08_status, "f08_status");
}
