// SPDX-License-Identifier: BSD-3-Clause
// What the functions behind Fortran's interfaces share: arguments of Fortran become those of C.
//
// Each file of calls, generated or written by hand, is compiled twice. F(send_) is the symbol that a
// Fortran compiler gives MPI_Send, and C(Send) the C function that it calls: the second time both
// are PMPI's. So a tool that replaces MPI_Send sees Fortran's calls as well.
//
// Every argument is an address; ierror is NULL where mpi_f08's optional argument is absent. Lengths
// of strings follow behind all arguments, by value. An INTEGER is an int, a LOGICAL an int that is 0
// or 1, and a status has the same eight words in both languages.
#pragma once

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fortran/names.h"
#include "fortran/section.h"
#include "mpi/fortran.h"

#ifdef MLT_F_PROFILING
#define F(name) p##mpi_##name
#define C(name) PMPI_##name
#else
#define F(name) mpi_##name
#define C(name) MPI_##name
#endif

// A function whose usual way knows all handles and has no sections with gaps leaves the rest to S(send_).
#define S(name)       slow_##name
#define MLT_F_SLOW    __attribute__((noinline, cold))
#define MLT_F_RARE(x) __builtin_expect(x, 0)

#define MLT_F_STRING(x) #x
#define MLT_F_QUOTED(x) MLT_F_STRING(x)
// Another symbol for a function of the same file.
#define MLT_F_ALIAS(name, of)                                                                      \
    extern __attribute__((alias(MLT_F_QUOTED(F(of))))) __typeof__(F(of)) F(name)

enum {
    MLT_F_FEW = 16,   // handles that an array on the stack takes
    MLT_F_TEXT = 128, // and bytes of a string
    MLT_F_PREDEFINED = 4096,
    MLT_F_KNOWN = 1024, // handles that are remembered, and hashes of them
    MLT_F_HASHES = 512,
};

static inline void mlt_f_error(MPI_Fint *ierror, int code)
{
    if (ierror)
        *ierror = code;
}

// Relaxed: only a message that this very call words depends on it. Threads of a rank that call at the
// same time may spoil each other's brackets, no more.
static inline void mlt_f_arrays(_Atomic bool *arrays, bool fortran)
{
    atomic_store_explicit(arrays, fortran, memory_order_relaxed);
}

// ---- handles. A predefined one is its own number.

// The others keep their numbers for ever (src/mpi/handle_int.c), so what is remembered here is never
// wrong: the handles of the first numbers, and for each hash a handle with its number in one word.
// Relaxed: they are only names; what they name comes to a thread by other ways.
#pragma GCC visibility push(hidden)
extern void *_Atomic mlt_f_known_handles[MLT_F_KNOWN];
extern _Atomic uint64_t mlt_f_known_numbers[MLT_F_HASHES]; // the handle, and above it the index
#pragma GCC visibility pop
void *mlt_f_learn_handle(MPI_Fint number);
MPI_Fint mlt_f_learn_number(const void *handle);

static inline uint32_t mlt_f_hash(const void *handle)
{
    uintptr_t at = (uintptr_t)handle;
    return (uint32_t)(at >> 4 ^ at >> 11) % MLT_F_HASHES;
}

// NULL: it is not remembered, or is no handle.
static inline void *mlt_f_find(MPI_Fint number)
{
    if ((uint32_t)number < MLT_F_PREDEFINED)
        return (void *)(uintptr_t)number;
    uint32_t index = (uint32_t)number - MLT_F_PREDEFINED;
    return index < MLT_F_KNOWN
               ? atomic_load_explicit(&mlt_f_known_handles[index], memory_order_relaxed)
               : NULL;
}

static inline void *mlt_f_handle(MPI_Fint number)
{
    void *handle = mlt_f_find(number);
    return handle || number == 0 ? handle : mlt_f_learn_handle(number);
}

static inline MPI_Fint mlt_f_number(const void *handle)
{
    if ((uintptr_t)handle < MLT_F_PREDEFINED)
        return (MPI_Fint)(uintptr_t)handle;
    uint64_t known =
        atomic_load_explicit(&mlt_f_known_numbers[mlt_f_hash(handle)], memory_order_relaxed);
    if (known << 16 == (uint64_t)(uintptr_t)handle << 16 && (uintptr_t)handle >> 48 == 0)
        return (MPI_Fint)(known >> 48) + MLT_F_PREDEFINED;
    return mlt_f_learn_number(handle);
}

#define MLT_F_KIND(type, name)                                                                     \
    static inline type mlt_f_##name(MPI_Fint number)                                               \
    {                                                                                              \
        return (type)mlt_f_handle(number);                                                         \
    }
