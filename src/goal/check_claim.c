// SPDX-License-Identifier: BSD-3-Clause
#include "goal/check_claim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

// "name", "name+offset" or "offset" on a rank. False: there is no such buffer, which is found.
static bool place(mlt_check *check, uint32_t rank, const char *where, mlt_goal_span *out)
{
    const char *plus = strchr(where, '+');
    const char *number = plus ? plus + 1 : where;
    char *end = NULL, name[256];
    uint64_t at = *number >= '0' && *number <= '9' ? strtoull(number, &end, 0) : 0;
    *out = (mlt_goal_span){MLT_GOAL_MEMORY, at, 0};
    if (end && !*end && !plus)
        return true;
    if (plus && (!end || *end)) {
        wrong(check, rank, "%s is no place; one is name, name+offset or offset", where);
        return false;
    }
    snprintf(name, sizeof name, "%.*s", (int)(plus ? plus - where : (ptrdiff_t)strlen(where)),
             where);
    out->buf = mlt_goal_buffer_find(check->program, rank, name);
    if (out->buf != MLT_GOAL_NOWHERE)
        return true;
    char names[200] = "no named one";
    size_t used = 0;
    const mlt_goal_rank *r = &check->program->rank[rank];
    for (uint32_t b = 0; b < r->buffers_count && used < sizeof names; b++) {
        int n = snprintf(names + used, sizeof names - used, "%s%s", b ? ", " : "",
                         mlt_goal_name_text(check->program, r->buffers[b].name));
        used += n > 0 ? (size_t)n : 0;
    }
    wrong(check, rank, "rank %" PRIu32 " has no buffer %s; it has %s", rank, name, names);
    return false;
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

// n by the buffers: named ones of all ranks must agree; for plain memory the largest end used.
static bool derive_block(mlt_claim *claim, mlt_check *check)
{
    const mlt_goal_spec *is = claim->is;
    uint64_t block = UINT64_MAX, plain = 0;
    for (uint32_t r = 0; r < claim->ranks; r++)
        for (int side = 0; side < 2; side++) {
            if (!(side ? gives(is, r) : takes(is, r)))
                continue;
            mlt_goal_span span = side ? claim->out[r] : claim->in[r];
            bool many = side ? many_out(is->collective) : many_in(is->collective);
            uint64_t room = room_of(check, r, span) / (many ? claim->ranks : 1);
            if (span.buf == MLT_GOAL_MEMORY) {
                plain = room > plain ? room : plain;
                continue;
            }
            if (block != UINT64_MAX && room != block) {
                wrong(check, r,
                      "the buffers say blocks of %" PRIu64 " bytes, but %s of rank %" PRIu32
                      " says %" PRIu64 "; name the bytes of a block",
                      block, mlt_check_buffer_name(check->program, r, span.buf), r, room);
                return false;
            }
            block = room;
        }
    claim->block = block == UINT64_MAX ? plain : block;
    return true;
}

static bool size_spans(mlt_claim *claim, mlt_check *check)
{
    const mlt_goal_spec *is = claim->is;
    uint64_t in = claim->block * (many_in(is->collective) ? claim->ranks : 1);
    uint64_t out = claim->block * (many_out(is->collective) ? claim->ranks : 1);
    bool fits = claim->block <= UINT64_MAX / 2 / claim->ranks;
    for (uint32_t r = 0; r < claim->ranks && fits; r++) {
        claim->in[r].size = takes(is, r) ? in : 0;
        claim->out[r].size = gives(is, r) ? out : 0;
        for (int side = 0; side < 2; side++) {
            mlt_goal_span span = side ? claim->out[r] : claim->in[r];
            if (!span.size || span.buf == MLT_GOAL_MEMORY || room_of(check, r, span) >= span.size)
                continue;
            wrong(check, r,
                  "it needs %" PRIu64 " bytes from %" PRIu64 " on in %s of rank %" PRIu32
                  ", which has %" PRIu64 " there",
                  span.size, span.at, mlt_check_buffer_name(check->program, r, span.buf), r,
                  room_of(check, r, span));
            return false;
        }
    }
    if (!fits)
        wrong(check, 0, "blocks of %" PRIu64 " bytes are too large", claim->block);
    return fits;
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
        snprintf(size, sizeof size, ", blocks of %" PRIu64 " bytes", claim->block);
    if (asprintf(&text, "%s%s over %" PRIu32 " %s%s%s", mlt_collective_names[is->collective], op,
                 claim->ranks, claim->ranks == 1 ? "rank" : "ranks", root, size) < 0)
        text = NULL;
    check->verdict->claim = text;
}

bool mlt_claim_init(mlt_claim *claim, mlt_check *check)
{
    const mlt_goal_spec *is = check->options->is;
    *claim = (mlt_claim){.is = is, .ranks = check->program->ranks, .block = is->bytes};
    claim->in = mlt_check_take(claim->ranks, sizeof *claim->in);
    claim->out = mlt_check_take(claim->ranks, sizeof *claim->out);
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
