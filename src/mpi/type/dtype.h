// SPDX-License-Identifier: BSD-3-Clause
// Derived datatypes as objects: a mlt_type with its owner, its references, how it was made
// (envelope and contents), name and attributes. The handle is the address of `type`.
//
// References: one for all handles that the user has (until MPI_Type_free gives the last one back,
// which clears the magic at once, so that the handle is dead), every type built from it (contents
// need it), every request and message that is under way with it. A type belongs to the worker of
// the rank that made it, and only that worker's thread counts; so ranks of one worker may use each
// other's types, and those of another worker are refused.
//
// Types that the standard calls predefined but unnamed (MPI_Type_create_f90_real and the like,
// MPI_Type_get_value_index) are derived ones that cannot be freed. A worker has each once.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "gpu/gpu.h"
#include "mpi/attr.h"
#include "mpi/comm/comm.h"
#include "p2p/p2p.h"
#include "type/type.h"

struct mlt_mpi_worker; // self.h

enum { MLT_CONTENTS_FEW = 4 };

// What the constructor was given, in the order of MPI_Type_get_contents. Numbers are kept wide.
typedef struct mlt_contents {
    int combiner;
    bool large; // made by a _c function that has counts
    int64_t integer_count, address_count;
    int64_t large_count; // MPI_Counts, which MPI calls large counts
    int64_t type_count;
    int64_t *number;               // integers, then addresses, then counts
    const mlt_type **type;         // held; of Fortran's: the named type, not counted
    int64_t few[MLT_CONTENTS_FEW]; // where they are if they fit: most types need no memory for them
    const mlt_type *one;
} mlt_contents;

typedef struct mlt_dtype {
    mlt_type type; // first: the handle's address
    uint32_t refs;
    uint32_t users;      // handles that the user must free; 0: the magic is cleared
    mlt_rank *owner;     // who made it
    bool permanent;      // unnamed, but predefined
    uint64_t basics;     // basic elements in an element
    uint64_t external32; // bytes of an element in that representation
    mlt_contents contents;
    mlt_attrs attrs;
    struct mlt_dtype *next;      // permanent: of the worker; else for mlt_dtype_destroy
    struct mlt_dtype_twin *twin; // NULL: none has been asked for
} mlt_dtype;

// Its type for memory of a device (gpu/gpu.h), which lives as long.
typedef struct mlt_dtype_twin {
    mlt_type type;
    mlt_dtype *of;
} mlt_dtype_twin;

static inline mlt_dtype *mlt_dtype_of(const mlt_type *type)
{
    return MLT_UNLIKELY(type->device) ? ((mlt_dtype_twin *)(uintptr_t)type)->of
                                      : (mlt_dtype *)(uintptr_t)type;
}

// The type that `count` elements at buf travel with: a twin if they are in memory of a device. For
// the detours of the surface; the type may be NULL, a bad handle.
const mlt_type *mlt_dtype_for_device(const mlt_type *type); // its twin
static inline const mlt_type *mlt_dtype_at(const mlt_type *type, const void *buf, int64_t count)
{
    if (MLT_UNLIKELY(!type || count <= 0 || type->size == 0))
        return type;
    const char *first = (const char *)((uintptr_t)buf + (uintptr_t)type->true_lb);
    return mlt_gpu_owns(first) ? mlt_dtype_for_device(type) : type;
}

// The same if the elements are packed into, or out of, `bytes` bytes at `packed`.
static inline const mlt_type *mlt_dtype_packed_at(const mlt_type *type, const void *packed,
                                                  int64_t bytes)
{
    return type && type->size && bytes > 0 && mlt_gpu_owns(packed) ? mlt_dtype_for_device(type)
                                                                   : type;
}

// The type that a twin is of; any other is its own. NULL: a bad handle.
static inline const mlt_type *mlt_dtype_original(const mlt_type *type)
{
    if (MLT_LIKELY(!type || !type->device))
        return type;
    return type->code ? mlt_type_coded(type->code) : &mlt_dtype_of(type)->type;
}

void mlt_dtype_destroy(mlt_dtype *dtype);

// Predefined types are not counted, but may be given; NULL too.
static inline void mlt_dtype_hold(const mlt_type *type)
{
    if (type && !type->code)
        mlt_dtype_of(type)->refs++;
}

static inline void mlt_dtype_drop(const mlt_type *type)
{
    if (type && !type->code && --mlt_dtype_of(type)->refs == 0)
        mlt_dtype_destroy(mlt_dtype_of(type));
}

// The handle that the user knows it by.
static inline MPI_Datatype mlt_dtype_handle(const mlt_type *type)
{
    return type->code ? (MPI_Datatype)(uintptr_t)type->code
                      : (MPI_Datatype)&mlt_dtype_of(type)->type;
}

// A call under way gives the handle of a type to a function of the user's: makes it valid, even if
// the user has freed it meanwhile. True: the user has, and it must be hidden again.
static inline bool mlt_dtype_show(const mlt_type *type)
{
    mlt_dtype *dtype = mlt_dtype_of(type);
    if (type->code || dtype->type.magic == MLT_TYPE_MAGIC) // nobody frees a predefined one
        return false;
    dtype->type.magic = MLT_TYPE_MAGIC;
    dtype->users++;
    mlt_dtype_hold(type);
    return true;
}

static inline void mlt_dtype_hide(const mlt_type *type)
{
    mlt_dtype *dtype = mlt_dtype_of(type);
    if (--dtype->users > 0)
        return; // MPI_Type_get_contents has given it back to the user
    dtype->type.magic = 0;
    mlt_dtype_drop(type);
}

