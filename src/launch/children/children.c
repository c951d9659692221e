// SPDX-License-Identifier: BSD-3-Clause
#include "launch/children/children.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "boot/child.h"
#include "boot/lists.h"
#include "launch/children/task.h"
#include "launch/hosts/frame.h"
#include "launch/spawn.h"
#include "launch/watch/watch.h"
#include "os/fd.h"

extern char **environ;

enum { CHILDREN_FD = 20 }; // of the channel, in the mpirun below

typedef struct job {
    mlt_list_node link;
    mlt_channel channel;
    mlt_children *children;
    char name[MLT_CHILD_JOB_NAME];
    pid_t pid;     // of its guard
    uint32_t host; // of the rank that has asked ...
    int64_t ask;   // ... and the number there
    bool born;
    char *why;      // FELL's text; NULL: none
    uint32_t *busy; // [named hosts] its workers; NULL: not born
} job;

struct mlt_children {
    const mlt_options *options; // of this job
    const mlt_placement *plan;
    pid_t group;
    mlt_watch *watch;
    mlt_list_node jobs;
    uint32_t living, born; // born: how many there have been, for names
    char *self;            // this program
};

mlt_children *mlt_children_new(const mlt_options *options, const mlt_placement *plan, pid_t group,
                               mlt_watch *watch)
{
    mlt_children *children = mlt_xcalloc(1, sizeof *children);
    *children = (mlt_children){.options = options, .plan = plan, .group = group, .watch = watch};
    mlt_list_init(&children->jobs);
    return children;
}

uint32_t mlt_children_living(const mlt_children *children)
{
    return children->living;
}

static void children_answer(mlt_children *children, uint32_t host, int64_t ask, const char *why)
{
    char *text = mlt_text_of("%c%.*s", MLT_CHILD_FELL, MLT_CHILD_WHY_MOST, why);
    mlt_frame frame = mlt_frame_down(MLT_FRAME_SPAWNED, host, 0, ask, strlen(text));
    mlt_watch_send(children->watch, &frame, text);
    free(text);
}

// ---- Where workers are

static void add_busy(const mlt_placement *plan, uint32_t *busy, const char *host, uint32_t workers)
{
    int64_t at = mlt_hosts_find(&plan->named, host);
    if (at >= 0)
        busy[at] += workers;
}

// Workers of this job and of its children, on each of the hosts that were named.
static uint32_t *count_busy(const mlt_children *children)
{
    const mlt_placement *plan = children->plan;
    uint32_t *busy = mlt_xcalloc(plan->named.count, sizeof *busy);
    for (uint32_t h = 0; h < plan->host_count; h++)
        add_busy(plan, busy, plan->hosts[h].host.name, plan->hosts[h].workers);
    MLT_LIST_EACH(const job, j, &children->jobs, link)
        for (uint32_t h = 0; j->busy && h < plan->named.count; h++)
            busy[h] += j->busy[h];
    return busy;
}

// ---- What the mpirun below tells

static void take_born(job *j, const mlt_frame *frame, const char *body)
{
    const mlt_placement *plan = j->children->plan;
    mlt_lists where;
    if (j->born)
        return;
    j->born = true;
    if (!mlt_lists_unpack(&where, body, frame->length))
        return;
    j->busy = mlt_xcalloc(plan->named.count, sizeof *j->busy);
    if (where.count == 1)
        for (char **at = where.items[0]; at[0] && at[1]; at += 2)
            add_busy(plan, j->busy, at[0], (uint32_t)strtoul(at[1], NULL, 10));
    mlt_lists_free(&where);
}

static void take_fell(job *j, char *body)
{
    size_t n = strlen(body);
    while (n > 0 && isspace((unsigned char)body[n - 1]))
        body[--n] = '\0';
    for (char *c = body; *c; c++)
        if (iscntrl((unsigned char)*c) && *c != '\n' && *c != '\t')
            *c = '?';
    if (!j->why && n > 0)
        j->why = mlt_text_of("%.*s", MLT_CHILD_WHY_MOST, body);
}

