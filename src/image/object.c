// SPDX-License-Identifier: BSD-3-Clause
#include "image/object.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "os/os.h"

enum { VERSION_HIDDEN = 0x8000 };
static const uint64_t HAS_MORE = 1ULL << 62; // a second argument

typedef struct list {
    mlt_object *objects;
    uint32_t count, room;
    uint32_t known; // of them, from before
    const char *without;
} list;

static uintptr_t page_down(uintptr_t at)
{
    return at & ~(uintptr_t)(mlt_os_page_size() - 1);
}

// ---- what its headers say

static int prot_of(uint32_t flags)
{
    return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) |
           (flags & PF_X ? PROT_EXEC : 0);
}

// Neighbours that one mapping can serve become one piece: writable ones, and read-only ones that
// lie in the file as they lie in memory.
static bool join(mlt_object_map *last, const mlt_object_map *next)
{
    if (last->writable != next->writable)
        return false;
    if (!last->writable && last->from - last->offset != next->from - next->offset)
        return false;
    last->to = next->to;
    last->prot |= next->prot;
    return true;
}

static void add_piece(mlt_object *o, const Elf64_Phdr *h)
{
    uintptr_t from = page_down(h->p_vaddr);
    mlt_object_map next = {.from = from,
                           .to = page_down(h->p_vaddr + h->p_memsz + mlt_os_page_size() - 1),
                           .offset = h->p_offset - (h->p_vaddr - from),
                           .prot = prot_of(h->p_flags),
                           .writable = h->p_flags & PF_W};
    if (o->pieces) { // no hole between two: it would be a mapping, too
        mlt_object_map *last = &o->piece[o->pieces - 1];
        last->to = from;
        if (join(last, &next))
            return;
    }
    if (o->pieces == MLT_OBJECT_PIECES)
        o->fixed = true; // nothing that a linker makes has so many
    else
        o->piece[o->pieces++] = next;
}

static void object_read_headers(mlt_object *o)
{
    for (size_t i = 0; i < o->header_count; i++) {
        const Elf64_Phdr *h = &o->headers[i];
        if (h->p_type == PT_LOAD && h->p_memsz) {
            add_piece(o, h);
            o->align = h->p_align > o->align ? h->p_align : o->align;
        }
        if (h->p_type == PT_TLS && h->p_memsz)
            o->tls = h;
        if (h->p_type == PT_GNU_RELRO) {
            o->relro_from = h->p_vaddr;
            o->relro_to = h->p_vaddr + h->p_memsz;
        }
    }
    if (o->align & (o->align - 1))
        o->fixed = true;
    if (o->pieces) {
        o->start = o->base + o->piece[0].from;
        o->end = o->base + o->piece[o->pieces - 1].to;
        o->span = o->end - o->start;
    }
}

// ---- what its dynamic section says

// The loader has added the base to some addresses of the section, or not: the section of a read-only
// one, and of some systems, is as it is in the file.
static uintptr_t address_in(const mlt_object *o, uint64_t value)
{
    return value >= o->start && value < o->end ? value : o->base + value;
}

// Where a word of the section goes.
typedef struct entry {
    int64_t tag;
    size_t place; // in mlt_object: an address, or a count
    size_t unit;  // the word is the bytes of so many things of this size; 0: an address
} entry;

#define ADDRESS(tag, field)                                                                        \
    {                                                                                              \
        tag, offsetof(mlt_object, field), 0                                                        \
    }
#define COUNT(tag, field, unit)                                                                    \
    {                                                                                              \
        tag, offsetof(mlt_object, field), unit                                                     \
    }
static const entry entries[] = {
    ADDRESS(DT_RELA, rela),
    COUNT(DT_RELASZ, rela_count, sizeof(Elf64_Rela)),
    ADDRESS(DT_JMPREL, slots),
    COUNT(DT_PLTRELSZ, slots_count, sizeof(Elf64_Rela)),
    ADDRESS(DT_RELR, relr),
    COUNT(DT_RELRSZ, relr_count, sizeof(Elf64_Relr)),
    ADDRESS(DT_SYMTAB, symbols),
    ADDRESS(DT_STRTAB, strings),
    ADDRESS(DT_GNU_HASH, gnu_hash),
    ADDRESS(DT_HASH, sysv_hash),
    ADDRESS(DT_VERSYM, versions),
    ADDRESS(DT_VERNEED, needed_versions),
    COUNT(DT_VERNEEDNUM, needed_versions_count, 1),
    ADDRESS(DT_VERDEF, own_versions),
    COUNT(DT_VERDEFNUM, own_versions_count, 1),
    ADDRESS(DT_INIT, init),
    ADDRESS(DT_FINI, fini),
    ADDRESS(DT_PREINIT_ARRAY, preinit_array),
    COUNT(DT_PREINIT_ARRAYSZ, preinit_count, sizeof(void *)),
    ADDRESS(DT_INIT_ARRAY, init_array),
    COUNT(DT_INIT_ARRAYSZ, init_count, sizeof(void *)),
    ADDRESS(DT_FINI_ARRAY, fini_array),
    COUNT(DT_FINI_ARRAYSZ, fini_count, sizeof(void *)),
};

