// SPDX-License-Identifier: BSD-3-Clause
#include "coll/choice.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/word.h"

enum {
    NEAREST = 3,     // names that a message offers if one is wrong
    MOST_NAMES = 64, // of one collective
    QUOTED = 60,     // letters of what a user wrote
    MOST_RADIX = 1 << 28
};

// ---- names

mlt_collective mlt_collective_named(const char *name, size_t length)
{
    for (int c = 0; c < MLT_COLLECTIVES; c++)
        if (strlen(mlt_collective_names[c]) == length &&
            memcmp(mlt_collective_names[c], name, length) == 0)
            return (mlt_collective)c;
    return MLT_COLLECTIVES;
}

void mlt_coll_nearest(const char *name, size_t length, const char *const *names, size_t count,
                      char *text, size_t size)
{
    const char *best[NEAREST] = {0};
    size_t far[NEAREST] = {0}, found = 0;
    for (size_t i = 0; i < count; i++) {
        size_t d = mlt_word_distance(name, length, names[i], strlen(names[i])), at = found;
        while (at > 0 && d < far[at - 1])
            at--;
        if (at == NEAREST)
            continue;
        found += found < NEAREST;
        for (size_t j = found - 1; j > at; j--) {
            best[j] = best[j - 1];
            far[j] = far[j - 1];
        }
        best[at] = names[i];
        far[at] = d;
    }
    if (size)
        text[0] = '\0';
    if (found == 1)
        snprintf(text, size, "; there is %s", best[0]);
    else if (found == 2)
        snprintf(text, size, "; there are %s and %s", best[0], best[1]);
    else if (found)
        snprintf(text, size, "; the nearest are %s, %s and %s", best[0], best[1], best[2]);
}

static int quoted(size_t length)
{
    return length < QUOTED ? (int)length : QUOTED;
}

void mlt_coll_no_collective(const char *name, size_t length, char *why, size_t why_size)
{
    char nearest[200];
    mlt_coll_nearest(name, length, mlt_collective_names, MLT_COLLECTIVES, nearest, sizeof nearest);
    snprintf(why, why_size, "there is no collective '%.*s'%s", quoted(length), name, nearest);
}

void mlt_coll_no_algorithm(const mlt_coll_alg *const *algs, const mlt_coll_rulebook *rulebook,
                           mlt_collective collective, const char *name, size_t length, char *why,
                           size_t why_size)
{
    const char *names[MOST_NAMES];
    char nearest[200];
    size_t count = 0;
    for (int i = 0; algs[i] && count < MOST_NAMES; i++)
        if (algs[i]->collective == collective)
            names[count++] = algs[i]->name;
    for (uint32_t i = 0; rulebook && i < rulebook->algs_count && count < MOST_NAMES; i++)
        if (rulebook->algs[i]->collective == collective)
            names[count++] = rulebook->algs[i]->name;
    mlt_coll_nearest(name, length, names, count, nearest, sizeof nearest);
    snprintf(why, why_size, "there is no algorithm '%.*s' for %s%s", quoted(length), name,
             mlt_collective_names[collective], nearest);
}

static const mlt_coll_alg *named(const mlt_coll_alg *const *algs, const mlt_coll_rulebook *rulebook,
                                 mlt_collective collective, const char *name, size_t length)
{
    for (int i = 0; algs[i]; i++)
        if (algs[i]->collective == collective && strlen(algs[i]->name) == length &&
            memcmp(algs[i]->name, name, length) == 0)
            return algs[i];
    for (uint32_t i = 0; rulebook && i < rulebook->algs_count; i++)
        if (rulebook->algs[i]->collective == collective &&
            strlen(rulebook->algs[i]->name) == length &&
            memcmp(rulebook->algs[i]->name, name, length) == 0)
            return rulebook->algs[i];
    return NULL;
}

const mlt_coll_alg *mlt_coll_named(const mlt_coll_alg *const *algs,
                                   const mlt_coll_rulebook *rulebook, mlt_collective collective,
                                   const char *name)
{
    return named(algs, rulebook, collective, name, strlen(name));
}

bool mlt_coll_rule_takes(const mlt_coll_rule *rule, const mlt_coll_alg *alg, char *why,
                         size_t why_size)
{
    const char *lost = rule->segment && !alg->uses_segment ? "segment"
                       : rule->radix && !alg->uses_radix   ? "radix"
                       : rule->window && !alg->uses_window ? "window"
                                                           : NULL;
    if (!lost)
        return true;
    return mlt_deny(why, why_size, "%s.%s takes no %s", mlt_collective_names[alg->collective],
                    alg->name, lost);
}

// ---- one choice

