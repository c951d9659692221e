// SPDX-License-Identifier: BSD-3-Clause
#include "tools/goal/result.h"

#include <inttypes.h>
#include <string.h>

// The choices stand in the order of mlt_collective.
#define CHOICE(UPPER, lower) #lower "|"
static const char collectives[] = MLT_COLLECTIVE_LIST(CHOICE);

void mlt_result_args(mlt_result_options *options, mlt_arg out[MLT_RESULT_ARGS])
{
    *options = (mlt_result_options){
        .is = -1, .size = MLT_NOT_GIVEN, .user = MLT_NOT_GIVEN, .commutes = -1};
    const mlt_arg lines[MLT_RESULT_ARGS] = {
        {"is", 0, MLT_ARG_CHOICE, &options->is, "OPERATION", .choices = collectives,
         .help = "what the program should do: barrier, bcast, reduce, allreduce, gather, "
                 "allgather, scatter, alltoall, reduce_scatter, scan or exscan; --op sumInt32, "
                 "--root, --in-place and --blocks below say more"},
        {"in", 0, MLT_ARG_TEXT, &options->in, "BUFFER",
         .help = "the input: 'name', 'name+offset' or 'offset' (in, or buf of a bcast)"},
        {"out", 0, MLT_ARG_TEXT, &options->out, "BUFFER",
         .help = "the output, in the same way (out, or buf)"},
        {"size", 0, MLT_ARG_SIZE, &options->size, "BYTES", .least = 1,
         .help = "bytes of a block (as many as the buffers have)"},
        {"user-op", 0, MLT_ARG_NUMBER, &options->user, "N", .most = UINT16_MAX,
         .help = "the operation is the user's function N"},
        {"commutes", 0, MLT_ARG_CHOICE, &options->commutes, "no|yes", .choices = "no|yes",
         .help = "whether operands may come in any order (yes; no for --user-op)"},
    };
    memcpy(out, lines, sizeof lines);
}

// An option that says what the result is, where nothing asks for a result.
static const char *lost_option(const mlt_result_options *options, const mlt_source_options *from)
{
    return options->in                      ? "--in"
           : options->out                   ? "--out"
           : options->size != MLT_NOT_GIVEN ? "--size"
           : options->user != MLT_NOT_GIVEN ? "--user-op"
           : options->commutes >= 0         ? "--commutes"
           : from->op                       ? "--op"
           : from->root != MLT_NOT_GIVEN    ? "--root"
           : from->in_place                 ? "--in-place"
           : from->blocks                   ? "--blocks"
                                            : NULL;
}

// An option that says nothing about that operation: it is refused, not ignored.
static const char *idle_option(const mlt_result_options *options, const mlt_source_options *from,
                               const mlt_source *source)
{
    mlt_collective c = (mlt_collective)options->is;
    bool barrier = c == MLT_COLL_BARRIER, reduces = mlt_collective_reduces(c);
    bool rooted = c == MLT_COLL_BCAST || c == MLT_COLL_REDUCE || c == MLT_COLL_GATHER ||
                  c == MLT_COLL_SCATTER;
    bool file = source->form != MLT_SOURCE_ALG; // what shapes an algorithm is not idle
    bool stays = c == MLT_COLL_REDUCE || c == MLT_COLL_ALLREDUCE || c == MLT_COLL_SCAN ||
                 c == MLT_COLL_EXSCAN || c == MLT_COLL_GATHER || c == MLT_COLL_ALLGATHER ||
                 c == MLT_COLL_SCATTER;
    bool blocks = c == MLT_COLL_GATHER || c == MLT_COLL_ALLGATHER || c == MLT_COLL_SCATTER ||
                  c == MLT_COLL_ALLTOALL || c == MLT_COLL_REDUCE_SCATTER;
    bool both = from->op && options->user != MLT_NOT_GIVEN && file;
    return barrier && options->in                                 ? "--in"
           : barrier && options->out                              ? "--out"
           : barrier && options->size != MLT_NOT_GIVEN            ? "--size"
           : (!reduces || both) && options->user != MLT_NOT_GIVEN ? "--user-op"
           : !reduces && from->op && file                         ? "--op"
           : !reduces && options->commutes >= 0                   ? "--commutes"
           : !rooted && from->root != MLT_NOT_GIVEN && file       ? "--root"
           : !stays && from->in_place && file                     ? "--in-place"
           : !blocks && from->blocks && file                      ? "--blocks"
                                                                  : NULL;
}

static int read_is(const mlt_arg_command *command, const mlt_result_options *options,
                   const mlt_source_options *from, const mlt_source *source, mlt_goal_spec *spec)
{
    *spec = (mlt_goal_spec){.collective = (mlt_collective)options->is,
                            .root = (uint32_t)mlt_given_or(from->root, 0),
                            .in_place = from->in_place,
                            .starts = source->starts,
                            .type = MLT_OP_TYPES};
    bool reduces = mlt_collective_reduces(spec->collective);
    const char *idle = idle_option(options, from, source);
    if (idle)
        return mlt_args_wrong(command, "%s has no meaning for --is %s: leave it out", idle,
                              mlt_collective_names[options->is]);
    if (!reduces)
        spec->type = MLT_OP_INT8;
    else if (options->user != MLT_NOT_GIVEN) {
        spec->op = MLT_OPS;
        spec->type = MLT_OP_INT8;
        spec->user = (uint32_t)options->user;
    } else if (!from->op) {
        return mlt_args_wrong(command,
                              "--is %s needs the operation: --op sumInt32, or --user-op N for a "
                              "function of yours",
                              mlt_collective_names[options->is]);
    } else if (!mlt_source_function(from->op, &spec->op, &spec->type) ||
               spec->type == MLT_OP_TYPES || spec->op == MLT_OP_COPY) {
        return mlt_args_wrong(command,
                              "option --op is '%s', but should be an operation with its type, such "
                              "as sumInt32",
                              from->op);
    }
    spec->commutes = spec->op != MLT_OPS;
    return MLT_ARGS_GO;
}

int mlt_result_read(const mlt_arg_command *command, const mlt_result_options *options,
                    const mlt_source_options *from, const mlt_source *source, mlt_goal_spec *spec,
                    bool *known)
{
    *known = options->is >= 0 || source->form == MLT_SOURCE_ALG;
    if (!*known) {
        const char *lost = lost_option(options, from);
        if (lost)
            return mlt_args_wrong(command, "%s describes the result, so it needs --is", lost);
        return MLT_ARGS_GO;
    }
    if (options->is >= 0) {
        int code = read_is(command, options, from, source, spec);
        if (code != MLT_ARGS_GO)
            return code;
    } else if (options->user != MLT_NOT_GIVEN) {
        return mlt_args_wrong(command, "--user-op needs --is; the algorithm's own operation is "
                                       "another one");
    } else {
        *spec = mlt_coll_spec(source->alg, &source->shape);
    }
    if (options->in)
        spec->in = options->in;
    if (options->out)
        spec->out = options->out;
    if (options->size != MLT_NOT_GIVEN)
        spec->bytes = options->size;
    if (options->commutes >= 0)
        spec->commutes = options->commutes == 1;
    if (spec->root >= source->program->ranks)
        return mlt_args_wrong(command,
                              "the root is rank %" PRIu32 ", but there are %" PRIu32
                              " ranks: 0 to %" PRIu32 " are right",
                              spec->root, source->program->ranks, source->program->ranks - 1);
    return MLT_ARGS_GO;
}
