// SPDX-License-Identifier: BSD-3-Clause
// Standard error may be a pipe that nobody reads, or a stopped terminal. mpirun must not wait for
// it in a write: it has a job to watch, and signals to obey. So what does not fit at once waits
// here, and the event loop writes it when there is room.
#include "launch/say.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"

enum { MOST_WAITING = 16 << 20, SAY_PAUSE_MS = 100 };

static struct {
    char *text;
    size_t start, end, room;
} waiting;

// Standard error again, but so that writing does not block; mpirun shares the descriptor 2 itself
// with others, for whom it must stay as it is.
static struct {
    struct stat file; // to which fd belongs
    int fd;           // -1: none
} say_own = {.fd = -1};

static bool lost;

static struct { // mlt_say_to
    void (*say)(const char *text);
    void (*quit)(int code, const char *text);
} receiver;

static char say_name[64] = "mpirun";

void mlt_say_as(const char *job)
{
    if (job)
        snprintf(say_name, sizeof say_name, "mpirun: job %.40s", job);
}

void mlt_say_by(const char *program)
{
    snprintf(say_name, sizeof say_name, "%s", program);
}

const char *mlt_say_name(void)
{
    return say_name;
}

void mlt_say_to(void (*say)(const char *text), void (*quit)(int code, const char *text))
{
    receiver.say = say;
    receiver.quit = quit;
}

bool mlt_say_lost(void)
{
    return lost;
}

// A reader that is gone (a pipe, a terminal, a closed descriptor) misses nothing.
static bool is_missed(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG ||
           (error == EIO && S_ISREG(say_own.file.st_mode));
}

static void open_own(const struct stat *about)
{
    if (say_own.fd >= 0)
        close(say_own.fd);
    say_own.file = *about;
    say_own.fd = -1;
    // Writing to a file does not block, and a socket cannot be opened.
    if (S_ISFIFO(about->st_mode) || S_ISCHR(about->st_mode))
        say_own.fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int mlt_say_fd(void)
{
    struct stat about;
    if (fstat(STDERR_FILENO, &about) == 0 &&
        (about.st_dev != say_own.file.st_dev || about.st_ino != say_own.file.st_ino))
        open_own(&about);
    return say_own.fd >= 0 ? say_own.fd : STDERR_FILENO;
}

static ssize_t say_write_some(const char *text, size_t bytes)
{
    int fd = mlt_say_fd();
    ssize_t done;
    do {
        done = S_ISSOCK(say_own.file.st_mode) ? send(fd, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL)
                                              : write(fd, text, bytes);
    } while (done < 0 && errno == EINTR);
    return done;
}

// Writes what there is room for. Returns how much is done with: all of it if it cannot be written.
static size_t write_now(const char *text, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t n = say_write_some(text + done, bytes - done);
        if (n < 0 && errno == EAGAIN)
            return done;
        if (n <= 0) {
            lost = lost || (n < 0 && is_missed(errno));
            return bytes;
        }
        done += (size_t)n;
    }
    return done;
}

bool mlt_say_waits(void)
{
    return waiting.start < waiting.end;
}

void mlt_say_go_on(void)
{
    waiting.start += write_now(waiting.text + waiting.start, waiting.end - waiting.start);
    if (mlt_say_waits())
        return;
    free(waiting.text);
    waiting.text = NULL;
    waiting.start = waiting.end = waiting.room = 0;
}

void mlt_say_raw(const char *text, size_t bytes)
{
    mlt_say_go_on();
    size_t done = mlt_say_waits() ? 0 : write_now(text, bytes), left = bytes - done;
    if (left == 0)
        return;
    bool fits = waiting.end + left <= MOST_WAITING;
    if (!fits || !MLT_ARRAY_TRY(waiting.text, waiting.end + left, waiting.room)) {
        lost = true;
        return;
    }
    memcpy(waiting.text + waiting.end, text + done, left);
    waiting.end += left;
}

// A signal that shall end mpirun has come while such signals are blocked.
static bool is_told_to_end(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
            sigismember(&pending, SIGHUP) == 1);
}

void mlt_say_finish(int limit_ms)
{
    for (mlt_say_go_on(); mlt_say_waits() && limit_ms && !is_told_to_end(); mlt_say_go_on()) {
        struct pollfd room = {.fd = mlt_say_fd(), .events = POLLOUT};
        (void)poll(&room, 1, SAY_PAUSE_MS);
        if (limit_ms > 0)
            limit_ms -= limit_ms < SAY_PAUSE_MS ? limit_ms : SAY_PAUSE_MS;
    }
}

// `code`: 0, or the exit code of an agent that ends with it.
static void say(int code, const char *format, va_list args)
{
    char *text = NULL, *line = NULL;
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    if (receiver.say) {
        const char *whole = text ? text : MLT_NO_ROOM "a message";
        if (code)
            receiver.quit(code, whole);
        else
            receiver.say(whole);
        free(text);
        return;
    }
    int n = asprintf(&line, "%s: %s\n", say_name, text ? text : MLT_NO_ROOM "a message");
    if (n > 0)
        mlt_say_raw(line, (size_t)n);
    free(text);
    free(line);
}

void mlt_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(0, format, args);
    va_end(args);
}

_Noreturn void mlt_quit(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(code, format, args);
    va_end(args);
    mlt_say_finish(-1);
    exit(code);
}
