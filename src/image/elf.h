// SPDX-License-Identifier: BSD-3-Clause
// Reads which writable variables a program has, from its ELF tables. Any file may be given:
// everything in it is checked before it is used, and nothing that it says is trusted.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MLT_ELF_NAME = 64 };

typedef struct mlt_elf_global {
    char name[MLT_ELF_NAME]; // cut if longer
    uint64_t bytes;
    bool thread; // thread-local: of object files only
} mlt_elf_global;

typedef struct mlt_elf_globals {
    bool program;          // a dynamic 64-bit program, or a library, of this byte order; otherwise
                           // the rest is 0
    bool stripped;         // it has no names
    bool fixed;            // linked for one address
    uint64_t bytes;        // of all variables, or of writable data if stripped
    uint64_t unnamed;      // bytes of writable data, if the file has not all names of it: it is
                           // stripped, or a library that has only the names that it exports
    uint64_t align;        // the largest that a section of it wants, as the file has it
    size_t count;          // of all variables
    mlt_elf_global *first; // the smallest `kept` of them, in that order; freed by mlt_elf_fini
    size_t kept, room;
} mlt_elf_globals;

// Never fails: a file that cannot be understood has no globals. Keeps at most `most` names.
void mlt_elf_read(int fd, size_t most, mlt_elf_globals *out);
void mlt_elf_fini(mlt_elf_globals *globals);

// The variables that an object file's own source defines (`program`: it is an object file), all of
// them in the file's order, thread-local ones too. Not those that headers of C++ and compilers add
// to every file.
void mlt_elf_read_object(int fd, mlt_elf_globals *out);

// What a program or library needs to be loaded.
typedef struct mlt_elf_links {
    char **needed; // names of libraries
    size_t count;
    char *rpath, *runpath; // NULL: none
    char *strings;
} mlt_elf_links;

// False if the file is none, or is damaged: then it needs nothing. mlt_elf_links_fini in any case.
bool mlt_elf_links_read(int fd, mlt_elf_links *out);
void mlt_elf_links_fini(mlt_elf_links *links);

// Calls see(user, name) for each name that the file wants of others, until it returns true; then the
// result is true.
bool mlt_elf_imports(int fd, bool (*see)(void *user, const char *name), void *user);

// True if the file's table of dynamic names has that one.
bool mlt_elf_names(int fd, const char *name);