bool mlt_coll_size(const char *text, size_t length, uint64_t *out)
{
    uint64_t value = 0;
    size_t i = 0;
    for (; i < length && isdigit((unsigned char)text[i]); i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
            return false;
    if (i == 0 || length - i > 1)
        return false;
    if (i < length) {
        const char *suffix = strchr("kmg", tolower((unsigned char)text[i]));
        if (!suffix || !*suffix ||
            __builtin_mul_overflow(value, 1ull << 10 * (suffix - "kmg" + 1), &value))
            return false;
    }
    *out = value;
    return true;
}

// "segment=8192" or "flat".
static bool parameter(const char *word, size_t length, mlt_coll_rule *out, char *why,
                      size_t why_size)
{
    static const char *const names[] = {"segment", "radix", "window", "flat"};
    size_t name = strcspn(word, "=");
    name = name < length ? name : length;
    int which = 0;
    while (which < 4 && (strlen(names[which]) != name || memcmp(names[which], word, name) != 0))
        which++;
    uint64_t value = 0;
    bool has_value = name < length;
    if (which == 4) {
        char nearest[200];
        mlt_coll_nearest(word, name, names, 4, nearest, sizeof nearest);
        return mlt_deny(why, why_size, "there is no parameter '%.*s'%s", quoted(name), word,
                        nearest);
    }
    if (which == 3 && !has_value) {
        out->flat = true;
        return true;
    }
    if (which == 3 || !has_value || !mlt_coll_size(word + name + 1, length - name - 1, &value) ||
        !value || (which && value > MOST_RADIX))
        return mlt_deny(why, why_size, "'%.*s' is no parameter; they are written %s",
                        quoted(length), word,
                        which == 0   ? "segment=8192"
                        : which == 1 ? "radix=4"
                        : which == 2 ? "window=8"
                                     : "flat");
    if (which == 0)
        out->segment = value;
    else
        *(which == 1 ? &out->radix : &out->window) = (uint32_t)value;
    return true;
}

static mlt_status parse(const char *text, size_t length, mlt_collective collective,
                        const mlt_coll_rulebook *rulebook, mlt_coll_rule *out, char *why,
                        size_t why_size)
{
    static const char between[] = " \t,:";
    const char *end = text + length;
    const mlt_coll_alg *alg = NULL;
    *out = (mlt_coll_rule){.collective = collective};
    for (const char *at = text; at < end;) {
        size_t n = 0;
        while (at + n < end && !strchr(between, at[n]))
            n++;
        if (n && !alg) {
            alg = named(mlt_coll_algs, rulebook, collective, at, n);
            if (!alg) {
                mlt_coll_no_algorithm(mlt_coll_algs, rulebook, collective, at, n, why, why_size);
                return MLT_ERR_INVALID;
            }
        } else if (n && !parameter(at, n, out, why, why_size))
            return MLT_ERR_INVALID;
        at += n + 1;
    }
    if (!alg)
        return mlt_fail(MLT_ERR_INVALID, why, why_size, "no algorithm is named for %s",
                        mlt_collective_names[collective]);
    out->alg = alg->name;
    return mlt_coll_rule_takes(out, alg, why, why_size) ? MLT_OK : MLT_ERR_INVALID;
}

mlt_status mlt_coll_choice_parse(const char *text, mlt_collective collective,
                                 const mlt_coll_rulebook *rulebook, mlt_coll_rule *out, char *why,
                                 size_t why_size)
{
    return parse(text, strlen(text), collective, rulebook, out, why, why_size);
}

// ---- several

static mlt_status force(const char *item, size_t length, const mlt_coll_rulebook *rulebook,
                        const mlt_coll_rule *before, size_t count, mlt_coll_rule *out, char *why,
                        size_t why_size)
{
    const char *equals = memchr(item, '=', length);
    if (!equals)
        return mlt_fail(
            MLT_ERR_INVALID, why, why_size,
            "'%.*s' should be COLLECTIVE=ALGORITHM, such as allreduce=ring:segment=8192",
            quoted(length), item);
    size_t name = (size_t)(equals - item);
    mlt_collective collective = mlt_collective_named(item, name);
    if (collective == MLT_COLLECTIVES) {
        mlt_coll_no_collective(item, name, why, why_size);
        return MLT_ERR_INVALID;
    }
    for (size_t i = 0; i < count; i++)
        if (before[i].collective == collective)
            return mlt_fail(MLT_ERR_INVALID, why, why_size, "%s comes twice",
                            mlt_collective_names[collective]);
    mlt_status status =
        parse(equals + 1, length - name - 1, collective, rulebook, out, why, why_size);
    out->by = mlt_coll_forced;
    out->why = "forced for all calls";
    return status;
}

mlt_status mlt_coll_force_parse(const char *text, const mlt_coll_rulebook *rulebook,
                                mlt_coll_rule **out, char *why, size_t why_size)
{
    mlt_coll_rule *rules = mlt_xcalloc(MLT_COLLECTIVES + 1, sizeof *rules);
    size_t count = 0;
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, ",");
        if (n) { // a collective may come once, so there is room
            mlt_status status = force(at, n, rulebook, rules, count, &rules[count], why, why_size);
            if (status != MLT_OK) {
                free(rules);
                return status;
            }
            count++;
        }
        at += n + (at[n] == ',');
    }
    rules[count].alg = NULL;
    *out = rules;
    return MLT_OK;
}
