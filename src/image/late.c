// SPDX-License-Identifier: BSD-3-Clause
#include "image/late.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "base/text.h"
#include "image/image_int.h"
#include "image/order.h"
#include "image/slab.h"
#include "os/os.h"

enum { WHY_BYTES = 512 };

static const mlt_object *object_of(const mlt_images *images, uint32_t object)
{
    return &mlt_image_set_of(images, object)->objects[object];
}

// A library's handle is the loader's record of it. Those that it needs come after it in the list.
static void *handle_of(const mlt_object *o, const char *prelude)
{
    struct link_map *map = _r_debug.r_map;
    while (map && (prelude ? strcmp(map->l_name, prelude) != 0 : map->l_ld != o->dynamic))
        map = map->l_next;
    return map;
}

// Nobody shall have any of them.
static void refuse(mlt_image_set *set, const char *why)
{
    mlt_template_free(&set->template, set->count);
    mlt_slab_free(set);
    set->template = (mlt_template){.fd = -1};
    for (uint32_t i = set->first; i < set->count; i++) {
        mlt_object *o = &set->objects[i];
        o->refused = o->own || (o->may && o->tls) ? mlt_text_of("%s", why) : NULL;
        o->own = o->may = false;
    }
}

static void publish(mlt_images *images, mlt_image_set *set)
{
    // Pairs with mlt_image_set_next.
    atomic_store_explicit(&images->last->next, set, memory_order_release);
    images->last = set;
}

void mlt_images_add(mlt_images *images, const char *prelude)
{
    char why[WHY_BYTES];
    const mlt_image_set *before = images->last;
    mlt_image_set *set = mlt_xcalloc(1, sizeof *set);
    set->template.fd = -1;
    set->first = before->count;
    set->objects = mlt_objects_since(before->objects, before->count, prelude, &set->count);
    if (set->count == set->first) {
        mlt_image_set_drop(set);
        free(set);
        return;
    }
    void *scope = handle_of(&set->objects[set->first], prelude);
    for (uint32_t i = set->first; i < set->count; i++)
        set->objects[i].scope = scope;
    if (mlt_image_set_choose(images, set) &&
        mlt_image_set_make(images, set, why, sizeof why) != MLT_OK)
        refuse(set, why);
    publish(images, set);
}

// A set has copies of what others know of the objects before its own.
void mlt_images_replace_scope(mlt_images *images, const void *prelude, void *handle)
{
    for (mlt_image_set *set = &images->start; set;
         set = (mlt_image_set *)(uintptr_t)mlt_image_set_next(set))
        for (uint32_t i = 0; i < set->count; i++)
            if (set->objects[i].scope == prelude)
                set->objects[i].scope = handle;
}

// ---- looking

uint32_t mlt_images_at(const mlt_images *images, const void *address)
{
    for (const mlt_image_set *set = &images->start; set; set = mlt_image_set_next(set)) {
        uint32_t at =
            mlt_object_at(set->objects + set->first, set->count - set->first, (uintptr_t)address);
        if (at != MLT_OBJECT_NONE)
            return set->first + at;
    }
    return MLT_IMAGES_NO_OBJECT;
}

bool mlt_images_is_from_start(const mlt_images *images, uint32_t object)
{
    return object < images->start.count;
}

bool mlt_images_stays(const mlt_images *images, uint32_t object)
{
    return object_of(images, object)->stays;
}

void *mlt_images_scope(const mlt_images *images, uint32_t object)
{
    return object == MLT_IMAGES_NO_OBJECT ? NULL : object_of(images, object)->scope;
}

bool mlt_images_is_late(const mlt_images *images, uint32_t object)
{
    if (object == MLT_IMAGES_NO_OBJECT || object < images->start.count)
        return false;
    const mlt_object *o = object_of(images, object);
    return o->own || o->refused || (o->may && o->tls);
}

const char *mlt_images_refused(const mlt_images *images, uint32_t object)
{
    return object_of(images, object)->refused;
}

void mlt_image_late_span(const mlt_images *images, uint32_t index, uint32_t object, uintptr_t *from,
                         uintptr_t *to)
{
    const mlt_object *o = object_of(images, object);
    *from = (uintptr_t)mlt_image_shift(images, index, (const void *)o->start);
    *to = *from + o->span;
}

// ---- who needs whom

// Also those that it refers to without saying that it needs them.
static void visit_referred(mlt_order *order, uint32_t object)
{
    const mlt_template *t = &mlt_image_set_of(order->user, object)->template;
    for (uint32_t i = 0; t->fixups && i < t->fixup_count[object]; i++)
        mlt_order_visit(order, t->fixups[object][i].owner);
}

uint32_t *mlt_images_needed(const mlt_images *images, uint32_t object, uint32_t *count)
{
    mlt_order order;
    mlt_order_init(&order, images->last->objects, images->start.count, images->last->count);
    order.visit_more = visit_referred;
    order.user = images;
    mlt_order_visit(&order, object);
    free(order.seen);
    *count = 0;
    for (uint32_t i = 0; i < order.found_count; i++)
        if (mlt_images_is_late(images, order.found[i]))
            order.found[(*count)++] = order.found[i];
    return order.found;
}

