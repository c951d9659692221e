// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts, reductions and allreduces over trees (pipe.h): a row each, which says the trees that
// it goes along. `shape` is the operation's shape.
#include "coll/alg/alg_int.h"
#include "coll/alg/pipe.h"

// DOES: bcast, reduce or allreduce, and KIND the same in capitals. What follows PIPE is what the
// algorithm can do and uses.
#define PIPES_TREE_ALG(DOES, KIND, NAME, HELP, PIPE, ...)                                          \
    static void emit_##DOES##_##NAME(const mlt_coll_shape *shape, mlt_goal_program *program,       \
                                     uint32_t rank)                                                \
    {                                                                                              \
        mlt_pipe pipe = PIPE;                                                                      \
        mlt_pipe_##DOES(shape, program, rank, &pipe);                                              \
    }                                                                                              \
    const mlt_coll_alg mlt_##DOES##_##NAME = {.collective = MLT_COLL_##KIND,                       \
                                              .name = #NAME,                                       \
                                              .help = HELP,                                        \
                                              .emit = emit_##DOES##_##NAME,                        \
                                              __VA_ARGS__}

// ---- bcast

// Pipelined binary tree: v passes segments on to 2v+1 and 2v+2 as they come.
PIPES_TREE_ALG(bcast, BCAST, binary,
               "pipeline of segments down a binary tree: long messages, many ranks",
               mlt_pipe_of(shape, &mlt_tree_binary, shape->root, 0, true), .uses_segment = true);

// Chain: each rank passes segments on to the next as they come.
PIPES_TREE_ALG(bcast, BCAST, chain,
               "pipeline of segments from rank to rank: very long messages, few ranks",
               mlt_pipe_of(shape, &mlt_tree_chain, shape->root, 0, true), .uses_segment = true);

// Double binary tree: every other segment goes down either tree. As the leaves of one
// pass on in the other, every rank sends about as much as it gets.
PIPES_TREE_ALG(bcast, BCAST, double_binary,
               "segments down two trees, inner ranks of one are leaves of the other: long messages",
               mlt_pipe_double(shape, shape->root), .uses_segment = true);

// K-nomial tree: flatter than the binomial one, with more children a rank. The largest
// subtree is served first.
PIPES_TREE_ALG(bcast, BCAST, knomial,
               "tree with --radix k (4): short messages where sending costs less than waiting",
               mlt_pipe_of(shape, &mlt_tree_knomial, shape->root, mlt_tree_radix(shape), false),
               .uses_radix = true, .refuses = mlt_tree_refuses);

// Pipelined k-nomial tree: segments are passed on to all children as they come.
PIPES_TREE_ALG(bcast, BCAST, knomial_pipelined,
               "pipeline of segments down a tree with --radix k (4): medium messages",
               mlt_pipe_of(shape, &mlt_tree_knomial, shape->root, mlt_tree_radix(shape), true),
               .uses_segment = true, .uses_radix = true, .refuses = mlt_tree_refuses);

// ---- reduce

// Binomial tree: aligned groups of 2, 4, 8, ... ranks are joined, at the root if it is
// one of them; so the order of ranks is kept, and the brackets are the same whatever the root.
PIPES_TREE_ALG(reduce, REDUCE, binomial, "binomial tree, ceil(log2 P) rounds: short messages",
               mlt_pipe_of(shape, &mlt_tree_knomial, shape->root, 2, false), .in_order = true,
               .canonical = true, .in_place = true);

// Pipelined binomial tree: as binomial, in segments.
PIPES_TREE_ALG(reduce, REDUCE, binomial_pipelined,
               "pipeline of segments up a binomial tree: medium messages, reproducible",
               mlt_pipe_of(shape, &mlt_tree_knomial, shape->root, 2, true), .in_order = true,
               .canonical = true, .in_place = true, .uses_segment = true);

