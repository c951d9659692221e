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

#include "base/array.h"
#include "base/text.h"
#include "image/elf.h"
#include "image/image_int.h"
#include "image/order.h"
#include "image/slab.h"
#include "os/device.h"
#include "os/os.h"

enum { MAPS_BESIDE = 4096, MAPS_USUAL = 65530 }; // what else a process maps; Linux's default limit

const mlt_image_set *mlt_image_sets;

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

static bool begins_as_one(const char *const *names, const char *name)
{
    while (*names && strncmp(name, *names, strlen(*names)) != 0)
        names++;
    return *names != NULL;
}

static bool name_may_be_own(const char *path, const mlt_images_conf *conf)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (is_listed(conf->private, name))
        return true;
    // Of a device a process has one context for all its ranks. What programs register there (kernels,
    // variables of the device) stays a rank's own.
    return !begins_as_one(shared_names, name) && !mlt_os_is_of_device(name) &&
           !is_listed(conf->shared, name);
}

// A file that cannot be read, or has no sections, may have some.
static bool has_variables(mlt_object *o)
{
    mlt_elf_globals globals;
    if (!mlt_object_open(o))
        return true;
    mlt_elf_read(o->fd, 0, &globals);
    // Segments are aligned for the largest pages that there may be, which copies need not be.
    if (globals.program && globals.align < o->align && !(globals.align & (globals.align - 1)))
        o->align = globals.align;
    bool has = !globals.program || globals.count > 0 || globals.unnamed > 0;
    mlt_elf_fini(&globals);
    return has;
}

// Those with variables, libc's for options among them, and those that refer to one that is private.
bool mlt_image_set_choose(const mlt_images *images, mlt_image_set *set)
{
    mlt_object *objects = set->objects;
    bool any = false, more = true;
    for (uint32_t i = set->first; i < set->count; i++) {
        mlt_object *o = &objects[i];
        o->may = o->program || name_may_be_own(o->path, &images->conf);
        o->own = o->may && (has_variables(o) || (images->conf.always && o->program) ||
                            mlt_template_parses(o));
        any |= o->own;
    }
    while (more && (any || set->first)) { // a late one may refer to one from before
        more = false;
        for (uint32_t i = set->first; i < set->count; i++)
            if (!objects[i].own && objects[i].may && mlt_template_refers(objects, set->count, i))
                any = more = objects[i].own = true;
    }
    for (uint32_t i = set->first; i < set->count; i++)
        if (!objects[i].own)
            mlt_object_close(&objects[i]);
    return any;
}

static bool can_be_copied(const mlt_object *o, char *why, size_t why_size)
{
    bool fixed = o->fixed || o->text_relocations;
    if (o->error && o->program)
        snprintf(why, why_size, "the program's file cannot be read: %s", strerror(o->error));
    else if (o->error)
        snprintf(why, why_size, "its library '%s' cannot be read: %s", o->path, strerror(o->error));
    else if (fixed && o->program)
        snprintf(why, why_size,
                 "the program was linked for one address; link it without -no-pie and -static");
    else if (fixed)
        snprintf(why, why_size, "its library '%s' was not compiled with -fPIC; compile that so",
                 o->path);
    return !o->error && !fixed;
}

// Sharing globals is the way out where there can never be copies; too few descriptors are an error.
static mlt_status all_can_be_copied(const mlt_image_set *set, char *why, size_t why_size)
{
    for (uint32_t i = set->first; i < set->count; i++) {
        const mlt_object *o = &set->objects[i];
        if (o->own && !can_be_copied(o, why, why_size))
            return o->error == EMFILE || o->error == ENFILE ? MLT_ERR_SYSTEM : MLT_ERR_UNSUPPORTED;
    }
    return MLT_OK;
}

// ---- the area

static uint32_t map_limit(void)
{
    char text[32];
    unsigned limit;
    (void)mlt_os_read_text("/proc/sys/vm/max_map_count", text, sizeof text);
    return sscanf(text, "%u", &limit) == 1 ? limit : MAPS_USUAL;
}

