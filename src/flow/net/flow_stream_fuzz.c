// SPDX-License-Identifier: BSD-3-Clause
// Any bytes from a client, which come in pieces of any length: the elements are the same as if all had
// come at once, they are within the limits, and nothing behind the bytes is read.
#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>

#include "flow/net/frame.h"

// Cuts what has come; returns how many bytes were used. Each element goes into the sum.
static size_t cut_all(const mlt_flow_framing *f, const char *at, size_t bytes, uint64_t *sum,
                      bool *refused)
{
    size_t used = 0;
    while (used < bytes && !*refused) {
        char why[120] = "";
        mlt_flow_cut cut;
        mlt_status status = mlt_flow_frame_cut(f, at + used, bytes - used, &cut, why, sizeof why);
        if (status == MLT_PENDING)
            break;
        *refused = status != MLT_OK;
        if (*refused) {
            fuzz_check_sentence(why, sizeof why);
            break;
        }
        FUZZ_CHECK(cut.used > 0 && cut.used <= bytes - used && cut.bytes <= cut.used);
        FUZZ_CHECK(cut.bytes <= f->length && cut.bytes % f->value == 0);
        FUZZ_CHECK(cut.data >= at + used && cut.data + cut.bytes <= at + used + cut.used);
        for (size_t i = 0; i < cut.bytes; i++)
            *sum = *sum * 31 + (uint8_t)cut.data[i];
        if (f->frame != MLT_FLOW_FRAME_VALUES) // these are as long as they happen to come
            *sum = *sum * 31 + 1;
        used += cut.used;
    }
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t how[3];
    fuzz_take(&data, &size, how, sizeof how);
    mlt_flow_framing f = {.frame = (mlt_flow_frame)(how[0] % 3),
                          .length = 64u + how[0] / 4,
                          .value = 1u + how[1] % 8};
    if (f.frame == MLT_FLOW_FRAME_LINES)
        f.value = 1;
    size_t piece = 1u + how[2] % 16;
    uint64_t once = 0, by_pieces = 0;
    bool refused = false, refused_too = false;
    char *all = malloc(size + 1);
    memcpy(all, data, size);
    (void)cut_all(&f, all, size, &once, &refused);
    size_t from = 0;
    for (size_t come = 0; come < size && !refused_too;) {
        come = come + piece < size ? come + piece : size;
        char *held = malloc(come - from + 1); // what a client's buffer holds
        memcpy(held, data + from, come - from);
        from += cut_all(&f, held, come - from, &by_pieces, &refused_too);
        free(held);
    }
    FUZZ_CHECK(refused == refused_too && once == by_pieces);
    free(all);
    return 0;
}
