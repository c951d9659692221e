// SPDX-License-Identifier: BSD-3-Clause
// Elements in a stream of bytes.
//
//     elements   | length, 4 bytes, the highest first | data | ...
//     lines      text \n text \r\n ...       the newline, and a return before it, are no part of it
//     values     value value ...             whole values, as many as have come
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum mlt_flow_frame {
    MLT_FLOW_FRAME_ELEMENTS,
    MLT_FLOW_FRAME_LINES,
    MLT_FLOW_FRAME_VALUES,
} mlt_flow_frame;

typedef struct mlt_flow_framing {
    mlt_flow_frame frame;
    size_t length; // the longest element that is taken, in bytes
    size_t value;  // bytes of a value: an element has whole ones
} mlt_flow_framing;

enum { MLT_FLOW_FRAME_HEADER = 4 };

// The first element of the bytes at hand.
typedef struct mlt_flow_cut {
    const char *data;
    size_t bytes;
    size_t used; // of the bytes at hand: the next element begins there
} mlt_flow_cut;

// MLT_OK: *cut is it; MLT_PENDING: it has not come whole; MLT_ERR_INVALID: what comes is no
// element, and nothing behind it can be found. *why says what is wrong: "a line of more than 80 bytes".
mlt_status mlt_flow_frame_cut(const mlt_flow_framing *framing, const char *at, size_t bytes,
                              mlt_flow_cut *cut, char *why, size_t why_size) MLT_MUST_CHECK;

// What stands before an element, for MLT_FLOW_FRAME_ELEMENTS. False: it is too long for that.
bool mlt_flow_frame_begin(uint8_t header[MLT_FLOW_FRAME_HEADER], uint64_t bytes) MLT_MUST_CHECK;