static void children_take(mlt_channel *channel, const mlt_frame *frame, char *body)
{
    job *j = mlt_container_of(channel, job, channel);
    if (frame->type == MLT_FRAME_BORN)
        take_born(j, frame, body);
    else if (frame->type == MLT_FRAME_FELL && !j->born)
        take_fell(j, body);
    else if (frame->type == MLT_FRAME_FAILS)
        mlt_watch_child_fails(j->children->watch);
}

// ---- Ends

static void forget(job *j)
{
    mlt_channel_close(&j->channel);
    free(j->why);
    free(j->busy);
    j->children->living--;
    mlt_list_remove(&j->link);
    mlt_loop_free(j);
}

static void end_unborn(job *j, int code, int signal)
{
    char text[160];
    snprintf(text, sizeof text,
             signal ? "the mpirun of the new job was killed by signal %d"
                    : "the mpirun of the new job ended with exit code %d",
             signal ? signal : code);
    // What its mpirun says of ranks is not about those of the job that asks.
    bool of_ranks = j->why && (strncmp(j->why, "rank ", 5) == 0 ||
                               strncmp(j->why, "the process of ranks ", 21) == 0);
    char *whole = mlt_text_of("%s%s", of_ranks ? "of the new job, " : "", j->why ? j->why : text);
    children_answer(j->children, j->host, j->ask, whole);
    free(whole);
}

bool mlt_children_reaped(mlt_children *children, pid_t pid, int status)
{
    job *j = MLT_LIST_FIRST(&children->jobs, job, link);
    while (j && j->pid != pid)
        j = MLT_LIST_AT(j->link.next, &children->jobs, job, link);
    if (!j)
        return false;
    if (!j->channel.dead) // what it said last
        j->channel.in.ready(&j->channel.in, EPOLLIN);
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    int code = signal ? 128 + signal : WEXITSTATUS(status);
    if (j->born) {
        char text[160];
        snprintf(text, sizeof text, "job %s ended before it was connected", j->name);
        children_answer(children, j->host, j->ask, text);
        mlt_watch_child_ended(children->watch, j->name, code, signal);
    } else {
        end_unborn(j, code, signal);
    }
    forget(j);
    return true;
}

void mlt_children_signal(mlt_children *children, int signal)
{
    MLT_LIST_EACH(job, j, &children->jobs, link)
        (void)kill(j->pid, signal);
}

static void send_down(mlt_children *children, mlt_frame_type type, int64_t value)
{
    mlt_frame frame = {.type = type, .value = value};
    MLT_LIST_EACH(job, j, &children->jobs, link)
        mlt_channel_send(&j->channel, &frame, NULL);
}

void mlt_children_time_over(mlt_children *children, double limit_s)
{
    send_down(children, MLT_FRAME_TIME, (int64_t)(limit_s * 1000));
}

void mlt_children_fails(mlt_children *children)
{
    send_down(children, MLT_FRAME_FAILS, 0);
}

void mlt_children_close(mlt_children *children)
{
    MLT_LIST_EACH(job, j, &children->jobs, link)
        mlt_channel_close(&j->channel);
}

// ---- Starts

static bool find_self(mlt_children *children, char *why, size_t why_size)
{
    if (!children->self)
        children->self = realpath("/proc/self/exe", NULL);
    return children->self ||
           mlt_deny(why, why_size, "mpirun does not know where it is: %s", strerror(errno));
}

// The process id of an mpirun whose channel is *fd, or -1.
static pid_t start_mpirun(mlt_children *children, int *fd, char *why, size_t why_size)
{
    static char name[] = "mpirun", option[] = "--spawned", number[16];
    char *argv[] = {name, option, number, NULL};
    int pair[2], code, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        snprintf(why, why_size, "no more descriptors: %s", mlt_os_no_descriptor(errno));
        mlt_os_close(null);
        return -1;
    }
    snprintf(number, sizeof number, "%d", CHILDREN_FD);
    mlt_spawn spawn = {.path = children->self,
                       .argv = argv,
                       .env = environ,
                       .streams = {{.fd = null}, {.fd = -1}, {.fd = -1}},
                       .job_fd = -1,
                       .ctl_fd = pair[1],
                       .ctl_as = CHILDREN_FD,
                       .group = children->group};
    pid_t pid = mlt_spawn_start(&spawn, &code, why, why_size);
    close(null);
    close(pair[1]);
    *fd = pair[0];
    if (pid < 0)
        close(pair[0]);
    return pid;
}

