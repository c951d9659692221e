// SPDX-License-Identifier: BSD-3-Clause
#include "coll/callsig.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/table.h"
#include "boot/job.h"
#include "coll/team_data.h"
#include "p2p/kind.h"
#include "type/type.h"

enum { WORDS = sizeof(mlt_coll_callsig) / sizeof(uint64_t) };
_Static_assert(sizeof(mlt_coll_callsig) == MLT_JOB_CALLSIG_WORDS * sizeof(uint64_t),
               "the board holds call signatures");

// ---- what is claimed

static uint32_t hash_numbers(const uint64_t *numbers, uint64_t count)
{
    uint64_t hash = count;
    for (uint64_t i = 0; i < count; i++)
        hash = mlt_hash_mix(hash, numbers[i]);
    return (uint32_t)(hash >> 32) | 1;
}

enum { USERS = 1, CALLSIG_COMMUTES = 2, LIBRARYS = 4 };

// An operation as all processes know it. Predefined ones beside GOAL's have a function of the
// library, which is at the same distance from another one everywhere.
static uint32_t operation_of(const mlt_coll_op *op)
{
    if (op->op != MLT_OPS)
        return 0;
    if (!op->kernel)
        return USERS | (op->commutes ? CALLSIG_COMMUTES : 0);
    return (uint32_t)((uintptr_t)op->kernel - (uintptr_t)mlt_coll_op_predefined) << 3 | LIBRARYS;
}

bool mlt_coll_callsig_has_root(const mlt_coll_callsig *c)
{
    bool rooted = mlt_collective_has_root((mlt_collective)c->collective) ||
                  c->form == MLT_FORM_GATHERV || c->form == MLT_FORM_SCATTERV;
    return rooted && c->form != MLT_FORM_OWN;
}

mlt_coll_callsig mlt_coll_callsig_of(const mlt_team *team, const mlt_coll_what *what, bool sent)
{
    mlt_coll_callsig c = {.collective = what->collective,
                          .form = what->plain ? MLT_FORM_OWN : what->form,
                          .kind = sent ? what->kind_sent : what->kind};
    if (mlt_coll_callsig_has_root(&c))
        c.root = what->root;
    if (what->collective == MLT_COLL_EXCHANGE)
        return c; // lists of its own say nothing of the others'
    c.element = what->element;
    // Between two groups each gathers as much as the other has.
    if (!what->emit || what->collective != MLT_COLL_ALLGATHER)
        c.count = what->count;
    if (what->op) {
        c.operation = operation_of(what->op);
        c.op = (uint8_t)what->op->op;
        c.type = what->op->op == MLT_OPS ? 0 : (uint8_t)what->op->type;
    }
    if (what->starts && !what->emit)
        c.blocks = hash_numbers(what->starts, team->ranks + 1ull);
    return c;
}

uint16_t mlt_coll_callsig_code(const mlt_coll_callsig *callsig)
{
    uint16_t word[sizeof *callsig / sizeof(uint16_t)];
    uint32_t code = 0, factor = 0x9e37;
    memcpy(word, callsig, sizeof word);
    for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
        code += word[i] * (factor | 1);
        factor = factor * 0x6c8f + 0x3d1;
    }
    return (uint16_t)code;
}

// ---- two of them

// What remains when signed is unsigned, and nobody asks which of several equal types it is.
static mlt_coll_callsig without_kind(const mlt_coll_callsig *callsig)
{
    mlt_coll_callsig c = *callsig;
    c.kind = 0;
    if (c.op < MLT_OPS && c.type >= MLT_OP_UINT8 && c.type <= MLT_OP_UINT64)
        c.type = (uint8_t)(c.type - MLT_OP_UINT8 + MLT_OP_INT8);
    return c;
}

