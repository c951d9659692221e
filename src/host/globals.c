// SPDX-License-Identifier: BSD-3-Clause
#include "host/globals.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/export.h"
#include "base/memory.h"
#include "base/settings.h"
#include "boot/job.h"
#include "fiber/fiber.h"
#include "fiber/sanitize.h"
#include "fiber/stack.h"
#include "host/entry.h"
#include "host/libc/dl.h"
#include "host/libc/environ.h"
#include "host/libc/libc.h"
#include "host/own.h"
#include "host/stdio/input.h"
#include "host/switch.h"
#include "image/late.h"
#include "image/mode.h"
#include "p2p/worker.h"

enum {
    GLOBALS_WHY_BYTES = 512,
    FEW = 1000, // ranks of a process that never lack mappings
};

// Written before the workers' threads start.
static struct {
    mlt_images *images; // NULL: ranks share what there is
    mlt_globals_mode mode;
    _Atomic bool some; // a rank has variables, or libraries, of its own; relaxed
    mlt_status status; // of the images; if it is not MLT_OK, why says the rest
    uint32_t ranks;
    char why[GLOBALS_WHY_BYTES];
} globals_all;

// Where the worker's thread has thread-local variables.
static _Thread_local mlt_image_tls globals_here __attribute__((tls_model("initial-exec")));

// Images are numbered as the ranks of the process; the first rank has the original.
uint32_t mlt_globals_index(const mlt_rank *me)
{
    mlt_job *job = me->worker->boot->job;
    const mlt_job_proc *proc = mlt_job_proc_at(job, me->worker->boot->proc);
    return (uint32_t)(me->world - mlt_job_location_at(job, proc->first_worker)->first_rank);
}

mlt_images *mlt_globals_images(void)
{
    return globals_all.images;
}

uint32_t mlt_globals_ranks(void)
{
    return globals_all.ranks;
}

// ---- beginning

// Settings are read later. A value that cannot be one is told then.
static int64_t early_setting(const char *variable, const char *initial, mlt_setting_kind kind,
                             const char *choices)
{
    const char *text = getenv(variable);
    char why[GLOBALS_WHY_BYTES];
    int64_t value = 0;
    const mlt_setting setting = {
        .name = variable, .kind = kind, .choices = choices, .value = &value};
    if (mlt_setting_parse(&setting, text ? text : initial, why, sizeof why) == MLT_OK)
        return value;
    return kind == MLT_SETTING_CHOICE ? MLT_GLOBALS_SHARED : 0;
}

// A sanitizer of the program knows its variables by their addresses, and where it keeps notes on
// them.
static const char *obstacle(void)
{
    static const char *const sanitizers[] = {"__asan_init", "__hwasan_init", "__msan_init",
                                             "__tsan_init"};
    bool found = MLT_SANITIZED || mlt_sanitize_valgrind();
    for (size_t i = 0; i < sizeof sanitizers / sizeof *sanitizers; i++)
        found |= dlsym(RTLD_DEFAULT, sanitizers[i]) != NULL;
    return found ? "the program runs with a sanitizer or valgrind; start each rank as a process"
                 : NULL;
}

void mlt_globals_prepare(uint32_t ranks)
{
    globals_all.mode = (mlt_globals_mode)early_setting("MILLET_GLOBALS", MLT_GLOBALS_DEFAULT,
                                                       MLT_SETTING_CHOICE, MLT_GLOBALS_CHOICES);
    if (globals_all.mode == MLT_GLOBALS_SHARED)
        return;
    int64_t mappings = early_setting("MILLET_GLOBALS_MAPPINGS", "0", MLT_SETTING_INT, NULL);
    const char *input = getenv("MILLET_STDIN"); // each its own, so each its own `stdin`
    globals_all.ranks = ranks;
    mlt_images_conf conf = {.count = ranks - 1,
                            .mappings = mappings > 0 ? (uint64_t)mappings : 0,
                            .guards = ranks > FEW ? mlt_stack_guard_mappings(ranks) : 0,
                            .always = input && strcmp(input, "all") == 0,
                            .shared = getenv("MILLET_SHARED_LIBRARIES"),
                            .private = getenv("MILLET_PRIVATE_LIBRARIES"),
                            .obstacle = obstacle()};
    globals_all.status =
        mlt_images_new(&conf, &globals_all.images, globals_all.why, sizeof globals_all.why);
    if (globals_all.images)
        mlt_images_silence_program(globals_all.images);
    if (mlt_images_exist(globals_all.images) ||
        (globals_all.images && mlt_images_tls_bytes(globals_all.images)))
        mlt_globals_note_some();
}

