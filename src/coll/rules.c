// SPDX-License-Identifier: BSD-3-Clause
// The built-in rules. The first that fits, and whose algorithm does not refuse, decides. Sizes are
// bytes of a block (n of goal/spec.h), or of all ranks' together (total).
//
// Crowded: workers outnumber cores, and what counts is how often one must be switched to before the
// last is done, not how many rounds there are. Then few messages win over short paths. With two
// cores one rank may also do all the work, as they have as much to do in any case; with more than FEW
// the others would look on, so long messages are shared as if there were no crowd.
//
// Ranks that have a core each, 3 and more: blocks of 2 KiB and more are asked for in rules_cores.c
// first, which is simulated.
//
// Over hosts, what counts is how many messages cross the network one after the other. `hosts` and
// `leaders` refuse if no host has two ranks; they ask these rules again for their stages, with reach
// host on each host and reach network, a rank a host, between them.
//
// Reproducible reductions pass over all algorithms that are not canonical; rules that end a list
// say so.
#include "coll/choose.h"

#define RULE(coll, name, text, ...)                                                                \
    {                                                                                              \
        .collective = MLT_COLL_##coll, .alg = name, .by = "built in", .why = text, __VA_ARGS__     \
    }

enum { KI = 1024, MI = 1024 * 1024 };

static const char few_switches[] = "few switches between workers that share cores",
                  fewest_rounds[] = "the fewest rounds for short messages",
                  own_share[] = "long messages: every rank reduces its own share",
                  same_bits[] = "reproducible: the number of ranks alone decides on brackets",
                  no_byte_twice[] = "no byte is sent twice",
                  many_copy[] = "ranks on many cores copy at the same time",
                  a_host[] = "one message for all ranks of a host",
                  few_hosts[] = "few messages between few hosts, one after the other";

enum { FAR = 1 << MLT_REACH_NETWORK, RULES_FEW = 4 }; // FEW: cores, at most

