// SPDX-License-Identifier: BSD-3-Clause
#include "image/template.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/reloc.h"
#include "base/array.h"
#include "os/os.h"

enum { ZEROS_LEAST = 1 << 20 };

typedef struct work {
    const mlt_object *objects;
    uint32_t first, count, object;
    const mlt_template *start;
    mlt_template *t;
    char *why;
    size_t why_size;
} work;

static const mlt_object *own_of(const work *w)
{
    return &w->objects[w->object];
}

char *mlt_template_at(const mlt_template *t, const mlt_object *objects, uint32_t object,
                      uintptr_t at)
{
    const mlt_object *o = &objects[object];
    for (uint32_t p = 0; p < o->pieces; p++)
        if (o->piece[p].writable && at >= o->piece[p].from && at < o->piece[p].to)
            return t->memory + t->offset[object][p] + (at - o->piece[p].from);
    return NULL;
}

// ---- values

static uint64_t loaded(const mlt_object *o, uintptr_t at)
{
    uint64_t word;
    memcpy(&word, (const void *)(o->base + at), sizeof word);
    return word;
}

// A slot that was not bound yet still leads into the object's own linkage table, as in the file.
static bool is_bound(const mlt_object *o, const Elf64_Rela *r)
{
    uint64_t in_file;
    bool lazy = r >= o->slots && r < o->slots + o->slots_count;
    return !lazy || !mlt_object_read(o, r->r_offset, &in_file, sizeof in_file) || !in_file ||
           loaded(o, r->r_offset) != o->base + in_file;
}

// Constructors of libraries have run and may have written to their data, but not to what only the
// loader writes.
static bool is_as_loaded(const mlt_object *o, uintptr_t at)
{
    return o->program || (at >= o->relro_from && at < o->relro_to);
}

// The address that a relocation with a symbol asks for, without its addend.
static uint64_t symbol_value(const mlt_object *objects, uint32_t count, const mlt_object *o,
                             const Elf64_Rela *r, mlt_reloc_kind kind)
{
    uint32_t symbol = (uint32_t)ELF64_R_SYM(r->r_info);
    if (!symbol)
        return 0;
    if (kind == MLT_RELOC_SLOT ? is_bound(o, r) : is_as_loaded(o, r->r_offset))
        return loaded(o, r->r_offset) - (kind == MLT_RELOC_SYMBOL ? (uint64_t)r->r_addend : 0);
    return mlt_object_bind(objects, count, o, symbol);
}

static uint32_t owner_of(const mlt_object *objects, uint32_t count, uint64_t value)
{
    uint32_t owner = mlt_object_at(objects, count, value);
    return owner != MLT_OBJECT_NONE && objects[owner].own ? owner : MLT_OBJECT_NONE;
}

// ---- putting them

