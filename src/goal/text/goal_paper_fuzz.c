// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a text, mostly in the paper's dialect, for the seeds are.
#include <fuzz/goal_text.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_goal_text((const char *)data, size);
    return 0;
}
