// SPDX-License-Identifier: BSD-3-Clause
// __libc_start_main is what a program's start-up code calls with its main; exit ends the process,
// and pthread_exit or thrd_exit a thread. A program that is linked with this library finds them
// here first.
#include "host/entry.h"

#include <alloca.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <threads.h>
#include <unistd.h>

#include "base/export.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/upcalls.h"
#include "boot/ctl.h"
#include "boot/foreign/launcher.h"
#include "boot/job.h"
#include "fiber/delegate.h"
#include "fiber/fault.h"
#include "fiber/gate.h"
#include "host/crash.h"
#include "host/fork.h"
#include "host/globals.h"
#include "host/libc/affinity.h"
#include "host/libc/environ.h"
#include "host/libc/libc.h"
#include "host/libc/signals.h"
#include "host/life.h"
#include "host/own.h"
#include "host/start.h"
#include "host/stdio/input.h"
#include "host/stdio/output.h"
#include "p2p/settings.h"

enum {
    LAST_WORDS_US = 50000,
    ENTRY_WHY_BYTES = 1024,
    ARGS_ON_STACK = 2048,
    THREAD_STACK = 8 << 20,
    EXIT_CANNOT_START = 70
};

typedef int main_function(int argc, char **argv, char **envp);

// What the program is and where it stands. Written before the workers' threads start, except the
// counters.
static struct {
    main_function *main;
    int argc;
    char **argv, **envp;
    char *words;        // the arguments, one behind the other, for copies of them
    size_t words_bytes; // of all, with their ends
    size_t *word_at;    // [argc]
    uint32_t wanted;    // ranks that the launcher wants here
    bool many;          // several ranks
    // Release when the rest is there, acquire by threads, which may ask at any time.
    _Atomic bool joined;
    pid_t pid;
    mlt_boot boot;
    // The worker of a process with one rank. Release when it is there, acquire by threads that are
    // no rank.
    _Atomic(mlt_worker *) only;
    cpu_set_t cpus; // where the process may run; workers' threads may have places in it
    int only_status;
    // A thread that finds a rank initialised may use it: release and acquire. The others are a sum
    // and a first value that nothing else depends on: relaxed.
    _Atomic uint32_t inited, finalized;
    _Atomic int status; // the first that was not 0
    _Atomic bool quick; // some rank called quick_exit; relaxed
} program;

// Where exit goes on in a worker whose rank runs on the thread's own stack.
static _Thread_local jmp_buf *home;

bool mlt_entry_joined(void)
{
    return atomic_load_explicit(&program.joined, memory_order_acquire);
}

bool mlt_entry_many(void)
{
    return program.many;
}

void mlt_entry_arguments(int *argc, char ***argv, char ***envp)
{
    *argc = program.argc;
    *argv = program.argv;
    *envp = program.envp;
}

bool mlt_entry_any_inited(void)
{
    return atomic_load_explicit(&program.inited, memory_order_acquire) > 0;
}

mlt_rank *mlt_entry_only_rank(void)
{
    mlt_worker *only = atomic_load_explicit(&program.only, memory_order_acquire);
    return only ? &only->ranks[0] : NULL;
}

static uint32_t own_ranks(void)
{
    return mlt_job_proc_at(program.boot.job, program.boot.proc)->ranks;
}

bool mlt_entry_all_finalized(void)
{
    return mlt_entry_joined() &&
           atomic_load_explicit(&program.finalized, memory_order_relaxed) == own_ranks();
}

static void entry_tell(mlt_ctl_type type)
{
    mlt_ctl head = {.type = type, .rank = MLT_CTL_NO_RANK};
    (void)mlt_ctl_send(program.boot.ctl, &head, NULL); // without a launcher nobody wants to know
}

void mlt_entry_count_init(void)
{
    if (atomic_fetch_add_explicit(&program.inited, 1, memory_order_acq_rel) == 0)
        entry_tell(MLT_CTL_INIT);
}

// Hydra and Open MPI take a process that ends without a word to them as one that has failed.
static void close_launcher(void)
{
    mlt_launcher *launcher = program.boot.launcher;
    program.boot.launcher = NULL;
    if (launcher)
        launcher->protocol->close(launcher);
}

