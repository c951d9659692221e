// SPDX-License-Identifier: BSD-3-Clause
#include "host/libc/dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/forward.h"
#include "base/array.h"
#include "base/export.h"
#include "base/memory.h"
#include "base/text.h"
#include "gpu/gpu.h"
#include "host/caller.h"
#include "host/entry.h"
#include "host/globals.h"
#include "host/libc/libc.h"
#include "host/start.h"
#include "image/elf.h"
#include "image/late.h"
#include "image/object.h"
#include "image/prelude.h"
#include "image/search.h"
#include "os/os.h"

enum { DL_WHY_BYTES = 512 };

// One library as one rank has it.
typedef struct opened {
    uint32_t object;
    uint32_t handles; // that the rank holds of it
    uint32_t uses;    // of what the rank holds, how much needs it; above 0: it is there
    uint64_t since;   // of this rank, the highest was loaded last
    bool kept;        // opened with RTLD_NODELETE
} opened;

typedef struct table {
    opened *of;
    uint32_t count, room;
    uint64_t loads;
} table;

// Recursive: constructors that the system runs may load more. Held while the system loads, so that
// nobody looks at what is half loaded.
static pthread_mutex_t dl_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static table **tables; // [images and the original]: by index; NULL: nothing was loaded late

static table *table_of(uint32_t index)
{
    return tables ? tables[index] : NULL;
}

// ---- what a rank leaves open

void mlt_dl_thread(const mlt_rank *me)
{
    mlt_images *images = mlt_globals_images();
    uint32_t index = mlt_globals_index(me);
    pthread_mutex_lock(&dl_lock);
    const table *t = table_of(index);
    for (uint32_t i = 0; t && i < t->count; i++) {
        mlt_image_tls one = {.count = 0};
        if (t->of[i].uses)
            mlt_image_tls_add(images, t->of[i].object, &one);
        mlt_image_tls_init(images, &one, index);
        mlt_image_tls_free(&one);
    }
    pthread_mutex_unlock(&dl_lock);
}

// Takes what was loaded last from the table; MLT_IMAGES_NO_OBJECT: nothing is left.
static uint32_t take_last(uint32_t index)
{
    opened *last = NULL;
    pthread_mutex_lock(&dl_lock);
    table *t = table_of(index);
    for (uint32_t i = 0; t && i < t->count; i++)
        if (t->of[i].uses && (!last || t->of[i].since > last->since))
            last = &t->of[i];
    if (last)
        last->uses = last->handles = 0;
    pthread_mutex_unlock(&dl_lock);
    return last ? last->object : MLT_IMAGES_NO_OBJECT;
}

void mlt_dl_rank_ends(const mlt_rank *me, bool destruct)
{
    mlt_images *images = mlt_globals_images();
    uint32_t index = images ? mlt_globals_index(me) : 0, object;
    while (images && (object = take_last(index)) != MLT_IMAGES_NO_OBJECT)
        if (destruct && (index || mlt_images_is_silenced(images, object)))
            mlt_image_late_destruct(images, index, object);
}

// With a sanitizer there are no images, and its run-time has these functions itself.
#if MLT_TAKES_OVER

// ---- what a rank has loaded

static opened *dl_find(table *t, uint32_t object)
{
    for (uint32_t i = 0; t && i < t->count; i++)
        if (t->of[i].object == object)
            return &t->of[i];
    return NULL;
}

static table *want_table(uint32_t index)
{
    if (!tables)
        tables = mlt_xcalloc(mlt_globals_ranks(), sizeof *tables);
    mlt_globals_note_some();
    if (!tables[index])
        tables[index] = mlt_xcalloc(1, sizeof **tables);
    return tables[index];
}

static opened *want(table *t, uint32_t object)
{
    opened *one = dl_find(t, object);
    if (one)
        return one;
    one = MLT_ARRAY_ADD(t->of, t->count, t->room);
    *one = (opened){.object = object};
    return one;
}

