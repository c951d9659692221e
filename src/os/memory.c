// SPDX-License-Identifier: BSD-3-Clause
#include "os/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// The number after that word in a file of lines "word number"; "": the first number. False: it has
// none ("max").
static bool number_in(const char *folder, const char *file, const char *word, uint64_t *out)
{
    char path[PATH_MAX], line[256];
    size_t n = strlen(word);
    bool found = false;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, file) >= sizeof path)
        return false;
    FILE *in = fopen(path, "re");
    while (in && !found && fgets(line, sizeof line, in))
        found = strncmp(line, word, n) == 0 && sscanf(line + n, "%" SCNu64, out) == 1;
    if (in)
        fclose(in);
    return found;
}

// What one control group leaves; UINT64_MAX: it has no limit. What it holds of files can be freed.
static uint64_t left_to(const char *folder, bool old)
{
    uint64_t most, now, files = 0;
    if (!number_in(folder, old ? "memory.limit_in_bytes" : "memory.max", "", &most) ||
        !number_in(folder, old ? "memory.usage_in_bytes" : "memory.current", "", &now))
        return UINT64_MAX;
    (void)number_in(folder, "memory.stat", old ? "total_cache " : "file ", &files);
    now -= files < now ? files : now;
    return most > now ? most - now : 0;
}

// Of a group and all above it; path begins with a slash, and is cut.
static uint64_t left_up(const char *groups, bool old, char *path)
{
    uint64_t left = UINT64_MAX;
    for (bool more = true; more;) {
        char folder[2 * PATH_MAX];
        snprintf(folder, sizeof folder, "%s%s%s", groups, old ? "/memory" : "", path);
        uint64_t here = left_to(folder, old);
        left = here < left ? here : left;
        char *slash = strrchr(path, '/');
        more = slash != NULL;
        if (more)
            *slash = '\0';
    }
    return left;
}

static uint64_t left_to_groups(const char *proc, const char *groups)
{
    char path[PATH_MAX], line[PATH_MAX];
    uint64_t left = UINT64_MAX;
    snprintf(path, sizeof path, "%s/self/cgroup", proc);
    FILE *in = fopen(path, "re");
    while (in && fgets(line, sizeof line, in)) { // "0::/path" or "7:memory:/path"
        line[strcspn(line, "\n")] = '\0';
        bool old = strstr(line, ":memory:/") != NULL;
        char *at = strchr(line, '/');
        if (!at || (!old && strncmp(line, "0::", 3) != 0))
            continue;
        uint64_t here = left_up(groups, old, at);
        left = here < left ? here : left;
    }
    if (in)
        fclose(in);
    return left;
}

uint64_t mlt_os_memory_left(const char *proc, const char *groups)
{
    uint64_t kib = 0, swap = 0;
    if (!number_in(proc, "meminfo", "MemAvailable:", &kib))
        return 0;
    (void)number_in(proc, "meminfo", "SwapFree:", &swap);
    uint64_t left = left_to_groups(proc, groups), host = (kib + swap) * 1024;
    return host < left ? host : left;
}
