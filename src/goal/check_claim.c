// SPDX-License-Identifier: BSD-3-Clause
#include "goal/check_claim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"

// ---- sizes, as the table of spec.h says

static bool many_in(mlt_collective c)
{
    return c == MLT_COLL_SCATTER || c == MLT_COLL_ALLTOALL || c == MLT_COLL_REDUCE_SCATTER;
}

static bool many_out(mlt_collective c)
{
    return c == MLT_COLL_GATHER || c == MLT_COLL_ALLGATHER || c == MLT_COLL_ALLTOALL;
}

static bool takes(const mlt_goal_spec *is, uint32_t rank)
{
    bool root = is->collective == MLT_COLL_BCAST || is->collective == MLT_COLL_SCATTER;
    return is->collective != MLT_COLL_BARRIER && (!root || rank == is->root);
}

static bool gives(const mlt_goal_spec *is, uint32_t rank)
{
    if (is->collective == MLT_COLL_EXSCAN)
        return rank != 0;
    bool root = is->collective == MLT_COLL_REDUCE || is->collective == MLT_COLL_GATHER;
    return is->collective != MLT_COLL_BARRIER && (!root || rank == is->root);
}

// ---- places

static void wrong(mlt_check *check, uint32_t rank, const char *format, ...) MLT_PRINTF(3, 4);

// A claim that has no meaning for the program is a fault of whoever made it.
static void wrong(mlt_check *check, uint32_t rank, const char *format, ...)
{
    mlt_goal_finding *finding =
        mlt_check_found(check, MLT_FAULT_INVALID, (mlt_goal_place){rank, MLT_GOAL_NONE},
                        (mlt_goal_place){rank, MLT_GOAL_NONE});
    if (!finding)
        return;
    char text[MLT_CHECK_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mlt_check_say(finding, "this cannot be shown to perform %s: %s",
                  mlt_collective_names[check->options->is->collective], text);
}

static bool any_named(const mlt_goal_program *program)
{
    for (uint32_t r = 0; r < program->ranks; r++)
        if (program->rank[r].buffers_count)
            return true;
    return false;
}

// A number as the language writes them: decimal, or hexadecimal behind 0x.
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
    char names[200] = "no named one";
    size_t used = 0;
    const mlt_goal_rank *r = &check->program->rank[rank];
    for (uint32_t b = 0; b < r->buffers_count && used < sizeof names; b++) {
        int n = snprintf(names + used, sizeof names - used, "%s%s", b ? ", " : "",
                         mlt_goal_name_text(check->program, r->buffers[b].name));
        used += n > 0 ? (size_t)n : 0;
    }
    wrong(check, rank,
          "rank %" PRIu32 " has no buffer %s; it has %s: say what it takes and gives with "
          "--in NAME --out NAME, or OFFSET in plain memory",
          rank, name, names);
}

// "name", "name+offset" or "offset" on a rank. False: there is no such buffer, which is found.
static bool place(mlt_check *check, uint32_t rank, const char *where, mlt_goal_span *out)
{
    size_t length = strcspn(where, "+"); // of the name; names begin with a letter
    bool plain = *where >= '0' && *where <= '9';
    const char *offset = plain ? where : where[length] ? where + length + 1 : "0";
    *out = (mlt_goal_span){.buf = MLT_GOAL_MEMORY};
    if (!length || !read_offset(offset, &out->at)) {
        wrong(check, rank, "'%s' is no place; one is name, name+offset or offset", where);
        return false;
    }
    if (plain)
        return true;
    char *name = strndup(where, length);
    if (!name)
        mlt_fatal("no memory to check a GOAL program");
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
        if ((takes(is, r) && !place(check, r, in, &claim->in[r])) ||
            (gives(is, r) && !place(check, r, out, &claim->out[r])))
            return false;
    return true;
}

