// SPDX-License-Identifier: BSD-3-Clause
#include "image/image.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "image/elf.h"
#include "image/object.h"
#include "image/template.h"
#include "os/os.h"

enum { MAPS_BESIDE = 4096, MAPS_USUAL = 65530 }; // what else a process maps; Linux's default limit

struct mlt_images {
    mlt_object *objects;
    uint32_t count;   // of objects
    uint32_t copies;  // images beside the original
    uintptr_t *place; // [objects]: where an own object lies within an image
    char *area;
    uintptr_t span; // of an image
    uint32_t mappings;
    size_t tls_bytes;
    mlt_template template;
};

// ---- who is private

// The beginnings of names of libraries that hold nothing of a rank, or that know ranks (this one).
static const char *const shared_names[] = {
    "ld-linux", "libc.so",     "libm.so",     "libdl.so",    "libpthread.so",
    "librt.so", "libutil",     "libresolv",   "libnss_",     "libmvec",
    "libanl",   "libgcc_s",    "libatomic",   "libquadmath", "libasan",
    "libubsan", "libtsan",     "liblsan",     "libmpi_abi",  "millet_lua",
    "liblua5",  "libprofiler", "libjemalloc", "libtcmalloc", NULL};

// True if the library's name begins with one of the names, which commas part.
static bool is_listed(const char *list, const char *name)
{
    while (list && *list) {
        size_t length = strcspn(list, ",");
        if (length && strncmp(name, list, length) == 0)
            return true;
        list += length + (list[length] == ',');
    }
    return false;
}

static bool may_be_own(const mlt_object *o, const mlt_images_conf *conf)
{
    const char *slash = strrchr(o->path, '/'), *name = slash ? slash + 1 : o->path;
    if (o->program || is_listed(conf->private, name))
        return true;
    for (const char *const *n = shared_names; *n; n++)
        if (strncmp(name, *n, strlen(*n)) == 0)
            return false;
    return !is_listed(conf->shared, name);
}

static bool has_variables(const mlt_object *o)
{
    mlt_elf_globals globals;
    mlt_elf_read(o->fd, 0, &globals);
    bool has = globals.count > 0 || globals.unnamed > 0;
    mlt_elf_fini(&globals);
    return has;
}

// Those with variables, libc's for options among them, and those that refer to one that is private.
static bool choose(mlt_images *images, bool always)
{
    mlt_object *objects = images->objects;
    bool any = false, more = true;
    for (uint32_t i = 0; i < images->count; i++) {
        objects[i].own =
            objects[i].may && (has_variables(&objects[i]) || (always && objects[i].program) ||
                               mlt_template_parses(&objects[i]));
        any |= objects[i].own;
    }
    while (any && more) {
        more = false;
        for (uint32_t i = 0; i < images->count; i++)
            if (!objects[i].own && objects[i].may && mlt_template_refers(objects, images->count, i))
                more = objects[i].own = true;
    }
    return any;
}

static bool can_be_copied(const mlt_images *images, const mlt_images_conf *conf, char *why,
                          size_t why_size)
{
    if (conf->obstacle) {
        snprintf(why, why_size, "%s", conf->obstacle);
        return false;
    }
    for (uint32_t i = 0; i < images->count; i++) {
        const mlt_object *o = &images->objects[i];
        if (!o->own || !(o->fixed || o->text_relocations))
            continue;
        if (o->program)
            snprintf(why, why_size,
                     "the program was linked for one address; link it without -no-pie and -static");
        else
            snprintf(why, why_size, "its library '%s' was not compiled with -fPIC; compile that so",
                     o->path);
        return false;
    }
    return true;
}

// ---- the area

static uint32_t map_limit(void)
{
    unsigned limit = MAPS_USUAL;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
    if (file) {
        if (fscanf(file, "%u", &limit) != 1)
            limit = MAPS_USUAL;
        fclose(file);
    }
    return limit;
}

static void lay_out(mlt_images *images)
{
    images->place = mlt_take(images->count, sizeof *images->place);
    for (uint32_t i = 0; i < images->count; i++) {
        const mlt_object *o = &images->objects[i];
        if (!o->own)
            continue;
        images->place[i] = images->span;
        images->span += o->span;
        images->mappings += o->pieces;
    }
}