// True if a rank of another worker made it.
static inline bool mlt_dtype_is_foreign(const mlt_rank *me, const mlt_type *type)
{
    return !type->code && mlt_dtype_of(type)->owner->worker != me->worker;
}

// ---- making

// An object with room for its contents, to be filled in: all numbers, and types, which are held by
// mlt_dtype_set_type. NULL: memory is out. `type` is for the functions of type/build.h.
mlt_dtype *mlt_dtype_new(mlt_rank *me, int combiner, int64_t integers, int64_t addresses,
                         int64_t counts, int64_t types) MLT_MUST_CHECK;

static inline void mlt_dtype_set_type(mlt_dtype *dtype, int64_t i, const mlt_type *type)
{
    mlt_dtype_hold(type);
    dtype->contents.type[i] = type;
}

// Gives up what was never finished; its `type` has not been made.
void mlt_dtype_discard(mlt_dtype *dtype);

// The end of every constructor. MLT_OK: `type` was made, the handle goes to *newtype. Otherwise
// discards it and raises the error. Returns an MPI code.
int mlt_dtype_finish(mlt_rank *me, mlt_dtype *dtype, mlt_status status, MPI_Datatype *newtype);

int mlt_dtype_no_memory(mlt_rank *me) MLT_COLD;

// Constructors whose functions differ in what their arrays are made of: ints; ints and, of displacements,
// MPI_Aints; MPI_Counts. lengths: of all blocks, or of the combiners with _BLOCK the address of the one.
typedef enum mlt_dtype_numbers {
    MLT_DTYPE_INTS,
    MLT_DTYPE_ADDRESSES,
    MLT_DTYPE_COUNTS
} mlt_dtype_numbers;
int mlt_dtype_make_indexed(mlt_rank *me, int combiner, mlt_dtype_numbers kind, int64_t count,
                           const void *lengths, const void *displacements, const mlt_type *oldtype,
                           MPI_Datatype *newtype);
int mlt_dtype_make_struct(mlt_rank *me, mlt_dtype_numbers kind, int64_t count, const void *lengths,
                          const void *displacements, const MPI_Datatype *handles,
                          MPI_Datatype *newtype);
int mlt_dtype_make_subarray(mlt_rank *me, bool large, int ndims, const void *sizes,
                            const void *subsizes, const void *starts, int order,
                            const mlt_type *oldtype, MPI_Datatype *newtype);

// MPI_Type_create_darray's arguments.
typedef struct mlt_dtype_darray {
    int size, rank, ndims;
    const void *gsizes; // int, or MPI_Count if it is large
    const int *distribs, *dargs, *psizes;
    int order;
    bool large;
} mlt_dtype_darray;
int mlt_dtype_make_darray(mlt_rank *me, const mlt_dtype_darray *a, const mlt_type *oldtype,
                          MPI_Datatype *newtype);

// MPI_Type_create_f90_real and _complex.
int mlt_dtype_make_f90(mlt_rank *me, int p, int r, bool complex, MPI_Datatype *newtype);

// The worker's permanent type with this combiner and contents, if there is one.
mlt_dtype *mlt_dtype_find_permanent(mlt_rank *me, int combiner, int64_t first, int64_t second,
                                    const mlt_type *value, const mlt_type *index);

// mlt_dtype_finish for a permanent type: committed, and never freed.
int mlt_dtype_finish_permanent(mlt_rank *me, mlt_dtype *dtype, mlt_status status,
                               MPI_Datatype *newtype);

// ---- asking

static inline bool mlt_type_is_pair(const mlt_type *type)
{
    uintptr_t first = (uintptr_t)MPI_FLOAT_INT, last = (uintptr_t)MPI_2INTEGER;
    return type->code >= first && type->code <= last;
}

// What all data of a type are made of, as code of a named type: of a pair of two equal ones, or of
// a derived type, that one. 0: it has several, or MPI_PACKED, which fits everything.
// What a predefined pair is made of.
void mlt_dtype_pair(uint16_t code, const mlt_type *two[2]);
uint16_t mlt_type_kind_of(const mlt_type *type) MLT_COLD;
static inline bool mlt_type_is_basic(const mlt_type *type)
{
    return type->code && type->code != (uintptr_t)MPI_PACKED && !mlt_type_is_pair(type);
}
static inline uint16_t mlt_type_kind(const mlt_type *type)
{
    return MLT_LIKELY(mlt_type_is_basic(type)) ? type->code : mlt_type_kind_of(type);
}

// Basic elements in one element; a pair of value and index has two.
static inline uint64_t mlt_type_basics(const mlt_type *type)
{
    return type->code ? 1u + mlt_type_is_pair(type) : mlt_dtype_of(type)->basics;
}

// The attributes of a type. Those of predefined types, named or not, belong to the calling rank; if
// it has none of this type, NULL, or with `make` an empty list.
// Its handle, which the user must free unless it is predefined.
MPI_Datatype mlt_dtype_give(const mlt_type *type);

mlt_attrs *mlt_dtype_attrs(mlt_rank *me, const mlt_type *type, bool make);

// Raises the error of a handle that is no datatype, or is another worker's.
int mlt_bad_type(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name,
                 MPI_Datatype handle) MLT_COLD;

// Once, before the first rank runs. If the hosts of the job have different formats of long double,
// which mpirun tells by MILLET_MIXED, its types are none from now on: mlt_bad_type says why.
void mlt_dtype_disable_long_double(void);

// "; it may be ...", which tells of such a job, for a message about a handle that is not known any
// more; else "".
const char *mlt_dtype_long_double_hint(void) MLT_COLD;

// The end of a worker: forgets what its ranks have noted about predefined types.
void mlt_dtype_worker_fini(struct mlt_mpi_worker *worker, uint32_t ranks);
