// SPDX-License-Identifier: BSD-3-Clause
// The sets of objects that images consist of: what was loaded when the program started, and one more
// for each library that a rank loaded later (late.h).
//
// Objects have one numbering for the whole process. A set is complete before it is linked to the one
// before, and stays as it is, so that any thread, and a signal handler, may walk over them.
// Debuggers do, too (share/millet-gdb.py): they begin at mlt_image_sets.
#pragma once

#include <stdatomic.h>

#include "image/image.h"
#include "image/object.h"
#include "image/template.h"

typedef struct mlt_image_set mlt_image_set;

// Image i of object o (both numbers; first <= o < count, o is `own`) lies, from its first page on, at
//     area + (i - 1) * span + place[o]
// and the original at objects[o].start.
struct mlt_image_set {
    _Atomic(mlt_image_set *) next; // NULL: it is the last
    uint32_t first, count;         // its objects
    mlt_object *objects;           // [count]: also those of earlier sets, as they are there
    uintptr_t *place;              // [count]
    char *area;                    // NULL: none of them is `own`
    uintptr_t span;                // of an image
    uint32_t copies;               // images beside the original
    uint32_t mappings;             // of an image, if it has its own
    uint32_t slab;                 // images a mapping (slab.h); 0: each has its own mappings
    int slab_fd;                   // the file that slabs map
    mlt_template template;
};

struct mlt_images {
    mlt_image_set start;
    mlt_image_set *last;
    mlt_images_conf conf; // its texts are copies
    uint32_t *order;      // [start.count]: constructors run in this order, destructors in the other
    uint64_t mappings;    // of all images, in all sets
    size_t tls_bytes;     // of objects from the start
};

// The set of the process's images; NULL: it has none.
extern const mlt_image_set *mlt_image_sets;

// For debuggers, which may stop here: objects of that image were just mapped and relocated.
void mlt_image_made(uint32_t index);

// The next set that is complete; NULL: there is none.
static inline const mlt_image_set *mlt_image_set_next(const mlt_image_set *set)
{
    return atomic_load_explicit(&set->next, memory_order_acquire); // pairs with mlt_images_add
}

// The set that object number `object` belongs to.
static inline const mlt_image_set *mlt_image_set_of(const mlt_images *images, uint32_t object)
{
    const mlt_image_set *set = &images->start;
    while (object >= set->count)
        set = mlt_image_set_next(set);
    return set;
}

// Decides which of the set's objects are private; true: some.
bool mlt_image_set_choose(const mlt_images *images, mlt_image_set *set);
// Makes template and area of a set of which some are. On failure a message; drop it then.
mlt_status mlt_image_set_make(mlt_images *images, mlt_image_set *set, char *why,
                              size_t why_size) MLT_MUST_CHECK;
void mlt_image_set_drop(mlt_image_set *set);

// What to add to addresses of the original; the object is `own`, index above 0.
intptr_t mlt_image_shift_of(const mlt_image_set *set, uint32_t index, uint32_t object);

// One object of an image: maps and relocates it, runs its constructors or destructors, which the
// template lists.
mlt_status mlt_image_make_object(const mlt_images *images, uint32_t index, uint32_t object,
                                 char *why, size_t why_size) MLT_MUST_CHECK;
void mlt_image_construct_object(const mlt_images *images, uint32_t index, uint32_t object, int argc,
                                char **argv, char **envp);
void mlt_image_destruct_object(const mlt_images *images, uint32_t index, uint32_t object);
