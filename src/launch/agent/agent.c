// SPDX-License-Identifier: BSD-3-Clause
#include "launch/agent/agent.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "launch/agent/agent_state.h"
#include "launch/hosts/ports.h"
#include "net/greet.h"
#include "os/memory.h"
#include "os/os.h"

void mlt_agent_tell(mlt_agent *a, mlt_frame_type type, uint32_t about, int64_t value, void *body,
                    size_t length)
{
    mlt_frame frame = mlt_frame_up(type, a->conf.host, about, value, length);
    a->conf.send(a->conf.user, &frame, body);
}

mlt_agent_child *mlt_agent_child_of(mlt_agent *a, uint32_t proc)
{
    uint32_t at = MLT_ARRAY_SEARCH(i, a->count, a->children[i].proc < proc);
    return at < a->count && a->children[at].proc == proc ? &a->children[at] : NULL;
}

const char *mlt_agent_dir_of(const mlt_agent *a, uint32_t proc)
{
    const mlt_app *app = mlt_agent_app_of(a, proc);
    return app->dir ? app->dir : a->conf.options->dir;
}

void mlt_agent_set_timer(mlt_agent *a)
{
    const uint64_t times[] = {a->collect_until, a->peek_at, a->link_at, a->start_at, a->change_at};
    mlt_loop_alarm_first(&a->timer, times, sizeof times / sizeof *times);
}

void mlt_agent_dies(mlt_agent *a, const char *why)
{
    if (!a->why)
        a->why = mlt_text_of("%s", why);
}

bool mlt_agent_finalised(const mlt_agent *a)
{
    return a->finalised;
}

// mlt_asks_conf.tell.
static void tell_spawn(void *user, uint32_t proc, int64_t number, char *request, size_t length)
{
    mlt_agent_tell(user, MLT_FRAME_SPAWN, proc, number, request, length);
}

void mlt_agent_tell_ready(mlt_agent *a)
{
    struct {
        mlt_frame_ready about;
        char end;
    } body = {.about.cores = a->conf.cores};
    mlt_greet_types types = mlt_greet_types_here();
    _Static_assert(sizeof body.about.types == sizeof types, "copied");
    memcpy(body.about.types, &types, sizeof types);
    mlt_agent_tell(a, MLT_FRAME_READY, a->conf.host, 0, &body, sizeof body.about);
}

static void agent_rings(mlt_loop_timer *timer)
{
    mlt_agent *a = mlt_container_of(timer, mlt_agent, timer);
    uint64_t now = mlt_os_now_ns();
    if (mlt_loop_due(&a->collect_until, now))
        mlt_agent_finish_collecting(a);
    if (mlt_loop_due(&a->peek_at, now) && !a->ending)
        mlt_agent_peek(a, now);
    if (mlt_loop_due(&a->link_at, now))
        mlt_agent_give_late(a, now);
    if (mlt_loop_due(&a->start_at, now))
        mlt_agent_start_some(a);
    if (mlt_loop_due(&a->change_at, now))
        mlt_agent_await_look(a);
    mlt_agent_set_timer(a);
}

static void tell_clock(mlt_agent *a, int64_t number)
{
    uint64_t now = mlt_os_now_ns();
    mlt_agent_tell(a, MLT_FRAME_CLOCKED, a->conf.host, number, &now, sizeof now);
}

