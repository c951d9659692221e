// SPDX-License-Identifier: BSD-3-Clause
//
// A rank that binds itself finds its own mask afterwards, whatever other ranks of its process have
// bound themselves to, and so do threads that it starts. Where ranks share a worker, the worker's
// thread stays where it was. Sanitizers have libc's functions for themselves: with them ranks that
// share a worker move it.

#define _GNU_SOURCE // beyond C11: cpu_set_t

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

enum { WAYS = 3 }; // sched_..., pthread_..., without libc

static int set(int way, const cpu_set_t *mask)
{
    switch (way) {
    case 0:
        return sched_setaffinity(0, sizeof *mask, mask);
    case 1:
        return pthread_setaffinity_np(pthread_self(), sizeof *mask, mask);
    default:
        return (int)syscall(SYS_sched_setaffinity, gettid(), sizeof *mask, mask);
    }
}

static cpu_set_t get(int way)
{
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (way == 0)
        CHECK_INT(sched_getaffinity(gettid(), sizeof mask, &mask), 0);
    else if (way == 1)
        CHECK_INT(pthread_getaffinity_np(pthread_self(), sizeof mask, &mask), 0);
    else
        CHECK(syscall(SYS_sched_getaffinity, 0, sizeof mask, &mask) > 0);
    return mask;
}

static void *look(void *mask)
{
    *(cpu_set_t *)mask = get(0);
    return NULL;
}

// Where the system lets the thread run, whatever the functions say.
static void read_truth(char line[256])
{
    FILE *about = fopen("/proc/thread-self/status", "r");
    CHECK(about != NULL);
    while (about && fgets(line, 256, about) && strncmp(line, "Cpus_allowed_list:", 18) != 0) {
    }
    fclose(about);
    CHECK(strncmp(line, "Cpus_allowed_list:", 18) == 0);
}

static cpu_set_t every(void)
{
    cpu_set_t all;
    CPU_ZERO(&all);
    for (long i = 0; i < sysconf(_SC_NPROCESSORS_CONF) && i < CPU_SETSIZE; i++)
        CPU_SET((size_t)i, &all);
    return all;
}

// Ranks take turns with the processors there are.
static cpu_set_t choose(int rank)
{
    cpu_set_t all = every(), one;
    int want = rank % CPU_COUNT(&all);
    CPU_ZERO(&one);
    CPU_SET((size_t)want, &one);
    return one;
}

static void check_none(void)
{
    cpu_set_t none;
    CPU_ZERO(&none);
    errno = 0;
    CHECK_INT(sched_setaffinity(0, sizeof none, &none), -1);
    CHECK_INT(errno, EINVAL);
    CHECK_INT(pthread_setaffinity_np(pthread_self(), sizeof none, &none), EINVAL);
    CHECK_INT(syscall(SYS_sched_setaffinity, 0, sizeof none, &none), -1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank();
    int shares = argc > 1; // a worker
    char before[256], after[256];
    read_truth(before);
    cpu_set_t all = every(), own = choose(rank);
    if (set(0, &all) != 0) // a container may have less
        all = get(0);
    for (int way = 0; way < WAYS && !(SANITIZED && shares); way++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (set(way, &own) != 0)
            continue; // a processor that the system does not give to this process
        MPI_Barrier(MPI_COMM_WORLD);
        for (int w = 0; w < WAYS; w++) {
            cpu_set_t now = get(w);
            CHECK(CPU_EQUAL(&now, &own));
        }
        cpu_set_t seen;
        pthread_t thread;
        CHECK_INT(pthread_create(&thread, NULL, look, &seen), 0);
        CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK(CPU_EQUAL(&seen, &own));
        check_none();
        CHECK_INT(set(way, &all), 0);
    }
    read_truth(after);
    if (shares && !SANITIZED)
        CHECK(strcmp(after, before) == 0);
    MPI_Finalize();
    return 0;
}
