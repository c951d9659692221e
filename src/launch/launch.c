// SPDX-License-Identifier: BSD-3-Clause
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/text.h"
#include "fiber/stack.h"
#include "launch/agent/agent.h"
#include "launch/children/parent.h"
#include "launch/guard.h"
#include "launch/hosts/agents.h"
#include "launch/hosts/frame.h"
#include "launch/hosts/stage.h"
#include "launch/hosts/task.h"
#include "launch/live/live.h"
#include "launch/live/progress.h"
#include "launch/loop.h"
#include "launch/mpir.h"
#include "launch/plan/coll.h"
#include "launch/plan/grain.h"
#include "launch/plan/plan.h"
#include "launch/program/frames.h"
#include "launch/program/globals.h"
#include "launch/program/libraries.h"
#include "launch/program/program.h"
#include "launch/say.h"
#include "launch/spawn.h"
#include "launch/stdio.h"
#include "launch/trace.h"
#include "launch/watch/last.h"
#include "launch/watch/report.h"
#include "launch/watch/watch.h"
#include "net/key.h"
#include "os/os.h"

typedef struct launch {
    mlt_options *options;
    mlt_placement plan;
    const char **paths; // of the apps' programs; NULL: it is on other hosts only
    bool *noted;        // [apps]: what their ranks share has been told
    const char *gdb;    // NULL: not asked for
    uint32_t host;      // this one; MLT_FRAME_HEAD: it has no rank
    mlt_key key;
    char *task;
    uint64_t started_ns;
    mlt_agent *agent;
    mlt_agents *agents;
    mlt_stage_out *stage; // NULL: nothing is staged
    mlt_watch *watch;
    mlt_live *live;
    mlt_live_progress *progress; // NULL: nobody wants it
    mlt_guard guard;
} launch;

static const char *launch_dir_of(const launch *l, const mlt_app *app)
{
    return app->dir ? app->dir : l->options->dir;
}

// True if the section names no host but this one.
static bool launch_is_here(const mlt_app *app)
{
    for (uint32_t h = 0; app->hosts && h < app->hosts->count; h++)
        if (!app->hosts->hosts[h].here)
            return false;
    return true;
}

// Programs of other hosts are looked for there.
static void launch_find_programs(launch *l)
{
    const mlt_options *o = l->options;
    l->paths = mlt_xcalloc(o->app_count, sizeof *l->paths);
    l->noted = mlt_xcalloc(o->app_count, sizeof *l->noted);
    for (size_t a = 0; a < o->app_count; a++) {
        const mlt_app *app = &o->apps[a];
        const char *dir = launch_dir_of(l, app);
        if (launch_is_here(app) || o->stage || mlt_program_is_there(app->argv[0], dir, app->path))
            l->paths[a] = mlt_program_find(app->argv[0], dir, app->path);
    }
}

// Those that this host runs, after all.
static void require_programs(const launch *l)
{
    for (uint32_t p = 0; p < l->plan.proc_count; p++) {
        const mlt_app *app = &l->options->apps[l->plan.procs[p].app];
        if (l->plan.procs[p].host == l->host && !l->paths[l->plan.procs[p].app])
            (void)mlt_program_find(app->argv[0], launch_dir_of(l, app), app->path);
    }
}

