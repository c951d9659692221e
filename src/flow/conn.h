// SPDX-License-Identifier: BSD-3-Clause
// Lines between workers.
//
//     sender's worker                              receiver's worker
//     ELEMENT(line, kind, value_bytes, data) ----> small: copied, pushed into the inlet
//     POINTER(line, element) --------------------> same process: the element itself
//     COMING(line, kind, value_bytes, bytes) ----> large, another process: memory is taken, a
//     message of p2p with the data --------------> receive posted into it; pushed when it is there
//     STORED(line, offset) ----------------------> large, another process that has mapped this
//                                                  one's store (element/store.h): the element
//                                                  itself
//                          <---------------------- CREDIT(line, n): n elements were taken
//     END(line) ---------------------------------> no more will come
//                          <---------------------- CLOSED(line): nobody takes them any more
//
// The sender begins with `cap` credits of the line. An element costs one; where nobody declared a
// cap, a long one costs more, so that about MLT_FLOW_BYTES are under way. A sender with too few
// waits. The receiver gives credits back when a quarter of them was taken, or when the sender may
// have too few for another element like the last. Elements of a line arrive in order, whichever way
// they went: a small one that follows a large one waits for it.
//
// Large data goes by mlt_p2p in a context of flow's own, tagged with the line, so that it is copied
// once if the system allows it; the sender's element is freed when it has left. With the first one
// the sender tells where its store is (STORE). A receiver that can map it says so (MAPPED); from
// then on elements of this line are made there, and are not copied any more.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "flow/run.h"

// Makes the conns of this worker's outlets, and what its lines from others need. All workers meet
// before the first element is sent.
void mlt_flow_conns_begin(mlt_flow_program *program);
// All tasks of this worker have ended, or none has begun on any worker. Ends the lines that are
// still open, and waits (as a process) until both sides of every line are done with it: then all
// that was sent has arrived, and no packet will come any more. Frees the conns.
void mlt_flow_conns_end(mlt_flow_program *program);

// Memory for an element that will go by this line, longer than MLT_FLOW_SMALL.
mlt_flow_element *mlt_flow_conn_new(const mlt_flow_conn *conn, uint64_t bytes);
// Waits for credit. Consumes the element. False: closed.
bool mlt_flow_conn_put(mlt_flow_conn *conn, mlt_flow_element *e);
void mlt_flow_conn_end(mlt_flow_conn *conn);

// An element of so many bytes of that line was taken from its inlet. Does not wait.
void mlt_flow_conn_taken(mlt_flow_program *program, uint32_t line, uint64_t bytes);
// The same for any element that a reader has got, of a local line too. Returns it.
static inline mlt_flow_element *mlt_flow_taken(mlt_flow_program *program, mlt_flow_element *e)
{
    if (MLT_UNLIKELY(e->line != MLT_FLOW_NO_LINE)) {
        uint32_t line = e->line;
        e->line = MLT_FLOW_NO_LINE;
        mlt_flow_conn_taken(program, line, e->bytes);
    }
    return e;
}
// True: nothing will come any more by that line, which ends here. For reports.
bool mlt_flow_conn_over(const mlt_flow_program *program, uint32_t line);
// The inlet where these lines end takes no more.
void mlt_flow_conn_close(mlt_flow_program *program, mlt_flow_inlet *inlet);
