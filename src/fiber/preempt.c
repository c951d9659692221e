// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/preempt.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/upcalls.h"
#include "fiber/delegate.h"
#include "os/device.h"
#include "os/os.h"

enum {
    ROOM = 32 * 1024, // of the fiber's stack, that must be free
    RESUME_NS =
        10000000, // a fiber in a futex looks itself so often: a wake need not change the word
    MOST_RANGES = 256,
    MOST_FRAMES = 1000,
    LOST_NS = 10000000, // a signal whose handler has not run by then
};

// ---- code that a fiber cannot be left in

// That of libraries that keep locks, or state of the thread, which the next fiber would find half
// changed. Copies that ranks have for themselves (image/image.h) count as the originals.
static const char *const never[] = {"libc.so",     "libc-",       "ld-linux",   "libpthread",
                                    "libgcc_s",    "libstdc++",   "libc++",     "libgfortran",
                                    "libasan",     "libubsan",    "libdl.",     "librt.",
                                    "libjemalloc", "libtcmalloc", "libmimalloc"};

typedef struct range {
    uintptr_t from, to;
} range;

// A handler reads them while another thread adds: the count is written last.
typedef struct ranges {
    range at[MOST_RANGES];
    _Atomic uint32_t count;
} ranges;
static range ours, loader;
static ranges others, drivers; // drivers of devices: whatever one waits for, it may hold a lock
static _Atomic bool too_many;  // no place for the rest: nothing can be interrupted

static inline bool is_in(range r, uintptr_t at)
{
    return at >= r.from && at < r.to;
}

static bool is_never(const char *path)
{
    const char *last = path ? strrchr(path, '/') : NULL;
    if (path && *path && !last) // the kernel's own object has no path
        return true;
    for (size_t i = 0; last && i < sizeof never / sizeof *never; i++)
        if (strncmp(last + 1, never[i], strlen(never[i])) == 0)
            return true;
    return false;
}

static void note_range(ranges *all, range code)
{
    uint32_t count = atomic_load_explicit(&all->count, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++)
        if (all->at[i].from == code.from && all->at[i].to == code.to)
            return;
    if (count == MOST_RANGES) {
        atomic_store_explicit(&too_many, true, memory_order_relaxed);
        return;
    }
    all->at[count] = code;
    atomic_store_explicit(&all->count, count + 1, memory_order_release);
}

static bool is_in_any(const ranges *all, uintptr_t at)
{
    uint32_t count = atomic_load_explicit(&all->count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        if (is_in(all->at[i], at))
            return true;
    return false;
}

static int note_object(struct dl_phdr_info *object, size_t size, void *unused)
{
    bool listed = is_never(object->dlpi_name), driver = mlt_os_is_of_device(object->dlpi_name);
    (void)size, (void)unused;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t from = object->dlpi_addr + part->p_vaddr;
        range code = {from, from + part->p_memsz};
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        if (is_in(code, (uintptr_t)note_object))
            ours = code;
        if (strstr(object->dlpi_name, "/ld-linux"))
            loader = code;
        if (listed)
            note_range(&others, code);
        if (driver)
            note_range(&drivers, code);
    }
    return 0;
}

static int tell_loads(struct dl_phdr_info *object, size_t size, void *loads)
{
    (void)size;
    *(unsigned long long *)loads = object->dlpi_adds;
    return 1;
}

// By any thread, before it interrupts another: the program may have loaded a library since. Its
// ranges stay when it is unloaded; whatever lies there then is not interrupted.
static void note_objects(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static unsigned long long noted;
    unsigned long long loads = 0;
    (void)dl_iterate_phdr(tell_loads, &loads);
    pthread_mutex_lock(&lock);
    if (loads != noted) {
        noted = loads;
        (void)dl_iterate_phdr(note_object, NULL);
    }
    pthread_mutex_unlock(&lock);
}

static bool is_program(const void *pc)
{
    uintptr_t at = (uintptr_t)pc;
    if (mlt_upcalls.original)
        at = mlt_upcalls.original(at);
    return !is_in_any(&others, at) && !is_in(ours, at);
}

