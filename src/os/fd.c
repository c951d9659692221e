// SPDX-License-Identifier: BSD-3-Clause
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

int mlt_os_epoll_new(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

static int control(int epoll, int how, int fd, uint32_t events, uint64_t data)
{
    struct epoll_event event = {.events = events, .data.u64 = data};
    return epoll_ctl(epoll, how, fd, &event);
}

int mlt_os_epoll_add(int epoll, int fd, uint32_t events, uint64_t data)
{
    return control(epoll, EPOLL_CTL_ADD, fd, events, data);
}

int mlt_os_epoll_change(int epoll, int fd, uint32_t events, uint64_t data)
{
    return control(epoll, EPOLL_CTL_MOD, fd, events, data);
}

int mlt_os_epoll_remove(int epoll, int fd)
{
    return control(epoll, EPOLL_CTL_DEL, fd, 0, 0);
}

// Whole milliseconds, rounded up: nobody looks in vain.
static int in_ms(int64_t ns)
{
    enum { MS = 1000000, MOST = 1 << 30 };
    int64_t ms = ns / MS + (ns % MS > 0);
    return ns < 0 ? -1 : ms < MOST ? (int)ms : MOST;
}

int mlt_os_epoll_wait(int epoll, struct epoll_event *events, int most, int64_t timeout_ns)
{
    static atomic_bool coarse; // Linux 5.11 can do with nanoseconds; some sandboxes forbid it
    int saved = errno, n;
    if (timeout_ns > 0 && !atomic_load_explicit(&coarse, memory_order_relaxed)) {
        struct timespec limit = {.tv_sec = timeout_ns / 1000000000,
                                 .tv_nsec = timeout_ns % 1000000000};
        n = (int)syscall(SYS_epoll_pwait2, epoll, events, most, &limit, NULL, _NSIG / 8);
        if (n < 0 && (errno == ENOSYS || errno == EPERM)) {
            atomic_store_explicit(&coarse, true, memory_order_relaxed);
            n = epoll_wait(epoll, events, most, in_ms(timeout_ns));
        }
    } else {
        n = epoll_wait(epoll, events, most, in_ms(timeout_ns));
    }
    bool broken = n < 0 && errno != EINTR;
    errno = saved;
    return broken ? -1 : n < 0 ? 0 : n;
}

int mlt_os_poll(struct pollfd *fds, uint32_t count, int timeout_ms)
{
    int n = poll(fds, count, timeout_ms);
    return n < 0 && errno == EINTR ? 0 : n;
}

uint64_t mlt_os_file_number(int fd)
{
    struct stat about;
    int saved = errno;
    // Not fstat, which TSan takes for a use of the file: another thread may close it meanwhile.
    bool known = fstatat(fd, "", &about, AT_EMPTY_PATH) == 0;
    errno = saved;
    return known ? about.st_ino : 0;
}

size_t mlt_os_stream_holds(const FILE *stream, const char **text, int *fd)
{
    *text = stream->_IO_write_base;
    *fd = stream->_fileno;
    return *fd >= 0 && stream->_IO_write_ptr > *text ? (size_t)(stream->_IO_write_ptr - *text) : 0;
}

const char *mlt_os_no_descriptor(int error)
{
    static _Thread_local char text[64];
    struct rlimit limit;
    if ((error != EMFILE && error != EINVAL) || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return strerror(error);
    snprintf(text, sizeof text, "`ulimit -n` allows only %llu", (unsigned long long)limit.rlim_cur);
    return text;
}

void mlt_os_close(int fd)
{
    int saved = errno;
    if (fd >= 0)
        (void)close(fd);
    errno = saved;
}

void mlt_os_close_once(int *fd)
{
    mlt_os_close(*fd);
    *fd = -1;
}

// An abstract name: the first byte of the path is 0, and the length says where it ends.
static socklen_t abstract(struct sockaddr_un *address, const char *name, size_t size)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size = size < sizeof address->sun_path ? size : sizeof address->sun_path - 1;
    memcpy(address->sun_path + 1, name, size);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
}

int mlt_os_doorbell_new(const char *name, size_t size)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || size == 0)
        return fd;
    struct sockaddr_un address;
    socklen_t length = abstract(&address, name, size);
    if (bind(fd, (struct sockaddr *)&address, length) == 0)
        return fd;
    mlt_os_close(fd);
    return -1;
}