// How many blocks the span of a rank has: of in, or of out.
static uint32_t blocks_of(const mlt_claim *claim, bool out)
{
    bool many = out ? many_out(claim->is->collective) : many_in(claim->is->collective);
    return many ? claim->ranks : 1;
}

// What a span says about n: false if it says nothing, which is found. A buffer of no bytes has
// blocks of no bytes; but if nothing is left behind an offset, or not a byte for each rank, then
// there is nothing to be shown, and a claim that holds of nothing is a mistake.
static bool block_of(const mlt_claim *claim, mlt_check *check, uint32_t rank, bool out,
                     uint64_t *block)
{
    mlt_goal_span span = out ? claim->out[rank] : claim->in[rank];
    uint64_t room = room_of(check, rank, span);
    uint32_t blocks = blocks_of(claim, out);
    const char *name = mlt_check_buffer_name(check->program, rank, span.buf);
    *block = room / blocks;
    if (span.buf == MLT_GOAL_MEMORY)
        return true;
    if (room % blocks)
        wrong(check, rank,
              "the size %" PRIu64 " of %s of rank %" PRIu32 " is no multiple of %" PRIu32
              ", the ranks; say the bytes of a block with --size",
              room, name, rank, blocks);
    else if (!room && span.at)
        wrong(check, rank, "%s of rank %" PRIu32 " has no bytes from %" PRIu64 " on", name, rank,
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
            if (!(side ? gives(is, r) : takes(is, r)))
                continue;
            mlt_goal_span span = side ? claim->out[r] : claim->in[r];
            if (!block_of(claim, check, r, side, &here))
                return false;
            if (span.buf == MLT_GOAL_MEMORY) {
                plain = here > plain ? here : plain;
                continue;
            }
            if (block != UINT64_MAX && here != block) {
                wrong(check, r,
                      "the buffers say blocks of %" PRIu64 " bytes, but %s of rank %" PRIu32
                      " says %" PRIu64 "; say the bytes of a block with --size",
                      block, mlt_check_buffer_name(check->program, r, span.buf), r, here);
                return false;
            }
            block = here;
        }
    claim->block = block == UINT64_MAX ? plain : block;
    if (block == UINT64_MAX && !plain)
        wrong(check, 0,
              "no action touches plain memory there; say the bytes of a block with "
              "--size");
    return block != UINT64_MAX || plain;
}

// True if the claim's span is there; if not, that is found.
static bool span_fits(mlt_check *check, uint32_t rank, mlt_goal_span span)
{
    if (!span.size)
        return true;
    if (span.buf == MLT_GOAL_MEMORY) {
        if (span.at > UINT64_MAX - span.size)
            wrong(check, rank, "%" PRIu64 " bytes from %" PRIu64 " on end beyond 2^64", span.size,
                  span.at);
        return span.at <= UINT64_MAX - span.size;
    }
    uint64_t room = room_of(check, rank, span);
    if (room >= span.size)
        return true;
    wrong(check, rank,
          "it needs %" PRIu64 " bytes from %" PRIu64 " on in %s of rank %" PRIu32
          ", which has %" PRIu64 " there",
          span.size, span.at, mlt_check_buffer_name(check->program, rank, span.buf), rank, room);
    return false;
}

static bool size_spans(mlt_claim *claim, mlt_check *check)
{
    const mlt_goal_spec *is = claim->is;
    bool elements = mlt_collective_reduces(is->collective) && is->op < MLT_OPS;
    if (claim->block > UINT64_MAX / 2 / claim->ranks) {
        wrong(check, 0, "blocks of %" PRIu64 " bytes are too large", claim->block);
        return false;
    }
    if (elements && claim->block % mlt_op_type_bytes[is->type]) {
        wrong(check, 0, "a block of %" PRIu64 " bytes is no whole number of elements of %s",
              claim->block, mlt_op_type_names[is->type]);
        return false;
    }
    for (uint32_t r = 0; r < claim->ranks; r++) {
        claim->in[r].size = takes(is, r) ? claim->block * blocks_of(claim, false) : 0;
        claim->out[r].size = gives(is, r) ? claim->block * blocks_of(claim, true) : 0;
        if (!span_fits(check, r, claim->in[r]) || !span_fits(check, r, claim->out[r]))
            return false;
    }
    return true;
}

