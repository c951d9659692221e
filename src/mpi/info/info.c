// SPDX-License-Identifier: BSD-3-Clause
// An info object is an array of entries in the order of setting, searched one by one: programs set few
// keys.
#include "mpi/info/info.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/table.h"
#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi/info/info_env.h"
#include "mpi/registry.h"
#include "mpi_bodies.h"

#define INFO_NOWHERE UINT32_MAX

typedef struct info_entry {
    char *key;      // one block: key, 0, value, 0; NULL: a hole
    uint32_t hash;  // of the key
    uint32_t value; // where in the block the value begins
} info_entry;

struct mlt_info {
    mlt_registry_head head; // MLT_INFO_MAGIC while it lives
    uint32_t count, room;   // entries
    info_entry *entries;
};

// Guards the contents of all objects.
static pthread_mutex_t info_lock = PTHREAD_MUTEX_INITIALIZER;
static mlt_registry infos = MLT_REGISTRY_INIT(mlt_info);

// ---- entries; all with the lock held

static uint32_t info_hash_of(const char *key)
{
    return mlt_hash_bytes(key, strlen(key));
}

// The place of a key; NOWHERE: it is not there.
static uint32_t info_find(const mlt_info *info, const char *key)
{
    uint32_t hash = info_hash_of(key);
    for (uint32_t i = 0; i < info->count; i++)
        if (info->entries[i].hash == hash && strcmp(info->entries[i].key, key) == 0)
            return i;
    return INFO_NOWHERE;
}

static void info_fill(info_entry *e, const char *key, const char *value)
{
    size_t key_bytes = strlen(key) + 1, value_bytes = strlen(value) + 1;
    char *block = mlt_xrealloc(NULL, key_bytes + value_bytes, 1);
    memcpy(block, key, key_bytes);
    memcpy(block + key_bytes, value, value_bytes);
    free(e->key);
    *e = (info_entry){.key = block, .hash = info_hash_of(key), .value = (uint32_t)key_bytes};
}

static void info_set(mlt_info *info, const char *key, const char *value)
{
    uint32_t at = info_find(info, key);
    if (at == INFO_NOWHERE) {
        at = info->count;
        MLT_ARRAY_ADD(info->entries, info->count, info->room)->key = NULL;
    }
    info_fill(&info->entries[at], key, value);
}

static const char *value_of(const mlt_info *info, const char *key)
{
    uint32_t at = info_find(info, key);
    return at == INFO_NOWHERE ? NULL : info->entries[at].key + info->entries[at].value;
}

// NULL: there is no n-th.
static const char *nth(const mlt_info *info, int n)
{
    return n >= 0 && (uint32_t)n < info->count ? info->entries[n].key : NULL;
}

// ---- the contract

mlt_info *mlt_info_of(MPI_Info handle)
{
    uintptr_t h = (uintptr_t)handle;
    if (handle == MPI_INFO_ENV)
        return mlt_info_env();
    mlt_info *info = (mlt_info *)h;
    return mlt_handle_is_address(h) && mlt_registry_is(&info->head, MLT_INFO_MAGIC) ? info : NULL;
}

MPI_Info mlt_info_handle(const mlt_info *info)
{
    return (MPI_Info)(uintptr_t)info;
}

int mlt_bad_info(mlt_rank *me, mlt_comm *comm, uint16_t fn, MPI_Info handle)
{
    return mlt_bad_handle(me, comm, fn, MPI_ERR_INFO, "info", "info object", (uintptr_t)handle);
}

mlt_info *mlt_info_new(void)
{
    mlt_info *info = mlt_registry_take(&infos);
    memset((char *)info + sizeof info->head, 0, sizeof *info - sizeof info->head);
    mlt_registry_name(&info->head, MLT_INFO_MAGIC);
    return info;
}

mlt_info *mlt_info_dup(const mlt_info *from)
{
    mlt_info *info = mlt_info_new();
    if (!from)
        return info;
    pthread_mutex_lock(&info_lock);
    for (uint32_t i = 0; i < from->count; i++)
        info_set(info, from->entries[i].key, from->entries[i].key + from->entries[i].value);
    pthread_mutex_unlock(&info_lock);
    return info;
}

void mlt_info_free(mlt_info *info)
{
    if (!info)
        return;
    for (uint32_t i = 0; i < info->count; i++)
        free(info->entries[i].key);
    free(info->entries);
    mlt_registry_name(&info->head, 0);
    mlt_registry_give(&infos, info);
}

void mlt_info_set(mlt_info *info, const char *key, const char *value)
{
    pthread_mutex_lock(&info_lock);
    info_set(info, key, value);
    pthread_mutex_unlock(&info_lock);
}