static mlt_status reserve(mlt_images *images, char *why, size_t why_size)
{
    uint64_t maps = (uint64_t)images->mappings * images->copies + MAPS_BESIDE;
    uint32_t limit = map_limit();
    if (maps > limit) {
        snprintf(why, why_size,
                 "globals of %u ranks in one process need %llu mappings, but the system allows %u: "
                 "start more processes (-n), or let the administrator set vm.max_map_count=%llu",
                 images->copies + 1, (unsigned long long)maps, limit, (unsigned long long)maps);
        return MLT_ERR_NO_MEMORY;
    }
    void *area = mmap(NULL, images->span * images->copies, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) {
        snprintf(
            why, why_size,
            "the system refuses address space for the globals of %u ranks (%llu bytes each): %s; "
            "see `ulimit -v`",
            images->copies + 1, (unsigned long long)images->span, strerror(errno));
        return MLT_ERR_NO_MEMORY;
    }
    images->area = area;
    return MLT_OK;
}

// ---- making

static void drop(mlt_images *images)
{
    mlt_template_free(&images->template, images->count);
    mlt_objects_free(images->objects, images->count);
    free(images->place);
    free(images);
}

static size_t tls_bytes(const mlt_images *images)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < images->count; i++)
        if (images->objects[i].tls && images->objects[i].may)
            bytes += images->objects[i].tls->p_memsz;
    return bytes;
}

mlt_status mlt_images_new(const mlt_images_conf *conf, mlt_images **out, char *why, size_t why_size)
{
    *out = NULL;
    mlt_images *images = mlt_take(1, sizeof *images);
    images->template.fd = -1;
    images->copies = conf->count;
    images->objects = mlt_objects_new(&images->count);
    for (uint32_t i = 0; i < images->count; i++)
        images->objects[i].may = may_be_own(&images->objects[i], conf);
    images->tls_bytes = tls_bytes(images);
    bool any = choose(images, conf->always);
    if (!any && !images->tls_bytes) {
        drop(images);
        return MLT_OK;
    }
    mlt_status status = MLT_OK;
    if (any) {
        status =
            can_be_copied(images, conf, why, why_size)
                ? mlt_template_new(images->objects, images->count, &images->template, why, why_size)
                : MLT_ERR_UNSUPPORTED;
        if (status == MLT_OK) {
            lay_out(images);
            status = reserve(images, why, why_size);
        }
    }
    if (status != MLT_OK) {
        drop(images);
        return status;
    }
    *out = images;
    return MLT_OK;
}

// Bytes of pages with an address in them.
static uint64_t written_bytes(const mlt_images *images)
{
    const mlt_template *t = &images->template;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), count = 0;
    unsigned char *seen = mlt_take(t->bytes / page + 1, 1);
    for (uint32_t i = 0; i < images->count; i++)
        for (uint32_t f = 0; images->objects[i].own && f < t->fixup_count[i]; f++) {
            const char *at = mlt_template_at(t, images->objects, i, t->fixups[i][f].at);
            unsigned char *one = at ? &seen[(uint64_t)(at - t->memory) / page] : NULL;
            count += one && !*one;
            if (one)
                *one = 1;
        }
    free(seen);
    return count * page;
}

void mlt_images_need(const mlt_images *images, mlt_image_need *out)
{
    *out = (mlt_image_need){.images = images->copies, .all = images->copies};
    if (!images->area)
        return;
    out->written = written_bytes(images);
    out->writable = images->template.bytes;
}

void mlt_images_refresh(mlt_images *images)
{
    for (uint32_t i = 0; i < images->template.taken_count; i++) {
        const mlt_taken *one = &images->template.taken[i];
        char *to = mlt_template_at(&images->template, images->objects, one->object, one->at);
        if (to)
            memcpy(to, (const void *)one->variable, one->bytes);
    }
}