// ---- the claim

static void name_claim(const mlt_claim *claim, mlt_check *check)
{
    const mlt_goal_spec *is = claim->is;
    char op[64] = "", root[32] = "", size[48] = "", *text;
    if (mlt_collective_reduces(is->collective) && is->op == MLT_OPS)
        snprintf(op, sizeof op, " user %" PRIu32, is->user);
    else if (mlt_collective_reduces(is->collective))
        snprintf(op, sizeof op, " %s%s", mlt_op_names[is->op], mlt_op_type_names[is->type]);
    bool rooted = is->collective == MLT_COLL_BCAST || is->collective == MLT_COLL_REDUCE ||
                  is->collective == MLT_COLL_GATHER || is->collective == MLT_COLL_SCATTER;
    if (rooted)
        snprintf(root, sizeof root, " with root %" PRIu32, is->root);
    if (is->collective != MLT_COLL_BARRIER)
        snprintf(size, sizeof size, ", blocks of %" PRIu64 " %s", claim->block,
                 claim->block == 1 ? "byte" : "bytes");
    if (asprintf(&text, "%s%s over %" PRIu32 " %s%s%s", mlt_collective_names[is->collective], op,
                 claim->ranks, claim->ranks == 1 ? "rank" : "ranks", root, size) < 0)
        text = NULL;
    check->verdict->claim = text;
}

bool mlt_claim_init(mlt_claim *claim, mlt_check *check)
{
    const mlt_goal_spec *is = check->options->is;
    *claim = (mlt_claim){.is = is, .ranks = check->program->ranks, .block = is->bytes};
    claim->in = mlt_take(claim->ranks, sizeof *claim->in);
    claim->out = mlt_take(claim->ranks, sizeof *claim->out);
    bool reduces = mlt_collective_reduces(is->collective), fine = false;
    if (is->root >= claim->ranks)
        wrong(check, 0, "there is no rank %" PRIu32 " to be the root", is->root);
    else if (reduces && (is->op > MLT_OPS || is->op == MLT_OP_COPY ||
                         (is->op < MLT_OPS && is->type >= MLT_OP_TYPES)))
        wrong(check, 0, "that operation does not reduce; sum or max would");
    else
        fine = is->collective == MLT_COLL_BARRIER ||
               (places(claim, check) && (claim->block || derive_block(claim, check)) &&
                size_spans(claim, check));
    if (fine)
        name_claim(claim, check);
    return fine;
}

void mlt_claim_fini(mlt_claim *claim)
{
    free(claim->in);
    free(claim->out);
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

mlt_wanted mlt_claim_wanted(const mlt_claim *claim, uint32_t rank, uint64_t block)
{
    const mlt_goal_spec *is = claim->is;
    uint64_t n = claim->block;
    uint32_t b = (uint32_t)block;
    switch (is->collective) {
    case MLT_COLL_BCAST:
        return (mlt_wanted){is->root, is->root + 1, 0};
    case MLT_COLL_GATHER:
    case MLT_COLL_ALLGATHER:
        return (mlt_wanted){b, b + 1, 0};
    case MLT_COLL_SCATTER:
        return (mlt_wanted){is->root, is->root + 1, rank * n};
    case MLT_COLL_ALLTOALL:
        return (mlt_wanted){b, b + 1, rank * n};
    case MLT_COLL_REDUCE_SCATTER:
        return (mlt_wanted){0, claim->ranks, rank * n};
    case MLT_COLL_SCAN:
        return (mlt_wanted){0, rank + 1, 0};
    case MLT_COLL_EXSCAN:
        return (mlt_wanted){0, rank, 0};
    default:
        return (mlt_wanted){0, claim->ranks, 0};
    }
}
