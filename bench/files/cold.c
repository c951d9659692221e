// SPDX-License-Identifier: BSD-3-Clause
//
// cold FILE [DEPTH]: reads of 4 KiB at random places of a file of 256 MiB of which nothing is in memory: 4,000 in all,
// DEPTH (64) at a time. Rank 0 prints what one of them took, by the clock and of all processors.
//
//     mpirun -n 1 cold FILE                         nonblocking reads of one rank
//     mpirun -n 1 -nfg 64 cold FILE 1               fibers that wait for one each
//
// MILLET_FILE_ASYNC=threads or uring says who waits for the disk.

#define _GNU_SOURCE // posix_fadvise
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BLOCK = 4096, BLOCKS = 65536, READS = 4000, MOST = 256 };

static double used(void)
{
    struct rusage now;
    getrusage(RUSAGE_SELF, &now);
    return (double)(now.ru_utime.tv_sec + now.ru_stime.tv_sec) +
           (double)(now.ru_utime.tv_usec + now.ru_stime.tv_usec) / 1e6;
}

static void fill(const char *path)
{
    static char block[1 << 20];
    int fd = open(path, O_RDWR | O_CREAT, 0666);
    if (fd < 0) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    off_t size = lseek(fd, 0, SEEK_END);
    for (; size < (off_t)BLOCK * BLOCKS; size += (off_t)sizeof block)
        if (pwrite(fd, block, sizeof block, size) != (ssize_t)sizeof block)
            MPI_Abort(MPI_COMM_WORLD, 1);
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

int main(int argc, char **argv)
{
    int rank, ranks, depth = argc > 2 ? atoi(argv[2]) : 64;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 2 || depth < 1 || depth > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (rank == 0)
        fill(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File fh;
    MPI_Request requests[MOST];
    char *room = malloc((size_t)depth * BLOCK);
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &fh) || !room)
        MPI_Abort(MPI_COMM_WORLD, 1);
    unsigned long long place = (unsigned)rank + 1;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), before = used();
    for (int i = 0; i < depth; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < READS / ranks; i++) {
        int slot = i;
        if (i >= depth)
            MPI_Waitany(depth, requests, &slot, MPI_STATUS_IGNORE);
        place = place * 6364136223846793005u + 1442695040888963407u;
        MPI_File_iread_at(fh, (MPI_Offset)(place >> 40) % BLOCKS * BLOCK,
                          room + (size_t)slot * BLOCK, BLOCK, MPI_BYTE, &requests[slot]);
    }
    MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.1f us by the clock, %.1f us of a processor\n",
               (MPI_Wtime() - begin) / READS * 1e6, (used() - before) / READS * 1e6);
    MPI_File_close(&fh);
    free(room);
    MPI_Finalize();
    return 0;
}
