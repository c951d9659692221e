// SPDX-License-Identifier: BSD-3-Clause
// Names of functions for a crash report, also of those that are not exported: from the symbol table
// of the file that they were loaded from. For signal handlers and any thread: no stdio, no malloc,
// no locks of our own; the file is mapped once and stays so, and nothing in it is trusted.
#pragma once

#include <stdint.h>

typedef struct mlt_os_symbol {
    const char *file; // that holds the code; NULL: none is known
    const char *name; // NULL: the file has none for it
    uint64_t offset;  // from the function's start, or from where the file was loaded
} mlt_os_symbol;

// What code this address belongs to.
mlt_os_symbol mlt_os_symbol_of(const void *pc);
