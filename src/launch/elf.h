// SPDX-License-Identifier: BSD-3-Clause
// Reads which writable variables a program has, from its ELF tables. Any file may be given:
// everything in it is checked before it is used, and nothing that it says is trusted.
#ifndef MLT_LAUNCH_ELF_H
#define MLT_LAUNCH_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MLT_ELF_NAME = 64 };

typedef struct mlt_elf_global {
    char name[MLT_ELF_NAME]; // cut if longer
    uint64_t bytes;
} mlt_elf_global;

typedef struct mlt_elf_globals {
    bool program;          // a dynamic 64-bit program of this byte order; otherwise the rest is 0
    bool mpi;              // it names the MPI library among those it needs
    bool stripped;         // it has no names
    uint64_t bytes;        // of all variables, or of writable data if stripped
    size_t count;          // of all variables
    mlt_elf_global *first; // the first `kept` of them; freed by mlt_elf_fini
    size_t kept;
} mlt_elf_globals;

// Never fails: a file that cannot be understood has no globals. Keeps at most `most` names.
void mlt_elf_read(int fd, size_t most, mlt_elf_globals *out);
void mlt_elf_fini(mlt_elf_globals *globals);

#endif
