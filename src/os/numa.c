// SPDX-License-Identifier: BSD-3-Clause
#include "os/numa.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os.h"

enum { MOST_NODES = 1024 }; // of a mask

// Numbers of a list such as "0-3,8".
static uint32_t count_list(const char *text)
{
    uint32_t count = 0;
    while (*text >= '0' && *text <= '9') {
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (last >= first && last < MOST_NODES)
            count += (uint32_t)(last - first + 1);
        text = *end == ',' ? end + 1 : end;
    }
    return count;
}

uint32_t mlt_os_nodes(const char *folder)
{
    char path[256], text[1024];
    snprintf(path, sizeof path, "%s/has_memory", folder);
    (void)mlt_os_read_text(path, text, sizeof text);
    uint32_t count = count_list(text);
    return count ? count : 1;
}

uint32_t mlt_os_node(void)
{
    unsigned cpu, node;
    return syscall(SYS_getcpu, &cpu, &node, NULL) == 0 ? node : 0;
}

mlt_status mlt_os_prefer_node(void *at, uint64_t bytes, uint32_t node)
{
    enum { BITS = 8 * sizeof(unsigned long) };
    unsigned long mask[MOST_NODES / BITS] = {0};
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)at + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)at + bytes) / page * page;
    if (node >= MOST_NODES)
        return MLT_ERR_INVALID;
    if (begin >= end)
        return MLT_OK;
    int saved = errno;
    mask[node / BITS] = 1ul << node % BITS;
    // The kernel takes one bit less than it is told of.
    long result = syscall(SYS_mbind, begin, end - begin, MPOL_PREFERRED, mask,
                          (unsigned long)MOST_NODES + 1, 0);
    errno = saved;
    return result == 0 ? MLT_OK : MLT_ERR_UNSUPPORTED;
}
