// SPDX-License-Identifier: BSD-3-Clause
#include "judge/check/claim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

// ---- sizes, as the table of spec.h says

static bool many_in(mlt_collective c)
{
    return c == MLT_COLL_SCATTER || c == MLT_COLL_ALLTOALL || c == MLT_COLL_REDUCE_SCATTER;
}

static bool many_out(mlt_collective c)
{
    return c == MLT_COLL_GATHER || c == MLT_COLL_ALLGATHER || c == MLT_COLL_ALLTOALL;
}

static bool to_root(mlt_collective c)
{
    return c == MLT_COLL_REDUCE || c == MLT_COLL_GATHER;
}

static bool can_in_place(mlt_collective c)
{
    return c == MLT_COLL_ALLREDUCE || c == MLT_COLL_SCAN || c == MLT_COLL_EXSCAN ||
           c == MLT_COLL_REDUCE || c == MLT_COLL_ALLGATHER || c == MLT_COLL_GATHER ||
           c == MLT_COLL_SCATTER;
}

static bool can_differ(mlt_collective c)
{
    return c == MLT_COLL_GATHER || c == MLT_COLL_ALLGATHER || many_in(c);
}

// Whether the rank has a buffer in (of a bcast: the root's buf), and out.
static bool has_in(const mlt_goal_spec *is, uint32_t rank)
{
    mlt_collective c = is->collective;
    if (c == MLT_COLL_BARRIER)
        return false;
    if (c == MLT_COLL_REDUCE_TO)
        return !is->contributes || is->contributes[rank];
    if (c == MLT_COLL_BCAST || c == MLT_COLL_SCATTER)
        return rank == is->root;
    return !is->in_place || (to_root(c) && rank != is->root);
}

static bool has_out(const mlt_goal_spec *is, uint32_t rank)
{
    mlt_collective c = is->collective;
    if (c == MLT_COLL_BARRIER)
        return false;
    if (c == MLT_COLL_REDUCE_TO)
        return !is->receives || is->receives[rank];
    if (c == MLT_COLL_EXSCAN)
        return rank != 0 || is->in_place;
    if (c == MLT_COLL_SCATTER)
        return !is->in_place || rank != is->root;
    return !to_root(c) || rank == is->root;
}

static uint64_t weight(const mlt_goal_spec *is, uint32_t rank)
{
    return is->starts[rank + 1] - is->starts[rank];
}

// True if all sizes are known without n.
static bool needs_no_block(const mlt_goal_spec *is)
{
    return is->collective == MLT_COLL_BARRIER || is->collective == MLT_COLL_EXCHANGE ||
           (is->starts && is->collective != MLT_COLL_ALLTOALL);
}

// How many times n bytes in or out has on a rank, if there is an n.
static uint64_t blocks_of(const mlt_claim *claim, uint32_t rank, bool out)
{
    const mlt_goal_spec *is = claim->is;
    if (is->starts) // alltoall
        return weight(is, rank) * is->starts[claim->ranks];
    return (out ? many_out : many_in)(is->collective) ? claim->ranks : 1;
}

static uint64_t bytes_of(const mlt_claim *claim, uint32_t rank, bool out)
{
    const mlt_goal_spec *is = claim->is;
    if (is->collective == MLT_COLL_EXCHANGE)
        return out ? is->parts[rank].out : is->parts[rank].in;
    if (!needs_no_block(is))
        return claim->block * blocks_of(claim, rank, out);
    bool many = (out ? many_out : many_in)(is->collective);
    return (many ? is->starts[claim->ranks] : weight(is, rank)) * claim->element;
}

// ---- places

void mlt_claim_wrong(mlt_check *check, uint32_t rank, const char *format, ...)
{
    char text[MLT_CHECK_TEXT];
    MLT_TEXT_PRINT(text, sizeof text, format);
    mlt_check_tell(check, MLT_FAULT_INVALID, rank, "this cannot be shown to perform %s: %s",
                   mlt_collective_names[check->options->is->collective], text);
}

static bool any_named(const mlt_goal_program *program)
{
    for (uint32_t r = 0; r < program->ranks; r++)
        if (program->rank[r].buffers_count)
            return true;
    return false;
}

// A number as the language writes them: decimal, or hexadecimal after 0x.
static bool read_offset(const char *text, uint64_t *out)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hex ? text + 2 : text;
    size_t length = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
    errno = 0;
    *out = strtoull(digits, NULL, hex ? 16 : 10);
    return length && !digits[length] && !errno;
}

