// SPDX-License-Identifier: BSD-3-Clause
// Everything before mlt_crash_install runs in a signal handler: no stdio, no malloc.
#include "host/crash.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/upcalls.h"
#include "fiber/fault.h"
#include "gpu/gpu.h"
#include "host/globals.h"
#include "host/stdio/output.h"
#include "os/os.h"
#include "os/symbols.h"
#include "p2p/p2p.h"

enum { FRAMES = 64, SHOWN = 32, TEXT_BYTES = 8 * 1024, NEAR = 512 << 10, GUESSED_WORDS = 1024 };

typedef struct text {
    size_t length;
    char bytes[TEXT_BYTES];
} text;

// What libc keeps for debuggers.
typedef struct abort_message {
    unsigned bytes;
    char text[];
} abort_message;

static abort_message *const *abort_messages; // NULL: this libc has none
static const mlt_boot *own_boot;
// Of this thread; limit 0: none, or unknown.
static _Thread_local uintptr_t own_stack_top, own_stack_limit;
static text last_words; // one thread of the process comes here, once

static void add(text *t, const char *more)
{
    size_t n = strlen(more), room = TEXT_BYTES - t->length;
    n = n < room ? n : room;
    memcpy(t->bytes + t->length, more, n);
    t->length += n;
}

static void add_number(text *t, uint64_t n, unsigned base)
{
    char digits[24], *at = digits + sizeof digits - 1;
    *at = '\0';
    do
        *--at = "0123456789abcdef"[n % base];
    while (n /= base);
    add(t, at);
}

static const char *signal_name(int number)
{
    switch (number) {
    case SIGSEGV:
        return "segmentation fault";
    case SIGBUS:
        return "bus error";
    case SIGFPE:
        return "arithmetic fault";
    case SIGILL:
        return "illegal instruction";
    case SIGABRT:
        return "abort";
    default:
        return "signal";
    }
}

// What broke the program may have broken what the report reads, so each try leaves something out:
// the second one ranks' images, the third symbols, the fourth the unwinder, whose tables lie in the
// heap if the program has loaded libraries, the last one symbols, too.
static bool asks_symbols(unsigned failures)
{
    return failures != 2 && failures < MLT_FAULT_TRIES - 1;
}

// A line as backtrace_symbols writes it: "./program(main+0x15)[0x5581]".
static void add_frame(text *t, const void *frame, bool is_return, unsigned failures)
{
    // A call may be the last instruction of its function: what it returns to belongs to the next.
    uintptr_t at = (uintptr_t)frame - is_return;
    mlt_os_symbol symbol = {0};
    if (asks_symbols(failures))
        symbol = mlt_os_symbol_of((const void *)(failures == 0 ? mlt_globals_original(at) : at));
    add(t, "\n");
    if (symbol.file) {
        add(t, symbol.file);
        add(t, "(");
        add(t, symbol.name ? symbol.name : "");
        add(t, "+0x");
        add_number(t, symbol.offset + is_return, 16);
        add(t, ")");
    }
    add(t, "[0x");
    add_number(t, (uint64_t)(uintptr_t)frame, 16);
    add(t, "]");
}

// Without the unwinder: what lies on the stack and looks like an address in a function. Some are
// left of calls that have returned.
static void add_guessed_frames(text *t, const mlt_fault *fault)
{
    add_frame(t, fault->pc, false, fault->failures);
    if (!asks_symbols(fault->failures))
        return;
    const char *sp = (const char *)((uintptr_t)fault->sp & ~(sizeof(void *) - 1));
    void *word;
    for (int i = 0, shown = 0; i < GUESSED_WORDS && shown < SHOWN; i++, sp += sizeof word) {
        if (!mlt_os_read_own(&word, sp, sizeof word))
            return;
        if ((uintptr_t)word < NEAR || !mlt_os_symbol_of((const char *)word - 1).name)
            continue;
        add_frame(t, word, true, fault->failures);
        shown++;
    }
}

static void add_backtrace(text *t, const mlt_fault *fault)
{
    static void *frames[FRAMES];
    unsigned failures = fault->failures;
    if (failures > 2) {
        add_guessed_frames(t, fault);
        return;
    }
    int n = backtrace(frames, FRAMES), first = 0;
    while (first < n && frames[first] != fault->pc) // what lies before is the handler
        first++;
    bool found = first < n;
    first = found ? first : 0;
    for (int i = first; i < n && i < first + SHOWN && t->length < TEXT_BYTES; i++)
        add_frame(t, frames[i], !found || i > first, failures);
}

// What libc said before it called abort: "malloc(): corrupted top size", or of assert.
static void add_last_sentence(text *t)
{
    enum { MOST = 512 };
    const abort_message *message = abort_messages ? *abort_messages : NULL;
    if (!message)
        return;
    add(t, ": ");
    for (size_t i = 0; i < MOST && message->text[i] && message->text[i] != '\n'; i++)
        add(t, (char[]){message->text[i], '\0'});
}

