// SPDX-License-Identifier: BSD-3-Clause
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "boot/job.h"
#include "fiber/stack.h"
#include "launch/guard.h"
#include "launch/io.h"
#include "launch/loop.h"
#include "launch/numbers.h"
#include "launch/plan/bind.h"
#include "launch/plan/coll.h"
#include "launch/plan/env.h"
#include "launch/plan/grain.h"
#include "launch/plan/hosts.h"
#include "launch/plan/plan.h"
#include "launch/program/frames.h"
#include "launch/program/globals.h"
#include "launch/program/libraries.h"
#include "launch/program/program.h"
#include "launch/say.h"
#include "launch/spawn.h"
#include "launch/watch/lines.h"
#include "launch/watch/report.h"
#include "launch/watch/watch.h"
#include "os/os.h"

// Inherited descriptors have numbers that scripts do not use themselves.
enum { FIRST_FD = 20 };

typedef struct launch {
    mlt_options *options;
    mlt_plan plan;
    const char **paths; // of the apps' programs
    bool *noted;        // [apps]: what their ranks share has been told
    const char *gdb;    // NULL: not asked for
    mlt_bind bind;
    mlt_job *job;
    int job_fd, ctl_as;
    int loop;
    mlt_io *io;
    mlt_watch *watch;
    mlt_guard guard;
} launch;

static const char *dir_of(const launch *l, const mlt_app *app)
{
    return app->dir ? app->dir : l->options->dir;
}

static void find_programs(launch *l)
{
    const mlt_options *o = l->options;
    l->paths = mlt_take(o->app_count, sizeof *l->paths);
    l->noted = mlt_take(o->app_count, sizeof *l->noted);
    for (size_t a = 0; a < o->app_count; a++)
        l->paths[a] = mlt_program_find(o->apps[a].argv[0], dir_of(l, &o->apps[a]), o->apps[a].path);
}

static void find_gdb(launch *l)
{
    const mlt_options *o = l->options;
    if (o->gdb >= (int64_t)l->plan.ranks)
        mlt_quit(MLT_EXIT_USAGE, "--gdb names rank %lld, but the job has ranks 0 to %u",
                 (long long)o->gdb, l->plan.ranks - 1);
    if (o->gdb >= 0)
        l->gdb = mlt_program_find("gdb", NULL, NULL);
}

// Looks at one file, the program's or a library's of its own.
static void look_at_frames(const char *path, const char *dir, mlt_frames *found)
{
    char *whole = dir && path[0] != '/' ? mlt_text_of("%s/%s", dir, path) : mlt_text_of("%s", path);
    int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(whole);
    if (fd < 0)
        return; // executable but not readable: nothing to tell
    mlt_frames here = mlt_frames_read(fd);
    found->largest = here.largest > found->largest ? here.largest : found->largest;
    found->dynamic |= here.dynamic;
    close(fd);
}

// Stacks of fibers are neighbours. A frame that is larger than the guard between them, and is not
// touched page by page when it is made, reaches into the next one.
static void note_frames(const launch *l, const mlt_plan_proc *proc, const mlt_libraries *libraries)
{
    int64_t asked = l->options->stack_size;
    size_t stack = asked ? (size_t)asked : mlt_stack_size_for(proc->ranks);
    size_t guard =
        proc->ranks <= MLT_STACK_WIDE_MOST ? MLT_STACK_GUARD_WIDE : MLT_STACK_GUARD_BYTES;
    mlt_frames frames = {.largest = 0};
    if (proc->ranks <= proc->workers || !libraries->mpi)
        return;
    look_at_frames(l->paths[proc->app], dir_of(l, &l->options->apps[proc->app]), &frames);
    for (size_t i = 0; i < libraries->count; i++)
        look_at_frames(libraries->paths[i], NULL, &frames);
    bool fixed = frames.largest > guard;
    char bytes[MLT_NUMBER_BYTES], size[MLT_NUMBER_BYTES];
    if (fixed || (frames.dynamic && stack < mlt_stack_size_for(1)))
        mlt_say("note: %s was compiled without -fstack-clash-protection and has %s%s: a rank that "
                "needs more than its stack of %s may write into another's without a word; compile "
                "it with this mpirun's mpicc, or raise --stack-size",
                l->options->apps[proc->app].argv[0],
                fixed ? "a function with a frame of " : "arrays of variable size",
                fixed ? mlt_bytes(bytes, frames.largest) : "", mlt_bytes(size, stack));
}