static job *new_job(mlt_children *children)
{
    job *j = mlt_xcalloc(1, sizeof *j);
    *j = (job){.children = children,
               .channel = {.take = children_take, .in = {.fd = -1}, .out = {.fd = -1}}};
    mlt_list_push_back(&children->jobs, &j->link);
    children->living++;
    return j;
}

// On failure the answer, in why.
static bool children_start(mlt_children *children, job *j, const char *task, size_t size, char *why,
                           size_t why_size)
{
    int fd, other;
    if (!find_self(children, why, why_size) ||
        (j->pid = start_mpirun(children, &fd, why, why_size)) < 0)
        return false;
    other = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (other < 0 || !mlt_channel_open(&j->channel, fd, other))
        j->why = mlt_text_of("mpirun cannot wait for events: %s", mlt_os_no_descriptor(errno));
    mlt_frame frame = {.type = MLT_FRAME_CHILD, .length = (uint32_t)size};
    mlt_channel_send(&j->channel, &frame, task);
    if (j->why)
        mlt_channel_close(&j->channel); // it ends then, and is reaped
    return true;
}

// The packed task; NULL and a message in why.
static char *make_task(mlt_children *children, uint32_t proc, const char *request, size_t length,
                       const char *name, size_t *size, char *why, size_t why_size)
{
    mlt_lists lists;
    if (!mlt_lists_unpack(&lists, request, length)) {
        snprintf(why, why_size, "the request to spawn is damaged");
        return NULL;
    }
    char *task = NULL;
    uint32_t *busy = count_busy(children);
    mlt_child_parent parent = {.options = children->options,
                               .plan = children->plan,
                               .app = children->plan->procs[proc].app,
                               .busy = busy};
    if (mlt_child_check(&lists, why, why_size))
        task = mlt_child_task(&parent, &lists, name, size, why, why_size);
    if (task && *size > MLT_FRAME_MOST) {
        snprintf(why, why_size, "commands, arguments and info keys take more than 16 MiB");
        free(task);
        task = NULL;
    }
    free(busy);
    mlt_lists_free(&lists);
    return task;
}

void mlt_children_spawn(mlt_children *children, uint32_t host, uint32_t proc, int64_t ask,
                        const char *request, size_t length)
{
    char why[512] = "", name[MLT_CHILD_JOB_NAME];
    const char *own = children->options->job ? children->options->job : "";
    size_t size;
    if (!children->group) {
        children_answer(children, host, ask, "ranks of this job cannot spawn others");
        return;
    }
    int n = snprintf(name, sizeof name, "%s%s%u", own, *own ? "." : "", children->born + 1);
    if (n >= (int)sizeof name) {
        children_answer(children, host, ask,
                        "jobs have spawned jobs too deep: this one's name has no room");
        return;
    }
    char *task = make_task(children, proc, request, length, name, &size, why, sizeof why);
    if (!task) {
        children_answer(children, host, ask, why);
        return;
    }
    job *j = new_job(children);
    j->host = host;
    j->ask = ask;
    memcpy(j->name, name, sizeof name);
    children->born++;
    if (!children_start(children, j, task, size, why, sizeof why)) {
        children_answer(children, host, ask, why);
        forget(j);
    }
    free(task);
}

void mlt_children_free(mlt_children *children)
{
    if (!children)
        return;
    mlt_children_signal(children, SIGKILL);
    while (!mlt_list_empty(&children->jobs))
        forget(mlt_container_of(children->jobs.next, job, link));
    free(children->self);
    free(children);
}
