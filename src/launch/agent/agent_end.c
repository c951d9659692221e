// SPDX-License-Identifier: BSD-3-Clause
// Signals to processes, and their ends.
#include "launch/agent/agent_state.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/hosts/ports.h"
#include "launch/say.h"
#include "launch/watch/calls.h"
#include "os/fd.h"
#include "os/memory.h"

enum { STOP_GRACE_US = 20000 };

// ---- Signals

static void signal_child(const mlt_agent_child *c, int signal)
{
    if (!c->pid)
        return;
    // A script's signal is meant for the MPI program that it started, unless all shall end.
    bool behind = c->mpi_fd >= 0 && syscall(SYS_pidfd_send_signal, c->mpi_fd, signal, NULL, 0) == 0;
    if (!behind || signal == SIGKILL || signal == SIGTSTP || signal == SIGSTOP || signal == SIGCONT)
        (void)kill(c->pid, signal);
}

void mlt_agent_signal(mlt_agent *a, int signal)
{
    for (uint32_t i = 0; i < a->count; i++)
        signal_child(&a->children[i], signal);
}

void mlt_agent_kill(mlt_agent *a, bool crashed_too)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (crashed_too || !a->children[i].crashed)
            signal_child(&a->children[i], SIGKILL);
}

void mlt_agent_stop(mlt_agent *a)
{
    // A program may handle SIGTSTP, and in a group without a terminal the kernel ignores it: those
    // that still run a moment later are stopped for good.
    mlt_agent_signal(a, SIGTSTP);
    (void)usleep(STOP_GRACE_US);
    mlt_agent_signal(a, SIGSTOP);
}

// ---- Ends

// SIGKILL has no sender that could be asked, but the kernel counts those that it sent itself.
static void tell_kill(mlt_agent *a)
{
    uint64_t kills = mlt_os_memory_kills(MLT_OS_PROC, MLT_OS_GROUPS);
    if (kills > a->kills)
        mlt_say(
            "the kernel killed a process because memory was used up, this host's or that of its "
            "control group (container): fewer ranks need less");
    a->kills = kills;
}

static bool names_shm(const mlt_texts *env)
{
    static const char shm[] = "MILLET_FABRIC=ofi:shm";
    for (size_t i = 0; i < env->count; i++)
        if (strncmp(env->items[i], shm, sizeof shm - 1) == 0)
            return true;
    return false;
}

// libfabric's provider shm has memory by a name, which a process that is killed cannot remove.
static void remove_fabric(const mlt_agent *a, const mlt_agent_child *c)
{
    const mlt_options *options = a->conf.options;
    char name[32];
    if (!names_shm(&options->env) &&
        !names_shm(&options->apps[mlt_agent_plan_of(a, c->proc)->app].env))
        return;
    snprintf(name, sizeof name, "/%d:0:0", (int)c->pid);
    (void)shm_unlink(name);
}

static void tell_end(mlt_agent *a, const mlt_agent_child *c, int status, uint64_t peak)
{
    mlt_text body = {0};
    mlt_text_put(&body, &peak, sizeof peak);
    if (status != MLT_FRAME_UNKNOWN && WIFSIGNALED(status) && !c->crashed && !a->ending)
        mlt_calls_of_proc(&body, a->job, a->conf.plan, c->proc, -1);
    mlt_agent_tell(a, MLT_FRAME_ENDED, c->proc, status, body.text, body.length);
    mlt_text_free(&body);
}

static void take_end(mlt_agent *a, mlt_agent_child *c, int status, const struct rusage *usage)
{
    if (WIFSIGNALED(status))
        remove_fabric(a, c);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !a->ending)
        tell_kill(a);
    while (c->ctl.fd >= 0 && mlt_agent_read_packet(c)) // what it said last
        ;
    c->pid = 0;
    c->adopted = false;
    mlt_loop_close(&c->ctl);
    mlt_os_close_once(&c->mpi_fd);
    const mlt_placement_proc *proc = mlt_agent_plan_of(a, c->proc);
    for (uint32_t i = 0; i < proc->workers; i++) {
        mlt_job_worker *worker = mlt_job_worker_at(a->job, proc->first_worker + i);
        // relaxed: its owner is gone, and this agent is the only reader that needs it.
        atomic_store_explicit(&worker->state, MLT_WORKER_ENDED, memory_order_relaxed);
    }
    if (a->connections)
        mlt_connections_gone(a->connections, c->proc);
    if (a->ports)
        mlt_ports_gone(a->ports, c->proc, c->final && WIFEXITED(status));
    tell_end(a, c, status, (uint64_t)usage->ru_maxrss * 1024);
}

bool mlt_agent_reaped(mlt_agent *a, pid_t pid, int status, const struct rusage *usage)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (a->children[i].pid == pid) {
            take_end(a, &a->children[i], status, usage);
            return true;
        }
    return false;
}

void mlt_agent_lost(mlt_agent *a, uint32_t proc)
{
    static const struct rusage nothing;
    mlt_agent_child *c = mlt_agent_child_of(a, proc);
    if (c && c->adopted)
        take_end(a, c, MLT_FRAME_UNKNOWN, &nothing);
}
