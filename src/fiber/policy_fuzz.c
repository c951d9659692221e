// SPDX-License-Identifier: BSD-3-Clause
// Any text as a scheduling policy: it is refused with a message, or name and number can be written
// down and read again.
#include "fiber/policy.h"

#include <fuzz/fuzz.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    char why[256] = "", again[64];
    uint64_t argument, second;
    const mlt_policy *policy = mlt_policy_find(text, &argument, why, sizeof why);
    if (policy) {
        if (policy->argument)
            snprintf(again, sizeof again, "%s:%" PRIu64, policy->name, argument);
        else
            snprintf(again, sizeof again, "%s", policy->name);
        FUZZ_CHECK(policy->argument || argument == 0);
        FUZZ_CHECK(mlt_policy_find(again, &second, why, sizeof why) == policy);
        FUZZ_CHECK(second == argument);
    } else {
        char short_why[8];
        fuzz_check_sentence(why, sizeof why);
        FUZZ_CHECK(!mlt_policy_find(text, &argument, short_why, sizeof short_why));
        fuzz_check_sentence(short_why, sizeof short_why);
    }
    free(text);
    return 0;
}
