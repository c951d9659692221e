// SPDX-License-Identifier: BSD-3-Clause
#include "tools/goal/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

// The choices stand in the order of mlt_collective.
#define CHOICE(UPPER, lower) #lower "|"
static const char collectives[] = MLT_COLLECTIVE_LIST(CHOICE);

typedef struct result_options {
    int is; // mlt_collective; -1: not given
    const char *in, *out;
    uint64_t size, user;
    int commutes; // 0 no, 1 yes; -1: not given
} result_options;

static result_options result_asked = {.is = -1, .commutes = -1};

mlt_arg mlt_result_args[MLT_RESULT_ARGS] = {
    {"is", 0, MLT_ARG_CHOICE, &result_asked.is, "OPERATION", .choices = collectives,
     .help = "what the program should do: barrier, bcast, reduce, allreduce, gather, "
             "allgather, scatter, alltoall, reduce_scatter, scan, exscan or reduce_to; --op "
             "sumInt32, --root, --in-place and --blocks below say more"},
    {"in", 0, MLT_ARG_TEXT, &result_asked.in, "BUFFER",
     .help = "the input: 'name', 'name+offset' or 'offset' (in, or buf of a bcast)"},
    {"out", 0, MLT_ARG_TEXT, &result_asked.out, "BUFFER",
     .help = "the output, in the same way (out, or buf)"},
    {"size", 0, MLT_ARG_SIZE, &result_asked.size, "BYTES", .least = 1,
     .help = "bytes of a block (as many as the buffers have)"},
    {"user-op", 0, MLT_ARG_NUMBER, &result_asked.user, "N", .most = UINT16_MAX,
     .help = "the operation is the user's function N"},
    {"commutes", 0, MLT_ARG_CHOICE, &result_asked.commutes, "no|yes", .choices = "no|yes",
     .help = "whether operands may come in any order (yes; no for --user-op)"},
};

static const char *result_given(const char *names)
{
    return mlt_args_given(MLT_ARG_LIST(mlt_result_args), names);
}

// An option that says nothing about that operation: it is refused, not ignored.
static const char *idle_option(const mlt_source *source)
{
    mlt_collective c = (mlt_collective)result_asked.is;
    bool reduces = mlt_collective_reduces(c);
    bool blocks = c == MLT_COLL_GATHER || c == MLT_COLL_ALLGATHER || c == MLT_COLL_SCATTER;
    bool rooted = mlt_collective_has_root(c);
    bool stays = blocks || c == MLT_COLL_REDUCE || c == MLT_COLL_ALLREDUCE || c == MLT_COLL_SCAN ||
                 c == MLT_COLL_EXSCAN;
    blocks = blocks || c == MLT_COLL_ALLTOALL || c == MLT_COLL_REDUCE_SCATTER;
    bool file = source->form != MLT_SOURCE_ALG; // what shapes an algorithm is not idle
    bool both = mlt_source_given("op") && file;
    char own[80], others[80];
    snprintf(own, sizeof own, "%s%s%s", c == MLT_COLL_BARRIER ? "in out size " : "",
             reduces && !both ? "" : "user-op ", reduces ? "" : "commutes ");
    snprintf(others, sizeof others, "%s%s%s%s%s", reduces ? "" : "op ", rooted ? "" : "root ",
             stays ? "" : "in-place ", blocks ? "" : "blocks ",
             c == MLT_COLL_REDUCE_TO ? "" : "contributors receivers");
    const char *idle = result_given(own);
    return idle || !file ? idle : mlt_source_given(others);
}

static mlt_goal_spec read_is(const mlt_source *source)
{
    const mlt_source_options *from = &mlt_source_asked;
    mlt_goal_spec spec = {.collective = (mlt_collective)result_asked.is,
                          .root = (uint32_t)from->root,
                          .in_place = from->in_place,
                          .starts = source->starts,
                          .type = MLT_OP_TYPES};
    const char *idle = idle_option(source), *name = mlt_collective_names[result_asked.is];
    if (idle)
        mlt_args_wrong("--%s has no meaning for --is %s: leave it out", idle, name);
    if (!mlt_collective_reduces(spec.collective))
        spec.type = MLT_OP_INT8;
    else if (result_given("user-op")) {
        spec.op = MLT_OPS;
        spec.type = MLT_OP_INT8;
        spec.user = (uint32_t)result_asked.user;
    } else if (!from->op)
        mlt_args_wrong(
            "--is %s needs the operation: --op sumInt32, or --user-op N for a function of yours",
            name);
    else if (!mlt_goal_function(from->op, &spec.op, &spec.type) || spec.type == MLT_OP_TYPES ||
             spec.op == MLT_OP_COPY)
        mlt_args_wrong(
            "option --op is '%s', but should be an operation with its type, such as sumInt32",
            from->op);
    spec.commutes = spec.op != MLT_OPS;
    return spec;
}

const mlt_goal_spec *mlt_result_read(const mlt_source *source)
{
    static mlt_goal_spec spec;
    uint32_t ranks = source->program->ranks;
    if (result_asked.is < 0 && source->form != MLT_SOURCE_ALG) {
        // What says how the result is, where nothing asks for a result.
        const char *lost = result_given("in out size user-op commutes");
        lost = lost ? lost : mlt_source_given("op root in-place blocks contributors receivers");
        if (lost)
            mlt_args_wrong("--%s describes the result, so it needs --is", lost);
        return NULL;
    }
    if (result_asked.is < 0 && result_given("user-op"))
        mlt_args_wrong("--user-op needs --is; the algorithm's own operation is another one");
    spec = result_asked.is >= 0 ? read_is(source) : mlt_coll_spec(source->alg, &source->shape);
    if (result_asked.in)
        spec.in = result_asked.in;
    if (result_asked.out)
        spec.out = result_asked.out;
    if (spec.collective == MLT_COLL_REDUCE_TO && result_asked.is >= 0) {
        spec.contributes = mlt_source_ranks("contributors", mlt_source_asked.contributors, ranks);
        spec.receives = mlt_source_ranks("receivers", mlt_source_asked.receivers, ranks);
    }
    if (result_asked.size)
        spec.bytes = result_asked.size;
    if (result_asked.commutes >= 0)
        spec.commutes = result_asked.commutes == 1;
    if (spec.root >= ranks)
        mlt_args_wrong("the root is rank %" PRIu32 ", but there are %" PRIu32
                       " ranks: 0 to %" PRIu32 " are right",
                       spec.root, ranks, ranks - 1);
    return &spec;
}