static bool is_there(uint32_t index, uint32_t object)
{
    const opened *one = dl_find(table_of(index), object);
    return one && one->uses;
}

// ---- who calls

// The images of the calling rank's process, and its index; NULL: the system's view is right. Code of
// an image belongs to the image's rank, on whatever thread it runs.
static mlt_images *images_for(uintptr_t caller, uint32_t *index)
{
    mlt_images *images = mlt_entry_many() ? mlt_globals_images() : NULL;
    if (!images || mlt_caller_is_ours((const void *)caller))
        return NULL;
    *index = mlt_images_index(images, caller);
    if (*index)
        return images;
    const mlt_rank *me = mlt_thread_rank();
    if (!me || !me->worker)
        return NULL;
    *index = mlt_globals_index(me);
    return images;
}

#define CALLER ((uintptr_t)MLT_CALLER)

// The loader's record of the object at an address of the original; NULL: there is none.
static struct link_map *map_of(uintptr_t address)
{
    Dl_info about;
    struct link_map *map = NULL;
    if (!MLT_LIBC(dladdr1)((const void *)address, &about, (void **)&map, RTLD_DL_LINKMAP))
        return NULL;
    return map;
}

// ---- dlerror

static _Thread_local char *refusal; // of the last call; NULL: libc knows
static _Thread_local char *told;    // what dlerror gave out last

static void forget(void)
{
    free(refusal);
    refusal = NULL;
}

static void *refuse(const char *what, const char *why)
{
    (void)MLT_LIBC(dlerror)();
    forget();
    refusal = mlt_text_of("%s: %s", what ? what : "?", why);
    return NULL;
}

MLT_INTERPOSE char *dlerror(void)
{
    free(told);
    told = refusal;
    refusal = NULL;
    return told ? told : MLT_LIBC(dlerror)();
}

// ---- where the library is

static char *path_of(const struct link_map *map)
{
    char program[PATH_MAX];
    if (map->l_name && map->l_name[0])
        return mlt_text_of("%s", map->l_name);
    return mlt_text_of("%s", realpath(mlt_os_program(), program) ? program : "");
}

static char *search(const mlt_elf_links *links, const char *name, const char *origin)
{
    char *path = links->runpath ? NULL : mlt_search_in(links->rpath, name, origin, NULL);
    if (!path)
        path = mlt_search_in(getenv("LD_LIBRARY_PATH"), name, origin, NULL);
    return path ? path : mlt_search_in(links->runpath, name, origin, NULL);
}

// The system would take this library for the caller, and look where that one's run path says. NULL:
// the name is as good. The caller frees it.
static char *path_for(const char *name, uintptr_t caller)
{
    const struct link_map *map = map_of(mlt_globals_original(caller));
    if (!map || (strchr(name, '/') && name[0] != '$'))
        return NULL;
    mlt_elf_links links = {.count = 0};
    char *file = path_of(map), *origin = mlt_search_origin(file), *path = NULL;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (strchr(name, '/'))
        path = mlt_search_expand(name, (int)strlen(name), origin);
    else if (fd >= 0 && mlt_elf_links_read(fd, &links))
        path = search(&links, name, origin);
    mlt_elf_links_fini(&links);
    if (fd >= 0)
        close(fd);
    free(origin);
    free(file);
    return path;
}

// ---- dlopen

typedef struct opening {
    mlt_images *images;
    uint32_t index;
    bool keep;           // RTLD_NODELETE
    const char *prelude; // while it is loaded
    uint32_t *fresh;     // objects whose constructors must run, in this order
    uint32_t fresh_count;
    char why[DL_WHY_BYTES];
} opening;

static _Thread_local opening *loading; // while the system loads for a rank

// The constructor of preludes. The object that was asked for comes first in the list of what is new.
static void before_constructors(void)
{
    const opening *o = loading;
    mlt_images_add(o->images, o->prelude);
    mlt_images_silence(o->images);
}

