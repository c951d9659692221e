// SPDX-License-Identifier: BSD-3-Clause
// Any text as a card of a process, and as a line of PMI: a card that is read and written is the
// same when it is read again.
#include "boot/foreign/kvs.h"

#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>

#include "boot/foreign/pmi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), again[MLT_LAUNCHER_VALUE], value[16];
    FUZZ_CHECK(text);
    memcpy(text, data, size);
    text[size] = '\0';
    mlt_kvs note, same;
    if (mlt_kvs_read(&note, text)) {
        mlt_kvs_write(again, &note);
        FUZZ_CHECK(mlt_kvs_read(&same, again) && memcmp(&note, &same, sizeof note) == 0);
    }
    if (mlt_pmi_find(text, "cmd", value, sizeof value))
        FUZZ_CHECK(strlen(value) < sizeof value);
    free(text);
    return 0;
}
