// SPDX-License-Identifier: BSD-3-Clause
//
// A driver asks its peer for messages, one at a time, so that it alone decides which of its
// receives can be complete. Nothing arrives that was not asked for; what was asked for arrives
// sooner or later.

#pragma once

#include "check.h"

enum { SERVE_TAG = 30000, SERVE_STOP = -1 };

// The peer will send `bytes` bytes of pattern `tag` with tag `tag`.
static inline void ask(int peer, int tag, int bytes)
{
    int order[2] = {tag, bytes};
    CHECK_OK(MPI_Send(order, 2, MPI_INT, peer, SERVE_TAG, MPI_COMM_WORLD));
}

static inline void ask_stop(int peer)
{
    ask(peer, SERVE_STOP, 0);
}

// Sends what the driver asks for until it says stop. The sends are nonblocking: the driver may
// leave one message alone while it asks for the next.
static inline void serve(int driver)
{
    int order[2], n = 0, room = 0;
    MPI_Request *requests = NULL;
    char **data = NULL;
    for (;;) {
        CHECK_OK(MPI_Recv(order, 2, MPI_INT, driver, SERVE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (order[0] == SERVE_STOP)
            break;
        if (n == room) {
            room = room ? 2 * room : 16;
            requests = realloc(requests, (size_t)room * sizeof *requests);
            data = realloc(data, (size_t)room * sizeof *data);
            CHECK(requests != NULL && data != NULL);
        }
        data[n] = must_alloc((size_t)order[1]);
        pattern_fill(data[n], (size_t)order[1], (unsigned)order[0]);
        CHECK_OK(
            MPI_Isend(data[n], order[1], MPI_BYTE, driver, order[0], MPI_COMM_WORLD, &requests[n]));
        n++;
    }
    CHECK_OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
    while (n > 0)
        free(data[--n]);
    free(data);
    free(requests);
}

// Runs `drive` on every ordered pair of ranks that differ in one bit: with four ranks in two
// workers these are neighbours in a worker and ranks of different workers, both ways round.
static inline void for_each_pair(void (*drive)(int peer))
{
    int rank = world_rank(), size = world_size();
    for (int bit = 1; bit < size; bit <<= 1) {
        int peer = rank ^ bit;
        for (int turn = 0; turn < 2 && peer < size; turn++) {
            if ((rank < peer) == (turn == 0)) {
                drive(peer);
                ask_stop(peer);
            } else {
                serve(peer);
            }
        }
        // Nobody else's orders may reach a driver that receives from any source.
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
}