// Bytes from `at` to where something may lie that wants `align` as the address `like` has it.
static uintptr_t gap(uintptr_t at, uintptr_t like, uintptr_t align)
{
    return align > mlt_os_page_size() ? (like - at) & (align - 1) : 0;
}

// For an area that is aligned like the largest of them. A gap is a mapping, too.
static uintptr_t image_lay_out(mlt_image_set *set)
{
    uintptr_t largest = 1;
    set->place = mlt_xcalloc(set->count, sizeof *set->place);
    for (uint32_t i = set->first; i < set->count; i++) {
        const mlt_object *o = &set->objects[i];
        if (!o->own)
            continue;
        set->place[i] = set->span + gap(set->span, o->start, o->align);
        set->span = set->place[i] + o->span;
        bool zeros = set->template.zeros[i].to; // between others
        set->mappings += o->pieces + (o->align > mlt_os_page_size()) + 2 * zeros;
        largest = o->align > largest ? o->align : largest;
    }
    set->span += gap(set->span, 0, largest);
    return largest;
}

// The mappings that images may still take.
static uint64_t mappings_left(const mlt_images *images)
{
    uint64_t limit = images->conf.mappings, taken = images->mappings;
    if (!limit) {
        limit = map_limit();
        taken += (uint64_t)MAPS_BESIDE + images->conf.guards;
    }
    return limit > taken ? limit - taken : 0;
}

// Libraries that are loaded later need some, too, so none of them takes all that is left.
static mlt_status share_out(const mlt_images *images, mlt_image_set *set, char *why,
                            size_t why_size)
{
    uint64_t left = mappings_left(images), all = (uint64_t)set->mappings * set->copies;
    if (!left && all)
        return mlt_fail(
            MLT_ERR_NO_MEMORY, why, why_size,
            "globals of %u ranks in one process need mappings, but the process has none left: "
            "start more processes (-n with --workers process), share them (--globals shared), or "
            "raise vm.max_map_count or MILLET_GLOBALS_MAPPINGS",
            set->copies + 1);
    if (all > left - (left + 15) / 16)
        set->slab = mlt_slab_images(set->copies, set->first ? (left + 7) / 8 : (left + 1) / 2);
    set->slab_fd = -1;
    return MLT_OK;
}

static mlt_status reserve(mlt_image_set *set, uintptr_t align, char *why, size_t why_size)
{
    void *area = mmap(NULL, set->span * set->copies + align, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED)
        return mlt_fail(
            MLT_ERR_NO_MEMORY, why, why_size,
            "the system refuses address space for the globals of %u ranks (%llu bytes each): %s; "
            "see `ulimit -v`",
            set->copies + 1, (unsigned long long)set->span, strerror(errno));
    set->area = (char *)area + gap((uintptr_t)area, 0, align);
    mlt_status status = set->slab ? mlt_slab_new(set, why, why_size) : MLT_OK;
    if (status == MLT_OK && set->slab && set->first) // the others: mlt_images_refresh
        status = mlt_slab_fill(set, why, why_size);
    if (status != MLT_OK) {
        (void)munmap(area, set->span * set->copies + align);
        set->area = NULL;
    }
    return status;
}

// ---- making

mlt_status mlt_image_set_make(mlt_images *images, mlt_image_set *set, char *why, size_t why_size)
{
    set->copies = images->conf.count;
    if (images->conf.obstacle)
        snprintf(why, why_size, "%s", images->conf.obstacle);
    mlt_status status =
        images->conf.obstacle ? MLT_ERR_UNSUPPORTED : all_can_be_copied(set, why, why_size);
    if (status != MLT_OK)
        return status;
    const mlt_template *start = set->first ? &images->start.template : NULL;
    status = mlt_template_new(set->objects, set->first, set->count, start, &set->template, why,
                              why_size);
    if (status != MLT_OK)
        return status;
    uintptr_t align = image_lay_out(set);
    status = share_out(images, set, why, why_size);
    if (status == MLT_OK)
        status = reserve(set, align, why, why_size);
    if (status == MLT_OK)
        images->mappings += set->slab ? mlt_slab_count(set) : (uint64_t)set->mappings * set->copies;
    return status;
}

