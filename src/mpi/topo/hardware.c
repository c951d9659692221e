// SPDX-License-Identifier: BSD-3-Clause
// Where a thread may run is one system call, but which parts of the machine that is takes many
// small files: what was found for a set of processors is kept, for a million ranks may ask.
#include "mpi/topo/hardware.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "boot/ctl.h"
#include "mpi/info/info.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

enum {
    HW_MACHINE,
    HW_PACKAGE,
    HW_NUMA_NODE,
    HW_L3_CACHE,
    HW_CORE,
    HW_PU,
    HW_HOST,
    HW_PROCESS,
    HW_WORKER,
    HW_TYPES
};
enum { HARDWARE = HW_HOST, MOST_NODES = 1024, MOST_CACHES = 10, MOST_CPUS = 1 << 20, ABSENT = -3 };

static const char *const hardware_names[HW_TYPES + 1] = {
    [HW_MACHINE] = "hwloc://Machine",    [HW_PACKAGE] = "hwloc://Package",
    [HW_NUMA_NODE] = "hwloc://NUMANode", [HW_L3_CACHE] = "hwloc://L3Cache",
    [HW_CORE] = "hwloc://Core",          [HW_PU] = "hwloc://PU",
    [HW_HOST] = "millet://Host",         [HW_PROCESS] = "millet://Process",
    [HW_WORKER] = "millet://Worker",
};

// What was found for a set of processors.
typedef struct found {
    struct found *next;
    int instance[HARDWARE]; // an index, MLT_HARDWARE_FREE, or ABSENT: this machine says nothing
    size_t bytes;
    unsigned char set[]; // a cpu_set_t of that many bytes
} found;

static pthread_mutex_t hardware_lock = PTHREAD_MUTEX_INITIALIZER;
static found *all_found; // entries stay and do not change

// ---- what /sys says

static bool hardware_read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t n = fread(text, 1, size - 1, file);
    fclose(file);
    text[n] = '\0';
    return n > 0;
}

// Reads a list such as "0-3,8" into set. False: there is no such file, or it is empty.
static bool read_list(const char *path, cpu_set_t *set, size_t bytes)
{
    char text[4096];
    if (!hardware_read_text(path, text, sizeof text) || !isdigit((unsigned char)text[0]))
        return false;
    CPU_ZERO_S(bytes, set);
    for (char *at = text; isdigit((unsigned char)*at); at += *at == ',') {
        unsigned long first = strtoul(at, &at, 10), last = first;
        if (*at == '-')
            last = strtoul(at + 1, &at, 10);
        for (; first <= last && first < bytes * 8; first++)
            CPU_SET_S(first, bytes, set);
    }
    return true;
}

static int first_of(const cpu_set_t *set, size_t bytes)
{
    for (size_t cpu = 0; cpu < bytes * 8; cpu++)
        if (CPU_ISSET_S(cpu, bytes, set))
            return (int)cpu;
    return -1;
}

// The processors that share the third-level cache of `cpu`.
static bool read_cache(int cpu, cpu_set_t *set, size_t bytes)
{
    char path[128], level[16];
    for (int i = 0; i < MOST_CACHES; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/level", cpu, i);
        if (!hardware_read_text(path, level, sizeof level))
            return false;
        if (atoi(level) != 3)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list",
                 cpu, i);
        return read_list(path, set, bytes);
    }
    return false;
}

// The number of the memory node of `cpu`; -1: not known.
static int read_node(int cpu, cpu_set_t *set, size_t bytes)
{
    char path[128];
    int missing = 0;
    for (int node = 0; node < MOST_NODES && missing < 64; node++) {
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
        if (!read_list(path, set, bytes))
            missing++;
        else if (CPU_ISSET_S(cpu, bytes, set))
            return node;
    }
    return -1;
}

static bool read_topology(int cpu, const char *name, const char *old_name, cpu_set_t *set,
                          size_t bytes)
{
    const char *files[] = {name, old_name};
    for (int i = 0; i < 2; i++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, files[i]);
        if (read_list(path, set, bytes))
            return true;
    }
    return false;
}

