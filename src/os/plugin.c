// SPDX-License-Identifier: BSD-3-Clause
#include "os/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"

// The folder of the file that this code was loaded from, without links.
static bool own_folder(char out[PATH_MAX])
{
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1(&own_folder, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return false;
    // The program itself has no name there.
    if (!realpath(map->l_name && map->l_name[0] ? map->l_name : mlt_os_program(), out))
        return false;
    char *slash = strrchr(out, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

static bool plugin_find(const char *file, char out[PATH_MAX], char *why, size_t why_size)
{
    static const char *const below[] = {"millet", "../lib/millet"};
    char folder[PATH_MAX];
    if (!own_folder(folder))
        return mlt_deny(why, why_size, "where Millet lies cannot be found, so neither can %s",
                        file);
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        int n = snprintf(out, PATH_MAX, "%s/%s/%s", folder, below[i], file);
        if (n > 0 && n < PATH_MAX && access(out, R_OK) == 0)
            return true;
    }
    return mlt_deny(why, why_size, "'%s' is missing, which belongs to Millet", out);
}

const mlt_plugin_head *mlt_os_plugin(const char *file, const char *table, uint32_t version,
                                     char *why, size_t why_size)
{
    char path[PATH_MAX];
    if (!plugin_find(file, path, why, why_size))
        return NULL;
    // The same object each time: dlopen counts and locks by itself, and nobody closes it.
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        snprintf(why, why_size, "'%s' cannot be loaded: %s", path, dlerror());
        return NULL;
    }
    const mlt_plugin_head *head = dlsym(object, table);
    if (head && head->version == version)
        return head;
    snprintf(why, why_size, "'%s' is of another version of Millet", path);
    return NULL;
}
