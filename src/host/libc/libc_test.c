// SPDX-License-Identifier: BSD-3-Clause
// What this library assumes about libc and the dynamic loader beyond what they document, each
// assumption by itself: a libc that works otherwise fails here, with a sentence, before it fails in
// programs. docs/internals/host.md has the list, with the tests of other layers.
//
// Functions of this layer's take libc's place in this program, too, as in every program that is
// linked with the library. MLT_LIBC has libc's own.
#include "host/libc/libc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/unit_test.h"
#include "fiber/sanitize.h"
#include "fiber/stack.h"
#include "host/caller.h"
#include "os/fd.h"
#include "os/os.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static const char *self; // this program's file

// ---- the dynamic loader

// The start-up code calls whatever __libc_start_main the loader finds first, which in a job makes
// standard output line-buffered if it is a pipe.
static bool starts_here(void)
{
    enum { NO_EXEC = 99 };
    int ends[2], status;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        setenv("MILLET_JOB_FD", "-1", 1);
        execl(self, self, "is line-buffered", (char *)NULL);
        _exit(NO_EXEC);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    close(ends[0]);
    close(ends[1]);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_EXEC)
        printf("not tried: this program, which an emulator runs, cannot start itself\n");
    return status == 0 || (WIFEXITED(status) && WEXITSTATUS(status) == NO_EXEC);
}

