// SPDX-License-Identifier: BSD-3-Clause
// A pool of the process, for objects that may outlive a rank's MPI (info, error handlers, attribute
// keys): made before MPI_Init, freed after MPI_Finalize, shared by threads. A freed object's memory
// stays readable and is used again as late as possible, so that a stale handle is caught by its
// magic. The lock is never held across a switch.
#ifndef MLT_MPI_SHELF_H
#define MLT_MPI_SHELF_H

#include <pthread.h>
#include <stddef.h>

#include "base/pool.h"

typedef struct mlt_shelf {
    pthread_mutex_t lock;
    mlt_pool pool;
} mlt_shelf;

#define MLT_SHELF_INIT(type)                                                                       \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER,                                                                 \
        {                                                                                          \
            .object_size = (sizeof(type) + 15) & ~(size_t)15, .next_count = 16                     \
        }                                                                                          \
    }

static inline void *mlt_shelf_take(mlt_shelf *shelf)
{
    pthread_mutex_lock(&shelf->lock);
    void *object = mlt_pool_take(&shelf->pool);
    pthread_mutex_unlock(&shelf->lock);
    return object;
}

// The object's magic must have been cleared; its first word is ours now (an address that is a
// multiple of 16: no magic is).
static inline void mlt_shelf_give(mlt_shelf *shelf, void *object)
{
    pthread_mutex_lock(&shelf->lock);
    mlt_pool_give_last(&shelf->pool, object);
    pthread_mutex_unlock(&shelf->lock);
}

#endif
