// SPDX-License-Identifier: BSD-3-Clause
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "os/fd.h"

_Thread_local uint32_t mlt_os_foreign __attribute__((tls_model("initial-exec")));

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

void *mlt_os_map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static int wants_code_on_stacks(struct dl_phdr_info *object, size_t size, void *argument)
{
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_GNU_STACK && object->dlpi_phdr[i].p_flags & PF_X)
            return 1;
    return 0;
}

// The address of an internal procedure of Fortran, or of a nested function of GNU C, is a few
// instructions on the stack. The linker marks a program that has some, and the system gives it
// stacks that may hold code; ours must, too.
void *mlt_os_map_stacks(size_t bytes)
{
    void *at = mlt_os_map(bytes);
    if (!at)
        return NULL;
    (void)madvise(at, bytes, MADV_NOHUGEPAGE); // refused where huge pages are not built in
    if (dl_iterate_phdr(wants_code_on_stacks, NULL) &&
        mprotect(at, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        mlt_log("stacks that may hold code are refused: internal procedures as arguments fail");
    return at;
}

void *mlt_os_map_fd(int fd, size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

void mlt_os_unmap(void *at, size_t bytes)
{
    if (at)
        (void)munmap(at, bytes);
}

void mlt_os_discard(void *at, size_t bytes)
{
    if (bytes)
        (void)madvise(at, bytes, MADV_DONTNEED);
}

void mlt_os_want_huge(void *at, size_t bytes)
{
    (void)madvise(at, bytes, MADV_HUGEPAGE);
}

size_t mlt_os_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

mlt_status mlt_os_guard_install(void *at, size_t bytes)
{
    return madvise(at, bytes, MADV_GUARD_INSTALL) == 0 ? MLT_OK : MLT_ERR_UNSUPPORTED;
}

// Linux lets a process do that to itself since it has guards; before, and in sandboxes, it refuses.
static mlt_status advise_ranges(char *at, size_t bytes, size_t stride, uint32_t count, int advice)
{
    struct iovec ranges[MLT_OS_RANGES];
    for (uint32_t i = 0; i < count && i < MLT_OS_RANGES; i++)
        ranges[i] = (struct iovec){at + i * stride, bytes};
    int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (self < 0)
        return MLT_ERR_UNSUPPORTED;
    long done = syscall(SYS_process_madvise, self, ranges, (size_t)count, advice, 0u);
    (void)close(self);
    return done == (long)(bytes * count) ? MLT_OK : MLT_ERR_UNSUPPORTED;
}

mlt_status mlt_os_guard_ranges(char *at, size_t bytes, size_t stride, uint32_t count)
{
    return advise_ranges(at, bytes, stride, count, MADV_GUARD_INSTALL);
}

void mlt_os_fault_in_ranges(char *at, size_t bytes, size_t stride, uint32_t count)
{
    (void)advise_ranges(at, bytes, stride, count, MADV_POPULATE_WRITE);
}

mlt_status mlt_os_protect(void *at, size_t bytes)
{
    return mprotect(at, bytes, PROT_NONE) == 0 ? MLT_OK : MLT_ERR_NO_MEMORY;
}

// Only the kernel itself answers EFAULT. A function of libc's may run in user space (clock_gettime
// does, and since glibc 2.41 getrandom), where a write to a guard is a fault; so may a system call
// that valgrind serves itself, as those about signals. So this is a bare system call, and one that no
// filter refuses: libc falls back on it.
bool mlt_os_is_guarded(void *at)
{
    _Static_assert(sizeof(struct timespec) == 16, "what the call writes");
    int before = errno;
    bool guarded = syscall(SYS_clock_gettime, CLOCK_MONOTONIC, at) == -1 && errno == EFAULT;
    errno = before;
    return guarded;
}

mlt_status mlt_os_protect_writing(void *at, size_t bytes)
{
    return mprotect(at, bytes, PROT_READ) == 0 ? MLT_OK : MLT_ERR_NO_MEMORY;
}

mlt_status mlt_os_rewrite(const void *at, const void *from, size_t bytes)
{
    uintptr_t page = mlt_os_page_size(), first = (uintptr_t)at & ~(page - 1);
    size_t all = (((uintptr_t)at + bytes + page - 1) & ~(page - 1)) - first;
    if (mprotect((void *)first, all, PROT_READ | PROT_WRITE) != 0)
        return MLT_ERR_SYSTEM;
    memcpy((void *)(uintptr_t)at, from, bytes);
    return mprotect((void *)first, all, PROT_READ) == 0 ? MLT_OK : MLT_ERR_SYSTEM;
}

mlt_status mlt_os_make_private(void *at, size_t bytes)
{
    char *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return MLT_ERR_NO_MEMORY;
    memcpy(copy, at, bytes);
    if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED)
        return MLT_OK;
    (void)munmap(copy, bytes);
    return MLT_ERR_NO_MEMORY;
}

bool mlt_os_is_memfd(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS); // a file of tmpfs that is no memfd can take no more seals
    return seals >= 0 && (!(seals & F_SEAL_SEAL) || (seals & F_SEAL_SHRINK));
}

// The size of a file. One that takes room elsewhere than in memory gets all of it now: a page that
// has no room when it is touched would be a SIGBUS. Of a limit (`ulimit -f`, for memory without a
// name too) the system would tell by a signal that ends the process.
static int set_size(int fd, uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) {
        errno = EFBIG;
        return -1;
    }
    if (ftruncate(fd, (off_t)bytes) != 0)
        return -1;
    int error = bytes && !mlt_os_is_memfd(fd) ? posix_fallocate(fd, 0, (off_t)bytes) : 0;
    errno = error ? error : errno;
    return error ? -1 : 0;
}