// A list of constructors or destructors: who makes an image run reads the template's (image.c), so
// that the page which has it, and often no other address, stays the template's, too.
static bool is_in_list(const mlt_object *o, uintptr_t at)
{
    const struct {
        uintptr_t from;
        size_t count;
    } lists[] = {{o->preinit_array, o->preinit_count},
                 {o->init_array, o->init_count},
                 {o->fini_array, o->fini_count}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (o->base + at - lists[i].from < lists[i].count * sizeof(uintptr_t))
            return true;
    return false;
}

static void put(const work *w, uintptr_t at, uint64_t value, uint32_t owner)
{
    char *word = mlt_template_at(w->t, w->objects, w->object, at);
    if (!word)
        return; // in a read-only piece: there are none without text relocations
    memcpy(word, &value, sizeof value);
    if (owner == MLT_OBJECT_NONE || is_in_list(own_of(w), at))
        return;
    mlt_template *t = w->t;
    uint32_t o = w->object;
    *MLT_ARRAY_ADD(t->fixups[o], t->fixup_count[o], t->fixup_room[o]) = (mlt_fixup){at, owner};
}

// ---- cells: the C library's variables that belong to a rank

static const struct {
    const char *name;
    uint32_t bytes;
} cell_names[] = {
    {"environ", sizeof(char **)},
    {"__environ", sizeof(char **)},
    {"_environ", sizeof(char **)},
    {"stdin", sizeof(FILE *)},
    {"stdout", sizeof(FILE *)},
    {"stderr", sizeof(FILE *)},
    {"optarg", sizeof(char *)},
    {"optind", sizeof(int)},
    {"opterr", sizeof(int)},
    {"optopt", sizeof(int)},
    {"signgam", sizeof(int)},
    {"__signgam", sizeof(int)},
    {"tzname", 2 * sizeof(char *)},
    {"__tzname", 2 * sizeof(char *)},
    {"timezone", sizeof(long)},
    {"__timezone", sizeof(long)},
    {"daylight", sizeof(int)},
    {"__daylight", sizeof(int)},
    {"program_invocation_name", sizeof(char *)},
    {"__progname_full", sizeof(char *)},
    {"program_invocation_short_name", sizeof(char *)},
    {"__progname", sizeof(char *)},
};

enum { CELL = 16, CELLS_ROOM = CELL * (int)(sizeof cell_names / sizeof *cell_names) };

static void take_over(mlt_template *t, mlt_taken one)
{
    *MLT_ARRAY_ADD(t->taken, t->taken_count, t->taken_room) = one;
}

const mlt_taken *mlt_template_taken(const mlt_template *t, uintptr_t variable)
{
    for (uint32_t i = 0; i < t->taken_count; i++)
        if (t->taken[i].variable == variable)
            return &t->taken[i];
    return NULL;
}

// The cell of a variable that the object refers to by name; one variable may have several names.
// NULL: it is none that belongs to a rank.
static const mlt_taken *cell_of(const work *w, uint32_t symbol, uint64_t variable)
{
    mlt_template *t = w->t;
    const mlt_object *o = own_of(w);
    const char *name = o->strings + o->symbols[symbol].st_name;
    if (w->start)
        return mlt_template_taken(w->start, variable);
    for (size_t i = 0; i < sizeof cell_names / sizeof *cell_names; i++) {
        if (strcmp(name, cell_names[i].name) != 0)
            continue;
        if (!mlt_template_taken(t, variable)) {
            take_over(
                t, (mlt_taken){variable, t->holder, t->cells + t->cell_bytes, cell_names[i].bytes});
            t->cell_bytes += CELL;
        }
        return mlt_template_taken(t, variable);
    }
    return NULL;
}

// A library that is loaded later may refer to any of them, so a program that loads some has all.
static void take_all(const work *w)
{
    mlt_template *t = w->t;
    for (size_t i = 0; i < sizeof cell_names / sizeof *cell_names; i++) {
        uintptr_t variable = (uintptr_t)dlsym(RTLD_DEFAULT, cell_names[i].name);
        if (!variable || owner_of(w->objects, w->count, variable) != MLT_OBJECT_NONE ||
            mlt_template_taken(t, variable))
            continue;
        take_over(t,
                  (mlt_taken){variable, t->holder, t->cells + t->cell_bytes, cell_names[i].bytes});
        t->cell_bytes += CELL;
    }
}

static bool loads_later(const mlt_object *objects, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (size_t k = 0; objects[i].own && k < objects[i].rela_count + objects[i].slots_count;
             k++) {
            const mlt_object *o = &objects[i];
            const Elf64_Rela *r = k < o->rela_count ? &o->rela[k] : &o->slots[k - o->rela_count];
            uint32_t symbol = (uint32_t)ELF64_R_SYM(r->r_info);
            if (symbol && strcmp(o->strings + o->symbols[symbol].st_name, "dlopen") == 0)
                return true;
        }
    return false;
}

// The object at the end of whose memory there is, or can be, room for cells.
static bool find_holder(mlt_object *objects, uint32_t count, mlt_template *t)
{
    for (uint32_t i = 0; i < count; i++) {
        mlt_object *o = &objects[i];
        mlt_object_map *last = o->pieces ? &o->piece[o->pieces - 1] : NULL;
        if (!o->own || !last || !last->writable)
            continue;
        uintptr_t end = 0;
        for (size_t h = 0; h < o->header_count; h++)
            if (o->headers[h].p_type == PT_LOAD)
                end = o->headers[h].p_vaddr + o->headers[h].p_memsz;
        t->holder = i;
        t->cells = (end + CELL - 1) / CELL * CELL;
        if (last->to < t->cells + CELLS_ROOM) {
            last->to += mlt_os_page_size();
            o->span += mlt_os_page_size();
        }
        return true;
    }
    return false;
}

// ---- one relocation

static void put_symbol(const work *w, const Elf64_Rela *r, mlt_reloc_kind kind)
{
    uint64_t value = symbol_value(w->objects, w->count, own_of(w), r, kind);
    uint64_t addend = kind == MLT_RELOC_SYMBOL ? (uint64_t)r->r_addend : 0;
    uint32_t owner = owner_of(w->objects, w->count, value);
    const mlt_taken *cell = owner == MLT_OBJECT_NONE && value
                                ? cell_of(w, (uint32_t)ELF64_R_SYM(r->r_info), value)
                                : NULL;
    if (cell) {
        owner = cell->object;
        value = w->objects[owner].base + cell->at;
    }
    put(w, r->r_offset, value + addend, owner);
}

static bool template_relocate(const work *w, const Elf64_Rela *r)
{
    const mlt_object *o = own_of(w);
    uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
    mlt_reloc_kind kind = mlt_arch_reloc_kind(type);
    uintptr_t at = r->r_offset;
    uint64_t value;
    switch (kind) {
    case MLT_RELOC_NONE:
    case MLT_RELOC_COPY: // when all others are done
        return true;
    case MLT_RELOC_RELATIVE:
        put(w, at, o->base + (uint64_t)r->r_addend, w->object);
        return true;
    case MLT_RELOC_SYMBOL:
    case MLT_RELOC_SLOT:
        put_symbol(w, r, kind);
        return true;
    case MLT_RELOC_CHOICE:
        value = loaded(o, at);
        put(w, at, value, owner_of(w->objects, w->count, value));
        return true;
    case MLT_RELOC_AS_LOADED_TWO:
        put(w, at + sizeof value, loaded(o, at + sizeof value), MLT_OBJECT_NONE);
        // fall through
    case MLT_RELOC_AS_LOADED:
        put(w, at, loaded(o, at), MLT_OBJECT_NONE);
        return true;
    case MLT_RELOC_UNKNOWN:
        break;
    }
    return mlt_deny(w->why, w->why_size,
                    "'%s' has a relocation of type %u, which Millet does not know", o->path, type);
}

// Packed relative relocations: an even entry is an address, an odd one a map of the 63 words that
// follow.
static void relocate_packed(const work *w)
{
    const mlt_object *o = own_of(w);
    uintptr_t next = 0;
    for (size_t i = 0; i < o->relr_count; i++) {
        Elf64_Relr entry = o->relr[i];
        uint64_t map = entry & 1 ? entry >> 1 : 1;
        uintptr_t at = entry & 1 ? next : entry;
        for (uintptr_t word = at; map; map >>= 1, word += sizeof(uint64_t)) {
            uint64_t value;
            const char *place = mlt_template_at(w->t, w->objects, w->object, word);
            if (!(map & 1) || !place)
                continue;
            memcpy(&value, place, sizeof value);
            put(w, word, o->base + value, w->object);
        }
        next = entry & 1 ? next + 63 * sizeof(uint64_t) : entry + sizeof(uint64_t);
    }
}

static bool relocate_all(const work *w)
{
    const mlt_object *o = own_of(w);
    relocate_packed(w);
    for (size_t i = 0; i < o->rela_count; i++)
        if (!template_relocate(w, &o->rela[i]))
            return false;
    for (size_t i = 0; i < o->slots_count; i++)
        if (!template_relocate(w, &o->slots[i]))
            return false;
    return true;
}

// ---- copies of other objects' variables

// The initial value of a private library's variable, with the addresses in it.
static void copy_own(const work *w, uintptr_t at, size_t bytes, uint32_t from, uintptr_t source)
{
    mlt_template *t = w->t;
    char *to = mlt_template_at(t, w->objects, w->object, at);
    const char *value = mlt_template_at(t, w->objects, from, source);
    if (!to)
        return;
    if (!value) // a constant: nobody has written to it
        value = (const char *)(w->objects[from].base + source);
    memcpy(to, value, bytes);
    uint32_t count = t->fixup_count[from];
    for (uint32_t i = 0; i < count; i++) {
        mlt_fixup f = t->fixups[from][i];
        uint64_t word;
        if (f.at < source || f.at + sizeof word > source + bytes)
            continue;
        memcpy(&word, value + (f.at - source), sizeof word);
        put(w, at + (f.at - source), word, f.owner);
    }
}

static void copy_variable(const work *w, const Elf64_Rela *r)
{
    const mlt_object *o = own_of(w);
    const Elf64_Sym *symbol = &o->symbols[ELF64_R_SYM(r->r_info)];
    uintptr_t source = 0;
    uint32_t from = mlt_object_definer(w->objects, w->count, o->strings + symbol->st_name, &source);
    if (from != MLT_OBJECT_NONE && w->objects[from].own)
        copy_own(w, r->r_offset, symbol->st_size, from, source - w->objects[from].base);
    else
        take_over(w->t, (mlt_taken){o->base + r->r_offset, w->object, r->r_offset,
                                    (uint32_t)symbol->st_size});
}

// ---- the loader's list of objects

// A debugger finds it by an entry of the program's dynamic section. One that knows several places of
// the program's file (gdb 16) may look in any of them.
static void put_debug(const work *w)
{
    const mlt_object *o = own_of(w);
    for (const Elf64_Dyn *d = o->dynamic; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_DEBUG)
            put(w, (uintptr_t)&d->d_un - o->base, d->d_un.d_ptr, MLT_OBJECT_NONE);
}

// ---- the whole

// Lays out the writable pieces and fills them from the files.
static bool template_lay_out(work *w)
{
    mlt_template *t = w->t;
    for (uint32_t i = w->first; i < w->count; i++)
        for (uint32_t p = 0; w->objects[i].own && p < w->objects[i].pieces; p++)
            if (w->objects[i].piece[p].writable) {
                t->offset[i][p] = t->bytes;
                t->bytes += w->objects[i].piece[p].to - w->objects[i].piece[p].from;
            }
    t->fd = memfd_create("millet image", MFD_CLOEXEC);
    if (t->fd < 0 || ftruncate(t->fd, (off_t)t->bytes) != 0)
        return false;
    t->memory = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
    if (t->memory == MAP_FAILED)
        t->memory = NULL;
    return t->memory != NULL;
}

// Pages of zeros are not touched: they stay holes of the file.
static bool fill(const mlt_object *o, const mlt_object_map *piece, char *to)
{
    for (size_t i = 0; i < o->header_count; i++) {
        const Elf64_Phdr *h = &o->headers[i];
        if (h->p_type == PT_LOAD && h->p_filesz && h->p_vaddr >= piece->from &&
            h->p_vaddr < piece->to &&
            !mlt_object_read(o, h->p_vaddr, to + (h->p_vaddr - piece->from), h->p_filesz))
            return false;
    }
    return true;
}

static bool fill_all(work *w)
{
    for (uint32_t i = w->first; i < w->count; i++)
        for (uint32_t p = 0; w->objects[i].own && p < w->objects[i].pieces; p++)
            if (w->objects[i].piece[p].writable &&
                !fill(&w->objects[i], &w->objects[i].piece[p], w->t->memory + w->t->offset[i][p]))
                return mlt_deny(w->why, w->why_size, "'%s' cannot be read: %s", w->objects[i].path,
                                strerror(errno));
    return true;
}

void mlt_template_refresh(const mlt_template *t, const mlt_object *objects)
{
    for (uint32_t i = 0; i < t->taken_count; i++) {
        const mlt_taken *one = &t->taken[i];
        char *to = mlt_template_at(t, objects, one->object, one->at);
        if (to)
            memcpy(to, (const void *)one->variable, one->bytes);
    }
}

// A page that a rank writes would become a page of the file first, and then the rank's. Anonymous
// memory is taken once, and in large pages where the system has them.
static mlt_stretch find_zeros(const mlt_template *t, const mlt_object_map *piece, uint64_t offset)
{
    uint64_t end = offset + (piece->to - piece->from);
    off_t hole = lseek(t->fd, (off_t)offset, SEEK_HOLE);
    while (hole >= 0 && (uint64_t)hole < end) {
        off_t data = lseek(t->fd, hole, SEEK_DATA);
        uint64_t to = data < 0 || (uint64_t)data > end ? end : (uint64_t)data;
        if (to - (uint64_t)hole >= ZEROS_LEAST)
            return (mlt_stretch){piece->from + ((uint64_t)hole - offset),
                                 piece->from + (to - offset)};
        hole = lseek(t->fd, (off_t)to, SEEK_HOLE);
    }
    return (mlt_stretch){0, 0};
}

static void find_all_zeros(const work *w)
{
    for (uint32_t i = w->first; i < w->count; i++) {
        const mlt_object *o = &w->objects[i];
        mlt_stretch *zeros = &w->t->zeros[i];
        for (uint32_t p = 0; o->own && p < o->pieces && zeros->from == zeros->to; p++)
            if (o->piece[p].writable)
                *zeros = find_zeros(w->t, &o->piece[p], w->t->offset[i][p]);
    }
}

mlt_status mlt_template_new(mlt_object *objects, uint32_t first, uint32_t count,
                            const mlt_template *start, mlt_template *t, char *why, size_t why_size)
{
    *t = (mlt_template){.fd = -1};
    t->offset = mlt_xcalloc(count, sizeof *t->offset);
    t->zeros = mlt_xcalloc(count, sizeof *t->zeros);
    t->fixups = mlt_xcalloc(count, sizeof *t->fixups);
    t->fixup_count = mlt_xcalloc(count, sizeof *t->fixup_count);
    t->fixup_room = mlt_xcalloc(count, sizeof *t->fixup_room);
    work w = {.objects = objects,
              .first = first,
              .count = count,
              .start = start,
              .t = t,
              .why = why,
              .why_size = why_size};
    if (!start && !find_holder(objects, count, t))
        return mlt_fail(MLT_ERR_UNSUPPORTED, why, why_size,
                        "no object of the program ends with its variables");
    if (!template_lay_out(&w))
        return mlt_fail(MLT_ERR_NO_MEMORY, why, why_size,
                        "the system refuses memory for copies of globals: %s", strerror(errno));
    if (!fill_all(&w))
        return MLT_ERR_SYSTEM;
    for (w.object = first; w.object < count; w.object++)
        if (objects[w.object].own && !relocate_all(&w))
            return MLT_ERR_UNSUPPORTED;
    if (!start && loads_later(objects, count))
        take_all(&w);
    w.object = 0; // only programs have such
    const mlt_object *program = &objects[0];
    if (!first && program->own)
        put_debug(&w);
    for (size_t i = 0; !first && program->own && i < program->rela_count; i++)
        if (mlt_arch_reloc_kind((uint32_t)ELF64_R_TYPE(program->rela[i].r_info)) == MLT_RELOC_COPY)
            copy_variable(&w, &program->rela[i]);
    mlt_template_refresh(t, objects);
    find_all_zeros(&w);
    return MLT_OK;
}

void mlt_template_free(mlt_template *t, uint32_t count)
{
    for (uint32_t i = 0; i < count && t->fixups; i++)
        free(t->fixups[i]);
    if (t->memory)
        munmap(t->memory, t->bytes);
    if (t->fd >= 0)
        close(t->fd);
    free(t->offset);
    free(t->zeros);
    free(t->fixups);
    free(t->fixup_count);
    free(t->fixup_room);
    free(t->taken);
}

// ---- who must be private

static bool refers(const mlt_object *objects, uint32_t count, const mlt_object *o,
                   const Elf64_Rela *r)
{
    mlt_reloc_kind kind = mlt_arch_reloc_kind((uint32_t)ELF64_R_TYPE(r->r_info));
    if (kind != MLT_RELOC_SYMBOL && kind != MLT_RELOC_SLOT)
        return false;
    return owner_of(objects, count, symbol_value(objects, count, o, r, kind)) != MLT_OBJECT_NONE;
}

bool mlt_template_refers(const mlt_object *objects, uint32_t count, uint32_t object)
{
    const mlt_object *o = &objects[object];
    for (size_t i = 0; i < o->rela_count; i++)
        if (refers(objects, count, o, &o->rela[i]))
            return true;
    for (size_t i = 0; i < o->slots_count; i++)
        if (refers(objects, count, o, &o->slots[i]))
            return true;
    return false;
}

// libc's variables for options: a program that has no others still needs its own.
static bool names_option(const mlt_object *o, const Elf64_Rela *r)
{
    uint32_t symbol = (uint32_t)ELF64_R_SYM(r->r_info);
    const char *name = symbol ? o->strings + o->symbols[symbol].st_name : "";
    return strcmp(name, "optarg") == 0 || strcmp(name, "optind") == 0 ||
           strcmp(name, "optopt") == 0 || strcmp(name, "opterr") == 0;
}

bool mlt_template_parses(const mlt_object *o)
{
    for (size_t i = 0; i < o->rela_count; i++)
        if (names_option(o, &o->rela[i]))
            return true;
    return false;
}
