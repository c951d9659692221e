// SPDX-License-Identifier: BSD-3-Clause
// How a rank asks mpirun to start another job (MPI_Comm_spawn).
//
// The rank makes a pair of sockets and sends one end through the control channel (MLT_CTL_SPAWN). It
// writes the request into the other, shuts that direction down, and listens for as
// long as programs need to start. So nothing else of the control channel waits, any number of ranks
// of a process may ask at the same time, and each waits as it would for any descriptor.
//
//     request    lists of texts (boot/lists.h): {port}; then three for each section:
//                {command, number of ranks}, {arguments}, {key, value, key, value, ...}
//     answer     MLT_CHILD_FELL, a text and the end: the job could not start, or has ended before it
//                was connected. If all goes well there is no answer: the job connects to the port.
//
// The end without an answer means that mpirun is ending this job. The rank closes its socket when it
// is connected: what happens to the new job afterwards is no answer to it.
//
// The port's name comes to the new job's processes as MILLET_PARENT.
#pragma once

#include "base/status.h"
#include "boot/lists.h"

enum {
    MLT_CHILD_FELL = '-',
    MLT_CHILD_SECTION_LISTS = 3,
    MLT_CHILD_REQUEST_MOST = 16 << 20, // bytes
    MLT_CHILD_WHY_MOST = 16 << 10,     // bytes of the text after MLT_CHILD_FELL
};

// Asks. *fd, which does not block, is the caller's: for the request and the answer.
// MLT_ERR_CLOSED: there is no mpirun. MLT_ERR_SYSTEM: no descriptors are left (errno).
mlt_status mlt_child_ask(int ctl, int *fd) MLT_MUST_CHECK;

// mpirun: whether the lists have the shape of a request. On failure a message in why.
bool mlt_child_check(const mlt_lists *request, char *why, size_t why_size);

// Of a request that was checked.
static inline uint32_t mlt_child_sections(const mlt_lists *request)
{
    return (request->count - 1) / MLT_CHILD_SECTION_LISTS;
}

static inline char **mlt_child_section(const mlt_lists *request, uint32_t section, uint32_t list)
{
    return request->items[1 + MLT_CHILD_SECTION_LISTS * section + list];
}
