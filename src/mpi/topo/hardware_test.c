// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/topo/hardware.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/unit_test.h"

// On one processor, every part that the machine has is the one instance around it: two processors
// of one instance give the same index, and an instance is never that of a processor outside it.
static void test_processors(const cpu_set_t *all)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, all))
            continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
        CHECK(mlt_hardware_instance("hwloc://PU") == cpu);
        CHECK(mlt_hardware_instance("hwloc://Machine") == 0);
        CHECK(mlt_hardware_instance("hwloc://Core") <= cpu);
        CHECK(mlt_hardware_instance("hwloc://Package") <= cpu);
        CHECK(mlt_hardware_instance("hwloc://L3Cache") <= cpu);
        CHECK(mlt_hardware_instance("hwloc://PU") == cpu); // from what was kept
    }
    CHECK(sched_setaffinity(0, sizeof *all, all) == 0);
}

int main(void)
{
    cpu_set_t all;
    size_t types = 0;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    bool one = CPU_COUNT(&all) == 1;
    CHECK((mlt_hardware_instance("hwloc://PU") == MLT_HARDWARE_FREE) == !one);
    test_processors(&all);
    CHECK((mlt_hardware_instance("hwloc://PU") == MLT_HARDWARE_FREE) == !one);
    CHECK(mlt_hardware_instance("hwloc://Toaster") == MLT_HARDWARE_UNKNOWN);
    CHECK(mlt_hardware_instance("") == MLT_HARDWARE_UNKNOWN);
    CHECK(mlt_hardware_instance("millet://Host") == 0);
    CHECK(mlt_hardware_instance("millet://Worker") == MLT_HARDWARE_FREE); // no rank runs here
    while (mlt_hardware_type(types)) {
        CHECK(mlt_hardware_instance(mlt_hardware_type(types)) != MLT_HARDWARE_UNKNOWN);
        types++;
    }
    CHECK(types == 9);
    return 0;
}
