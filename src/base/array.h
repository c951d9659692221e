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
#include <string.h>

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
            (items) = mlt_xrealloc((items), mlt_next, sizeof *(items));                            \
            (room) = (__typeof__(room))mlt_next;                                                   \
            if ((size_t)(room) != mlt_next)                                                        \
                mlt_no_room("%zu times %zu bytes", mlt_next, sizeof *(items));                     \
        }                                                                                          \
    } while (0)

// The same for a caller that goes on without: false, and the array is as it was.
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

// Makes room for one item more and counts it. Returns where it is; it is not zeroed.
#define MLT_ARRAY_ADD(items, count, room)                                                          \
    ({                                                                                             \
        MLT_ARRAY_WANT((items), (size_t)(count) + 1, (room));                                      \
        &(items)[(count)++];                                                                       \
    })

// The same in the midst, at place `at`: those that are there move on by one.
#define MLT_ARRAY_INSERT(items, count, room, at)                                                   \
    ({                                                                                             \
        size_t mlt_at = (at);                                                                      \
        MLT_ARRAY_WANT((items), (size_t)(count) + 1, (room));                                      \
        memmove((items) + mlt_at + 1, (items) + mlt_at, ((count)++ - mlt_at) * sizeof *(items));   \
        &(items)[mlt_at];                                                                          \
    })

// The first index i of a sorted array for which `before`, a condition of i, does not hold; `count`
// if it always does.
//
//     uint32_t at = MLT_ARRAY_SEARCH(i, count, names[i].number < number);
#define MLT_ARRAY_SEARCH(i, count, before)                                                         \
    ({                                                                                             \
        __typeof__((count) + 0) mlt_low = 0, mlt_high = (count);                                   \
        while (mlt_low < mlt_high) {                                                               \
            __typeof__((count) + 0) i = mlt_low + (mlt_high - mlt_low) / 2;                        \
            if (before)                                                                            \
                mlt_low = i + 1;                                                                   \
            else                                                                                   \
                mlt_high = i;                                                                      \
        }                                                                                          \
        mlt_low;                                                                                   \
    })

// An empty array may be NULL, which qsort must not be given.
#define MLT_ARRAY_SORT(items, count, compare)                                                      \
    do {                                                                                           \
        if (count)                                                                                 \
            qsort((items), (count), sizeof *(items), (compare));                                   \
    } while (0)
