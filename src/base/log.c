// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048, EXIT_SOFTWARE = 70 };

// Formats into line (with prefix and newline); returns the length.
static size_t format_line(char line[LINE_MAX_BYTES], const char *format, va_list args)
{
    static const char prefix[] = "millet: ";
    size_t n = sizeof prefix - 1;
    memcpy(line, prefix, n);
    int more = vsnprintf(line + n, LINE_MAX_BYTES - n - 1, format, args);
    if (more > 0) {
        size_t room = LINE_MAX_BYTES - n - 2;
        n += (size_t)more < room ? (size_t)more : room;
    }
    line[n++] = '\n';
    return n;
}

static void write_all(const char *line, size_t n)
{
    while (n > 0) {
        ssize_t done = write(STDERR_FILENO, line, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return; // nobody listens: there is no better place to say so
        line += done;
        n -= (size_t)done;
    }
}

void mlt_vlog(const char *format, va_list args)
{
    char line[LINE_MAX_BYTES];
    write_all(line, format_line(line, format, args));
}

void mlt_log(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    mlt_vlog(format, args);
    va_end(args);
}

_Noreturn void mlt_fatal(const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    size_t n = format_line(line, format, args);
    va_end(args);
    write_all(line, n);
    mlt_leave(EXIT_SOFTWARE);
}

_Noreturn void mlt_leave(int status)
{
    for (;;)
        (void)syscall(SYS_exit_group, status);
}

_Noreturn void mlt_assert_failed(const char *file, int line, const char *condition)
{
    mlt_fatal("internal fault at %s:%d: '%s' does not hold; please report it", file, line,
              condition);
}
