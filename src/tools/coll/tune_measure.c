// SPDX-License-Identifier: BSD-3-Clause
// Measuring: one job a candidate, with its algorithm forced. Rank 0 of the program colltune prints
// a line for each size: bytes, and nanoseconds of the slowest rank.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tools/coll/tune.h"
#include "tools/mpirun.h"

typedef struct hearing {
    mlt_tune_case *c;
    mlt_tune_candidate *candidate;
    uint32_t heard; // sizes
    double before;  // candidates, of all
} hearing;

static void hear(FILE *from, void *user)
{
    hearing *h = user;
    char line[256];
    while (fgets(line, sizeof line, from)) {
        uint64_t bytes;
        double ns;
        if (sscanf(line, "%" SCNu64 " %lf", &bytes, &ns) != 2)
            continue;
        for (uint32_t s = 0; s < h->c->sizes; s++)
            if (h->c->bytes[s] == bytes && ns >= 0) {
                h->candidate->ns[s] = ns;
                h->heard++;
            }
        mlt_progress_step(h->c->progress,
                          h->c->done + h->c->share * (h->before + (double)h->heard / h->c->sizes) /
                                           h->c->count);
    }
}

// The sizes that the candidate can do, as the program wants them: "8,32,128". Their number.
static uint32_t say_sizes(const mlt_tune_case *c, const mlt_tune_candidate *candidate,
                          const mlt_tune_job *job, char *text, size_t size)
{
    uint32_t count = 0;
    size_t n = 0;
    text[0] = '\0';
    for (uint32_t s = 0; s < c->sizes; s++) {
        const char *reason;
        mlt_coll_question q = mlt_tune_question(
            c, c->bytes[s], job->threads ? MLT_REACH_PROCESS : MLT_REACH_HOST, job->crowded);
        candidate->ns[s] = -1;
        if (!mlt_coll_suits(candidate->alg, &q, &reason))
            continue;
        n += (size_t)snprintf(text + n, size - n, "%s%" PRIu64, count ? "," : "", c->bytes[s]);
        count++;
    }
    return count;
}

static int measure_one(mlt_tune_case *c, uint32_t index, const mlt_tune_job *job,
                       const mlt_mpirun *mpirun)
{
    mlt_tune_candidate *candidate = &c->candidates[index];
    hearing h = {c, candidate, 0, index};
    char sizes[MLT_TUNE_SIZES * 24], ranks[16], force[160], parameters[64] = "", budget[24];
    uint32_t wanted = say_sizes(c, candidate, job, sizes, sizeof sizes);
    if (!wanted)
        return MLT_ARGS_GO;
    if (candidate->segment)
        snprintf(parameters, sizeof parameters, ":segment=%" PRIu64, candidate->segment);
    size_t n = strlen(parameters);
    if (candidate->radix)
        snprintf(parameters + n, sizeof parameters - n, ":radix=%" PRIu32, candidate->radix);
    snprintf(force, sizeof force, "%s=%s%s", mlt_collective_names[c->collective],
             candidate->alg->name, parameters);
    snprintf(ranks, sizeof ranks, "%" PRIu32, c->ranks);
    snprintf(budget, sizeof budget, "%" PRIu64, job->budget_ms);
    mlt_arg_texts argv = {NULL, 0};
    const char *const head[] = {mpirun->path, "-n",        ranks,
                                "--quiet",    "--workers", job->threads ? "thread" : "process",
                                "--force",    force};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        mlt_arg_texts_add(&argv, head[i]);
    if (job->file) {
        mlt_arg_texts_add(&argv, "--coll");
        mlt_arg_texts_add(&argv, job->file);
    }
    for (char **word = job->mpirun; word && *word; word++)
        mlt_arg_texts_add(&argv, *word);
    const char *const tail[] = {mpirun->ranks, mlt_collective_names[c->collective], sizes, budget};
    for (size_t i = 0; i < sizeof tail / sizeof *tail; i++)
        mlt_arg_texts_add(&argv, tail[i]);
    int code = mlt_mpirun_run(c->command, force, (char **)argv.items, hear, &h);
    mlt_arg_texts_free(&argv);
    if (code == MLT_ARGS_GO && h.heard != wanted)
        code =
            mlt_args_failed(c->command, "colltune reported %" PRIu32 " of %" PRIu32 " times for %s",
                            h.heard, wanted, force);
    return code;
}

int mlt_tune_measure(mlt_tune_case *c, const mlt_tune_job *job)
{
    mlt_mpirun *mpirun = mlt_take(1, sizeof *mpirun);
    int code = mlt_mpirun_find(c->command, "colltune", mpirun);
    for (uint32_t i = 0; i < c->count && code == MLT_ARGS_GO; i++)
        code = measure_one(c, i, job, mpirun);
    free(mpirun);
    return code;
}
