// SPDX-License-Identifier: BSD-3-Clause
// What mpirun asks before it starts anything, with Lua or without.
#include <stdlib.h>

#include "base/text.h"
#include "coll/choice.h"
#include "lua/rulebook.h"

static void say_brackets(const mlt_coll_rule *rule, mlt_text *why)
{
    const char *collective = mlt_collective_names[rule->collective], *comma = "";
    mlt_text_add(why, "the brackets of %s.%s are not those of reproducible reductions; ",
                 collective, rule->alg);
    mlt_text_add(why, "of %s only these are:", collective);
    for (const mlt_coll_alg *const *a = mlt_coll_algs; *a; a++) {
        if ((*a)->collective != rule->collective || !(*a)->canonical)
            continue;
        mlt_text_add(why, "%s %s", comma, (*a)->name);
        comma = ",";
    }
}

// Reproducible reductions have one bracket: MLT_OK if all that is forced has it.
static mlt_status check_brackets(const mlt_coll_rule *rules, const mlt_coll_rulebook *rulebook,
                                 char *why, size_t why_size)
{
    for (const mlt_coll_rule *r = rules; r->alg; r++) {
        const mlt_coll_alg *alg = mlt_coll_named(mlt_coll_algs, rulebook, r->collective, r->alg);
        if (!mlt_collective_reduces(r->collective) || alg->canonical)
            continue;
        mlt_text text = mlt_text_on(why, why_size);
        say_brackets(r, &text);
        return MLT_ERR_INVALID;
    }
    return MLT_OK;
}

mlt_status mlt_lua_rulebook_check(const char *file, const char *force, int reproducible,
                                  int *force_is_wrong, char *why, size_t why_size)
{
    mlt_coll_rulebook *rulebook = NULL;
    mlt_status status = MLT_OK;
    *force_is_wrong = 0;
    if (file && *file)
        status = mlt_lua_rulebook_open(mlt_coll_algs, file, &rulebook, why, why_size);
    if (status == MLT_OK && rulebook)
        status = mlt_lua_rulebook_prove(rulebook, why, why_size);
    if (status == MLT_OK && force && *force) {
        mlt_coll_rule *rules;
        status = mlt_coll_force_parse(force, rulebook, &rules, why, why_size);
        bool read = status == MLT_OK;
        if (read && reproducible)
            status = check_brackets(rules, rulebook, why, why_size);
        *force_is_wrong = status != MLT_OK;
        if (read)
            free(rules);
    }
    if (rulebook)
        rulebook->free(rulebook);
    return status;
}
