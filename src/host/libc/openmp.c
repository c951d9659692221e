// SPDX-License-Identifier: BSD-3-Clause
// LLVM's and Intel's OpenMP notes in a segment of shared memory, named after the process, that it is
// there, and ends a process in which it finds another copy of itself. Each rank has one, so each has
// its own segment.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/export.h"
#include "host/globals.h"
#include "host/libc/libc.h"
#include "host/start.h"

#if MLT_TAKES_OVER

enum { OPENMP_NAME_BYTES = 128 };

// The rank's own name for the segment; others stay as they are.
static const char *own_name(const char *name, char own[OPENMP_NAME_BYTES])
{
    static const char notes[] = "/__KMP_REGISTERED_LIB_";
    const mlt_rank *me =
        name && strncmp(name, notes, sizeof notes - 1) == 0 && mlt_globals_are_own()
            ? mlt_thread_rank()
            : NULL;
    if (!me || mlt_globals_index(me) == 0) // whose copy goes away with the process
        return name;
    snprintf(own, OPENMP_NAME_BYTES, "%.100s_rank%d", name, (int)me->world);
    return own;
}

MLT_INTERPOSE int shm_open(const char *name, int flags, mode_t mode)
{
    char own[OPENMP_NAME_BYTES];
    return MLT_LIBC(shm_open)(own_name(name, own), flags, mode);
}

MLT_INTERPOSE int shm_unlink(const char *name)
{
    char own[OPENMP_NAME_BYTES];
    return MLT_LIBC(shm_unlink)(own_name(name, own));
}

#endif