mlt_coll_callsigs mlt_coll_callsigs_compare(const mlt_coll_callsig *a, const mlt_coll_callsig *b)
{
    mlt_coll_callsig x = without_kind(a), y = without_kind(b);
    if (memcmp(&x, &y, sizeof x) != 0)
        return MLT_CLAIMS_DIFFER;
    bool same = a->kind == b->kind ? a->type == b->type : !a->kind || !b->kind;
    return same ? MLT_CLAIMS_AGREE : MLT_CLAIMS_KIND;
}

// ---- words

static const char *name_of(const mlt_coll_callsig *c)
{
    static const char *const calls[MLT_COLLECTIVES] = {
        [MLT_COLL_BARRIER] = "MPI_Barrier",
        [MLT_COLL_BCAST] = "MPI_Bcast",
        [MLT_COLL_REDUCE] = "MPI_Reduce",
        [MLT_COLL_ALLREDUCE] = "MPI_Allreduce",
        [MLT_COLL_GATHER] = "MPI_Gather",
        [MLT_COLL_ALLGATHER] = "MPI_Allgather",
        [MLT_COLL_SCATTER] = "MPI_Scatter",
        [MLT_COLL_ALLTOALL] = "MPI_Alltoall",
        [MLT_COLL_REDUCE_SCATTER] = "MPI_Reduce_scatter",
        [MLT_COLL_SCAN] = "MPI_Scan",
        [MLT_COLL_EXSCAN] = "MPI_Exscan",
        [MLT_COLL_REDUCE_TO] = "MPIX_Reduce_to",
        [MLT_COLL_EXCHANGE] = "an exchange",
    };
    static const char *const forms[MLT_FORMS] = {
#define FORM_NAME(UPPER, name) name,
        MLT_COLL_FORM_LIST(FORM_NAME)};
    return c->form < MLT_FORMS && c->form    ? forms[c->form]
           : c->collective < MLT_COLLECTIVES ? calls[c->collective]
                                             : "an unknown call";
}

static void reduction_words(const mlt_coll_callsig *c, char *text, size_t size)
{
    if (c->op < MLT_OPS && c->type < MLT_OP_TYPES)
        snprintf(text, size, " (%s of %llu %s)", mlt_op_names[c->op], (unsigned long long)c->count,
                 mlt_op_type_names[c->type]);
    else
        snprintf(text, size, " (%s of %llu elements of %u bytes)",
                 c->operation & USERS ? "the user's operation" : "an operation",
                 (unsigned long long)c->count, c->element);
}

static const char *kind_name(uint16_t kind)
{
    const mlt_type *type = mlt_type_coded(kind);
    return kind && type->magic == MLT_TYPE_MAGIC && type->name ? type->name : NULL;
}

static void data_words(const mlt_coll_callsig *c, const mlt_coll_callsig *than, char *text,
                       size_t size)
{
    text[0] = '\0';
    const char *kind = c->kind != than->kind ? kind_name(c->kind) : NULL;
    if (c->form == MLT_FORM_OWN || c->collective == MLT_COLL_BARRIER)
        return;
    if (mlt_collective_reduces((mlt_collective)c->collective))
        reduction_words(c, text, size);
    else if (c->collective != MLT_COLL_EXCHANGE)
        snprintf(text, size, " (%llu bytes%s%s)", (unsigned long long)(c->count * c->element),
                 kind ? " of " : "", kind ? kind : "");
    else if (kind)
        snprintf(text, size, " (%s)", kind);
}

static const char *rest_words(const mlt_coll_callsig *c, const mlt_coll_callsig *than)
{
    if (c->collective != than->collective || c->count != than->count)
        return "";
    return c->blocks != than->blocks && (c->blocks || c->count * c->element == 0)
               ? " with other blocks"
           : c->operation != than->operation && c->op == than->op &&
                   (c->operation & USERS) == (than->operation & USERS)
               ? " with another operation"
               : "";
}

