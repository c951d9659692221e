// SPDX-License-Identifier: BSD-3-Clause
// A pool of the process, for objects that may outlive a rank's MPI (info, error handlers, attribute
// keys): made before MPI_Init, freed after MPI_Finalize, shared by threads. A freed object's memory
// stays readable and is used again as late as possible, so that a stale handle is caught by its
// magic. The lock is never held across a switch.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/pool.h"

// The head of an object that a handle is resolved to. A thread may look at a stale handle while
// another takes or gives the same memory. That is the program's fault, and it must get an error
// message; so the look is atomic, at a word that only mlt_registry_name writes. The rest of the object
// may be looked at only by those to whom it belongs if the name fits. Where objects belong to one rank,
// their owner is a part of the name.
typedef struct mlt_registry_head {
    void *link; // the pool's, while it is free
    _Atomic uint64_t name;
} mlt_registry_head;

static inline uint64_t mlt_registry_owned(uint32_t magic, uint32_t owner)
{
    return magic | (uint64_t)owner << 32;
}

// Relaxed in both: a thread that uses a handle got it from the thread that made the object, and
// with it sees the rest.
static inline bool mlt_registry_is(const mlt_registry_head *head, uint64_t name)
{
    return atomic_load_explicit(&head->name, memory_order_relaxed) == name;
}

// The object lives (a magic, with its owner or without) or does not (0).
static inline void mlt_registry_name(mlt_registry_head *head, uint64_t name)
{
    atomic_store_explicit(&head->name, name, memory_order_relaxed);
}

// Copies an object of so many bytes, which begins with its head, into one of the registry, whose head stays.
static inline void mlt_registry_fill(void *object, const void *from, size_t bytes)
{
    memcpy((char *)object + sizeof(mlt_registry_head),
           (const char *)from + sizeof(mlt_registry_head), bytes - sizeof(mlt_registry_head));
}

typedef struct mlt_registry {
    pthread_mutex_t lock;
    mlt_pool pool;
} mlt_registry;

#define MLT_REGISTRY_INIT(type)                                                                    \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER,                                                                 \
        {                                                                                          \
            .object_size = (sizeof(type) + 15) & ~(size_t)15, .next_count = 16                     \
        }                                                                                          \
    }

static inline void *mlt_registry_take(mlt_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    void *object = mlt_pool_take(&registry->pool);
    pthread_mutex_unlock(&registry->lock);
    return object;
}

// The object's first word is ours now.
static inline void mlt_registry_give(mlt_registry *registry, void *object)
{
    pthread_mutex_lock(&registry->lock);
    mlt_pool_give_last(&registry->pool, object);
    pthread_mutex_unlock(&registry->lock);
}
