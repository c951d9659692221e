// SPDX-License-Identifier: BSD-3-Clause
// A value that would be too long for an info object is left out rather than cut.
#include "mpi/info/info_env.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"
#include "boot/job.h"
#include "mpi/error/errhandler.h"
#include "mpi/info/memkind.h"

static void set_if_fits(mlt_info *info, const char *key, const char *value)
{
    if (strlen(value) < MPI_MAX_INFO_VAL)
        mlt_info_set(info, key, value);
}

void mlt_info_env_arguments(mlt_info *info, int argc, char *const *argv)
{
    char buffer[MPI_MAX_INFO_VAL];
    mlt_text words = mlt_text_on(buffer, sizeof buffer);
    if (argc <= 0 || !argv || !argv[0])
        return;
    set_if_fits(info, "command", argv[0]);
    for (int i = 1; i < argc && argv[i] && !words.cut; i++)
        mlt_text_add(&words, words.length ? " %s" : "%s", argv[i]);
    if (!words.cut)
        mlt_info_set(info, "argv", words.text);
}

// The arguments that the kernel keeps: words that end with 0.
static void add_command(mlt_info *info)
{
    enum { MOST = 2 * MPI_MAX_INFO_VAL }; // two values; more would not fit
    char words[MOST + 1], *argv[MOST / 2];
    int argc = 0;
    FILE *file = fopen("/proc/self/cmdline", "re");
    if (!file)
        return;
    size_t bytes = fread(words, 1, MOST, file);
    fclose(file);
    words[bytes] = '\0';
    for (size_t at = 0; at < bytes && argc < MOST / 2; at += strlen(words + at) + 1)
        argv[argc++] = words + at;
    if (bytes < MOST && argc < MOST / 2)
        mlt_info_env_arguments(info, argc, argv);
}

// The number of ranks that were asked for with this program; 1 without a launcher.
static void add_maxprocs(mlt_info *info)
{
    const char *fd = getenv("MILLET_JOB_FD"), *proc = getenv("MILLET_PROC");
    uint64_t ranks = 1;
    char text[32], why[256];
    mlt_job *job = NULL;
    if (fd && proc && mlt_job_open(atoi(fd), &job, why, sizeof why) == MLT_OK) {
        uint32_t own = (uint32_t)strtoul(proc, NULL, 10);
        ranks = own < job->procs ? 0 : 1;
        for (uint32_t p = 0; own < job->procs && p < job->procs; p++)
            if (mlt_job_proc_at(job, p)->app == mlt_job_proc_at(job, own)->app)
                ranks += mlt_job_proc_at(job, p)->ranks;
        mlt_job_close(job);
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)ranks);
    mlt_info_set(info, "maxprocs", text);
}

static const char *initial_errhandler(void)
{
    MPI_Errhandler initial = mlt_errhandler_initial();
    return initial == MPI_ERRORS_RETURN  ? "mpi_errors_return"
           : initial == MPI_ERRORS_ABORT ? "mpi_errors_abort"
                                         : "mpi_errors_are_fatal";
}

static mlt_info *info_env_make(void)
{
    char text[MPI_MAX_INFO_VAL];
    struct utsname system;
    mlt_info *info = mlt_info_new();
    add_command(info);
    add_maxprocs(info);
    if (gethostname(text, sizeof text) == 0 && memchr(text, '\0', sizeof text))
        mlt_info_set(info, "host", text);
    if (uname(&system) == 0)
        set_if_fits(info, "arch", system.machine);
    if (getcwd(text, sizeof text))
        mlt_info_set(info, "wdir", text);
    mlt_info_set(info, "mpi_initial_errhandler", initial_errhandler());
    set_if_fits(info, MLT_MEMKIND_KEY, mlt_memkind_of_job()); // as asked for, like the others
    return info;
}

mlt_info *mlt_info_env(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static mlt_info *_Atomic only;
    // acquire pairs with the release below: who sees the object sees its contents.
    mlt_info *info = atomic_load_explicit(&only, memory_order_acquire);
    if (info)
        return info;
    pthread_mutex_lock(&lock);
    info = atomic_load_explicit(&only, memory_order_relaxed);
    if (!info) {
        info = info_env_make();
        atomic_store_explicit(&only, info, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return info;
}
