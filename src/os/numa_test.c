// SPDX-License-Identifier: BSD-3-Clause
// Nodes as the system lists them, from folders that are made up; and where pages are to lie, as the
// kernel tells it, on a machine of any number of nodes.
#include "os/numa.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unit_test.h"

static uint32_t nodes_of(const char *list)
{
    char folder[] = "/tmp/numa_test.XXXXXX", path[64];
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/has_memory", folder);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(list, f) >= 0 && fclose(f) == 0);
    uint32_t count = mlt_os_nodes(folder);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
    return count;
}

static void test_nodes(void)
{
    CHECK(nodes_of("0\n") == 1 && nodes_of("0-1\n") == 2 && nodes_of("0,2-4,8\n") == 5);
    CHECK(nodes_of("0-7\n") == 8 && nodes_of("") == 1 && nodes_of("none\n") == 1);
    CHECK(nodes_of("3-1\n") == 1 && nodes_of("0-4294967295\n") == 1);
    CHECK(mlt_os_nodes("/nowhere") == 1);
    CHECK(mlt_os_nodes(MLT_OS_NODES) >= 1);
    CHECK(mlt_os_node() < 1024);
}

// The policy of a page, and whether it prefers that node. 77: the system does not tell.
static int policy_of(void *page, uint32_t node, bool *prefers)
{
    unsigned long mask[16] = {0};
    int mode = -1;
    if (syscall(SYS_get_mempolicy, &mode, mask, 1024ul, page, (unsigned long)MPOL_F_ADDR) != 0) {
        fprintf(stderr, "skipped: the system does not tell where pages are to lie (%s)\n",
                strerror(errno));
        exit(77);
    }
    *prefers = mode == MPOL_PREFERRED && mask[node / 64] == 1ul << node % 64;
    return mode;
}

static void test_prefer(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint32_t node = mlt_os_node();
    bool prefers;
    char *at = mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    CHECK(policy_of(at, node, &prefers) == MPOL_DEFAULT);
    if (mlt_os_prefer_node(at + 1, 4 * page, node) != MLT_OK) {
        fprintf(stderr, "skipped: the system does not let pages be placed\n");
        exit(77);
    }
    // Whole pages only: 1 to 3.
    for (size_t p = 0; p < 8; p++) {
        policy_of(at + p * page, node, &prefers);
        CHECK(prefers == (p >= 1 && p <= 3));
    }
    errno = 5;
    CHECK(mlt_os_prefer_node(at + 1, page, node) == MLT_OK); // no whole page
    CHECK(mlt_os_prefer_node(at, page, 1023) != MLT_OK);     // there is no such node
    CHECK(mlt_os_prefer_node(at, page, 1024) == MLT_ERR_INVALID && errno == 5);
    munmap(at, 8 * page);
}

int main(void)
{
    test_nodes();
    test_prefer();
    return 0;
}