void mlt_entry_count_final(void)
{
    if (atomic_fetch_add_explicit(&program.finalized, 1, memory_order_acq_rel) + 1 != own_ranks())
        return;
    entry_tell(MLT_CTL_FINAL);
    close_launcher();
}

_Noreturn void mlt_entry_end_job(int32_t rank, int status, const char *sentence)
{
    if (!mlt_fork_is_child()) // which has the same in its buffers as its rank
        fflush(NULL);         // what the ranks wrote comes before what we say about them
    mlt_ctl head = {
        .type = MLT_CTL_ABORT, .rank = rank, .value = status, .length = (uint32_t)strlen(sentence)};
    if (!mlt_entry_joined() || mlt_ctl_send(program.boot.ctl, &head, sentence) != MLT_OK) {
        if (rank >= 0)
            mlt_log("rank %d%s %s", rank, strncmp(sentence, "called ", 7) == 0 ? "" : ":",
                    sentence);
        else
            mlt_log("%s", sentence);
    }
    if (program.boot.launcher) {
        // What was said shall be read before the launcher ends those who read it.
        (void)usleep(LAST_WORDS_US);
        program.boot.launcher->protocol->abort(program.boot.launcher, status);
    }
    mlt_leave(status);
}

static _Noreturn void cannot_start(const char *why)
{
    mlt_entry_end_job(MLT_CTL_NO_RANK, EXIT_CANNOT_START, why);
}

// The launcher hears of it: the parent may not wait for the child.
static _Noreturn void cannot_start_twice(void)
{
    program.boot.ctl = atoi(getenv("MILLET_CTL_FD"));
    atomic_store_explicit(&program.joined, true, memory_order_relaxed);
    cannot_start("the program forked before MPI_Init, and now both processes call it; only one of "
                 "them can be the rank");
}

// An interpreter, or a program that loads its MPI part itself, is past its main.
static _Noreturn void cannot_start_late(uint32_t ranks)
{
    char why[ENTRY_WHY_BYTES];
    snprintf(
        why, sizeof why,
        "it should hold %u ranks, but its program loaded the MPI library after it had started, "
        "as Python and other interpreters do, or a library's constructor calls MPI, and so it "
        "cannot be run once for each rank; start each rank as a process: mpirun -n RANKS without "
        "-nfg, --workers thread and --grain",
        ranks);
    cannot_start(why);
}

// ---- joining

// The number of ranks that the launcher, or MILLET_NFG, wants in this process. Does not join.
static uint32_t ranks_wanted(void)
{
    const char *fd = getenv("MILLET_JOB_FD"), *proc = getenv("MILLET_PROC");
    if (!fd) {
        mlt_boot_grain grain = mlt_boot_grain_wanted();
        uint64_t ranks = (uint64_t)grain.workers * grain.ranks;
        return ranks <= INT32_MAX ? (uint32_t)ranks : 1;
    }
    if (!proc)
        return 1;
    char why[ENTRY_WHY_BYTES];
    mlt_job *job;
    if (mlt_job_open(atoi(fd), &job, why, sizeof why) != MLT_OK)
        return 1; // MPI_Init will say what is wrong, if this is an MPI program at all
    uint32_t ranks = 1, index = (uint32_t)strtoul(proc, NULL, 10);
    if (index < job->procs &&
        atomic_load_explicit(&mlt_job_proc_at(job, index)->pid, memory_order_relaxed) == 0)
        ranks = mlt_job_proc_at(job, index)->ranks;
    mlt_job_close(job);
    return ranks;
}

void mlt_entry_deadlock(mlt_worker *worker)
{
    fflush(NULL);
    mlt_log(worker->sched->pool
                ? "deadlock: no process can ever go on"
                : "no rank can ever go on: each waits for a message that nobody will send");
    mlt_worker_report(worker);
    mlt_leave(EXIT_FAILURE);
}

