// SPDX-License-Identifier: BSD-3-Clause
// Bytes that wait until a connection takes them. All zero is an empty one; freed with free(bytes).
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct mlt_outbox {
    unsigned char *bytes; // bytes[at] to bytes[end - 1] wait
    size_t at, end, room;
} mlt_outbox;

static inline size_t mlt_outbox_waits(const mlt_outbox *out)
{
    return out->end - out->at;
}

void mlt_outbox_add(mlt_outbox *out, const void *data, size_t bytes);

// Writes what the descriptor takes. False: not all of it, and errno tells why; EAGAIN: not now.
// Once nothing waits, memory of more than `keep` bytes is given back.
bool mlt_outbox_flush(mlt_outbox *out, int fd, size_t keep);
