// SPDX-License-Identifier: BSD-3-Clause
#include "launch/say.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void mlt_say_raw(const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t done = write(STDERR_FILENO, text, bytes);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0 && errno == EAGAIN) { // somebody made our terminal nonblocking
            struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
            (void)poll(&room, 1, 100);
            continue;
        }
        if (done <= 0)
            return;
        text += done;
        bytes -= (size_t)done;
    }
}

static void say(const char *format, va_list args)
{
    char *text = NULL, *line = NULL;
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    int n = asprintf(&line, "mpirun: %s\n", text ? text : "out of memory");
    if (n > 0)
        mlt_say_raw(line, (size_t)n);
    free(text);
    free(line);
}

void mlt_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

_Noreturn void mlt_quit(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    exit(code);
}

void *mlt_need(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        mlt_quit(MLT_EXIT_SYSTEM, "out of memory: no %zu bytes", count * size);
    return memory;
}

void *mlt_need_more(void *old, size_t count, size_t size)
{
    void *memory = reallocarray(old, count ? count : 1, size);
    if (!memory)
        mlt_quit(MLT_EXIT_SYSTEM, "out of memory: no %zu times %zu bytes", count, size);
    return memory;
}

char *mlt_need_text(const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0)
        mlt_quit(MLT_EXIT_SYSTEM, "out of memory");
    return text;
}
