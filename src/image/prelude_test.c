// SPDX-License-Identifier: BSD-3-Clause
// What images count on: the loader constructs an object that is marked DF_1_INITFIRST before all
// others that it loads with it, when all of them are there and their symbols can be looked up.
#include "image/prelude.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/unit_test.h"

static char order[8]; // of constructors
static mlt_prelude library, prelude;
static bool found; // by the first constructor

static struct link_map *map_named(const char *name)
{
    struct link_map *map = _r_debug.r_map;
    while (map && strcmp(map->l_name, name) != 0)
        map = map->l_next;
    return map;
}

static void on_prelude(void)
{
    strcat(order, "p");
    struct link_map *map = map_named(prelude.path);
    found = map && map->l_next && strcmp(map->l_next->l_name, library.path) == 0 &&
            dlsym(map, "lgamma_r");
}

static void on_library(void)
{
    strcat(order, "l");
}

// Takes the mark away: then it is a library like any other.
static void unmark(const mlt_prelude *p)
{
    const Elf64_Dyn mark = {.d_tag = DT_FLAGS_1, .d_un = {DF_1_INITFIRST}},
                    none = {.d_tag = DT_DEBUG};
    char bytes[4096];
    ssize_t n = pread(p->fd, bytes, sizeof bytes, 0);
    char *at = n > 0 ? memmem(bytes, (size_t)n, &mark, sizeof mark) : NULL;
    CHECK(at && pwrite(p->fd, &none, sizeof none, at - bytes) == sizeof none);
}

// A library that needs libm, and its prelude. Both are unloaded again.
static void load(bool marked)
{
    order[0] = '\0';
    found = false;
    CHECK(mlt_prelude_new(&library, "libm.so.6", on_library));
    CHECK(mlt_prelude_new(&prelude, library.path, on_prelude));
    unmark(&library);
    if (!marked)
        unmark(&prelude);
    void *handle = dlopen(prelude.path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        printf("%s\n", dlerror());
    CHECK(handle && dlclose(handle) == 0);
    CHECK(!map_named(prelude.path) && !map_named(library.path));
    mlt_prelude_free(&prelude);
    mlt_prelude_free(&library);
}

int main(void)
{
    load(true);
    if (strcmp(order, "pl") != 0)
        printf("The loader does not construct an object that is marked DF_1_INITFIRST before those "
               "that it needs, so constructors of libraries that ranks load run too early.\n");
    CHECK(strcmp(order, "pl") == 0);
    if (!found)
        printf("Where an object that is marked DF_1_INITFIRST is constructed, what it needs is not "
               "next in the list of objects, or has no symbols yet.\n");
    CHECK(found);
    load(false);
    CHECK(strcmp(order, "lp") == 0); // so the mark is what does it
    return 0;
}
