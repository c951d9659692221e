// SPDX-License-Identifier: BSD-3-Clause
#include "coll/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "coll/alg/hosts/map.h"
#include "coll/choice.h"
#include "coll/rules_cores.h"

enum { SENTENCE = 512 };

const char *const mlt_coll_reach_names[MLT_REACHES] = {"worker", "process", "host", "network"};
const char *const mlt_coll_wrapper_names[MLT_WRAPPERS] = {
    "count", "trace", "delay", "check", "combine", "cache", "map", "drop", "op", "remote"};

void mlt_coll_name_stage(mlt_text *to, uint32_t i, uint8_t wrapper, uint64_t delay_us)
{
    mlt_text_add(to, "%s%s", i ? ", " : "",
                 wrapper < MLT_WRAPPERS ? mlt_coll_wrapper_names[wrapper] : "function");
    if (wrapper == MLT_WRAP_DELAY)
        mlt_text_add(to, " %llu us", (unsigned long long)delay_us);
}

const char *mlt_coll_stage_claim(const mlt_coll_stage *stage)
{
    if (stage->wrapper < MLT_WRAP_MAP || stage->wrapper > MLT_WRAP_OP)
        return "";
    return stage->neutral ? " neutral" : " changes results";
}

void mlt_coll_tell_stage(mlt_text *to, uint32_t i, const mlt_coll_stage *stage)
{
    mlt_coll_name_stage(to, i, stage->wrapper, stage->delay_us);
    mlt_text_add(to, "%s", mlt_coll_stage_claim(stage));
    if (stage->wrapper == MLT_WRAP_REMOTE)
        mlt_text_add(to, " %.40s%s%s", stage->host, stage->protocol ? " by " : "",
                     stage->protocol ? stage->protocol : "");
}

const mlt_coll_stage *mlt_coll_remote_stage(const mlt_coll_stage *stages, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (stages[i].wrapper == MLT_WRAP_REMOTE)
            return &stages[i];
    return NULL;
}

uint32_t mlt_coll_remote_host(const mlt_coll_path *path, const char *const *names, uint32_t hosts)
{
    const mlt_coll_stage *stage = mlt_coll_remote_stage(path->stages, path->count);
    for (uint32_t h = 0; stage && h < hosts; h++)
        if (strcmp(names[h], stage->host) == 0)
            return h + 1;
    return 0;
}

const char mlt_coll_forced[] = "forced";

void mlt_coll_remote(const mlt_coll_path *path, const mlt_coll_question *q, mlt_coll_choice *choice)
{
    const char *why;
    if (!q->hosts || !mlt_coll_remote_stage(path->stages, path->count))
        return;
    const mlt_coll_alg *alg = mlt_coll_named(mlt_coll_algs, NULL, q->collective, "hosts");
    mlt_coll_rule rule = {.collective = q->collective, .alg = "hosts", .by = path->by};
    rule.why = "its remote says on which host";
    if (!alg)
        return;
    bool forced = strcmp(choice->by, mlt_coll_forced) == 0;
    if (forced)
        why = "another one is forced";
    if (choice->alg == alg && forced)
        return;
    if (!forced && mlt_coll_suits(alg, q, &why))
        mlt_coll_take(&rule, alg, choice);
    else
        mlt_coll_pass_over(&rule, alg, why, choice);
}