// Where the object lies in the image.
static char *start_of(const mlt_images *images, uint32_t index, uint32_t object)
{
    return images->area + (size_t)(index - 1) * images->span + images->place[object];
}

static intptr_t shift_of(const mlt_images *images, uint32_t index, uint32_t object)
{
    return (intptr_t)start_of(images, index, object) - (intptr_t)images->objects[object].start;
}

static bool map_object(const mlt_images *images, uint32_t index, uint32_t object)
{
    const mlt_object *o = &images->objects[object];
    char *start = start_of(images, index, object);
    for (uint32_t p = 0; p < o->pieces; p++) {
        const mlt_piece_map *piece = &o->piece[p];
        int fd = piece->writable ? images->template.fd : o->fd;
        uint64_t offset = piece->writable ? images->template.offset[object][p] : piece->offset;
        if (mmap(start + (piece->from - o->piece[0].from), piece->to - piece->from, piece->prot,
                 MAP_PRIVATE | MAP_FIXED, fd, (off_t)offset) == MAP_FAILED)
            return false;
    }
    return true;
}

static void relocate(const mlt_images *images, uint32_t index, uint32_t object)
{
    const mlt_template *t = &images->template;
    char *base = (char *)images->objects[object].base + shift_of(images, index, object);
    for (uint32_t i = 0; i < t->fixup_count[object]; i++) {
        const mlt_fixup *f = &t->fixups[object][i];
        uint64_t word;
        memcpy(&word, base + f->at, sizeof word);
        word += (uint64_t)shift_of(images, index, f->owner);
        memcpy(base + f->at, &word, sizeof word);
    }
}

mlt_status mlt_image_make(mlt_images *images, uint32_t index, char *why, size_t why_size)
{
    for (uint32_t i = 0; i < images->count && images->area; i++) {
        if (!images->objects[i].own)
            continue;
        if (!map_object(images, index, i)) {
            snprintf(why, why_size,
                     "the system refuses memory for the globals of rank %u of this "
                     "process: %s",
                     index, strerror(errno));
            return MLT_ERR_NO_MEMORY;
        }
        relocate(images, index, i);
    }
    return MLT_OK;
}

// ---- constructors and destructors

typedef void constructor(int argc, char **argv, char **envp);
typedef void destructor(void);

static void construct(const mlt_images *images, uint32_t index, uint32_t object, int argc,
                      char **argv, char **envp)
{
    const mlt_object *o = &images->objects[object];
    intptr_t shift = shift_of(images, index, object);
    constructor *const *pre = (constructor *const *)(o->preinit_array + (uintptr_t)shift);
    constructor *const *init = (constructor *const *)(o->init_array + (uintptr_t)shift);
    for (size_t i = 0; o->program && i < o->preinit_count; i++)
        pre[i](argc, argv, envp);
    if (o->init)
        ((constructor *)(o->init + (uintptr_t)shift))(argc, argv, envp);
    for (size_t i = 0; i < o->init_count; i++)
        init[i](argc, argv, envp);
}

// Libraries before whoever needs them: those that were loaded last come first.
void mlt_image_construct(const mlt_images *images, uint32_t index, int argc, char **argv,
                         char **envp)
{
    for (uint32_t i = images->count; i-- > 0 && index && images->area;)
        if (images->objects[i].own)
            construct(images, index, i, argc, argv, envp);
}

void mlt_image_destruct(const mlt_images *images, uint32_t index)
{
    for (uint32_t k = 0; k < images->count && index && images->area; k++) {
        const mlt_object *o = &images->objects[k];
        if (!o->own)
            continue;
        uintptr_t shift = (uintptr_t)shift_of(images, index, k);
        destructor *const *fini = (destructor *const *)(o->fini_array + shift);
        for (size_t i = o->fini_count; i-- > 0;)
            fini[i]();
        if (o->fini)
            ((destructor *)(o->fini + shift))();
    }
}

// ---- looking

void *mlt_image_shift(const mlt_images *images, uint32_t index, const void *address)
{
    if (!images || !index || !images->area)
        return (void *)(uintptr_t)address;
    uint32_t object = mlt_object_at(images->objects, images->count, (uintptr_t)address);
    if (object == MLT_OBJECT_NONE || !images->objects[object].own)
        return (void *)(uintptr_t)address;
    return (char *)(uintptr_t)address + shift_of(images, index, object);
}