static void find_gdb(launch *l)
{
    const mlt_options *o = l->options;
    if (o->gdb >= (int64_t)l->plan.ranks)
        mlt_quit(MLT_EXIT_USAGE, "--gdb names rank %lld, but the job has ranks 0 to %u",
                 (long long)o->gdb, l->plan.ranks - 1);
    if (o->gdb < 0)
        return;
    const mlt_placement_proc *proc =
        &l->plan.procs[mlt_placement_proc_of(&l->plan, (uint32_t)o->gdb)];
    if (proc->host != l->host)
        mlt_quit(MLT_EXIT_USAGE,
                 "--gdb names rank %lld, which is on host %s; a debugger needs this terminal, so "
                 "start mpirun on that host, or choose a rank of this one",
                 (long long)o->gdb, l->plan.hosts[proc->host].host.name);
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
static void note_frames(const launch *l, const mlt_placement_proc *proc,
                        const mlt_libraries *libraries)
{
    int64_t asked = l->options->stack_size;
    size_t stack = asked ? (size_t)asked : mlt_stack_size_for(proc->ranks);
    size_t guard =
        proc->ranks <= MLT_STACK_WIDE_MOST ? MLT_STACK_GUARD_WIDE : MLT_STACK_GUARD_BYTES;
    mlt_frames frames = {.largest = 0};
    if (proc->ranks <= proc->workers || !libraries->mpi)
        return;
    look_at_frames(l->paths[proc->app], launch_dir_of(l, &l->options->apps[proc->app]), &frames);
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
        const mlt_placement_proc *proc = &l->plan.procs[p];
        const mlt_app *app = &o->apps[proc->app];
        const char *path = l->paths[proc->app];
        bool first = path && (p == 0 || proc[-1].app != proc->app);
        for (size_t a = 0; first && a < proc->app; a++) // the same program in an earlier section
            first = !l->paths[a] || strcmp(l->paths[a], path) != 0;
        if (!first)
            continue;
        mlt_libraries libraries;
        mlt_libraries_find(&libraries, path, launch_dir_of(l, app), o, app);
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
    const mlt_placement_proc *proc = &l->plan.procs[p];
    const mlt_app *app = &o->apps[proc->app];
    const char *path = l->paths[proc->app];
    for (size_t a = 0; a < o->app_count; a++) // the same program in another section
        if (l->noted[a] && l->paths[a] && path && strcmp(l->paths[a], path) == 0)
            return;
    bool again = l->noted[proc->app];
    l->noted[proc->app] = true;
    if (o->quiet || !path || again)
        return;
    mlt_libraries libraries;
    mlt_libraries_find(&libraries, path, launch_dir_of(l, app), o, app);
    mlt_globals_note(path, launch_dir_of(l, app), app->argv[0], proc->ranks, &libraries, o->verbose,
                     why);
    mlt_libraries_fini(&libraries);
}

// -v
static void tell_layout(const launch *l, uint32_t cores)
{
    bool here = !mlt_placement_other(&l->plan);
    mlt_say("%u ranks in %u workers, %u processes, on %u %s%s", l->plan.ranks, l->plan.workers,
            l->plan.proc_count, here ? cores : l->plan.host_count, here ? "cores" : "host",
            here || l->plan.host_count == 1 ? "" : "s");
    for (size_t a = 0; a < l->options->app_count; a++)
        if (l->options->apps[a].told)
            mlt_say("%s: %s", l->options->apps[a].argv[0], l->options->apps[a].told);
}

// ---- Agents

static mlt_agent *launch_make_agent(launch *l, uint32_t cores, uint64_t identity)
{
    mlt_agent_conf conf = {.options = l->options,
                           .plan = &l->plan,
                           .host = l->host,
                           .paths = l->paths,
                           .gdb = l->gdb,
                           .identity = identity,
                           .key = l->plan.host_count > 1 ? &l->key : NULL,
                           .cores = cores,
                           .io = mlt_watch_io(l->watch),
                           .group = l->guard.group,
                           .send = mlt_watch_send,
                           .user = l->watch};
    return mlt_agent_new(&conf);
}

// This program, by the name that it has on other hosts as well.
static char *own_path(void)
{
    char *path = realpath(mlt_os_program(), NULL);
    if (!path)
        mlt_quit(MLT_EXIT_SYSTEM, "mpirun does not know where it is: %s; --launch-agent tells it",
                 strerror(errno));
    return path;
}

static char *pack_task(launch *l, uint64_t identity, size_t *size)
{
    mlt_task task = {
        .options = *l->options, .plan = l->plan, .identity = identity, .head_host = l->host};
    char *dir = getcwd(NULL, 0);
    if (!dir)
        mlt_quit(MLT_EXIT_SYSTEM, "the working directory has no name: %s", strerror(errno));
    task.dir = dir;
    char *packed = mlt_task_pack(&task, size);
    if (*size > MLT_FRAME_MOST)
        mlt_quit(MLT_EXIT_USAGE,
                 "arguments, environment and hosts take %zu bytes, but other hosts can be sent at "
                 "most %d; -genvlist passes on fewer variables",
                 *size, MLT_FRAME_MOST);
    free(dir);
    return packed;
}

// Agents call the remote shell from other folders.
static void settle_shell(mlt_options *o)
{
    char *here = getcwd(NULL, 0);
    if (here && o->rsh[0] != '/' && memchr(o->rsh, '/', strcspn(o->rsh, " ")))
        o->rsh = mlt_text_of("%s/%s", here, o->rsh);
    free(here);
}

// The agents of all other hosts.
static mlt_agents *launch_make_agents(launch *l, uint64_t identity)
{
    size_t size;
    if (!l->options->agent)
        l->options->agent = own_path();
    settle_shell(l->options);
    l->task = pack_task(l, identity, &size);
    mlt_agents_conf conf = {.options = l->options,
                            .plan = &l->plan,
                            .head_host = l->host,
                            .last = mlt_agents_hosts(&l->plan, l->host),
                            .key = &l->key,
                            .task = l->task,
                            .task_size = size,
                            .take = mlt_watch_send,
                            .user = l->watch};
    return mlt_agents_new(&conf);
}

// MPI_UNIVERSE_SIZE: how many ranks can usefully run, in the slots of the hosts that were named, or on
// the cores of this one. A spawned job has it from its parent.
static void note_universe(launch *l, uint32_t cores)
{
    static const char name[] = "MILLET_UNIVERSE=";
    mlt_texts *env = &l->options->env;
    uint64_t slots = 0;
    for (uint32_t h = 0; h < l->plan.named.count; h++)
        slots += l->plan.named.hosts[h].slots;
    slots = slots ? slots : cores;
    slots = slots > l->plan.ranks ? slots : l->plan.ranks;
    for (size_t i = 0; i < env->count; i++)
        if (strncmp(env->items[i], name, sizeof name - 1) == 0)
            return;
    mlt_texts_add(env, mlt_text_of("%s%llu", name, (unsigned long long)slots));
}

static void launch_start_agents(launch *l, uint32_t cores)
{
    uint64_t identity = 0;
    char why[256];
    if (mlt_placement_other(&l->plan)) {
        mlt_key other;
        if (mlt_key_new(&l->key, why, sizeof why) != MLT_OK ||
            mlt_key_new(&other, why, sizeof why) != MLT_OK)
            mlt_quit(MLT_EXIT_SYSTEM, "%s", why);
        memcpy(&identity, other.bytes, sizeof identity);
        identity |= 1; // 0 is none
        l->agents = launch_make_agents(l, identity);
    }
    if (l->host != MLT_FRAME_HEAD)
        l->agent = launch_make_agent(l, cores, identity);
    mlt_watch_join(l->watch, l->agent, l->agents);
    mlt_stage_out_conf stage = {.options = l->options,
                                .plan = &l->plan,
                                .paths = l->paths,
                                .head_host = l->host,
                                .agents = l->agents};
    if (l->options->stage && l->agents)
        l->stage = mlt_stage_out_new(&stage);
    mlt_watch_stage(l->watch, l->stage);
}

static void trace_paths(const mlt_options *options, mlt_path_map *map)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = options->trace && map->path_count ? open_memstream(&text, &size) : NULL;
    if (!out)
        return;
    mlt_path_map_facts(map, out);
    fclose(out);
    mlt_launch_trace_facts(options, text, size);
    free(text);
}

