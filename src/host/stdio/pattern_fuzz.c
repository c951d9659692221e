// SPDX-License-Identifier: BSD-3-Clause
// Any text as the pattern of a rank's output file: the path fits and ends, and is what one simple
// pass over the pattern gives.
#include "host/stdio/pattern.h"

#include <fuzz/fuzz.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 600 };

// Long enough for any pattern of ROOM bytes.
static size_t expand(const char *pattern, int32_t rank, char *to, size_t size)
{
    size_t n = 0;
    char host[256] = "";
    FUZZ_CHECK(gethostname(host, sizeof host - 1) == 0);
    for (const char *at = pattern; *at; at++) {
        char one[3] = {*at, '\0'}, number[16] = "";
        const char *piece = one;
        if (*at == '%' && at[1]) {
            at++;
            if (*at != '%') // what it does not know stays as it is
                one[1] = *at;
            if (*at == 'r' || *at == 'p')
                snprintf(number, sizeof number, "%d", *at == 'r' ? rank : (int32_t)getpid());
            piece = *at == 'h' ? host : number[0] ? number : one;
        }
        FUZZ_CHECK(n + strlen(piece) < size);
        memcpy(to + n, piece, strlen(piece) + 1);
        n += strlen(piece);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char right[ROOM * 256];
    size_t room = size > ROOM ? 1 + size % ROOM : ROOM; // long ones into what is too small
    char *pattern = fuzz_text(data, size > ROOM ? ROOM : size);
    char *path = malloc(room);
    FUZZ_CHECK(path);
    right[0] = '\0';
    for (int32_t rank = 0; rank >= 0; rank = rank == 0 ? INT32_MAX : -1) {
        size_t n = expand(pattern, rank, right, sizeof right);
        mlt_pattern_name(path, room, pattern, rank);
        size_t kept = strnlen(path, room);
        FUZZ_CHECK(kept < room && (kept == n || kept == room - 1));
        FUZZ_CHECK(memcmp(path, right, kept) == 0);
    }
    free(path);
    free(pattern);
    return 0;
}
