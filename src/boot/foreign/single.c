// SPDX-License-Identifier: BSD-3-Clause
// A program that nobody started as a part of a job is a launcher for itself, with one process: so it
// gets an agent, as the processes of other launchers do, and may start jobs and connect with them.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "boot/foreign/launcher.h"
#include "os/fd.h"
#include "os/imports.h"

static char own_card[MLT_LAUNCHER_VALUE];

static mlt_status open_it(mlt_launcher *l, char *why, size_t why_size)
{
    uint64_t number; // so that no process that had this id before has the name
    if (mlt_os_random(&number, sizeof number) != MLT_OK)
        return mlt_fail(MLT_ERR_SYSTEM, why, why_size, "the system has no random bytes: %s",
                        strerror(errno));
    l->number = 0;
    l->size = 1;
    snprintf(l->job, sizeof l->job, "single %d %016llx", (int)getpid(), (unsigned long long)number);
    return MLT_OK;
}

static mlt_status single_put(mlt_launcher *l, const char *card, char *why, size_t why_size)
{
    snprintf(own_card, sizeof own_card, "%s", card);
    return MLT_OK;
}

static mlt_status single_fence(mlt_launcher *l, char *why, size_t why_size)
{
    return MLT_OK;
}

static mlt_status single_get(mlt_launcher *l, uint32_t of, char card[MLT_LAUNCHER_VALUE], char *why,
                             size_t why_size)
{
    memcpy(card, own_card, sizeof own_card);
    explicit_bzero(own_card, sizeof own_card); // it holds the job's key; nobody gets it twice
    return MLT_OK;
}

static void abort_it(mlt_launcher *l, int status)
{
}

static void close_it(mlt_launcher *l)
{
}

static const mlt_protocol protocol = {
    .name = "none",
    .open = open_it,
    .put = single_put,
    .fence = single_fence,
    .get = single_get,
    .abort = abort_it,
    .close = close_it,
};

bool mlt_launcher_singleton(mlt_launcher *l)
{
    static const char *const needs[] = {"MPI_Comm_spawn",   "MPI_Comm_spawn_multiple",
                                        "MPI_Open_port",    "MPI_Comm_accept",
                                        "MPI_Comm_connect", "MPI_Comm_join"};
    *l = (mlt_launcher){.fd = -1};
    if (!mlt_os_imports(needs, sizeof needs / sizeof *needs))
        return false;
    l->protocol = &protocol;
    l->name = "no launcher";
    return true;
}

bool mlt_launcher_is_single(const mlt_launcher *l)
{
    return l && l->protocol == &protocol;
}