MLT_F_KINDS(MLT_F_KIND)
#undef MLT_F_KIND

// The handles of n numbers (NULL: nulls): in `few`, if there is room, or allocated.
// mlt_f_handles_end frees them. n < 1: none.
void **mlt_f_room_for_handles(int64_t n);
void mlt_f_free_handles(void **handles);

static inline void **mlt_f_handles(void **few, const MPI_Fint *numbers, int64_t n)
{
    void **handles = __builtin_expect(n <= MLT_F_FEW, 1) ? few : mlt_f_room_for_handles(n);
    for (int64_t i = 0; i < n; i++)
        handles[i] = numbers ? mlt_f_handle(numbers[i]) : NULL;
    return handles;
}

static inline void mlt_f_handles_end(void **few, void **handles)
{
    if (__builtin_expect(handles != few, 0))
        mlt_f_free_handles(handles);
}

// The numbers of n handles; one that C's function has not written stays.
static inline void mlt_f_numbers(MPI_Fint *numbers, void *const *handles, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (handles[i])
            numbers[i] = mlt_f_number(handles[i]);
}

// How many datatypes MPI_Alltoallw and the like take: one for each rank, or each neighbour.
typedef enum mlt_f_peers_kind { MLT_F_RANKS, MLT_F_NEIGHBORS } mlt_f_peers_kind;
typedef enum mlt_f_peers_side { MLT_F_OUT, MLT_F_IN } mlt_f_peers_side;
int mlt_f_peers(MPI_Comm comm, mlt_f_peers_kind kind, mlt_f_peers_side side);

// ---- arguments that stand for something else by their address

// A buffer. C's function says what is wrong with MPI_IN_PLACE where the call is not collective.
static inline void *mlt_f_address(const void *address)
{
    return __builtin_expect(address == &mlt_f_bottom_, 0)     ? MPI_BOTTOM
           : __builtin_expect(address == &mlt_f_in_place_, 0) ? MPI_IN_PLACE
                                                              : (void *)(uintptr_t)address;
}

// A buffer to attach.
static inline void *mlt_f_address_room(const void *address)
{
    return address == &mlt_f_buffer_automatic_ ? MPI_BUFFER_AUTOMATIC : (void *)(uintptr_t)address;
}

static inline MPI_Status *mlt_f_status(MPI_Fint *status)
{
    return status == mlt_f08_status_ignore_ || status == mlt_f_status_ignore_
               ? MPI_STATUS_IGNORE
               : (MPI_Status *)status;
}

static inline MPI_Status *mlt_f_statuses(MPI_Fint *statuses)
{
    return statuses == mlt_f08_statuses_ignore_ || statuses == mlt_f_statuses_ignore_
               ? MPI_STATUSES_IGNORE
               : (MPI_Status *)statuses;
}

static inline int *mlt_f_weights(const int *weights)
{
    return weights == &mlt_f_unweighted_      ? MPI_UNWEIGHTED
           : weights == &mlt_f_weights_empty_ ? MPI_WEIGHTS_EMPTY
                                              : (int *)(uintptr_t)weights;
}

static inline int *mlt_f_errcodes(int *codes)
{
    return codes == &mlt_f_errcodes_ignore_ ? MPI_ERRCODES_IGNORE : codes;
}

// An index, which Fortran counts from 1.
static inline void mlt_f_count_from_one(int *index)
{
    if (*index != MPI_UNDEFINED)
        ++*index;
}

// ---- strings

// A copy that ends as C's do, without the blanks at the end (trimmed: nor those at the beginning);
// in `few`, if there is room. mlt_f_text_end frees it.
char *mlt_f_text(char *few, const char *text, size_t length);
char *mlt_f_text_trimmed(char *few, const char *text, size_t length);
void mlt_f_text_end(char *few, char *text);

// C's string to Fortran: cut or padded with blanks.
void mlt_f_text_out(char *to, size_t length, const char *text);

// ---- sections of arrays

// Whether a buffer is the section that MPI_IN_PLACE stands for; for either kind of argument.
#define mlt_f_in_place(buffer)                                                                     \
    _Generic((buffer), const mlt_f_section *                                                       \
             : ((const mlt_f_section *)(buffer))->base, default                                    \
             : (const void *)(buffer)) == (const void *)&mlt_f_in_place_

static inline mlt_f_part mlt_f_whole(const mlt_f_section *s, MPI_Count count, MPI_Datatype type)
{
    return (mlt_f_part){.address = mlt_f_address(s->base), .count = count, .type = type};
}
