// SPDX-License-Identifier: BSD-3-Clause
// The values in a channel's buffer: a ring of `capacity` places, `held` of them from `first` on.
// For the two files that serve channels: chan.c, if only this worker uses it, else csp/net/home.c.
#pragma once

#include <stdint.h>
#include <string.h>

#include "csp/chan.h"

// Most values are an int, a double or a pointer: no call for these.
static inline void mlt_buffer_copy(void *to, const void *from, uint32_t size)
{
    if (size == 4)
        memcpy(to, from, 4);
    else if (size == 8)
        memcpy(to, from, 8);
    else if (size)
        memcpy(to, from, size);
}

static inline unsigned char *mlt_buffer_at(const csp_chan *chan, uint32_t i)
{
    uint64_t at = (uint64_t)chan->first + i;
    return chan->buffer + (size_t)(at >= chan->capacity ? at - chan->capacity : at) * chan->size;
}

static inline void mlt_buffer_put(csp_chan *chan, const void *value)
{
    mlt_buffer_copy(mlt_buffer_at(chan, chan->held), value, chan->size);
    chan->held++;
}

static inline void mlt_buffer_drop(csp_chan *chan)
{
    chan->first = chan->first + 1 == chan->capacity ? 0 : chan->first + 1;
    chan->held--;
}
