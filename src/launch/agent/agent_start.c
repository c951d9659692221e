// SPDX-License-Identifier: BSD-3-Clause
// The segment, pinning, and the start of processes.
#include "launch/agent/agent_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "launch/say.h"
#include "launch/spawn.h"
#include "os/fd.h"
#include "os/numa.h"
#include "os/os.h"
#include "os/uring.h"

// Inherited descriptors have numbers that scripts do not use themselves.
enum { FIRST_FD = 20, WHERE_BYTES = 512, GPUS_BYTES = 128, START_AT_ONCE = 128 };

// ---- The segment

// A process is started on its cores; worker threads must find theirs among them.
static void note_places(mlt_agent *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const mlt_placement_proc *proc = mlt_agent_plan_of(a, a->children[i].proc);
        for (uint32_t k = 0; proc->workers > 1 && k < proc->workers; k++) {
            uint32_t local = mlt_job_location_at(a->job, proc->first_worker + k)->local;
            mlt_job_worker *w = mlt_job_local_at(a->job, local);
            w->pinned = mlt_bind_worker_bitmap(&a->bind, local, w->cpus, MLT_JOB_CPUS);
        }
    }
}

static void make_job(mlt_agent *a)
{
    const mlt_placement *whole = a->conf.plan;
    uint32_t count = whole->proc_count;
    uint32_t *numbers = mlt_xcalloc(5 * (size_t)count, sizeof *numbers);
    uint32_t *workers = numbers, *ranks = workers + count, *apps = ranks + count,
             *larger = apps + count, *hosts = larger + count;
    for (uint32_t p = 0; p < count; p++) {
        workers[p] = whole->procs[p].workers;
        ranks[p] = whole->procs[p].ranks / workers[p];
        larger[p] = whole->procs[p].ranks % workers[p];
        apps[p] = whole->procs[p].app;
        hosts[p] = whole->procs[p].host;
    }
    mlt_job_plan plan = {.procs = count,
                         .workers_of_proc = workers,
                         .ranks_a_worker = ranks,
                         .larger_of_proc = larger,
                         .app_of_proc = apps,
                         .host_of_proc = whole->host_count > 1 ? hosts : NULL,
                         .hosts = whole->host_count,
                         .host = a->conf.host,
                         .identity = a->conf.identity,
                         .cores = a->conf.cores,
                         .numa_local = a->bind.count > 0 && mlt_os_nodes(MLT_OS_NODES) > 1,
                         .launched = true,
                         .profile = a->conf.options->report};
    char why[512];
    int fd;
    if (mlt_job_new(&plan, &a->job, &fd, why, sizeof why))
        mlt_quit(MLT_EXIT_SYSTEM, "%s", why);
    a->job_fd = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
    a->ctl_as = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD + 1);
    if (a->job_fd < 0 || a->ctl_as < 0)
        mlt_quit(MLT_EXIT_SYSTEM, "no more descriptors: %s", mlt_os_no_descriptor(errno));
    close(fd);
    free(numbers);
    note_places(a);
    if (mlt_job_own_head(a->job) != MLT_OK)
        mlt_quit(MLT_EXIT_SYSTEM, MLT_NO_ROOM "the job's head (%s)", strerror(errno));
}

// Each rank that is a fiber writes to one page of its stack at least.
static void check_memory(const mlt_agent *a)
{
    uint64_t fibers = 0, left = a->job->memory;
    for (uint32_t i = 0; i < a->count; i++) {
        const mlt_placement_proc *proc = mlt_agent_plan_of(a, a->children[i].proc);
        fibers += proc->ranks > proc->workers ? proc->ranks : 0;
    }
    uint64_t least = fibers * mlt_os_page_size();
    if (left && least > left)
        mlt_quit(MLT_EXIT_SYSTEM,
                 "the stacks of %llu ranks take at least %llu MiB of memory, but only %llu MiB are "
                 "left on this host, or to its control group (container): fewer ranks need less",
                 (unsigned long long)fibers, (unsigned long long)(least >> 20) + 1,
                 (unsigned long long)(left >> 20));
}

// For -v: what this host, or the container, refuses, and what is done instead.
static void tell_without(const mlt_agent *a)
{
    if (a->count > 1 && !a->job->readable)
        mlt_say("without process_vm_readv, which this host refuses: large messages between "
                "processes are copied twice");
    if (a->job_fd >= 0 && !mlt_os_is_memfd(a->job_fd))
        mlt_say("without memfd_create, which this host refuses: memory that processes share is in "
                "files without names, in /dev/shm, TMPDIR or /tmp");
    if (mlt_os_uring_refused())
        mlt_say("without io_uring, which this host refuses: threads wait for short reads of files");
    if (access("/proc/self/stat", R_OK) != 0)
        mlt_say("without /proc, which is not mounted: memory that is left, states of stopped ranks "
                "and what crashed ranks leave behind are not known");
}

