// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "launch/watch/line_file.h"
#include "os/file.h"
#include "os/os.h"

enum { FRAMES = 64, ANSWER = 16 * 1024 };

#define PATIENCE_NS INT64_C(2000000000)

extern char **environ;

typedef struct frame {
    const char *line, *end; // in the text; end: of the line
    char *file, *place;     // program; function+0xoffset. NULL: it is no frame
    char *source;           // the answer; NULL: none
    uint64_t address;       // ... to this one of the program
} frame;

// ---- reading the report

// "PROGRAM(FUNCTION+0xOFFSET)[0xADDRESS]"; what follows a call belongs to the line before, except
// in the first frame, where the fault is.
static void read_frame(frame *f, bool first)
{
    size_t length = (size_t)(f->end - f->line);
    const char *open = memchr(f->line, '(', length);
    const char *plus = open ? memchr(open, '+', (size_t)(f->end - open)) : NULL;
    const char *close = plus ? memchr(plus, ')', (size_t)(f->end - plus)) : NULL;
    if (!close || close + 1 == f->end || close[1] != '[' || plus == open + 1 || open == f->line)
        return;
    unsigned long long offset = strtoull(plus + 1, NULL, 16);
    offset -= !first && offset > 0;
    f->file = mlt_text_of("%.*s", (int)(open - f->line), f->line);
    f->place = mlt_text_of("%.*s+0x%llx", (int)(plus - open - 1), open + 1, offset);
}

static uint32_t read_frames(const char *text, frame *frames)
{
    uint32_t count = 0;
    bool first = true;
    for (const char *at = text; *at && count < FRAMES; at += *at == '\n') {
        frame *f = &frames[count++];
        *f = (frame){.line = at, .end = at + strcspn(at, "\n")};
        read_frame(f, first);
        first = first && !f->file;
        at = f->end;
    }
    return count;
}

// ---- asking

// Starts a program that writes to fd. False: it cannot be started.
static bool lines_start(char **argv, const char *dir, int fd, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    int error = posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error && dir)
        error = posix_spawn_file_actions_addchdir_np(&actions, dir);
    if (!error)
        error = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return !error;
}

// Reads until the end, or until it is late.
static void read_all(int fd, char *to, size_t size, int64_t until)
{
    for (size_t n = 0; n < size;) {
        int64_t left = until - (int64_t)mlt_os_now_ns();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (left <= 0 || poll(&ready, 1, (int)(left / 1000000) + 1) <= 0)
            return;
        ssize_t more = read(fd, to + n, size - n);
        if (more <= 0)
            return;
        n += (size_t)more;
    }
}

