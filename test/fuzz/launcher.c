// SPDX-License-Identifier: BSD-3-Clause
#include <fuzz/fuzz.h>
#include <fuzz/launcher.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { MOST_PIECES = 1 << 16, MOST_FILES = 256, MOST_SAID = 1 << 22 };

static bool active; // a call runs; else everything is passed on as it is
static jmp_buf back;
static int code;
static void *pieces[MOST_PIECES]; // memory that the call has not freed
static size_t piece_count;
static FILE *files[MOST_FILES];
static size_t file_count;
static char *said;
static size_t said_size;
static const uint8_t *file_data;
static size_t file_size;

// ---- What the linker puts in the place of functions that parsers call

void __real_exit(int status) __attribute__((noreturn));
void __real_free(void *memory);
void *__real_mlt_xcalloc(size_t count, size_t size);
void *__real_mlt_xrealloc(void *old, size_t count, size_t size);
FILE *__real_fopen(const char *path, const char *mode);
int __real_fclose(FILE *file);
ssize_t __real___getdelim(char **line, size_t *room, int end, FILE *file);
int __real_open(const char *path, int flags, ...);
int __real_mkdir(const char *path, mode_t mode);

void __wrap_exit(int status) __attribute__((noreturn));
void __wrap_free(void *memory);
void __wrap_mlt_quit(int status, const char *format, ...) __attribute__((noreturn));
void __wrap_mlt_say(const char *format, ...);
void __wrap_mlt_say_raw(const char *text, size_t bytes);
void *__wrap_mlt_xcalloc(size_t count, size_t size);
void *__wrap_mlt_xrealloc(void *old, size_t count, size_t size);
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_fclose(FILE *file);
ssize_t __wrap___getdelim(char **line, size_t *room, int end, FILE *file);
ssize_t __wrap_getline(char **line, size_t *room, FILE *file);
int __wrap_open(const char *path, int flags, ...);
int __wrap_mkdir(const char *path, mode_t mode);

static void *note(void *piece)
{
    if (active && piece) {
        FUZZ_CHECK(piece_count < MOST_PIECES);
        pieces[piece_count++] = piece;
    }
    return piece;
}

static void forget(const void *piece)
{
    for (size_t i = piece_count; active && i > 0; i--)
        if (pieces[i - 1] == piece) {
            pieces[i - 1] = pieces[--piece_count];
            return;
        }
}

static void keep_said(const char *text, size_t bytes)
{
    FUZZ_CHECK(said_size + bytes < MOST_SAID);
    said = realloc(said, said_size + bytes + 1);
    FUZZ_CHECK(said);
    memcpy(said + said_size, text, bytes);
    said_size += bytes;
    said[said_size] = '\0';
}

static void keep_sentence(const char *format, va_list args)
{
    char *text;
    int n = vasprintf(&text, format, args);
    FUZZ_CHECK(n >= 0);
    keep_said(text, (size_t)n);
    keep_said("\n", 1);
    free(text);
}

void __wrap_exit(int status)
{
    if (!active)
        __real_exit(status);
    code = status;
    longjmp(back, 1);
}

void __wrap_mlt_quit(int status, const char *format, ...)
{
    FUZZ_CHECK(active && status != 0);
    va_list args;
    va_start(args, format);
    keep_sentence(format, args);
    va_end(args);
    code = status;
    longjmp(back, 1);
}

void __wrap_mlt_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    keep_sentence(format, args);
    va_end(args);
}

void __wrap_mlt_say_raw(const char *text, size_t bytes)
{
    keep_said(text, bytes);
}

void *__wrap_mlt_xcalloc(size_t count, size_t size)
{
    return note(__real_mlt_xcalloc(count, size));
}

void *__wrap_mlt_xrealloc(void *old, size_t count, size_t size)
{
    forget(old);
    return note(__real_mlt_xrealloc(old, count, size));
}

void __wrap_free(void *memory)
{
    forget(memory);
    __real_free(memory);
}

// ---- Files

typedef struct place {
    const uint8_t *data;
    size_t left;
} place;

static ssize_t place_read(void *cookie, char *to, size_t size)
{
    place *p = cookie;
    size_t n = size < p->left ? size : p->left;
    if (n == 0)
        return 0;
    memcpy(to, p->data, n);
    p->data += n;
    p->left -= n;
    return (ssize_t)n;
}

static int place_close(void *cookie)
{
    __real_free(cookie);
    return 0;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    if (!active || mode[0] != 'r') // libFuzzer writes a bad input while the call is still active
        return __real_fopen(path, mode);
    if (strstr(path, "none") || file_count == MOST_FILES) {
        errno = ENOENT;
        return NULL;
    }
    place *p = malloc(sizeof *p);
    FUZZ_CHECK(p);
    *p = (place){file_data, file_size};
    FILE *file = fopencookie(p, "r", (cookie_io_functions_t){place_read, NULL, NULL, place_close});
    FUZZ_CHECK(file);
    files[file_count++] = file;
    return file;
}

int __wrap_fclose(FILE *file)
{
    for (size_t i = 0; active && i < file_count; i++)
        if (files[i] == file) {
            files[i] = files[--file_count];
            break;
        }
    return __real_fclose(file);
}

ssize_t __wrap___getdelim(char **line, size_t *room, int end, FILE *file)
{
    forget(*line);
    ssize_t n = __real___getdelim(line, room, end, file);
    (void)note(*line);
    return n;
}

// The C library's header may make one of the other.
ssize_t __wrap_getline(char **line, size_t *room, FILE *file)
{
    return __wrap___getdelim(line, room, '\n', file);
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (!active)
        return __real_open(path, flags, mode);
    return __real_open("/dev/null", flags & ~(O_CREAT | O_TRUNC | O_EXCL), 0);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    return active ? 0 : __real_mkdir(path, mode);
}

// ---- For harnesses

void fuzz_file(const uint8_t *data, size_t size)
{
    file_data = data;
    file_size = size;
}

bool fuzz_run(void (*call)(void *argument), void *argument)
{
    code = 0;
    said_size = 0;
    active = true;
    volatile bool whole = false;
    if (setjmp(back) == 0) {
        call(argument);
        whole = true;
    }
    active = false;
    return whole;
}

const char *fuzz_said(size_t *size)
{
    *size = said_size;
    return said_size ? said : "";
}

int fuzz_code(void)
{
    return code;
}

void fuzz_release(void)
{
    while (piece_count > 0)
        __real_free(pieces[--piece_count]);
    while (file_count > 0)
        (void)__real_fclose(files[--file_count]);
    __real_free(said);
    said = NULL;
    said_size = 0;
}

bool fuzz_wide(const char *text)
{
    enum { MOST_DIGITS = 5 }; // in the brackets of a word: [1-9999]
    size_t digits = 0;
    bool inside = false;
    for (; *text && digits <= MOST_DIGITS; text++) {
        inside = *text == '[' || (inside && *text != ']');
        if (!inside && strchr(", \n", *text))
            digits = 0;
        digits += inside && *text >= '0' && *text <= '9';
    }
    return digits > MOST_DIGITS;
}
