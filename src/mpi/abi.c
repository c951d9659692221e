// SPDX-License-Identifier: BSD-3-Clause
// What the ABI tells and is told: sizes, and the properties of a Fortran compiler.
//
// These properties belong to the process and are told once. Ranks that share a process each tell
// them: the same again from another rank is fine, anything else is MPI_ERR_ABI.
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/error/error.h"
#include "mpi/info/info.h"
#include "mpi/self.h"
#include "mpi_bodies.h"
#include "type/type.h"

enum { MOST_LOGICAL = 16 };

static pthread_mutex_t abi_lock = PTHREAD_MUTEX_INITIALIZER;

// The first that told; `set` by a thread that is no rank too.
static struct {
    mlt_info *info;
    const mlt_rank *teller;
} fortran;

static struct {
    int size; // 0: not set
    const mlt_rank *teller;
    char is_true[MOST_LOGICAL], is_false[MOST_LOGICAL];
} booleans;

int mlt_mpi_Abi_get_info(mlt_rank *me, MPI_Info *info)
{
    const struct {
        const char *key;
        size_t size;
    } sizes[] = {
        {"mpi_aint_size", sizeof(MPI_Aint)},
        {"mpi_count_size", sizeof(MPI_Count)},
        {"mpi_offset_size", sizeof(MPI_Offset)},
    };
    mlt_info *made = mlt_info_new();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[16];
        snprintf(text, sizeof text, "%zu", sizes[i].size);
        mlt_info_set(made, sizes[i].key, text);
    }
    *info = mlt_info_handle(made);
    return MPI_SUCCESS;
}

// ---- Fortran's types

int mlt_mpi_Abi_get_fortran_info(mlt_rank *me, MPI_Info *info)
{
    pthread_mutex_lock(&abi_lock);
    *info = fortran.info ? mlt_info_handle(mlt_info_dup(fortran.info)) : MPI_INFO_NULL;
    pthread_mutex_unlock(&abi_lock);
    return MPI_SUCCESS;
}

// MPI_SUCCESS if the sizes are those of Millet's own datatypes for Fortran.
static int check_sizes(mlt_rank *me, const mlt_info *info)
{
    static const struct {
        const char *key, *type;
        uintptr_t handle;
    } sizes[] = {
        {"mpi_logical_size", "MPI_LOGICAL", (uintptr_t)MPI_LOGICAL},
        {"mpi_integer_size", "MPI_INTEGER", (uintptr_t)MPI_INTEGER},
        {"mpi_real_size", "MPI_REAL", (uintptr_t)MPI_REAL},
        {"mpi_double_precision_size", "MPI_DOUBLE_PRECISION", (uintptr_t)MPI_DOUBLE_PRECISION},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *value = mlt_info_get(info, sizes[i].key);
        uint64_t size = mlt_type_coded(sizes[i].handle)->size;
        char *end = NULL;
        if (!value)
            continue;
        unsigned long long wanted = strtoull(value, &end, 10);
        if (end == value || *end || wanted == 0)
            return mlt_mpi_raise(me, NULL, MLT_FN_Abi_set_fortran_info, MPI_ERR_INFO_VALUE,
                                 "the value of info key %s is \"%.64s\", but should be a number of "
                                 "bytes",
                                 sizes[i].key, value);
        if (wanted != size)
            return mlt_mpi_raise(me, NULL, MLT_FN_Abi_set_fortran_info, MPI_ERR_ABI,
                                 "info key %s is %llu, but %s has %llu bytes in Millet",
                                 sizes[i].key, wanted, sizes[i].type, (unsigned long long)size);
    }
    return MPI_SUCCESS;
}

static bool equal(const mlt_info *a, const mlt_info *b)
{
    int n = mlt_info_count(a);
    bool same = n == mlt_info_count(b);
    for (int i = 0; i < n && same; i++) {
        const char *key = mlt_info_key(a, i), *value = mlt_info_get(b, key);
        same = value && strcmp(value, mlt_info_get(a, key)) == 0;
    }
    return same;
}

