// SPDX-License-Identifier: BSD-3-Clause
// Hints: what the user may ask for. MPI_File_get_info tells those that are in use, with their
// values; any other one is ignored, and not told.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/comm/shared.h"
#include "mpi/file/file.h"
#include "mpi/info/memkind.h"
#include "mpi_bodies.h"

// Bytes of windows in an exchange.
enum { ALL_WINDOWS = 16 << 20, HINTS_LEAST = 256 << 10, HINTS_MOST = 16 << 20 };

static const char *const hints_known[] = {"cb_buffer_size", "cb_nodes",      "collective_buffering",
                                          "romio_cb_write", "romio_ds_read", "romio_ds_write"};

enum { HINTS_KNOWN = sizeof hints_known / sizeof *hints_known };

// "enable", "disable", or something that says nothing.
static bool says(const mlt_file *file, const char *key, const char *word)
{
    const char *value = mlt_info_get(file->info, key);
    return value && strcmp(value, word) == 0;
}

static mlt_file_sieving hints_sieving(const mlt_file *file, const char *key)
{
    return says(file, key, "disable")  ? MLT_FILE_SIEVE_NEVER
           : says(file, key, "enable") ? MLT_FILE_SIEVE_ALWAYS
                                       : MLT_FILE_SIEVE_DENSE;
}

static mlt_file_exchanging exchanging(const mlt_file *file)
{
    if (says(file, "romio_cb_write", "disable") || says(file, "collective_buffering", "false"))
        return MLT_FILE_EXCHANGE_NEVER;
    return says(file, "romio_cb_write", "enable") ? MLT_FILE_EXCHANGE_ALWAYS
                                                  : MLT_FILE_EXCHANGE_SHORT;
}

// More writers than cores would only take turns.
static uint32_t writers(const mlt_file *file)
{
    const mlt_job *job = file->rank->worker->boot->job;
    uint32_t workers = mlt_comm_members(file->comm)->workers;
    const char *hint = mlt_info_get(file->info, "cb_nodes");
    unsigned long wanted = hint ? strtoul(hint, NULL, 10) : 0;
    if (wanted == 0)
        wanted = (unsigned long)job->cores * job->hosts;
    return wanted > 0 && wanted < workers ? (uint32_t)wanted : workers;
}

static uint64_t window(const mlt_file *file, uint32_t of)
{
    const char *hint = mlt_info_get(file->info, "cb_buffer_size");
    uint64_t wanted = hint ? strtoull(hint, NULL, 10) : ALL_WINDOWS / of;
    return wanted < HINTS_LEAST ? HINTS_LEAST : wanted > HINTS_MOST ? HINTS_MOST : wanted;
}

void mlt_file_take_hints(mlt_file *file)
{
    mlt_file_hints *h = &file->hints;
    h->sieve_reads = hints_sieving(file, "romio_ds_read");
    h->sieve_writes = hints_sieving(file, "romio_ds_write");
    h->exchange = exchanging(file);
    h->writers = writers(file);
    h->window = window(file, h->writers);
}

static const char *word_of(mlt_file_sieving sieve)
{
    return sieve == MLT_FILE_SIEVE_NEVER    ? "disable"
           : sieve == MLT_FILE_SIEVE_ALWAYS ? "enable"
                                            : "automatic";
}

static void set_number(mlt_info *info, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    mlt_info_set(info, key, text);
}

// An assertion that is not accepted leaves the one before.
static void take_assertion(mlt_file *file, const mlt_info *info)
{
    if (!mlt_memkind_asserts(info, mlt_memkind_of_comm(file->comm)))
        return;
    if (!file->info)
        file->info = mlt_info_new();
    mlt_info_set(file->info, MLT_MEMKIND_ASSERT, mlt_info_get(info, MLT_MEMKIND_ASSERT));
}

int mlt_mpi_File_set_info(mlt_rank *me, mlt_file *file, MPI_Info info)
{
    int code = mlt_file_check_info(me, file, info);
    if (code != MPI_SUCCESS)
        return code;
    for (int k = 0; k < HINTS_KNOWN && info != MPI_INFO_NULL; k++) {
        const char *value = mlt_info_get(mlt_info_of(info), hints_known[k]);
        if (value && !file->info)
            file->info = mlt_info_new();
        if (value)
            mlt_info_set(file->info, hints_known[k], value);
    }
    take_assertion(file, mlt_info_of(info));
    mlt_file_take_hints(file);
    return mlt_blocking_Barrier(me, file->comm);
}

int mlt_mpi_File_get_info(mlt_rank *me, mlt_file *file, MPI_Info *info_used)
{
    const mlt_file_hints *h = &file->hints;
    mlt_info *info = mlt_info_new();
    bool can_sieve = file->shared->locks && file->shared->readable;
    mlt_info_set(info, "filename", file->shared->path);
    set_number(info, "cb_nodes", h->writers);
    set_number(info, "cb_buffer_size", h->window);
    mlt_info_set(info, "collective_buffering",
                 h->exchange == MLT_FILE_EXCHANGE_NEVER ? "false" : "true");
    mlt_info_set(info, "romio_cb_write",
                 h->exchange == MLT_FILE_EXCHANGE_NEVER    ? "disable"
                 : h->exchange == MLT_FILE_EXCHANGE_ALWAYS ? "enable"
                                                           : "automatic");
    mlt_info_set(info, "romio_ds_read", word_of(h->sieve_reads));
    mlt_info_set(info, "romio_ds_write",
                 word_of(can_sieve ? h->sieve_writes : MLT_FILE_SIEVE_NEVER));
    mlt_memkind_tell(info, mlt_memkind_of_comm(file->comm), file->info);
    *info_used = mlt_info_handle(info);
    return MPI_SUCCESS;
}