static bool finds_libcs_own(void)
{
    static const char *const names[] = {"__libc_start_main",
                                        "exit",
                                        "_exit",
                                        "quick_exit",
                                        "pthread_exit",
                                        "pthread_create",
                                        "thrd_create",
                                        "dlopen",
                                        "dlsym",
                                        "dlvsym",
                                        "dladdr1",
                                        "dl_iterate_phdr",
                                        "_dl_find_object",
                                        "__cxa_atexit",
                                        "__cxa_at_quick_exit",
                                        "__cxa_thread_atexit_impl",
                                        "on_exit",
                                        "_Fork",
                                        "getenv",
                                        "setenv",
                                        "poll",
                                        "read",
                                        "write",
                                        "__read_chk",
                                        "__poll_chk",
                                        "nanosleep",
                                        "sigaction",
                                        "__sysv_signal",
                                        "setlocale",
                                        "uselocale",
                                        "fflush",
                                        "setvbuf",
                                        "freopen64",
                                        "strtok",
                                        "random",
                                        "getopt_long",
                                        "__posix_getopt",
                                        "pthread_key_create",
                                        "tss_create",
                                        "backtrace_symbols",
                                        "localtime",
                                        "execvpe",
                                        "strlen",
                                        "memcpy",
                                        "strchr",
                                        "time"};
    void *libc = MLT_LIBC(dlopen)("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    bool same = libc != NULL;
    for (size_t i = 0; same && i < sizeof names / sizeof *names; i++) {
        _Atomic(void *) found = NULL;
        void *wanted = MLT_LIBC(dlsym)(libc, names[i]);
        same = wanted && mlt_libc_find(&found, names[i]) == wanted;
        if (!same)
            dprintf(STDERR_FILENO, "%s: ", names[i]);
    }
    return same;
}

static bool handles_are_maps(void)
{
    struct link_map *map = NULL;
    void *libc = MLT_LIBC(dlopen)("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    return libc && MLT_LIBC(dlinfo)(libc, RTLD_DI_LINKMAP, &map) == 0 && libc == map;
}

typedef struct list {
    const struct link_map *map;
    bool same;
} list;

static int compare(struct dl_phdr_info *info, size_t size, void *user)
{
    list *l = user;
    bool kernels = info->dlpi_name[0] && !strchr(info->dlpi_name, '/'); // some loaders have it last
    if (kernels)
        return 0;
    while (l->map && l->map->l_name[0] && !strchr(l->map->l_name, '/'))
        l->map = l->map->l_next;
    l->same &= l->map && l->map->l_addr == info->dlpi_addr;
    l->map = l->map ? l->map->l_next : NULL;
    return 0;
}

static bool lists_are_one(void)
{
    list l = {_r_debug.r_map, true};
    (void)MLT_LIBC(dl_iterate_phdr)(compare, &l);
    return l.same && _r_debug.r_map->l_name[0] == '\0';
}

static bool code_is_told_apart(void)
{
    static int variable;
    return mlt_caller_is_ours((const void *)(uintptr_t)code_is_told_apart) &&
           mlt_caller_is_ours((const void *)(uintptr_t)mlt_libc_find) &&
           !mlt_caller_is_ours((const void *)MLT_LIBC(getenv)) && !mlt_caller_is_ours(&variable);
}

// ---- thread-local variables

static _Thread_local int before = 1, own = 5, after[4];

typedef struct block {
    char *at;
    size_t bytes, module;
    const char *initial;
} block;

static int find_block(struct dl_phdr_info *info, size_t size, void *user)
{
    block *b = user;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            *b = (block){info->dlpi_tls_data, info->dlpi_phdr[i].p_memsz, info->dlpi_tls_modid,
                         (const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr};
    return 1; // the program is the first
}

typedef struct tls_place {
    size_t module, offset;
} tls_place;
extern void *__tls_get_addr(tls_place *place);

// On a thread that has just begun, so that all values are initial.
static void *look_at_block(void *fine)
{
    block b = {0};
    own += before - 1 + after[0];
    (void)MLT_LIBC(dl_iterate_phdr)(find_block, &b);
    size_t at = (size_t)((char *)&own - b.at);
    *(bool *)fine = b.at && at < b.bytes && memcmp(b.initial + at, &own, sizeof own) == 0 &&
                    __tls_get_addr(&(tls_place){b.module, 0}) == b.at;
    return NULL;
}

static bool on_thread(void *(*run)(void *))
{
    pthread_t thread;
    bool fine = false;
    CHECK(pthread_create(&thread, NULL, run, &fine) == 0 && pthread_join(thread, NULL) == 0);
    return fine;
}

static bool blocks_are_as_told(void)
{
    return on_thread(look_at_block);
}

static bool keys_are_small(void)
{
    enum { KEYS = 100, FIRST_OF_OURS = 1 << 20 };
    pthread_key_t keys[KEYS];
    bool small = true;
    for (int i = 0; i < KEYS; i++)
        CHECK(MLT_LIBC(pthread_key_create)(&keys[i], NULL) == 0);
    for (int i = 0; i < KEYS; i++) {
        small &= keys[i] < FIRST_OF_OURS;
        (void)MLT_LIBC(pthread_key_delete)(keys[i]);
    }
    return small;
}

// ---- stdio

static char written[256];
static size_t refuse_from = SIZE_MAX;

static ssize_t keep(void *cookie, const char *text, size_t size)
{
    if (strlen(written) + size > refuse_from)
        return 0;
    strncat(written, text, size);
    return (ssize_t)size;
}

static FILE *cookie_stream(void)
{
    FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = keep});
    CHECK(f && MLT_LIBC(setvbuf)(f, NULL, _IONBF, 0) == 0);
    written[0] = '\0';
    return f;
}

// By functions that name no stream.
static bool streams_are_variables(void)
{
    FILE *out = stdout, *err = stderr;
    stdout = stderr = cookie_stream();
    printf("%d ", 1);
    putchar('2');
    puts(" 3");
    errno = ENOENT;
    perror("4");
    FILE *done = stdout;
    stdout = out;
    stderr = err;
    (void)MLT_LIBC(fclose)(done);
    return strncmp(written, "1 2 3\n4: ", 9) == 0;
}

static bool cookies_can_fail(void)
{
    FILE *f = cookie_stream();
    refuse_from = 3;
    bool told =
        fputs("ab", f) >= 0 && !MLT_LIBC(ferror)(f) && fputs("cd", f) == EOF && MLT_LIBC(ferror)(f);
    refuse_from = SIZE_MAX;
    (void)MLT_LIBC(fclose)(f);
    return told;
}

static bool streams_show_what_they_hold(void)
{
    char buffer[64];
    const char *text;
    int fd;
    FILE *f = fopen("/dev/null", "w");
    CHECK(f && MLT_LIBC(setvbuf)(f, buffer, _IOLBF, sizeof buffer) == 0);
    bool none = mlt_os_stream_holds(f, &text, &fd) == 0 && fputs("whole\n", f) >= 0 &&
                mlt_os_stream_holds(f, &text, &fd) == 0;
    bool some = fputs("part", f) >= 0 && mlt_os_stream_holds(f, &text, &fd) == 4 &&
                memcmp(text, "part", 4) == 0 && fd == fileno(f);
    (void)MLT_LIBC(fclose)(f);
    return none && some;
}

// In a child, whose handler looks.
static void look_at_message(int signal)
{
    char *const *message = MLT_LIBC(dlsym)(RTLD_DEFAULT, "__abort_msg");
    bool told = message && *message &&
                strcmp(*message + sizeof(unsigned), "free(): invalid pointer\n") == 0;
    _exit(told ? 0 : 1);
}

static bool aborts_leave_a_message(void)
{
    int status, null = open("/dev/null", O_WRONLY);
    static char no_block[64] __attribute__((aligned(64)));
    char *volatile inside = no_block + 24;
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(null, STDERR_FILENO);
        (void)signal(SIGABRT, look_at_message);
        free(inside);
        _exit(2);
    }
    close(null);
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return MLT_SANITIZED || status == 0;
}

