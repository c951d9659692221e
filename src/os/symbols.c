// SPDX-License-Identifier: BSD-3-Clause
#include "os/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"

// A file of code. Images are never freed: another thread may read one, and names point into them.
typedef struct image {
    struct image *next;
    const void *base; // where it was loaded
    const char *bytes;
    size_t size;
    char path[PATH_MAX];
} image;

static _Atomic(image *) images;

static bool inside(const image *i, uint64_t at, uint64_t bytes)
{
    return at <= i->size && bytes <= i->size - at;
}

static void map_file(image *i)
{
    struct stat about;
    int fd = open(i->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
        void *at = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        i->bytes = at == MAP_FAILED ? NULL : at;
        i->size = i->bytes ? (size_t)about.st_size : 0;
    }
    close(fd);
}

// The image of this file at this base; NULL without memory. Two threads that ask at the same time
// may both map it: one mapping more.
static const image *image_of(const char *path, const void *base)
{
    image *head = atomic_load_explicit(&images, memory_order_acquire);
    for (const image *i = head; i; i = i->next)
        if (i->base == base && strcmp(i->path, path) == 0)
            return i;
    image *made = strlen(path) < sizeof made->path ? mlt_os_map(sizeof *made) : NULL;
    if (!made)
        return NULL;
    made->base = base;
    strcpy(made->path, path);
    map_file(made);
    do
        made->next = head;
    while (!atomic_compare_exchange_weak_explicit(&images, &head, made, memory_order_release,
                                                  memory_order_acquire));
    return made;
}

// A section header of the image; false if it is not all there.
static bool section_at(const image *i, const Elf64_Ehdr *head, uint64_t index, Elf64_Shdr *out)
{
    if (index >= head->e_shnum || head->e_shentsize != sizeof *out || head->e_shoff > i->size ||
        !inside(i, head->e_shoff + index * sizeof *out, sizeof *out))
        return false;
    memcpy(out, i->bytes + head->e_shoff + index * sizeof *out, sizeof *out);
    return inside(i, out->sh_offset, out->sh_type == SHT_NOBITS ? 0 : out->sh_size);
}

static const char *name_in(const image *i, const Elf64_Shdr *strings, uint64_t at)
{
    if (at >= strings->sh_size)
        return NULL;
    const char *name = i->bytes + strings->sh_offset + at;
    return memchr(name, '\0', strings->sh_size - at) && *name ? name : NULL;
}

// The function in a table of symbols that has the address.
static const char *symbols_find(const image *i, const Elf64_Shdr *table, const Elf64_Shdr *strings,
                                uint64_t address, uint64_t *offset)
{
    for (uint64_t n = 0; n < table->sh_size / sizeof(Elf64_Sym); n++) {
        Elf64_Sym symbol;
        memcpy(&symbol, i->bytes + table->sh_offset + n * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
            address < symbol.st_value || address - symbol.st_value >= symbol.st_size)
            continue;
        *offset = address - symbol.st_value;
        return name_in(i, strings, symbol.st_name);
    }
    return NULL;
}

static const char *name_of(const image *i, uint64_t address, uint64_t *offset)
{
    Elf64_Ehdr head;
    if (!inside(i, 0, sizeof head))
        return NULL;
    memcpy(&head, i->bytes, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
        return NULL;
    if (head.e_type == ET_EXEC)
        address += (uint64_t)(uintptr_t)i->base;
    for (uint64_t s = 0; s < head.e_shnum; s++) {
        Elf64_Shdr table, strings;
        if (!section_at(i, &head, s, &table) || table.sh_type != SHT_SYMTAB ||
            !section_at(i, &head, table.sh_link, &strings))
            continue;
        return symbols_find(i, &table, &strings, address, offset);
    }
    return NULL;
}

mlt_os_symbol mlt_os_symbol_of(const void *pc)
{
    Dl_info about;
    struct link_map *map = NULL;
    if (!dladdr1(pc, &about, (void **)&map, RTLD_DL_LINKMAP) || !about.dli_fname)
        return (mlt_os_symbol){.file = NULL};
    mlt_os_symbol symbol = {.file = about.dli_fname,
                            .offset = (uint64_t)((const char *)pc - (const char *)about.dli_fbase)};
    // The program itself has no name in the list; what it was called as may lie elsewhere by now.
    bool is_program = map && map->l_name && !map->l_name[0];
    const image *i = image_of(is_program ? mlt_os_program() : about.dli_fname, about.dli_fbase);
    uint64_t offset = 0;
    const char *name = i ? name_of(i, symbol.offset, &offset) : NULL;
    // Of several names of one function the exported one is what people know.
    uint64_t exported = (uint64_t)((const char *)pc - (const char *)about.dli_saddr);
    if (about.dli_sname && (!name || exported == offset)) {
        name = about.dli_sname;
        offset = exported;
    }
    if (name) {
        symbol.name = name;
        symbol.offset = offset;
    }
    return symbol;
}
