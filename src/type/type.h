// SPDX-License-Identifier: BSD-3-Clause
// Datatypes: where the bytes of `count` elements lie. Pure computation.
//
// A type is a handful of numbers and a layout (layout.h), a compact program of blocks, strides and
// nesting: a vector of 10^8 blocks takes a few bytes. Types are immutable except `committed`. The
// predefined ones are a table; derived ones are made by build.h and owned by the MPI layer.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { MLT_TYPE_MAGIC = 0x7e11aced };

struct mlt_layout; // layout.h

// mlt_type.contiguous of a predefined type that is one number: neither MPI_PACKED nor a pair.
enum { MLT_TYPE_EVERYDAY = 3 };

typedef struct mlt_type {
    uint32_t magic;     // MLT_TYPE_MAGIC while it lives
    uint16_t code;      // the ABI's handle value if predefined, else 0
    uint8_t contiguous; // not 0: element i is the `size` bytes at i * extent, and extent == size
    uint8_t committed : 1, bounds : 1, // bounds: lb and extent were set by resizing, and stick
        align : 4,                     // log2 of the strictest alignment of its basic types
        device : 1;                    // a twin, for memory of a device (gpu/gpu.h), which is never
                                       // contiguous
    uint64_t size;                     // bytes of data in an element
    int64_t lb, extent;                // lower bound; distance between elements
    int64_t true_lb, true_extent;      // of the data itself
    const struct mlt_layout *layout;   // NULL: one block of `size` bytes at 0; a counted reference
    const char *name;                  // "MPI_INT"; derived: NULL or the user's
} mlt_type;
_Static_assert(sizeof(mlt_type) == 64, "a handle is looked up in the table below by a shift");

// Element i is the `size` bytes at i * extent, in whatever memory.
static inline bool mlt_type_is_dense(const mlt_type *type)
{
    return type->contiguous ||
           (type->device && !type->layout && (int64_t)type->size == type->extent);
}

// All predefined types, indexed by handle value & 1023; absent ones have magic 0. Generated from
// spec/datatypes.tsv.
extern const mlt_type mlt_type_predefined[1024] __attribute__((visibility("hidden")));

// The predefined type of a code or handle value; magic 0: there is none.
static inline const mlt_type *mlt_type_coded(uintptr_t code)
{
    return &mlt_type_predefined[code % 1024];
}

// The one byte type: MPI_BYTE, also what the library's own messages are made of.
enum { MLT_CODE_BYTE = 0x247, MLT_CODE_PACKED = 0x00000207 };
#define MLT_TYPE_BYTE (&mlt_type_predefined[MLT_CODE_BYTE % 1024])

// The calls below of a twin, or of two types of which one is a twin, are mlt_upcalls' to answer.

// Copies `bytes` bytes of the packed form, from byte `from` of it, out of (pack) or into (unpack)
// the elements at buf. Any cut is allowed, inside an element and inside a basic type too. The
// packed form is the data in the order of the type map. Memory of the packed side and of the
// elements must not overlap. bytes == 0: the addresses may be NULL.
void mlt_type_pack(const mlt_type *type, const void *buf, uint64_t from, void *to, uint64_t bytes);
void mlt_type_unpack(const mlt_type *type, void *buf, uint64_t from, const void *packed,
                     uint64_t bytes);

// Moves `bytes` bytes of the packed form, from byte `at` of it, from elements to elements, each
// byte once and without memory between. They must not overlap.
void mlt_type_move(const mlt_type *to_type, void *to, const mlt_type *from_type, const void *from,
                   uint64_t at, uint64_t bytes);

// Blocks of `length` bytes, `count` of them, `stride` bytes apart; the first lies at `at`, counted
// from where the elements begin.
typedef struct mlt_type_run {
    int64_t at, stride;
    uint64_t length, count;
} mlt_type_run;

// Where `bytes` bytes of the packed form lie, from byte `from` of it. At most *count runs, of which
// *count becomes the number; returns how many bytes they have: at least one, if bytes > 0.
uint64_t mlt_type_runs(const mlt_type *type, uint64_t from, uint64_t bytes, mlt_type_run *runs,
                       uint32_t *count);

// The same if the data are elements of `basic`, which may have gaps (MPI_SHORT_INT): a block of a
// run is an element with its gaps. from and bytes are multiples of basic->size.
uint64_t mlt_type_element_runs(const mlt_type *type, const mlt_type *basic, uint64_t from,
                               uint64_t bytes, mlt_type_run *runs, uint32_t *count);
