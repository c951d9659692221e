// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a text in LogGOPSim's dialect: as they are (first byte even), or after a head that
// makes it that one (odd).
#include <fuzz/goal_text.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char head[] = "num_ranks 8\n";
    uint8_t kind;
    fuzz_take(&data, &size, &kind, 1);
    size_t length = kind % 2 ? sizeof head - 1 : 0;
    char *text = malloc(length + size + (length + size == 0));
    FUZZ_CHECK(text);
    memcpy(text, head, length);
    if (size)
        memcpy(text + length, data, size);
    fuzz_goal_text(text, length + size);
    free(text);
    return 0;
}
