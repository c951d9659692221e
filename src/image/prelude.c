// SPDX-License-Identifier: BSD-3-Clause
// The file is made for this process alone: its list of constructors has the function's address, and
// nothing needs to be relocated. It has no code, so it is mapped without the right to execute.
#include "image/prelude.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/code.h"
#include "os/fd.h"
#include "os/os.h"

enum { ENTRIES = 10 };

// From the first byte of the file on; the strings follow.
typedef struct file {
    Elf64_Ehdr head;
    Elf64_Phdr parts[3];
    Elf64_Dyn dynamic[ENTRIES];
    uint64_t constructors[1];
    Elf64_Sym symbols[1]; // the one that stands for none
    uint32_t hash[4];     // of symbols: one bucket, one symbol, which is none
    Elf64_Shdr sections[3];
    char section_names[16];
    char strings[]; // an empty one, then the library's name
} file;

#define AT(member) offsetof(file, member)

static void fill_head(file *f)
{
    static const uint16_t one = 1;
    bool little = *(const unsigned char *)&one;
    f->head = (Elf64_Ehdr){.e_type = ET_DYN,
                           .e_machine = MLT_CODE_MACHINE,
                           .e_version = EV_CURRENT,
                           .e_phoff = AT(parts),
                           .e_ehsize = sizeof f->head,
                           .e_phentsize = sizeof f->parts[0],
                           .e_phnum = sizeof f->parts / sizeof f->parts[0],
                           .e_shoff = AT(sections),
                           .e_shentsize = sizeof f->sections[0],
                           .e_shnum = sizeof f->sections / sizeof f->sections[0],
                           .e_shstrndx = 2};
    memcpy(f->head.e_ident, ELFMAG, SELFMAG);
    f->head.e_ident[EI_CLASS] = ELFCLASS64;
    f->head.e_ident[EI_DATA] = little ? ELFDATA2LSB : ELFDATA2MSB;
    f->head.e_ident[EI_VERSION] = EV_CURRENT;
}

// One segment, which the loader may write to: it puts addresses into the dynamic section.
static void fill_parts(file *f, size_t bytes)
{
    f->parts[0] = (Elf64_Phdr){.p_type = PT_LOAD,
                               .p_flags = PF_R | PF_W,
                               .p_filesz = bytes,
                               .p_memsz = bytes,
                               .p_align = mlt_os_page_size()};
    f->parts[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
                               .p_flags = PF_R | PF_W,
                               .p_offset = AT(dynamic),
                               .p_vaddr = AT(dynamic),
                               .p_paddr = AT(dynamic),
                               .p_filesz = sizeof f->dynamic,
                               .p_memsz = sizeof f->dynamic,
                               .p_align = sizeof(uint64_t)};
    // Without this one, stacks would have to hold code.
    f->parts[2] = (Elf64_Phdr){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W};
}

static void fill_dynamic(file *f, size_t strings)
{
    const Elf64_Dyn entries[ENTRIES] = {
        {DT_NEEDED, {1}},
        {DT_HASH, {AT(hash)}},
        {DT_STRTAB, {AT(strings)}},
        {DT_SYMTAB, {AT(symbols)}},
        {DT_STRSZ, {strings}},
        {DT_SYMENT, {sizeof(Elf64_Sym)}},
        {DT_INIT_ARRAY, {AT(constructors)}},
        {DT_INIT_ARRAYSZ, {sizeof f->constructors}},
        {DT_FLAGS_1, {DF_1_INITFIRST}},
        {DT_NULL, {0}},
    };
    memcpy(f->dynamic, entries, sizeof entries);
}

// For gdb, which tells objects apart by the address of their code. (gdb 18 took one without sections
// for the program, and forgot the program when it was unloaded.)
static void fill_sections(file *f, size_t bytes)
{
    memcpy(f->section_names, "\0.text\0.names", sizeof "\0.text\0.names");
    f->sections[1] = (Elf64_Shdr){.sh_name = 1,
                                  .sh_type = SHT_PROGBITS,
                                  .sh_flags = SHF_ALLOC,
                                  .sh_size = bytes,
                                  .sh_addralign = sizeof(uint64_t)};
    f->sections[2] = (Elf64_Shdr){.sh_name = 7,
                                  .sh_type = SHT_STRTAB,
                                  .sh_offset = AT(section_names),
                                  .sh_size = sizeof f->section_names,
                                  .sh_addralign = 1};
}

bool mlt_prelude_new(mlt_prelude *out, const char *library, void (*constructor)(void))
{
    size_t strings = strlen(library) + 2, bytes = sizeof(file) + strings;
    file *f = calloc(1, bytes);
    if (!f)
        return false;
    fill_head(f);
    fill_parts(f, bytes);
    fill_dynamic(f, strings);
    fill_sections(f, bytes);
    f->constructors[0] = (uintptr_t)constructor;
    f->hash[0] = f->hash[1] = 1;
    memcpy(f->strings + 1, library, strings - 1);
    out->fd = mlt_os_memfd("millet prelude", bytes);
    bool made = out->fd >= 0 && pwrite(out->fd, f, bytes, 0) == (ssize_t)bytes;
    free(f);
    // A debugger opens it by this name, too, so it must not be /proc/self. And dlopen takes a name
    // that it knows for the same file, so this is not how others would write it.
    snprintf(out->path, sizeof out->path, "/proc/%d//fd/%d", (int)getpid(), out->fd);
    if (made && access(out->path, R_OK) == 0)
        return true;
    mlt_prelude_free(out);
    return false;
}

void mlt_prelude_free(mlt_prelude *prelude)
{
    mlt_os_close_once(&prelude->fd);
}