bool mlt_coll_suits(const mlt_coll_alg *alg, const mlt_coll_question *q, const char **why)
{
    mlt_coll_choice choice = {.alg = alg};
    mlt_coll_shape shape = mlt_coll_choice_shape(q, &choice);
    *why = NULL;
    if (alg->collective != q->collective)
        *why = "it does something else";
    else if (alg->uses_hosts && !q->hosts)
        *why = "it is for ranks on several hosts";
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

static bool in_range(uint64_t value, uint64_t from, uint64_t to)
{
    return value >= from && (!to || value <= to);
}

uint32_t mlt_coll_question_hosts(const mlt_coll_question *q)
{
    return q->hosts ? q->hosts->hosts : q->reach == MLT_REACH_NETWORK ? q->ranks : 1;
}

uint32_t mlt_coll_question_each(const mlt_coll_question *q)
{
    return q->hosts ? q->hosts->most : q->reach == MLT_REACH_NETWORK ? 1 : q->ranks;
}

bool mlt_coll_rule_fits(const mlt_coll_rule *rule, const mlt_coll_question *q)
{
    uint64_t total;
    if (__builtin_mul_overflow(q->bytes, q->ranks, &total))
        total = UINT64_MAX;
    return rule->collective == q->collective &&
           in_range(q->ranks, rule->ranks_from, rule->ranks_to) &&
           in_range(q->bytes, rule->bytes_from, rule->bytes_to) &&
           in_range(total, rule->total_from, rule->total_to) &&
           in_range(q->sharing ? q->sharing : 1, rule->sharing_from, rule->sharing_to) &&
           in_range(q->cores, rule->cores_from, rule->cores_to) &&
           in_range(mlt_coll_question_hosts(q), rule->hosts_from, rule->hosts_to) &&
           in_range(mlt_coll_question_each(q), rule->each_from, rule->each_to) &&
           (!rule->reach || rule->reach >> q->reach & 1) &&
           (!rule->crowded || (rule->crowded > 0) == q->crowded) &&
           (!rule->reads || (rule->reads > 0) == q->reads) &&
           (!rule->comm || strcmp(rule->comm, q->comm) == 0);
}

bool mlt_coll_rule_suits(const mlt_coll_rule *rule, const mlt_coll_alg *alg,
                         const mlt_coll_question *q, const char **why)
{
    *why = "members of a group on one worker always combine first, so nothing is flat";
    return !(rule->flat && q->combines) && mlt_coll_suits(alg, q, why);
}

static uint8_t keep_of(const mlt_coll_question *q)
{
    return !mlt_collective_reduces(q->collective) ? MLT_KEEP_NOTHING
           : q->reproducible                      ? MLT_KEEP_BRACKETS
           : q->commutes                          ? MLT_KEEP_NOTHING
                                                  : MLT_KEEP_ORDER;
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
        .hosts = q->hosts,
        .keep = keep_of(q),
        .user = choice->alg->user,
    };
}

void mlt_coll_pass_over(const mlt_coll_rule *rule, const mlt_coll_alg *alg, const char *reason,
                        mlt_coll_choice *out)
{
    if (!out->passed[0])
        snprintf(out->passed, sizeof out->passed, "%s: %s.%s is not for this: %s", rule->by,
                 mlt_collective_names[alg->collective], alg->name, reason);
}

void mlt_coll_take(const mlt_coll_rule *rule, const mlt_coll_alg *alg, mlt_coll_choice *out)
{
    out->alg = alg;
    out->segment = rule->segment;
    out->radix = rule->radix;
    out->window = rule->window;
    out->flat = rule->flat;
    out->by = rule->by;
    out->why = rule->why;
}

mlt_coll_rule mlt_cores_rule_at(uint32_t index)
{
    const mlt_cores_rule *c = &mlt_cores_rules[index];
    return (mlt_coll_rule){
        .collective = (mlt_collective)c->collective,
        .ranks_from = c->ranks_from,
        .ranks_to = c->ranks_to,
        .bytes_from = c->bytes_from,
        .bytes_to = c->bytes_to,
        .cores_from = c->ranks_from,
        .crowded = -1,
        .reach = c->transfer == MLT_CORES_THREADS ? 1 << MLT_REACH_PROCESS : 1 << MLT_REACH_HOST,
        .reads = c->transfer == MLT_CORES_READS    ? 1
                 : c->transfer == MLT_CORES_CHUNKS ? -1
                                                   : 0,
        .alg = c->alg,
        .segment = c->segment,
        .radix = c->radix,
        .by = "built in",
        .why = "the least time with a core for each rank, simulated or measured",
    };
}

