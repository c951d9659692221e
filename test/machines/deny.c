// SPDX-License-Identifier: BSD-3-Clause
// deny EPERM|ENOSYS CALL[,CALL...] PROGRAM [ARGUMENT...]: runs the program, and all that it starts, under a seccomp filter that
// refuses these system calls as a container's would. `deny list` prints the calls that it knows.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define CALL(name)                                                                                 \
    {                                                                                              \
#name, SYS_##name                                                                          \
    }
static const struct {
    const char *name;
    int number;
} calls[] = {
    CALL(add_key),
    CALL(bpf),
    CALL(clone3),
    CALL(close_range),
    CALL(execveat),
    CALL(get_mempolicy),
    CALL(io_uring_setup),
    CALL(kcmp),
    CALL(keyctl),
    CALL(madvise),
    CALL(mbind),
    CALL(membarrier),
    CALL(memfd_create),
    CALL(mlock),
    CALL(mount),
    CALL(move_pages),
    CALL(perf_event_open),
    CALL(personality),
    CALL(pidfd_getfd),
    CALL(pidfd_open),
    CALL(pidfd_send_signal),
    CALL(pivot_root),
    CALL(prctl),
    CALL(prlimit64),
    CALL(process_madvise),
    CALL(process_vm_readv),
    CALL(process_vm_writev),
    CALL(ptrace),
    CALL(request_key),
    CALL(rseq),
    CALL(sched_setaffinity),
    CALL(set_mempolicy),
    CALL(setns),
    CALL(socket),
    CALL(statx),
    CALL(timerfd_create),
    CALL(umount2),
    CALL(unshare),
    CALL(userfaultfd),
};
enum { CALLS = sizeof calls / sizeof *calls, HEAD = 4, MOST = HEAD + CALLS + 2 };

static int number_of(const char *name, size_t length)
{
    for (size_t i = 0; i < CALLS; i++)
        if (strlen(calls[i].name) == length && memcmp(calls[i].name, name, length) == 0)
            return calls[i].number;
    return -1;
}

// Allows what is called in another way than this processor's own: the programs under test never do that.
static int filter(const char *names, unsigned refusal, struct sock_filter *out)
{
    unsigned n = 0, count = 0;
    int numbers[CALLS];
    for (const char *at = names; *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        if (count == CALLS || (numbers[count++] = number_of(at, length)) < 0) {
            fprintf(stderr, "deny: '%.*s' is no call that it knows; 'deny list' prints them\n",
                    (int)length, at);
            return -1;
        }
        at += length;
    }
    out[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    out[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 0,
                                            (unsigned char)(count + 1));
    out[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < count; i++)
        out[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i],
                                                (unsigned char)(count - i), 0);
    out[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    out[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | refusal);
    return (int)n;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < CALLS; i++)
            puts(calls[i].name);
        return 0;
    }
    int refusal = argc < 4                         ? 0
                  : strcmp(argv[1], "EPERM") == 0  ? EPERM
                  : strcmp(argv[1], "ENOSYS") == 0 ? ENOSYS
                                                   : 0;
    if (!refusal) {
        fprintf(stderr, "usage: deny EPERM|ENOSYS CALL[,CALL...] PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    struct sock_filter lines[MOST];
    int n = filter(argv[2], (unsigned)refusal, lines);
    if (n < 0)
        return 2;
    struct sock_fprog program = {.len = (unsigned short)n, .filter = lines};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("deny: no filter can be set");
        return 77;
    }
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return 127;
}
