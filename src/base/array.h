// SPDX-License-Identifier: BSD-3-Clause
// Arrays that grow: three variables of the caller's, items, how many are used, for how many there
// is room. All zero is an empty array; freed with free(items).
//
//     edge *edges; uint32_t count, room;
//     *MLT_ARRAY_ADD(edges, count, room) = (edge){...};
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/memory.h"

enum { MLT_ARRAY_FIRST = 8 }; // room of an array that gets its first item

// The next room of an array that has too little for `wanted`: at least twice as much.
static inline size_t mlt_array_room(size_t room, size_t wanted)
{
    room = room ? 2 * room : MLT_ARRAY_FIRST;
    return room < wanted ? wanted : room;
}

// Makes room for `wanted` items in all. Items that are new are not zeroed. Ends the process with a
// message if memory is out, or if there are more items than the type of `room` can count.
#define MLT_ARRAY_WANT(items, wanted, room)                                                        \
    do {                                                                                           \
        size_t mlt_wanted = (wanted);                                                              \
        if (MLT_UNLIKELY(mlt_wanted > (size_t)(room))) {                                           \
            size_t mlt_next = mlt_array_room((room), mlt_wanted);                                  \
            (items) = mlt_take_more((items), mlt_next, sizeof *(items));                           \
            (room) = (__typeof__(room))mlt_next;                                                   \
            if ((size_t)(room) != mlt_next)                                                        \
                mlt_no_room("%zu times %zu bytes", mlt_next, sizeof *(items));                     \
        }                                                                                          \
    } while (0)

// Adds an item, not zeroed: a pointer to it. What is assigned to it does not look at the array.
#define MLT_ARRAY_ADD(items, count, room)                                                          \
    ({                                                                                             \
        MLT_ARRAY_WANT(items, (count) + (size_t)1, room);                                          \
        &(items)[(count)++];                                                                       \
    })

// The same as MLT_ARRAY_WANT for a caller that goes on without: false, and the array is as it was.
#define MLT_ARRAY_TRY(items, wanted, room)                                                         \
    ({                                                                                             \
        size_t mlt_wanted = (wanted), mlt_next = (room);                                           \
        void *mlt_more = (items);                                                                  \
        if (MLT_UNLIKELY(mlt_wanted > mlt_next)) {                                                 \
            mlt_next = mlt_array_room(mlt_next, mlt_wanted);                                       \
            mlt_more = (size_t)(__typeof__(room))mlt_next == mlt_next                              \
                           ? reallocarray((items), mlt_next, sizeof *(items))                      \
                           : NULL;                                                                 \
            if (mlt_more) {                                                                        \
                (items) = mlt_more;                                                                \
                (room) = (__typeof__(room))mlt_next;                                               \
            }                                                                                      \
        }                                                                                          \
        mlt_wanted <= (size_t)(room);                                                              \
    })

// An empty array may be NULL, which qsort must not be given.
#define MLT_ARRAY_SORT(items, count, compare)                                                      \
    do {                                                                                           \
        if (count)                                                                                 \
            qsort((items), (count), sizeof *(items), (compare));                                   \
    } while (0)
