// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "launch/agent/agent.h"
#include "launch/guard.h"
#include "launch/hosts/agents.h"
#include "launch/hosts/frame.h"
#include "launch/hosts/stage.h"
#include "launch/hosts/task.h"
#include "launch/loop.h"
#include "launch/plan/env.h"
#include "launch/program/program.h"
#include "launch/say.h"
#include "launch/spawn.h"
#include "launch/sweep.h"
#include "os/fd.h"
#include "os/os.h"

enum { CHANNEL_FD = 10, SERVE_LAST_WORDS_MS = 2000, AGENTS_MS = 1500 };

typedef struct serve {
    mlt_channel up;
    mlt_loop_source signals, guard;
    mlt_loop_timer timer;
    mlt_guard two;
    uint32_t host, last; // which one this is, and the end of its range (launch/hosts/agents.h);
                         // MLT_FRAME_HEAD: not known yet
    bool placed, keyed;
    mlt_key key;
    mlt_task task;
    char *task_bytes;
    const char **paths;
    mlt_stdio *io;
    mlt_agent *agent;
    mlt_agents *agents;
    char *folder;        // of --stage, in memory that the guard shares; "": none
    mlt_stage_in *stage; // NULL: nothing is staged
    uint64_t staged;     // bytes of it that mpirun knows of
    bool leaving;        // all processes have ended, but their output may not be sent yet
    bool over;           // nothing is to be done any more
    bool abandoned;      // ... as nobody is above
    bool paused;         // mpirun is stopped, and silent
    uint32_t silent;     // ticks
} serve;

static serve *serve_self; // for messages

static void serve_send_up(serve *s, const mlt_frame *frame, const void *body)
{
    mlt_channel_send(&s->up, frame, body);
}

static void serve_tell(serve *s, mlt_frame_type type, int64_t value, const void *body,
                       size_t length)
{
    mlt_frame frame = mlt_frame_up(type, s->host, s->host, value, length);
    serve_send_up(s, &frame, body);
}

static void serve_say(const char *text)
{
    serve_tell(serve_self, MLT_FRAME_SAY, 0, text, strlen(text));
}

static void serve_quit(int code, const char *text)
{
    serve_tell(serve_self, MLT_FRAME_FAILED, code, text, strlen(text));
    mlt_channel_flush(&serve_self->up, SERVE_LAST_WORDS_MS);
}

// ---- Frames on their way

static void obey(serve *s, const mlt_frame *frame, const char *body)
{
    bool stream = frame->type == MLT_FRAME_INPUT || frame->type == MLT_FRAME_ROOM;
    if (frame->type == MLT_FRAME_BYE) {
        s->leaving = true;
        if (s->io)
            mlt_stdio_drain(s->io);
    }
    if (stream && s->io)
        mlt_stdio_take(s->io, frame, body);
    if (s->agent)
        mlt_agent_take(s->agent, frame, body);
}

// True of a frame after which mpirun may say how the process ended.
static bool is_last_word(const mlt_frame *frame, const char *body)
{
    mlt_ctl head;
    if (frame->type == MLT_FRAME_ENDED)
        return true;
    if (frame->type != MLT_FRAME_CTL || frame->length < sizeof head)
        return false;
    memcpy(&head, body, sizeof head);
    return head.type == MLT_CTL_ABORT || head.type == MLT_CTL_CRASH || head.type == MLT_CTL_EXIT;
}

// From the agent of this host, or from below. What a process has written comes before its last word.
static void serve_pass_on(void *user, const mlt_frame *frame, char *body)
{
    serve *s = user;
    if (frame->to == s->host) {
        obey(s, frame, body);
    } else if (s->agents && mlt_agents_has(s->agents, frame->to)) {
        mlt_agents_send(s->agents, frame, body);
    } else if (!s->abandoned) { // processes that are killed then have not failed
        if (is_last_word(frame, body))
            mlt_stdio_hear(s->io, frame->about);
        serve_send_up(s, frame, body);
    }
}

static mlt_stdio *serve_make_io(serve *s)
{
    mlt_stdio_conf conf = {.options = &s->task.options,
                           .plan = &s->task.plan,
                           .host = s->host,
                           .agent = true,
                           .dir = s->task.dir,
                           .send = serve_pass_on,
                           .user = s};
    return mlt_stdio_new(&conf);
}