// ---- What people outside ask

static void begin_live(launch *l)
{
    mlt_live_conf conf = {.options = l->options,
                          .plan = &l->plan,
                          .pid = l->guard.fd >= 0 ? getppid() : getpid(),
                          .started_ns = l->started_ns,
                          .watch = l->watch};
    l->live = mlt_live_new(&conf);
    l->progress = mlt_live_progress_new(l->live, l->options);
    mlt_watch_live(l->watch, l->live);
}

static uint32_t own_host(const mlt_placement *plan)
{
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (plan->hosts[h].host.here)
            return h;
    return MLT_FRAME_HEAD;
}

// --show-plan
static int show_plan(const launch *l)
{
    mlt_placement_show(&l->plan, l->options, stdout);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    mlt_say("the plan could not be written: %s", strerror(errno));
    return MLT_EXIT_FAILED;
}

// The whole names of the programs, for the table that debuggers read.
static const char **show_to_debuggers(launch *l)
{
    const mlt_options *o = l->options;
    const char **whole = mlt_xcalloc(o->app_count, sizeof *whole);
    char *here = getcwd(NULL, 0);
    for (size_t a = 0; a < o->app_count; a++) {
        const char *dir = launch_dir_of(l, &o->apps[a]);
        const char *path = l->paths[a] ? l->paths[a] : o->apps[a].argv[0];
        const char *from = dir ? dir : here ? here : "";
        bool relative = path[0] != '/' && strchr(path, '/');
        path += relative && strncmp(path, "./", 2) == 0 ? 2 : 0;
        whole[a] = relative ? mlt_text_of("%s/%s", from, path) : path;
    }
    free(here);
    l->options->held = mlt_mpir_is_debugged();
    mlt_mpir_begin(l->plan.proc_count);
    return whole;
}