// What a rank loads is never unloaded: images refer to it. The prelude is, unless the system does not
// give the library to anybody; then its file stays, so that no other has its name.
static void *load_new(opening *o, const char *name, int flags)
{
    mlt_prelude prelude;
    if (!mlt_prelude_new(&prelude, name, before_constructors)) {
        snprintf(o->why, sizeof o->why, "its constructors cannot be kept for the rank (/proc): %s",
                 strerror(errno));
        return NULL;
    }
    opening *outer = loading;
    loading = o;
    o->prelude = prelude.path;
    void *first = MLT_LIBC(dlopen)(prelude.path, flags & ~RTLD_NODELETE);
    o->prelude = NULL;
    loading = outer;
    void *handle = MLT_LIBC(dlopen)(name, flags | RTLD_NODELETE); // dlerror tells why not
    if (first && handle) {
        mlt_images_replace_scope(o->images, first, handle);
        (void)MLT_LIBC(dlclose)(first);
    }
    if (!first || handle)
        mlt_prelude_free(&prelude);
    return handle;
}

static void *dl_load(opening *o, const char *name, int flags, uintptr_t caller)
{
    char *path = path_for(name, caller);
    const char *file = path ? path : name;
    void *handle = MLT_LIBC(dlopen)(file, flags | RTLD_NODELETE | RTLD_NOLOAD);
    if (!handle && !(flags & RTLD_NOLOAD))
        handle = load_new(o, file, flags);
    free(path);
    return handle;
}

static uint32_t object_of(const mlt_images *images, void *handle)
{
    struct link_map *map = NULL;
    if (MLT_LIBC(dlinfo)(handle, RTLD_DI_LINKMAP, &map) != 0 || !map)
        return MLT_IMAGES_NO_OBJECT;
    return mlt_images_at(images, map->l_ld);
}

// One object for one rank. The first rank takes over what the system has loaded, and constructed
// unless it was silenced.
static bool use(opening *o, table *t, uint32_t object)
{
    bool known = dl_find(t, object) != NULL;
    opened *one = want(t, object);
    const char *refused = mlt_images_refused(o->images, object);
    if (refused)
        snprintf(o->why, sizeof o->why, "%s", refused);
    if (refused || one->uses)
        return !refused && one->uses++;
    bool take_over = o->index == 0 && !known;
    if (!take_over &&
        mlt_image_late_make(o->images, o->index, object, o->why, sizeof o->why) != MLT_OK)
        return false;
    if (!mlt_globals_late_tls(object, o->index, take_over, o->why, sizeof o->why))
        return false;
    one->uses = 1;
    one->since = ++t->loads;
    if (!take_over || mlt_images_is_silenced(o->images, object))
        o->fresh[o->fresh_count++] = object;
    return true;
}

static bool use_all(opening *o, uint32_t object)
{
    uint32_t count;
    table *t = want_table(o->index);
    uint32_t *needed = mlt_images_needed(o->images, object, &count);
    o->fresh = mlt_xcalloc(count, sizeof *o->fresh);
    uint32_t done = 0;
    while (done < count && use(o, t, needed[done]))
        done++;
    bool fine = done == count;
    while (!fine && done > 0)
        dl_find(t, needed[--done])->uses--;
    want(t, object)->handles += fine;
    want(t, object)->kept |= o->keep;
    free(needed);
    return fine;
}

// Under the lock. False: with a reason, or without one if it is not there and must not be loaded.
static bool open_for(opening *o, void *handle, bool no_load)
{
    mlt_images_add(o->images, NULL);
    uint32_t object = object_of(o->images, handle);
    if (object == MLT_IMAGES_NO_OBJECT || mlt_images_is_from_start(o->images, object))
        return true;
    if (no_load && mlt_images_is_late(o->images, object) && !is_there(o->index, object))
        return false;
    return use_all(o, object);
}