static void read_entry(mlt_object *o, const Elf64_Dyn *d)
{
    uint64_t word = d->d_un.d_val;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (entries[i].tag == d->d_tag) {
            uint64_t value = entries[i].unit ? word / entries[i].unit : address_in(o, word);
            memcpy((char *)o + entries[i].place, &value, sizeof value);
        }
    o->stays |= d->d_tag == DT_FLAGS_1 && (word & DF_1_NODELETE);
    o->text_relocations |= d->d_tag == DT_TEXTREL || (d->d_tag == DT_FLAGS && (word & DF_TEXTREL));
}

static void read_entries(mlt_object *o)
{
    for (const Elf64_Dyn *d = o->dynamic; d && d->d_tag != DT_NULL; d++)
        read_entry(o, d);
}

static void read_dynamic(mlt_object *o)
{
    for (size_t i = 0; i < o->header_count; i++)
        if (o->headers[i].p_type == PT_DYNAMIC)
            o->dynamic = (const Elf64_Dyn *)(o->base + o->headers[i].p_vaddr);
    read_entries(o);
    if (!o->symbols || !o->strings)
        o->fixed = true;
}

// ---- all of them

// How many symbols the table has: its hash table knows.
static uint32_t symbol_count(const mlt_object *o)
{
    if (o->sysv_hash)
        return o->sysv_hash[1];
    if (!o->gnu_hash)
        return 0;
    uint32_t buckets = o->gnu_hash[0], first = o->gnu_hash[1], words = o->gnu_hash[2], last = 0;
    const uint32_t *bucket = o->gnu_hash + 4 + 2 * words, *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    if (last < first)
        return first;
    while (!(chain[last - first] & 1))
        last++;
    return last + 1;
}

static bool has_unique(const mlt_object *o)
{
    uint32_t count = o->symbols && !o->program ? symbol_count(o) : 0;
    for (uint32_t i = 1; i < count; i++)
        if (ELF64_ST_BIND(o->symbols[i].st_info) == STB_GNU_UNIQUE &&
            o->symbols[i].st_shndx != SHN_UNDEF)
            return true;
    return false;
}

// True for one of the known objects. The address of an object that is gone may be another's.
static bool is_known(const list *l, const struct dl_phdr_info *info)
{
    for (uint32_t i = 0; i < l->known; i++)
        if (l->objects[i].base == info->dlpi_addr && l->objects[i].headers == info->dlpi_phdr)
            return true;
    return false;
}

// A program that was given to the dynamic loader as its argument is not what the kernel started. Then
// the loader itself has no base, and says which file it took.
static const char *program_path(void)
{
    return getauxval(AT_BASE) ? mlt_os_program() : (const char *)getauxval(AT_EXECFN);
}

static int add(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    list *l = user;
    bool program = l->count == 0;
    if (is_known(l, info) || (l->without && strcmp(info->dlpi_name, l->without) == 0))
        return 0;
    const char *path = program ? program_path() : info->dlpi_name;
    if (!path[0] || (!program && !strchr(path, '/')))
        return 0; // the kernel's
    mlt_object *o = MLT_ARRAY_ADD(l->objects, l->count, l->room);
    *o = (mlt_object){.fd = -1,
                      .program = program,
                      .base = info->dlpi_addr,
                      .headers = info->dlpi_phdr,
                      .header_count = info->dlpi_phnum,
                      .tls_module = info->dlpi_tls_modid};
    o->path = strdup(path);
    o->fixed = !o->path || !o->base; // a program that was linked for one address has base 0
    object_read_headers(o);
    read_dynamic(o);
    o->stays |= l->known && has_unique(o);
    return 0;
}

