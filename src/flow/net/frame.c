// SPDX-License-Identifier: BSD-3-Clause
#include "flow/net/frame.h"

#include <stdbool.h>
#include <string.h>

bool mlt_flow_frame_begin(uint8_t header[MLT_FLOW_FRAME_HEADER], uint64_t bytes)
{
    for (int i = 0; i < MLT_FLOW_FRAME_HEADER; i++)
        header[i] = (uint8_t)(bytes >> (8 * (MLT_FLOW_FRAME_HEADER - 1 - i)));
    return bytes <= UINT32_MAX;
}

static mlt_status cut_element(const mlt_flow_framing *f, const char *at, size_t bytes,
                              mlt_flow_cut *cut, char *why, size_t why_size)
{
    uint32_t length = 0;
    if (bytes < MLT_FLOW_FRAME_HEADER)
        return MLT_PENDING;
    for (int i = 0; i < MLT_FLOW_FRAME_HEADER; i++)
        length = length << 8 | (uint8_t)at[i];
    if (length > f->length)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "an element of %u bytes, where %zu are most", length, f->length);
    if (length % f->value != 0)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "an element of %u bytes, but values have %zu", length, f->value);
    if (bytes - MLT_FLOW_FRAME_HEADER < length)
        return MLT_PENDING;
    *cut = (mlt_flow_cut){.data = at + MLT_FLOW_FRAME_HEADER,
                          .bytes = length,
                          .used = MLT_FLOW_FRAME_HEADER + (size_t)length};
    return MLT_OK;
}

static mlt_status cut_line(const mlt_flow_framing *f, const char *at, size_t bytes,
                           mlt_flow_cut *cut, char *why, size_t why_size)
{
    const char *end = memchr(at, '\n', bytes);
    size_t length = end ? (size_t)(end - at) : bytes;
    size_t text = length - (length > 0 && at[length - 1] == '\r');
    if (text > f->length)
        return mlt_fail(MLT_ERR_INVALID, why, why_size, "a line of more than %zu bytes", f->length);
    if (!end)
        return MLT_PENDING;
    if (memchr(at, '\0', length))
        return mlt_fail(MLT_ERR_INVALID, why, why_size, "a line with a zero byte");
    *cut = (mlt_flow_cut){.data = at, .bytes = text, .used = length + 1};
    return MLT_OK;
}

mlt_status mlt_flow_frame_cut(const mlt_flow_framing *f, const char *at, size_t bytes,
                              mlt_flow_cut *cut, char *why, size_t why_size)
{
    if (f->frame == MLT_FLOW_FRAME_ELEMENTS)
        return cut_element(f, at, bytes, cut, why, why_size);
    if (f->frame == MLT_FLOW_FRAME_LINES)
        return cut_line(f, at, bytes, cut, why, why_size);
    size_t most = f->length > f->value ? f->length : f->value;
    size_t whole = bytes < most ? bytes : most;
    whole -= whole % f->value;
    *cut = (mlt_flow_cut){.data = at, .bytes = whole, .used = whole};
    return whole ? MLT_OK : MLT_PENDING;
}
