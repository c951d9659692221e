// SPDX-License-Identifier: BSD-3-Clause
// The same with MPI: a nonblocking all-to-all for each plane, begun as soon as the plane is ready.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "fft.h"

int main(int argc, char **argv)
{
    int rank, size, n = fft_size(argc, argv);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (n % size != 0) {
        fprintf(stderr, "%d ranks do not divide %d\n", size, n);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int planes = n / size, rows = n / size;
    long points = (long)rows * n; // of a piece
    size_t all = (size_t)planes * (size_t)n * (size_t)n;
    point *mine = malloc(all * sizeof *mine), *pieces = malloc(all * sizeof *pieces);
    point *lines = malloc(all * sizeof *lines);
    MPI_Request *moves = malloc((size_t)planes * sizeof *moves);

    // Rank r has planes r, r + size, ...; the k-th exchange is that of planes k * size and on.
    for (int k = 0; k < planes; k++) {
        point *plane = mine + (long)k * n * n;
        fft_fill(plane, n, k * size + rank);
        fft_plane(plane, n);
        MPI_Ialltoall(plane, (int)points, MPI_C_DOUBLE_COMPLEX, pieces + (long)k * n * n,
                      (int)points, MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD, &moves[k]);
    }
    for (int k = 0; k < planes; k++) {
        MPI_Wait(&moves[k], MPI_STATUS_IGNORE);
        for (int r = 0; r < size; r++)
            for (long i = 0; i < points; i++)
                lines[i * n + k * size + r] = pieces[((long)k * size + r) * points + i];
    }
    findings f = fft_lines(lines, n, rows * rank, rows), all_of;
    MPI_Reduce(&f.error, &all_of.error, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&f.waves, &all_of.waves, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        fft_print(n, all_of.error, all_of.waves);
    free(mine);
    free(pieces);
    free(lines);
    free(moves);
    MPI_Finalize();
    return 0;
}
