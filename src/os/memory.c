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

// Looks at a control group, which is of the first version if `old`.
typedef void group_look(const char *folder, bool old, uint64_t *out);

static void look_left(const char *folder, bool old, uint64_t *out)
{
    uint64_t here = left_to(folder, old);
    *out = here < *out ? here : *out;
}

static void look_kills(const char *folder, bool old, uint64_t *out)
{
    uint64_t here = 0;
    (void)number_in(folder, old ? "memory.oom_control" : "memory.events", "oom_kill ", &here);
    *out = here > *out ? here : *out; // those of groups below count above, too
}

// A group and all above it; path begins with a slash, and is cut.
static void look_up(const char *groups, bool old, char *path, group_look *look, uint64_t *out)
{
    for (bool more = true; more;) {
        char folder[2 * PATH_MAX];
        snprintf(folder, sizeof folder, "%s%s%s", groups, old ? "/memory" : "", path);
        look(folder, old, out);
        char *slash = strrchr(path, '/');
        more = slash != NULL;
        if (more)
            *slash = '\0';
    }
}

static void look_at_groups(const char *proc, const char *groups, group_look *look, uint64_t *out)
{
    char path[PATH_MAX], line[PATH_MAX];
    snprintf(path, sizeof path, "%s/self/cgroup", proc);
    FILE *in = fopen(path, "re");
    while (in && fgets(line, sizeof line, in)) { // "0::/path" or "7:memory:/path"
        line[strcspn(line, "\n")] = '\0';
        bool old = strstr(line, ":memory:/") != NULL;
        char *at = strchr(line, '/');
        if (at && (old || strncmp(line, "0::", 3) == 0))
            look_up(groups, old, at, look, out);
    }
    if (in)
        fclose(in);
}

uint64_t mlt_os_memory_left(const char *proc, const char *groups)
{
    uint64_t kib = 0, swap = 0;
    if (!number_in(proc, "meminfo", "MemAvailable:", &kib))
        return 0;
    (void)number_in(proc, "meminfo", "SwapFree:", &swap);
    uint64_t left = (kib + swap) * 1024;
    look_at_groups(proc, groups, look_left, &left);
    return left;
}

uint64_t mlt_os_memory_kills(const char *proc, const char *groups)
{
    uint64_t kills = 0;
    look_at_groups(proc, groups, look_kills, &kills);
    return kills;
}
