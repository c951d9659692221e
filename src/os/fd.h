// SPDX-License-Identifier: BSD-3-Clause
// System calls on descriptors. Only mlt_os_epoll_wait and mlt_os_poll block. Those that return an int
// or a length return -1 and set errno on failure, as the system's own do.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/status.h"

struct epoll_event;
struct iovec;
struct pollfd;

// Close-on-exec.
int mlt_os_epoll_new(void);

// EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLL_CTL_DEL.
int mlt_os_epoll_add(int epoll, int fd, uint32_t events, uint64_t data);
int mlt_os_epoll_change(int epoll, int fd, uint32_t events, uint64_t data);
int mlt_os_epoll_remove(int epoll, int fd);

// Blocks for timeout_ns, or MLT_OS_FOREVER (os.h). Returns how many are ready: 0 after a signal,
// too; -1: `epoll` is none. errno stays.
int mlt_os_epoll_wait(int epoll, struct epoll_event *events, int most, int64_t timeout_ns);

// Blocks until one of them is ready, or for so long. Returns how many are: 0 after a signal, too.
int mlt_os_poll(struct pollfd *fds, uint32_t count, int timeout_ms);

// The number of the file that a descriptor refers to, which no other socket has; 0: it refers to
// none. Tells whether the program has closed one of our descriptors and perhaps opened another file
// under its number. errno stays.
uint64_t mlt_os_file_number(int fd);

// How many bytes a stream of C's has not written yet, where they lie, and where they go. Takes no lock: for
// signal handlers.
size_t mlt_os_stream_holds(const FILE *stream, const char **text, int *fd);

// Why there was no descriptor, for a message: what errno means, and which limit it is (EINVAL is what
// F_DUPFD says of a number above the limit). Valid until the thread's next call.
const char *mlt_os_no_descriptor(int error);

// Closes a descriptor if it is open, which a negative one is not. errno stays. `once`: it is -1 then.
void mlt_os_close(int fd);
void mlt_os_close_once(int *fd);

// A socket for datagrams of this host: bound to an abstract name if there is one (size > 0),
// close-on-exec, never blocks. ring: sends an empty datagram to the socket of that name. drain:
// takes those that have come, a few at most: every user of the host can send more as fast as they are
// taken. The socket stays readable while there are others. errno stays.
int mlt_os_doorbell_new(const char *name, size_t size);
int mlt_os_doorbell_ring(int from, const char *name, size_t size);
void mlt_os_doorbell_drain(int fd);

// One try each of read, write, accept and connect, which does not block, whatever the mode of the
// descriptor: -1 and EAGAIN: not now; wait until it is ready. Sockets, pipes, terminals and the
// like; what is always ready (a regular file) is read and written as usual. write: some of it; a
// socket whose peer is gone gives EPIPE and no signal.
ssize_t mlt_os_try_read(int fd, void *to, size_t bytes);
ssize_t mlt_os_try_write(int fd, const void *from, size_t bytes);
int mlt_os_try_accept(int fd, struct sockaddr *address, socklen_t *length);

// sendmsg and recvmsg, with a descriptor that goes along; no signal, and tried again after one. pass: a
// descriptor, which stays the caller's, or -1. waits: blocks if the socket does; else EAGAIN.
// *passed: the descriptor that came, close-on-exec and the caller's, or -1. Receiving never blocks.
ssize_t mlt_os_send_with(int fd, const struct iovec *pieces, uint32_t count, int pass, bool waits);
ssize_t mlt_os_receive_with(int fd, const struct iovec *pieces, uint32_t count, int *passed);

// -1 and EINPROGRESS: wait until it can be written to, then ask mlt_os_connected; EAGAIN (a local
// peer has too many callers already): nothing tells when it is worth trying again.
int mlt_os_try_connect(int fd, const struct sockaddr *address, socklen_t length);

// Whether that is a stream socket. errno stays.
bool mlt_os_is_stream(int fd);

// How it went: 0; or -1 and why, EINPROGRESS if that is not known yet.
int mlt_os_connected(int fd);

// Whether that descriptor is open on /dev/null.
bool mlt_os_is_null(int fd);

// A copy of a descriptor that another process has, for reading, or for writing too; close-on-exec.
// Both share what it reads. (Where the system does not let processes share descriptors, a file is
// opened once more, and begins where the other one is now.)
int mlt_os_fd_of(pid_t process, int fd, bool writes);

// Random bytes from the system; MLT_ERR_SYSTEM: it has none (yet).
mlt_status mlt_os_random(void *to, size_t bytes) MLT_MUST_CHECK;