static void no_buffer(mlt_check *check, uint32_t rank, const char *name)
{
    char buffer[200];
    mlt_text names = mlt_text_on(buffer, sizeof buffer);
    const mlt_goal_rank *r = &check->program->rank[rank];
    for (uint32_t b = 0; b < r->buffers_count && !names.cut; b++)
        mlt_text_add(&names, "%s%s", b ? ", " : "",
                     mlt_goal_name_text(check->program, r->buffers[b].name));
    mlt_claim_wrong(check, rank,
                    "rank %u has no buffer %s; it has %s: say what it takes and gives with --in "
                    "NAME --out NAME, or OFFSET in plain memory",
                    rank, name, r->buffers_count ? names.text : "no named one");
}

// "name", "name+offset" or "offset" on a rank. False: there is no such buffer, which is found.
static bool place(mlt_check *check, uint32_t rank, const char *where, mlt_goal_span *out)
{
    size_t length = strcspn(where, "+"); // of the name; names begin with a letter
    bool plain = *where >= '0' && *where <= '9';
    const char *offset = plain ? where : where[length] ? where + length + 1 : "0";
    *out = (mlt_goal_span){.buf = MLT_GOAL_MEMORY};
    if (!length || !read_offset(offset, &out->at)) {
        mlt_claim_wrong(check, rank, "'%s' is no place; one is name, name+offset or offset", where);
        return false;
    }
    if (plain)
        return true;
    char *name = mlt_xcalloc(length + 1, 1);
    memcpy(name, where, length);
    out->buf = mlt_goal_buffer_find(check->program, rank, name);
    if (out->buf == MLT_GOAL_NOWHERE)
        no_buffer(check, rank, name);
    free(name);
    return out->buf != MLT_GOAL_NOWHERE;
}

static uint64_t room_of(const mlt_check *check, uint32_t rank, mlt_goal_span span)
{
    uint64_t size = mlt_goal_buffer_size(check->program, rank, span.buf);
    return size > span.at ? size - span.at : 0;
}

static bool places(mlt_claim *claim, mlt_check *check)
{
    const mlt_goal_spec *is = claim->is;
    bool bcast = is->collective == MLT_COLL_BCAST, named = any_named(check->program);
    const char *in = is->in ? is->in : !named ? "0" : !bcast ? "in" : is->out ? is->out : "buf";
    const char *out = is->out ? is->out : !named ? "0" : !bcast ? "out" : in;
    for (uint32_t r = 0; r < claim->ranks; r++)
        if ((has_in(is, r) && !place(check, r, in, &claim->in[r])) ||
            (has_out(is, r) && !place(check, r, out, &claim->out[r])))
            return false;
    return true;
}

// What a span says about n: false if it says nothing, which is found. A buffer of no bytes has
// blocks of no bytes; but if nothing is left behind an offset, or not a byte for each rank, then
// there is nothing to be shown, and a claim that holds of nothing is a mistake.
static bool block_of(const mlt_claim *claim, mlt_check *check, uint32_t rank, bool out,
                     uint64_t *block)
{
    mlt_goal_span span = out ? claim->out[rank] : claim->in[rank];
    uint64_t room = room_of(check, rank, span);
    uint64_t blocks = blocks_of(claim, rank, out);
    const char *name = mlt_check_buffer_name(check->program, rank, span.buf);
    *block = blocks ? room / blocks : 0;
    if (span.buf == MLT_GOAL_MEMORY || !blocks)
        return true;
    if (room % blocks)
        mlt_claim_wrong(check, rank,
                        "the size %" PRIu64 " of %s of rank %u is no multiple of %" PRIu64
                        ", %s; say the bytes of a block with --size",
                        room, name, rank, blocks, claim->is->starts ? "the weights" : "the ranks");
    else if (!room && span.at)
        mlt_claim_wrong(check, rank, "%s of rank %u has no bytes from %" PRIu64 " on", name, rank,
                        span.at);
    else
        return true;
    return false;
}