static int sized(int fd, size_t bytes)
{
    if (fd < 0 || set_size(fd, bytes) == 0)
        return fd;
    mlt_os_close(fd);
    return -1;
}

static int unnamed_file(size_t bytes)
{
    const char *folders[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
    int fd = -1;
    for (size_t i = 0; fd < 0 && i < sizeof folders / sizeof *folders; i++)
        if (folders[i] && folders[i][0])
            fd = sized(open(folders[i], O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600), bytes);
    return fd;
}

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u // Linux 6.3; vm.memfd_noexec=2 asks for it
#endif

int mlt_os_memfd(const char *label, size_t bytes)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create(label, flags | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(label, flags);
    if (fd < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS))
        return unnamed_file(bytes);
    return sized(fd, bytes);
}

mlt_status mlt_os_seal_size(int fd)
{
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    return !mlt_os_is_memfd(fd) || fcntl(fd, F_ADD_SEALS, seals) == 0 ? MLT_OK
                                                                      : MLT_ERR_UNSUPPORTED;
}

mlt_status mlt_os_resize(int fd, uint64_t bytes)
{
    return set_size(fd, bytes) == 0 ? MLT_OK : MLT_ERR_NO_MEMORY;
}

void *mlt_os_map_part(int fd, uint64_t offset, size_t bytes, size_t align)
{
    // The kernel aligns to pages only: for more, a part of a range that is larger.
    int flags = MAP_SHARED | MAP_NORESERVE;
    char *range = NULL, *at = NULL;
    if (align > mlt_os_page_size()) {
        range = mlt_os_map(bytes + align);
        if (!range)
            return NULL;
        at = (char *)(((uintptr_t)range + align - 1) & ~(uintptr_t)(align - 1));
        if (at > range)
            (void)munmap(range, (size_t)(at - range));
        (void)munmap(at + bytes, (size_t)(range + align - at));
        flags |= MAP_FIXED;
    }
    void *part = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset);
    if (part != MAP_FAILED)
        return part;
    mlt_os_unmap(at, bytes);
    return NULL;
}

void *mlt_os_map_peer(pid_t peer, int fd, uint64_t offset, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)peer, fd);
    int own = open(path, O_RDWR | O_CLOEXEC);
    if (own < 0)
        return NULL;
    uint64_t skip = offset & (mlt_os_page_size() - 1);
    char *at = mlt_os_map_part(own, offset - skip, bytes + skip, 1);
    (void)close(own);
    return at ? at + skip : NULL;
}

void mlt_os_unmap_peer(void *at, size_t bytes)
{
    uint64_t skip = (uintptr_t)at & (mlt_os_page_size() - 1);
    mlt_os_unmap((char *)at - skip, bytes + skip);
}

void mlt_os_remove(void *at, size_t bytes)
{
    if (bytes)
        (void)madvise(at, bytes, MADV_REMOVE);
}

// The number after `key` in a small file of lines "key: number"; 0 if absent.
static uint64_t number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