// The instance of the type that holds `cpu`: its processors, and its index, which is the number of
// its first processor where it has none of its own. ABSENT: the system does not say.
static int instance_with(int type, int cpu, cpu_set_t *set, size_t bytes)
{
    bool known = false;
    switch (type) {
    case HW_MACHINE:
        memset(set, 0xff, bytes);
        return 0;
    case HW_NUMA_NODE: {
        int node = read_node(cpu, set, bytes);
        return node < 0 ? ABSENT : node;
    }
    case HW_PU:
        CPU_ZERO_S(bytes, set);
        CPU_SET_S(cpu, bytes, set);
        return cpu;
    case HW_PACKAGE:
        known = read_topology(cpu, "package_cpus_list", "core_siblings_list", set, bytes);
        break;
    case HW_L3_CACHE:
        known = read_cache(cpu, set, bytes);
        break;
    case HW_CORE:
        known = read_topology(cpu, "core_cpus_list", "thread_siblings_list", set, bytes);
        break;
    }
    return known && CPU_ISSET_S(cpu, bytes, set) ? first_of(set, bytes) : ABSENT;
}

// ---- where the calling thread may run

// Its processors; NULL if the system does not say.
static cpu_set_t *allowed_set(size_t *bytes)
{
    for (size_t limit = 1024; limit <= MOST_CPUS; limit *= 2) {
        cpu_set_t *set = CPU_ALLOC(limit);
        *bytes = CPU_ALLOC_SIZE(limit);
        if (!set)
            return NULL;
        if (sched_getaffinity(0, *bytes, set) == 0)
            return set;
        CPU_FREE(set);
        if (errno != EINVAL)
            return NULL;
    }
    return NULL;
}

static found *find_out(const cpu_set_t *allowed, size_t bytes)
{
    found *f = malloc(sizeof *f + bytes);
    cpu_set_t *set = CPU_ALLOC(bytes * 8), *common = CPU_ALLOC(bytes * 8);
    if (!f || !set || !common)
        mlt_no_room("the processors of this machine");
    f->bytes = bytes;
    memcpy(f->set, allowed, bytes);
    int cpu = first_of(allowed, bytes);
    for (int type = 0; type < HARDWARE; type++) {
        f->instance[type] = cpu < 0 ? ABSENT : instance_with(type, cpu, set, bytes);
        if (f->instance[type] == ABSENT)
            continue;
        CPU_AND_S(bytes, common, allowed, set);
        if (!CPU_EQUAL_S(bytes, common, allowed))
            f->instance[type] = MLT_HARDWARE_FREE;
    }
    CPU_FREE(set);
    CPU_FREE(common);
    return f;
}

static int hardware_instance(int type)
{
    size_t bytes;
    cpu_set_t *allowed = allowed_set(&bytes);
    if (!allowed)
        return ABSENT;
    pthread_mutex_lock(&hardware_lock);
    found *f = all_found;
    while (f && (f->bytes != bytes || memcmp(f->set, allowed, bytes) != 0))
        f = f->next;
    if (!f) {
        f = find_out(allowed, bytes);
        f->next = all_found;
        all_found = f;
    }
    pthread_mutex_unlock(&hardware_lock);
    CPU_FREE(allowed);
    return f->instance[type];
}

// Hosts number their hardware alike. What is not restricted, or not known, stays so.
static int in_job(const mlt_rank *me, int instance)
{
    if (!me || instance < 0)
        return instance;
    const mlt_job *job = me->worker->boot->job;
    int64_t index = (int64_t)instance * job->hosts + job->host;
    return index <= INT_MAX ? (int)index : MLT_HARDWARE_FREE;
}

// As mlt_hardware_instance, or ABSENT.
static int hardware_instance_of(int type)
{
    const mlt_rank *me = mlt_rank_self();
    switch (type) {
    case HW_HOST:
        return me ? (int)me->worker->boot->job->host : 0;
    case HW_PROCESS:
        return me ? (int)me->worker->boot->proc : ABSENT;
    case HW_WORKER:
        return me ? (int)me->worker->index : ABSENT;
    }
    return in_job(me, hardware_instance(type));
}

// ---- the contract

int mlt_hardware_instance(const char *type_uri)
{
    for (int type = 0; type < HW_TYPES; type++)
        if (strcmp(hardware_names[type], type_uri) == 0) {
            int instance = hardware_instance_of(type);
            return instance == ABSENT ? MLT_HARDWARE_FREE : instance;
        }
    return MLT_HARDWARE_UNKNOWN;
}

const char *mlt_hardware_type(size_t i)
{
    return i < HW_TYPES ? hardware_names[i] : NULL;
}

int mlt_mpi_Get_hw_resource_info(mlt_rank *me, MPI_Info *hw_info)
{
    mlt_info *info = mlt_info_new();
    for (int type = 0; type < HW_TYPES; type++) {
        int instance = hardware_instance_of(type);
        if (instance != ABSENT)
            mlt_info_set(info, hardware_names[type], instance >= 0 ? "true" : "false");
    }
    *hw_info = mlt_info_handle(info);
    return MPI_SUCCESS;
}