void mlt_image_set_drop(mlt_image_set *set)
{
    mlt_template_free(&set->template, set->count);
    mlt_slab_free(set);
    mlt_objects_free(set->objects, set->first, set->count);
    free(set->place);
}

static size_t tls_bytes(const mlt_image_set *set)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < set->count; i++)
        if (set->objects[i].tls && set->objects[i].may)
            bytes += set->objects[i].tls->p_memsz;
    return bytes;
}

static char *copy_of(const char *text)
{
    return text ? mlt_text_of("%s", text) : NULL;
}

mlt_status mlt_images_new(const mlt_images_conf *conf, mlt_images **out, char *why, size_t why_size)
{
    mlt_images *images = mlt_xcalloc(1, sizeof *images);
    mlt_image_set *set = images->last = &images->start;
    set->template.fd = -1;
    images->conf = *conf;
    images->conf.shared = copy_of(conf->shared);
    images->conf.private = copy_of(conf->private);
    set->objects = mlt_objects_new(&set->count);
    bool any = mlt_image_set_choose(images, set);
    images->tls_bytes = tls_bytes(set);
    mlt_status status = any ? mlt_image_set_make(images, set, why, why_size) : MLT_OK;
    images->order = mlt_order_all(set->objects, set->count);
    if (status != MLT_OK || conf->obstacle) {
        mlt_image_set_drop(set);
        free(images->order);
        free(images);
        images = NULL;
    }
    *out = images;
    mlt_image_sets = images ? set : NULL;
    return status;
}

// Bytes of pages with an address in them.
static uint64_t written_bytes(const mlt_image_set *set)
{
    const mlt_template *t = &set->template;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), count = 0;
    unsigned char *seen = mlt_xcalloc(t->bytes / page + 1, 1);
    for (uint32_t i = 0; i < set->count; i++)
        for (uint32_t f = 0; set->objects[i].own && f < t->fixup_count[i]; f++) {
            const char *at = mlt_template_at(t, set->objects, i, t->fixups[i][f].at);
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
    const mlt_image_set *set = &images->start;
    *out = (mlt_image_need){.images = set->copies, .all = set->copies};
    if (!set->area)
        return;
    out->written = written_bytes(set);
    out->writable = set->template.bytes;
    out->limited = set->slab ? 0 : out->writable; // slabs have taken theirs
    out->common = set->slab ? mlt_slab_bytes(set) : 0;
}

mlt_status mlt_images_refresh(mlt_images *images, char *why, size_t why_size)
{
    const mlt_image_set *set = &images->start;
    mlt_template_refresh(&set->template, set->objects);
    return set->slab ? mlt_slab_fill(set, why, why_size) : MLT_OK;
}

// Where the object lies in the image.
static char *start_of(const mlt_image_set *set, uint32_t index, uint32_t object)
{
    return set->area + (size_t)(index - 1) * set->span + set->place[object];
}

intptr_t mlt_image_shift_of(const mlt_image_set *set, uint32_t index, uint32_t object)
{
    return (intptr_t)start_of(set, index, object) - (intptr_t)set->objects[object].start;
}

static bool map_object(const mlt_image_set *set, uint32_t index, uint32_t object)
{
    const mlt_object *o = &set->objects[object];
    char *start = start_of(set, index, object);
    for (uint32_t p = 0; p < o->pieces; p++) {
        const mlt_object_map *piece = &o->piece[p];
        int fd = piece->writable ? set->template.fd : o->fd;
        uint64_t offset = piece->writable ? set->template.offset[object][p] : piece->offset;
        if (mmap(start + (piece->from - o->piece[0].from), piece->to - piece->from, piece->prot,
                 MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, (off_t)offset) == MAP_FAILED)
            return false;
    }
    const mlt_stretch *zeros = &set->template.zeros[object];
    return zeros->from == zeros->to ||
           mmap(start + (zeros->from - o->piece[0].from), zeros->to - zeros->from,
                PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
                0) != MAP_FAILED;
}