// The algorithm of a built-in rule.
static const mlt_coll_alg *built_in(const mlt_coll_rule *rule)
{
    const mlt_coll_alg *alg = mlt_coll_named(mlt_coll_algs, NULL, rule->collective, rule->alg);
    if (!alg)
        mlt_fatal("the built-in rules name %s.%s, which is not there",
                  mlt_collective_names[rule->collective], rule->alg);
    return alg;
}

// For ranks that have a core each. False: no rule fits, or its algorithm refuses.
static bool choose_by_cores(const mlt_coll_question *q, mlt_coll_choice *out)
{
    if (q->ranks > q->cores || q->crowded)
        return false;
    for (uint32_t i = 0; i < mlt_cores_rules_count; i++) {
        const char *reason;
        if (mlt_cores_rules[i].collective != q->collective)
            continue;
        mlt_coll_rule rule = mlt_cores_rule_at(i);
        if (!mlt_coll_rule_fits(&rule, q))
            continue;
        const mlt_coll_alg *alg = built_in(&rule);
        if (!mlt_coll_suits(alg, q, &reason))
            return false;
        mlt_coll_take(&rule, alg, out);
        return true;
    }
    return false;
}

// Built-in rules whose algorithm refuses are passed over without a word: they are made for that.
static void choose_built_in(const mlt_coll_question *q, mlt_coll_choice *out, char *why,
                            size_t why_size)
{
    if (choose_by_cores(q, out))
        return;
    for (const mlt_coll_rule *r = mlt_coll_rules; r->alg; r++) {
        const char *reason;
        if (!mlt_coll_rule_fits(r, q))
            continue;
        const mlt_coll_alg *alg = built_in(r);
        if (mlt_coll_suits(alg, q, &reason)) {
            mlt_coll_take(r, alg, out);
            return;
        }
    }
    // Rare combinations have no rule: the first algorithm that can do it is taken.
    static const mlt_coll_rule last = {.by = "built in", .why = "the first that can do it"};
    for (int i = 0; mlt_coll_algs[i]; i++) {
        const char *reason;
        if (mlt_coll_suits(mlt_coll_algs[i], q, &reason)) {
            mlt_coll_take(&last, mlt_coll_algs[i], out);
            return;
        }
    }
    out->alg = NULL;
    if (!why[0])
        snprintf(why, why_size, "no algorithm can do %s%s%s%s of %u ranks",
                 mlt_collective_names[q->collective], q->commutes ? "" : " in order",
                 q->reproducible ? ", reproducible," : "", q->uneven ? " with uneven blocks" : "",
                 q->ranks);
}

// Asks a rule book; keeps what was passed over before. True: there is no more to ask.
static bool ask_rulebook(mlt_coll_rulebook *rulebook, const mlt_coll_question *q,
                         mlt_coll_choice *out, char *why, size_t why_size)
{
    char passed[MLT_COLL_PASSED];
    if (!rulebook)
        return false;
    memcpy(passed, out->passed, sizeof passed);
    bool answered = rulebook->choose(rulebook, q, out, why, why_size);
    if (passed[0])
        memcpy(out->passed, passed, sizeof passed);
    return answered;
}

void mlt_coll_choose(mlt_coll_rulebook *rulebook, const mlt_coll_question *q, mlt_coll_choice *out,
                     char *why, size_t why_size)
{
    mlt_coll_sources sources = {.rulebook = rulebook};
    mlt_coll_ask(&sources, q, out, why, why_size);
}