// A program of another MPI would run as so many jobs of one rank.
static void refuse_foreign(const launch *l, const mlt_app *app, const mlt_libraries *libraries)
{
    if (l->plan.ranks < 2)
        return;
    if (libraries->foreign)
        mlt_quit(MLT_EXIT_NOT_EXECUTABLE,
                 "program '%s' is made for another MPI: it needs %s, the library of %s, so each of "
                 "its ranks would be alone; compile it with Millet's mpicc, or start it with the "
                 "mpirun of that MPI",
                 app->argv[0], libraries->foreign, mlt_libraries_vendor(libraries->foreign));
    if (libraries->other)
        mlt_quit(MLT_EXIT_NOT_EXECUTABLE,
                 "program '%s' has a run path (DT_RPATH) that leads to another MPI's %s, so each "
                 "of its ranks would be alone; `patchelf --remove-rpath` or linking with "
                 "-Wl,--enable-new-dtags lets it find Millet's",
                 app->argv[0], libraries->other);
}

// Looks at each program once.
static void check_programs(const launch *l)
{
    const mlt_options *o = l->options;
    for (uint32_t p = 0; p < l->plan.proc_count; p++) {
        const mlt_plan_proc *proc = &l->plan.procs[p];
        const mlt_app *app = &o->apps[proc->app];
        const char *path = l->paths[proc->app];
        bool first = p == 0 || proc[-1].app != proc->app;
        for (uint32_t q = 0; first && q < p; q++) // the same program in an earlier section
            first = strcmp(l->paths[l->plan.procs[q].app], path) != 0;
        if (!first)
            continue;
        mlt_libraries libraries;
        mlt_libraries_find(&libraries, path, dir_of(l, app), o, app);
        refuse_foreign(l, app, &libraries);
        if (!o->quiet)
            note_frames(l, proc, &libraries);
        mlt_libraries_fini(&libraries);
    }
}

// mlt_watch_conf.shared: names what the ranks of a process share, once for each program.
static void note_shared(void *user, uint32_t p, const char *why)
{
    launch *l = user;
    const mlt_options *o = l->options;
    const mlt_plan_proc *proc = &l->plan.procs[p];
    const mlt_app *app = &o->apps[proc->app];
    const char *path = l->paths[proc->app];
    for (size_t a = 0; a < o->app_count; a++) // the same program in another section
        if (l->noted[a] && strcmp(l->paths[a], path) == 0)
            return;
    l->noted[proc->app] = true;
    if (o->quiet || o->no_globals)
        return;
    mlt_libraries libraries;
    mlt_libraries_find(&libraries, path, dir_of(l, app), o, app);
    mlt_globals_note(path, dir_of(l, app), app->argv[0], proc->ranks, &libraries, o->verbose, why);
    mlt_libraries_fini(&libraries);
}

// mlt_watch_conf.explain.
static char *explain_crash(void *user, uint32_t p, const char *text)
{
    const launch *l = user;
    return mlt_lines_add(text, dir_of(l, &l->options->apps[l->plan.procs[p].app]));
}

// A process is started on its cores; worker threads must find theirs among them.
static void note_places(launch *l)
{
    for (uint32_t p = 0; p < l->plan.proc_count; p++) {
        const mlt_plan_proc *proc = &l->plan.procs[p];
        for (uint32_t i = 0; proc->workers > 1 && i < proc->workers; i++) {
            mlt_job_worker *w = mlt_job_worker_at(l->job, proc->first_worker + i);
            w->pinned = mlt_bind_place(&l->bind, proc->first_worker + i, w->cpus, MLT_JOB_CPUS);
        }
    }
}

static void make_job(launch *l, uint32_t cores)
{
    uint32_t count = l->plan.proc_count;
    uint32_t *workers = mlt_take(count, sizeof *workers), *ranks = mlt_take(count, sizeof *ranks);
    uint32_t *apps = mlt_take(count, sizeof *apps), *larger = mlt_take(count, sizeof *larger);
    for (uint32_t p = 0; p < count; p++) {
        workers[p] = l->plan.procs[p].workers;
        ranks[p] = l->plan.procs[p].ranks / workers[p];
        larger[p] = l->plan.procs[p].ranks % workers[p];
        apps[p] = l->plan.procs[p].app;
    }
    mlt_job_plan plan = {.procs = count,
                         .workers_of_proc = workers,
                         .ranks_a_worker = ranks,
                         .larger_of_proc = larger,
                         .app_of_proc = apps,
                         .cores = cores,
                         .launched = true,
                         .profile = l->options->report};
    char why[512];
    int fd;
    if (mlt_job_new(&plan, &l->job, &fd, why, sizeof why))
        mlt_quit(MLT_EXIT_SYSTEM, "%s", why);
    l->job_fd = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
    l->ctl_as = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD + 1);
    if (l->job_fd < 0 || l->ctl_as < 0)
        mlt_quit(MLT_EXIT_SYSTEM, "no more descriptors: %s; see `ulimit -n`", strerror(errno));
    close(fd);
    free(workers);
    free(ranks);
    free(apps);
    free(larger);
    note_places(l);
    if (mlt_job_own_head(l->job) != MLT_OK)
        mlt_quit(MLT_EXIT_SYSTEM, MLT_NO_ROOM "the job's head (%s)", strerror(errno));
}

