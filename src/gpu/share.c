// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/share.h"

#include <pthread.h>
#include <string.h>

#include "base/array.h"
#include "gpu/gpu_int.h"

enum { SHOWN = 256, OPENED = 256 };

// An allocation of ours; those whose numbers share a place take turns.
typedef struct shown {
    mlt_gpu_key key; // id 0: nothing
    bool refused;
} shown;

// One of another process.
typedef struct opened {
    uint32_t process, users;
    uint64_t id, start, bytes; // of the key
    mlt_cu_context context;
    uintptr_t at; // 0: refused
    uint64_t used;
    mlt_gpu_transfer known; // what was found out of it
} opened;

static struct {
    pthread_mutex_t lock;
    shown shown[SHOWN];
    opened *opened; // [count]
    uint32_t count, room;
    uint64_t uses;
} share = {.lock = PTHREAD_MUTEX_INITIALIZER};

// ---- ours

bool mlt_gpu_show(const void *at, mlt_gpu_spot *spot)
{
    const mlt_gpu_driver *cuda = mlt_gpu_driver_now();
    mlt_gpu_place place;
    if (!cuda || !mlt_gpu_find(at, &place) || !place.shareable || place.id == 0)
        return false;
    pthread_mutex_lock(&share.lock);
    shown *s = &share.shown[place.id % SHOWN];
    if (s->key.id != place.id) {
        mlt_cu_ipc_handle handle = {{0}};
        s->refused = cuda->IpcGetMemHandle(&handle, place.start) != MLT_CU_OK;
        s->key = (mlt_gpu_key){.id = place.id, .start = place.start, .bytes = place.bytes};
        memcpy(s->key.handle, &handle, sizeof handle);
    }
    bool refused = s->refused;
    pthread_mutex_unlock(&share.lock);
    *spot = (mlt_gpu_spot){place.id, (uintptr_t)at - place.start};
    return !refused;
}

bool mlt_gpu_key_of(uint64_t id, mlt_gpu_key *key)
{
    pthread_mutex_lock(&share.lock);
    const shown *s = &share.shown[id % SHOWN];
    bool there = s->key.id == id && !s->refused;
    if (there)
        *key = s->key;
    pthread_mutex_unlock(&share.lock);
    return there;
}

// ---- others'

static opened *find_opened(uint32_t process, uint64_t id)
{
    for (uint32_t i = 0; i < share.count; i++)
        if (share.opened[i].id == id && share.opened[i].process == process)
            return &share.opened[i];
    return NULL;
}

mlt_gpu_seen mlt_gpu_see(uint32_t process, const mlt_gpu_spot *spot, void **at)
{
    mlt_gpu_transfer known;
    mlt_gpu_seen seen = mlt_gpu_see_known(process, spot, &known);
    if (seen == MLT_GPU_SEEN)
        *at = known.to;
    return seen;
}

mlt_gpu_seen mlt_gpu_see_known(uint32_t process, const mlt_gpu_spot *spot, mlt_gpu_transfer *known)
{
    pthread_mutex_lock(&share.lock);
    opened *o = find_opened(process, spot->id);
    mlt_gpu_seen seen = !o ? MLT_GPU_UNSEEN : o->at ? MLT_GPU_SEEN : MLT_GPU_REFUSED;
    if (seen == MLT_GPU_SEEN) {
        o->users++;
        o->used = ++share.uses;
        *known = o->known;
        known->to = (void *)(o->at + spot->offset);
        known->from = known->to;
    }
    pthread_mutex_unlock(&share.lock);
    return seen;
}

void mlt_gpu_unsee(uint32_t process, uint64_t id)
{
    pthread_mutex_lock(&share.lock);
    opened *o = find_opened(process, id);
    if (o)
        o->users--;
    pthread_mutex_unlock(&share.lock);
}

static void close_opened(const mlt_gpu_driver *cuda, opened *o)
{
    if (o->at && !mlt_gpu_is_awaited()) {
        mlt_gpu_current current = mlt_gpu_enter(cuda, o->context);
        (void)cuda->IpcCloseMemHandle(o->at); // it may have gone with its context
        mlt_gpu_leave(cuda, current);
    }
    *o = share.opened[--share.count];
}

// Closes what is no longer there, and of too many that whose use is longest ago.
static void make_room(const mlt_gpu_driver *cuda, uint32_t process, const mlt_gpu_key *key)
{
    for (uint32_t i = 0; i < share.count;) {
        opened *o = &share.opened[i];
        bool gone = o->process == process && o->start < key->start + key->bytes &&
                    key->start < o->start + o->bytes;
        if (gone && o->users == 0)
            close_opened(cuda, o);
        else
            i++;
    }
    opened *oldest = NULL;
    for (uint32_t i = 0; share.count >= OPENED && i < share.count; i++)
        if (share.opened[i].users == 0 && (!oldest || share.opened[i].used < oldest->used))
            oldest = &share.opened[i];
    if (oldest)
        close_opened(cuda, oldest);
}

void mlt_gpu_open(uint32_t process, const mlt_gpu_key *key, const void *like)
{
    const mlt_gpu_driver *cuda = mlt_gpu_driver_now();
    mlt_gpu_transfer look = {.to = (void *)(uintptr_t)like, .from = like};
    mlt_cu_ipc_handle handle;
    mlt_cu_ptr at = 0;
    pthread_mutex_lock(&share.lock);
    if (cuda && !find_opened(process, key->id)) {
        make_room(cuda, process, key);
        memcpy(&handle, key->handle, sizeof handle);
        if (key->bytes && mlt_gpu_transfer_look(&look)) {
            mlt_gpu_current current = mlt_gpu_enter(cuda, look.context);
            if (cuda->IpcOpenMemHandle(&at, handle, MLT_CU_IPC_LAZY_PEER_ACCESS) != MLT_CU_OK)
                at = 0;
            mlt_gpu_leave(cuda, current);
        }
        mlt_gpu_transfer known = {.to = (void *)(uintptr_t)at, .from = (void *)(uintptr_t)at};
        (void)(at && mlt_gpu_transfer_look(&known));
        *MLT_ARRAY_ADD(share.opened, share.count, share.room) = (opened){.process = process,
                                                                         .id = key->id,
                                                                         .start = key->start,
                                                                         .bytes = key->bytes,
                                                                         .context = look.context,
                                                                         .at = (uintptr_t)at,
                                                                         .used = ++share.uses,
                                                                         .known = known};
    }
    pthread_mutex_unlock(&share.lock);
}
