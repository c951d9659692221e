// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as flight recorders, and as names of functions: what mpirun makes of them is lines that a
// terminal can show, at most one for each rank.
//
// The input: two recorders, one after the other, then names.
#include "launch/watch/calls.h"

#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>

#include "boot/recorder.h"

enum { WORKERS = 2, RANKS = 3 };

static void check(mlt_text *text)
{
    uint32_t lines = 0;
    fuzz_check_lines(mlt_text_so_far(text), text->length);
    for (size_t i = 0; i < text->length; i++)
        lines += text->text[i] == '\n';
    FUZZ_CHECK(lines <= WORKERS * RANKS + 1);
    mlt_text_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static mlt_job *job;
    mlt_placement_proc proc = {.workers = WORKERS, .ranks = WORKERS * RANKS};
    mlt_placement plan = {.procs = &proc,
                          .proc_count = 1,
                          .workers = WORKERS,
                          .ranks = WORKERS * RANKS,
                          .host_count = 1};
    const uint32_t workers = WORKERS, ranks = RANKS, app = 0;
    mlt_job_plan wanted = {.procs = 1,
                           .workers_of_proc = &workers,
                           .ranks_a_worker = &ranks,
                           .app_of_proc = &app,
                           .cores = 1};
    int fd;
    char why[256];
    if (!job && mlt_job_new(&wanted, &job, &fd, why, sizeof why) != MLT_OK)
        abort();
    char *room = (char *)mlt_recorder_at(job, 0);
    size_t most = WORKERS * sizeof(mlt_recorder) + sizeof(mlt_recorder_names);
    memset(room, 0, most);
    memcpy(room, data, size < most ? size : most);
    if (size <= WORKERS * sizeof(mlt_recorder)) // else the names would all be empty
        memset(mlt_recorder_names_at(job)->names, 'n', sizeof mlt_recorder_names_at(job)->names);
    mlt_text text = {0};
    mlt_calls_of_host(&text, job, &plan, 0);
    check(&text);
    for (int32_t rank = -1; rank <= WORKERS * RANKS; rank++) {
        mlt_calls_of_proc(&text, job, &plan, 0, rank);
        check(&text);
    }
    return 0;
}