static void construct(const opening *o)
{
    int argc;
    char **argv, **envp;
    mlt_entry_arguments(&argc, &argv, &envp);
    for (uint32_t i = 0; i < o->fresh_count; i++)
        mlt_image_late_construct(o->images, o->index, o->fresh[i], argc, argv, envp);
}

static void *own_open(const char *name, int flags)
{
    uintptr_t caller = CALLER;
    opening o = {.keep = flags & RTLD_NODELETE};
    o.images = images_for(caller, &o.index);
    forget();
    if (!name)
        return MLT_LIBC(dlopen)(name, flags);
    pthread_mutex_lock(&dl_lock);
    // First what libc loaded for itself: then the next new object is the one that is asked for.
    mlt_images_add(o.images, NULL);
    void *handle = dl_load(&o, name, flags, caller);
    bool fine = handle && open_for(&o, handle, flags & RTLD_NOLOAD);
    if (handle && !fine)
        (void)MLT_LIBC(dlclose)(handle);
    pthread_mutex_unlock(&dl_lock);
    if (fine)
        construct(&o);
    free(o.fresh);
    return fine ? handle : o.why[0] ? refuse(name, o.why) : NULL;
}

// ---- dlsym

static void *dl_look(void *where, const char *name, const char *version)
{
    return version ? MLT_LIBC(dlvsym)(where, name, version) : MLT_LIBC(dlsym)(where, name);
}

// The first object after the caller's that defines the name itself.
static void *look_after(uintptr_t caller, const char *name, const char *version)
{
    void *found = NULL;
    const struct link_map *map = map_of(caller);
    while (map && !found && (map = map->l_next))
        found = mlt_object_symbol(map->l_addr, map->l_ld, name, version);
    return found ? found : refuse(name, "no object after the caller's defines it");
}

// As the system does: what is loaded for all, then what was loaded with the caller.
static void *look_everywhere(const mlt_images *images, uintptr_t caller, const char *name,
                             const char *version)
{
    void *found = dl_look(RTLD_DEFAULT, name, version);
    void *scope = mlt_images_scope(images, mlt_images_at(images, (const void *)caller));
    return found || !scope ? found : dl_look(scope, name, version);
}

static void *sym(uintptr_t from, void *handle, const char *name, const char *version)
{
    uint32_t index = 0;
    const mlt_images *images = images_for(from, &index);
    uintptr_t caller = mlt_images_original(images, from);
    pthread_mutex_lock(&dl_lock);
    forget();
    void *found = handle == RTLD_NEXT      ? look_after(caller, name, version)
                  : handle == RTLD_DEFAULT ? look_everywhere(images, caller, name, version)
                                           : dl_look(handle, name, version);
    uint32_t object = found ? mlt_images_at(images, found) : MLT_IMAGES_NO_OBJECT;
    bool missing = mlt_images_is_late(images, object) && !is_there(index, object);
    pthread_mutex_unlock(&dl_lock);
    if (missing)
        return refuse(name, "only another rank has loaded the library that defines it");
    if (found)
        (void)MLT_LIBC(dlerror)(); // of the places that do not have it
    return mlt_image_shift(images, index, found);
}

static void *own_sym(void *handle, const char *name)
{
    return sym(CALLER, handle, name, NULL);
}

static void *own_vsym(void *handle, const char *name, const char *version)
{
    return sym(CALLER, handle, name, version);
}

// ---- the ways in

// Called by assembly.
void *mlt_dl_open_for(uintptr_t caller, uintptr_t first) __attribute__((visibility("hidden")));
void *mlt_dl_sym_for(uintptr_t caller, uintptr_t first) __attribute__((visibility("hidden")));
void *mlt_dl_vsym_for(uintptr_t caller, uintptr_t first) __attribute__((visibility("hidden")));

// What a driver loads is the process's, as the driver is.
static bool is_once(const mlt_images *images, uintptr_t caller)
{
    return mlt_images_share(images, (const void *)caller);
}

