// SPDX-License-Identifier: BSD-3-Clause
//
// For tests of millet/goal.h: actions that must be accepted, and schedules that the tests share.

#pragma once

#include <millet/goal.h>

#include "check.h"

#define CHECK_ID(call) check_id(__FILE__, __LINE__, #call, (call))

// An action or function that was added.
static inline GOAL_id check_id(const char *file, int line, const char *call, GOAL_id id)
{
    if (id < 0)
        check_fail(file, line, "%s gave %d", call, id);
    return id;
}

// Compiles the goal and frees it.
static inline GOAL_Sched compiled(GOAL_Goal g)
{
    GOAL_Sched s = GOAL_Compile(g);
    CHECK(s != NULL);
    CHECK_OK(GOAL_Free(&g));
    CHECK(g == NULL);
    return s;
}

// Every rank sends `size` bytes to its right neighbour and receives from its left one.
static inline GOAL_Sched ring_of(MPI_Comm comm, const void *out, void *in, size_t size)
{
    int rank, ranks;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &ranks));
    GOAL_Goal g = GOAL_Create();
    CHECK_OK(GOAL_Set_comm(g, comm));
    CHECK_ID(GOAL_Recv(g, in, size, (rank + ranks - 1) % ranks));
    CHECK_ID(GOAL_Send(g, out, size, (rank + 1) % ranks));
    return compiled(g);
}