static void join(void)
{
    char why[ENTRY_WHY_BYTES];
    mlt_settings_table tables[MLT_SETTINGS_MOST];
    mlt_boot_wait_for_debugger(); // an interpreter that has loaded the library
    if (mlt_settings_read(tables, mlt_upcalls.settings(tables, MLT_SETTINGS_MOST), why,
                          sizeof why) != MLT_OK ||
        mlt_upcalls.settings_check(why, sizeof why) != MLT_OK ||
        mlt_boot_join(&program.boot, why, sizeof why) != MLT_OK)
        cannot_start(why);
    if (mlt_fork_was_early() && program.boot.ctl < 0 && getenv("MILLET_CTL_FD"))
        cannot_start_twice();
    program.pid = getpid();
    atomic_store_explicit(&program.joined, true, memory_order_release);
    mlt_upcalls.joined(&program.boot);
    mlt_crash_install(&program.boot);
}

// The limit of the first thread's stack, 0 if there is none.
static size_t stack_limit(void)
{
    struct rlimit limit;
    bool known = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return known ? limit.rlim_cur : 0;
}

// A rank that is alone in its worker runs on the thread's stack, and wants what a process would
// have.
static size_t thread_stack(void)
{
    size_t bytes = THREAD_STACK;
    if (stack_limit() > bytes)
        bytes = stack_limit();
    if ((size_t)mlt_conf.stack_size > bytes)
        bytes = (size_t)mlt_conf.stack_size;
    return bytes;
}

// ---- places of worker threads

static bool entry_place_of(uint32_t worker, cpu_set_t *place)
{
    const mlt_job_worker *own = mlt_job_worker_at(program.boot.job, worker);
    CPU_ZERO(place);
    for (size_t cpu = 0; own->pinned && cpu < MLT_JOB_CPUS && cpu < CPU_SETSIZE; cpu++)
        if (own->cpus[cpu / 64] >> cpu % 64 & 1)
            CPU_SET(cpu, place);
    return CPU_COUNT(place) > 0;
}

// mpirun pins the process to the cores of all its workers. Left to itself, the system may run two
// of its threads on one of them for a while, and then a message takes microseconds.
static void pin(uint32_t worker)
{
    cpu_set_t place;
    if (entry_place_of(worker, &place))
        (void)sched_setaffinity(0, sizeof place, &place); // if not, it is slower
}

void mlt_entry_unpin(const mlt_rank *rank)
{
    cpu_set_t place, now, wanted = program.cpus;
    bool own = mlt_affinity_of(rank, &wanted), pinned = entry_place_of(rank->worker->index, &place);
    if (!pinned)
        place = program.cpus;
    // A mask that is not its worker's is one that the rank has given to the thread.
    if ((own || pinned) && sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&place, &now))
        (void)sched_setaffinity(0, sizeof wanted, &wanted);
}

// ---- workers and ranks

static mlt_worker *new_worker(uint32_t index)
{
    char why[ENTRY_WHY_BYTES];
    mlt_worker *worker;
    if (mlt_worker_new(&program.boot, index, own_ranks(), &worker, why, sizeof why) != MLT_OK)
        cannot_start(why);
    // Without a stack for signals a crash is not described, but nothing else is lost.
    (void)!mlt_fault_thread_init();
    bool first = index == mlt_job_proc_at(program.boot.job, program.boot.proc)->first_worker;
    mlt_crash_thread_init(first ? stack_limit() : thread_stack());
    mlt_upcalls.worker_begins(worker);
    return worker;
}

static void tell_exit(const mlt_rank *rank, int status)
{
    enum {
        AFTER_MPI,
        DURING_MPI,
        BEFORE_MPI
    } when = mlt_thread_is_ready(rank)        ? DURING_MPI
             : mlt_life(rank) == MLT_LIFE_NEW ? BEFORE_MPI
                                              : AFTER_MPI;
    if (when != DURING_MPI && status == 0)
        return;
    fflush(NULL);
    mlt_ctl head = {.type = MLT_CTL_EXIT, .rank = rank->world, .value = status, .detail = when};
    (void)mlt_ctl_send(program.boot.ctl, &head, NULL);
}

static void remember_status(int status, void *unused)
{
    program.only_status = status & 0xff;
}

static bool entry_has_threads(const mlt_worker *worker)
{
    const mlt_sched *sched = worker->sched;
    bool found = (sched->gate && !mlt_gate_alone(sched->gate)) ||
                 (sched->delegates && !mlt_delegates_alone(sched->delegates));
    for (uint32_t i = 0; program.many && i < worker->count && !found; i++)
        found = worker->ranks[i].own != NULL; // which is kept for them alone
    return found;
}