int mlt_os_doorbell_ring(int from, const char *name, size_t size)
{
    struct sockaddr_un address;
    socklen_t length = abstract(&address, name, size);
    return (int)sendto(from, "", 0, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address,
                       length);
}

void mlt_os_doorbell_drain(int fd)
{
    enum { FEW = 8 }; // usually one
    int saved = errno;
    char byte;
    for (int i = 0; i < FEW && recv(fd, &byte, 1, MSG_DONTWAIT) >= 0; i++) {
    }
    errno = saved;
}

// ---- Descriptors of other processes

bool mlt_os_is_null(int fd)
{
    struct stat about, null;
    return fstat(fd, &about) == 0 && S_ISCHR(about.st_mode) && stat("/dev/null", &null) == 0 &&
           about.st_rdev == null.st_rdev;
}

static int share(pid_t process, int fd)
{
    int of = (int)syscall(SYS_pidfd_open, process, 0);
    if (of < 0)
        return -1;
    int copy = (int)syscall(SYS_pidfd_getfd, of, fd, 0);
    mlt_os_close(of);
    return copy;
}

// Where the other one is in its file; 0: not known.
static off_t place_in(pid_t process, int fd)
{
    char name[64], text[64];
    long long place = 0;
    snprintf(name, sizeof name, "/proc/%d/fdinfo/%d", (int)process, fd);
    (void)mlt_os_read_text(name, text, sizeof text);
    return sscanf(text, "pos: %lld", &place) == 1 ? (off_t)place : 0;
}

int mlt_os_fd_of(pid_t process, int fd, bool writes)
{
    char name[64];
    struct stat about;
    int copy = share(process, fd);
    if (copy >= 0)
        return copy;
    snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)process, fd);
    // A pipe without a writer would block; it has had one.
    int mode = writes ? O_RDWR : O_RDONLY;
    copy = open(name, mode | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (copy < 0)
        return -1;
    (void)fcntl(copy, F_SETFL, mode);
    if (fstat(copy, &about) == 0 && S_ISREG(about.st_mode))
        (void)lseek(copy, place_in(process, fd), SEEK_SET);
    return copy;
}

// ---- Trying

typedef enum fd_mode {
    NEVER_BLOCKS, // it is in that mode, or it is always ready
    READY,        // it is in blocking mode, but now it will not block, for a piece
    WOULD_BLOCK,  // now it would
    NO_DESCRIPTOR,
} fd_mode;

// What a read or write of something that is no socket, or an accept, would do. If another program
// has the same descriptor, in blocking mode, it may be faster, and this one then blocks.
static fd_mode mode_of(int fd, short events)
{
    struct stat about;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &about) != 0)
        return NO_DESCRIPTOR;
    if ((flags & O_ACCMODE) == (events == POLLIN ? O_WRONLY : O_RDONLY)) {
        errno = EBADF; // it would wait for ever
        return NO_DESCRIPTOR;
    }
    if ((flags & O_NONBLOCK) || S_ISREG(about.st_mode) || S_ISDIR(about.st_mode) ||
        S_ISBLK(about.st_mode))
        return NEVER_BLOCKS;
    struct pollfd look = {.fd = fd, .events = events};
    return poll(&look, 1, 0) == 0 ? WOULD_BLOCK : READY;
}

static int not_now(fd_mode mode)
{
    if (mode == WOULD_BLOCK)
        errno = EAGAIN;
    return -1;
}

ssize_t mlt_os_try_read(int fd, void *to, size_t bytes)
{
    if (bytes == 0) // waits for nothing, unlike recv
        return read(fd, to, 0);
    int saved = errno;
    ssize_t n = recv(fd, to, bytes, MSG_DONTWAIT);
    if (n >= 0 || errno != ENOTSOCK)
        return n;
    fd_mode mode = mode_of(fd, POLLIN);
    if (mode >= WOULD_BLOCK)
        return not_now(mode);
    n = read(fd, to, bytes);
    if (n >= 0)
        errno = saved;
    return n;
}