// n by the buffers: named ones of all ranks must agree; for plain memory the largest end used.
static bool derive_block(mlt_claim *claim, mlt_check *check)
{
    const mlt_goal_spec *is = claim->is;
    uint64_t block = UINT64_MAX, plain = 0, here;
    for (uint32_t r = 0; r < claim->ranks; r++)
        for (int side = 0; side < 2; side++) {
            if (!(side ? has_out(is, r) : has_in(is, r)) || !blocks_of(claim, r, side))
                continue;
            mlt_goal_span span = side ? claim->out[r] : claim->in[r];
            if (!block_of(claim, check, r, side, &here))
                return false;
            if (span.buf == MLT_GOAL_MEMORY) {
                plain = here > plain ? here : plain;
                continue;
            }
            if (block != UINT64_MAX && here != block) {
                mlt_claim_wrong(check, r,
                                "the buffers say blocks of %" PRIu64
                                " bytes, but %s of rank %u says %" PRIu64
                                "; say the bytes of a block with --size",
                                block, mlt_check_buffer_name(check->program, r, span.buf), r, here);
                return false;
            }
            block = here;
        }
    claim->block = block == UINT64_MAX ? plain : block;
    if (block == UINT64_MAX && !plain && !is->starts)
        mlt_claim_wrong(check, 0,
                        "no action touches plain memory there; say the bytes of a block with "
                        "--size");
    return block != UINT64_MAX || plain || is->starts;
}

// True if the claim's span is there; if not, that is found.
static bool span_fits(mlt_check *check, uint32_t rank, mlt_goal_span span)
{
    if (!span.size)
        return true;
    if (span.buf == MLT_GOAL_MEMORY) {
        if (span.at > UINT64_MAX - span.size)
            mlt_claim_wrong(check, rank, "%" PRIu64 " bytes from %" PRIu64 " on end beyond 2^64",
                            span.size, span.at);
        return span.at <= UINT64_MAX - span.size;
    }
    uint64_t room = room_of(check, rank, span);
    if (room >= span.size)
        return true;
    mlt_claim_wrong(check, rank,
                    "it needs %" PRIu64 " bytes from %" PRIu64
                    " on in %s of rank %u, which has %" PRIu64 " there",
                    span.size, span.at, mlt_check_buffer_name(check->program, rank, span.buf), rank,
                    room);
    return false;
}

// Elements are whole everywhere, and no size is too large to be counted.
static bool sizes_make_sense(const mlt_claim *claim, mlt_check *check)
{
    const mlt_goal_spec *is = claim->is;
    bool reduces = mlt_collective_reduces(is->collective), user = is->op == MLT_OPS;
    uint64_t all = claim->ranks, bytes = user ? claim->element : mlt_op_type_bytes[is->type];
    if (is->starts && is->collective == MLT_COLL_ALLTOALL) {
        uint64_t most = 0;
        for (uint32_t r = 0; r < claim->ranks; r++)
            most = weight(is, r) > most ? weight(is, r) : most;
        if (__builtin_mul_overflow(most, is->starts[claim->ranks], &all))
            all = UINT64_MAX;
    }
    if (all && claim->block > UINT64_MAX / 2 / all) {
        mlt_claim_wrong(check, 0, "blocks of %" PRIu64 " bytes are too large", claim->block);
        return false;
    }
    if (reduces && !is->starts && claim->block % bytes) {
        char text[32];
        snprintf(text, sizeof text, "%" PRIu64 " bytes", bytes);
        mlt_claim_wrong(check, 0,
                        "a block of %" PRIu64 " bytes is no whole number of elements of %s",
                        claim->block, user ? text : mlt_op_type_names[is->type]);
        return false;
    }
    for (uint32_t r = 0; r < claim->ranks && reduces && is->starts; r++)
        if (is->starts[r + 1] * claim->element % bytes) {
            mlt_claim_wrong(check, r, "block %u ends within an element", r);
            return false;
        }
    return true;
}

// What is in place has a span where it is looked for.
static void place_in(mlt_claim *claim, uint32_t rank)
{
    const mlt_goal_spec *is = claim->is;
    bool scatter = is->collective == MLT_COLL_SCATTER;
    bool gather = is->collective == MLT_COLL_GATHER || is->collective == MLT_COLL_ALLGATHER;
    mlt_goal_span whole = scatter ? claim->in[rank] : claim->out[rank];
    if (scatter || gather) {
        whole.at += is->starts ? is->starts[rank] * claim->element : rank * claim->block;
        whole.size = is->starts ? weight(is, rank) * claim->element : claim->block;
    }
    if (scatter && rank == is->root)
        claim->out[rank] = whole;
    else if (!scatter && !has_in(is, rank))
        claim->in[rank] = whole;
}

