// SPDX-License-Identifier: BSD-3-Clause
// An algorithm and its parameters as people write them, and names that people get wrong.
//
//     ring segment=8192                        for one collective: an info key's value
//     allreduce=ring:segment=8192,bcast=chain  for several: mpirun --force, MILLET_FORCE
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "coll/choose.h"

// "ALG [segment=N] [radix=N] [window=N] [flat]"; commas or colons between the words are fine too, N
// may end with K, M or G. The rule is for any number of ranks and bytes; its `alg` is the
// algorithm's own name, which lives as long as the algorithm. rule book NULL: built-in ones only. On
// failure an error message, with the nearest names where a name is wrong.
mlt_status mlt_coll_choice_parse(const char *text, mlt_collective collective,
                                 const mlt_coll_rulebook *rulebook, mlt_coll_rule *out, char *why,
                                 size_t why_size) MLT_MUST_CHECK;

// The list for several collectives. *out: rules in the order of the text, the end has alg NULL;
// free() it. A collective may come once.
mlt_status mlt_coll_force_parse(const char *text, const mlt_coll_rulebook *rulebook,
                                mlt_coll_rule **out, char *why, size_t why_size) MLT_MUST_CHECK;

// A rule's algorithm among the built-in ones and the rule book's (which may be NULL); NULL: there is
// none of that name.
const mlt_coll_alg *mlt_coll_named(const mlt_coll_alg *const *algs,
                                   const mlt_coll_rulebook *rulebook, mlt_collective collective,
                                   const char *name);

// By "bcast"; MLT_COLLECTIVES: none is called that.
mlt_collective mlt_collective_named(const char *name, size_t length);

// "; the nearest are a, b and c" of a list of names, for the end of a message.
void mlt_coll_nearest(const char *name, size_t length, const char *const *names, size_t count,
                      char *text, size_t size);

// "there is no collective 'x'; ...", and "there is no algorithm bcast.x; ...".
void mlt_coll_no_collective(const char *name, size_t length, char *why, size_t why_size);
void mlt_coll_no_algorithm(const mlt_coll_alg *const *algs, const mlt_coll_rulebook *rulebook,
                           mlt_collective collective, const char *name, size_t length, char *why,
                           size_t why_size);

// True if the algorithm takes the rule's parameters; else why says why not.
bool mlt_coll_rule_takes(const mlt_coll_rule *rule, const mlt_coll_alg *alg, char *why,
                         size_t why_size) MLT_MUST_CHECK;

// An answer by that rule; and a rule that an answer does not come from, because its algorithm
// refuses: the first is told.
void mlt_coll_take(const mlt_coll_rule *rule, const mlt_coll_alg *alg, mlt_coll_choice *out);
void mlt_coll_pass_over(const mlt_coll_rule *rule, const mlt_coll_alg *alg, const char *reason,
                        mlt_coll_choice *out);

// Bytes as people write them: 4096, 64K, 1M. False: it is no size.
bool mlt_coll_size(const char *text, size_t length, uint64_t *out) MLT_MUST_CHECK;