// ", process 'worker[3]'"; nothing for a rank's own fiber. The name is read unchecked: if
// that is what is broken, the next try leaves it out.
static void add_process(text *t, const mlt_fiber *fiber)
{
    mlt_process_label label;
    if (!fiber || !mlt_upcalls.process || !mlt_upcalls.process(fiber, &label))
        return;
    add(t, ", process ");
    if (!label.name) {
        add_number(t, label.number, 10);
        return;
    }
    add(t, "'");
    add(t, label.name);
    if (label.index >= 0) {
        add(t, "[");
        add_number(t, (uint64_t)label.index, 10);
        add(t, "]");
    }
    add(t, "'");
}

// A pointer to memory of a device, in the program's code or in a call that takes host memory only.
// Not if the driver itself broke: it may hold the lock that the question needs.
static void add_device(text *t, const mlt_fault *fault)
{
    enum { MOST = 160 };
    char place[MOST];
    mlt_os_symbol symbol = mlt_os_symbol_of(fault->pc);
    if (fault->failures || fault->sent || fault->signal != SIGSEGV ||
        (symbol.file && strstr(symbol.file, "/libcuda.so")) ||
        !mlt_gpu_describe(fault->address, place, sizeof place))
        return;
    mlt_os_symbol own = mlt_os_symbol_of((const void *)(uintptr_t)add_device);
    add(t, ", ");
    add(t, place);
    add(t, ", which the processor cannot touch");
    if (!mlt_gpu_is_on())
        add(t, "; setting gpu keeps MPI's calls from looking for such memory");
    else if (symbol.file && own.file && strcmp(symbol.file, own.file) == 0)
        add(t, "; arguments of MPI that are no buffers have to be in memory of the host");
}

// True if the fault lies just below the thread's own stack.
static bool is_own_overflow(const mlt_fault *fault)
{
    uintptr_t at = (uintptr_t)fault->address, lowest = own_stack_top - own_stack_limit;
    return fault->signal == SIGSEGV && !fault->sent && fault->stack_size == 0 && own_stack_limit &&
           at + NEAR > lowest && at < lowest + NEAR;
}

// To the launcher, or to standard error.
static void say(text *t, int32_t rank, int signal)
{
    mlt_ctl head = {
        .type = MLT_CTL_CRASH, .rank = rank, .value = signal, .length = (uint32_t)t->length};
    if (own_boot->ctl >= 0 && mlt_ctl_send(own_boot->ctl, &head, t->bytes) == MLT_OK)
        return;
    add(t, "\n");
    if (t->length == TEXT_BYTES)
        t->bytes[TEXT_BYTES - 1] = '\n';
    for (size_t at = 0; at < t->length;) {
        ssize_t n = write(STDERR_FILENO, t->bytes + at, t->length - at);
        if (n <= 0)
            return;
        at += (size_t)n;
    }
}

static void describe(const mlt_fault *fault)
{
    const mlt_rank *rank = fault->user;
    text *t = &last_words;
    t->length = 0;
    if (rank) {
        add(t, "rank ");
        add_number(t, (uint64_t)rank->world, 10);
        add_process(t, fault->fiber);
        add(t, ": ");
    }
    if (fault->overflow) {
        add(t, "stack overflow: it used more than its ");
        add_number(t, fault->stack_size, 10);
        add(t, own_boot->ctl >= 0 ? " bytes; start with a larger --stack-size"
                                  : " bytes; start with a larger MILLET_STACK_SIZE");
    } else if (is_own_overflow(fault)) {
        add(t, "stack overflow: it used more than its ");
        add_number(t, own_stack_limit, 10);
        add(t, " bytes; start with a larger `ulimit -s`");
    } else {
        add(t, signal_name(fault->signal));
        if (!fault->sent) {
            add(t, fault->signal == SIGSEGV || fault->signal == SIGBUS ? " at address 0x"
                                                                       : " at instruction 0x");
            add_number(t, (uint64_t)(uintptr_t)fault->address, 16);
            add_device(t, fault);
        }
        if (fault->signal == SIGABRT)
            add_last_sentence(t);
        if (fault->failures)
            add(t, " (the report fails, too: the program may have written beyond the end of memory "
                   "that it has)");
        add_backtrace(t, fault);
    }
    say(t, rank ? rank->world : -1, fault->signal);
    mlt_output_rescue(fault->failures ? NULL : rank);
}

void mlt_crash_install(const mlt_boot *boot)
{
    void *first[1];
    (void)backtrace(first, 1); // the first call loads a library, which a handler must not
    abort_messages = dlsym(RTLD_DEFAULT, "__abort_msg");
    own_boot = boot;
    mlt_fault_install(describe);
}

void mlt_crash_thread_init(size_t stack_limit)
{
    own_stack_top = (uintptr_t)__builtin_frame_address(0);
    own_stack_limit = stack_limit;
}