bool mlt_os_read_text(const char *path, char *text, size_t size)
{
    int saved = errno, fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    mlt_os_close(fd);
    errno = saved;
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

mlt_status mlt_os_memory_state(mlt_os_memory *out)
{
    char
        text[256]; // small, for it lies on a rank's stack; what is wanted stands in the first lines
    if (!mlt_os_read_text("/proc/meminfo", text, sizeof text))
        return MLT_ERR_SYSTEM;
    out->total = number_after(text, "MemTotal:") * 1024;
    out->available = number_after(text, "MemAvailable:") * 1024;
    if (!mlt_os_read_text("/proc/self/statm", text, sizeof text))
        return MLT_ERR_SYSTEM;
    unsigned long size = 0, resident = 0;
    if (sscanf(text, "%lu %lu", &size, &resident) != 2)
        return MLT_ERR_SYSTEM;
    out->own = (uint64_t)resident * mlt_os_page_size();
    // A container's own limit may be far below the machine's.
    char used_text[64];
    if ((mlt_os_read_text("/sys/fs/cgroup/memory.max", text, sizeof text) && text[0] != 'm' &&
         mlt_os_read_text("/sys/fs/cgroup/memory.current", used_text, sizeof used_text)) ||
        (mlt_os_read_text("/sys/fs/cgroup/memory/memory.limit_in_bytes", text, sizeof text) &&
         mlt_os_read_text("/sys/fs/cgroup/memory/memory.usage_in_bytes", used_text,
                          sizeof used_text))) {
        uint64_t limit = strtoull(text, NULL, 10), used = strtoull(used_text, NULL, 10);
        uint64_t left = limit > used ? limit - used : 0;
        if (limit < out->total)
            out->total = limit;
        if (left < out->available)
            out->available = left;
    }
    return MLT_OK;
}

void mlt_os_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    struct timespec limit = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
    int saved = errno;
    (void)syscall(SYS_futex, word, FUTEX_WAIT, expected, timeout_ns < 0 ? NULL : &limit, NULL, 0);
    errno = saved; // the callers' users see their own errno only
}

void mlt_os_run_anywhere(void)
{
    enum { CPUS = 8192 };
    unsigned char every[CPUS / 8];
    memset(every, 0xff, sizeof every);
    (void)sched_setaffinity(0, sizeof every, (const cpu_set_t *)(const void *)every);
}

void mlt_os_futex_wake(_Atomic uint32_t *word, int count)
{
    int saved = errno;
    (void)syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
    errno = saved;
}

void mlt_os_sleep(int64_t ns)
{
    struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    int saved = errno;
    (void)nanosleep(&time, NULL);
    errno = saved;
}

mlt_status mlt_os_barrier_join(void)
{
    int needed = MEMBARRIER_CMD_GLOBAL_EXPEDITED | MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED;
    long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (known < 0 || (known & needed) != needed ||
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0)
        return MLT_ERR_UNSUPPORTED;
    return MLT_OK;
}

mlt_status mlt_os_barrier(void)
{
    int saved = errno;
    bool done = syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0 ||
                syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0;
    errno = saved;
    return done ? MLT_OK : MLT_ERR_SYSTEM;
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t mlt_os_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t mlt_os_thread_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

int mlt_os_cores(void)
{
    // A dynamic set: machines with over 1,024 cores exist.
    for (int limit = 1024; limit <= 1 << 20; limit *= 2) {
        size_t bytes = CPU_ALLOC_SIZE((size_t)limit);
        cpu_set_t *set = CPU_ALLOC((size_t)limit);
        if (!set)
            return 1;
        int n = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (n > 0)
            return n;
    }
    return 1;
}

int mlt_os_threads(void)
{
    enum { AFTER_STATE = 17 }; // fields between the state and the number of threads
    char text[1024];
    (void)mlt_os_read_text("/proc/self/stat", text, sizeof text);
    const char *at = strrchr(text, ')'); // the name may hold anything
    for (int i = 0; at && i <= AFTER_STATE; i++)
        at = strchr(at + 1, ' ');
    return at ? atoi(at + 1) : 0;
}

long mlt_os_call_of(pid_t thread)
{
    char path[64], text[32], *end;
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)thread);
    if (!mlt_os_read_text(path, text, sizeof text))
        return MLT_OS_CALL_UNKNOWN;
    long call = strtol(text, &end, 10);
    return end == text || call < 0 ? MLT_OS_NO_CALL : call; // "running", or blocked elsewhere
}

char mlt_os_state_of(pid_t process, uint32_t thread, pid_t *parent)
{
    char path[64], text[512], state = '\0';
    int above = -1, end = snprintf(path, sizeof path, "/proc/%d", (int)process);
    if (thread)
        end += snprintf(path + end, sizeof path - (size_t)end, "/task/%u", thread);
    snprintf(path + end, sizeof path - (size_t)end, "/stat");
    (void)mlt_os_read_text(path, text, sizeof text);
    // "pid (name) state parent": the name may hold anything, blanks and brackets included.
    const char *after_name = strrchr(text, ')');
    if (!after_name || sscanf(after_name + 1, " %c %d", &state, &above) != 2)
        state = '\0';
    if (parent)
        *parent = state ? (pid_t)above : -1;
    return state;
}