// K-nomial tree. The order is that of the ranks, whatever the root.
PIPES_TREE_ALG(reduce, REDUCE, knomial,
               "tree with --radix k (4): short messages where receiving costs less than waiting",
               mlt_pipe_of(shape, &mlt_tree_knomial, shape->root, mlt_tree_radix(shape), false),
               .in_order = true, .in_place = true, .uses_radix = true, .refuses = mlt_tree_refuses);

// Pipelined k-nomial tree, in the order of ranks, whatever the root.
PIPES_TREE_ALG(reduce, REDUCE, knomial_pipelined,
               "pipeline of segments up a tree with --radix k (4): medium messages",
               mlt_pipe_of(shape, &mlt_tree_knomial, shape->root, mlt_tree_radix(shape), true),
               .in_order = true, .in_place = true, .uses_segment = true, .uses_radix = true,
               .refuses = mlt_tree_refuses);

// Chain: segments come from the next rank, are reduced and passed on towards the root.
PIPES_TREE_ALG(reduce, REDUCE, chain,
               "pipeline of segments from rank to rank: very long messages, few ranks",
               mlt_pipe_of(shape, &mlt_tree_chain, shape->root, 0, true), .in_place = true,
               .uses_segment = true);

// In-order binary tree, pipelined. The root of the tree is the root itself; the ranks
// below it are one subtree, those above it the other, and a subtree's root is its middle. A rank
// reduces left op own op right, so the order is that of the ranks, whatever the root.
PIPES_TREE_ALG(
    reduce, REDUCE, in_order_binary,
    "pipelined binary tree that keeps the order of ranks: operations that do not commute",
    mlt_pipe_of(shape, &mlt_tree_in_order, shape->root, 0, true), .in_order = true,
    .in_place = true, .uses_segment = true);

// Double binary tree: every other segment goes up either tree; inner ranks of one are
// leaves of the other.
PIPES_TREE_ALG(reduce, REDUCE, double_binary,
               "segments up two trees, inner ranks of one are leaves of the other: long messages",
               mlt_pipe_double(shape, shape->root), .in_place = true, .uses_segment = true);

// ---- allreduce

// Reduction and broadcast: up a k-nomial tree to rank 0, and down again. `out` is where
// partial results are built on the way up.
PIPES_TREE_ALG(allreduce, ALLREDUCE, reduce_bcast,
               "up and down a tree with --radix k (2): the fewest messages, 2(P-1)",
               mlt_pipe_of(shape, &mlt_tree_knomial, 0, shape->radix ? shape->radix : 2, false),
               .in_order = true, .in_place = true, .uses_radix = true, .refuses = mlt_tree_refuses);

// Reduction and broadcast over a binomial tree in segments, rank 0 on top: the brackets
// do not depend on the count.
PIPES_TREE_ALG(allreduce, ALLREDUCE, binomial,
               "segments up and down a binomial tree: few messages, reproducible",
               mlt_pipe_of(shape, &mlt_tree_knomial, 0, 2, true), .in_order = true,
               .canonical = true, .in_place = true, .uses_segment = true);

// Reduction and broadcast over an in-order binary tree in segments. The middle rank is
// on top.
PIPES_TREE_ALG(allreduce, ALLREDUCE, binary,
               "segments up and down a binary tree: long messages, many ranks",
               mlt_pipe_of(shape, &mlt_tree_in_order, shape->ranks / 2, 0, true), .in_order = true,
               .in_place = true, .uses_segment = true);

// Double binary tree: every other segment goes up and down either tree; inner ranks of
// one are leaves of the other, so sending and receiving are shared evenly.
PIPES_TREE_ALG(allreduce, ALLREDUCE, double_binary,
               "segments up and down two trees, work shared evenly: long messages, many ranks",
               mlt_pipe_double(shape, 0), .in_order = true, .in_place = true, .uses_segment = true);

// Reduction and broadcast along a chain in segments, rank 0 at its end.
PIPES_TREE_ALG(allreduce, ALLREDUCE, chain,
               "segments along a chain and back: very long messages, few ranks",
               mlt_pipe_of(shape, &mlt_tree_chain, 0, 0, true), .in_order = true, .in_place = true,
               .uses_segment = true);