// -v
static void tell_layout(const launch *l, uint32_t cores)
{
    mlt_say("%u ranks in %u workers, %u processes, on %u cores", l->plan.ranks, l->plan.workers,
            l->plan.proc_count, cores);
    for (size_t a = 0; a < l->options->app_count; a++)
        if (l->options->apps[a].told)
            mlt_say("%s: %s", l->options->apps[a].argv[0], l->options->apps[a].told);
}

// gdb --args program ...; the caller frees it.
static char **gdb_words(char **argv)
{
    static char gdb[] = "gdb", quiet[] = "-q", args[] = "--args";
    mlt_texts words = {NULL, 0};
    mlt_texts_add(&words, gdb);
    mlt_texts_add(&words, quiet);
    mlt_texts_add(&words, args);
    while (*argv)
        mlt_texts_add(&words, *argv++);
    return words.items;
}

static bool open_ctl(int pair[2], char *why, size_t why_size)
{
    static const int on = 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        snprintf(why, why_size, "no more descriptors: %s; see `ulimit -n`", strerror(errno));
        return false;
    }
    // The system then tells the sender's process id, as this side would call it.
    (void)setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    return true;
}

static void tell_start(const launch *l, uint32_t p, pid_t pid, const cpu_set_t *cpus)
{
    char who[64], where[256] = "any processor";
    mlt_plan_name(&l->plan, p, who, sizeof who);
    if (cpus) {
        size_t n = (size_t)snprintf(where, sizeof where, "processors ");
        mlt_bind_text(&l->bind, cpus, where + n, sizeof where - n);
    }
    mlt_say("%s: process %d on %s, on %s: %s", who, (int)pid, mlt_hosts_own(), where,
            l->options->apps[l->plan.procs[p].app].argv[0]);
}

// Starts one process. On failure the exit code, after a message.
static int start(launch *l, uint32_t p, mlt_env *env)
{
    const mlt_plan_proc *proc = &l->plan.procs[p];
    const mlt_app *app = &l->options->apps[proc->app];
    bool under_gdb = l->gdb && p == mlt_plan_proc_of(&l->plan, (uint32_t)l->options->gdb);
    char why[512];
    int pair[2], code = MLT_EXIT_SYSTEM;
    if (!open_ctl(pair, why, sizeof why)) {
        mlt_say("%s", why);
        return code;
    }
    cpu_set_t *cpus = mlt_bind_set(&l->bind, proc->first_worker, proc->workers);
    mlt_env_proc own = {.proc = p, .job_fd = l->job_fd, .ctl_fd = l->ctl_as};
    mlt_spawn spawn = {.path = under_gdb ? l->gdb : l->paths[proc->app],
                       .argv = under_gdb ? gdb_words(app->argv) : app->argv,
                       .env = mlt_env_for(env, &l->plan, &own),
                       .dir = dir_of(l, app),
                       .job_fd = l->job_fd,
                       .ctl_fd = pair[1],
                       .ctl_as = l->ctl_as,
                       .cpus = cpus,
                       .cpus_bytes = l->bind.set_bytes,
                       // --gdb: keep the keyboard's signals away from the others
                       .group = l->gdb && !under_gdb ? 0 : l->guard.group};
    pid_t pid = -1;
    if (mlt_io_prepare(l->io, p, &spawn, why, sizeof why))
        pid = mlt_spawn_start(&spawn, &code, why, sizeof why);
    mlt_io_started(l->io, p);
    close(pair[1]);
    if (pid > 0) {
        mlt_watch_started(l->watch, p, pid, pair[0]);
        if (l->options->verbose)
            tell_start(l, p, pid, cpus);
    } else {
        close(pair[0]);
        mlt_say("%s", why);
    }
    CPU_FREE(cpus);
    if (under_gdb)
        free(spawn.argv);
    return pid > 0 ? 0 : code;
}

