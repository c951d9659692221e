// SPDX-License-Identifier: BSD-3-Clause
// A moment after a library was loaded and before any of its constructors runs.
//
// The dynamic loader has no hook there, but it keeps a promise: of all objects that one dlopen
// brings in, one that is marked DF_1_INITFIRST is constructed first (`ld -z initfirst`). So what is
// loaded instead of the library is a prelude: a file of a few hundred bytes that needs the library,
// has that mark, and has one constructor, a function of this process.
#pragma once

#include <stdbool.h>

enum { MLT_PRELUDE_PATH = 64 };

typedef struct mlt_prelude {
    int fd;                      // of an anonymous file
    char path[MLT_PRELUDE_PATH]; // by which dlopen finds it
} mlt_prelude;

// Makes the prelude of a library, which dlopen can be given by that name. False: the system refuses,
// and errno tells why.
bool mlt_prelude_new(mlt_prelude *out, const char *library, void (*constructor)(void));

// Closes the file. If it is loaded, it stays so.
void mlt_prelude_free(mlt_prelude *prelude);
