// SPDX-License-Identifier: BSD-3-Clause
#include "wire/frame.h"

const char *mlt_wire_frame_fault(const mlt_wire_frame *frame, uint32_t from, uint32_t to)
{
    if (frame->from >= from || mlt_wire_frame_to(frame) >= to)
        return "it names a worker that is not there";
    if (frame->in_slot > MLT_SLOT_PAYLOAD)
        return "its slot is too long";
    switch ((mlt_wire_frame_kind)frame->kind) {
    case MLT_WIRE_FRAME_MESSAGE:
        return frame->length <= MLT_WIRE_FRAME_MOST ? NULL : "it is too long";
    case MLT_WIRE_FRAME_OFFER:
        return frame->length <= MLT_WIRE_FRAME_OFFER_MOST && frame->in_slot == 0 ? NULL
                                                                                 : "it is too long";
    case MLT_WIRE_FRAME_FETCH:
    case MLT_WIRE_FRAME_DATA:
        if (frame->in_slot < sizeof(mlt_wire_frame_place))
            return "its data have no place";
        return frame->length > 0 && frame->length <= MLT_WIRE_FRAME_DATA_MOST
                   ? NULL
                   : "its data are too long, or none";
    case MLT_WIRE_FRAME_LONG:
        return frame->length > MLT_WIRE_FRAME_MOST && frame->length <= MLT_WIRE_FRAME_DATA_MOST &&
                       to == 1
                   ? NULL
                   : "it is too long, or too short";
    case MLT_WIRE_FRAME_SWITCH:
    case MLT_WIRE_FRAME_CREDIT:
    case MLT_WIRE_FRAME_END:
        return frame->length == 0 && frame->in_slot == 0 ? NULL : "it should be empty";
    }
    return "its kind is unknown";
}
