// SPDX-License-Identifier: BSD-3-Clause
#include "host/stdio/pattern.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

void mlt_pattern_name(char *out, size_t size, const char *pattern, int32_t rank)
{
    mlt_text name = mlt_text_on(out, size);
    for (const char *p = pattern; *p && !name.cut; p++) {
        char host[256];
        if (*p != '%' || !p[1]) {
            mlt_text_put(&name, p, 1);
            continue;
        }
        switch (*++p) {
        case 'r':
            mlt_text_add(&name, "%d", rank);
            break;
        case 'p':
            mlt_text_add(&name, "%d", (int)getpid());
            break;
        case 'h':
            if (gethostname(host, sizeof host) != 0)
                snprintf(host, sizeof host, "localhost");
            host[sizeof host - 1] = '\0';
            mlt_text_add(&name, "%s", host);
            break;
        case '%':
            mlt_text_put(&name, p, 1);
            break;
        default: // not ours: as it is
            mlt_text_put(&name, p - 1, 2);
        }
    }
}

bool mlt_pattern_names_rank(const char *pattern)
{
    for (const char *p = pattern; (p = strchr(p, '%')) && p[1]; p += 2)
        if (p[1] == 'r')
            return true;
    return false;
}
