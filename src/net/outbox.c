// SPDX-License-Identifier: BSD-3-Clause
#include "net/outbox.h"

#include "base/array.h"
#include "os/line.h"

void mlt_outbox_add(mlt_outbox *out, const void *data, size_t bytes)
{
    if (bytes == 0) // data may be NULL
        return;
    if (out->end + bytes > out->room) {
        if (out->at > 0) // NULL if nothing was sent yet
            memmove(out->bytes, out->bytes + out->at, mlt_outbox_waits(out));
        out->end -= out->at;
        out->at = 0;
        MLT_ARRAY_WANT(out->bytes, out->end + bytes, out->room);
    }
    memcpy(out->bytes + out->end, data, bytes);
    out->end += bytes;
}

bool mlt_outbox_flush(mlt_outbox *out, int fd, size_t keep)
{
    while (out->at < out->end) {
        ssize_t n = mlt_os_line_write(fd, out->bytes + out->at, mlt_outbox_waits(out));
        if (n < 0)
            return false;
        out->at += (size_t)n;
    }
    out->at = out->end = 0;
    if (out->room > keep) {
        free(out->bytes);
        *out = (mlt_outbox){0};
    }
    return true;
}