mlt_object *mlt_objects_new(uint32_t *count)
{
    list l = {0};
    (void)dl_iterate_phdr(add, &l);
    *count = l.count;
    return l.objects;
}

mlt_object *mlt_objects_since(const mlt_object *known, uint32_t known_count, const char *without,
                              uint32_t *count)
{
    list l = {.count = known_count, .known = known_count, .without = without};
    MLT_ARRAY_WANT(l.objects, l.count, l.room);
    memcpy(l.objects, known, known_count * sizeof *known);
    (void)dl_iterate_phdr(add, &l);
    *count = l.count;
    return l.objects;
}

void mlt_objects_free(mlt_object *objects, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < count; i++) {
        mlt_object_close(&objects[i]);
        free(objects[i].path);
        free(objects[i].refused);
    }
    free(objects);
}

bool mlt_object_open(mlt_object *o)
{
    o->fd = open(o->path, O_RDONLY | O_CLOEXEC);
    o->error = o->fd < 0 ? errno : 0;
    return o->fd >= 0;
}

void mlt_object_close(mlt_object *o)
{
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
}

bool mlt_object_read(const mlt_object *o, uintptr_t from, void *to, size_t bytes)
{
    memset(to, 0, bytes);
    for (size_t i = 0; i < o->header_count; i++) {
        const Elf64_Phdr *h = &o->headers[i];
        uintptr_t begin = h->p_vaddr > from ? h->p_vaddr : from;
        uintptr_t end = h->p_vaddr + h->p_filesz;
        end = end < from + bytes ? end : from + bytes;
        if (h->p_type != PT_LOAD || begin >= end)
            continue;
        for (uintptr_t at = begin; at < end;) {
            ssize_t n = pread(o->fd, (char *)to + (at - from), end - at,
                              (off_t)(h->p_offset + (at - h->p_vaddr)));
            if (n <= 0)
                return false;
            at += (uintptr_t)n;
        }
    }
    return true;
}

uint32_t mlt_object_at(const mlt_object *objects, uint32_t count, uintptr_t address)
{
    uint32_t ends = MLT_OBJECT_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (address >= objects[i].start && address < objects[i].end)
            return i;
        if (address == objects[i].end)
            ends = i;
    }
    return ends;
}

// ---- symbols

// The name of the version that the object wants of the symbol; NULL: any.
static const char *version_of(const mlt_object *o, uint32_t number)
{
    if (!o->versions || !o->needed_versions)
        return NULL;
    uint16_t wanted = o->versions[number] & 0x7fff;
    const char *at = o->needed_versions;
    for (size_t i = 0; i < o->needed_versions_count; i++) {
        const Elf64_Verneed *need = (const Elf64_Verneed *)at;
        const char *aux = at + need->vn_aux;
        for (uint16_t k = 0; k < need->vn_cnt; k++) {
            const Elf64_Vernaux *v = (const Elf64_Vernaux *)aux;
            if ((v->vna_other & 0x7fff) == wanted)
                return o->strings + v->vna_name;
            aux += v->vna_next;
        }
        at += need->vn_next;
    }
    return NULL;
}

// ---- looking names up

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

// Not by strcmp, which a sanitizer takes over and which looks for libc's when it is not ready itself.
static bool same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

// The name of the version that the object gives a symbol that it defines; NULL: none.
static const char *own_version_of(const mlt_object *o, uint32_t number)
{
    const char *at = o->own_versions;
    uint16_t version = o->versions ? o->versions[number] & ~VERSION_HIDDEN : 0;
    for (size_t i = 0; at && i < o->own_versions_count; i++) {
        const Elf64_Verdef *own = (const Elf64_Verdef *)at;
        if (own->vd_ndx == version)
            return o->strings + ((const Elf64_Verdaux *)(at + own->vd_aux))->vda_name;
        at += own->vd_next;
    }
    return NULL;
}

// True if the symbol has that version, or, if NULL, the one for those that want none.
static bool is_version(const mlt_object *o, uint32_t number, const char *version)
{
    if (!version)
        return !o->versions || !(o->versions[number] & VERSION_HIDDEN);
    const char *own = own_version_of(o, number);
    return own && same(own, version);
}

static bool defines(const mlt_object *o, uint32_t number, const char *name, const char *version)
{
    const Elf64_Sym *symbol = &o->symbols[number];
    return symbol->st_shndx != SHN_UNDEF && same(o->strings + symbol->st_name, name) &&
           is_version(o, number, version);
}

