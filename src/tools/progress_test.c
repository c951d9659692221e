// SPDX-License-Identifier: BSD-3-Clause
// The bar shows up on a terminal after a second, and nowhere else; at the end it is gone. What is long
// writes lines to a file.
#include "tools/progress.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/unit_test.h"

// What a task of so many seconds shows on that file as standard error.
static void show(int fd, double seconds, bool is_long)
{
    int kept = dup(STDERR_FILENO);
    CHECK(kept >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    mlt_progress progress;
    (is_long ? mlt_progress_begin_long : mlt_progress_begin)(&progress, "working");
    mlt_progress_step(&progress, 0.1);
    progress.began_s -= seconds; // as if it had begun then
    progress.shown_s -= is_long ? seconds : 0;
    mlt_progress_step(&progress, 0.25);
    mlt_progress_step(&progress, 0.5); // too soon after the last one
    mlt_progress_end(&progress);
    mlt_progress_step(&progress, 0.75); // over
    fflush(stderr);
    CHECK(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
}

// What the terminal shows. The system hands it over in its own time, and maybe in pieces: if `end`
// is given, it is waited for.
static size_t shown(int fd, const char *end, char *text, size_t size)
{
    size_t length = 0;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    text[0] = '\0';
    while (length < size - 1 && poll(&wait, 1, end ? 5000 : 100) > 0) {
        ssize_t n = read(fd, text + length, size - 1 - length);
        if (n <= 0)
            break;
        length += (size_t)n;
        text[length] = '\0';
        if (end && length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0)
            break;
    }
    return length;
}

int main(void)
{
    char text[1024];
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        return 77;
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    CHECK(terminal >= 0);
    show(terminal, 0.5, false);
    CHECK(shown(master, NULL, text, sizeof text) == 0);
    show(terminal, 3, false);
    CHECK(shown(master, "\r\033[K", text, sizeof text) > 0);
    // Nine seconds, or more if the machine was busy between the steps.
    const char *bar = "working [##########..............................]  25 %, ";
    const char *left = strstr(text, bar);
    CHECK(left && atoi(left + strlen(bar)) >= 9 && strstr(left, " s left"));
    CHECK(!strstr(text, "50 %") && !strstr(text, "75 %"));
    CHECK(strcmp(text + strlen(text) - 4, "\r\033[K") == 0);
    FILE *file = tmpfile();
    CHECK(file);
    show(fileno(file), 30, false);
    CHECK(lseek(fileno(file), 0, SEEK_END) == 0);
    show(fileno(file), 5, true);
    CHECK(lseek(fileno(file), 0, SEEK_END) == 0);
    show(fileno(file), 30, true);
    ssize_t n = pread(fileno(file), text, sizeof text - 1, 0);
    CHECK(n > 0);
    text[n] = '\0';
    CHECK(strncmp(text, "working: 25 %, ", 15) == 0 && atoi(text + 15) >= 90);
    CHECK(strcmp(text + n - 8, " s left\n") == 0 && strchr(text, '\n') == text + n - 1);
    fclose(file);
    return 0;
}