// ---- The task

// False if -wdir names a whole path for each program that runs here.
static bool needs_directory(const serve *s)
{
    const mlt_placement *plan = &s->task.plan;
    const mlt_options *o = &s->task.options;
    for (uint32_t p = 0; p < plan->proc_count; p++) {
        const mlt_app *app = &o->apps[plan->procs[p].app];
        const char *dir = app->dir ? app->dir : o->dir;
        if (plan->procs[p].host == s->host && (!dir || dir[0] != '/'))
            return true;
    }
    return false;
}

static void go_to_directory(const serve *s)
{
    const char *dir = s->stage ? mlt_stage_in_files(s->stage) : s->task.dir;
    if (chdir(dir) != 0 && needs_directory(s))
        mlt_quit(MLT_EXIT_USAGE, "working directory '%s': %s; -wdir names another", dir,
                 strerror(errno));
}

// Where the caller of mpirun would look; then where this login does.
static const char *look_for(const mlt_options *o, const mlt_app *app)
{
    static const char name[] = "PATH=";
    const char *callers = "";
    for (size_t i = 0; i < app->env.count; i++)
        if (strncmp(app->env.items[i], name, sizeof name - 1) == 0)
            callers = app->env.items[i] + sizeof name - 1;
    const char *first = app->path ? app->path : "";
    char *path = mlt_text_of("%s%s%s", first, *first && *callers ? ":" : "", callers);
    const char *dir = app->dir ? app->dir : o->dir;
    const char *found = mlt_program_find(app->argv[0], dir, *path ? path : NULL);
    free(path);
    return found;
}

static const char *find_program(const serve *s, uint32_t a)
{
    const char *staged = s->stage ? mlt_stage_in_program(s->stage, a) : NULL;
    return staged ? staged : look_for(&s->task.options, &s->task.options.apps[a]);
}

static void serve_find_programs(serve *s)
{
    const mlt_placement *plan = &s->task.plan;
    s->paths = mlt_xcalloc(s->task.options.app_count, sizeof *s->paths);
    for (uint32_t p = 0; p < plan->proc_count; p++) {
        uint32_t a = plan->procs[p].app;
        if (plan->procs[p].host == s->host && !s->paths[a])
            s->paths[a] = find_program(s, a);
    }
}

static void serve_start_agents(serve *s, size_t task_size)
{
    uint32_t head_host = s->task.head_host;
    uint32_t first = mlt_agents_place_of(s->host, head_host) + 1;
    uint32_t hosts = mlt_agents_hosts(&s->task.plan, head_host);
    mlt_agents_conf conf = {.options = &s->task.options,
                            .plan = &s->task.plan,
                            .head_host = head_host,
                            .first = first,
                            .last = s->last < hosts ? s->last : hosts,
                            .key = &s->key,
                            .task = s->task_bytes,
                            .task_size = task_size,
                            .take = serve_pass_on,
                            .user = s};
    if (conf.first < conf.last)
        s->agents = mlt_agents_new(&conf);
}

static void serve_make_agent(serve *s)
{
    mlt_agent_conf conf = {.options = &s->task.options,
                           .plan = &s->task.plan,
                           .host = s->host,
                           .paths = s->paths,
                           .identity = s->task.identity,
                           .key = s->task.plan.host_count > 1 ? &s->key : NULL,
                           .cores = (uint32_t)mlt_os_cores(),
                           .io = s->io,
                           .group = s->two.group,
                           .send = serve_pass_on,
                           .user = s};
    s->agent = mlt_agent_new(&conf);
    mlt_agent_tell_ready(s->agent);
}

// The host's part of the job, when its files are there.
static void get_ready(serve *s)
{
    go_to_directory(s);
    serve_find_programs(s);
    for (size_t a = 0; a < s->task.options.app_count; a++)
        mlt_env_add_local(&s->task.options.apps[a].env);
    s->io = serve_make_io(s);
    serve_make_agent(s);
}

// ---- --stage

static void serve_begin_stage(serve *s)
{
    char why[512];
    if (!mlt_stage_folder_new(s->folder, why, sizeof why))
        mlt_quit(MLT_EXIT_SYSTEM, "%s", why);
    s->stage = mlt_stage_in_new(s->folder, s->task.options.app_count);
}