// What the program prints within the time; NULL: nothing.
static char *answer_of(char **argv, const char *dir, int64_t until)
{
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    bool started = lines_start(argv, dir, ends[1], &pid);
    char *answer = started ? mlt_xcalloc(1, ANSWER) : NULL;
    close(ends[1]);
    if (started) {
        read_all(ends[0], answer, ANSWER - 1, until);
        (void)kill(pid, SIGKILL); // it has answered, or is late
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    close(ends[0]);
    return answer;
}

// Libraries of the system come without what addr2line needs.
static bool lines_is_systems(const char *file)
{
    return strncmp(file, "/lib/", 5) == 0 || strncmp(file, "/usr/lib/", 9) == 0;
}

// "FILE:LINE"; "??" for the file or the line: nobody knows.
static void lines_take_line(frame *f, const char *line, size_t length)
{
    const char *note = memmem(line, length, " (discriminator", 15);
    length = note ? (size_t)(note - line) : length;
    const char *colon = memrchr(line, ':', length);
    if (colon && line[0] != '?' && colon + 1 < line + length && colon[1] != '?' && colon[1] != '0')
        f->source = mlt_text_of("%.*s", (int)length, line);
}

// ---- the file's name

// A whole file; NULL: it cannot be read, or is too large for that. Not mapped: somebody may shorten it, as
// a compiler does.
static void *read_file(const char *path, const char *dir, size_t *bytes)
{
    enum { MOST = 256 << 20 };
    char *whole =
        path[0] == '/' || !dir ? mlt_text_of("%s", path) : mlt_text_of("%s/%s", dir, path);
    int fd = mlt_os_file_open(whole, O_RDONLY | O_NONBLOCK, 0);
    int64_t size = 0;
    void *memory = NULL;
    *bytes = 0;
    if (fd >= 0 && mlt_os_file_size(fd, &size) == 0 && size > 0 && size <= MOST)
        memory = malloc((size_t)size);
    if (memory && mlt_os_file_read(fd, memory, (size_t)size, 0, bytes) != 0)
        *bytes = 0;
    if (fd >= 0)
        (void)mlt_os_file_close(fd);
    free(whole);
    return memory;
}

static bool lines_ends_with(const char *text, size_t length, const char *end)
{
    size_t n = strlen(end);
    return n <= length && memcmp(text + length - n, end, n) == 0 &&
           (n == length || text[length - n - 1] == '/');
}

// addr2line may know the line and be wrong about the file.
static void correct(frame *f, const void *program, size_t bytes)
{
    char *file = f->source ? mlt_lines_file_of(program, bytes, f->address) : NULL;
    const char *colon = f->source ? strrchr(f->source, ':') : NULL;
    const char *slash = file ? strrchr(file, '/') : NULL;
    if (file &&
        !lines_ends_with(f->source, (size_t)(colon - f->source), slash ? slash + 1 : file)) {
        char *right = mlt_text_of("%s%s", file, colon);
        free(f->source);
        f->source = right;
    }
    free(file);
}

// Asks for all frames of the file of frame `from`.
static void lines_ask(frame *frames, uint32_t from, uint32_t count, const char *dir, int64_t until)
{
    enum { WORDS = 4 }; // -a: each answer is an address, and then a line
    char *argv[FRAMES + WORDS + 1] = {(char *)(uintptr_t) "addr2line", (char *)(uintptr_t) "-a",
                                      (char *)(uintptr_t) "-e", frames[from].file};
    uint32_t asked[FRAMES], n = 0;
    for (uint32_t i = from; i < count; i++)
        if (frames[i].file && strcmp(frames[i].file, frames[from].file) == 0) {
            argv[WORDS + n] = frames[i].place;
            asked[n++] = i;
        }
    char *answer = answer_of(argv, dir, until), *at = answer;
    size_t bytes;
    void *program = read_file(frames[from].file, dir, &bytes);
    for (uint32_t i = 0; i < n && at && *at; i++, at += *at == '\n') {
        frames[asked[i]].address = strtoull(at, &at, 16);
        at += *at == '\n';
        size_t length = strcspn(at, "\n");
        lines_take_line(&frames[asked[i]], at, length);
        if (program && (int64_t)mlt_os_now_ns() < until)
            correct(&frames[asked[i]], program, bytes);
        at += length;
    }
    free(program);
    free(answer);
}

static bool is_first_of_file(const frame *frames, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (frames[k].file && strcmp(frames[k].file, frames[i].file) == 0)
            return false;
    return true;
}

char *mlt_lines_add(const char *text, const char *dir)
{
    frame frames[FRAMES];
    uint32_t count = read_frames(text, frames);
    int64_t until = (int64_t)mlt_os_now_ns() + PATIENCE_NS;
    for (uint32_t i = 0; i < count; i++)
        if (frames[i].file && !lines_is_systems(frames[i].file) && is_first_of_file(frames, i))
            lines_ask(frames, i, count, dir, until);
    mlt_text whole = {0};
    const char *at = text;
    for (uint32_t i = 0; i < count; i++) {
        mlt_text_put(&whole, at, (size_t)(frames[i].end - at));
        if (frames[i].source)
            mlt_text_add(&whole, " at %s", frames[i].source);
        at = frames[i].end;
        free(frames[i].file);
        free(frames[i].place);
        free(frames[i].source);
    }
    mlt_text_add(&whole, "%s", at);
    return whole.text; // it is the caller's now
}
