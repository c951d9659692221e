// SPDX-License-Identifier: BSD-3-Clause
#include "os/imports.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

typedef struct search {
    const char *const *names;
    size_t count;
    bool found;
} search;

// What of an object's dynamic section is needed.
typedef struct tables {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * relocations[2]; // of calls, and all others
    size_t bytes[2];
} tables;

// The linker has made addresses of most entries, but not of the kernel's own object.
static const void *address(ElfW(Addr) base, ElfW(Addr) at)
{
    return (const void *)(uintptr_t)(at < base ? at + base : at);
}

static tables read_tables(ElfW(Addr) base, const ElfW(Dyn) * dynamic)
{
    tables t = {0};
    for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; d++)
        switch (d->d_tag) {
        case DT_SYMTAB:
            t.symbols = address(base, d->d_un.d_ptr);
            break;
        case DT_STRTAB:
            t.names = address(base, d->d_un.d_ptr);
            break;
        case DT_JMPREL:
            t.relocations[0] = address(base, d->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            t.bytes[0] = d->d_un.d_val;
            break;
        case DT_RELA:
            t.relocations[1] = address(base, d->d_un.d_ptr);
            break;
        case DT_RELASZ:
            t.bytes[1] = d->d_un.d_val;
            break;
        default:
            break;
        }
    return t;
}

static bool is_wanted(const search *s, const tables *t, uint64_t symbol)
{
    if (symbol == 0 || t->symbols[symbol].st_shndx != SHN_UNDEF)
        return false;
    const char *name = t->names + t->symbols[symbol].st_name;
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(name, s->names[i]) == 0)
            return true;
    return false;
}

static int look(struct dl_phdr_info *object, size_t size, void *argument)
{
    search *s = argument;
    tables t = {0};
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            t = read_tables(
                object->dlpi_addr,
                (const void *)(uintptr_t)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr));
    for (int k = 0; k < 2 && t.symbols && t.names; k++)
        for (size_t i = 0; t.relocations[k] && i < t.bytes[k] / sizeof *t.relocations[k]; i++)
            if (is_wanted(s, &t, ELF64_R_SYM(t.relocations[k][i].r_info)))
                s->found = true;
    return s->found;
}

bool mlt_os_imports(const char *const *names, size_t count)
{
    search s = {.names = names, .count = count};
    (void)dl_iterate_phdr(look, &s);
    return s.found;
}
