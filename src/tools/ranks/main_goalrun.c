// SPDX-License-Identifier: BSD-3-Clause
// The ranks of `millet goal run`: an MPI program that uses nothing but the installed headers. It is
// told everything by a file (goalrun.h). Ranks may be fibers of one process: there are no globals.
#include <fcntl.h>
#include <millet/goal.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/ranks/goalrun.h"
#include "tools/ranks/ranks.h"

// Contents of all buffers from the file into the schedule's memory, or back.
static void move_buffers(char *file, GOAL_Sched sched, const goalrun_record *record, bool in)
{
    const goalrun_buffer *buffers = (const goalrun_buffer *)(record + 1);
    for (uint64_t i = 0; i < record->buffers; i++) {
        void *base;
        size_t size;
        GOAL_Sched_buffer(sched, file + buffers[i].name, &base, &size);
        if (size != buffers[i].size)
            ranks_fail("goalrun", "a buffer has another size than its program says");
        if (in)
            memcpy(base, file + buffers[i].before, size);
        else
            memcpy(file + buffers[i].after, base, size);
    }
}

static void main_goalrun_run(char *file, const goalrun_head *head, goalrun_record *record)
{
    GOAL_Sched sched;
    double *times = (double *)(file + record->times);
    GOAL_Sched_text(file + record->text, MPI_COMM_WORLD, &sched);
    GOAL_Sched_set(sched, GOAL_CALC, 1);
    if (head->order)
        GOAL_Sched_set(sched, GOAL_ORDER, 1);
    move_buffers(file, sched, record, true);
    GOAL_Sched_run(sched);
    move_buffers(file, sched, record, false);
    if (head->order) {
        int count = 0;
        GOAL_Sched_order(sched, (int *)(file + record->order), (int)record->actions, &count);
        record->finished = (uint32_t)count < record->actions ? (uint32_t)count : record->actions;
        GOAL_Sched_set(sched, GOAL_ORDER, 0);
    }
    for (uint32_t i = 0; i < head->repeat; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double began = MPI_Wtime();
        GOAL_Sched_run(sched);
        times[i] = MPI_Wtime() - began;
    }
    GOAL_Sched_free(&sched);
}

// The file that `millet goal run` gives it.
static char *map_file(const char *path, size_t *size)
{
    struct stat about;
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &about) != 0 || (size_t)about.st_size < sizeof(goalrun_head))
        ranks_fail("goalrun",
                   "this program is started by `millet goal run`, which gives it a file");
    *size = (size_t)about.st_size;
    char *file = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (file == MAP_FAILED || ((goalrun_head *)file)->magic != GOALRUN_MAGIC)
        ranks_fail("goalrun", "the file is none of `millet goal run`");
    return file;
}

int main(int argc, char **argv)
{
    int rank, size;
    size_t bytes;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *file = map_file(argc == 2 ? argv[1] : NULL, &bytes);
    const goalrun_head *head = (const goalrun_head *)file;
    const uint64_t *records = (const uint64_t *)(head + 1);
    bool fits = (uint32_t)size == head->ranks;
    if (fits)
        main_goalrun_run(file, head, (goalrun_record *)(file + records[rank]));
    else if (rank == 0)
        fprintf(stderr,
                "goalrun: the program has %u ranks, but the job has %d; say mpirun options "
                "that make as many\n",
                head->ranks, size);
    if (!fits)
        MPI_Barrier(MPI_COMM_WORLD);
    munmap(file, bytes);
    MPI_Finalize();
    return fits ? 0 : 1;
}