int mlt_mpi_Abi_set_fortran_info(mlt_rank *me, MPI_Info info)
{
    mlt_info *given = mlt_info_of(info);
    if (!given)
        return mlt_bad_info(me, NULL, MLT_FN_Abi_set_fortran_info, info);
    int code = check_sizes(me, given);
    if (code != MPI_SUCCESS)
        return code;
    pthread_mutex_lock(&abi_lock);
    bool fine = !fortran.info || (fortran.teller != me && equal(fortran.info, given));
    if (!fortran.info) {
        fortran.info = mlt_info_dup(given);
        fortran.teller = me;
    }
    pthread_mutex_unlock(&abi_lock);
    if (fine)
        return MPI_SUCCESS;
    return mlt_mpi_raise(me, NULL, MLT_FN_Abi_set_fortran_info, MPI_ERR_ABI,
                         "the properties of Fortran's types are set already, and can be set once; "
                         "MPI_Abi_get_fortran_info gives them");
}

// ---- Fortran's .TRUE. and .FALSE.

// MPI_SUCCESS if the arguments are a size and two addresses.
static int check_booleans(mlt_rank *me, uint16_t fn, int size, const void *is_true,
                          const void *is_false)
{
    if (size < 1 || size > MOST_LOGICAL || (size & (size - 1)))
        return mlt_bad_value(me, NULL, fn, MPI_ERR_ARG, "logical_size", size, "1, 2, 4, 8 or 16");
    if (!is_true || !is_false)
        return mlt_bad_null(me, NULL, fn, MPI_ERR_ARG, is_true ? "logical_false" : "logical_true",
                            "the address of a LOGICAL");
    return MPI_SUCCESS;
}

int mlt_mpi_Abi_get_fortran_booleans(mlt_rank *me, int logical_size, void *logical_true,
                                     void *logical_false, int *is_set)
{
    int code = check_booleans(me, MLT_FN_Abi_get_fortran_booleans, logical_size, logical_true,
                              logical_false);
    if (code != MPI_SUCCESS)
        return code;
    pthread_mutex_lock(&abi_lock);
    *is_set = booleans.size == logical_size;
    if (*is_set) {
        memcpy(logical_true, booleans.is_true, (size_t)logical_size);
        memcpy(logical_false, booleans.is_false, (size_t)logical_size);
    }
    pthread_mutex_unlock(&abi_lock);
    return MPI_SUCCESS;
}

int mlt_mpi_Abi_set_fortran_booleans(mlt_rank *me, int logical_size, void *logical_true,
                                     void *logical_false)
{
    int code = check_booleans(me, MLT_FN_Abi_set_fortran_booleans, logical_size, logical_true,
                              logical_false);
    if (code != MPI_SUCCESS)
        return code;
    size_t bytes = (size_t)logical_size;
    if (memcmp(logical_true, logical_false, bytes) == 0)
        return mlt_mpi_raise(me, NULL, MLT_FN_Abi_set_fortran_booleans, MPI_ERR_ARG,
                             "arguments logical_true and logical_false are the same %d bytes, but "
                             "should be .TRUE. and .FALSE.",
                             logical_size);
    pthread_mutex_lock(&abi_lock);
    bool fine = !booleans.size || (booleans.teller != me && booleans.size == logical_size &&
                                   memcmp(booleans.is_true, logical_true, bytes) == 0 &&
                                   memcmp(booleans.is_false, logical_false, bytes) == 0);
    if (!booleans.size) {
        booleans.size = logical_size;
        booleans.teller = me;
        memcpy(booleans.is_true, logical_true, bytes);
        memcpy(booleans.is_false, logical_false, bytes);
    }
    pthread_mutex_unlock(&abi_lock);
    if (fine)
        return MPI_SUCCESS;
    return mlt_mpi_raise(me, NULL, MLT_FN_Abi_set_fortran_booleans, MPI_ERR_ABI,
                         "Fortran's .TRUE. and .FALSE. are set already, and can be set once; "
                         "MPI_Abi_get_fortran_booleans gives them");
}