uint32_t mlt_os_thread_id(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

bool mlt_os_is_readable(const void *address)
{
    // The kernel reads the set before it finds that there is no such way to change it.
    int saved = errno;
    bool fault =
        !address || // to the kernel, no set
        (syscall(SYS_rt_sigprocmask, -1, address, NULL, sizeof(uint64_t)) != 0 && errno == EFAULT);
    errno = saved;
    return !fault;
}

// By the kernel, which another thread that unmaps the memory does not surprise; where the system lets
// nobody use that call, by hand.
bool mlt_os_read_own(void *to, const void *from, size_t bytes)
{
    const void *nowhere = (const void *)sizeof(void *);
    mlt_status status = mlt_os_read_peer(getpid(), to, (uintptr_t)from, bytes);
    if (status != MLT_ERR_UNSUPPORTED || !mlt_os_is_readable(from))
        return status == MLT_OK;
    if (mlt_os_is_readable(nowhere)) // an emulator does not know
        return false;
    memcpy(to, from, bytes);
    return true;
}

void mlt_os_yield(void)
{
    (void)sched_yield();
}

typedef ssize_t peer_call(pid_t peer, const struct iovec *local, unsigned long locals,
                          const struct iovec *remote, unsigned long remotes, unsigned long flags);

static mlt_status copy_peer(peer_call *call, pid_t peer, char *here, uint64_t there, size_t bytes)
{
    int saved = errno;
    while (bytes > 0) {
        struct iovec local = {.iov_base = here, .iov_len = bytes};
        struct iovec remote = {.iov_base = (void *)(uintptr_t)there, .iov_len = bytes};
        ssize_t n = call(peer, &local, 1, &remote, 1, 0);
        if (n <= 0) {
            bool refused = n < 0 && (errno == EPERM || errno == ENOSYS || errno == EACCES);
            errno = saved;
            return refused ? MLT_ERR_UNSUPPORTED : MLT_ERR_SYSTEM;
        }
        here += n;
        there += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return MLT_OK;
}

mlt_status mlt_os_read_peer(pid_t peer, void *to, uint64_t from, size_t bytes)
{
    return copy_peer(process_vm_readv, peer, to, from, bytes);
}

mlt_status mlt_os_write_peer(pid_t peer, uint64_t to, const void *from, size_t bytes)
{
    return copy_peer(process_vm_writev, peer, (char *)(uintptr_t)from, to, bytes);
}

mlt_status mlt_os_write_peer_pieces(pid_t peer, const mlt_os_peer_piece *pieces, uint32_t count)
{
    struct iovec local[MLT_OS_PEER_PIECES], remote[MLT_OS_PEER_PIECES];
    size_t total = 0;
    int saved = errno;
    uint32_t i = 0;
    do {
        const mlt_os_peer_piece *p = &pieces[i];
        local[i] = (struct iovec){.iov_base = (void *)(uintptr_t)p->from, .iov_len = p->bytes};
        remote[i] = (struct iovec){.iov_base = (void *)(uintptr_t)p->to, .iov_len = p->bytes};
        total += p->bytes;
    } while (++i < count);
    ssize_t n = process_vm_writev(peer, local, count, remote, count, 0);
    errno = saved;
    mlt_status status = MLT_OK;
    for (i = 0; i < count && (size_t)n != total && status == MLT_OK; i++)
        status = mlt_os_write_peer(peer, pieces[i].to, pieces[i].from, pieces[i].bytes);
    return status;
}

void mlt_os_let_peers_in(pid_t ancestor)
{
    unsigned long whom = ancestor == MLT_OS_ANYBODY ? PR_SET_PTRACER_ANY : (unsigned long)ancestor;
    (void)prctl(PR_SET_PTRACER, whom, 0, 0, 0); // EINVAL: nobody asks
}

bool mlt_os_peers_readable(void)
{
    uint64_t from = 42, to = 0;
    if (mlt_os_read_peer(getpid(), &to, (uintptr_t)&from, sizeof to) != MLT_OK || to != from)
        return false;
    char scope[2]; // 2: administrators only; 3: nobody
    (void)mlt_os_read_text("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
    return scope[0] < '2' || (scope[0] == '2' && geteuid() == 0);
}

const char *mlt_os_program(void)
{
    const char *started = (const char *)getauxval(AT_EXECFN);
    return access("/proc/self/exe", F_OK) == 0 || !started ? "/proc/self/exe" : started;
}

void mlt_os_die_with_parent(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}
