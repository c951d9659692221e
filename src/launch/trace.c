// SPDX-License-Identifier: BSD-3-Clause
#include "launch/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "launch/say.h"
#include "trace/chunk.h"
#include "trace/tracer.h"

void mlt_launch_trace_facts(const mlt_options *options, const char *text, size_t bytes)
{
    char why[512];
    if (mlt_trace_begin(options->trace, why, sizeof why) != MLT_OK)
        mlt_quit(MLT_EXIT_SYSTEM, "%s", why);
    mlt_trace_facts(0, text, bytes);
    mlt_trace_end();
}

// Blanks for what would end the line or the field.
static void add_word(mlt_text *text, const char *word)
{
    for (; *word; word++)
        mlt_text_put(text, *word == '\t' || *word == '\n' ? " " : word, 1);
}

// Which workers each host has: processes in a row.
static void add_hosts(mlt_text *facts, const mlt_placement *plan)
{
    for (uint32_t p = 0, next; p < plan->proc_count; p = next) {
        const mlt_placement_proc *first = &plan->procs[p];
        uint32_t workers = 0;
        for (next = p; next < plan->proc_count && plan->procs[next].host == first->host; next++)
            workers += plan->procs[next].workers;
        mlt_text_add(facts, "host\t%u\t", first->host);
        add_word(facts, plan->hosts[first->host].host.name);
        mlt_text_add(facts, "\t%u\t%u\n", first->first_worker, workers);
    }
}

void mlt_launch_trace_begin(const mlt_options *options, const mlt_placement *plan)
{
    if (!options->trace)
        return;
    int fd = open(options->trace, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        mlt_quit(MLT_EXIT_USAGE, "cannot write the trace %s: %s", options->trace, strerror(errno));
    close(fd);
    mlt_text facts = {0};
    mlt_text_add(&facts, "job\t%u\t", plan->ranks);
    for (size_t a = 0; a < options->app_count; a++) {
        mlt_text_add(&facts, "%s", a ? " : " : "");
        for (char **word = options->apps[a].argv; *word; word++) {
            mlt_text_add(&facts, "%s", word == options->apps[a].argv ? "" : " ");
            add_word(&facts, *word);
        }
    }
    mlt_text_add(&facts, "\n");
    if (mlt_placement_other(plan))
        add_hosts(&facts, plan);
    mlt_launch_trace_facts(options, facts.text, facts.length);
    mlt_text_free(&facts);
}

// ---- what comes from other hosts

static bool write_chunk(const mlt_options *options, const char *bytes, size_t count)
{
    int fd = open(options->trace, O_WRONLY | O_APPEND | O_CLOEXEC);
    ssize_t wrote = -1;
    do
        wrote = fd >= 0 ? write(fd, bytes, count) : -1;
    while (wrote < 0 && errno == EINTR);
    if (wrote != (ssize_t)count)
        mlt_say("the trace has gaps: cannot write %s: %s", options->trace,
                strerror(wrote < 0 ? errno : ENOSPC));
    if (fd >= 0)
        close(fd);
    return wrote == (ssize_t)count;
}

int64_t mlt_launch_trace_chunks(const mlt_options *options, const char *bytes, size_t count)
{
    mlt_trace_head head;
    size_t at = 0;
    while (options->trace && count - at >= sizeof head) {
        memcpy(&head, bytes + at, sizeof head);
        if (!mlt_trace_head_fits(&head)) {
            mlt_say("the trace has gaps: a process of another host sent no chunk of one");
            return -1;
        }
        size_t size = sizeof head + head.stored;
        if (count - at < size)
            break;
        if (!write_chunk(options, bytes + at, size))
            return -1;
        at += size;
    }
    return (int64_t)at;
}

// ---- facts of the whole job

// Names of modules are the program's; a damaged rank's may not end.
static void trace_add_name(mlt_text *text, const char *name, size_t size)
{
    for (size_t i = 0; i < size && name[i]; i++)
        mlt_text_put(text, (unsigned char)name[i] < ' ' ? "?" : &name[i], 1);
}

void mlt_launch_trace_queues(const mlt_options *options, const mlt_ctl_queue *queues, size_t count)
{
    mlt_text facts = {0};
    for (size_t i = 0; i < count && options->trace; i++) {
        const mlt_ctl_queue *q = &queues[i];
        mlt_text_add(&facts, "queue\t");
        trace_add_name(&facts, q->from, sizeof q->from);
        mlt_text_add(&facts, "\t");
        trace_add_name(&facts, q->to, sizeof q->to);
        mlt_text_add(&facts,
                     "\t%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                     q->lines, q->elements, q->bytes, q->deepest, q->blocked_ns, q->starved_ns);
    }
    if (facts.length)
        mlt_launch_trace_facts(options, facts.text, facts.length);
    mlt_text_free(&facts);
}

// `millet` lies beside mpirun.
static void run_millet(const mlt_options *options)
{
    char *self = realpath("/proc/self/exe", NULL);
    char *end = self ? strrchr(self, '/') : NULL;
    char *millet =
        end ? mlt_text_of("%.*s/millet", (int)(end - self), self) : mlt_text_of("millet");
    execlp(millet, "millet", "trace", options->trace, "--as", "goal", "-o", options->record,
           (char *)NULL);
    _exit(MLT_EXIT_SYSTEM);
}

static void record(const mlt_options *options)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        run_millet(options);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child < 0 || status != 0)
        mlt_say("%s is not written: millet trace --as goal failed", options->record);
    else if (!options->quiet)
        mlt_say("what the run did is %s: millet goal checks, draws and simulates it",
                options->record);
}

void mlt_launch_trace_end(const mlt_options *options, int code)
{
    if (!options->trace)
        return;
    mlt_text facts = {0};
    mlt_text_add(&facts, "end\t%d\n", code);
    mlt_launch_trace_facts(options, facts.text, facts.length);
    mlt_text_free(&facts);
    if (options->record)
        record(options);
    if (options->trace_passing)
        unlink(options->trace);
    else if (!options->quiet)
        mlt_say("the trace is %s: millet trace shows what is in it", options->trace);
}
