// SPDX-License-Identifier: BSD-3-Clause
// Datatypes: where the bytes of `count` elements lie. Pure computation. In this first form only the
// predefined types exist, of at most two blocks an element (the value-index pairs).
#ifndef MLT_TYPE_TYPE_H
#define MLT_TYPE_TYPE_H

#include <stdbool.h>
#include <stdint.h>

enum { MLT_TYPE_MAGIC = 0x7e11aced };

typedef struct mlt_type {
    uint32_t magic;  // MLT_TYPE_MAGIC while it lives
    uint16_t code;   // the ABI's handle value if predefined, else 0
    bool contiguous; // element i is the `size` bytes at i * extent, and extent == size
    bool committed;
    uint64_t size;      // bytes of data in an element
    int64_t lb, extent; // lower bound; distance between elements
    uint32_t blocks;    // 1 or 2
    struct {
        uint32_t offset, length;
    } block[2];
    const char *name; // "MPI_INT"
} mlt_type;
_Static_assert(sizeof(mlt_type) == 64, "a handle is looked up in the table below by a shift");

// All predefined types, indexed by handle value & 1023; absent ones have magic 0. Generated from
// spec/datatypes.tsv.
extern const mlt_type mlt_type_predefined[1024] __attribute__((visibility("hidden")));

// Copies `bytes` bytes of the packed form, from byte `from` of it, out of (pack) or into (unpack)
// `count` elements at buf. from + bytes <= count * size. Any cut is allowed, inside an element too.
void mlt_type_pack(const mlt_type *type, const void *buf, uint64_t from, void *to, uint64_t bytes);
void mlt_type_unpack(const mlt_type *type, void *buf, uint64_t from, const void *packed,
                     uint64_t bytes);

#endif
