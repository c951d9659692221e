// SPDX-License-Identifier: BSD-3-Clause
#include "os/symbols.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/unit_test.h"

static bool is(const void *pc, const char *name, uint64_t offset)
{
    mlt_os_symbol symbol = mlt_os_symbol_of(pc);
    return symbol.file && symbol.name && strcmp(symbol.name, name) == 0 && symbol.offset == offset;
}

int main(void)
{
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