const char *mlt_info_get(const mlt_info *info, const char *key)
{
    if (!info)
        return NULL;
    pthread_mutex_lock(&info_lock);
    const char *value = value_of(info, key);
    pthread_mutex_unlock(&info_lock);
    return value;
}

bool mlt_info_flag(const mlt_info *info, const char *key, bool otherwise)
{
    const char *value = mlt_info_get(info, key);
    if (value && strcmp(value, otherwise ? "false" : "true") == 0)
        return !otherwise;
    return otherwise;
}

bool mlt_info_delete(mlt_info *info, const char *key)
{
    pthread_mutex_lock(&info_lock);
    uint32_t at = info_find(info, key);
    if (at != INFO_NOWHERE) {
        info_entry *e = &info->entries[at];
        free(e->key);
        memmove(e, e + 1, (--info->count - at) * sizeof *e);
    }
    pthread_mutex_unlock(&info_lock);
    return at != INFO_NOWHERE;
}

int mlt_info_count(const mlt_info *info)
{
    pthread_mutex_lock(&info_lock);
    int count = (int)info->count;
    pthread_mutex_unlock(&info_lock);
    return count;
}

const char *mlt_info_key(const mlt_info *info, int n)
{
    pthread_mutex_lock(&info_lock);
    const char *key = nth(info, n);
    pthread_mutex_unlock(&info_lock);
    return key;
}

// ---- MPI's functions

// An object that the program may change; NULL: *code has been raised.
static mlt_info *own_info(mlt_rank *me, uint16_t fn, MPI_Info handle, int *code)
{
    mlt_info *info = handle == MPI_INFO_ENV ? NULL : mlt_info_of(handle);
    if (handle == MPI_INFO_ENV)
        *code = mlt_mpi_raise(
            me, NULL, fn, MPI_ERR_INFO,
            "argument info is MPI_INFO_ENV, which is read only, but should be an info "
            "object of the program's own, as MPI_Info_create or MPI_Info_dup gives");
    else if (!info)
        *code = mlt_bad_info(me, NULL, fn, handle);
    return info;
}

// MPI_SUCCESS if the key has a length that a key may have.
static int check_key(mlt_rank *me, uint16_t fn, const char *key)
{
    size_t length = strnlen(key, MPI_MAX_INFO_KEY);
    if (length == 0)
        return mlt_mpi_raise(me, NULL, fn, MPI_ERR_INFO_KEY,
                             "argument key is empty, but should have 1 to %d characters",
                             MPI_MAX_INFO_KEY - 1);
    if (length == MPI_MAX_INFO_KEY)
        return mlt_mpi_raise(me, NULL, fn, MPI_ERR_INFO_KEY,
                             "argument key is longer than %d characters, but should have 1 to %d: "
                             "\"%.32s...\"",
                             MPI_MAX_INFO_KEY - 1, MPI_MAX_INFO_KEY - 1, key);
    return MPI_SUCCESS;
}

int mlt_mpi_Info_create_env(mlt_rank *me, int argc, char *argv[], MPI_Info *info)
{
    mlt_info *env = mlt_info_dup(mlt_info_env());
    mlt_info_env_arguments(env, argc, argv);
    *info = mlt_info_handle(env);
    return MPI_SUCCESS;
}

int mlt_mpi_Info_dup(mlt_rank *me, MPI_Info info, MPI_Info *newinfo)
{
    const mlt_info *from = mlt_info_of(info);
    if (!from)
        return mlt_bad_info(me, NULL, MLT_FN_Info_dup, info);
    *newinfo = mlt_info_handle(mlt_info_dup(from));
    return MPI_SUCCESS;
}