void mlt_globals_note_some(void)
{
    atomic_store_explicit(&globals_all.some, true, memory_order_relaxed);
}

// Without a launcher there is one rank, and nothing to tell.
static void tell_launcher(const mlt_boot *boot, mlt_ctl_type type, const char *text)
{
    mlt_ctl head = {.type = type, .rank = MLT_CTL_NO_RANK, .length = (uint32_t)strlen(text)};
    (void)mlt_ctl_send(boot->ctl, &head, text);
}

// The images of all processes that run the same program, which this one takes its own to be.
static void count_images(const mlt_boot *boot, mlt_image_need *need)
{
    uint32_t app = mlt_job_proc_at(boot->job, boot->proc)->app;
    need->all = need->processes = 0;
    for (uint32_t p = 0; p < boot->job->procs; p++) {
        const mlt_job_proc *proc = mlt_job_proc_at(boot->job, p);
        if (proc->app != app)
            continue;
        need->all += proc->ranks - 1;
        need->processes++;
    }
}

// False: there is too little memory, and why says it.
static bool has_room(const mlt_boot *boot, char *why, size_t why_size)
{
    mlt_image_need need;
    mlt_image_room room;
    mlt_images_need(globals_all.images, &need);
    count_images(boot, &need);
    mlt_image_room_now(boot->job->memory, &room);
    mlt_image_fit fit = mlt_image_need_fits(&need, &room, why, why_size);
    if (fit == MLT_FIT_TIGHT)
        tell_launcher(boot, MLT_CTL_NOTE, why);
    return fit != MLT_FIT_NOT;
}

bool mlt_globals_begin(const mlt_boot *boot, char *why, size_t why_size)
{
    if (globals_all.images && !has_room(boot, why, why_size))
        return false;
    if (globals_all.images && mlt_images_refresh(globals_all.images, why, why_size) != MLT_OK)
        return false;
    if (globals_all.status == MLT_ERR_UNSUPPORTED && globals_all.mode == MLT_GLOBALS_AUTO) {
        tell_launcher(boot, MLT_CTL_SHARED, globals_all.why);
        return true;
    }
    bool said = globals_all.status == MLT_ERR_UNSUPPORTED;
    snprintf(why, why_size, "%s%s",
             said ? "each rank should have its own globals, but cannot: " : "", globals_all.why);
    return globals_all.status == MLT_OK;
}

// ---- thread-local variables

static const mlt_rank_own *tls_owner(const mlt_rank *me)
{
    const mlt_rank_own *own = me ? me->own : NULL;
    return own && own->tls ? own : NULL;
}

// Processes of one rank share its variables.
static void globals_swap(const mlt_rank *from, const mlt_rank *to)
{
    const mlt_rank_own *old = tls_owner(from), *new = tls_owner(to);
    if (old)
        mlt_image_tls_save(&globals_here, old->tls_blocks, old->tls);
    if (new)
        mlt_image_tls_load(&globals_here, new->tls_blocks, new->tls);
}

void mlt_globals_worker(mlt_worker *worker)
{
    if (!globals_all.images || !mlt_images_tls_bytes(globals_all.images))
        return;
    mlt_image_tls_of_thread(globals_all.images, &globals_here);
    if (worker->count > 1)
        mlt_switch_want(worker->sched, MLT_SWITCH_TLS, globals_swap);
}

void mlt_globals_worker_ends(void)
{
    mlt_image_tls_free(&globals_here);
}

void mlt_globals_thread(const mlt_rank *me)
{
    mlt_image_tls own;
    if (!globals_all.images)
        return;
    mlt_image_tls_of_thread(globals_all.images, &own);
    mlt_image_tls_init(globals_all.images, &own, mlt_globals_index(me));
    mlt_image_tls_free(&own);
    mlt_dl_thread(me);
}

// Blocks of a thread are in the order in which its ranks loaded them; a rank has the first ones, up
// to the last that it loaded itself.
static void keep_tls(mlt_rank *me)
{
    mlt_rank_own *own = mlt_own_of(me);
    own->tls = mlt_xrealloc(own->tls, 1, mlt_image_tls_bytes(&globals_here));
    own->tls_blocks = globals_here.count;
}