const mlt_coll_rule mlt_coll_rules[] = {
    RULE(BARRIER, "hosts", a_host, .reach = FAR),
    RULE(BARRIER, "linear", few_hosts, .reach = FAR, .ranks_from = 3, .ranks_to = 8),
    RULE(BARRIER, "linear", few_switches, .crowded = 1, .ranks_to = 128),
    RULE(BARRIER, "tree", few_switches, .crowded = 1, .radix = 16),
    RULE(BARRIER, "recursive_doubling", "the fewest rounds for few ranks", .ranks_to = 16),
    RULE(BARRIER, "dissemination", "the fewest rounds for any number of ranks"),

    RULE(BCAST, "hosts", a_host, .reach = FAR, .segment = 1 * MI),
    RULE(BCAST, "linear", few_hosts, .reach = FAR, .ranks_to = 8, .bytes_to = 8 * KI),
    RULE(BCAST, "chain", "two processes: one copies in while the other copies out", .ranks_from = 2,
         .ranks_to = 2, .reach = 1 << MLT_REACH_HOST, .reads = -1, .bytes_from = 24 * KI,
         .bytes_to = 256 * KI, .segment = 8 * KI),
    RULE(BCAST, "binomial", "two ranks: there is nothing to share", .ranks_to = 2),
    RULE(BCAST, "linear", few_switches, .crowded = 1, .ranks_to = 32, .cores_to = RULES_FEW),
    RULE(BCAST, "linear", few_switches, .crowded = 1, .ranks_to = 256, .bytes_to = 256 * KI,
         .cores_to = RULES_FEW),
    RULE(BCAST, "linear", few_switches, .crowded = 1, .ranks_to = 256, .bytes_to = 8 * KI),
    RULE(BCAST, "knomial", few_switches, .crowded = 1, .radix = 8, .cores_to = RULES_FEW),
    RULE(BCAST, "binomial", many_copy, .crowded = 1, .bytes_to = 512 * KI),
    RULE(BCAST, "binomial", fewest_rounds, .bytes_to = 32 * KI),
    RULE(BCAST, "chain", "a pipeline keeps a few ranks busy all the time", .ranks_to = 8,
         .bytes_from = 4 * MI, .segment = 128 * KI),
    RULE(BCAST, "scatter_allgather", "long messages: every rank sends as much as it gets"),

    RULE(REDUCE, "hosts", a_host, .reach = FAR, .segment = 1 * MI),
    RULE(REDUCE, "linear", few_hosts, .reach = FAR, .ranks_to = 8, .bytes_to = 8 * KI),
    RULE(REDUCE, "linear", few_switches, .crowded = 1, .ranks_from = 3, .ranks_to = 64,
         .bytes_to = 128 * KI, .cores_to = RULES_FEW),
    RULE(REDUCE, "linear", few_switches, .crowded = 1, .ranks_from = 3, .ranks_to = 64,
         .bytes_to = 1 * KI),
    RULE(REDUCE, "binomial", fewest_rounds, .bytes_to = 2 * KI),
    RULE(REDUCE, "rabenseifner", own_share),
    RULE(REDUCE, "binomial_pipelined", "keeps the order of operands, and their brackets"),

    RULE(ALLREDUCE, "hosts", a_host, .reach = FAR, .bytes_to = 32 * KI, .segment = 32 * KI),
    RULE(ALLREDUCE, "leaders", "long messages: all ranks of a host use the network", .reach = FAR),
    RULE(ALLREDUCE, "hosts", a_host, .reach = FAR, .segment = 1 * MI),
    RULE(ALLREDUCE, "reduce_bcast", few_hosts, .reach = FAR, .ranks_from = 3, .ranks_to = 8,
         .bytes_to = 8 * KI, .radix = 8),
    RULE(ALLREDUCE, "reduce_bcast", few_switches, .crowded = 1, .ranks_from = 3, .ranks_to = 16,
         .bytes_to = 8 * KI, .radix = 16),
    RULE(ALLREDUCE, "reduce_bcast", few_switches, .crowded = 1, .ranks_from = 3, .bytes_to = 8 * KI,
         .radix = 8),
    RULE(ALLREDUCE, "binomial",
         "pieces that are sent without asking, between workers that share "
         "cores",
         .crowded = 1, .ranks_from = 3, .bytes_to = 256 * KI, .segment = 16 * KI,
         .cores_to = RULES_FEW),
    RULE(ALLREDUCE, "halving_doubling", "the fewest messages that share the work", .crowded = 1,
         .ranks_from = 3),
    RULE(ALLREDUCE, "recursive_doubling", fewest_rounds, .bytes_to = 8 * KI),
    RULE(ALLREDUCE, "ring_segmented", "two processes: pieces that are sent without asking",
         .ranks_from = 2, .ranks_to = 2, .reach = 1 << MLT_REACH_HOST, .reads = -1,
         .bytes_from = 24 * KI, .bytes_to = 256 * KI, .segment = 16 * KI),
    RULE(ALLREDUCE, "recursive_doubling", "two processes: one message that is copied once",
         .ranks_from = 2, .ranks_to = 2, .reads = 1, .bytes_to = 384 * KI),
    RULE(ALLREDUCE, "ring", "long messages, not too many ranks: neighbours only", .ranks_from = 3,
         .ranks_to = 64, .bytes_from = 1 * MI),
    RULE(ALLREDUCE, "rabenseifner", own_share),
    RULE(ALLREDUCE, "recursive_doubling", "keeps the order of operands"),
    RULE(ALLREDUCE, "canonical", same_bits, .bytes_to = 8 * KI),
    RULE(ALLREDUCE, "halving_doubling", same_bits),
    RULE(ALLREDUCE, "binomial", same_bits),

    RULE(GATHER, "hosts", a_host, .reach = FAR, .bytes_to = 8 * KI),
    RULE(GATHER, "linear", few_hosts, .reach = FAR, .ranks_to = 8),
    RULE(GATHER, "linear", few_switches, .crowded = 1, .ranks_to = 64),
    RULE(GATHER, "binomial", fewest_rounds, .bytes_to = 2 * KI),
    RULE(GATHER, "linear", no_byte_twice),
    RULE(SCATTER, "hosts", a_host, .reach = FAR, .bytes_to = 8 * KI),
    RULE(SCATTER, "linear", few_hosts, .reach = FAR, .ranks_to = 8),
    RULE(SCATTER, "linear", few_switches, .crowded = 1, .ranks_to = 64),
    RULE(SCATTER, "binomial", fewest_rounds, .bytes_to = 2 * KI),
    RULE(SCATTER, "linear", no_byte_twice),

    RULE(ALLGATHER, "hosts", a_host, .reach = FAR, .total_to = 256 * KI),
    RULE(ALLGATHER, "gather_bcast", few_hosts, .reach = FAR, .ranks_from = 3, .ranks_to = 8,
         .total_to = 8 * KI),
    RULE(ALLGATHER, "linear", few_switches, .crowded = 1, .ranks_to = 8, .bytes_to = 256),
    RULE(ALLGATHER, "bruck", few_switches, .crowded = 1, .ranks_to = 32, .bytes_from = 1 * KI + 1,
         .bytes_to = 8 * KI, .radix = 2),
    RULE(ALLGATHER, "bruck", few_switches, .crowded = 1, .ranks_to = 32, .bytes_to = 1 * KI,
         .radix = 4),
    RULE(ALLGATHER, "bruck", few_switches, .crowded = 1, .bytes_to = 1 * KI, .radix = 4),
    RULE(ALLGATHER, "linear", "every block is copied once, from its rank's own memory",
         .crowded = 1, .reads = 1, .ranks_to = 32, .bytes_from = 16 * KI + 1),
    RULE(ALLGATHER, "recursive_doubling", few_switches, .crowded = 1, .bytes_to = 4 * MI),
    RULE(ALLGATHER, "recursive_doubling", "the fewest rounds for powers of two",
         .total_to = 512 * KI - 1),
    RULE(ALLGATHER, "bruck", "the fewest rounds for any number of ranks", .total_to = 80 * KI - 1),
    RULE(ALLGATHER, "neighbour_exchange", "half the rounds of a ring, for even numbers",
         .total_to = 512 * KI - 1),
    RULE(ALLGATHER, "ring", "neighbours only, no byte is sent twice"),

    RULE(ALLTOALL, "hosts", a_host, .reach = FAR, .bytes_to = 1 * KI),
    RULE(ALLTOALL, "linear", few_switches, .crowded = 1, .ranks_to = 32, .bytes_to = 8 * KI),
    RULE(ALLTOALL, "bruck", few_switches, .crowded = 1, .bytes_to = 1 * KI, .radix = 4),
    RULE(ALLTOALL, "scattered", "a few messages at once between workers that share cores",
         .crowded = 1, .window = 4),
    RULE(ALLTOALL, "bruck", "few messages for short blocks", .bytes_to = 256, .ranks_from = 8),
    RULE(ALLTOALL, "linear", "all messages at once", .bytes_to = 32 * KI),
    RULE(ALLTOALL, "pairwise", "one partner at a time"),

    RULE(EXCHANGE, "linear", "all messages at once", .bytes_to = 32768),
    RULE(EXCHANGE, "scattered", "some long messages at once"),

    RULE(REDUCE_SCATTER, "hosts", a_host, .reach = FAR, .total_to = 256 * KI),
    RULE(REDUCE_SCATTER, "leaders", "long blocks: a host's share crosses the network once",
         .reach = FAR),
    RULE(REDUCE_SCATTER, "recursive_halving", fewest_rounds, .total_to = 512 * KI - 1),
    RULE(REDUCE_SCATTER, "butterfly", "the fewest rounds that keep the order of operands",
         .total_to = 512 * KI - 1),
    RULE(REDUCE_SCATTER, "pairwise", "no byte is sent twice, in order"),
    RULE(REDUCE_SCATTER, "canonical", same_bits),

    RULE(SCAN, "hosts", a_host, .reach = FAR),
    RULE(SCAN, "linear", few_switches, .crowded = 1, .cores_to = RULES_FEW),
    RULE(SCAN, "recursive_doubling", "the fewest rounds"),
    RULE(SCAN, "butterfly", same_bits),
    RULE(EXSCAN, "hosts", a_host, .reach = FAR),
    RULE(EXSCAN, "linear", few_switches, .crowded = 1, .cores_to = RULES_FEW),
    RULE(EXSCAN, "recursive_doubling", "the fewest rounds"),
    RULE(EXSCAN, "butterfly", same_bits),
    {.alg = 0},
};
