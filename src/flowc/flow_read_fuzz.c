// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a .flow file: it is refused with at most 20 sentences that can be shown and whose
// places are in the text; or it is a file that is the same when it is printed and read again.
#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>

#include "flowc/ast.h"
#include "flowc/read_test.h"

static void check_messages(const mlt_flow_messages *messages, const char *text, size_t size)
{
    FUZZ_CHECK(messages->errors <= 20 && messages->warnings == 0);
    int lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    size_t count = 0;
    for (const mlt_flow_message *m = messages->first; m; m = m->next) {
        count++;
        FUZZ_CHECK(m->line >= 1 && m->line <= lines);
        FUZZ_CHECK(m->column >= 1 && (size_t)m->column <= size + 1);
        FUZZ_CHECK(!m->warning && strlen(m->text) > 10 && strlen(m->text) < sizeof m->text - 1);
        for (const char *c = m->text; *c; c++)
            FUZZ_CHECK((unsigned char)*c >= ' ' && *c != 127);
    }
    FUZZ_CHECK(count == messages->errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mlt_flow_messages messages = {0};
    mlt_flow_file *file = mlt_flow_read("t", (const char *)data, size, &messages);
    FUZZ_CHECK(file && strcmp(file->path, "t") == 0);
    check_messages(&messages, (const char *)data, size);
    if (!messages.errors) {
        char *text = flow_printed(file);
        mlt_flow_file *again = mlt_flow_read("t", text, strlen(text), &messages);
        FUZZ_CHECK(!messages.errors);
        char *second = flow_printed(again);
        FUZZ_CHECK(strcmp(text, second) == 0);
        free(text);
        free(second);
        mlt_flow_file_free(again);
    }
    mlt_flow_messages_free(&messages);
    mlt_flow_file_free(file);
    return 0;
}
