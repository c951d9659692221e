// SPDX-License-Identifier: BSD-3-Clause
#include "host/libc/keys.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "base/array.h"
#include "base/export.h"
#include "base/memory.h"
#include "host/caller.h"
#include "host/fork.h"
#include "host/globals.h"
#include "host/libc/libc.h"
#include "host/own.h"
#include "host/start.h"

enum {
    FIRST_KEY = 1 << 20, // the system's are below 1,024
    MOST_KEYS = 4096,    // of a rank, which are never used again; more are the system's
};

typedef struct values {
    void **at;
    uint32_t room;
} values;

struct mlt_keys {
    uint32_t users; // the rank, and threads with values
    uint32_t count, room;
    void (**destructors)(void *value); // [count]; NULL: none
    values of_main;
};

static pthread_mutex_t keys_lock = PTHREAD_MUTEX_INITIALIZER; // of `users` and of keys' tables

// ---- whose

static void leave(struct mlt_keys *keys)
{
    pthread_mutex_lock(&keys_lock);
    bool last = --keys->users == 0;
    pthread_mutex_unlock(&keys_lock);
    if (!last)
        return;
    free(keys->of_main.at);
    free(keys->destructors);
    free(keys);
}

void mlt_keys_free(struct mlt_keys *keys)
{
    if (keys)
        leave(keys);
}

// With a sanitizer there are no images, and its run-time has these functions itself.
#if MLT_TAKES_OVER

// What a thread has that is no rank's main.
static _Thread_local struct {
    values values;
    struct mlt_keys *keys; // of the rank that started it; NULL: no value was set
} keys_here;

// The rank whose main calls; NULL: another thread does.
static mlt_rank *main_rank(void)
{
    mlt_rank *me = mlt_rank_self();
    return me || !mlt_fork_is_child() ? me : mlt_fork_rank();
}

static struct mlt_keys *keys_of(const mlt_rank *me)
{
    const mlt_rank_own *own = me ? me->own : NULL;
    return own ? own->keys : NULL;
}

static values *own_values(void)
{
    const mlt_rank *me = main_rank();
    struct mlt_keys *keys = keys_of(me);
    if (me)
        return keys ? &keys->of_main : NULL;
    return &keys_here.values;
}

// ---- the end of a thread

static void (*destructor_of(struct mlt_keys *keys, uint32_t index))(void *)
{
    pthread_mutex_lock(&keys_lock);
    void (*found)(void *) = index < keys->count ? keys->destructors[index] : NULL;
    pthread_mutex_unlock(&keys_lock);
    return found;
}

static bool destroy_values(void)
{
    bool any = false;
    for (uint32_t i = 0; i < keys_here.values.room; i++) {
        void *value = keys_here.values.at[i];
        void (*destructor)(void *) = value ? destructor_of(keys_here.keys, i) : NULL;
        keys_here.values.at[i] = NULL;
        if (destructor)
            destructor(value);
        any |= destructor != NULL;
    }
    return any;
}

// The destructor of `ends`. As the system's do, destructors may set values again, a few times.
static void thread_ends(void *keys)
{
    for (int i = 0; i < PTHREAD_DESTRUCTOR_ITERATIONS && destroy_values(); i++)
        ;
    free(keys_here.values.at);
    keys_here.values = (values){.at = NULL};
    keys_here.keys = NULL;
    leave(keys);
}

static pthread_key_t ends;
static bool has_ends;

static void make_ends(void)
{
    has_ends = MLT_LIBC(pthread_key_create)(&ends, thread_ends) == 0;
}

// The thread has a value for the first time.
static int note_thread(struct mlt_keys *keys)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_ends);
    if (!has_ends || !keys)
        return EINVAL;
    int error = MLT_LIBC(pthread_setspecific)(ends, keys);
    if (error)
        return error;
    pthread_mutex_lock(&keys_lock);
    keys->users++;
    pthread_mutex_unlock(&keys_lock);
    keys_here.keys = keys;
    return 0;
}

// ---- keys

