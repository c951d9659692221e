// SPDX-License-Identifier: BSD-3-Clause
#include "os/symbols.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__LINE__, #condition))

static void check_failed(int line, const char *condition)
{
    failures++;
    fprintf(stderr, "symbols_test.c:%d: '%s' does not hold\n", line, condition);
}

static bool is(const void *pc, const char *name, uint64_t offset)
{
    mlt_os_symbol symbol = mlt_os_symbol_of(pc);
    return symbol.file && symbol.name && strcmp(symbol.name, name) == 0 && symbol.offset == offset;
}

int main(void)
{
    const char *own = (const char *)(uintptr_t)check_failed;
    CHECK(is(own, "check_failed", 0));
    CHECK(is(own + 3, "check_failed", 3));
    CHECK(is((const char *)(uintptr_t)mlt_os_symbol_of + 1, "mlt_os_symbol_of", 1));
    CHECK(is(own, "check_failed", 0)); // the same file again
    int local;
    CHECK(!mlt_os_symbol_of(&local).file); // no code
    CHECK(!mlt_os_symbol_of(NULL).file);
    if (!failures)
        puts("all right");
    return failures != 0;
}
