// SPDX-License-Identifier: BSD-3-Clause
#include "coll/choose.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "coll/coll_int.h"

const char *const mlt_coll_reach_names[MLT_REACHES] = {"worker", "process", "host"};

bool mlt_coll_suits(const mlt_coll_alg *alg, const mlt_coll_question *q, const char **why)
{
    mlt_coll_choice choice = {.alg = alg};
    mlt_coll_shape shape = mlt_coll_choice_shape(q, &choice);
    *why = NULL;
    if (alg->collective != q->collective)
        *why = "it does something else";
    else if (mlt_collective_reduces(q->collective) && !q->commutes && !alg->in_order)
        *why = "it changes the order of operands, and the operation does not commute";
    else if (q->reproducible && mlt_collective_reduces(q->collective) && !alg->canonical)
        *why = "its brackets are not those of reproducible reductions";
    else if (q->uneven && !alg->uneven)
        *why = "all its blocks must have the same size";
    else if (alg->refuses)
        *why = alg->refuses(&shape);
    return !*why;
}

bool mlt_coll_rule_fits(const mlt_coll_rule *rule, const mlt_coll_question *q)
{
    return rule->collective == q->collective && q->ranks >= rule->ranks_from &&
           (!rule->ranks_to || q->ranks <= rule->ranks_to) && q->bytes >= rule->bytes_from &&
           (!rule->bytes_to || q->bytes <= rule->bytes_to) &&
           (!rule->reach || rule->reach >> q->reach & 1) &&
           (!rule->crowded || (rule->crowded > 0) == q->crowded) &&
           (!rule->comm || strcmp(rule->comm, q->comm) == 0);
}

mlt_coll_shape mlt_coll_choice_shape(const mlt_coll_question *q, const mlt_coll_choice *choice)
{
    uint64_t element = q->element ? q->element : 1;
    return (mlt_coll_shape){
        .ranks = q->ranks,
        .count = q->bytes / element,
        .op = q->op,
        .type = q->type,
        .element = q->element,
        .segment = choice->segment ? (choice->segment + element - 1) / element : 0,
        .radix = choice->radix,
        .window = choice->window,
        .in_place = q->in_place && choice->alg->in_place,
        .user = choice->alg->user,
    };
}

static const mlt_coll_alg *by_name(mlt_collective collective, const char *name)
{
    for (int i = 0; mlt_coll_algs[i]; i++)
        if (mlt_coll_algs[i]->collective == collective && strcmp(mlt_coll_algs[i]->name, name) == 0)
            return mlt_coll_algs[i];
    mlt_fatal("the built-in rules name %s.%s, which is not there", mlt_collective_names[collective],
              name);
}

void mlt_coll_choose(mlt_coll_book *book, const mlt_coll_question *q, mlt_coll_choice *out,
                     char *why, size_t why_size)
{
    why[0] = '\0';
    if (book && book->choose(book, q, out, why, why_size))
        return;
    for (const mlt_coll_rule *r = mlt_coll_rules; r->alg; r++) {
        const char *reason;
        if (!mlt_coll_rule_fits(r, q))
            continue;
        const mlt_coll_alg *alg = by_name(q->collective, r->alg);
        if (!mlt_coll_suits(alg, q, &reason))
            continue;
        *out = (mlt_coll_choice){alg, r->segment, r->radix, r->window, r->flat, r->by, r->why};
        return;
    }
    mlt_fatal("no built-in rule answers for %s", mlt_collective_names[q->collective]);
}