// ---- making

static bool let_write(const mlt_object *o, const mlt_object_map *piece)
{
    return mprotect((void *)(o->base + piece->from), piece->to - piece->from, piece->prot) == 0;
}

// The template's part from `from` to `to` (relative to the base), which is relocated for the
// original's addresses.
static void refill(const mlt_image_set *set, uint32_t object, uintptr_t from, uintptr_t to)
{
    const mlt_object *o = &set->objects[object];
    if (from < to)
        memcpy((void *)(o->base + from), mlt_template_at(&set->template, o - object, object, from),
               to - from);
}

// The loader itself uses the dynamic section, and has changed it.
static void dynamic_of(const mlt_object *o, uintptr_t *from, uintptr_t *to)
{
    const Elf64_Dyn *end = o->dynamic;
    while (end->d_tag != DT_NULL)
        end++;
    *from = (uintptr_t)o->dynamic - o->base;
    *to = (uintptr_t)(end + 1) - o->base;
}

static uintptr_t within(const mlt_object_map *piece, uintptr_t at)
{
    return at < piece->from ? piece->from : at > piece->to ? piece->to : at;
}

static mlt_status restore(const mlt_image_set *set, uint32_t object, char *why, size_t why_size)
{
    const mlt_object *o = &set->objects[object];
    uintptr_t from, to;
    dynamic_of(o, &from, &to);
    for (uint32_t p = 0; p < o->pieces; p++) {
        const mlt_object_map *piece = &o->piece[p];
        if (!piece->writable)
            continue;
        if (!let_write(o, piece))
            return mlt_fail(MLT_ERR_SYSTEM, why, why_size,
                            "'%s' cannot be given its initial values again: %s", o->path,
                            strerror(errno));
        refill(set, object, piece->from, within(piece, from));
        refill(set, object, within(piece, to), piece->to);
    }
    return MLT_OK;
}

mlt_status mlt_image_late_make(const mlt_images *images, uint32_t index, uint32_t object, char *why,
                               size_t why_size)
{
    const mlt_image_set *set = mlt_image_set_of(images, object);
    if (!set->objects[object].own)
        return MLT_OK; // it has thread-local variables only
    if (!index)
        return restore(set, object, why, why_size);
    mlt_status status = mlt_image_make_object(images, index, object, why, why_size);
    if (status == MLT_OK)
        mlt_image_made(index);
    return status;
}

void mlt_image_late_construct(const mlt_images *images, uint32_t index, uint32_t object, int argc,
                              char **argv, char **envp)
{
    if (object_of(images, object)->own)
        mlt_image_construct_object(images, index, object, argc, argv, envp);
}

void mlt_image_late_destruct(const mlt_images *images, uint32_t index, uint32_t object)
{
    if (object_of(images, object)->own)
        mlt_image_destruct_object(images, index, object);
}

// ---- the loader's part

static void nothing(void)
{
}

static void silence_entries(const mlt_object *o)
{
    for (Elf64_Dyn *d = (Elf64_Dyn *)(uintptr_t)o->dynamic; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_INIT || d->d_tag == DT_FINI) // the loader adds the base
            d->d_un.d_ptr = (uintptr_t)nothing - o->base;
    void (**init)(void) = (void (**)(void))o->init_array,
         (**fini)(void) = (void (**)(void))o->fini_array;
    for (size_t i = 0; i < o->init_count; i++)
        init[i] = nothing;
    for (size_t i = 0; i < o->fini_count; i++)
        fini[i] = nothing;
}

static bool all_writable(const mlt_object *o)
{
    for (uint32_t p = 0; p < o->pieces; p++)
        if (o->piece[p].writable && !let_write(o, &o->piece[p]))
            return false;
    return true;
}

// As the loader had it. If not, nothing is lost but a safeguard.
static void protect(const mlt_object *o)
{
    uintptr_t page = mlt_os_page_size();
    uintptr_t from = (o->base + o->relro_from) & -page, to = (o->base + o->relro_to) & -page;
    if (from < to)
        (void)mprotect((void *)from, to - from, PROT_READ);
}

static void silence(mlt_object *o)
{
    if (!o->own || o->silenced || !all_writable(o))
        return;
    silence_entries(o);
    protect(o);
    o->silenced = true;
}

void mlt_images_silence(mlt_images *images)
{
    mlt_image_set *set = images->last;
    for (uint32_t i = set->first; i < set->count && set != &images->start; i++)
        silence(&set->objects[i]);
}

void mlt_images_silence_program(mlt_images *images)
{
    silence(&images->start.objects[0]);
}

bool mlt_images_is_silenced(const mlt_images *images, uint32_t object)
{
    return object_of(images, object)->silenced;
}