void *mlt_dl_open_for(uintptr_t caller, uintptr_t first)
{
    mlt_gpu_expect((const char *)first);
    uint32_t index;
    const mlt_images *images = images_for(caller, &index);
    return images && !is_once(images, caller) ? (void *)own_open : (void *)MLT_LIBC(dlopen);
}

// The original's addresses are those of the first rank.
static bool has_image(uintptr_t caller)
{
    uint32_t index = 0;
    const mlt_images *images = images_for(caller, &index);
    return images && index && !is_once(images, caller);
}

void *mlt_dl_sym_for(uintptr_t caller, uintptr_t first)
{
    return has_image(caller) ? (void *)own_sym : (void *)MLT_LIBC(dlsym);
}

void *mlt_dl_vsym_for(uintptr_t caller, uintptr_t first)
{
    return has_image(caller) ? (void *)own_vsym : (void *)MLT_LIBC(dlvsym);
}

MLT_ARCH_FORWARD(dlopen, mlt_dl_open_for);
MLT_ARCH_FORWARD(dlsym, mlt_dl_sym_for);
MLT_ARCH_FORWARD(dlvsym, mlt_dl_vsym_for);

// ---- dlclose

// What the system would not unload either stays as it is, and is not constructed again.
static bool stays(const mlt_images *images, uint32_t index, opened *one)
{
    uintptr_t from, to;
    mlt_image_late_span(images, index, one->object, &from, &to);
    if (!one->kept && !mlt_images_stays(images, one->object) &&
        !mlt_globals_has_thread_calls(from, to))
        return false;
    one->uses = 1;
    return true;
}

// Under the lock: what the rank does not need any more, the last first.
static uint32_t *unuse_all(const mlt_images *images, uint32_t index, uint32_t object,
                           uint32_t *count)
{
    table *t = table_of(index);
    uint32_t needed_count, *needed = mlt_images_needed(images, object, &needed_count);
    *count = 0;
    for (uint32_t i = needed_count; i-- > 0;) {
        opened *one = dl_find(t, needed[i]);
        if (one && one->uses && --one->uses == 0 && !stays(images, index, one))
            needed[needed_count - ++*count] = needed[i]; // at or above i
    }
    memmove(needed, needed + (needed_count - *count), *count * sizeof *needed);
    return needed;
}

static void destruct(const mlt_images *images, uint32_t index, uint32_t object)
{
    uintptr_t from, to;
    mlt_image_late_span(images, index, object, &from, &to);
    mlt_globals_run_last_calls(from, to);
    mlt_image_late_destruct(images, index, object);
}

MLT_INTERPOSE int dlclose(void *handle)
{
    uint32_t index = 0, count = 0, *gone = NULL;
    mlt_images *images = images_for(CALLER, &index);
    forget();
    if (!images)
        return MLT_LIBC(dlclose)(handle);
    pthread_mutex_lock(&dl_lock);
    table *t = table_of(index);
    uint32_t object = object_of(images, handle);
    opened *one = object == MLT_IMAGES_NO_OBJECT ? NULL : dl_find(t, object);
    bool not_open = mlt_images_is_late(images, object) && !(one && one->handles);
    int status = not_open ? -1 : MLT_LIBC(dlclose)(handle);
    if (status == 0 && one && one->handles) {
        one->handles--;
        gone = unuse_all(images, index, object, &count);
    }
    pthread_mutex_unlock(&dl_lock);
    if (not_open)
        refuse("dlclose", "the rank has not opened this handle");
    while (count > 0)
        destruct(images, index, gone[--count]);
    free(gone);
    return status;
}

// ---- dladdr

static void shift_info(Dl_info *about, intptr_t shift)
{
    about->dli_fbase = (char *)about->dli_fbase + shift;
    if (about->dli_saddr)
        about->dli_saddr = (char *)about->dli_saddr + shift;
}