static int waits[2]; // a pipe on which the reader waits, and so the stream

static ssize_t wait_for_input(void *cookie, char *to, size_t size)
{
    return MLT_LIBC(read)(waits[0], to, 1);
}

static void *read_stream(void *stream)
{
    (void)getc(stream);
    return NULL;
}

static void *flush_all(void *done)
{
    (void)MLT_LIBC(fflush)(NULL);
    *(_Atomic bool *)done = true;
    return NULL;
}

// A reader in one thread, a flush of everything in another one.
static bool flush_waits_for_no_input(void)
{
    enum { LOOKS = 2000, LOOK_NS = 1000000 };
    static _Atomic bool done;
    pthread_t reader, flusher;
    FILE *f = fopencookie(NULL, "r", (cookie_io_functions_t){.read = wait_for_input});
    CHECK(f && pipe(waits) == 0);
    (void)__fsetlocking(f, FSETLOCKING_BYCALLER);
    CHECK(pthread_create(&reader, NULL, read_stream, f) == 0);
    mlt_os_sleep(20 * LOOK_NS); // now it waits
    CHECK(pthread_create(&flusher, NULL, flush_all, &done) == 0);
    for (int i = 0; i < LOOKS && !done; i++)
        mlt_os_sleep(LOOK_NS);
    bool fine = done;
    CHECK(MLT_LIBC(write)(waits[1], "x", 1) == 1);
    CHECK(pthread_join(reader, NULL) == 0 && pthread_join(flusher, NULL) == 0);
    (void)MLT_LIBC(fclose)(f);
    return fine;
}

// ---- states

static bool sequences_are_one(void)
{
    struct random_data data = {0};
    int32_t words[32], mine; // as many as libc has itself
    bool same = initstate_r(1, (char *)words, sizeof words, &data) == 0;
    for (int i = 0; i < 100; i++)
        same &=
            random_r(&data, &mine) == 0 && (i % 2 ? MLT_LIBC(random)() : MLT_LIBC(rand)()) == mine;
    struct drand48_data state = {0};
    unsigned short place[3] = {1, 2, 3}, its_place[3] = {1, 2, 3};
    long number;
    for (int i = 0; i < 100; i++)
        same &= lrand48_r(&state, &number) == 0 && MLT_LIBC(lrand48)() == number;
    same &= nrand48_r(place, &state, &number) == 0 && MLT_LIBC(nrand48)(its_place) == number;
    unsigned short seed[3] = {7, 8, 9};
    same &= seed48_r(seed, &state) == 0 &&
            memcmp(MLT_LIBC(seed48)(seed), state.__old_x, sizeof state.__old_x) == 0;
    return same;
}