static bool size_spans(mlt_claim *claim, mlt_check *check)
{
    const mlt_goal_spec *is = claim->is;
    if (!sizes_make_sense(claim, check))
        return false;
    for (uint32_t r = 0; r < claim->ranks; r++) {
        claim->in[r].size = has_in(is, r) ? bytes_of(claim, r, false) : 0;
        claim->out[r].size = has_out(is, r) ? bytes_of(claim, r, true) : 0;
        if (!span_fits(check, r, claim->in[r]) || !span_fits(check, r, claim->out[r]))
            return false;
        if (is->in_place)
            place_in(claim, r);
    }
    return is->collective != MLT_COLL_EXCHANGE || mlt_claim_parts(claim, check);
}

// ---- the claim

static void name_claim(const mlt_claim *claim, mlt_check *check)
{
    const mlt_goal_spec *is = claim->is;
    char op[64] = "", root[32] = "", size[48] = "", *text;
    if (mlt_collective_reduces(is->collective) && is->op == MLT_OPS)
        snprintf(op, sizeof op, " user %u", is->user);
    else if (mlt_collective_reduces(is->collective))
        snprintf(op, sizeof op, " %s%s", mlt_op_names[is->op], mlt_op_type_names[is->type]);
    if (mlt_collective_has_root(is->collective))
        snprintf(root, sizeof root, " with root %u", is->root);
    if (is->collective == MLT_COLL_EXCHANGE)
        snprintf(size, sizeof size, ", %" PRIu64 " messages", claim->pieces_at[claim->ranks]);
    else if (needs_no_block(is) && is->starts)
        snprintf(size, sizeof size, ", blocks of %" PRIu64 " bytes in all",
                 is->starts[claim->ranks] * claim->element);
    else if (is->collective != MLT_COLL_BARRIER)
        snprintf(size, sizeof size, ", blocks of %" PRIu64 " %s", claim->block,
                 claim->block == 1 ? "byte" : "bytes");
    if (asprintf(&text, "%s%s over %u %s%s%s%s%s", mlt_collective_names[is->collective], op,
                 claim->ranks, claim->ranks == 1 ? "rank" : "ranks", root, size,
                 is->starts && !needs_no_block(is) ? " times the weights" : "",
                 is->in_place ? ", in place" : "") < 0)
        text = NULL;
    check->verdict->claim = text;
}

// Leaves in the order of those that bring something.
static void number_leaves(mlt_claim *claim)
{
    const mlt_goal_spec *is = claim->is;
    bool all = is->collective != MLT_COLL_REDUCE_TO;
    for (uint32_t r = 0; r < claim->ranks; r++) {
        claim->leaf[r] = MLT_GOAL_NONE;
        if (!all && !has_in(is, r))
            continue;
        claim->rank_of[claim->leaves] = r;
        claim->leaf[r] = claim->leaves++;
    }
}

// What is wrong with the claim whatever the program; or NULL.
static const char *claim_fault(const mlt_claim *claim)
{
    const mlt_goal_spec *is = claim->is;
    const char *no_op = "that operation does not reduce; sum or max would";
    if (mlt_collective_reduces(is->collective) && (is->op > MLT_OPS || is->op == MLT_OP_COPY ||
                                                   (is->op < MLT_OPS && is->type >= MLT_OP_TYPES)))
        return no_op;
    if (is->in_place && !can_in_place(is->collective))
        return "it is not done in place";
    if (is->collective == MLT_COLL_EXCHANGE && !is->parts)
        return "the lists of its messages are not given";
    if (!claim->leaves)
        return "nobody contributes";
    if (!is->starts)
        return NULL;
    if (!can_differ(is->collective))
        return "it has no blocks that could differ";
    if (is->starts[0])
        return "the first block does not begin at 0";
    for (uint32_t r = 0; r < claim->ranks; r++)
        if (is->starts[r + 1] < is->starts[r])
            return "a block ends before it begins";
    return is->starts[claim->ranks] > UINT64_MAX / 2 / claim->element ? "its blocks are too large"
                                                                      : NULL;
}

bool mlt_claim_init(mlt_claim *claim, mlt_check *check)
{
    const mlt_goal_spec *is = check->options->is;
    *claim = (mlt_claim){.is = is, .ranks = check->program->ranks, .block = is->bytes};
    claim->element = is->element ? is->element : 1;
    claim->in = mlt_xcalloc(claim->ranks, sizeof *claim->in);
    claim->out = mlt_xcalloc(claim->ranks, sizeof *claim->out);
    claim->leaf = mlt_xcalloc(claim->ranks, sizeof *claim->leaf);
    claim->rank_of = mlt_xcalloc(claim->ranks, sizeof *claim->rank_of);
    number_leaves(claim);
    const char *fault = claim_fault(claim);
    bool fine = false;
    if (is->root >= claim->ranks)
        mlt_claim_wrong(check, 0, "there is no rank %u to be the root", is->root);
    else if (fault)
        mlt_claim_wrong(check, 0, "%s", fault);
    else
        fine = is->collective == MLT_COLL_BARRIER ||
               (places(claim, check) &&
                (claim->block || needs_no_block(is) || derive_block(claim, check)) &&
                size_spans(claim, check));
    if (fine)
        name_claim(claim, check);
    return fine;
}

