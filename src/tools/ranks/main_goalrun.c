// SPDX-License-Identifier: BSD-3-Clause
// The ranks of `millet goal run`: an MPI program that uses nothing but the installed headers. It is
// told everything by a file (goalrun.h). Ranks may be fibers of one process: there are no globals.
#include <errno.h>
#include <fcntl.h>
#include <millet/goal.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/ranks/goalrun.h"

static _Noreturn void main_goalrun_fail(const char *what)
{
    fprintf(stderr, "goalrun: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void *need(size_t bytes)
{
    void *memory = calloc(bytes + 1, 1);
    if (!memory)
        main_goalrun_fail("memory is exhausted: no room for buffers");
    return memory;
}

static void main_goalrun_get(int fd, void *to, uint64_t bytes, uint64_t at)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            main_goalrun_fail("the job's file cannot be read");
        done += (uint64_t)n;
    }
}

static void main_goalrun_put(int fd, const void *from, uint64_t bytes, uint64_t at)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = pwrite(fd, (const char *)from + done, bytes - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            main_goalrun_fail("the job's file cannot be written");
        done += (uint64_t)n;
    }
}

// Contents of all buffers from the file into the schedule's memory, or back.
static void move_buffers(int fd, GOAL_Sched sched, const goalrun_buffer *buffers, uint32_t count,
                         bool in)
{
    for (uint32_t i = 0; i < count; i++) {
        char *name = need(buffers[i].name_bytes);
        void *base;
        size_t size;
        main_goalrun_get(fd, name, buffers[i].name_bytes, buffers[i].name);
        GOAL_Sched_buffer(sched, name, &base, &size);
        if (size != buffers[i].size)
            main_goalrun_fail("a buffer has another size than its program says");
        if (in)
            main_goalrun_get(fd, base, size, buffers[i].at);
        else
            main_goalrun_put(fd, base, size, buffers[i].at);
        free(name);
    }
}

static void tell_order(int fd, GOAL_Sched sched, goalrun_record *record)
{
    int *ids = need(record->actions * sizeof *ids), count = 0;
    GOAL_Sched_order(sched, ids, (int)record->actions, &count);
    record->finished = (uint32_t)count < record->actions ? (uint32_t)count : record->actions;
    main_goalrun_put(fd, ids, record->finished * sizeof *ids, record->order);
    free(ids);
}

static void main_goalrun_run(int fd, const goalrun_head *head, uint64_t record_at)
{
    goalrun_record record;
    main_goalrun_get(fd, &record, sizeof record, record_at);
    char *text = need(record.text_bytes);
    goalrun_buffer *buffers = need(record.buffers * sizeof *buffers);
    main_goalrun_get(fd, text, record.text_bytes, record.text);
    main_goalrun_get(fd, buffers, record.buffers * sizeof *buffers, record_at + sizeof record);
    GOAL_Sched sched;
    GOAL_Sched_text(text, MPI_COMM_WORLD, &sched);
    GOAL_Sched_set(sched, GOAL_CALC, 1);
    if (head->order)
        GOAL_Sched_set(sched, GOAL_ORDER, 1);
    move_buffers(fd, sched, buffers, record.buffers, true);
    GOAL_Sched_run(sched);
    move_buffers(fd, sched, buffers, record.buffers, false);
    if (head->order) {
        tell_order(fd, sched, &record);
        GOAL_Sched_set(sched, GOAL_ORDER, 0);
    }
    for (uint32_t i = 0; i < head->repeat; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double began = MPI_Wtime();
        GOAL_Sched_run(sched);
        double took = MPI_Wtime() - began;
        main_goalrun_put(fd, &took, sizeof took, record.times + i * sizeof took);
    }
    record.done = 1;
    main_goalrun_put(fd, &record, sizeof record, record_at);
    GOAL_Sched_free(&sched);
    free(buffers);
    free(text);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int fd = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
    goalrun_head head = {0};
    if (fd < 0)
        main_goalrun_fail("this program is started by `millet goal run`, which gives it a file");
    main_goalrun_get(fd, &head, sizeof head, 0);
    if (head.magic != GOALRUN_MAGIC)
        main_goalrun_fail("the file is none of `millet goal run`");
    if ((uint32_t)size != head.ranks) {
        if (rank == 0)
            fprintf(stderr,
                    "goalrun: the program has %u ranks, but the job has %d; say mpirun options "
                    "that make as many\n",
                    head.ranks, size);
        MPI_Barrier(MPI_COMM_WORLD);
        close(fd);
        MPI_Finalize();
        return 1;
    }
    uint64_t record;
    main_goalrun_get(fd, &record, sizeof record, sizeof head + (uint64_t)rank * sizeof record);
    main_goalrun_run(fd, &head, record);
    close(fd);
    MPI_Finalize();
    return 0;
}
