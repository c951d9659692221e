// SPDX-License-Identifier: BSD-3-Clause
#include <fuzz/fuzz.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void fuzz_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: '%s' does not hold\n", file, line, condition);
    abort();
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    FUZZ_CHECK(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

// Bytes from 128 on are parts of letters.
static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 127;
}

void fuzz_check_sentence(const char *why, size_t room)
{
    size_t n = strnlen(why, room);
    FUZZ_CHECK(n > 0 && n < room);
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(!is_control(why[i]));
}

void fuzz_check_lines(const char *text, size_t size)
{
    FUZZ_CHECK(size == 0 || text[size - 1] == '\n');
    for (size_t i = 0; i < size; i++) {
        FUZZ_CHECK(text[i] == '\n' || !is_control(text[i]));
        FUZZ_CHECK(text[i] != '\n' || (i > 0 && text[i - 1] != '\n'));
    }
}

void fuzz_take(const uint8_t **data, size_t *size, void *to, size_t wanted)
{
    size_t n = wanted < *size ? wanted : *size;
    memset(to, 0, wanted);
    if (n == 0)
        return;
    memcpy(to, *data, n);
    *data += n;
    *size -= n;
}