int mlt_mpi_Info_free(mlt_rank *me, MPI_Info *info)
{
    int code;
    mlt_info *object = own_info(me, MLT_FN_Info_free, *info, &code);
    if (!object)
        return code;
    mlt_info_free(object);
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

int mlt_mpi_Info_set(mlt_rank *me, MPI_Info info, const char *key, const char *value)
{
    int code;
    mlt_info *object = own_info(me, MLT_FN_Info_set, info, &code);
    if (!object || (code = check_key(me, MLT_FN_Info_set, key)) != MPI_SUCCESS)
        return code;
    if (strnlen(value, MPI_MAX_INFO_VAL) == MPI_MAX_INFO_VAL)
        return mlt_mpi_raise(me, NULL, MLT_FN_Info_set, MPI_ERR_INFO_VALUE,
                             "argument value, for key \"%s\", is longer than %d characters, but "
                             "should have at most as many",
                             key, MPI_MAX_INFO_VAL - 1);
    mlt_info_set(object, key, value);
    return MPI_SUCCESS;
}

int mlt_mpi_Info_delete(mlt_rank *me, MPI_Info info, const char *key)
{
    int code;
    mlt_info *object = own_info(me, MLT_FN_Info_delete, info, &code);
    if (!object || (code = check_key(me, MLT_FN_Info_delete, key)) != MPI_SUCCESS)
        return code;
    if (!mlt_info_delete(object, key))
        return mlt_mpi_raise(me, NULL, MLT_FN_Info_delete, MPI_ERR_INFO_NOKEY,
                             "argument key is \"%s\", but should be a key that is set in this info "
                             "object of %d keys",
                             key, mlt_info_count(object));
    return MPI_SUCCESS;
}

int mlt_mpi_Info_get_nkeys(mlt_rank *me, MPI_Info info, int *nkeys)
{
    const mlt_info *object = mlt_info_of(info);
    if (!object)
        return mlt_bad_info(me, NULL, MLT_FN_Info_get_nkeys, info);
    *nkeys = mlt_info_count(object);
    return MPI_SUCCESS;
}

int mlt_mpi_Info_get_nthkey(mlt_rank *me, MPI_Info info, int n, char *key)
{
    mlt_info *object = mlt_info_of(info);
    if (!object)
        return mlt_bad_info(me, NULL, MLT_FN_Info_get_nthkey, info);
    pthread_mutex_lock(&info_lock);
    const char *found = nth(object, n);
    if (found)
        memcpy(key, found, strlen(found) + 1);
    int count = (int)object->count;
    pthread_mutex_unlock(&info_lock);
    if (!found)
        return mlt_mpi_raise(me, NULL, MLT_FN_Info_get_nthkey, MPI_ERR_ARG,
                             "argument n is %d, but should be at least 0 and less than %d, the "
                             "number of keys",
                             n, count);
    return MPI_SUCCESS;
}

// Copies at most `room` - 1 bytes of the value and a 0 (nothing if room is 0). The length of the
// value, or -1 if the key is not set.
static int copy_value(const mlt_info *info, const char *key, char *value, size_t room)
{
    pthread_mutex_lock(&info_lock);
    const char *found = value_of(info, key);
    size_t length = found ? strlen(found) : 0;
    if (found && room > 0) {
        size_t bytes = length < room ? length : room - 1;
        memcpy(value, found, bytes);
        value[bytes] = '\0';
    }
    pthread_mutex_unlock(&info_lock);
    return found ? (int)length : -1;
}

// The surface leaves `value` unchecked where no character of it is written.
static int info_get(mlt_rank *me, uint16_t fn, MPI_Info info, const char *key, char *value,
                    size_t room, int *length)
{
    const mlt_info *object = mlt_info_of(info);
    if (!object)
        return mlt_bad_info(me, NULL, fn, info);
    int code = check_key(me, fn, key);
    if (code == MPI_SUCCESS)
        *length = copy_value(object, key, value, room);
    return code;
}

int mlt_mpi_Info_get_string(mlt_rank *me, MPI_Info info, const char *key, int *buflen, char *value,
                            int *flag)
{
    if (*buflen < 0)
        return mlt_bad_value(me, NULL, MLT_FN_Info_get_string, MPI_ERR_ARG, "*buflen", *buflen,
                             "at least 0");
    if (!value && *buflen > 0)
        return mlt_bad_null(me, NULL, MLT_FN_Info_get_string, MPI_ERR_ARG, "value",
                            "the address of *buflen characters");
    int length = -1;
    int code = info_get(me, MLT_FN_Info_get_string, info, key, value, (size_t)*buflen, &length);
    if (code != MPI_SUCCESS)
        return code;
    *flag = length >= 0;
    if (*flag)
        *buflen = length + 1;
    return MPI_SUCCESS;
}

int mlt_mpi_Info_get(mlt_rank *me, MPI_Info info, const char *key, int valuelen, char *value,
                     int *flag)
{
    if (valuelen < 0)
        return mlt_bad_value(me, NULL, MLT_FN_Info_get, MPI_ERR_ARG, "valuelen", valuelen,
                             "at least 0");
    int length = -1;
    int code = info_get(me, MLT_FN_Info_get, info, key, value, (size_t)valuelen + 1, &length);
    if (code == MPI_SUCCESS)
        *flag = length >= 0;
    return code;
}

int mlt_mpi_Info_get_valuelen(mlt_rank *me, MPI_Info info, const char *key, int *valuelen,
                              int *flag)
{
    int length = -1;
    int code = info_get(me, MLT_FN_Info_get_valuelen, info, key, NULL, 0, &length);
    if (code != MPI_SUCCESS)
        return code;
    *flag = length >= 0;
    if (*flag)
        *valuelen = length;
    return MPI_SUCCESS;
}
