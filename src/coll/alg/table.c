// SPDX-License-Identifier: BSD-3-Clause
// All algorithms, a row each: what it is and when it wins, what it can do and uses (alg.h). Files
// are named like the functions here: mlt_alg_bcast_linear is in bcast/linear.c, those over trees are
// in pipe.c and gather_tree.c, those over hosts in hosts/.
#include "coll/alg/alg_int.h"
#include "coll/alg/hosts/stage.h"
#include "coll/alg/reduce_to.h"
#include "coll/alg/tree.h"

// After the function come the help and what the algorithm can do.
#define ALG(KIND, NAME, EMIT, ...)                                                                 \
    &(const mlt_coll_alg)                                                                          \
    {                                                                                              \
        .collective = MLT_COLL_##KIND, .name = #NAME, .emit = EMIT, .help = __VA_ARGS__            \
    }

// What many of them have.
#define ALG_IN_PLACE  .in_place = true
#define ALG_UNEVEN    .uneven = true
#define ALG_IN_ORDER  .in_order = true
#define ALG_CANONICAL .in_order = true, .canonical = true
#define ALG_SEGMENT   .uses_segment = true
#define ALG_RADIX     .uses_radix = true, .refuses = mlt_tree_refuses
#define ALG_HOSTS     .uses_hosts = true, .refuses = mlt_hierarchy_refuses

