// SPDX-License-Identifier: BSD-3-Clause
// The built-in rules. The first that fits, and whose algorithm does not refuse, decides; so the
// last of a collective is for any case.
#include "coll/choose.h"

#define RULE(coll, name, text, ...)                                                                \
    {                                                                                              \
        .collective = MLT_COLL_##coll, .alg = name, .by = "built in", .why = text, __VA_ARGS__     \
    }

const mlt_coll_rule mlt_coll_rules[] = {
    RULE(BARRIER, "linear", "few switches between processes that share cores", .crowded = 1,
         .ranks_to = 32),
    RULE(BARRIER, "tree", "few switches between processes that share cores", .crowded = 1),
    RULE(BARRIER, "recursive_doubling", "the fewest rounds", .ranks_to = 16),
    RULE(BARRIER, "dissemination", "the fewest rounds for any number of ranks"),

    RULE(BCAST, "binomial", "the fewest rounds for short messages", .bytes_to = 32768),
    RULE(BCAST, "binomial", "two ranks: there is nothing to share", .ranks_to = 2),
    RULE(BCAST, "scatter_allgather", "every rank sends as much as it gets"),

    RULE(REDUCE, "binomial", "the fewest rounds for short messages", .bytes_to = 2048),
    RULE(REDUCE, "rabenseifner", "every rank reduces its share"),
    RULE(REDUCE, "in_order_binary", "keeps the order of operands"),

    RULE(ALLREDUCE, "recursive_doubling", "the fewest rounds for short messages", .bytes_to = 8192),
    RULE(ALLREDUCE, "rabenseifner", "every rank reduces its share"),

    RULE(GATHER, "binomial", "the fewest rounds for short messages", .bytes_to = 2048),
    RULE(GATHER, "linear", "no byte is sent twice"),
    RULE(SCATTER, "binomial", "the fewest rounds for short messages", .bytes_to = 2048),
    RULE(SCATTER, "linear", "no byte is sent twice"),

    RULE(ALLGATHER, "recursive_doubling", "the fewest rounds for powers of two", .bytes_to = 65536),
    RULE(ALLGATHER, "bruck", "the fewest rounds for any number of ranks", .bytes_to = 4096),
    RULE(ALLGATHER, "ring", "neighbours only, no byte is sent twice"),

    RULE(ALLTOALL, "bruck", "few messages for short blocks", .bytes_to = 256, .ranks_from = 8),
    RULE(ALLTOALL, "linear", "all messages at once", .bytes_to = 32768),
    RULE(ALLTOALL, "pairwise", "one partner at a time"),

    RULE(REDUCE_SCATTER, "recursive_halving", "the fewest rounds for short messages",
         .bytes_to = 65536),
    RULE(REDUCE_SCATTER, "pairwise", "no byte is sent twice"),

    RULE(SCAN, "recursive_doubling", "the fewest rounds"),
    RULE(EXSCAN, "recursive_doubling", "the fewest rounds"),
    {.alg = 0},
};
