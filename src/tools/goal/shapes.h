// SPDX-License-Identifier: BSD-3-Clause
// Other algorithms for what a program does: the trees, rings and butterflies of `millet goal gen`,
// with other radices and segments, tried on a described machine.
#pragma once

#include "goal/spec.h"
#include "judge/pass/search.h"
#include "tools/goal/source.h"

// What the program does, if it can be recognised: `is` if that is not NULL, which must be proven; else
// a broadcast, reduction and so on that the checker proves. False: text says why not.
bool mlt_shapes_recognise(const mlt_source *source, const mlt_goal_spec *is, mlt_goal_spec *out,
                          char *text, size_t size);

// The fastest program that does the same, or NULL if that is the one of the source; search->best is its
// cost then. text: which algorithm it is, or why there is none.
mlt_goal_program *mlt_shapes_search(mlt_search *search, const mlt_source *source,
                                    const mlt_goal_spec *is, char *text, size_t size);
