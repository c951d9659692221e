// SPDX-License-Identifier: BSD-3-Clause
// What the dynamic loader has loaded, object by object: the program and its libraries.
//
// Everything is read from memory that the loader has checked and mapped, but for the initial values
// of data, which are read from the file.
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MLT_OBJECT_NONE UINT32_MAX
enum { MLT_OBJECT_PIECES = 16 };

// A stretch of an object's addresses, in whole pages, that one mapping serves.
typedef struct mlt_object_map {
    uintptr_t from, to; // relative to the object's base
    uint64_t offset;    // in the file
    int prot;
    bool writable;
} mlt_object_map;

typedef struct mlt_object {
    char *path;
    int fd;         // -1: not open
    int error;      // errno, if it cannot be opened
    bool program;   // not a library
    bool fixed;     // linked for one address: there can be no copy of it
    bool may;       // may be a rank's own: the program and its own libraries
    bool own;       // has an image for each rank
    bool silenced;  // the loader runs no constructors and destructors of the original (late.h)
    uintptr_t base; // what the file's addresses are relative to
    uintptr_t start, end; // where it lies, in whole pages
    uintptr_t align;      // its copies must lie at the same distance from a multiple of this
    uintptr_t span;       // bytes of whole pages that it takes in an image
    const Elf64_Phdr *headers;
    size_t header_count;
    mlt_object_map piece[MLT_OBJECT_PIECES];
    uint32_t pieces;
    uintptr_t relro_from, relro_to; // addresses that only the loader writes
    const Elf64_Phdr *tls;          // NULL: none
    size_t tls_module;

    // The dynamic section; addresses.
    const Elf64_Rela *rela, *slots; // slots: of the procedure linkage table
    size_t rela_count, slots_count;
    const Elf64_Relr *relr;
    size_t relr_count;
    const Elf64_Sym *symbols;
    const char *strings;
    const uint32_t *gnu_hash, *sysv_hash;
    const uint16_t *versions;
    const void *needed_versions;
    size_t needed_versions_count;
    const void *own_versions;
    size_t own_versions_count;
    bool text_relocations;
    bool stays; // dlclose must not unload it: it says so, or has symbols that exist once a process
    uintptr_t init, fini, preinit_array, init_array, fini_array; // 0: none
    size_t preinit_count, init_count, fini_count;
    const Elf64_Dyn *dynamic;
    char *refused; // why ranks cannot have their own, though they should; NULL: they can
    void *scope; // a handle: where its symbols are looked for beside the global ones; NULL: nowhere
} mlt_object;

// All of them, in the order of loading; *count. Objects without a file (the kernel's) are left out.
mlt_object *mlt_objects_new(uint32_t *count);
// `known` ones, which stay as they are, and after them those that were loaded since, but for the one
// that is named `without` (NULL: none is left out). known_count must be above 0.
mlt_object *mlt_objects_since(const mlt_object *known, uint32_t known_count, const char *without,
                              uint32_t *count);
// first: how many of them belong to another array, too.
void mlt_objects_free(mlt_object *objects, uint32_t first, uint32_t count);

// Opens and closes the file. False: `error` says why.
bool mlt_object_open(mlt_object *object);
void mlt_object_close(mlt_object *object);

// The bytes of the file from an address on (relative to base), zeros where it has none. False: the
// file cannot be read.
bool mlt_object_read(const mlt_object *object, uintptr_t from, void *to, size_t bytes);

// The object at that address, or MLT_OBJECT_NONE. An object's end still belongs to it: names such as
// _end stand there.
uint32_t mlt_object_at(const mlt_object *objects, uint32_t count, uintptr_t address);

// The address of symbol `number` of object o, as the loader would bind it now; 0: nobody defines it.
uintptr_t mlt_object_bind(const mlt_object *objects, uint32_t count, const mlt_object *o,
                          uint32_t number);

// The address of the symbol of that name that an object defines itself, by its base and dynamic
// section, of that version or, if NULL, the default one; NULL: it defines none. As dlsym has it, but
// leaves what dlerror says as it is.
void *mlt_object_symbol(uintptr_t base, const Elf64_Dyn *dynamic, const char *name,
                        const char *version);

// The first object after the program that defines the name; *address. MLT_OBJECT_NONE: none does.
uint32_t mlt_object_definer(const mlt_object *objects, uint32_t count, const char *name,
                            uintptr_t *address);