// A rule that is of no rule book.
static bool ask_rule(const mlt_coll_sources *s, const mlt_coll_rule *rule,
                     const mlt_coll_question *q, mlt_coll_choice *out, char *why, size_t why_size)
{
    const mlt_coll_alg *alg = NULL;
    const char *reason;
    if (s->own_rulebook)
        alg = mlt_coll_named(mlt_coll_algs, s->own_rulebook, q->collective, rule->alg);
    if (!alg)
        alg = mlt_coll_named(mlt_coll_algs, s->rulebook, q->collective, rule->alg);
    if (!alg) // it was of a rule book that has been replaced
        snprintf(why, why_size, "%s: there is no algorithm %s.%s any more", rule->by,
                 mlt_collective_names[q->collective], rule->alg);
    else if (mlt_coll_rule_suits(rule, alg, q, &reason)) {
        mlt_coll_take(rule, alg, out);
        return true;
    } else
        mlt_coll_pass_over(rule, alg, reason, out);
    return false;
}

// True: somebody has answered, or failed.
static bool ask_users(const mlt_coll_sources *s, const mlt_coll_question *q, mlt_coll_choice *out,
                      char *why, size_t why_size)
{
    for (const mlt_coll_rule *r = s->forced; r && r->alg; r++)
        if (r->collective == q->collective && (ask_rule(s, r, q, out, why, why_size) || why[0]))
            return true;
    const mlt_coll_rule *own = s->own ? &s->own[q->collective] : NULL;
    return (own && own->alg && (ask_rule(s, own, q, out, why, why_size) || why[0])) ||
           ask_rulebook(s->own_rulebook, q, out, why, why_size) || why[0] ||
           ask_rulebook(s->rulebook, q, out, why, why_size) || why[0];
}

void mlt_coll_ask(const mlt_coll_sources *s, const mlt_coll_question *q, mlt_coll_choice *out,
                  char *why, size_t why_size)
{
    why[0] = '\0';
    out->passed[0] = '\0';
    if (!ask_users(s, q, out, why, why_size) || why[0])
        choose_built_in(q, out, why, why_size);
}

mlt_status mlt_coll_sources_say(mlt_coll_sources *s, mlt_collective collective, const char *text,
                                char *why, size_t why_size)
{
    mlt_coll_rule rule = {.collective = collective};
    bool says = text[strspn(text, " \t")] != '\0';
    if (says) {
        char first[SENTENCE];
        mlt_status status = MLT_ERR_INVALID;
        if (s->own_rulebook)
            status = mlt_coll_choice_parse(text, collective, s->own_rulebook, &rule, first,
                                           sizeof first);
        if (status != MLT_OK)
            status = mlt_coll_choice_parse(text, collective, s->rulebook, &rule, why, why_size);
        if (status != MLT_OK)
            return status;
        rule.alg = strdup(rule.alg); // its rule book may be replaced
        if (!rule.alg)
            return MLT_ERR_NO_MEMORY;
        rule.by = "the communicator's info";
        rule.why = "the program asks for it";
    }
    if (!s->own)
        s->own = mlt_xcalloc(MLT_COLLECTIVES, sizeof *s->own);
    free((char *)s->own[collective].alg);
    s->own[collective] = rule;
    s->generation++;
    return MLT_OK;
}

mlt_coll_rulebook *mlt_coll_sources_load(mlt_coll_sources *s, mlt_coll_rulebook *rulebook)
{
    mlt_coll_rulebook *before = s->own_rulebook;
    s->own_rulebook = rulebook;
    s->generation++;
    return before;
}

void mlt_coll_sources_fini(mlt_coll_sources *s)
{
    for (int c = 0; s->own && c < MLT_COLLECTIVES; c++)
        free((char *)s->own[c].alg);
    free(s->own);
    s->own = NULL;
}

const mlt_coll_path *mlt_coll_rulebook_path(const mlt_coll_rulebook *rulebook,
                                            mlt_collective collective, const char *comm)
{
    for (uint32_t i = 0; rulebook && i < rulebook->paths_count; i++) {
        const mlt_coll_path *path = &rulebook->paths[i];
        if ((path->collective == MLT_COLLECTIVES || path->collective == collective) &&
            (!path->comm || strcmp(path->comm, comm) == 0))
            return path;
    }
    return NULL;
}