// ---- whether Millet was interrupted

// Nothing notes when a call of MPI begins and ends: that would cost every call. The stack tells. Its
// frames, from the last one on, are of
//
//     the program, ..., Millet (the rank's start)                         outside of MPI
//     ..., Millet (a call), the program, ..., Millet (the start)          in a call
//     the program, Millet (a call that calls back), ...                   outside, if that was noted
//
// The unwinder is the one that C++ needs for exceptions. It is loaded by hand, as few programs need it.
struct _Unwind_Context;
typedef int unwind_trace(struct _Unwind_Context *context, void *arg);

static struct {
    int (*backtrace)(unwind_trace *trace, void *arg);
    uintptr_t (*ip)(struct _Unwind_Context *context);
    uintptr_t (*cfa)(struct _Unwind_Context *context);
    uintptr_t (*start)(struct _Unwind_Context *context); // of the function
} unwind;

typedef struct walk {
    uintptr_t pc;        // what was interrupted
    uintptr_t outside;   // the stack pointer where a call calls back; 0: none does
    bool began, in_ours; // has come to pc; has come to Millet
    bool program;        // has come to code of the program
    bool inside;         // the answer
    uintptr_t ip, cfa;   // the last frame
    uint32_t frames;
} walk;

static int see_frame(struct _Unwind_Context *context, void *arg)
{
    enum { GO_ON = 0, STOP = 4 }; // _URC_NO_REASON, _URC_NORMAL_STOP
    walk *w = arg;
    uintptr_t ip = unwind.ip(context), cfa = unwind.cfa(context);
    // Code in assembly may describe its frame wrongly, and the walk would never end (LLVM's OpenMP,
    // where it calls the program). What it has seen is all there is to know then.
    if (++w->frames == MOST_FRAMES || (w->began && ip == w->ip && cfa == w->cfa))
        return STOP;
    w->ip = ip;
    w->cfa = cfa;
    w->began |= ip == w->pc;
    if (!w->began)
        return GO_ON;
    if (ip == 0) // beyond the first frame
        return STOP;
    if (is_in(loader, ip) || is_in_any(&drivers, ip)) // a constructor: the lock of that is held
        w->inside = true;
    // A function of the program's that libc has called, or a handler that has interrupted it there.
    if (is_program((const void *)ip))
        w->program = true;
    else if (w->program && !is_in(ours, ip))
        w->inside = true;
    // host/libc/affinity.c's syscall is a frame of the program's call.
    if (is_in(ours, ip) && unwind.start(context) != (uintptr_t)syscall) {
        if (w->outside && cfa >= w->outside)
            return STOP;
        w->in_ours = true;
        return GO_ON;
    }
    w->inside |= w->in_ours;
    return w->inside ? STOP : GO_ON;
}

static bool is_inside(const void *pc, const void *outside)
{
    walk w = {.pc = (uintptr_t)pc, .outside = (uintptr_t)outside};
    (void)unwind.backtrace(see_frame, &w);
    return w.inside || !w.began;
}

static bool load_unwinder(void)
{
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    unwind.backtrace = (__typeof__(unwind.backtrace))dlsym(library, "_Unwind_Backtrace");
    unwind.ip = (__typeof__(unwind.ip))dlsym(library, "_Unwind_GetIP");
    unwind.cfa = (__typeof__(unwind.cfa))dlsym(library, "_Unwind_GetCFA");
    unwind.start = (__typeof__(unwind.start))dlsym(library, "_Unwind_GetRegionStart");
    return unwind.backtrace && unwind.ip && unwind.cfa && unwind.start;
}

// ---- where the fiber is

typedef enum where {
    STAYS,    // it cannot be left here
    RUNS,     // it runs, or looks again and again
    IN_FUTEX, // it waits for a word
} where;