// False: there is no memory for another, or the rank has had too many.
static bool add_key(struct mlt_keys *keys, pthread_key_t *key, void (*destructor)(void *))
{
    pthread_mutex_lock(&keys_lock);
    bool added = keys->count < MOST_KEYS &&
                 MLT_ARRAY_TRY(keys->destructors, (size_t)keys->count + 1, keys->room);
    if (added) {
        keys->destructors[keys->count] = destructor;
        *key = FIRST_KEY + keys->count++;
    }
    pthread_mutex_unlock(&keys_lock);
    return added;
}

static bool take_key(mlt_rank *me, pthread_key_t *key, void (*destructor)(void *))
{
    mlt_rank_own *own = mlt_own_of(me);
    if (!own->keys) {
        own->keys = mlt_xcalloc(1, sizeof *own->keys);
        own->keys->users = 1;
    }
    return add_key(own->keys, key, destructor);
}

static bool keys_is_ours(pthread_key_t key)
{
    return key - FIRST_KEY < MOST_KEYS;
}

// A constructor whose last act is to make a key may jump there, so that the caller is whatever runs
// constructors: this library, which makes no keys of its own once ranks run.
static bool is_of_image(const void *caller)
{
    return mlt_globals_original((uintptr_t)caller) != (uintptr_t)caller ||
           mlt_caller_is_ours(caller);
}

static int make_key(pthread_key_t *key, void (*destructor)(void *), const void *caller)
{
    mlt_rank *me = is_of_image(caller) ? main_rank() : NULL;
    if (me && !me->ended && take_key(me, key, destructor))
        return 0;
    return MLT_LIBC(pthread_key_create)(key, destructor);
}

static int drop_key(pthread_key_t key)
{
    if (!keys_is_ours(key))
        return MLT_LIBC(pthread_key_delete)(key);
    struct mlt_keys *keys = keys_of(mlt_thread_rank());
    if (!keys || key - FIRST_KEY >= keys->count)
        return EINVAL;
    pthread_mutex_lock(&keys_lock);
    keys->destructors[key - FIRST_KEY] = NULL;
    pthread_mutex_unlock(&keys_lock);
    return 0;
}

static void *value_of(pthread_key_t key)
{
    const values *own = own_values();
    uint32_t index = key - FIRST_KEY;
    return own && index < own->room ? own->at[index] : NULL;
}

static int set_value(pthread_key_t key, void *value)
{
    uint32_t index = key - FIRST_KEY;
    values *own = own_values();
    if (own == &keys_here.values && !keys_here.keys && value) {
        int error = note_thread(keys_of(mlt_thread_rank()));
        if (error)
            return error;
    }
    if (!own)
        return EINVAL;
    if (index >= own->room && value) {
        void **more = realloc(own->at, (index + 1) * sizeof *more);
        if (!more)
            return ENOMEM;
        memset(more + own->room, 0, (index + 1 - own->room) * sizeof *more);
        *own = (values){more, index + 1};
    }
    if (index < own->room)
        own->at[index] = value;
    return 0;
}

// ---- what takes the place of libc's

MLT_INTERPOSE int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
    return make_key(key, destructor, MLT_CALLER);
}

MLT_INTERPOSE int pthread_key_delete(pthread_key_t key)
{
    return drop_key(key);
}

MLT_INTERPOSE void *pthread_getspecific(pthread_key_t key)
{
    return keys_is_ours(key) ? value_of(key) : MLT_LIBC(pthread_getspecific)(key);
}

MLT_INTERPOSE int pthread_setspecific(pthread_key_t key, const void *value)
{
    return keys_is_ours(key) ? set_value(key, (void *)(uintptr_t)value)
                             : MLT_LIBC(pthread_setspecific)(key, value);
}

MLT_INTERPOSE int tss_create(tss_t *key, tss_dtor_t destructor)
{
    return make_key(key, destructor, MLT_CALLER) == 0 ? thrd_success : thrd_error;
}

MLT_INTERPOSE void tss_delete(tss_t key)
{
    (void)drop_key(key);
}

MLT_INTERPOSE void *tss_get(tss_t key)
{
    return keys_is_ours(key) ? value_of(key) : MLT_LIBC(tss_get)(key);
}

MLT_INTERPOSE int tss_set(tss_t key, void *value)
{
    if (!keys_is_ours(key))
        return MLT_LIBC(tss_set)(key, value);
    return set_value(key, value) == 0 ? thrd_success : thrd_error;
}

#endif