// Under mpirun a rank that lost some of its output has failed. (Without mpirun it is a program like
// any other, and that is its own business.)
static int final_status(const mlt_rank *rank)
{
    bool lost = program.boot.ctl >= 0 && mlt_output_is_lost(rank->world);
    return lost && !program.only_status ? EXIT_FAILURE : program.only_status;
}

// Runs after the program's own exit handlers, which may still call MPI_Finalize. Not for a child
// that the program forked.
__attribute__((destructor)) static void only_rank_ends(void)
{
    mlt_worker *worker = atomic_load_explicit(&program.only, memory_order_acquire);
    if (!worker || getpid() != program.pid)
        return;
    atomic_store_explicit(&program.only, NULL, memory_order_relaxed);
    tell_exit(&worker->ranks[0], final_status(&worker->ranks[0]));
    if (!mlt_thread_is_ready(
            &worker->ranks[0])) // it has used sessions or channels, and may never call MPI_Finalize
        close_launcher();
    if (mlt_sched_self != worker->sched || entry_has_threads(worker))
        return; // another thread called exit, or lives: it may be in the middle of a call
    if (worker->sched->current != &worker->sched->home) {
        if (mlt_upcalls.worker_leaves)
            mlt_upcalls.worker_leaves(worker); // a process called exit
        mlt_worker_abandon(worker);
        return;
    }
    (void)mlt_own_end(&worker->ranks[0]);
    mlt_upcalls.worker_ends(worker);
    mlt_worker_free(worker);
    mlt_fiber_user = NULL;
}

mlt_rank *mlt_entry_rank(void)
{
    mlt_rank *me = mlt_rank_self();
    if (me || mlt_entry_joined())
        return me;
    if (ranks_wanted() > 1)
        cannot_start_late(ranks_wanted());
    join();
    uint32_t index = mlt_job_proc_at(program.boot.job, program.boot.proc)->first_worker;
    mlt_worker *worker = new_worker(index);
    mlt_sched_adopt(worker->sched, &worker->ranks[0]);
    worker->ranks[0].fiber = &worker->sched->home;
    atomic_store_explicit(&program.only, worker, memory_order_release);
    on_exit(remember_status, NULL);
    return &worker->ranks[0];
}

// ---- several ranks

static void note_status(int status)
{
    int none = 0;
    atomic_compare_exchange_strong_explicit(&program.status, &none, status, memory_order_relaxed,
                                            memory_order_relaxed);
}

static void rank_ends(mlt_rank *rank, int status, mlt_end how)
{
    status &= 0xff;
    mlt_globals_rank_ends(rank, status, how);
    if (!mlt_own_end(rank) && !status)
        status = EXIT_FAILURE;
    if (status)
        note_status(status);
    tell_exit(rank, status);
    mlt_gate *gate = mlt_gate_in(rank->worker->sched);
    rank->ended = true;
    rank->worker->living--;
    mlt_gate_out(gate);
}

// Programs change their arguments, so each rank has its own: the array, and the words behind it.
static char **copy_args(void *memory)
{
    char **argv = memory, *words = (char *)(argv + program.argc + 1);
    for (int i = 0; i < program.argc; i++)
        argv[i] = words + program.word_at[i];
    argv[program.argc] = NULL;
    memcpy(words, program.words, program.words_bytes);
    return argv;
}

static void run_main(void *arg)
{
    mlt_rank *rank = arg;
    size_t bytes = (size_t)(program.argc + 1) * sizeof(char *) + program.words_bytes;
    bool small = bytes <= ARGS_ON_STACK;
    void *memory = small ? alloca(bytes) : mlt_xrealloc(NULL, 1, bytes);
    char **argv = copy_args(memory);
    char **envp = mlt_environ_given(rank, program.envp);
    mlt_globals_rank(rank, program.argc, argv, envp);
    main_function *own_main = program.main;
    if (mlt_globals_are_own())
        own_main = (main_function *)mlt_globals_shift(rank, (void *)program.main);
    int status = own_main(program.argc, argv, envp);
    if (getpid() != program.pid)
        exit(status); // a child that the rank forked
    rank_ends(rank, status, MLT_END_EXIT);
    if (!small)
        free(memory);
}

