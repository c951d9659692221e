// SPDX-License-Identifier: BSD-3-Clause
#include "flow/graph/hint.h"

#include <stdio.h>
#include <string.h>

#include "base/word.h"

const char *mlt_flow_hint(char *text, size_t size, const char *asked, const char *const *names,
                          size_t count)
{
    enum { FAR = 2, SHOWN = 8 };
    size_t length = strlen(asked), best = length / 2 < FAR ? length / 2 : FAR, used = 0;
    const char *near = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t d = mlt_word_distance(asked, length, names[i], strlen(names[i]));
        if (d < best || (d == best && !near)) {
            best = d;
            near = names[i];
        }
    }
    *text = 0;
    if (near) {
        snprintf(text, size, ": did you mean %s?", near);
        return text;
    }
    for (size_t i = 0; i < count && i < SHOWN && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i == 0           ? (count == 1 ? ": there is " : ": there are ")
                                 : i + 1 == count ? " and "
                                                  : ", ",
                                 names[i]);
    if (count > SHOWN && used < size)
        snprintf(text + used, size - used, " and %zu more", count - SHOWN);
    return text;
}
