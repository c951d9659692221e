// SPDX-License-Identifier: BSD-3-Clause
// Plug-ins that are wrong, by -DWRONG=N.
#include <millet/sched.h>
#include <stddef.h>

static millet_runnable *first;

static void put(void *state, millet_runnable *it, int how)
{
    if (!first || WRONG != 5)
        first = it;
}

static millet_runnable *take(void *state)
{
    static millet_runnable mine;
    return WRONG == 3 ? NULL : WRONG == 4 ? &mine : first; // 5: the same again and again
}

#if WRONG == 0
const int something_else;
#else
const millet_policy millet_policy_table = {
    .version = WRONG == 1 ? MILLET_POLICY_VERSION + 1 : MILLET_POLICY_VERSION,
    .put = put,
    .take = WRONG == 2 ? NULL : take,
};
#endif
