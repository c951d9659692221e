// SPDX-License-Identifier: BSD-3-Clause

#include "coll/choose.h"
#include "judge/net/cluster.h"
#include "tools/args.h"
#include "tools/coll/tune.h"

enum { SEEDS = 3 };

// One simulation's part of the whole bar.
typedef struct portion {
    mlt_progress *progress;
    double from, share;
} portion;

static void tune_sim_step(void *user, double done)
{
    const portion *p = user;
    mlt_progress_step(p->progress, p->from + p->share * done);
}

static void cost(mlt_tune_case *c, const mlt_tune_candidate *candidate, uint64_t bytes,
                 const mlt_sim_options *machine, portion *part, double *ns, uint64_t *messages)
{
    const char *reason;
    bool crowded =
        machine->cluster && machine->cluster->processors && c->ranks > machine->cluster->processors;
    mlt_coll_question q = mlt_tune_question(c, bytes, MLT_REACH_HOST, crowded);
    mlt_coll_choice choice = {
        .alg = candidate->alg, .segment = candidate->segment, .radix = candidate->radix};
    *ns = -1;
    if (!mlt_coll_suits(candidate->alg, &q, &reason))
        return;
    mlt_coll_shape shape = mlt_coll_choice_shape(&q, &choice);
    mlt_goal_program *program;
    mlt_sim_result *result = NULL;
    mlt_args_must(mlt_coll_program(candidate->alg, &shape, NULL, NULL, &program, MLT_ARGS_WHY));
    uint64_t seeds = machine->cluster && machine->cluster->noise > 0 ? SEEDS : 1;
    double sum = 0;
    part->share /= (double)seeds;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        mlt_sim_options options = *machine;
        options.seed = seed;
        options.progress = tune_sim_step;
        options.user = part;
        if (mlt_sim_simulate(program, &options, &result, MLT_ARGS_WHY) != MLT_OK)
            mlt_args_failed("%s.%s: %s", mlt_collective_names[c->collective], candidate->alg->name,
                            mlt_args_why);
        sum += (double)result->total_ps / 1000;
        *messages = result->messages;
        mlt_sim_result_free(result);
        part->from += part->share;
    }
    *ns = sum / (double)seeds;
    mlt_goal_program_free(program);
}

void mlt_tune_simulate(mlt_tune_case *c, const mlt_loggops *machine, const mlt_cluster *cluster)
{
    mlt_sim_options options = {.machine = *machine, .cluster = cluster};
    for (uint32_t i = 0; i < c->count; i++)
        for (uint32_t s = 0; s < c->sizes; s++) {
            double each = c->share / ((double)c->count * c->sizes);
            portion part = {c->progress, c->done + each * ((double)i * c->sizes + s), each};
            mlt_progress_step(c->progress, part.from);
            cost(c, &c->candidates[i], c->bytes[s], &options, &part, &c->candidates[i].ns[s],
                 &c->candidates[i].messages[s]);
        }
}
