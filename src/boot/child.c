// SPDX-License-Identifier: BSD-3-Clause
#include "boot/child.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot/ctl.h"

mlt_status mlt_child_ask(int ctl, int *fd)
{
    int pair[2];
    *fd = -1;
    if (ctl < 0)
        return MLT_ERR_CLOSED;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return MLT_ERR_SYSTEM;
    mlt_ctl head = {.type = MLT_CTL_SPAWN, .rank = MLT_CTL_NO_RANK};
    mlt_status status = mlt_ctl_send_with(ctl, &head, NULL, pair[1]);
    int error = errno;
    close(pair[1]);
    if (status == MLT_OK)
        *fd = pair[0];
    else
        close(pair[0]);
    errno = error;
    return status;
}

static bool is_count(const char *text)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    return !errno && end != text && !*end && n > 0 && n <= INT32_MAX;
}

bool mlt_child_check(const mlt_lists *request, char *why, size_t why_size)
{
    const char *wrong = NULL;
    if (request->count < 1 + MLT_CHILD_SECTION_LISTS ||
        (request->count - 1) % MLT_CHILD_SECTION_LISTS != 0 ||
        mlt_lists_length(request->items[0]) != 1)
        wrong = "it has no sections";
    for (uint32_t s = 0; !wrong && s < mlt_child_sections(request); s++) {
        char **what = mlt_child_section(request, s, 0);
        if (mlt_lists_length(what) != 2 || !*what[0])
            wrong = "a section has no command";
        else if (!is_count(what[1]))
            wrong = "a section has no number of ranks";
        else if (mlt_lists_length(mlt_child_section(request, s, 2)) % 2)
            wrong = "a key has no value";
    }
    if (wrong)
        snprintf(why, why_size, "the request to spawn is damaged: %s", wrong);
    return !wrong;
}
