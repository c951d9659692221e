// SPDX-License-Identifier: BSD-3-Clause
// System calls on descriptors. None of them blocks, but for mlt_os_epoll_wait. Those that return an
// int or a length return -1 and set errno on failure, as the system's own.
#ifndef MLT_OS_FD_H
#define MLT_OS_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/status.h"

struct epoll_event;

// Close-on-exec.
int mlt_os_epoll_new(void);

// EPOLL_CTL_ADD or EPOLL_CTL_MOD.
int mlt_os_epoll_add(int epoll, int fd, uint32_t events, uint64_t data);
int mlt_os_epoll_change(int epoll, int fd, uint32_t events, uint64_t data);

// Blocks for timeout_ns (-1: for ever); how many are ready: 0 after a signal, too. errno stays.
int mlt_os_epoll_wait(int epoll, struct epoll_event *events, int most, int64_t timeout_ns);

// A descriptor that is in order. errno stays.
void mlt_os_close(int fd);

// A socket for datagrams of this host: bound to an abstract name if there is one (size > 0),
// close-on-exec, never blocks. ring: sends an empty datagram to the socket of that name. drain:
// takes all that have come; errno stays.
int mlt_os_bell_new(const char *name, size_t size);
int mlt_os_bell_ring(int from, const char *name, size_t size);
void mlt_os_bell_drain(int fd);

// Random bytes from the system; MLT_ERR_SYSTEM: it has none (yet).
mlt_status mlt_os_random(void *to, size_t bytes) MLT_MUST_CHECK;

#endif
