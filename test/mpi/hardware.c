// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Get_hw_resource_info: the types that it knows, and what becomes true when the rank's thread
// may run on one processor only.

#define _GNU_SOURCE
#include <sched.h>

#include "check.h"

// 1: true, 0: false, -1: there is no such key.
static int value_of(const char *type)
{
    char value[16] = "";
    int room = (int)sizeof value, flag = 0;
    MPI_Info info = MPI_INFO_NULL;
    CHECK_OK(MPI_Get_hw_resource_info(&info));
    CHECK(info != MPI_INFO_NULL);
    CHECK_OK(MPI_Info_get_string(info, type, &room, value, &flag));
    CHECK_OK(MPI_Info_free(&info));
    if (!flag)
        return -1;
    CHECK(strcmp(value, "true") == 0 || strcmp(value, "false") == 0);
    return strcmp(value, "true") == 0;
}

static void check_keys(void)
{
    char key[MPI_MAX_INFO_KEY + 1];
    int n = 0;
    MPI_Info info;
    CHECK_OK(MPI_Get_hw_resource_info(&info));
    CHECK_OK(MPI_Info_get_nkeys(info, &n));
    CHECK(n >= 5);
    for (int i = 0; i < n; i++) {
        CHECK_OK(MPI_Info_get_nthkey(info, i, key));
        CHECK(strstr(key, "://") != NULL);
    }
    CHECK_OK(MPI_Info_free(&info));
    CHECK_INT(value_of("hwloc://Machine"), 1);
    CHECK_INT(value_of("millet://Host"), 1);
    CHECK_INT(value_of("millet://Process"), 1);
    CHECK_INT(value_of("millet://Worker"), 1);
    CHECK_INT(value_of("hwloc://Toaster"), -1);
}

// Ranks of one thread share its affinity: each sets what it looks at, without a call between that
// lets another one run.
static void check_affinity(void)
{
    cpu_set_t all, one;
    const char *narrow[] = {"hwloc://Package", "hwloc://NUMANode", "hwloc://L3Cache",
                            "hwloc://Core"};
    CHECK_INT(sched_getaffinity(0, sizeof all, &all), 0);
    CHECK_INT(value_of("hwloc://PU"), CPU_COUNT(&all) == 1);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        CHECK_INT(sched_setaffinity(0, sizeof one, &one), 0);
        CHECK_INT(value_of("hwloc://PU"), 1);
        for (int i = 0; i < COUNT_OF(narrow); i++)
            CHECK(value_of(narrow[i]) != 0); // true, or the machine has none
        CHECK_INT(sched_setaffinity(0, sizeof all, &all), 0);
    }
    CHECK_INT(value_of("hwloc://PU"), CPU_COUNT(&all) == 1);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    check_keys();
    check_affinity();
    CHECK_ERROR(MPI_Get_hw_resource_info(NULL), MPI_ERR_ARG, "MPI_Get_hw_resource_info", "hw_info");
    CHECK_OK(MPI_Finalize());
    return 0;
}