void mlt_claim_fini(mlt_claim *claim)
{
    free(claim->in);
    free(claim->out);
    free(claim->leaf);
    free(claim->rank_of);
    free(claim->pieces);
    free(claim->pieces_at);
}

mlt_value_op mlt_claim_op(const mlt_claim *claim)
{
    const mlt_goal_spec *is = claim->is;
    if (!mlt_collective_reduces(is->collective))
        return (mlt_value_op){.op = MLT_OP_COPY};
    return (mlt_value_op){.op = (uint8_t)is->op,
                          .type = is->op == MLT_OPS ? 0 : (uint8_t)is->type,
                          .user = is->op == MLT_OPS ? (uint16_t)is->user : 0};
}

// The block of out that byte `at` is in, of a rank that has several: its number, where it begins
// and its size. `unit` is the bytes of what starts count there.
static uint32_t block_at(const mlt_claim *claim, uint64_t at, uint64_t unit, uint64_t *from,
                         uint64_t *size)
{
    const uint64_t *starts = claim->is->starts;
    if (!starts) {
        *from = at / claim->block * claim->block;
        *size = claim->block;
        return (uint32_t)(at / claim->block);
    }
    uint32_t rank = MLT_ARRAY_SEARCH(r, claim->ranks, starts[r] * unit <= at) - 1;
    *from = starts[rank] * unit;
    *size = (starts[rank + 1] - starts[rank]) * unit;
    return rank;
}

static mlt_wanted piece_at(const mlt_claim *claim, uint32_t rank, uint64_t at)
{
    const mlt_claim_piece *piece = claim->pieces + claim->pieces_at[rank];
    uint64_t count = claim->pieces_at[rank + 1] - claim->pieces_at[rank];
    uint64_t first = MLT_ARRAY_SEARCH(i, count, piece[i].at + piece[i].bytes <= at);
    if (first == count)
        return (mlt_wanted){.before = true, .offset = at, .length = UINT64_MAX - at};
    piece += first; // the first that ends after `at`
    if (at < piece->at)
        return (mlt_wanted){.before = true, .offset = at, .length = piece->at - at};
    return (mlt_wanted){piece->from, piece->from + 1, piece->offset + (at - piece->at),
                        piece->bytes - (at - piece->at), false};
}

// Where the block of a rank begins in what has one for each.
static uint64_t claim_start_of(const mlt_claim *claim, uint32_t rank)
{
    const uint64_t *starts = claim->is->starts;
    return starts ? starts[rank] * claim->element : rank * claim->block;
}

mlt_wanted mlt_claim_wanted(const mlt_claim *claim, uint32_t rank, uint64_t at)
{
    const mlt_goal_spec *is = claim->is;
    uint64_t from = 0, size = claim->out[rank].size, n = claim->block;
    uint32_t low = 0, high = claim->leaves, b;
    uint64_t offset = 0;
    switch (is->collective) {
    case MLT_COLL_EXCHANGE:
        return piece_at(claim, rank, at);
    case MLT_COLL_BCAST:
        low = is->root;
        high = low + 1;
        break;
    case MLT_COLL_GATHER:
    case MLT_COLL_ALLGATHER:
        low = block_at(claim, at, claim->element, &from, &size);
        high = low + 1;
        break;
    case MLT_COLL_SCATTER:
        low = is->root;
        high = low + 1;
        offset = claim_start_of(claim, rank);
        break;
    case MLT_COLL_ALLTOALL:
        b = block_at(claim, at, is->starts ? weight(is, rank) * n : 0, &from, &size);
        low = b;
        high = b + 1;
        offset = is->starts ? weight(is, b) * is->starts[rank] * n : rank * n;
        break;
    case MLT_COLL_REDUCE_SCATTER:
        offset = claim_start_of(claim, rank);
        break;
    case MLT_COLL_SCAN:
        high = rank + 1;
        break;
    case MLT_COLL_EXSCAN: // in place, rank 0 keeps what it has
        high = rank ? rank : 1;
        break;
    default:
        break;
    }
    return (mlt_wanted){low, high, offset + (at - from), size - (at - from), false};
}