int mlt_launch(mlt_options *options, mlt_parent *parent)
{
    launch l = {.options = options};
    uint32_t cores = (uint32_t)mlt_os_cores();
    sigset_t blocked;
    launch_find_programs(&l);
    mlt_grain_decide(options, l.paths, cores);
    mlt_placement_make(options, &l.plan);
    if (options->show_plan)
        return show_plan(&l);
    note_universe(&l, cores);
    l.host = own_host(&l.plan);
    require_programs(&l);
    find_gdb(&l);
    mlt_launch_check_coll(options);
    mlt_launch_tell_hosts(&l.plan);
    check_programs(&l);
    for (size_t i = 0; i < options->notes.count && !options->quiet; i++)
        mlt_say("note: %s", options->notes.items[i]);
    if (options->verbose)
        tell_layout(&l, cores);
    if (options->display_map)
        mlt_placement_show(&l.plan, options, stderr);
    const char **programs = show_to_debuggers(&l);
    mlt_spawn_prepare(&blocked);
    bool terminal = mlt_stdio_reads_terminal(options, &l.plan, l.host);
    mlt_guard_split(&l.guard, &blocked, terminal ? MLT_GUARD_TERMINAL : MLT_GUARD_MPIRUN);
    int signal_fd = mlt_spawn_signal_fd(&blocked);
    l.started_ns = mlt_os_now_ns();
    (void)mlt_loop_new();
    mlt_report *report = options->report ? mlt_report_new(&l.plan) : NULL;
    mlt_path_map map;
    mlt_path_map_init(&map);
    mlt_leaks leaks = {NULL, 0, 0};
    mlt_watch_conf conf = {.options = options,
                           .map = &map,
                           .leaks = &leaks,
                           .plan = &l.plan,
                           .report = report,
                           .signal_fd = signal_fd,
                           .shared = note_shared,
                           .parent = parent,
                           .host = l.host,
                           .group = l.guard.group,
                           .user = &l,
                           .guard_fd = l.guard.fd,
                           .programs = programs};
    l.watch = mlt_watch_new(&conf);
    begin_live(&l);
    mlt_launch_trace_begin(options, &l.plan);
    launch_start_agents(&l, cores);
    int code = mlt_watch_run(l.watch);
    mlt_watch_live(l.watch, NULL);
    mlt_live_progress_free(l.progress);
    mlt_live_free(l.live);
    bool interrupted = mlt_watch_interrupted(l.watch);
    mlt_spawn_restore(signal_fd);
    if (!mlt_watch_finish_output(l.watch) && !code)
        code = MLT_EXIT_FAILED;
    if (report && !mlt_last_report(options, report, &map, mlt_os_now_ns() - l.started_ns)) {
        mlt_say(MLT_NO_ROOM "the report");
        code = code ? code : MLT_EXIT_SYSTEM;
    }
    trace_paths(options, &map);
    mlt_launch_trace_end(options, code);
    mlt_last_leaks(options, &leaks);
    mlt_leaks_free(&leaks);
    // A rule book whose paths count is answered, whether or not anybody asks.
    if (options->paths || map.path_count)
        mlt_path_map_write(&map, options->apps[0].argv[0], options->paths ? options->paths : "-");
    mlt_path_map_fini(&map);
    mlt_report_free(report);
    if (l.agent && mlt_watch_why(l.watch))
        mlt_agent_dies(l.agent, mlt_watch_why(l.watch));
    if (parent)
        mlt_parent_end(parent, code);
    mlt_watch_free(l.watch);
    mlt_agent_free(l.agent);
    mlt_agents_free(l.agents);
    mlt_stage_out_free(l.stage);
    mlt_key_wipe(&l.key);
    free(l.task);
    mlt_say_finish(interrupted ? 0 : -1);
    return mlt_say_lost() && !code ? MLT_EXIT_FAILED : code;
}