// Apart, since a buffer for jumps is a third of what a rank that waits has on its stack.
static __attribute__((noinline)) void run_only_rank(mlt_rank *rank)
{
    jmp_buf back;
    home = &back;
    if (_setjmp(back) == 0)
        run_main(rank);
    home = NULL;
}

static void run_rank(void *arg)
{
    mlt_rank *rank = arg;
    if (rank->worker->count > 1)
        run_main(rank);
    else
        run_only_rank(rank);
}

static pthread_key_t lost_key;

// The destructor of lost_key. The rank that ran is not known any more.
static void worker_lost(void *worker)
{
    const mlt_worker *own = worker;
    mlt_entry_end_job(own->count == 1 ? own->ranks[0].world : MLT_CTL_NO_RANK, EXIT_FAILURE,
                      "a thread that runs ranks was ended, by pthread_cancel or as pthread_exit "
                      "ends it: a rank ends when its main returns or calls exit");
}

static void *run_worker(void *index)
{
    pin((uint32_t)(uintptr_t)index);
    mlt_worker *worker = new_worker((uint32_t)(uintptr_t)index);
    (void)pthread_setspecific(lost_key, worker);
    mlt_globals_worker(worker);
    mlt_worker_run(worker, run_rank);
    mlt_signals_worker_ends();
    mlt_globals_worker_ends();
    (void)pthread_setspecific(lost_key, NULL);
    if (entry_has_threads(worker)) { // which may still look at their rank
        mlt_upcalls.worker_stays(worker);
        mlt_worker_abandon(worker);
    } else {
        mlt_upcalls.worker_ends(worker);
        mlt_worker_free(worker);
    }
    mlt_fiber_user = NULL;
    mlt_fault_thread_fini();
    return NULL;
}

static void run_workers(void)
{
    const mlt_job_proc *proc = mlt_job_proc_at(program.boot.job, program.boot.proc);
    pthread_t *threads = calloc(proc->workers, sizeof *threads);
    pthread_attr_t attr;
    if (sched_getaffinity(0, sizeof program.cpus, &program.cpus) != 0)
        CPU_ZERO(&program.cpus);
    if (!threads || pthread_attr_init(&attr) != 0 ||
        pthread_key_create(&lost_key, worker_lost) != 0 ||
        pthread_attr_setstacksize(&attr, thread_stack()) != 0)
        cannot_start(MLT_NO_ROOM "the workers' threads");
    for (uint32_t i = 1; i < proc->workers; i++)
        if (pthread_create(&threads[i], &attr, run_worker,
                           (void *)(uintptr_t)(proc->first_worker + i)) != 0)
            cannot_start(
                "the system refuses another thread (`ulimit -u`, or the limit of processes of the "
                "container): fewer workers, or --workers process");
    run_worker((void *)(uintptr_t)proc->first_worker);
    mlt_threads_count_parked(true);
    for (uint32_t i = 1; i < proc->workers; i++)
        pthread_join(threads[i], NULL);
    mlt_threads_count_parked(false);
    pthread_attr_destroy(&attr);
    free(threads);
}

static bool has_launcher(void)
{
    mlt_launcher launcher;
    char why[ENTRY_WHY_BYTES];
    return getenv("MILLET_JOB_FD") ||
           (mlt_launcher_find(&launcher, why, sizeof why) == MLT_OK && launcher.protocol);
}

// Ranks share the launcher's output: whole lines keep it readable, and appear when they are
// written, even if the rank is killed a moment later.
static void entry_write_lines(void)
{
    struct stat about;
    if (fstat(STDOUT_FILENO, &about) == 0 &&
        (S_ISFIFO(about.st_mode) || S_ISREG(about.st_mode) || S_ISSOCK(about.st_mode)) &&
        has_launcher())
        setvbuf(stdout, NULL, _IOLBF, 0);
}

static void gather_words(void)
{
    program.word_at = mlt_xcalloc((size_t)program.argc + 1, sizeof *program.word_at);
    for (int i = 0; i < program.argc; i++) {
        program.word_at[i] = program.words_bytes;
        program.words_bytes += strlen(program.argv[i]) + 1;
    }
    program.words = mlt_xcalloc(program.words_bytes + 1, 1);
    for (int i = 0; i < program.argc; i++)
        strcpy(program.words + program.word_at[i], program.argv[i]);
}

