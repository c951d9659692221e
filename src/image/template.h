// SPDX-License-Identifier: BSD-3-Clause
// The writable segments of all private objects as they are before any constructor has run, relocated
// for the original's addresses, in one file in memory; and which words of them are addresses.
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "image/object.h"

// A word that is an address in the object `owner`: it moves with it.
typedef struct mlt_fixup {
    uint64_t at;    // relative to the base of the object that holds the word
    uint32_t owner; // index in the objects
} mlt_fixup;

// A variable of a shared object that an image has in its own memory: the program holds it itself (a
// copy relocation), or refers to it by an address, which leads to a cell of the image instead.
typedef struct mlt_taken {
    uintptr_t variable; // of the original
    uint32_t object;    // that has the rank's own in its memory ...
    uintptr_t at;       // ... relative to its base
    uint32_t bytes;
} mlt_taken;

// Addresses in whole pages, relative to the object's base.
typedef struct mlt_stretch {
    uintptr_t from, to;
} mlt_stretch;

typedef struct mlt_template {
    int fd; // of the file
    char *memory;
    uint64_t bytes;
    uint64_t (*offset)[MLT_OBJECT_PIECES]; // [objects]: of writable pieces in the file
    mlt_stretch *zeros;                    // [objects]: much that is zero, not to be mapped from
                                           // the file; empty: none
    mlt_fixup **fixups;                    // [objects]
    uint32_t *fixup_count, *fixup_room;    // [objects]
    mlt_taken *taken;
    uint32_t taken_count, taken_room;
    uint32_t holder; // the object with the cells: behind its own variables
    uintptr_t cells; // where they begin, relative to its base
    uint32_t cell_bytes;
} mlt_template;

// Reads files and tables of all objects from `first` on that are `own`. `start` has those before
// `first`, and all cells; NULL if first is 0. On failure a message.
mlt_status mlt_template_new(mlt_object *objects, uint32_t first, uint32_t count,
                            const mlt_template *start, mlt_template *out, char *why,
                            size_t why_size) MLT_MUST_CHECK;
void mlt_template_free(mlt_template *t, uint32_t count);

// Gives what was taken over the values that the original has now.
void mlt_template_refresh(const mlt_template *t, const mlt_object *objects);

// What images have in their own memory of that variable; NULL: nothing.
const mlt_taken *mlt_template_taken(const mlt_template *t, uintptr_t variable);

// The word of the template for an address of an own object (relative to its base); NULL: it is in
// no writable piece.
char *mlt_template_at(const mlt_template *t, const mlt_object *objects, uint32_t object,
                      uintptr_t at);

// True if the object refers to libc's variables for options.
bool mlt_template_parses(const mlt_object *object);

// True if a relocation of the object refers to one that is `own`: then the object must be it, too.
bool mlt_template_refers(const mlt_object *objects, uint32_t count, uint32_t object);