static bool is_wait(uint64_t operation)
{
    uint64_t command = operation & ~(uint64_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
    return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
}

static where code_at(const void *context, mlt_futex_wait *wait)
{
    uint64_t arguments[3];
    bool again;
    long call = mlt_arch_signal_call(context, &again, arguments);
    if (call == SYS_futex && again && is_wait(arguments[1])) {
        wait->word = (const _Atomic uint32_t *)(uintptr_t)arguments[0];
        wait->value = (uint32_t)arguments[2];
        return IN_FUTEX;
    }
    if (call == SYS_futex || call == SYS_sched_yield)
        return RUNS;
    return call < 0 && is_program(mlt_arch_signal_pc(context)) ? RUNS : STAYS;
}

static where is_at(const mlt_sched *sched, const void *context, mlt_futex_wait *wait)
{
    const mlt_delegates *to = sched->delegates;
    const mlt_fiber *fiber = sched->current;
    const char *sp = mlt_arch_signal_sp(context);
    // A fiber that parks, or is being switched to, is in the scheduler's hands.
    if (fiber->state != MLT_FIBER_RUNNING || !fiber->stack || sched->pinned ||
        sp < fiber->stack + ROOM || sp >= fiber->stack + mlt_fiber_stack_size(sched, fiber))
        return STAYS;
    where at = code_at(context, wait);
    if (at != STAYS && is_inside(mlt_arch_signal_pc(context), mlt_delegates_outside(to)))
        at = STAYS;
    return at;
}

// ---- leaving it

static MLT_ARCH_HANDLER void interrupted(int signal, siginfo_t *info, void *context)
{
    mlt_sched *sched = mlt_sched_self;
    mlt_futex_wait wait = {.word = NULL};
    (void)signal, (void)info;
    int saved = errno;
    if (!sched || !sched->delegates)
        return;
    where at = is_at(sched, context, &wait);
    // Relaxed: it only keeps signals apart.
    atomic_store_explicit(&sched->delegates->signalled_ns, 0, memory_order_relaxed);
    if (at == IN_FUTEX) {
        mlt_wait parked = {.call = "code of the program, for its threads", .kind = MLT_WAIT_OTHER};
        wait.fiber = sched->current;
        wait.until_ns = mlt_os_now_ns() + RESUME_NS;
        mlt_list_push_back(&sched->delegates->words, &wait.node);
        mlt_fiber_park(sched, &parked);
        if (wait.fiber) // woken by somebody else
            mlt_list_remove(&wait.node);
    } else if (at == RUNS) {
        if (sched->breathe)
            sched->breathe(sched->idle_arg);
        mlt_fiber_yield(sched);
    }
    errno = saved;
}

static bool installed, calls_are_known;

static void install(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    // Not on the alternate stack, and not blocked meanwhile: other fibers run before it returns.
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
    action.sa_sigaction = interrupted;
    bool unwinds = load_unwinder(); // first: it is one of those that are noted
    note_objects();
    calls_are_known =
        mlt_os_call_of(gettid()) == SYS_read; // not in an emulator of another processor
    installed = unwinds && sigaction(SIGURG, &action, NULL) == 0;
}

bool mlt_preempt_install(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, install);
    return installed;
}

// One signal at a time: a handler that is interrupted by the next would never get far. But one may be
// lost, in a handler of the program's.
static bool is_next(mlt_delegates *to)
{
    uint64_t now = mlt_os_now_ns();
    uint64_t last = atomic_load_explicit(&to->signalled_ns, memory_order_relaxed);
    return now - last > LOST_NS &&
           atomic_compare_exchange_strong_explicit(&to->signalled_ns, &last, now,
                                                   memory_order_relaxed, memory_order_relaxed);
}

void mlt_preempt(mlt_delegates *to)
{
    pid_t thread = to->sched->thread;
    long call = calls_are_known ? mlt_os_call_of(thread) : MLT_OS_CALL_UNKNOWN;
    // Other calls may fail though their caller expects no signals; and what waits in them for long waits
    // for the outside world.
    if ((call == MLT_OS_NO_CALL || call == MLT_OS_CALL_UNKNOWN || call == SYS_futex ||
         call == SYS_sched_yield) &&
        is_next(to)) {
        note_objects();
        if (!atomic_load_explicit(&too_many, memory_order_relaxed))
            (void)syscall(SYS_tgkill, getpid(), thread, SIGURG);
    }
}