ssize_t mlt_os_try_write(int fd, const void *from, size_t bytes)
{
    int saved = errno;
    ssize_t n = send(fd, from, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0 || errno != ENOTSOCK)
        return n;
    fd_mode mode = mode_of(fd, POLLOUT);
    if (mode >= WOULD_BLOCK)
        return not_now(mode);
    // A pipe that can be written to has room for so much.
    n = write(fd, from, mode == READY && bytes > PIPE_BUF ? PIPE_BUF : bytes);
    if (n >= 0)
        errno = saved;
    return n;
}

int mlt_os_try_accept(int fd, struct sockaddr *address, socklen_t *length)
{
    fd_mode mode = mode_of(fd, POLLIN);
    if (mode < WOULD_BLOCK)
        return accept(fd, address, length);
    int listens = 0; // a connection never comes to what does not listen
    socklen_t size = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0)
        return -1;
    errno = listens ? EAGAIN : EINVAL;
    return -1;
}

int mlt_os_try_connect(int fd, const struct sockaddr *address, socklen_t length)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return -1;
    // There is no other way; hardly anybody shares a socket that is not connected yet.
    bool blocks = !(flags & O_NONBLOCK);
    if (blocks && fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return -1;
    int done = connect(fd, address, length), why = errno;
    if (blocks)
        (void)fcntl(fd, F_SETFL, flags);
    errno = why;
    return done;
}

bool mlt_os_is_stream(int fd)
{
    int type = 0, before = errno;
    bool is = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){sizeof type}) == 0 &&
              type == SOCK_STREAM;
    errno = before;
    return is;
}

int mlt_os_connected(int fd)
{
    struct pollfd look = {.fd = fd, .events = POLLOUT};
    int why = EINPROGRESS;
    socklen_t size = sizeof why;
    if (poll(&look, 1, 0) > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size) != 0)
        return -1;
    if (why == 0)
        return 0;
    errno = why;
    return -1;
}

mlt_status mlt_os_random(void *to, size_t bytes)
{
    return getrandom(to, bytes, GRND_NONBLOCK) == (ssize_t)bytes ? MLT_OK : MLT_ERR_SYSTEM;
}

// ---- descriptors that go along

typedef union fd_room {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
} fd_room;

ssize_t mlt_os_send_with(int fd, const struct iovec *pieces, uint32_t count, int pass, bool waits)
{
    struct msghdr packet = {.msg_iov = (struct iovec *)(uintptr_t)pieces, .msg_iovlen = count};
    fd_room room = {.bytes = {0}};
    if (pass >= 0) {
        packet.msg_control = room.bytes;
        packet.msg_controllen = sizeof room.bytes;
        struct cmsghdr *about = CMSG_FIRSTHDR(&packet);
        about->cmsg_level = SOL_SOCKET;
        about->cmsg_type = SCM_RIGHTS;
        about->cmsg_len = CMSG_LEN(sizeof pass);
        memcpy(CMSG_DATA(about), &pass, sizeof pass);
    }
    return TEMP_FAILURE_RETRY(sendmsg(fd, &packet, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT)));
}

ssize_t mlt_os_receive_with(int fd, const struct iovec *pieces, uint32_t count, int *passed)
{
    fd_room room;
    struct msghdr packet = {.msg_iov = (struct iovec *)(uintptr_t)pieces,
                            .msg_iovlen = count,
                            .msg_control = room.bytes,
                            .msg_controllen = sizeof room.bytes};
    *passed = -1;
    ssize_t n = TEMP_FAILURE_RETRY(recvmsg(fd, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
    if (n < 0)
        return n;
    for (struct cmsghdr *about = CMSG_FIRSTHDR(&packet); about; about = CMSG_NXTHDR(&packet, about))
        if (about->cmsg_level == SOL_SOCKET && about->cmsg_type == SCM_RIGHTS &&
            about->cmsg_len == CMSG_LEN(sizeof *passed))
            memcpy(passed, CMSG_DATA(about), sizeof *passed); // there was room for one
    return n;
}