// Libraries that were copied are found before others.
static void use_libraries(const serve *s, mlt_app *app)
{
    const char *folder = mlt_stage_in_folder(s->stage, (uint32_t)(app - s->task.options.apps));
    static const char name[] = "LD_LIBRARY_PATH=";
    const char *old = NULL;
    for (size_t i = 0; i < app->env.count; i++)
        if (strncmp(app->env.items[i], name, sizeof name - 1) == 0)
            old = app->env.items[i] + sizeof name - 1;
    if (folder)
        mlt_texts_add(&app->env, mlt_text_of("%s%s%s%s", name, folder, old && *old ? ":" : "",
                                             old ? old : ""));
}

static void end_stage(serve *s)
{
    mlt_options *o = &s->task.options;
    for (size_t a = 0; a < o->app_count; a++)
        use_libraries(s, &o->apps[a]);
    get_ready(s);
}

static void take_stage(serve *s, const mlt_frame *frame, const char *body)
{
    char why[512];
    if (!s->stage || s->agent)
        return;
    mlt_status status =
        mlt_stage_in_take(s->stage, frame->value, body, frame->length, why, sizeof why);
    if (status < 0)
        mlt_quit(MLT_EXIT_SYSTEM, "%s", why);
    uint64_t all = mlt_stage_in_bytes(s->stage);
    if (status == MLT_OK || all >= s->staged + MLT_STAGE_AHEAD / 4) {
        s->staged = all;
        serve_tell(s, MLT_FRAME_STAGED, (int64_t)all, NULL, 0);
    }
    if (status == MLT_OK)
        end_stage(s);
}

static void serve_take_task(serve *s, const char *bytes, size_t size)
{
    char why[256];
    if (!s->placed || !s->keyed || s->agent ||
        !mlt_task_unpack(&s->task, s->host, bytes, size, why, sizeof why))
        mlt_quit(MLT_EXIT_SYSTEM, "%s", s->placed && s->keyed && !s->agent ? why : "no task");
    s->task_bytes = mlt_xcalloc(size, 1);
    memcpy(s->task_bytes, bytes, size);
    serve_start_agents(s, size);
    if (s->task.options.stage)
        serve_begin_stage(s);
    else
        get_ready(s);
}

static void serve_frame_came(mlt_channel *up, const mlt_frame *frame, char *body)
{
    serve *s = mlt_container_of(up, serve, up);
    s->paused = frame->type == MLT_FRAME_STOP;
    switch (frame->type) {
    case MLT_FRAME_BEAT:
        return;
    case MLT_FRAME_PLACE:
        s->host = frame->about;
        s->last = (uint32_t)frame->value;
        s->placed = true;
        return;
    case MLT_FRAME_KEY:
        if (frame->length == sizeof s->key.bytes) {
            memcpy(s->key.bytes, body, sizeof s->key.bytes);
            s->keyed = true;
        }
        return;
    case MLT_FRAME_TASK:
        serve_take_task(s, body, frame->length);
        return;
    default:
        break;
    }
    if (s->agents && frame->to != s->host)
        mlt_agents_send(s->agents, frame, body);
    if (frame->to != s->host && frame->to != MLT_FRAME_ALL)
        return;
    if (frame->type == MLT_FRAME_STAGE)
        take_stage(s, frame, body);
    else
        obey(s, frame, body);
}

// mpirun writes its first bytes before anything else can: those before them are what is left of
// what somebody else has read.
static void bytes_missing(mlt_channel *up, const char *text, size_t bytes)
{
    mlt_quit(MLT_EXIT_SYSTEM, "something that its login starts has read standard input, which is "
                              "for the agent; a start-up file (.bashrc) must not do that");
}

// ---- Ends

static void abandon(serve *s)
{
    s->over = s->abandoned = true;
}

static void serve_channel_ended(mlt_channel *up, const char *why)
{
    abandon(mlt_container_of(up, serve, up));
}

static void guard_gone(mlt_loop_source *source, uint32_t events)
{
    serve *s = mlt_container_of(source, serve, guard);
    mlt_loop_remove(source);
    abandon(s);
}

static void serve_reap(serve *s)
{
    int status;
    struct rusage usage;
    pid_t pid;
    while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
        if ((!s->agent || !mlt_agent_reaped(s->agent, pid, status, &usage)) && s->agents)
            (void)mlt_agents_reaped(s->agents, pid, status);
}

