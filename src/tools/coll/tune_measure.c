// SPDX-License-Identifier: BSD-3-Clause
// Measuring: one job a candidate, with its algorithm forced. Rank 0 of the program colltune prints
// a line for each size: bytes, and nanoseconds of the slowest rank.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "coll/where.h"
#include "tools/args.h"
#include "tools/coll/tune.h"
#include "tools/mpirun.h"

typedef struct hearing {
    mlt_tune_case *c;
    mlt_tune_candidate *candidate;
    uint32_t heard; // sizes
    double before;  // candidates, of all
} hearing;

static void tune_measure_hear(FILE *from, void *user)
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
    mlt_text list = mlt_text_on(text, size);
    for (uint32_t s = 0; s < c->sizes; s++) {
        const char *reason;
        mlt_coll_question q = mlt_tune_question(
            c, c->bytes[s], job->threads ? MLT_REACH_PROCESS : MLT_REACH_HOST, job->crowded);
        candidate->ns[s] = -1;
        if (!mlt_coll_suits(candidate->alg, &q, &reason))
            continue;
        mlt_text_add(&list, "%s%" PRIu64, count++ ? "," : "", c->bytes[s]);
    }
    return count;
}

// ---- jobs

static void add_words(mlt_arg_texts *argv, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mlt_arg_texts_add(argv, words[i]);
}

enum { NUMBER_BYTES = 16 };

// mpirun and its options, up to the program of the ranks. argv points to `ranks`, the caller's.
static void begin_job(const mlt_tune_case *c, const mlt_tune_job *job, const mlt_mpirun *mpirun,
                      mlt_arg_texts *argv, char ranks[NUMBER_BYTES])
{
    snprintf(ranks, NUMBER_BYTES, "%" PRIu32, c->ranks);
    const char *const head[] = {mpirun->path, "-n",        ranks,
                                "--quiet",    "--workers", job->threads ? "thread" : "process"};
    add_words(argv, head, sizeof head / sizeof *head);
    if (job->hosts)
        add_words(argv, (const char *const[]){"--hosts", job->hosts}, 2);
    if (job->file)
        add_words(argv, (const char *const[]){"--coll", job->file}, 2);
}

static void end_job(const mlt_tune_job *job, const mlt_mpirun *mpirun, const char *what,
                    const char *sizes, const char *budget, mlt_arg_texts *argv)
{
    for (char **word = job->mpirun; *word; word++)
        mlt_arg_texts_add(argv, *word);
    add_words(argv, (const char *const[]){mpirun->ranks, what, sizes, budget}, 4);
}

// ---- where ranks are

enum { TUNE_MEASURE_LONGEST_NAME = 256 };

typedef struct places {
    uint32_t ranks, heard;
    char (*name)[TUNE_MEASURE_LONGEST_NAME]; // [ranks]
} places;

static void hear_places(FILE *from, void *user)
{
    places *p = user;
    char line[TUNE_MEASURE_LONGEST_NAME + 32], name[TUNE_MEASURE_LONGEST_NAME];
    while (fgets(line, sizeof line, from)) {
        uint32_t rank;
        if (sscanf(line, "%" SCNu32 " %255s", &rank, name) != 2 || rank >= p->ranks)
            continue;
        strcpy(p->name[rank], name);
        p->heard++;
    }
}

// Setting pretend_hosts counts, as it does for the ranks (coll/where.h).
static bool pretends(uint32_t *hosts, bool *in_turn)
{
    const char *wish = getenv("MILLET_PRETEND_HOSTS"), *order = getenv("MILLET_PRETEND_ORDER");
    *hosts = wish ? (uint32_t)strtoul(wish, NULL, 10) : 0;
    *in_turn = order && strcmp(order, "turn") == 0;
    return *hosts > 1;
}

static mlt_coll_hosts *map_of(const places *p)
{
    uint32_t *number = mlt_xcalloc(p->ranks, sizeof *number), hosts = p->ranks;
    bool in_turn, pretended = pretends(&hosts, &in_turn);
    hosts = pretended && hosts < p->ranks ? hosts : p->ranks;
    for (uint32_t r = 0; r < p->ranks; r++) {
        while (!pretended && strcmp(p->name[number[r]], p->name[r]) != 0)
            number[r]++; // the first rank of its host
        if (pretended)
            number[r] = mlt_coll_dealt(r, p->ranks, hosts, in_turn);
    }
    mlt_coll_hosts *map = mlt_coll_hosts_new(p->ranks, number, hosts);
    return map->hosts > 1 ? map : NULL;
}

void mlt_tune_locate(mlt_tune_case *c, const mlt_tune_job *job)
{
    uint32_t hosts;
    bool in_turn;
    if (!job->hosts && !*job->mpirun && !pretends(&hosts, &in_turn))
        return;
    mlt_mpirun mpirun = mlt_mpirun_find("colltune");
    places p = {.ranks = c->ranks, .name = mlt_xcalloc(c->ranks, sizeof *p.name)};
    char ranks[NUMBER_BYTES];
    mlt_arg_texts argv = {NULL, 0};
    begin_job(c, job, &mpirun, &argv, ranks);
    end_job(job, &mpirun, "where", "0", "0", &argv);
    mlt_mpirun_run("asking where ranks are", (char **)argv.items, hear_places, &p);
    if (p.heard != c->ranks)
        mlt_args_failed("colltune told the hosts of %" PRIu32 " ranks of %" PRIu32, p.heard,
                        c->ranks);
    c->hosts = map_of(&p);
}

// ---- measuring

static void measure_one(mlt_tune_case *c, uint32_t index, const mlt_tune_job *job,
                        const mlt_mpirun *mpirun)
{
    mlt_tune_candidate *candidate = &c->candidates[index];
    hearing h = {c, candidate, 0, index};
    char sizes[MLT_TUNE_SIZES * 24], ranks[NUMBER_BYTES], budget[24];
    uint32_t wanted = say_sizes(c, candidate, job, sizes, sizeof sizes);
    if (!wanted)
        return;
    mlt_text text = {0};
    mlt_text_add(&text, "%s=%s", mlt_collective_names[c->collective], candidate->alg->name);
    if (candidate->segment)
        mlt_text_add(&text, ":segment=%" PRIu64, candidate->segment);
    if (candidate->radix)
        mlt_text_add(&text, ":radix=%" PRIu32, candidate->radix);
    const char *force = text.text;
    snprintf(budget, sizeof budget, "%" PRIu64, job->budget_ms);
    mlt_arg_texts argv = {NULL, 0};
    begin_job(c, job, mpirun, &argv, ranks);
    add_words(&argv, (const char *const[]){"--force", force}, 2);
    end_job(job, mpirun, mlt_collective_names[c->collective], sizes, budget, &argv);
    mlt_mpirun_run(force, (char **)argv.items, tune_measure_hear, &h);
    if (h.heard != wanted)
        mlt_args_failed("colltune reported %" PRIu32 " of %" PRIu32 " times for %s", h.heard,
                        wanted, force);
}

void mlt_tune_measure(mlt_tune_case *c, const mlt_tune_job *job)
{
    mlt_mpirun mpirun = mlt_mpirun_find("colltune");
    for (uint32_t i = 0; i < c->count; i++)
        measure_one(c, i, job, &mpirun);
}
