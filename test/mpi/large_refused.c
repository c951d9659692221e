// SPDX-License-Identifier: BSD-3-Clause
//
// Long messages between processes that reach into each other's memory, which the system suddenly
// refuses: everything still arrives. The arguments: which calls (read, write, both), how (refused:
// never allowed; fault: as if the memory could not be reached), and who (first, second, all).
// Without arguments nothing is refused.

#define _GNU_SOURCE // beyond C11: setenv
#include "check.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define WORLD MPI_COMM_WORLD

enum { MOST = (5 << 20) + 13, AT_ONCE = 3, ROUNDS = 4, MANY = 20, MANY_MOST = 150000 };

// From now on the two calls fail with that error; 0: they are as they were.
static void refuse(unsigned read_error, unsigned write_error)
{
    unsigned read_answer = read_error ? SECCOMP_RET_ERRNO | read_error : SECCOMP_RET_ALLOW;
    unsigned write_answer = write_error ? SECCOMP_RET_ERRNO | write_error : SECCOMP_RET_ALLOW;
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, read_answer),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, write_answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = COUNT_OF(steps), .filter = steps};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

// Several messages at once from one rank to the other: of short ones more than the two can share
// out at a time. In every other round the last one is asked for first.
static void one_way(int rank, int from, int round, int bytes, char *buf)
{
    MPI_Request requests[MANY];
    int count = bytes <= MANY_MOST ? MANY : AT_ONCE;
    for (int k = 0; k < count; k++) {
        int i = round % 2 && rank != from ? count - 1 - k : k;
        char *part = buf + (size_t)i * (size_t)bytes;
        if (rank == from) {
            pattern_fill(part, bytes, (unsigned)(from + i));
            CHECK_OK(MPI_Isend(part, bytes, MPI_BYTE, !from, i, WORLD, &requests[k]));
        } else {
            memset(part, 0, (size_t)bytes);
            CHECK_OK(MPI_Irecv(part, bytes, MPI_BYTE, from, i, WORLD, &requests[k]));
        }
    }
    CHECK_OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < count; i++)
        CHECK_PATTERN(buf + (size_t)i * (size_t)bytes, bytes, (unsigned)(from + i));
}

static void exchange(int rank, int bytes, char *buf)
{
    char *in = buf + MOST;
    MPI_Status status;
    pattern_fill(buf, bytes, (unsigned)(rank + 50));
    CHECK_OK(MPI_Sendrecv(buf, bytes, MPI_BYTE, !rank, 7, in, bytes, MPI_BYTE, !rank, 7, WORLD,
                          &status));
    CHECK_PATTERN(in, bytes, (unsigned)(!rank + 50));
}

static void all_ways(int rank, char *buf)
{
    static const int sizes[] = {20000, 40000, MANY_MOST, 1 << 20, MOST};
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < COUNT_OF(sizes); i++) {
            one_way(rank, 0, round, sizes[i], buf);
            one_way(rank, 1, round, sizes[i], buf);
            exchange(rank, sizes[i], buf);
        }
}

int main(int argc, char **argv)
{
    int rank, size;
    setenv("MILLET_LARGE", "read", 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    CHECK_INT(size, 2);
    char *buf = malloc((size_t)AT_ONCE * MOST);
    CHECK(buf != NULL);
    all_ways(rank, buf);
    if (argc > 3) {
        unsigned error = strcmp(argv[2], "fault") == 0 ? EFAULT : EPERM;
        bool mine = strcmp(argv[3], "all") == 0 || (strcmp(argv[3], "second") == 0) == (rank == 1);
        if (mine)
            refuse(strcmp(argv[1], "write") ? error : 0, strcmp(argv[1], "read") ? error : 0);
        all_ways(rank, buf);
    }
    free(buf);
    MPI_Finalize();
    return 0;
}
