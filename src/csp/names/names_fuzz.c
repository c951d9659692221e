// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as what comes from a socket or stands in a file. The first byte says as what: messages
// of the name server, a greeting or frames between programs, the server's file. What is understood
// can be said again in the same bytes (the file: read again as the same); what is not is refused,
// with a sentence where there is one.
#include <fuzz/fuzz.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csp/names/file.h"
#include "csp/names/text.h"
#include "csp/net/frame.h"

enum { MESSAGES, GREETINGS, FRAMES, FILES, KINDS };

// Reads one message after the other, each in memory that ends where the input does.
static void try_messages(const uint8_t *data, size_t size)
{
    for (int n = 1; size > 0 && n > 0; data += n, size -= (size_t)n) {
        mlt_names_message m;
        unsigned char again[MLT_NAMES_FRAME];
        n = mlt_names_decode(data, size, &m);
        if (n <= 0)
            return;
        FUZZ_CHECK((size_t)n <= size && n <= MLT_NAMES_FRAME);
        for (int less = 0; less < n; less += 7) // a half message is no message, and no garbage
            FUZZ_CHECK(mlt_names_decode(data, (size_t)less, &m) == 0);
        FUZZ_CHECK(mlt_names_decode(data, size, &m) == n);
        FUZZ_CHECK(mlt_names_encode(&m, again) == (size_t)n || m.name.kind != 0);
        // Texts of things that have none are not sent on, all else is.
        mlt_names_message once_more;
        size_t bytes = mlt_names_encode(&m, again);
        FUZZ_CHECK(mlt_names_decode(again, bytes, &once_more) == (int)bytes);
        if (m.name.kind == 0)
            FUZZ_CHECK(memcmp(again, data, bytes) == 0 && memcmp(&m, &once_more, sizeof m) == 0);
    }
}

static void try_greeting(const uint8_t *data, size_t size)
{
    mlt_socket_greeting g;
    unsigned char again[MLT_SOCKET_GREETING_MOST];
    int n = mlt_socket_greeting_decode(data, size, &g);
    if (n <= 0)
        return;
    FUZZ_CHECK((size_t)n <= size && n <= MLT_SOCKET_GREETING_MOST);
    if (g.version != MLT_WIRE_VERSION)
        return;
    FUZZ_CHECK(mlt_socket_greeting_encode(&g, again) == (size_t)n &&
               memcmp(again, data, (size_t)n) == 0);
}

static void try_frames(const uint8_t *data, size_t size)
{
    while (size > 0) {
        mlt_packet packet;
        const unsigned char *body;
        uint64_t bytes;
        int64_t n = mlt_socket_frame_decode(data, size, &packet, &body, &bytes);
        if (n <= 0)
            return;
        FUZZ_CHECK((size_t)n <= size && body == data + sizeof(mlt_socket_frame) &&
                   body + bytes <= data + n);
        mlt_socket_frame head = mlt_socket_frame_of(&packet, bytes);
        FUZZ_CHECK(memcmp(&head, data, sizeof head) == 0);
        data += n;
        size -= (size_t)n;
    }
}

static void try_file(const uint8_t *data, size_t size)
{
    mlt_names_file file, again;
    char why[200] = "", path[] = "/tmp/names_fuzz_XXXXXX";
    if (!mlt_names_file_parse((const char *)data, size, &file, why, sizeof why)) {
        fuzz_check_sentence(why, sizeof why);
        return;
    }
    static int tried;
    if (tried++ > 100) // files are slow
        return;
    int fd = mkstemp(path);
    FUZZ_CHECK(fd >= 0);
    close(fd);
    FUZZ_CHECK(mlt_names_file_write(path, &file, why, sizeof why) == MLT_OK);
    FUZZ_CHECK(mlt_names_file_read(path, &again, why, sizeof why) == MLT_OK);
    unlink(path);
    FUZZ_CHECK(memcmp(&file, &again, sizeof file) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const tries[KINDS])(const uint8_t *, size_t) = {[MESSAGES] = try_messages,
                                                                  [GREETINGS] = try_greeting,
                                                                  [FRAMES] = try_frames,
                                                                  [FILES] = try_file};
    uint8_t kind;
    fuzz_take(&data, &size, &kind, 1);
    uint8_t *copy = malloc(size ? size : 1); // of exactly that size
    FUZZ_CHECK(copy != NULL);
    memcpy(copy, data, size);
    tries[kind % KINDS](copy, size);
    free(copy);
    return 0;
}