void *mlt_image_variable(const mlt_images *images, uint32_t index, void *variable)
{
    if (!images || !index || !images->area)
        return variable;
    const mlt_taken *one = mlt_template_taken(&images->template, (uintptr_t)variable);
    if (!one)
        return NULL;
    return (char *)images->objects[one->object].base + one->at +
           shift_of(images, index, one->object);
}

bool mlt_images_exist(const mlt_images *images)
{
    return images && images->area;
}

uintptr_t mlt_images_original(const mlt_images *images, uintptr_t address)
{
    uintptr_t area = images ? (uintptr_t)images->area : 0;
    if (!area || address < area || address - area >= images->span * images->copies)
        return address;
    uint32_t index = (uint32_t)((address - area) / images->span) + 1;
    uintptr_t offset = (address - area) % images->span;
    for (uint32_t i = 0; i < images->count; i++) {
        const mlt_object *o = &images->objects[i];
        if (o->own && offset >= images->place[i] && offset - images->place[i] < o->span)
            return address - (uintptr_t)shift_of(images, index, i);
    }
    return address;
}

bool mlt_images_object(const mlt_images *images, uint32_t index, uint32_t number, uintptr_t *base,
                       uintptr_t *original_base)
{
    for (uint32_t i = 0; i < images->count && images->area; i++) {
        if (!images->objects[i].own || number-- > 0)
            continue;
        *original_base = images->objects[i].base;
        *base = *original_base + (index ? (uintptr_t)shift_of(images, index, i) : 0);
        return true;
    }
    return false;
}

// ---- thread-local variables

size_t mlt_images_tls_bytes(const mlt_images *images)
{
    return images->tls_bytes;
}

typedef struct search {
    const mlt_images *images;
    mlt_image_tls *out;
} search;

static int note_block(struct dl_phdr_info *info, size_t size, void *user)
{
    search *s = user;
    if (size < offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof info->dlpi_tls_data ||
        !info->dlpi_tls_data)
        return 0;
    for (uint32_t i = 0; i < s->images->count; i++) {
        const mlt_object *o = &s->images->objects[i];
        if (!o->tls || !o->may || o->tls_module != info->dlpi_tls_modid ||
            s->out->count == MLT_IMAGE_TLS_MOST)
            continue;
        s->out->block[s->out->count].at = info->dlpi_tls_data;
        s->out->block[s->out->count].bytes = (uint32_t)o->tls->p_memsz;
        s->out->block[s->out->count++].object = i;
    }
    return 0;
}

void mlt_image_tls_of_thread(const mlt_images *images, mlt_image_tls *out)
{
    out->count = 0;
    if (images->tls_bytes)
        (void)dl_iterate_phdr(note_block, &(search){images, out});
}

void mlt_image_tls_init(const mlt_images *images, const mlt_image_tls *tls, uint32_t index)
{
    for (uint32_t i = 0; i < tls->count; i++) {
        const mlt_object *o = &images->objects[tls->block[i].object];
        intptr_t shift = index && o->own ? shift_of(images, index, tls->block[i].object) : 0;
        const char *initial = (const char *)(o->base + o->tls->p_vaddr + (uintptr_t)shift);
        memcpy(tls->block[i].at, initial, o->tls->p_filesz);
        memset(tls->block[i].at + o->tls->p_filesz, 0, o->tls->p_memsz - o->tls->p_filesz);
    }
}

void mlt_image_tls_save(const mlt_image_tls *tls, char *to)
{
    for (uint32_t i = 0; i < tls->count; to += tls->block[i++].bytes)
        memcpy(to, tls->block[i].at, tls->block[i].bytes);
}

void mlt_image_tls_load(const mlt_image_tls *tls, const char *from)
{
    for (uint32_t i = 0; i < tls->count; from += tls->block[i++].bytes)
        memcpy(tls->block[i].at, from, tls->block[i].bytes);
}
