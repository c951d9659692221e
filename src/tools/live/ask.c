// SPDX-License-Identifier: BSD-3-Clause
#include "tools/live/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compare.h"
#include "launch/live/live.h"
#include "os/line.h"

enum { ASK_MOST = 64, PATIENCE_MS = 30000 };

// ---- finding

// "... 01 12345 @millet/1000/4711/8f2c": names of the abstract name space begin with '@' there. Only
// sockets that listen count (flags 00010000).
static bool ask_read_line(const char *line, const char *prefix, mlt_live_found *out)
{
    unsigned flags;
    const char *name = strchr(line, '@');
    if (!name || strncmp(name + 1, prefix, strlen(prefix)) != 0 ||
        sscanf(line, "%*s %*s %*s %x", &flags) != 1 || !(flags & 0x10000))
        return false;
    char *end;
    unsigned long pid = strtoul(name + 1 + strlen(prefix), &end, 10);
    size_t length = strcspn(name, "\n");
    if (*end != '/' || pid == 0 || pid > INT32_MAX || length >= sizeof out->address)
        return false;
    out->pid = (uint32_t)pid;
    memset(out->address, 0, sizeof out->address);
    memcpy(out->address, name, length);
    return true;
}

// How many there are; -1: the system does not tell.
static int list_jobs(mlt_live_found found[ASK_MOST])
{
    char prefix[64], line[512];
    int count = 0;
    FILE *in = fopen("/proc/net/unix", "re");
    if (!in)
        return -1;
    snprintf(prefix, sizeof prefix, MLT_LIVE_NAME_FORMAT, (unsigned)geteuid());
    while (count < ASK_MOST && fgets(line, sizeof line, in))
        count += ask_read_line(line, prefix, &found[count]);
    fclose(in);
    qsort(found, (size_t)count, sizeof *found, mlt_compare_ascending32);
    return count;
}

static void name_job(uint32_t pid, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    FILE *in = fopen(path, "re");
    size_t n = in ? fread(text, 1, size - 1, in) : 0;
    if (in)
        fclose(in);
    for (size_t i = 0; i + 1 < n; i++)
        text[i] = text[i] >= ' ' ? text[i] : ' ';
    text[n] = '\0';
}

static _Noreturn void tell_jobs(const mlt_live_found *found, int count)
{
    mlt_text list = {0};
    char text[80];
    for (int i = 0; i < count; i++) {
        name_job(found[i].pid, text, sizeof text);
        mlt_text_add(&list, "\n  %u  %s", found[i].pid, text);
    }
    mlt_args_wrong("%d jobs run; say which, by the number of its mpirun:%s", count, list.text);
}

mlt_live_found mlt_live_find(const char *word)
{
    mlt_live_found found[ASK_MOST];
    int count = list_jobs(found);
    if (count < 0)
        mlt_args_failed("/proc/net/unix cannot be read, so no job is found: %s", strerror(errno));
    if (!word && count > 1)
        tell_jobs(found, count);
    if (!word && count == 0)
        mlt_args_failed("no job of yours runs on this host");
    char *end = NULL;
    unsigned long pid = word ? strtoul(word, &end, 10) : found[0].pid;
    if (word && (end == word || *end))
        mlt_args_wrong("a job is named by the process number of its mpirun, not by '%s'", word);
    for (int i = 0; i < count; i++)
        if (found[i].pid == pid)
            return found[i];
    mlt_args_failed("there is no job %lu of yours on this host", pid);
}

// ---- asking

static int dial(const mlt_live_found *job)
{
    int fd = mlt_os_line_connect(job->address);
    if (fd < 0)
        snprintf(MLT_ARGS_WHY, errno == ECONNREFUSED ? "the job has ended" : "%s", strerror(errno));
    else if (!mlt_os_line_own(fd, NULL)) {
        snprintf(MLT_ARGS_WHY, "somebody else answers in the job's place");
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool send_all(int fd, const char *text, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = mlt_os_line_write(fd, text + done, length - done);
        if (n < 0 && (errno != EAGAIN || !mlt_os_line_wait(fd, true, PATIENCE_MS)))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool hear_all(int fd, mlt_text *out)
{
    char buffer[65536];
    for (;;) {
        ssize_t n = mlt_os_line_read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EAGAIN && mlt_os_line_wait(fd, false, PATIENCE_MS))
            continue;
        if (n <= 0)
            return n == 0;
        mlt_text_put(out, buffer, (size_t)n);
    }
}

// Takes the head off. A job that ends meanwhile has not written all that it promised.
static bool read_answer(const mlt_text *all, mlt_text *body)
{
    const char *text = mlt_text_so_far(all);
    const char *end = memmem(text, all->length, "\r\n\r\n", 4);
    int code = 0;
    size_t length = 0;
    const char *says = end ? memmem(text, (size_t)(end - text), "Content-Length: ", 16) : NULL;
    if (!says || sscanf(text, "HTTP/%*d.%*d %d", &code) != 1 ||
        sscanf(says, "Content-Length: %zu", &length) != 1 ||
        (size_t)(text + all->length - (end + 4)) != length) {
        snprintf(MLT_ARGS_WHY, "the job has ended");
        return false;
    }
    mlt_text_put(body, end + 4, length);
    if (code == 200)
        return true;
    snprintf(MLT_ARGS_WHY, "%.*s", (int)length, end + 4);
    mlt_args_why[strcspn(mlt_args_why, "\n")] = '\0';
    return false;
}

// request: frees it.
static bool talk(const mlt_live_found *job, char *request, mlt_text *body)
{
    mlt_text all = {0};
    int fd = dial(job);
    bool fine = fd >= 0 && send_all(fd, request, strlen(request)) && hear_all(fd, &all);
    if (fine)
        fine = read_answer(&all, body);
    else if (fd >= 0)
        snprintf(MLT_ARGS_WHY, "%s",
                 errno == EAGAIN ? "mpirun does not answer: is it stopped?" : "the job has ended");
    if (fd >= 0)
        close(fd);
    mlt_text_free(&all);
    free(request);
    return fine;
}

bool mlt_live_ask(const mlt_live_found *job, const char *page, mlt_text *body)
{
    return talk(job, mlt_text_of("GET %s HTTP/1.0\r\n\r\n", page), body);
}

bool mlt_live_post(const mlt_live_found *job, const char *page, const char *text, mlt_text *body)
{
    return talk(
        job,
        mlt_text_of("POST %s HTTP/1.0\r\nContent-Length: %zu\r\n\r\n%s", page, strlen(text), text),
        body);
}
