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
static uint32_t index_of(const void *handle)
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
    *handle_int_place_of(index) = (void *)(uintptr_t)handle;
    mlt_table_add(&places, hash, index);
    // Pairs with the look of fromint: who sees the count sees the handle and its chunk.
    atomic_store_explicit(&handle_int_count, index + 1, memory_order_release);
    return index;
}

int mlt_handle_toint(const void *handle)
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

void *mlt_handle_fromint(int number, void *null)
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
    return mlt_handle_fromint(number, NULL);
}

int mlt_fortran_number(const void *handle)
{
    return mlt_handle_toint(handle);
}

// ---- statuses: eight INTEGERs in both of Fortran's forms, as in C

_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint) &&
                   sizeof(MPI_F08_status) == sizeof(MPI_Status),
               "a status is the same in C and Fortran");

int mlt_status_copy(mlt_rank *me, void *to, const void *from, const char *name)
{
    if (!from)
        return mlt_bad_null(me, NULL, me->fn, MPI_ERR_ARG, name, "the address of a status");
    memcpy(to, from, sizeof(MPI_Status));
    return MPI_SUCCESS;
}