static void start_all(launch *l)
{
    mlt_env env;
    bool have_env = false;
    for (uint32_t p = 0; p < l->plan.proc_count; p++) {
        uint32_t app = l->plan.procs[p].app;
        if (p == 0 || l->plan.procs[p - 1].app != app) {
            if (have_env)
                mlt_env_fini(&env);
            mlt_env_init(&env, l->options, &l->options->apps[app]);
            mlt_io_env(l->io, p, &env);
            have_env = true;
        }
        int code = start(l, p, &env);
        if (code) {
            mlt_watch_give_up(l->watch, code);
            break;
        }
    }
    mlt_env_fini(&env);
    mlt_io_run(l->io);
}

// False: there is no memory for it.
static bool print_report(launch *l, mlt_report *report, mlt_path_map *map)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return false;
    mlt_texts grains = {NULL, 0};
    for (size_t a = 0; a < l->options->app_count; a++)
        if (l->options->apps[a].told)
            mlt_texts_add(&grains, l->options->apps[a].told);
    mlt_report_print(report, l->options->apps[0].argv[0], &grains,
                     mlt_os_now_ns() - l->job->started_ns, out);
    free(grains.items);
    mlt_path_map_report(map, out);
    mlt_report_advise(report, out);
    bool whole = fclose(out) == 0;
    mlt_say_raw(text, size);
    free(text);
    return whole;
}

// A book whose paths count is answered, whether or not anybody asks.
static void print_paths(const mlt_options *options, mlt_path_map *map)
{
    if (options->paths || map->path_count)
        mlt_path_map_write(map, options->apps[0].argv[0], options->paths ? options->paths : "-");
}

// The one place that knows that a job is local.
static void refuse_others(const mlt_plan *plan)
{
    const mlt_plan_host *other = mlt_plan_other(plan);
    char where[MLT_HOST_WHERE_BYTES];
    if (other)
        mlt_quit(MLT_EXIT_USAGE,
                 "%s: host '%s' is not this host ('%s'); several hosts are not supported yet, so "
                 "leave it out or name localhost",
                 mlt_host_where(&other->host, where), other->host.name, mlt_hosts_own());
}

// --show-plan
static int show_plan(const launch *l)
{
    mlt_plan_show(&l->plan, l->options, stdout);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    mlt_say("the plan could not be written: %s", strerror(errno));
    return MLT_EXIT_FAILED;
}

int mlt_launch(mlt_options *options)
{
    launch l = {.options = options};
    uint32_t cores = (uint32_t)mlt_os_cores();
    sigset_t blocked;
    find_programs(&l);
    mlt_grain_decide(options, l.paths, cores);
    mlt_plan_make(options, &l.plan);
    if (options->show_plan)
        return show_plan(&l);
    refuse_others(&l.plan);
    find_gdb(&l);
    mlt_launch_check_coll(options);
    check_programs(&l);
    mlt_bind_plan(&l.bind, options->bind_to, options->map_by, l.plan.workers);
    if (options->verbose)
        tell_layout(&l, cores);
    mlt_spawn_prepare(&blocked);
    mlt_guard_split(&l.guard, &blocked, mlt_io_reads_terminal(options));
    int signal_fd = mlt_spawn_signal_fd(&blocked);
    make_job(&l, cores);
    l.loop = mlt_loop_new();
    l.io = mlt_io_new(options, &l.plan, l.loop);
    mlt_report *report = options->report ? mlt_report_new(&l.plan, cores) : NULL;
    mlt_path_map map;
    mlt_path_map_init(&map);
    mlt_watch_conf conf = {.options = options,
                           .map = &map,
                           .plan = &l.plan,
                           .job = l.job,
                           .report = report,
                           .loop = l.loop,
                           .signal_fd = signal_fd,
                           .shared = note_shared,
                           .explain = explain_crash,
                           .user = &l,
                           .guard_fd = l.guard.fd};
    l.watch = mlt_watch_new(&conf);
    start_all(&l);
    int code = mlt_watch_run(l.watch);
    bool interrupted = mlt_watch_interrupted(l.watch);
    mlt_spawn_restore(signal_fd);
    if (!mlt_io_finish(l.io, interrupted) && !code)
        code = MLT_EXIT_FAILED;
    if (report && !print_report(&l, report, &map)) {
        mlt_say(MLT_NO_ROOM "the report");
        code = code ? code : MLT_EXIT_SYSTEM;
    }
    print_paths(options, &map);
    mlt_path_map_fini(&map);
    mlt_report_free(report);
    mlt_watch_free(l.watch);
    mlt_job_close(l.job);
    mlt_say_finish(interrupted ? 0 : -1);
    return mlt_say_lost() && !code ? MLT_EXIT_FAILED : code;
}