void mlt_agent_take(mlt_agent *a, const mlt_frame *frame, const void *body)
{
    int signal = frame->value > 0 && frame->value < NSIG ? (int)frame->value : 0;
    switch (frame->type) {
    case MLT_FRAME_START:
        a->mixed = frame->value == 1;
        if (!a->ending)
            mlt_agent_start_some(a);
        break;
    case MLT_FRAME_SIGNAL:
        if (frame->about)
            mlt_agent_hear(a);
        a->ending |= signal == SIGTERM || signal == SIGINT || signal == SIGKILL;
        if (signal)
            mlt_agent_signal(a, signal);
        break;
    case MLT_FRAME_KILL:
        a->ending = true;
        mlt_agent_kill(a, frame->value != 0);
        break;
    case MLT_FRAME_STOP:
        mlt_agent_stop(a);
        break;
    case MLT_FRAME_LOOK:
        mlt_agent_look(a, frame->value);
        break;
    case MLT_FRAME_CLOCK:
        tell_clock(a, frame->value);
        break;
    case MLT_FRAME_ASK:
        mlt_agent_collect(a);
        break;
    case MLT_FRAME_LIVE:
        mlt_agent_look_live(a, frame->value);
        break;
    case MLT_FRAME_GATE:
        mlt_job_debug_gate_open(a->job);
        break;
    case MLT_FRAME_TRACE:
        mlt_job_want_trace(a->job, frame->value != 0);
        break;
    case MLT_FRAME_CHANGE:
    case MLT_FRAME_KNOWN:
    case MLT_FRAME_DECIDED:
    case MLT_FRAME_SPREAD:
        mlt_agent_take_change(a, frame, body);
        break;
    case MLT_FRAME_SPAWNED:
        mlt_asks_answer(a->asks, frame->value, body, frame->length);
        break;
    default:
        if (a->connections)
            mlt_connections_take(a->connections, frame, body);
        break;
    }
}

static void list_children(mlt_agent *a)
{
    const mlt_placement *plan = a->conf.plan;
    a->children = mlt_xcalloc(plan->proc_count, sizeof *a->children);
    for (uint32_t p = 0; p < plan->proc_count; p++) {
        if (plan->procs[p].host != a->conf.host)
            continue;
        a->children[a->count++] = (mlt_agent_child){
            .ctl = {.fd = -1, .ready = mlt_agent_ctl_ready}, .agent = a, .proc = p, .mpi_fd = -1};
        a->workers += plan->procs[p].workers;
    }
}

mlt_agent *mlt_agent_new(const mlt_agent_conf *conf)
{
    mlt_agent *a = mlt_xcalloc(1, sizeof *a);
    a->conf = *conf;
    a->job = conf->job;
    a->job_fd = a->ctl_as = -1;
    list_children(a);
    if (conf->plan->host_count > 1)
        a->connections = mlt_connections_new(conf, a);
    a->states = mlt_xcalloc(a->workers, sizeof *a->states);
    mlt_agent_prepare(a);
    a->asks = mlt_asks_new(&(mlt_asks_conf){.tell = tell_spawn, .user = a});
    a->kills = mlt_os_memory_kills(MLT_OS_PROC, MLT_OS_GROUPS);
    a->timer.ring = agent_rings;
    if (conf->plan->ranks > 1 && !conf->options->quiet)
        a->peek_at = mlt_os_now_ns() + mlt_agent_peek_ns;
    mlt_agent_set_timer(a);
    return a;
}

void mlt_agent_free(mlt_agent *a)
{
    if (!a)
        return;
    for (uint32_t i = 0; i < a->count; i++)
        mlt_loop_close(&a->children[i].ctl);
    for (uint32_t i = 0; i < a->late_count; i++)
        if (a->late[i].fd >= 0)
            close(a->late[i].fd);
    mlt_bind_fini(&a->bind);
    mlt_deal_free(&a->deal);
    mlt_asks_free(a->asks);
    mlt_connections_free(a->connections);
    mlt_ports_free(a->ports, a->why);
    free(a->why);
    mlt_loop_alarm(&a->timer, 0);
    if (!a->conf.job)
        mlt_job_close(a->job);
    if (a->has_env)
        mlt_env_fini(&a->env);
    for (int i = 0; i < MLT_DEAL_VARIABLES; i++)
        free(a->deal_texts[i]);
    free(a->late);
    free(a->states);
    free(a->children);
    free(a);
}
