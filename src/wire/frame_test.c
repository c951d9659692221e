// SPDX-License-Identifier: BSD-3-Clause
// The end mark that mpirun writes for a process is the one that the process would have written.
#include "wire/frame.h"

#include <string.h>

#include "base/unit_test.h"
#include "boot/ctl.h"

int main(void)
{
    unsigned char mark[MLT_CTL_END_MARK];
    mlt_wire_frame frame;
    memset(&frame, 0, sizeof frame);
    frame.kind = MLT_WIRE_FRAME_END;
    frame.slot.flags = 1;
    mlt_ctl_end_mark(mark);
    CHECK((int)MLT_CTL_END_MARK == (int)MLT_WIRE_FRAME_HEAD);
    CHECK(memcmp(mark, &frame, sizeof mark) == 0);
    CHECK(mlt_wire_frame_fault(&frame, 1, 1) == NULL);
    return 0;
}
