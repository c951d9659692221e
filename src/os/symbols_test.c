// SPDX-License-Identifier: BSD-3-Clause
#include "os/symbols.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"

static bool is(const void *pc, const char *name, uint64_t offset)
{
    mlt_os_symbol symbol = mlt_os_symbol_of(pc);
    return symbol.file && symbol.name && strcmp(symbol.name, name) == 0 && symbol.offset == offset;
}

// Threads that look at two files in turn, while others map them.
static void *look(void *unused)
{
    for (int i = 0; i < 200; i++) {
        CHECK(is((const char *)(uintptr_t)failed + 3, "failed", 3));
        CHECK(mlt_os_symbol_of((const void *)(uintptr_t)strtol).file);
    }
    return unused;
}

static void check_threads(void)
{
    pthread_t threads[4];
    for (int t = 0; t < 4; t++)
        CHECK(pthread_create(&threads[t], NULL, look, NULL) == 0);
    for (int t = 0; t < 4; t++)
        CHECK(pthread_join(threads[t], NULL) == 0);
}

int main(void)
{
    check_threads();
    const char *own = (const char *)(uintptr_t)failed;
    CHECK(is(own, "failed", 0));
    CHECK(is(own + 3, "failed", 3));
    CHECK(is((const char *)(uintptr_t)mlt_os_symbol_of + 1, "mlt_os_symbol_of", 1));
    CHECK(is(own, "failed", 0)); // the same file again
    int local = 0;
    CHECK(!mlt_os_symbol_of(&local).file); // no code
    CHECK(!mlt_os_symbol_of(NULL).file);
    puts("all right");
    return 0;
}