// Decides which processors workers get.
static void pin(mlt_agent *a)
{
    const mlt_options *o = a->conf.options;
    char why[512];
    if (o->cpu_set && !mlt_bind_restrict(o->cpu_set, why, sizeof why))
        mlt_quit(MLT_EXIT_USAGE, "--cpu-set %s", why);
    if (o->cpu_set)
        a->conf.cores = (uint32_t)mlt_os_cores();
    mlt_bind_plan(&a->bind, o->bind_to, o->map_by, a->workers);
    if (a->bind.lacks)
        mlt_quit(
            MLT_EXIT_USAGE,
            "PE=%u gives each worker %u cores, but there are not so many here that it may have",
            a->bind.lacks, a->bind.lacks);
}

// Processes that somebody else has started have theirs.
static void deal_gpus(mlt_agent *a)
{
    char why[512];
    if (!a->conf.adopt &&
        !mlt_deal_make(&a->deal, a->conf.options, a->conf.plan, a->conf.host, why, sizeof why))
        mlt_quit(MLT_EXIT_USAGE, "%s", why);
}

// ---- Processes

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
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return mlt_deny(why, why_size, "no more descriptors: %s", mlt_os_no_descriptor(errno));
    // The system then tells the sender's process id, as this side would call it.
    (void)setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    return true;
}

// Adds the places of a process's workers; a long list is cut.
static void name_places(const mlt_agent *a, const mlt_placement_proc *proc, char *text, size_t size)
{
    uint32_t first = mlt_job_location_at(a->job, proc->first_worker)->local;
    for (uint32_t k = 0; k < proc->workers; k++) {
        char place[96];
        size_t n = strlen(text);
        mlt_cpus cpus;
        (void)mlt_bind_workers_cpus(&a->bind, first + k, 1, &cpus);
        mlt_cpus_text(&cpus, place, sizeof place);
        bool fits = n + strlen(place) + sizeof " (workers: , ...)" < size;
        snprintf(text + n, size - n, "%s%s", k ? ", " : " (workers: ", fits ? place : "...");
        if (!fits)
            break;
    }
    size_t n = strlen(text);
    snprintf(text + n, size - n, ")");
}

static const mlt_deal_part *deal_of(const mlt_agent *a, const mlt_agent_child *c)
{
    static const mlt_deal_part none = {.said = false};
    return a->conf.adopt ? &none : &a->deal.parts[c - a->children];
}

// ", GPUs 0, 1"; a long list is cut.
static void name_gpus(const mlt_agent *a, const mlt_agent_child *c, char *where, size_t size)
{
    const mlt_deal_part *part = deal_of(a, c);
    mlt_text text = {0};
    if (!part->said)
        return;
    mlt_deal_text(part, mlt_agent_plan_of(a, c->proc)->ranks, &text);
    size_t n = strlen(where);
    snprintf(where + n, size - n, ", %s", text.text);
    mlt_text_free(&text);
}

static void tell_start(mlt_agent *a, const mlt_agent_child *c, pid_t pid, const mlt_cpus *cpus)
{
    char where[WHERE_BYTES + GPUS_BYTES] = "any processor";
    if (cpus) {
        size_t n = (size_t)snprintf(where, WHERE_BYTES, "processors ");
        mlt_cpus_text(cpus, where + n, WHERE_BYTES - n);
        if (mlt_agent_plan_of(a, c->proc)->workers > 1)
            name_places(a, mlt_agent_plan_of(a, c->proc), where, WHERE_BYTES);
    }
    name_gpus(a, c, where, sizeof where);
    mlt_agent_tell(a, MLT_FRAME_STARTED, c->proc, pid, where, strlen(where));
}