static void serve_signals_ready(mlt_loop_source *source, uint32_t events)
{
    serve *s = mlt_container_of(source, serve, signals);
    struct signalfd_siginfo info;
    while (read(source->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        int signal = (int)info.ssi_signo;
        if (signal == SIGCHLD) {
            serve_reap(s);
        } else if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP) {
            mlt_say("the agent was told to end by signal %d (%s)", signal, strsignal(signal));
            abandon(s);
        }
    }
}

static void serve_rings(mlt_loop_timer *timer)
{
    serve *s = mlt_container_of(timer, serve, timer);
    static const mlt_frame beat = {.type = MLT_FRAME_BEAT};
    s->silent = s->up.heard || s->paused ? 0 : s->silent + 1;
    s->up.heard = false;
    int64_t limit = s->agent ? s->task.options.silent_ms : 10 * MLT_SILENT_MS;
    if (s->silent >= mlt_agents_patience(limit))
        abandon(s);
    serve_send_up(s, &beat, NULL);
}

// Waits for the agents below, which sweep their hosts.
static void dismiss_agents(serve *s)
{
    if (!s->agents)
        return;
    uint64_t until = mlt_os_now_ns() + AGENTS_MS * UINT64_C(1000000);
    mlt_agents_end(s->agents);
    if (s->abandoned)
        mlt_agents_close(s->agents);
    while (mlt_agents_busy(s->agents) && (mlt_os_now_ns() < until || !s->abandoned))
        mlt_loop_turn(); // the timer ends each turn
    mlt_agents_kill(s->agents);
}

// ---- The whole

// The channel gets descriptors of its own: nothing else shall read or write there.
static void take_channel(int *in, int *out)
{
    *in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, CHANNEL_FD);
    *out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, CHANNEL_FD);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (*in < 0 || *out < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        mlt_quit(MLT_EXIT_SYSTEM, "an agent has no standard streams: %s", strerror(errno));
    close(null);
}

static void watch_all(serve *s, int in, int out)
{
    s->guard = (mlt_loop_source){.fd = s->two.fd, .ready = guard_gone};
    s->timer.ring = serve_rings;
    s->up = (mlt_channel){
        .take = serve_frame_came, .preface = bytes_missing, .ended = serve_channel_ended};
    mlt_loop_alarm_every(&s->timer, MLT_AGENTS_BEAT_MS * UINT64_C(1000000));
    mlt_loop_need(&s->signals, EPOLLIN);
    mlt_loop_need(&s->guard, EPOLLIN);
    if (!mlt_channel_open(&s->up, in, out))
        mlt_quit(MLT_EXIT_SYSTEM, "cannot wait for events: %s", mlt_os_no_descriptor(errno));
}

int mlt_agent_serve(void)
{
    static serve s = {.host = MLT_FRAME_HEAD};
    sigset_t blocked;
    int in, out;
    take_channel(&in, &out);
    mlt_spawn_prepare(&blocked);
    s.folder =
        mmap(NULL, MLT_STAGE_FOLDER, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s.folder == MAP_FAILED)
        mlt_quit(MLT_EXIT_SYSTEM, MLT_NO_ROOM "an agent (%s)", strerror(errno));
    mlt_guard_remove_folder(s.folder);
    mlt_guard_split(&s.two, &blocked, MLT_GUARD_AGENT);
    (void)mlt_loop_new();
    s.signals =
        (mlt_loop_source){.fd = mlt_spawn_signal_fd(&blocked), .ready = serve_signals_ready};
    watch_all(&s, in, out);
    serve_self = &s;
    mlt_say_to(serve_say, serve_quit);
    while (!s.over && !(s.leaving && (!s.io || mlt_stdio_drained(s.io))))
        mlt_loop_turn();
    if (s.abandoned && s.agent)
        mlt_agent_take(s.agent, &(mlt_frame){.type = MLT_FRAME_KILL, .value = 1}, NULL);
    dismiss_agents(&s);
    mlt_sweep();
    mlt_stage_folder_remove(s.folder);
    if (s.io)
        (void)mlt_stdio_finish(s.io, s.abandoned);
    mlt_channel_flush(&s.up, s.abandoned ? 0 : SERVE_LAST_WORDS_MS);
    return s.abandoned ? MLT_EXIT_FAILED : 0;
}