// A library that a rank has closed and opens again is as new.
static bool renew(const mlt_image_set *set, uint32_t index, uint32_t object)
{
    return !set->first ||
           madvise(start_of(set, index, object), set->objects[object].span, MADV_DONTNEED) == 0;
}

static void image_relocate(const mlt_images *images, const mlt_image_set *set, uint32_t index,
                           uint32_t object)
{
    const mlt_template *t = &set->template;
    char *base = (char *)set->objects[object].base + mlt_image_shift_of(set, index, object);
    for (uint32_t i = 0; i < t->fixup_count[object]; i++) {
        const mlt_fixup *f = &t->fixups[object][i];
        const mlt_image_set *owners = mlt_image_set_of(images, f->owner);
        uint64_t word;
        memcpy(&word, base + f->at, sizeof word);
        word += (uint64_t)mlt_image_shift_of(owners, index, f->owner);
        memcpy(base + f->at, &word, sizeof word);
    }
}

mlt_status mlt_image_make_object(const mlt_images *images, uint32_t index, uint32_t object,
                                 char *why, size_t why_size)
{
    const mlt_image_set *set = mlt_image_set_of(images, object);
    if (!(set->slab ? renew(set, index, object) : map_object(set, index, object)))
        return mlt_fail(MLT_ERR_NO_MEMORY, why, why_size,
                        "the system refuses memory for the globals of rank %u of this process: %s",
                        index, strerror(errno));
    image_relocate(images, set, index, object);
    return MLT_OK;
}

__attribute__((noinline)) void mlt_image_made(uint32_t index)
{
    __asm__ volatile("" : : "r"(index));
}

mlt_status mlt_image_make(mlt_images *images, uint32_t index, char *why, size_t why_size)
{
    const mlt_image_set *set = &images->start;
    for (uint32_t i = 0; i < set->count && set->area; i++) {
        mlt_status status =
            set->objects[i].own ? mlt_image_make_object(images, index, i, why, why_size) : MLT_OK;
        if (status != MLT_OK)
            return status;
    }
    if (set->area)
        mlt_image_made(index);
    return MLT_OK;
}

// ---- constructors and destructors

typedef void constructor(int argc, char **argv, char **envp);
typedef void destructor(void);

static uintptr_t shift_from(const mlt_image_set *set, uint32_t index, uint32_t object)
{
    return index ? (uintptr_t)mlt_image_shift_of(set, index, object) : 0;
}

// An entry of a list of functions, as the original has it.
static uintptr_t listed(const mlt_image_set *set, uint32_t object, uintptr_t list, size_t i)
{
    uintptr_t at = list - set->objects[object].base + i * sizeof at;
    const char *word = mlt_template_at(&set->template, set->objects, object, at);
    if (word)
        memcpy(&at, word, sizeof at);
    else
        memcpy(&at, (const void *)(list + i * sizeof at), sizeof at); // in a read-only segment
    return at;
}

void mlt_image_construct_object(const mlt_images *images, uint32_t index, uint32_t object, int argc,
                                char **argv, char **envp)
{
    const mlt_image_set *set = mlt_image_set_of(images, object);
    const mlt_object *o = &set->objects[object];
    uintptr_t shift = shift_from(set, index, object);
    for (size_t i = 0; o->program && index && i < o->preinit_count; i++)
        ((constructor *)(listed(set, object, o->preinit_array, i) + shift))(argc, argv, envp);
    if (o->init)
        ((constructor *)(o->init + shift))(argc, argv, envp);
    for (size_t i = 0; i < o->init_count; i++)
        ((constructor *)(listed(set, object, o->init_array, i) + shift))(argc, argv, envp);
}

