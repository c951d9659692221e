// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as the numbers of a job's workers (what MLT_CTL_CALLS, MLT_CTL_STATS and MLT_CTL_QUEUES
// carry): the report is one screen of lines that a terminal can show.
//
// The input: shape of the job (4 bytes), then pieces that begin with a byte: even for a call, odd
// for a worker's numbers, 253 for queues, 255 for a process that has ended.
#include "launch/watch/report.h"

#include <fuzz/fuzz.h>
#include <stdlib.h>

enum { ENDED = 255, QUEUES = 253, MOST_QUEUES = 32, LONGEST_LINE = 300, MOST_LINES = 66 };

static void take_piece(mlt_report *report, const uint8_t **data, size_t *size)
{
    uint8_t kind;
    fuzz_take(data, size, &kind, 1);
    if (kind == ENDED) {
        uint64_t peak;
        fuzz_take(data, size, &peak, sizeof peak);
        mlt_report_ended(report, peak);
    } else if (kind == QUEUES) {
        mlt_ctl_queue queues[MOST_QUEUES];
        uint8_t count;
        uint32_t more;
        fuzz_take(data, size, &count, 1);
        fuzz_take(data, size, &more, sizeof more);
        fuzz_take(data, size, queues, sizeof queues);
        mlt_report_queues(report, queues, count % (MOST_QUEUES + 1), more);
    } else if (kind % 2) {
        mlt_ctl_stats stats;
        fuzz_take(data, size, &stats, sizeof stats);
        mlt_report_stats(report, stats.ranks, &stats);
    } else {
        mlt_ctl_call call;
        fuzz_take(data, size, &call, sizeof call);
        mlt_report_calls(report, &call, 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t shape[4];
    fuzz_take(&data, &size, shape, sizeof shape);
    mlt_placement plan = {
        .proc_count = shape[0] + 1u, .workers = shape[1] + 1u, .ranks = 1u << shape[2] % 31};
    mlt_report *report = mlt_report_new(&plan);
    mlt_report_add_cores(report, shape[3]);
    while (size > 0)
        take_piece(report, &data, &size);
    char *text = NULL;
    size_t text_size = 0, lines = 0, length = 0;
    FILE *out = open_memstream(&text, &text_size);
    FUZZ_CHECK(out);
    mlt_report_print(report, "./program", &(mlt_texts){NULL, 0}, UINT64_MAX, out);
    mlt_report_advise(report, out);
    fclose(out);
    fuzz_check_lines(text, text_size);
    for (size_t i = 0; i < text_size; i++) {
        lines += text[i] == '\n';
        length = text[i] == '\n' ? 0 : length + 1;
        FUZZ_CHECK(length < LONGEST_LINE);
    }
    FUZZ_CHECK(lines >= 4 && lines < MOST_LINES);
    free(text);
    mlt_report_free(report);
    return 0;
}
