// SPDX-License-Identifier: BSD-3-Clause
// The writable segments of all private objects as they are before any constructor has run, relocated
// for the original's addresses, in one file in memory; and which words of them are addresses.
#ifndef MLT_IMAGE_TEMPLATE_H
#define MLT_IMAGE_TEMPLATE_H

#include <stdint.h>

#include "base/status.h"
#include "image/object.h"

// A word that is an address in the object `owner`: it moves with it.
typedef struct mlt_fixup {
    uint64_t at;    // relative to the base of the object that holds the word
    uint32_t owner; // index in the objects
} mlt_fixup;

// A variable of another object that the program has in its own memory.
typedef struct mlt_copied {
    uintptr_t at; // relative to the program's base
    size_t bytes;
    bool as_is; // of a shared object: what the original has counts
} mlt_copied;

typedef struct mlt_template {
    int fd; // of the file
    char *memory;
    uint64_t bytes;
    uint64_t (*offset)[MLT_OBJECT_PIECES]; // [objects]: of writable pieces in the file
    mlt_fixup **fixups;                    // [objects]
    uint32_t *fixup_count, *fixup_room;    // [objects]
    mlt_copied *copied;
    uint32_t copied_count, copied_room;
} mlt_template;

// Reads files and tables of all objects that are `own`. On failure a message.
mlt_status mlt_template_new(const mlt_object *objects, uint32_t count, mlt_template *out, char *why,
                            size_t why_size) MLT_MUST_CHECK;
void mlt_template_free(mlt_template *t, uint32_t count);

// The word of the template for an address of an own object (relative to its base); NULL: it is in
// no writable piece.
char *mlt_template_at(const mlt_template *t, const mlt_object *objects, uint32_t object,
                      uintptr_t at);

// True if a relocation of the object refers to one that is `own`: then the object must be it, too.
bool mlt_template_refers(const mlt_object *objects, uint32_t count, uint32_t object);

#endif