// True if the image's constructors and destructors of an object from the start are ours to run.
static bool is_ours(const mlt_image_set *set, uint32_t index, uint32_t object)
{
    const mlt_object *o = &set->objects[object];
    return set->area && (index ? o->own : o->silenced);
}

void mlt_image_construct(const mlt_images *images, uint32_t index, int argc, char **argv,
                         char **envp)
{
    const mlt_image_set *set = &images->start;
    for (uint32_t i = 0; i < set->count; i++)
        if (is_ours(set, index, images->order[i]))
            mlt_image_construct_object(images, index, images->order[i], argc, argv, envp);
}

void mlt_image_destruct_object(const mlt_images *images, uint32_t index, uint32_t object)
{
    const mlt_image_set *set = mlt_image_set_of(images, object);
    const mlt_object *o = &set->objects[object];
    uintptr_t shift = shift_from(set, index, object);
    for (size_t i = o->fini_count; i-- > 0;)
        ((destructor *)(listed(set, object, o->fini_array, i) + shift))();
    if (o->fini)
        ((destructor *)(o->fini + shift))();
}

void mlt_image_destruct(const mlt_images *images, uint32_t index)
{
    const mlt_image_set *set = &images->start;
    for (uint32_t i = set->count; i-- > 0;)
        if (is_ours(set, index, images->order[i]))
            mlt_image_destruct_object(images, index, images->order[i]);
}

// ---- looking

void *mlt_image_shift(const mlt_images *images, uint32_t index, const void *address)
{
    const mlt_image_set *set = images && index ? &images->start : NULL;
    for (; set; set = mlt_image_set_next(set)) {
        uint32_t object = set->area ? mlt_object_at(set->objects + set->first,
                                                    set->count - set->first, (uintptr_t)address)
                                    : MLT_OBJECT_NONE;
        if (object != MLT_OBJECT_NONE && set->objects[set->first + object].own)
            return (char *)(uintptr_t)address + mlt_image_shift_of(set, index, set->first + object);
    }
    return (void *)(uintptr_t)address;
}

void *mlt_image_variable(const mlt_images *images, uint32_t index, void *variable)
{
    const mlt_image_set *set = images ? &images->start : NULL;
    if (!index || !set || !set->area)
        return variable;
    const mlt_taken *one = mlt_template_taken(&set->template, (uintptr_t)variable);
    if (!one)
        return NULL;
    return (char *)set->objects[one->object].base + one->at +
           mlt_image_shift_of(set, index, one->object);
}

bool mlt_images_exist(const mlt_images *images)
{
    return images && images->start.area;
}

// The original's counterpart of an address in the set's area.
static uintptr_t original_in(const mlt_image_set *set, uintptr_t address)
{
    uintptr_t area = (uintptr_t)set->area;
    uint32_t index = (uint32_t)((address - area) / set->span) + 1;
    uintptr_t offset = (address - area) % set->span;
    for (uint32_t i = set->first; i < set->count; i++) {
        const mlt_object *o = &set->objects[i];
        if (o->own && offset >= set->place[i] && offset - set->place[i] < o->span)
            return address - (uintptr_t)mlt_image_shift_of(set, index, i);
    }
    return address;
}

// The set whose area has the address; NULL: none.
static const mlt_image_set *area_of(const mlt_images *images, uintptr_t address)
{
    const mlt_image_set *set = images ? &images->start : NULL;
    for (; set; set = mlt_image_set_next(set))
        if (set->area && address >= (uintptr_t)set->area &&
            address - (uintptr_t)set->area < set->span * set->copies)
            return set;
    return NULL;
}

uintptr_t mlt_images_original(const mlt_images *images, uintptr_t address)
{
    const mlt_image_set *set = area_of(images, address);
    return set ? original_in(set, address) : address;
}

uint32_t mlt_images_index(const mlt_images *images, uintptr_t address)
{
    const mlt_image_set *set = area_of(images, address);
    return set ? (uint32_t)((address - (uintptr_t)set->area) / set->span) + 1 : 0;
}

