// SPDX-License-Identifier: BSD-3-Clause
// A question to another worker: a process sends a packet with the question's number in `word` and
// waits for the one that answers it. The loss of the route is an answer, too.
#pragma once

#include <millet/csp.h>
#include <stdbool.h>
#include <stdint.h>

#include "csp/net/route.h"
#include "csp/state.h"
#include "csp/wait.h"
#include "fiber/io.h"

enum { MLT_QUESTION_OPEN = -1 };

// On the asking process's stack. The caller fills in the first three.
typedef struct mlt_question {
    void *answer; // where its data go
    uint64_t size;
    const char *call; // for reports
    mlt_route_user user;
    mlt_timer timer;
    mlt_csp *csp;
    mlt_fiber *fiber; // waits; NULL: not yet
    int32_t status;   // csp_status, or MLT_QUESTION_OPEN
} mlt_question;

// Sends the packet, whose `word` becomes the question's number, and waits, as a process, for what
// `kind` and `what` tell in reports. CSP_LATE: the answer may still come, and will find nobody.
csp_status mlt_question_ask(mlt_question *question, mlt_route *route, mlt_packet *packet,
                            const void *data, uint64_t bytes, mlt_csp_wait_kind kind,
                            const void *what, csp_time deadline);

// The answer came. False: nobody asks any more.
bool mlt_question_answer(mlt_csp *csp, uint32_t number, csp_status status, const void *data,
                         uint64_t bytes);