const mlt_coll_alg *const mlt_coll_algs[] = {
    ALG(BARRIER, dissemination, mlt_alg_barrier_dissemination,
        "--radix n ways (1), ceil(log(n+1) P) rounds, any P", .uses_radix = true),
    ALG(BARRIER, double_ring, mlt_alg_barrier_double_ring,
        "a token goes round twice: one message at a time, between neighbours only"),
    ALG(BARRIER, linear, mlt_alg_barrier_linear,
        "all tell rank 0, which tells all: a handful of ranks"),
    ALG(BARRIER, tree, mlt_alg_barrier_tree,
        "up and down a tree with --radix k (4): the fewest messages, 2(P-1)", ALG_RADIX),
    ALG(BARRIER, recursive_doubling, mlt_alg_barrier_recursive_doubling,
        "log2 P rounds of exchanges: P a power of two, or small"),
    ALG(BARRIER, hosts, mlt_alg_barrier_hosts,
        "up a tree with --radix k (16) on each host, between the leaders of hosts, down",
        .uses_hosts = true, .uses_radix = true, .refuses = mlt_alg_barrier_hosts_refuses),

    ALG(BCAST, binomial, mlt_alg_bcast_binomial,
        "binomial tree, ceil(log2 P) rounds: short messages"),
    // K-nomial tree: flatter than the binomial one, with more children a rank. The largest
    // subtree is served first.
    ALG(BCAST, knomial, mlt_alg_bcast_pipe,
        "tree with --radix k (4): short messages where sending costs less than waiting",
        .tree = &mlt_tree_knomial, ALG_RADIX),
    // Pipelined k-nomial tree: segments are passed on to all children as they come.
    ALG(BCAST, knomial_pipelined, mlt_alg_bcast_pipe,
        "pipeline of segments down a tree with --radix k (4): medium messages",
        .tree = &mlt_tree_knomial, ALG_SEGMENT, ALG_RADIX),
    ALG(BCAST, linear, mlt_alg_bcast_linear, "the root sends to each: a handful of ranks"),
    // Chain: each rank passes segments on to the next as they come.
    ALG(BCAST, chain, mlt_alg_bcast_pipe,
        "pipeline of segments from rank to rank: very long messages, few ranks",
        .tree = &mlt_tree_chain, ALG_SEGMENT),
    // Pipelined binary tree: v passes segments on to 2v+1 and 2v+2 as they come.
    ALG(BCAST, binary, mlt_alg_bcast_pipe,
        "pipeline of segments down a binary tree: long messages, many ranks",
        .tree = &mlt_tree_binary, ALG_SEGMENT),
    ALG(BCAST, split_binary, mlt_alg_bcast_split_binary,
        "either half down a binary tree in segments, then exchanged: long messages", ALG_SEGMENT),
    // Double binary tree: every other segment goes down either tree. As the leaves of one
    // pass on in the other, every rank sends about as much as it gets.
    ALG(BCAST, double_binary, mlt_alg_bcast_pipe,
        "segments down two trees, inner ranks of one are leaves of the other: long messages",
        .tree = mlt_tree_double, ALG_SEGMENT),
    ALG(BCAST, circulant, mlt_alg_bcast_circulant,
        "segments over a circulant graph in the fewest rounds, any P: long messages", ALG_SEGMENT),
    ALG(BCAST, scatter_allgather, mlt_alg_bcast_scatter_ring,
        "pieces scattered by a binomial tree, gathered around a ring: long messages"),
    ALG(BCAST, scatter_doubling, mlt_alg_bcast_scatter_doubling,
        "pieces scattered, then gathered by doubling: medium messages, powers of two",
        .refuses = mlt_fold_refuses),
    ALG(BCAST, hosts, mlt_alg_bcast_hosts,
        "from the root to a leader of each host, and from there to its ranks", ALG_SEGMENT,
        ALG_HOSTS),
    ALG(BCAST, leaders, mlt_alg_bcast_leaders,
        "all ranks of the root's host send a piece to other hosts, which gather: long messages",
        .uses_hosts = true, .refuses = mlt_alg_leaders_refuses),

    // Binomial tree: aligned groups of 2, 4, 8, ... ranks are joined, at the root if it is
    // one of them; so the order of ranks is kept, and the brackets are the same whatever the root.
    ALG(REDUCE, binomial, mlt_alg_reduce_pipe, "binomial tree, ceil(log2 P) rounds: short messages",
        .tree = &mlt_tree_knomial, ALG_CANONICAL, ALG_IN_PLACE),
    // Pipelined binomial tree: as binomial, in segments.
    ALG(REDUCE, binomial_pipelined, mlt_alg_reduce_pipe,
        "pipeline of segments up a binomial tree: medium messages, reproducible",
        .tree = &mlt_tree_knomial, ALG_CANONICAL, ALG_IN_PLACE, ALG_SEGMENT),
    // K-nomial tree. The order is that of the ranks, whatever the root.
    ALG(REDUCE, knomial, mlt_alg_reduce_pipe,
        "tree with --radix k (4): short messages where receiving costs less than waiting",
        .tree = &mlt_tree_knomial, ALG_IN_ORDER, ALG_IN_PLACE, ALG_RADIX),
    // Pipelined k-nomial tree, in the order of ranks, whatever the root.
    ALG(REDUCE, knomial_pipelined, mlt_alg_reduce_pipe,
        "pipeline of segments up a tree with --radix k (4): medium messages",
        .tree = &mlt_tree_knomial, ALG_IN_ORDER, ALG_IN_PLACE, ALG_SEGMENT, ALG_RADIX),
    ALG(REDUCE, linear, mlt_alg_reduce_linear,
        "the root receives from each, in order: a handful of ranks", ALG_IN_ORDER, ALG_IN_PLACE),
    ALG(REDUCE, gather, mlt_alg_reduce_gather,
        "the root receives all at once, then reduces: a handful of ranks, reproducible",
        ALG_CANONICAL, ALG_IN_PLACE),
    ALG(REDUCE, arrival, mlt_alg_reduce_arrival,
        "a tree with --radix k (2); messages are combined as they arrive: ranks that come late",
        ALG_IN_ORDER, ALG_IN_PLACE, ALG_RADIX),
    // Chain: segments come from the next rank, are reduced and passed on towards the root.
    ALG(REDUCE, chain, mlt_alg_reduce_pipe,
        "pipeline of segments from rank to rank: very long messages, few ranks",
        .tree = &mlt_tree_chain, ALG_IN_PLACE, ALG_SEGMENT),
    // In-order binary tree, pipelined. The root of the tree is the root itself; the ranks
    // below it are one subtree, those above it the other, and a subtree's root is its middle. A rank
    // reduces left op own op right, so the order is that of the ranks, whatever the root.
    ALG(REDUCE, in_order_binary, mlt_alg_reduce_pipe,
        "pipelined binary tree that keeps the order of ranks: operations that do not commute",
        .tree = &mlt_tree_in_order, ALG_IN_ORDER, ALG_IN_PLACE, ALG_SEGMENT),
    // Double binary tree: every other segment goes up either tree; inner ranks of one are
    // leaves of the other.
    ALG(REDUCE, double_binary, mlt_alg_reduce_pipe,
        "segments up two trees, inner ranks of one are leaves of the other: long messages",
        .tree = mlt_tree_double, ALG_IN_PLACE, ALG_SEGMENT),
    ALG(REDUCE, circulant, mlt_alg_reduce_circulant,
        "segments over a circulant graph in the fewest rounds, any P: long messages", ALG_IN_PLACE,
        ALG_SEGMENT),
    ALG(REDUCE, rabenseifner, mlt_alg_reduce_rabenseifner,
        "halving, then gathering: 2 log2 P rounds: long messages", ALG_IN_PLACE),
    ALG(REDUCE, hosts, mlt_alg_reduce_hosts,
        "on each host to its leader, then between leaders to the root", ALG_CANONICAL, ALG_IN_PLACE,
        ALG_SEGMENT, ALG_HOSTS),

    ALG(ALLREDUCE, recursive_doubling, mlt_alg_allreduce_recursive_doubling,
        "log2 P exchanges of the whole block: short messages", ALG_IN_ORDER, ALG_IN_PLACE),
    ALG(ALLREDUCE, recursive_multiplying, mlt_alg_allreduce_recursive_multiplying,
        "up to --radix k (4) tell each other in a round: short messages, fewer rounds",
        ALG_IN_ORDER, ALG_IN_PLACE, ALG_RADIX),
    ALG(ALLREDUCE, canonical, mlt_alg_allreduce_canonical,
        "recursive doubling in brackets that do not depend on P's factors: reproducible",
        ALG_CANONICAL, ALG_IN_PLACE),
    ALG(ALLREDUCE, dissemination, mlt_alg_allreduce_dissemination,
        "--radix n ways (1), ceil(log(n+1) P) rounds, any P: short messages, commuting operations",
        ALG_IN_PLACE, .uses_radix = true, .refuses = mlt_alg_allreduce_dissemination_refuses),
    ALG(ALLREDUCE, rabenseifner, mlt_alg_allreduce_rabenseifner,
        "halving, then doubling: 2 log2 P rounds and the fewest bytes: long messages", ALG_IN_ORDER,
        ALG_IN_PLACE),
    ALG(ALLREDUCE, halving_doubling, mlt_alg_allreduce_rabenseifner,
        "rabenseifner for powers of two, where it is reproducible: long messages", ALG_CANONICAL,
        ALG_IN_PLACE, .refuses = mlt_fold_refuses),
    ALG(ALLREDUCE, circulant, mlt_alg_allreduce_circulant,
        "2 ceil(log2 P) rounds and the fewest bytes for any P: long messages, commuting",
        ALG_IN_PLACE),
    ALG(ALLREDUCE, ring, mlt_alg_allreduce_ring,
        "2(P-1) steps between neighbours, the fewest bytes: long messages, not many ranks",
        ALG_IN_PLACE),
    ALG(ALLREDUCE, ring_segmented, mlt_alg_allreduce_ring,
        "the ring with pieces in segments: reduces while it receives: very long messages",
        ALG_IN_PLACE, ALG_SEGMENT, .refuses = mlt_alg_allreduce_ring_refuses),
    // Reduction and broadcast: up a k-nomial tree to rank 0, and down again. `out` is where
    // partial results are built on the way up.
    ALG(ALLREDUCE, reduce_bcast, mlt_alg_allreduce_pipe,
        "up and down a tree with --radix k (2): the fewest messages, 2(P-1)",
        .tree = &mlt_tree_knomial, ALG_IN_ORDER, ALG_IN_PLACE, ALG_RADIX),
    // Reduction and broadcast over a binomial tree in segments, rank 0 on top: the brackets
    // do not depend on the count.
    ALG(ALLREDUCE, binomial, mlt_alg_allreduce_pipe,
        "segments up and down a binomial tree: few messages, reproducible",
        .tree = &mlt_tree_knomial, ALG_CANONICAL, ALG_IN_PLACE, ALG_SEGMENT),
    // Reduction and broadcast over an in-order binary tree in segments. The middle rank is
    // on top.
    ALG(ALLREDUCE, binary, mlt_alg_allreduce_pipe,
        "segments up and down a binary tree: long messages, many ranks", .tree = &mlt_tree_in_order,
        ALG_IN_ORDER, ALG_IN_PLACE, ALG_SEGMENT),
    // Double binary tree: every other segment goes up and down either tree; inner ranks of
    // one are leaves of the other, so sending and receiving are shared evenly.
    ALG(ALLREDUCE, double_binary, mlt_alg_allreduce_pipe,
        "segments up and down two trees, work shared evenly: long messages, many ranks",
        .tree = mlt_tree_double, ALG_IN_ORDER, ALG_IN_PLACE, ALG_SEGMENT),
    // Reduction and broadcast along a chain in segments, rank 0 at its end.
    ALG(ALLREDUCE, chain, mlt_alg_allreduce_pipe,
        "segments along a chain and back: very long messages, few ranks", .tree = &mlt_tree_chain,
        ALG_IN_ORDER, ALG_IN_PLACE, ALG_SEGMENT),
    ALG(ALLREDUCE, allgather, mlt_alg_reduce_gather,
        "everybody tells everybody: no waiting twice: very short messages, a handful of ranks",
        ALG_CANONICAL, ALG_IN_PLACE),
    ALG(ALLREDUCE, hosts, mlt_alg_allreduce_hosts,
        "reduce on each host, allreduce between leaders, bcast: short messages", ALG_CANONICAL,
        ALG_IN_PLACE, ALG_SEGMENT, ALG_HOSTS),
    ALG(ALLREDUCE, leaders, mlt_alg_allreduce_leaders,
        "reduce_scatter on each host, all its ranks exchange with other hosts: long messages",
        ALG_CANONICAL, ALG_IN_PLACE, .uses_hosts = true, .refuses = mlt_alg_leaders_refuses),

    ALG(GATHER, linear, mlt_alg_gather_linear, "the root receives from each: long messages",
        ALG_IN_PLACE, ALG_UNEVEN),
    ALG(GATHER, binomial, mlt_alg_gather_tree, "binomial tree, ceil(log2 P) rounds: short messages",
        ALG_IN_PLACE, ALG_UNEVEN),
    ALG(GATHER, knomial, mlt_alg_gather_tree, "k-nomial tree: short messages, many ranks",
        ALG_IN_PLACE, ALG_UNEVEN, ALG_RADIX),
    ALG(GATHER, linear_sync, mlt_alg_gather_linear_sync,
        "the root asks a few at a time for their blocks: very long messages, many ranks",
        ALG_IN_PLACE, ALG_UNEVEN, .uses_window = true),
    ALG(GATHER, hosts, mlt_alg_gather_hosts,
        "on each host to its leader, then between leaders: short blocks", ALG_IN_PLACE, ALG_UNEVEN,
        ALG_HOSTS),

    ALG(SCATTER, linear, mlt_alg_scatter_linear, "the root sends to each: long messages",
        ALG_IN_PLACE, ALG_UNEVEN),
    ALG(SCATTER, binomial, mlt_alg_scatter_tree,
        "binomial tree, ceil(log2 P) rounds: short messages", ALG_IN_PLACE, ALG_UNEVEN),
    ALG(SCATTER, knomial, mlt_alg_scatter_tree, "k-nomial tree: short messages, many ranks",
        ALG_IN_PLACE, ALG_UNEVEN, ALG_RADIX),
    ALG(SCATTER, hosts, mlt_alg_scatter_hosts,
        "from the root to a leader of each host, and from there to its ranks: short blocks",
        ALG_IN_PLACE, ALG_UNEVEN, ALG_HOSTS),

    ALG(ALLGATHER, ring, mlt_alg_allgather_ring, "P - 1 steps between neighbours: long messages",
        ALG_IN_PLACE, ALG_UNEVEN),
    ALG(ALLGATHER, bruck, mlt_alg_allgather_bruck,
        "ceil(logk P) rounds for any P (k: 2): short messages", ALG_IN_PLACE, ALG_UNEVEN,
        ALG_RADIX),
    ALG(ALLGATHER, recursive_doubling, mlt_alg_allgather_recursive_doubling,
        "log2 P exchanges, each twice as long: P a power of two, short messages", ALG_IN_PLACE,
        ALG_UNEVEN, .refuses = mlt_alg_allgather_recursive_doubling_refuses),
    ALG(ALLGATHER, neighbour_exchange, mlt_alg_allgather_neighbour_exchange,
        "P/2 steps between neighbours: long messages, P even", ALG_IN_PLACE, ALG_UNEVEN,
        .refuses = mlt_alg_neighbour_exchange_refuses),
    ALG(ALLGATHER, linear, mlt_alg_allgather_linear,
        "each sends to each at once: a handful of ranks", ALG_IN_PLACE, ALG_UNEVEN),
    ALG(ALLGATHER, sparbit, mlt_alg_allgather_sparbit,
        "ceil(log2 P) steps of halving distance, each block to its place: middling messages",
        ALG_IN_PLACE, ALG_UNEVEN),
    ALG(ALLGATHER, gather_bcast, mlt_alg_allgather_gather_bcast,
        "all blocks to rank 0 and back: the fewest messages, 2(P-1): short blocks, few ranks",
        ALG_IN_PLACE, ALG_UNEVEN),
    ALG(ALLGATHER, hosts, mlt_alg_allgather_hosts,
        "gather on each host, allgather between leaders, bcast on each host: short blocks",
        ALG_IN_PLACE, ALG_UNEVEN, ALG_HOSTS),

    ALG(ALLTOALL, linear, mlt_alg_alltoall_linear,
        "all messages at once: middling messages, few ranks", ALG_UNEVEN),
    ALG(ALLTOALL, pairwise, mlt_alg_alltoall_pairwise,
        "P - 1 steps, one partner each way at a time: long messages", ALG_UNEVEN),
    ALG(ALLTOALL, bruck, mlt_alg_alltoall_bruck,
        "ceil(logk P) rounds (k: 2), half of the blocks in each: very short messages", ALG_UNEVEN,
        ALG_RADIX),
    ALG(ALLTOALL, scattered, mlt_alg_alltoall_linear,
        "a limited number of messages at once: middling messages, many ranks", ALG_UNEVEN,
        .uses_window = true),
    ALG(ALLTOALL, hosts, mlt_alg_alltoall_hosts,
        "gather on each host, one message for each pair of hosts, scatter: short blocks",
        ALG_UNEVEN, ALG_HOSTS),

    ALG(REDUCE_SCATTER, recursive_halving, mlt_alg_reduce_scatter_recursive_halving,
        "log2 P exchanges, each half as long: short messages", ALG_UNEVEN),
    ALG(REDUCE_SCATTER, ring, mlt_alg_reduce_scatter_ring,
        "P - 1 steps between neighbours: long messages", ALG_UNEVEN),
    ALG(REDUCE_SCATTER, pairwise, mlt_alg_reduce_scatter_pairwise,
        "P - 1 steps, one partner each way at a time: long messages", ALG_IN_ORDER, ALG_UNEVEN),
    ALG(REDUCE_SCATTER, canonical, mlt_alg_reduce_scatter_canonical,
        "reduced at rank 0, then scattered: reproducible, operations that do not commute",
        ALG_CANONICAL, ALG_UNEVEN),
    ALG(REDUCE_SCATTER, recursive_doubling, mlt_alg_reduce_scatter_recursive_doubling,
        "log2 P exchanges of all blocks, nothing is packed: very short messages", ALG_IN_ORDER,
        ALG_UNEVEN),
    ALG(REDUCE_SCATTER, butterfly, mlt_alg_reduce_scatter_butterfly,
        "log2 P exchanges, each half as long, blocks are packed: short messages", ALG_IN_ORDER,
        ALG_UNEVEN),
    ALG(REDUCE_SCATTER, hosts, mlt_alg_reduce_scatter_hosts,
        "reduce on each host, reduce_scatter between leaders, scatter: short blocks", ALG_CANONICAL,
        ALG_UNEVEN, ALG_HOSTS),
    ALG(REDUCE_SCATTER, leaders, mlt_alg_reduce_scatter_leaders,
        "on each host, then each of its ranks with those of other hosts: long blocks",
        ALG_CANONICAL, ALG_UNEVEN, .uses_hosts = true, .refuses = mlt_alg_leaders_refuses),

    ALG(SCAN, linear, mlt_alg_scan_linear, "from rank to rank: the fewest messages, P - 1",
        ALG_IN_ORDER, ALG_IN_PLACE),
    ALG(SCAN, recursive_doubling, mlt_alg_scan_recursive_doubling,
        "ceil(log2 P) rounds: short messages", ALG_IN_ORDER, ALG_IN_PLACE),
    ALG(SCAN, butterfly, mlt_alg_scan_butterfly,
        "ceil(log2 P) rounds in fixed brackets: short messages, reproducible", ALG_CANONICAL,
        ALG_IN_PLACE),
    ALG(SCAN, hosts, mlt_alg_scan_hosts,
        "on each host, then what the hosts before have reduced: the fewest messages between",
        ALG_IN_ORDER, ALG_IN_PLACE, .uses_hosts = true, .refuses = mlt_alg_scan_hosts_refuses),

    ALG(EXSCAN, linear, mlt_alg_exscan_linear, "from rank to rank: the fewest messages, P - 1",
        ALG_IN_ORDER, ALG_IN_PLACE),
    ALG(EXSCAN, recursive_doubling, mlt_alg_exscan_recursive_doubling,
        "ceil(log2 P) rounds: short messages", ALG_IN_ORDER, ALG_IN_PLACE),
    ALG(EXSCAN, butterfly, mlt_alg_scan_butterfly,
        "ceil(log2 P) rounds in fixed brackets: short messages, reproducible", ALG_CANONICAL,
        ALG_IN_PLACE),
    ALG(EXSCAN, hosts, mlt_alg_exscan_hosts,
        "on each host, then what the hosts before have reduced: the fewest messages between",
        ALG_IN_ORDER, ALG_IN_PLACE, .uses_hosts = true, .refuses = mlt_alg_scan_hosts_refuses),

    ALG(REDUCE_TO, aspen, mlt_alg_reduce_to_aspen,
        "halving, doubling, telling: any contributors and receivers, several at once balanced",
        .refuses = mlt_reduce_to_refuses),
    ALG(REDUCE_TO, binomial, mlt_alg_reduce_to_binomial,
        "up a tree over contributors, down one over receivers: operations that do not commute",
        ALG_IN_ORDER, .refuses = mlt_reduce_to_refuses),
    ALG(REDUCE_TO, linear, mlt_alg_reduce_to_linear,
        "each contributor tells each receiver: few ranks that share cores", ALG_IN_ORDER,
        .refuses = mlt_reduce_to_refuses),

    ALG(EXCHANGE, scattered, mlt_alg_exchange_scattered,
        "a limited number of messages at once: many of them", .uses_window = true),
    ALG(EXCHANGE, linear, mlt_alg_exchange_linear, "all messages at once: few of them"),
    ALG(EXCHANGE, pairwise, mlt_alg_exchange_pairwise,
        "one partner each way at a time: long messages"),
    NULL,
};