static int run_program(int argc, char **argv, char **envp)
{
    entry_write_lines();
    if (program.wanted == 1)
        return program.main(argc, argv, envp);
    program.argc = argc;
    program.argv = argv;
    program.envp = envp;
    gather_words();
    program.many = true;
    join();
    mlt_output_init();
    char why[ENTRY_WHY_BYTES];
    if (!mlt_globals_begin(&program.boot, why, sizeof why) || !mlt_input_init(why, sizeof why))
        cannot_start(why);
    mlt_environ_begin();
    run_workers();
    program.many = false; // from here on exit is exit
    if (program.boot.ctl >= 0 && mlt_output_is_lost(-1))
        note_status(EXIT_FAILURE);
    entry_tell(MLT_CTL_DONE);
    close_launcher();
    if (atomic_load_explicit(&program.quick, memory_order_relaxed)) {
        fflush(NULL); // of ranks that returned
        quick_exit(atomic_load_explicit(&program.status, memory_order_relaxed));
    }
    return atomic_load_explicit(&program.status, memory_order_relaxed);
}

// ---- what takes the place of libc's

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

MLT_INTERPOSE int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                                    void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    program.main = main;
    mlt_boot_wait_for_debugger();
    program.wanted = ranks_wanted();
    if (program.wanted > 1)
        mlt_globals_prepare(program.wanted);
    return MLT_LIBC(__libc_start_main)(run_program, argc, argv, init, fini, rtld_fini, stack_end);
}

// What the process itself has left for its end is the first rank's if ranks have their own globals,
// and everybody's otherwise.
static bool ends_quickly(const mlt_rank *me, mlt_end how)
{
    if (!mlt_globals_are_own())
        return how == MLT_END_QUICK;
    return how != MLT_END_EXIT && mlt_globals_index(me) == 0;
}

void mlt_entry_leave(int status, const char *call, mlt_end how)
{
    // A child that a rank forked is no rank.
    mlt_rank *me = program.many && getpid() == program.pid ? mlt_rank_self() : NULL;
    // A thread that a rank started: as anywhere, it ends the process.
    if (!me || me->ended || !mlt_thread_is_main(me))
        return;
    if (mlt_sched_self->current->pool) {
        char text[ENTRY_WHY_BYTES];
        snprintf(text, sizeof text,
                 "called %s in a process that is not its main: where several ranks share a "
                 "program, a rank ends when its main does",
                 call);
        mlt_entry_end_job(me->world, status & 0xff ? status & 0xff : EXIT_FAILURE, text);
    }
    if (ends_quickly(me, how))
        atomic_store_explicit(&program.quick, true, memory_order_relaxed);
    mlt_signals_leave();
    rank_ends(me, status, how);
    if (!home)
        mlt_fiber_exit(me->worker->sched);
    _longjmp(*home, 1);
}

void mlt_entry_refuse_exec(const char *call)
{
    if (!program.many || getpid() != program.pid)
        return;
    char text[ENTRY_WHY_BYTES];
    const mlt_rank *me = mlt_thread_rank();
    snprintf(text, sizeof text,
             "called %s, which would replace the %u ranks that share its process; let it fork "
             "first, or start each rank as a process (without -nfg and --workers thread)",
             call, own_ranks());
    mlt_entry_end_job(me ? me->world : MLT_CTL_NO_RANK, EXIT_FAILURE, text);
}

MLT_INTERPOSE _Noreturn void exit(int status)
{
    mlt_entry_leave(status, "exit", MLT_END_EXIT);
    MLT_LIBC(exit)(status);
    mlt_leave(status);
}

// The thread of a rank's main is its worker's, which others may need.
static void end_rank_of_thread(void)
{
    mlt_rank *me = program.many && getpid() == program.pid ? mlt_rank_self() : NULL;
    if (me && mlt_thread_is_main(me))
        exit(EXIT_SUCCESS);
}

MLT_INTERPOSE _Noreturn void pthread_exit(void *value)
{
    end_rank_of_thread();
    MLT_LIBC(pthread_exit)(value);
    __builtin_unreachable();
}

MLT_INTERPOSE _Noreturn void thrd_exit(int value)
{
    end_rank_of_thread();
    MLT_LIBC(thrd_exit)(value);
    __builtin_unreachable();
}