static uint32_t find_by_gnu_hash(const mlt_object *o, const char *name, const char *version)
{
    const uint32_t *table = o->gnu_hash;
    uint32_t buckets = table[0], first = table[1], words = table[2], hash = gnu_hash(name);
    const uint32_t *bucket = table + 4 + 2 * words, *chain = bucket + buckets;
    uint32_t number = buckets ? bucket[hash % buckets] : 0;
    if (number < first)
        return 0;
    for (;; number++) {
        uint32_t own = chain[number - first];
        if ((own | 1) == (hash | 1) && defines(o, number, name, version))
            return number;
        if (own & 1)
            return 0;
    }
}

// The number of the symbol, 0: the object does not define the name in that version. Version NULL: the
// default one.
static uint32_t find(const mlt_object *o, const char *name, const char *version)
{
    if (!o->symbols || !o->strings)
        return 0;
    if (o->gnu_hash)
        return find_by_gnu_hash(o, name, version);
    for (uint32_t i = 1; o->sysv_hash && i < o->sysv_hash[1]; i++)
        if (defines(o, i, name, version))
            return i;
    return 0;
}

// True if the definition serves whatever version is wanted. (libc's dlvsym passes such by, while
// the loader binds to them: our own functions in the place of libc's.)
static bool is_unversioned(const mlt_object *o, uint32_t number)
{
    return !o->versions || (o->versions[number] & 0x7fff) <= VER_NDX_GLOBAL;
}

// The address of a definition that comes before all others and has no version; 0: there is none.
static uintptr_t find_first_plain(const mlt_object *objects, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count && !objects[i].scope; i++) { // not those that were loaded later
        uint32_t number = find(&objects[i], name, NULL);
        const Elf64_Sym *symbol = number ? &objects[i].symbols[number] : NULL;
        if (!symbol)
            continue;
        bool plain =
            is_unversioned(&objects[i], number) && ELF64_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC;
        return plain ? objects[i].base + symbol->st_value : 0;
    }
    return 0;
}

// What a definition of the object's stands for: a function may choose the address. aarch64's loader
// tells it what the processor has; the others' functions do not look.
static uintptr_t address_of(const mlt_object *o, const Elf64_Sym *symbol)
{
    uintptr_t at = o->base + symbol->st_value;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC)
        return at;
    uint64_t has[3] = {sizeof has, getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
    return ((uintptr_t(*)(uint64_t, const uint64_t *))at)(has[1] | HAS_MORE, has);
}

static void *look(void *where, const char *name, const char *version)
{
    void *found = version ? dlvsym(where, name, version) : NULL;
    return found ? found : dlsym(where, name);
}

void *mlt_object_symbol(uintptr_t base, const Elf64_Dyn *dynamic, const char *name,
                        const char *version)
{
    mlt_object o = {.base = base, .start = base, .end = UINTPTR_MAX, .dynamic = dynamic};
    read_entries(&o);
    uint32_t number = find(&o, name, version);
    return number ? (void *)address_of(&o, &o.symbols[number]) : NULL;
}

uintptr_t mlt_object_bind(const mlt_object *objects, uint32_t count, const mlt_object *o,
                          uint32_t number)
{
    const Elf64_Sym *symbol = &o->symbols[number];
    const char *name = o->strings + symbol->st_name;
    // Local to the object, or not to be taken over by another's.
    if (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL ||
        (symbol->st_shndx != SHN_UNDEF && ELF64_ST_VISIBILITY(symbol->st_other) != STV_DEFAULT))
        return address_of(o, symbol);
    uintptr_t plain = find_first_plain(objects, count, name);
    if (plain)
        return plain;
    const char *version = version_of(o, number);
    void *found = look(RTLD_DEFAULT, name, version);
    if (!found && o->scope)
        found = look(o->scope, name, version);
    if (!found && symbol->st_shndx != SHN_UNDEF)
        return address_of(o, symbol);
    return (uintptr_t)found;
}

uint32_t mlt_object_definer(const mlt_object *objects, uint32_t count, const char *name,
                            uintptr_t *address)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t number = find(&objects[i], name, NULL);
        if (!number)
            continue;
        *address = objects[i].base + objects[i].symbols[number].st_value;
        return i;
    }
    return MLT_OBJECT_NONE;
}
