// SPDX-License-Identifier: BSD-3-Clause
// test/mutate/run copies this to the sources that it changes. All changes are in one library, and the environment says which of
// them a process has: MUTANT=NUMBER. With MUTANT_SEEN=FILE it has none, and writes a byte at each place of the file
// whose change it could have had. System calls are made past the functions of libc that Millet takes over.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

char *getenv(const char *name);
int atoi(const char *text);
long syscall(long number, ...);

enum { MUTANT_MOST = 4096, MUTANT_UNKNOWN = 0, MUTANT_NONE = -1, MUTANT_SEES = -2 };

static inline void mutant_see(int number)
{
    static unsigned char seen[MUTANT_MOST];
    if (seen[number])
        return;
    seen[number] = 1;
    int error = errno;
    long fd = syscall(SYS_openat, AT_FDCWD, getenv("MUTANT_SEEN"), O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)syscall(SYS_pwrite64, fd, "1", 1L, (long)number);
        (void)syscall(SYS_close, fd);
    }
    errno = error;
}

static inline int mutant(int number)
{
    static int chosen = MUTANT_UNKNOWN;
    if (chosen == MUTANT_UNKNOWN) {
        const char *text = getenv("MUTANT");
        chosen = getenv("MUTANT_SEEN") ? MUTANT_SEES : text ? atoi(text) : MUTANT_NONE;
    }
    if (chosen == MUTANT_SEES)
        mutant_see(number);
    return chosen == number;
}