bool mlt_globals_late_tls(uint32_t object, uint32_t index, bool first, char *why, size_t why_size)
{
    mlt_rank *me = mlt_rank_self();
    mlt_image_tls elsewhere = {.count = 0};
    mlt_image_tls *tls = me ? &globals_here : &elsewhere;
    uint32_t before = tls->count;
    mlt_image_tls_add(globals_all.images, object, tls);
    if (!me && tls->count) {
        snprintf(why, why_size,
                 "it has thread-local variables, so a rank's main thread must load it");
        mlt_image_tls_free(tls);
        return false;
    }
    for (uint32_t i = 0; i < tls->count; i++)
        if (tls->block[i].object == object && !(first && i == before))
            mlt_image_tls_init_block(globals_all.images, tls, i, index);
    if (me && tls->count && me->worker->count > 1) {
        keep_tls(me);
        mlt_switch_want(me->worker->sched, MLT_SWITCH_TLS, globals_swap);
    }
    return true;
}

// ---- a rank

static __attribute__((noinline)) void make_own(mlt_rank *me, int argc, char **argv, char **envp)
{
    char why[GLOBALS_WHY_BYTES];
    uint32_t index = mlt_globals_index(me);
    if (index && mlt_image_make(globals_all.images, index, why, sizeof why) != MLT_OK)
        mlt_entry_end_job(me->world, EXIT_FAILURE, why);
    if (mlt_images_tls_bytes(globals_all.images)) {
        keep_tls(me);
        for (uint32_t i = 0; i < globals_here.count; i++)
            if (mlt_images_is_from_start(globals_all.images, globals_here.block[i].object))
                mlt_image_tls_init_block(globals_all.images, &globals_here, i, index);
    }
    mlt_input_rank(me);
    mlt_environ_rank(me);
    mlt_image_construct(globals_all.images, index, argc, argv, envp);
}

// Apart: of a million ranks each would look for what none of them has.
void mlt_globals_rank(mlt_rank *me, int argc, char **argv, char **envp)
{
    if (mlt_arch_load_8(&globals_all.some))
        make_own(me, argc, argv, envp);
}

void *mlt_globals_shift(const mlt_rank *me, const void *address)
{
    return mlt_image_shift(globals_all.images, globals_all.images ? mlt_globals_index(me) : 0,
                           address);
}

bool mlt_globals_are_own(void)
{
    return mlt_images_exist(globals_all.images);
}

void *mlt_globals_variable(const mlt_rank *me, void *variable)
{
    return mlt_image_variable(globals_all.images, globals_all.images ? mlt_globals_index(me) : 0,
                              variable);
}

uintptr_t mlt_globals_original(uintptr_t address)
{
    return mlt_images_original(globals_all.images, address);
}

// ---- what a rank leaves for its end

struct mlt_last_call {
    struct mlt_last_call *next;
    void (*with_argument)(void *argument);
    void (*with_status)(int status, void *argument);
    void *argument;
    const void *object; // whose handle this is, an address in it; NULL: unknown
};

static void make_call(struct mlt_last_call *last, int status)
{
    if (last->with_argument)
        last->with_argument(last->argument);
    else
        last->with_status(status, last->argument);
    free(last);
}

// They may leave more.
static void make_calls(struct mlt_last_call **calls, int status)
{
    while (*calls) {
        struct mlt_last_call *last = *calls;
        *calls = last->next;
        make_call(last, status);
    }
}

static bool is_in(const struct mlt_last_call *call, uintptr_t from, uintptr_t to)
{
    return (uintptr_t)call->object >= from && (uintptr_t)call->object < to;
}

void mlt_globals_run_last_calls(uintptr_t from, uintptr_t to)
{
    mlt_rank *me = mlt_rank_self();
    mlt_rank_own *own = me ? me->own : NULL;
    struct mlt_last_call **at = own ? &own->last_calls : NULL, *last;
    while (at && (last = *at)) {
        if (!is_in(last, from, to)) {
            at = &last->next;
            continue;
        }
        *at = last->next;
        make_call(last, 0);
        at = &own->last_calls; // it may have left more
    }
}

bool mlt_globals_has_thread_calls(uintptr_t from, uintptr_t to)
{
    const mlt_rank *me = mlt_rank_self();
    const mlt_rank_own *own = me ? me->own : NULL;
    const struct mlt_last_call *call = own ? own->thread_calls : NULL;
    while (call && !is_in(call, from, to))
        call = call->next;
    return call != NULL;
}

static void forget_calls(struct mlt_last_call **calls)
{
    while (*calls) {
        struct mlt_last_call *last = *calls;
        *calls = last->next;
        free(last);
    }
}

