// SPDX-License-Identifier: BSD-3-Clause
// The system refuses unshare, so that ranks share their current directory, and go on. argv[1]: a
// folder.
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((constructor)) static void refuse(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = {sizeof rules / sizeof rules[0], rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0)
        fprintf(stderr, "no filter here\n");
}

int main(int argc, char **argv)
{
    char here[PATH_MAX];
    int rank, failed;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    failed = chdir(argv[1]); // all to the same one: right either way
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d %s\n", rank,
           !failed && getcwd(here, sizeof here) && strcmp(here, argv[1]) == 0 ? "is there"
                                                                              : "failed");
    MPI_Finalize();
    return 0;
}