static bool environ_is_read_each_time(void)
{
    char *array[] = {(char *)(uintptr_t) "MILLET_LIBC_TEST=1", NULL}, **kept = environ;
    environ = array;
    const char *found = MLT_LIBC(getenv)("MILLET_LIBC_TEST");
    bool fine = found && strcmp(found, "1") == 0;
    fine &= MLT_LIBC(setenv)("MILLET_LIBC_OTHER", "2", 1) == 0 && environ != array && !array[1];
    fine &= MLT_LIBC(getenv)("MILLET_LIBC_TEST") && MLT_LIBC(getenv)("MILLET_LIBC_OTHER");
    environ = kept;
    return fine && !MLT_LIBC(getenv)("MILLET_LIBC_OTHER");
}

static bool locales_have_names(void)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", NULL);
    const char *name = c ? nl_langinfo_l(NL_LOCALE_NAME(LC_TIME), c) : NULL;
    locale_t last = MLT_LIBC(uselocale)(c);
    bool fine = name && strcmp(name, "C") == 0 && last == LC_GLOBAL_LOCALE &&
                MLT_LIBC(uselocale)(NULL) == c;
    (void)MLT_LIBC(uselocale)(last);
    freelocale(c);
    return fine;
}

// ---- processes and signals

static int children;

static void on_child(void)
{
    children++;
}

static int run_child(pid_t child)
{
    int status;
    if (child == 0)
        MLT_LIBC(_exit)(children);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool forks_call_handlers(void)
{
    CHECK(pthread_atfork(NULL, NULL, on_child) == 0);
    int told = run_child(fork()), quiet = run_child(MLT_LIBC(_Fork)());
    return told == 1 && quiet == 0;
}

static siginfo_t came;

static void on_signal(int number, siginfo_t *info, void *context)
{
    came = *info;
}

static bool raised_signals_are_told_apart(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO}, was;
    CHECK(MLT_LIBC(sigaction)(SIGUSR1, &action, &was) == 0 && raise(SIGUSR1) == 0);
    bool raised = came.si_code == SI_TKILL && came.si_pid == getpid();
    CHECK(MLT_LIBC(kill)(getpid(), SIGUSR1) == 0);
    bool killed = came.si_code == SI_USER;
    CHECK(MLT_LIBC(sigaction)(SIGUSR1, &was, NULL) == 0);
    return raised && killed;
}

static bool signal_frames_are_counted(void)
{
    long told = sysconf(_SC_MINSIGSTKSZ), needed = (long)getauxval(AT_MINSIGSTKSZ);
    return told >= needed && needed <= MLT_STACK_ROOMY * 3 / 4;
}

// ---- small stacks

static char stack[4 * MLT_STACK_ROOMY] __attribute__((aligned(16)));
static void *home, *there;
static void (*on_small_stack)(void);

static void run_there(void *unused)
{
    on_small_stack();
    mlt_arch_switch(&there, home);
}

// Bytes of stack that the function takes, with what the loader takes to bind what it calls.
static size_t stack_of(void (*function)(void))
{
    size_t untouched = 0;
    memset(stack, 0xa5, sizeof stack);
    on_small_stack = function;
    mlt_arch_switch(&home, mlt_arch_fiber_init(stack + sizeof stack, run_there, NULL));
    while (untouched < sizeof stack && stack[untouched] == (char)0xa5)
        untouched++;
    return sizeof stack - untouched;
}

// What the kernel's own library (the vDSO) may do in user space.
static void ask_kernel(void)
{
    struct timespec now;
    struct timeval then;
    unsigned cpu;
    char bytes[16];
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)clock_getres(CLOCK_MONOTONIC, &now);
    (void)gettimeofday(&then, NULL);
    (void)getcpu(&cpu, NULL);
    (void)!getrandom(bytes, sizeof bytes, GRND_NONBLOCK);
    (void)time(NULL);
}

static void format(void)
{
    char text[128];
    snprintf(text, sizeof text, "%s %d %ld %p %.17g %g", "text", -1, 1L << 60, (void *)text, 1e-300,
             0.1);
}

