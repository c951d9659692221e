// SPDX-License-Identifier: BSD-3-Clause
// A host and control groups as files: the least of what they leave counts, of both versions and all
// levels.
#include "os/memory.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/unit_test.h"

static char root[] = "/tmp/millet_memory_XXXXXX";

// Writes a file in a folder of the root, which it makes.
static void put(const char *folder, const char *file, const char *text)
{
    char path[512];
    int n = snprintf(path, sizeof path, "%s/%s", root, folder);
    for (char *c = path + strlen(root) + 1; *c; c++)
        if (*c == '/') {
            *c = '\0';
            (void)mkdir(path, 0700);
            *c = '/';
        }
    (void)mkdir(path, 0700);
    snprintf(path + n, sizeof path - (size_t)n, "/%s", file);
    FILE *out = fopen(path, "w");
    CHECK(out && fputs(text, out) >= 0 && fclose(out) == 0);
}

static uint64_t left(void)
{
    char proc[64], groups[64];
    snprintf(proc, sizeof proc, "%s/proc", root);
    snprintf(groups, sizeof groups, "%s/groups", root);
    return mlt_os_memory_left(proc, groups);
}

static uint64_t kills(void)
{
    char proc[64], groups[64];
    snprintf(proc, sizeof proc, "%s/proc", root);
    snprintf(groups, sizeof groups, "%s/groups", root);
    return mlt_os_memory_kills(proc, groups);
}

static void remove_all(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    CHECK(system(command) == 0);
}

static void test_files(void)
{
    CHECK(left() == 0); // the system says nothing
    put("proc", "meminfo", "MemTotal: 900 kB\nMemAvailable:   800 kB\nSwapFree: 200 kB\n");
    CHECK(left() == 1000 * 1024);
    put("proc/self", "cgroup", "0::/a/b\n");
    CHECK(left() == 1000 * 1024); // groups without limits
    put("groups/a/b", "memory.max", "max\n");
    put("groups/a/b", "memory.current", "5000\n");
    CHECK(left() == 1000 * 1024);
    put("groups/a/b", "memory.max", "50000\n");
    CHECK(left() == 45000);
    put("groups/a/b", "memory.stat", "anon 3000\nfile 2000\n"); // files can be dropped
    CHECK(left() == 47000);
    put("groups/a", "memory.max", "30000\n"); // the one above allows less
    put("groups/a", "memory.current", "10000\n");
    CHECK(left() == 20000);
    put("groups", "memory.max", "100\n");
    put("groups", "memory.current", "101\n");
    CHECK(left() == 0);
    CHECK(kills() == 0); // the system says nothing
    put("groups/a/b", "memory.events", "max 7\noom 4\noom_kill 2\n");
    CHECK(kills() == 2);
    put("groups/a", "memory.events", "oom_kill 3\n");
    CHECK(kills() == 3);
}

static void test_old(void)
{
    put("proc/self", "cgroup", "9:cpu:/x\n7:memory:/y\n0::/none\n");
    put("groups", "memory.max", "max\n");
    put("groups/memory/y", "memory.limit_in_bytes", "70000\n");
    put("groups/memory/y", "memory.usage_in_bytes", "20000\n");
    put("groups/memory/y", "memory.stat", "cache 5\ntotal_cache 1000\n");
    CHECK(left() == 51000);
    CHECK(kills() == 0);
    put("groups/memory/y", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
    CHECK(kills() == 5);
}

int main(void)
{
    CHECK(mkdtemp(root));
    test_files();
    test_old();
    remove_all();
    CHECK(mlt_os_memory_left(MLT_OS_PROC, MLT_OS_GROUPS) > 0);
    puts("all right");
    return 0;
}
