// SPDX-License-Identifier: BSD-3-Clause
//
// A worker that goes to sleep makes a memory barrier for all others, which the system suddenly
// refuses: only the quick way (argument `quick`), and messages arrive; or every way (`every`), and
// the job ends with a message instead of losing a wake-up.

#define _GNU_SOURCE // beyond C11: usleep
#include "check.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORLD MPI_COMM_WORLD

enum { ROUNDS = 5, LONGER_THAN_SPINNING_US = 20000 };

// The low half of the first argument is the command; the high one is 0.
static void refuse(int quick_only)
{
    unsigned others = quick_only ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM;
    unsigned low = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4;
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 4), // else the last step
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + low),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        BPF_STMT(BPF_RET | BPF_K, others),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = COUNT_OF(steps), .filter = steps};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(int argc, char **argv)
{
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    CHECK_INT(argc, 2);
    refuse(strcmp(argv[1], "quick") == 0);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0) {
            CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 1, 0, WORLD, MPI_STATUS_IGNORE));
            CHECK_INT(value, i);
        } else {
            usleep(LONGER_THAN_SPINNING_US);
            CHECK_OK(MPI_Send(&i, 1, MPI_INT, 0, 0, WORLD));
        }
    }
    MPI_Finalize();
    return 0;
}
