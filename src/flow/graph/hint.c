// SPDX-License-Identifier: BSD-3-Clause
#include "flow/graph/hint.h"

#include <string.h>

#include "base/text.h"
#include "base/word.h"

const char *mlt_flow_hint(char *text, size_t size, const char *asked, const char *const *names,
                          size_t count)
{
    enum { FAR = 2, SHOWN = 8 };
    size_t half = strlen(asked) / 2, best = 1 + (half < FAR ? half : FAR);
    const char *near = NULL;
    for (size_t i = 0; i < count; i++)
        mlt_word_nearer(asked, names[i], &near, &best);
    mlt_text out = mlt_text_on(text, size);
    if (near) {
        mlt_text_add(&out, ": did you mean %s?", near);
        return text;
    }
    if (count)
        mlt_text_add(&out, count == 1 ? ": there is " : ": there are ");
    for (size_t i = 0; i < count && i < SHOWN; i++)
        mlt_text_add(&out, "%s%s", mlt_text_between(i, count, " and "), names[i]);
    if (count > SHOWN)
        mlt_text_add(&out, " and %zu more", count - SHOWN);
    return text;
}