// Thread-local objects first, as libc does.
static __attribute__((noinline)) void end_own(mlt_rank *me, int status, mlt_end how)
{
    mlt_rank_own *own = me->own;
    if (own && how == MLT_END_EXIT) {
        make_calls(&own->thread_calls, status);
        make_calls(&own->last_calls, status);
    }
    if (own && how == MLT_END_QUICK)
        make_calls(&own->quick_calls, status);
    mlt_dl_rank_ends(me, how == MLT_END_EXIT);
    if (own) {
        forget_calls(&own->thread_calls);
        forget_calls(&own->last_calls);
        forget_calls(&own->quick_calls);
    }
    if (mlt_images_exist(globals_all.images) && how == MLT_END_EXIT)
        mlt_image_destruct(globals_all.images, mlt_globals_index(me));
}

void mlt_globals_rank_ends(mlt_rank *me, int status, mlt_end how)
{
    if (me->own || mlt_arch_load_8(&globals_all.some))
        end_own(me, status, how);
}

// With a sanitizer there are no images, and its run-time calls some of these before they can run.
#if MLT_TAKES_OVER

// The calling rank, if it has globals of its own, its end is not the end of the process, and what it
// leaves is not that of a library which the process has once. `of` is in the library that leaves it.
static mlt_rank *leaver(const void *of)
{
    mlt_rank *me = globals_all.images && mlt_entry_many() ? mlt_rank_self() : NULL;
    bool has_end = me && me->worker && !me->ended;
    return has_end && !mlt_images_share(globals_all.images, of) ? me : NULL;
}

static int leave_call(struct mlt_last_call **calls, struct mlt_last_call call)
{
    struct mlt_last_call *last = malloc(sizeof *last);
    if (!last)
        return -1;
    *last = call;
    last->next = *calls;
    *calls = last;
    return 0;
}

extern void *__dso_handle __attribute__((visibility("hidden"))); // of this library, by the linker
int __cxa_atexit(void (*function)(void *), void *argument, void *object);
int __cxa_thread_atexit_impl(void (*function)(void *), void *argument, void *object);

// A rank that loads a library before the first rank does makes the system construct the original,
// which is the first rank's.
static bool is_anothers(const mlt_rank *me, const void *object)
{
    return mlt_globals_shift(me, object) != object;
}

// atexit is this with the caller's own handle, and destructors of static objects are left by it.
MLT_INTERPOSE int __cxa_atexit(void (*function)(void *), void *argument, void *object)
{
    mlt_rank *me = object == &__dso_handle ? NULL : leaver(object); // our own are the process's
    if (!me || is_anothers(me, object))
        return MLT_LIBC(__cxa_atexit)(function, argument, object);
    return leave_call(
        &mlt_own_of(me)->last_calls,
        (struct mlt_last_call){.with_argument = function, .argument = argument, .object = object});
}

int __cxa_at_quick_exit(void (*function)(void *), void *object);
MLT_INTERPOSE int __cxa_at_quick_exit(void (*function)(void *), void *object)
{
    mlt_rank *me = object == &__dso_handle ? NULL : leaver(object);
    if (!me || is_anothers(me, object))
        return MLT_LIBC(__cxa_at_quick_exit)(function, object);
    return leave_call(&mlt_own_of(me)->quick_calls,
                      (struct mlt_last_call){.with_argument = function});
}

// True for functions of this library: what it leaves itself is for the end of the process.
static bool globals_is_ours(void *function)
{
    Dl_info its, ours;
    return dladdr(function, &its) && dladdr(&__dso_handle, &ours) &&
           its.dli_fbase == ours.dli_fbase;
}

MLT_INTERPOSE int on_exit(void (*function)(int, void *), void *argument)
{
    mlt_rank *me = globals_is_ours((void *)function) ? NULL : leaver((void *)function);
    if (!me)
        return MLT_LIBC(on_exit)(function, argument);
    return leave_call(&mlt_own_of(me)->last_calls,
                      (struct mlt_last_call){.with_status = function, .argument = argument});
}

// Destructors of thread-local objects. Other threads of a rank have libc's list.
MLT_INTERPOSE int __cxa_thread_atexit_impl(void (*function)(void *), void *argument, void *object)
{
    mlt_rank *me = leaver(object);
    if (!me || mlt_sched_self != me->worker->sched)
        return MLT_LIBC(__cxa_thread_atexit_impl)(function, argument, object);
    return leave_call(
        &mlt_own_of(me)->thread_calls,
        (struct mlt_last_call){.with_argument = function, .argument = argument, .object = object});
}

#endif
