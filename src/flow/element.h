// SPDX-License-Identifier: BSD-3-Clause
// An element of a queue: a payload with its header in front, so that modules hold plain pointers to
// their data and the library finds the rest.
//
//     | header (48 bytes) | data ...
//     ^ element           ^ what flow_dequeue gave
//
// Small ones come from the worker's pool; from MLT_FLOW_SMALL bytes on they are malloc'ed, aligned
// to 64 bytes, and may be freed by another worker of the same process, so between these only the
// pointer travels.
//
// refs: receivers of this process and worker that share it (a Broadcast); whoever wants to write to
// it takes a copy unless it is the last one (mlt_flow_element_own). Only the worker that has it
// counts, so nothing is atomic: an element with several refs does not leave its worker but by
// copying.
#ifndef MLT_FLOW_ELEMENT_H
#define MLT_FLOW_ELEMENT_H

#include <millet/flow.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MLT_FLOW_SMALL = 208, MLT_FLOW_ELEMENT_MAGIC = 0x666c6f77 };

typedef struct mlt_flow_element {
    _Alignas(16) uint32_t magic; // MLT_FLOW_ELEMENT_MAGIC, 0 once freed
    uint32_t refs;
    uint64_t bytes, room; // of the data; of the memory for it
    uint8_t kind;         // flow_type
    bool small, kept;     // kept: flow_keep
    uint16_t unused;
    uint32_t line;        // link that it came by, for its credit; UINT32_MAX: none
    uint32_t value_bytes; // of a value; count is bytes / value_bytes
    uint32_t unused2;
} mlt_flow_element;
_Static_assert(sizeof(mlt_flow_element) == 48, "data are aligned to 16 bytes");

static inline void *mlt_flow_data(mlt_flow_element *e)
{
    return e + 1;
}

// Of data that a module has; ends the program with a sentence if it is none of the library's.
mlt_flow_element *mlt_flow_element_of(const void *data, const char *call);

// One ref, no line. Never NULL: the program ends if memory is exhausted.
mlt_flow_element *mlt_flow_element_new(uint64_t bytes);
void mlt_flow_element_drop(mlt_flow_element *e); // one ref fewer
// e itself if it has one ref, else a copy (and one ref of e fewer).
mlt_flow_element *mlt_flow_element_own(mlt_flow_element *e);

#endif
