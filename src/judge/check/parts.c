// SPDX-License-Identifier: BSD-3-Clause
// An exchange: which bytes of which rank's `in` belong where in `out`, by the lists of all ranks.
// Both lists are sorted by (sender, receiver, tag, place in the list); then they must be the same
// row of messages.
#include <inttypes.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/memory.h"
#include "judge/check/claim.h"

typedef struct entry {
    uint32_t from, to, index;
    int32_t tag;
    uint64_t at, bytes;
} entry;

// 0: both go the same way with the same tag.
static int parts_by_flow(const entry *a, const entry *b)
{
    return mlt_compare_words((uint64_t[]){a->from, a->to, (uint32_t)a->tag},
                             (uint64_t[]){b->from, b->to, (uint32_t)b->tag}, 3);
}

static int by_message(const void *a, const void *b)
{
    int order = parts_by_flow(a, b);
    return order ? order : mlt_compare(((const entry *)a)->index, ((const entry *)b)->index);
}

// All ranks' sends, or receives; NULL: one has no meaning, which is found.
static entry *entries(const mlt_claim *claim, mlt_check *check, bool sends, uint64_t *count)
{
    const mlt_goal_messages *parts = claim->is->parts;
    uint64_t n = 0;
    for (uint32_t r = 0; r < claim->ranks; r++)
        n += sends ? parts[r].sends : parts[r].recvs;
    entry *list = mlt_xcalloc(n, sizeof *list);
    *count = n;
    n = 0;
    for (uint32_t r = 0; r < claim->ranks; r++) {
        const mlt_goal_message *part = sends ? parts[r].send : parts[r].recv;
        uint64_t room = sends ? parts[r].in : parts[r].out;
        for (uint32_t i = 0; i < (sends ? parts[r].sends : parts[r].recvs); i++, part++) {
            const char *wrong = part->peer >= claim->ranks ? "has a rank that is not there"
                                : part->at > room || part->bytes > room - part->at
                                    ? "is beyond its buffer"
                                    : NULL;
            if (wrong) {
                mlt_claim_wrong(check, r, "%s %u of rank %u's list %s", sends ? "send" : "receive",
                                i, r, wrong);
                free(list);
                return NULL;
            }
            list[n++] = (entry){sends ? r : part->peer,
                                sends ? part->peer : r,
                                i,
                                part->tag,
                                part->at,
                                part->bytes};
        }
    }
    qsort(list, n, sizeof *list, by_message);
    return list;
}

static bool same_messages(mlt_check *check, const entry *send, uint64_t sends, const entry *recv,
                          uint64_t recvs)
{
    for (uint64_t i = 0; i < sends || i < recvs; i++) {
        bool both = i < sends && i < recvs;
        int order = both ? parts_by_flow(&send[i], &recv[i]) : i < sends ? -1 : 1;
        const entry *here = order <= 0 ? &send[i] : &recv[i];
        if (!order && send[i].bytes == recv[i].bytes)
            continue;
        mlt_claim_wrong(check, order <= 0 ? here->from : here->to,
                        "%s %u of the list of rank %u has %s in that of rank %u",
                        order <= 0 ? "send" : "receive", here->index,
                        order <= 0 ? here->from : here->to,
                        !order      ? "another size"
                        : order < 0 ? "no receive"
                                    : "no send",
                        order <= 0 ? here->to : here->from);
        return false;
    }
    return true;
}

// By place in out, and apart from each other.
static bool sort_pieces(const mlt_claim *claim, mlt_check *check, uint32_t rank)
{
    mlt_claim_piece *piece = claim->pieces + claim->pieces_at[rank];
    uint64_t count = claim->pieces_at[rank + 1] - claim->pieces_at[rank];
    if (!count)
        return true;
    qsort(piece, count, sizeof *piece, mlt_compare_ascending);
    for (uint64_t i = 0; i + 1 < count; i++)
        if (piece[i].at + piece[i].bytes > piece[i + 1].at) {
            mlt_claim_wrong(check, rank,
                            "two receives of rank %u's list have byte %" PRIu64 " of out in common",
                            rank, piece[i + 1].at);
            return false;
        }
    return true;
}

// In and out are apart: otherwise it could not be said what out held before.
static bool parts_apart(const mlt_claim *claim, mlt_check *check, uint32_t rank)
{
    mlt_goal_span in = claim->in[rank], out = claim->out[rank];
    bool fine = !in.size || !out.size || !mlt_goal_spans_meet(in, out);
    if (!fine)
        mlt_claim_wrong(check, rank, "in and out of rank %u overlap", rank);
    return fine;
}

bool mlt_claim_parts(mlt_claim *claim, mlt_check *check)
{
    uint64_t sends = 0, recvs = 0;
    entry *send = entries(claim, check, true, &sends);
    entry *recv = send ? entries(claim, check, false, &recvs) : NULL;
    bool fine = recv && same_messages(check, send, sends, recv, recvs);
    claim->pieces_at = mlt_xcalloc((size_t)claim->ranks + 1, sizeof *claim->pieces_at);
    claim->pieces = mlt_xcalloc(recvs, sizeof *claim->pieces);
    if (fine) {
        for (uint64_t i = 0; i < recvs; i++)
            claim->pieces_at[recv[i].to + 1] += recv[i].bytes != 0;
        for (uint32_t r = 0; r < claim->ranks; r++)
            claim->pieces_at[r + 1] += claim->pieces_at[r];
        uint64_t *next = mlt_xcalloc(claim->ranks, sizeof *next);
        for (uint64_t i = 0; i < recvs; i++)
            if (recv[i].bytes)
                claim->pieces[claim->pieces_at[recv[i].to] + next[recv[i].to]++] =
                    (mlt_claim_piece){recv[i].at, recv[i].bytes, send[i].at, recv[i].from};
        free(next);
    }
    for (uint32_t r = 0; r < claim->ranks && fine; r++)
        fine = parts_apart(claim, check, r) && sort_pieces(claim, check, r);
    free(send);
    free(recv);
    return fine;
}
