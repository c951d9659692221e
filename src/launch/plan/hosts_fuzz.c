// SPDX-License-Identifier: BSD-3-Clause
// Any text as a host list (first byte even) and any bytes as a host file (odd): refused with one
// line, or the slots are a number that a job could have; and a host file of the list's hosts, a
// line each, says the same as the list.
#include "launch/plan/hosts.h"

#include <fuzz/fuzz.h>
#include <fuzz/launcher.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SLOTS = 1 << 20 };

typedef struct question {
    const char *list; // NULL: the file
    uint32_t slots;
} question;

static void ask(void *argument)
{
    question *q = argument;
    q->slots = q->list ? mlt_hosts_list("-host", q->list) : mlt_hosts_file("file");
}

static bool understood(question *q, size_t size)
{
    size_t said_size;
    bool good = fuzz_run(ask, q);
    const char *said = fuzz_said(&said_size);
    FUZZ_CHECK(said_size < 2 * size + 1024);
    if (good) {
        FUZZ_CHECK(said_size == 0 && q->slots <= MOST_SLOTS);
    } else {
        FUZZ_CHECK(fuzz_code() == 2 && said_size > 1);
        // A list is one word of the command line, and may hold a newline of the user's.
        FUZZ_CHECK(q->list ? strncmp(said, "-host: ", 7) == 0 : strncmp(said, "file:", 5) == 0);
        FUZZ_CHECK((q->list && strchr(q->list, '\n')) ||
                   strchr(said, '\n') == said + said_size - 1);
    }
    fuzz_release();
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t kind;
    fuzz_take(&data, &size, &kind, 1);
    fuzz_file(data, size);
    question file = {NULL, 0};
    if (kind % 2) {
        (void)understood(&file, size);
        return 0;
    }
    char *text = fuzz_text(data, size);
    question list = {text, 0};
    bool good = understood(&list, size);
    // In a file a blank ends the host, and '#' the line.
    if (good && !strpbrk(text, " \t\r\n#")) {
        for (char *c = text; *c; c++)
            if (*c == ',')
                *c = '\n';
        fuzz_file((const uint8_t *)text, strlen(text));
        bool same = understood(&file, size);
        FUZZ_CHECK(same && file.slots == list.slots);
    }
    free(text);
    return 0;
}
