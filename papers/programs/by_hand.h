// SPDX-License-Identifier: BSD-3-Clause
// Collectives composed of sends and receives, as the text's library has them. A recording of them knows which message waits for which.
#ifndef BY_HAND_H
#define BY_HAND_H

#include <mpi.h>
#include <string.h>

// From rank 0 down the binomial tree of GOAL's Listing 2: in round r the first 2^r ranks send 2^r further on.
static inline void tree_bcast(void *data, int bytes, int rank, int size)
{
    int bit = 1;
    while (bit <= rank)
        bit <<= 1;
    if (rank != 0)
        MPI_Recv(data, bytes, MPI_CHAR, rank - bit / 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (; rank + bit < size; bit <<= 1)
        MPI_Send(data, bytes, MPI_CHAR, rank + bit, 0, MPI_COMM_WORLD);
}

// The sum at rank 0, up a binomial tree.
static inline double tree_sum(double mine, int rank, int size)
{
    for (int bit = 1; bit < size; bit <<= 1) {
        double other;
        if (rank & bit) {
            MPI_Send(&mine, 1, MPI_DOUBLE, rank - bit, 0, MPI_COMM_WORLD);
            break;
        }
        if (rank + bit < size) {
            MPI_Recv(&other, 1, MPI_DOUBLE, rank + bit, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            mine += other;
        }
    }
    return mine;
}

// Each rank's `bytes` to all: by doubling if the number of ranks is a power of two, else round a ring.
static inline void gather_all(const void *mine, void *all, int bytes, int rank, int size)
{
    char *blocks = all;
    memcpy(blocks + (size_t)rank * (size_t)bytes, mine, (size_t)bytes);
    if ((size & (size - 1)) == 0) {
        for (int bit = 1; bit < size; bit <<= 1) {
            int peer = rank ^ bit, own = rank & -bit, theirs = peer & -bit;
            MPI_Sendrecv(blocks + (size_t)own * (size_t)bytes, bit * bytes, MPI_CHAR, peer, 0, blocks + (size_t)theirs * (size_t)bytes, bit * bytes,
                         MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        return;
    }
    for (int step = 0; step < size - 1; step++) {
        int gone = (rank - step + size) % size, comes = (gone - 1 + size) % size;
        MPI_Sendrecv(blocks + (size_t)gone * (size_t)bytes, bytes, MPI_CHAR, (rank + 1) % size, 0, blocks + (size_t)comes * (size_t)bytes, bytes, MPI_CHAR,
                     (rank - 1 + size) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

#endif