void mlt_coll_callsig_words(const mlt_coll_callsig *c, const mlt_coll_callsig *than,
                            const char *call, char *text, size_t size)
{
    char data[96], root[32] = "";
    data_words(c, than, data, sizeof data);
    if (mlt_coll_callsig_has_root(c))
        snprintf(root, sizeof root, ", root %u", c->root);
    snprintf(text, size, "%s%s%s%s", call ? call : name_of(c), data, root, rest_words(c, than));
}

void mlt_coll_callsigs_tell(const mlt_team *team, const char *who_a, const mlt_coll_callsig *a,
                            const char *who_b, const mlt_coll_callsig *b, char *text, size_t size)
{
    char words[2][160];
    bool mpi = strcmp(team->member, "rank") == 0;
    mlt_coll_callsig_words(a, b, mpi ? NULL : mlt_collective_names[a->collective], words[0],
                           sizeof words[0]);
    mlt_coll_callsig_words(b, a, mpi ? NULL : mlt_collective_names[b->collective], words[1],
                           sizeof words[1]);
    snprintf(text, size, "%s says %s, but %s says %s", who_a, words[0], who_b, words[1]);
}

void mlt_coll_callsig_note_kinds(const mlt_team *team, const mlt_coll_callsig *own,
                                 const mlt_coll_callsig *other, const char *who)
{
    const char *mine = kind_name(own->kind), *theirs = kind_name(other->kind);
    if (!mlt_kind_may_note(team->worker))
        return;
    mlt_log(
        "note: in a call of %s on %s, data of %s (%s %u) meet data of %s (%s); the bytes are the "
        "same, so it goes on. mpirun --strict makes that an error",
        name_of(own), team->name, mine ? mine : "another type", team->member,
        team->at ? team->first : team->place, theirs ? theirs : "another type", who);
}

// ---- the board

void mlt_coll_callsig_publish(const mlt_worker *worker, const mlt_coll_callsig *callsig,
                              uint16_t code)
{
    _Atomic uint64_t *at = mlt_job_callsig_at(worker->boot->job, code);
    uint64_t word[WORDS];
    memcpy(word, callsig, sizeof word);
    // Relaxed: a reader has a message that was sent after this. Lines that are right already stay
    // in all workers' caches.
    for (int i = 0; i < WORDS; i++)
        if (atomic_load_explicit(&at[i], memory_order_relaxed) != word[i])
            atomic_store_explicit(&at[i], word[i], memory_order_relaxed);
}

bool mlt_coll_callsig_find(const mlt_worker *worker, uint16_t code, mlt_coll_callsig *out)
{
    _Atomic uint64_t *at = mlt_job_callsig_at(worker->boot->job, code);
    uint64_t word[WORDS], any = 0;
    for (int i = 0; i < WORDS; i++)
        any |= word[i] = atomic_load_explicit(&at[i], memory_order_relaxed);
    memcpy(out, word, sizeof *out);
    return any && mlt_coll_callsig_code(out) == code;
}

// ---- boards of other hosts

// What a note of a word of a call signature is: this bit, the code, the word's number.
static const uint64_t note_callsig = UINT64_C(1) << 63;

void mlt_coll_callsig_send(mlt_worker *worker, uint32_t to, const mlt_coll_callsig *callsig,
                           uint16_t code)
{
    uint64_t word[WORDS];
    memcpy(word, callsig, sizeof word);
    for (uint32_t i = 0; i < WORDS; i++)
        mlt_p2p_note(worker, to, note_callsig | (uint64_t)code << 8 | i, word[i]);
}

bool mlt_coll_callsig_noted(const mlt_worker *worker, uint64_t what, uint64_t value)
{
    uint64_t i = what & 0xff;
    if (!(what & note_callsig))
        return false;
    _Atomic uint64_t *at = mlt_job_callsig_at(worker->boot->job, (uint16_t)(what >> 8));
    if (i < WORDS) // relaxed: as for those that are published
        atomic_store_explicit(&at[i], value, memory_order_relaxed);
    return true;
}
