// SPDX-License-Identifier: BSD-3-Clause
// Heads that are none, and data that are not theirs, are refused.
#include "trace/chunk.h"

#include "base/unit_test.h"

static void heads(void)
{
    mlt_trace_head head = {.kind = MLT_CHUNK_FACTS};
    mlt_trace_seal(&head, "hello", 5);
    CHECK(mlt_trace_head_fits(&head) && mlt_trace_sealed(&head, "hello"));
    CHECK(!mlt_trace_sealed(&head, "hellp"));
    mlt_trace_head other = head;
    other.worker = 1;
    CHECK(mlt_trace_head_fits(&other) && !mlt_trace_sealed(&other, "hello"));
    other = head;
    other.kind = 9;
    CHECK(!mlt_trace_head_fits(&other));
    other = head;
    other.stored = (uint64_t)MLT_CHUNK_MOST + 1;
    CHECK(!mlt_trace_head_fits(&other));
}

int main(void)
{
    heads();
    return 0;
}