bool mlt_images_share(const mlt_images *images, const void *address)
{
    const mlt_image_set *set = &images->start;
    uint32_t o = mlt_object_at(set->objects, set->count, (uintptr_t)address);
    Dl_info info;
    if (o != MLT_OBJECT_NONE)
        return !set->objects[o].may;
    return mlt_images_index(images, (uintptr_t)address) == 0 && dladdr(address, &info) &&
           info.dli_fname && !name_may_be_own(info.dli_fname, &images->conf);
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

static void note_block(mlt_image_tls *out, uint32_t object, const mlt_object *o, void *at)
{
    MLT_ARRAY_WANT(out->block, out->count + 1, out->room);
    out->block[out->count].at = at;
    out->block[out->count].bytes = (uint32_t)o->tls->p_memsz;
    out->block[out->count++].object = object;
}

static int note_blocks(struct dl_phdr_info *info, size_t size, void *user)
{
    search *s = user;
    const mlt_image_set *set = &s->images->start;
    if (size < offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof info->dlpi_tls_data ||
        !info->dlpi_tls_data)
        return 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const mlt_object *o = &set->objects[i];
        if (o->tls && o->may && o->tls_module == info->dlpi_tls_modid)
            note_block(s->out, i, o, info->dlpi_tls_data);
    }
    return 0;
}

void mlt_image_tls_of_thread(const mlt_images *images, mlt_image_tls *out)
{
    *out = (mlt_image_tls){.count = 0};
    if (images->tls_bytes)
        (void)dl_iterate_phdr(note_blocks, &(search){images, out});
}

// What __tls_get_addr takes; the system makes the thread's block when it is first asked for.
typedef struct tls_place {
    size_t module, offset;
} tls_place;
extern void *__tls_get_addr(tls_place *place);

void mlt_image_tls_add(const mlt_images *images, uint32_t object, mlt_image_tls *tls)
{
    const mlt_object *o = &mlt_image_set_of(images, object)->objects[object];
    for (uint32_t i = 0; i < tls->count; i++)
        if (tls->block[i].object == object)
            return;
    if (o->tls)
        note_block(tls, object, o, __tls_get_addr(&(tls_place){o->tls_module, 0}));
}

void mlt_image_tls_free(mlt_image_tls *tls)
{
    free(tls->block);
    *tls = (mlt_image_tls){.count = 0};
}

void mlt_image_tls_init_block(const mlt_images *images, const mlt_image_tls *tls, uint32_t block,
                              uint32_t index)
{
    uint32_t object = tls->block[block].object;
    const mlt_image_set *set = mlt_image_set_of(images, object);
    const mlt_object *o = &set->objects[object];
    uintptr_t shift = o->own ? shift_from(set, index, object) : 0;
    const char *initial = (const char *)(o->base + o->tls->p_vaddr + shift);
    memcpy(tls->block[block].at, initial, o->tls->p_filesz);
    memset(tls->block[block].at + o->tls->p_filesz, 0, o->tls->p_memsz - o->tls->p_filesz);
}

void mlt_image_tls_init(const mlt_images *images, const mlt_image_tls *tls, uint32_t index)
{
    for (uint32_t i = 0; i < tls->count; i++)
        mlt_image_tls_init_block(images, tls, i, index);
}

size_t mlt_image_tls_bytes(const mlt_image_tls *tls)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < tls->count; i++)
        bytes += tls->block[i].bytes;
    return bytes;
}

void mlt_image_tls_save(const mlt_image_tls *tls, uint32_t blocks, char *to)
{
    for (uint32_t i = 0; i < blocks; to += tls->block[i++].bytes)
        memcpy(to, tls->block[i].at, tls->block[i].bytes);
}

void mlt_image_tls_load(const mlt_image_tls *tls, uint32_t blocks, const char *from)
{
    for (uint32_t i = 0; i < blocks; from += tls->block[i++].bytes)
        memcpy(tls->block[i].at, from, tls->block[i].bytes);
}