// A quarter of the smallest stack is for the program's own frames, at least.
static bool kernels_functions_fit(void)
{
    return stack_of(ask_kernel) <= MLT_STACK_ROOMY * 3 / 4;
}

static bool formats_fit(void)
{
    return stack_of(format) <= MLT_STACK_ROOMY * 3 / 4;
}

// ---- all

static const struct {
    bool (*holds)(void);
    const char *sentence;
} assumptions[] = {
    {starts_here,
     "The start-up code of programs does not call the __libc_start_main that the loader "
     "finds first, so main runs once a process, not once a rank."},
    {finds_libcs_own, "The symbol tables have another function of this name than dlsym gives, so "
                      "the functions that the library takes over do not find libc's own."},
    {handles_are_maps, "A handle of dlopen is not the loader's record of the object (link_map), so "
                       "libraries that ranks load do not find each other's symbols."},
    {lists_are_one, "dl_iterate_phdr does not tell the program first and then the libraries in the "
                    "order of _r_debug, so ranks cannot have globals of their own."},
    {code_is_told_apart, "The code of an object does not lie between __ehdr_start and _DYNAMIC, so "
                         "calls of the library are taken for the program's."},
    {blocks_are_as_told, "A thread's variables do not lie where dl_iterate_phdr and __tls_get_addr "
                         "say, so ranks of one thread mix up their thread-local variables."},
    {keys_are_small, "pthread_key_create gives keys of 2^20 and above, which are those of ranks."},
    {streams_are_variables, "printf, puts and perror do not write to what the variables stdout and "
                            "stderr hold, so output of ranks is not told apart."},
    {cookies_can_fail, "A stream of fopencookie whose write function returns 0 has no error, so "
                       "output of ranks is lost without a message."},
    {streams_show_what_they_hold, "A FILE does not have its unwritten bytes between _IO_write_base "
                                  "and _IO_write_ptr, so a crash loses the line it interrupts."},
    {aborts_leave_a_message,
     "__abort_msg does not hold what libc says before it aborts, so reports of "
     "crashes do not have the heap's own sentence."},
    {flush_waits_for_no_input, "fflush(NULL) waits for a stream that waits for input, in spite of "
                               "FSETLOCKING_BYCALLER, so ranks wait for each other's input."},
    {sequences_are_one,
     "random, rand and lrand48 do not give the numbers of random_r with 32 words "
     "and of lrand48_r, so a rank has other numbers than a process."},
    {environ_is_read_each_time, "getenv and setenv do not use the array that the variable environ "
                                "holds, or change it in place, so ranks share an environment."},
    {locales_have_names, "nl_langinfo_l does not give the names of a locale, or uselocale does not "
                         "change the thread's, so ranks share a locale."},
    {forks_call_handlers, "fork does not call the handlers of pthread_atfork once, or _Fork calls "
                          "them, so a child is taken for the rank that forked it."},
    {raised_signals_are_told_apart,
     "raise does not send a signal to the thread (SI_TKILL), or kill "
     "does, so a rank's signal goes to all ranks of its process."},
    {signal_frames_are_counted, "sysconf(_SC_MINSIGSTKSZ) is less than a signal takes, or that is "
                                "more than the smallest stack of a rank has."},
    {kernels_functions_fit, "clock_gettime, getrandom or another function of the vDSO needs more "
                            "stack than the smallest that a rank can have."},
    {formats_fit, "snprintf needs more stack than the smallest that a rank can have."},
};

int main(int argc, char **argv)
{
    if (argc > 1)
        return !__flbf(stdout);
    if (!MLT_TAKES_OVER)
        return 77; // a sanitizer's run-time has functions of libc's itself
    self = mlt_os_program();
    int broken = 0;
    for (size_t i = 0; i < sizeof assumptions / sizeof *assumptions; i++) {
        if (assumptions[i].holds())
            continue;
        dprintf(STDERR_FILENO, "%s\n", assumptions[i].sentence); // stdio may be what is broken
        broken++;
    }
    return broken > 0;
}