MLT_INTERPOSE int dladdr(const void *address, Dl_info *about)
{
    uintptr_t original = mlt_globals_original((uintptr_t)address);
    int status = MLT_LIBC(dladdr)((const void *)original, about);
    if (status)
        shift_info(about, (intptr_t)((uintptr_t)address - original));
    return status;
}

MLT_INTERPOSE int dladdr1(const void *address, Dl_info *about, void **more, int flags)
{
    uintptr_t original = mlt_globals_original((uintptr_t)address);
    int status = MLT_LIBC(dladdr1)((const void *)original, about, more, flags);
    if (status)
        shift_info(about, (intptr_t)((uintptr_t)address - original));
    return status;
}

// ---- names in a trace: libc asks its tables itself

static void **originals(void *const *frames, int count)
{
    void **all = mlt_xcalloc((size_t)(count > 0 ? count : 0), sizeof *all);
    for (int i = 0; i < count; i++)
        all[i] = (void *)mlt_globals_original((uintptr_t)frames[i]);
    return all;
}

MLT_INTERPOSE char **backtrace_symbols(void *const *frames, int count)
{
    if (!mlt_globals_images())
        return MLT_LIBC(backtrace_symbols)(frames, count);
    void **all = originals(frames, count);
    char **names = MLT_LIBC(backtrace_symbols)(all, count);
    free(all);
    return names;
}

// For signal handlers, too: no memory is taken.
MLT_INTERPOSE void backtrace_symbols_fd(void *const *frames, int count, int fd)
{
    for (int i = 0; i < count; i++) {
        void *original = (void *)mlt_globals_original((uintptr_t)frames[i]);
        MLT_LIBC(backtrace_symbols_fd)(&original, 1, fd);
    }
}

// ---- what unwinders ask

// Objects as the calling rank has them.
typedef struct walk {
    int (*tell)(struct dl_phdr_info *info, size_t size, void *user);
    void *user;
    mlt_images *images;
    uint32_t index;
} walk;

static int tell_shifted(struct dl_phdr_info *info, size_t size, void *user)
{
    const walk *w = user;
    uint32_t object = mlt_images_at(w->images, info->dlpi_phdr);
    if (mlt_images_is_late(w->images, object) && !is_there(w->index, object))
        return 0; // another rank's
    struct dl_phdr_info own = *info;
    own.dlpi_addr += (uintptr_t)mlt_image_shift(w->images, w->index, info->dlpi_phdr) -
                     (uintptr_t)info->dlpi_phdr;
    return w->tell(&own, size < sizeof own ? size : sizeof own, w->user);
}

MLT_INTERPOSE int dl_iterate_phdr(int (*tell)(struct dl_phdr_info *info, size_t size, void *user),
                                  void *user)
{
    walk w = {.tell = tell, .user = user};
    w.images = images_for(CALLER, &w.index);
    if (!w.images || !w.index)
        return MLT_LIBC(dl_iterate_phdr)(tell, user);
    pthread_mutex_lock(&dl_lock); // before the system's own, as when something is loaded
    int status = MLT_LIBC(dl_iterate_phdr)(tell_shifted, &w);
    pthread_mutex_unlock(&dl_lock);
    return status;
}

#ifdef DLFO_EH_SEGMENT_TYPE
MLT_INTERPOSE int _dl_find_object(void *address, struct dl_find_object *out)
{
    void *original = (void *)mlt_globals_original((uintptr_t)address);
    int status = MLT_LIBC(_dl_find_object)(original, out);
    intptr_t shift = (char *)address - (char *)original;
    if (status != 0 || !shift)
        return status;
    out->dlfo_map_start = (char *)out->dlfo_map_start + shift;
    out->dlfo_map_end = (char *)out->dlfo_map_end + shift;
    if (out->dlfo_eh_frame)
        out->dlfo_eh_frame = (char *)out->dlfo_eh_frame + shift;
    return 0;
}
#endif

#endif