// Starts one process. On failure the exit code, and a message in why.
static int agent_start(mlt_agent *a, mlt_agent_child *c, mlt_env *env, char *why, size_t why_size)
{
    const mlt_placement_proc *proc = mlt_agent_plan_of(a, c->proc);
    const mlt_app *app = mlt_agent_app_of(a, c->proc);
    bool under_gdb = a->conf.gdb &&
                     c->proc == mlt_placement_proc_of(a->conf.plan, (uint32_t)a->conf.options->gdb);
    int pair[2], code = MLT_EXIT_SYSTEM;
    if (!open_ctl(pair, why, why_size))
        return code;
    uint32_t local = mlt_job_location_at(a->job, proc->first_worker)->local;
    mlt_cpus cpus;
    bool pinned = mlt_bind_workers_cpus(&a->bind, local, proc->workers, &cpus);
    bool traced = mlt_stdio_trace(a->conf.io, c->proc, env, why, why_size);
    mlt_deal_put(deal_of(a, c), proc->ranks, env, a->deal_texts);
    mlt_env_proc own = {.proc = c->proc, .job_fd = a->job_fd, .ctl_fd = a->ctl_as};
    mlt_spawn spawn = {.path = under_gdb ? a->conf.gdb : a->conf.paths[proc->app],
                       .argv = under_gdb ? gdb_words(app->argv) : app->argv,
                       .env = mlt_env_for(env, a->conf.plan, &own),
                       .dir = mlt_agent_dir_of(a, c->proc),
                       .job_fd = a->job_fd,
                       .ctl_fd = pair[1],
                       .ctl_as = a->ctl_as,
                       .cpus = pinned ? &cpus : NULL,
                       // --gdb: keep the keyboard's signals away from the others
                       .group = a->conf.gdb && !under_gdb ? 0 : a->conf.group};
    pid_t pid = -1;
    if (traced && mlt_stdio_prepare(a->conf.io, c->proc, &spawn, why, why_size))
        pid = mlt_spawn_start(&spawn, &code, why, why_size);
    mlt_stdio_started(a->conf.io, c->proc);
    close(pair[1]);
    if (pid > 0) {
        mlt_agent_started(a, c->proc, pid, pair[0]);
        tell_start(a, c, pid, spawn.cpus);
    } else {
        close(pair[0]);
    }
    if (under_gdb)
        free(spawn.argv);
    return pid > 0 ? 0 : code;
}

// As start, for a process that somebody else has started.
static int agent_adopt(mlt_agent *a, mlt_agent_child *c, char *why, size_t why_size)
{
    int pair[2];
    pid_t pid = 0;
    if (!open_ctl(pair, why, why_size))
        return MLT_EXIT_SYSTEM;
    c->adopted = a->conf.adopt(c->proc, a->job_fd, pair[1], a->mixed, &pid);
    close(pair[1]);
    if (!c->adopted) {
        close(pair[0]);
        snprintf(why, why_size, "process %u ended before the job began", c->proc);
        return MLT_EXIT_FAILED;
    }
    mlt_agent_started(a, c->proc, pid, pair[0]);
    tell_start(a, c, pid, NULL);
    return 0;
}

// The environment of the app that `proc` belongs to; it stays while its processes follow.
static mlt_env *env_of(mlt_agent *a, uint32_t proc)
{
    static char variable[] = "MILLET_MIXED=1", held[] = "MILLET_HELD=1";
    uint32_t app = mlt_agent_plan_of(a, proc)->app;
    if (a->has_env && a->env_app == app)
        return &a->env;
    if (a->has_env)
        mlt_env_fini(&a->env);
    a->has_env = true;
    a->env_app = app;
    mlt_env_init(&a->env, a->conf.options, &a->conf.options->apps[app]);
    mlt_stdio_env(a->conf.io, proc, &a->env);
    if (a->mixed)
        mlt_env_put(&a->env, variable);
    if (a->conf.options->held)
        mlt_env_put(&a->env, held);
    return &a->env;
}

void mlt_agent_start_some(mlt_agent *a)
{
    char why[512] = "";
    int code = a->ending ? MLT_EXIT_FAILED : 0; // told to end: the rest is never started
    for (uint32_t i = 0; i < START_AT_ONCE && a->next < a->count && !code; i++, a->next++) {
        mlt_agent_child *c = &a->children[a->next];
        code = a->conf.adopt ? agent_adopt(a, c, why, sizeof why)
                             : agent_start(a, c, env_of(a, c->proc), why, sizeof why);
    }
    if (!code && a->next < a->count) {
        a->start_at = mlt_os_now_ns();
        mlt_agent_set_timer(a);
        return;
    }
    if (a->has_env)
        mlt_env_fini(&a->env);
    a->has_env = false;
    if (code)
        mlt_agent_tell(a, MLT_FRAME_FAILED, a->conf.host, code, why, strlen(why));
}

void mlt_agent_started(mlt_agent *a, uint32_t proc, pid_t pid, int ctl_fd)
{
    mlt_agent_child *c = mlt_agent_child_of(a, proc);
    c->pid = pid;
    c->ctl.fd = ctl_fd;
    (void)mlt_loop_add(&c->ctl, EPOLLIN);
}

void mlt_agent_prepare(mlt_agent *a)
{
    pin(a);
    deal_gpus(a);
    if (!a->job)
        make_job(a);
    check_memory(a);
    if (a->conf.options->verbose)
        tell_without(a);
}
