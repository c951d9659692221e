// SPDX-License-Identifier: BSD-3-Clause
// Streams to other hosts: TCP sockets, close-on-exec, which never block. A call that fails returns
// -1 and sets errno. fd.h has mlt_os_try_connect, mlt_os_connected, mlt_os_try_read and
// mlt_os_try_write, which work on these too.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct iovec;

int mlt_os_tcp_new(int family); // AF_INET or AF_INET6

// Bound to that address, and listening with the longest queue that the system allows. One for IPv6
// takes no IPv4, so that both families may have the same port. A port that an ended job has used a
// moment ago is free; one that a living socket has is not (EADDRINUSE).
int mlt_os_tcp_listen(const struct sockaddr *address, socklen_t length);

// The next connection, and who made it. EAGAIN: there is none now.
int mlt_os_tcp_accept(int listener, struct sockaddr_storage *from);

// Small messages leave at once, and a peer that does not answer for gone_ms makes the connection
// fail, whether bytes are on their way to it (TCP_USER_TIMEOUT) or not (keepalive, in whole
// seconds, at least 3). True, or false and errno: the system refused one of the settings.
bool mlt_os_tcp_tune(int fd, uint32_t gone_ms);

// The same for a connection whose other side may not read for long, though it lives: the system
// would take that for silence while bytes are on their way (TCP_USER_TIMEOUT). So the caller asks
// from time to time for how many milliseconds the other side has not confirmed anything, though it
// was asked at least twice; 0: it is not silent. Some 256 KiB may wait in the
// system for their turn; megabytes would leave the processor's caches before they are sent.
bool mlt_os_tcp_tune_patient(int fd, uint32_t gone_ms);
uint32_t mlt_os_tcp_silent_ms(int fd);

// One try to send these pieces, or to receive into them; at most 1024. How many bytes; or -1 and
// EAGAIN: not now. A peer that is gone gives EPIPE and no signal. 0 received: its end.
ssize_t mlt_os_tcp_send(int fd, const struct iovec *pieces, uint32_t count);
ssize_t mlt_os_tcp_receive(int fd, const struct iovec *pieces, uint32_t count);

// Nothing more will be sent. And how many bytes the other side's system has not got yet; -1: it is
// not known.
void mlt_os_tcp_finish(int fd);
int mlt_os_tcp_unsent(int fd);

// Closes a stranger's connection: the kernel resets it and keeps nothing of it. errno stays.
void mlt_os_tcp_drop(int fd);

// The address of this side. 0, or -1.
int mlt_os_tcp_here(int fd, struct sockaddr_storage *address);

// A number that the running system of this host has, and no other; never 0. It changes when the host
// is started again.
uint64_t mlt_os_boot_number(void);

// A descriptor that costs nothing (of /dev/null), to be given up when the process has too many.
int mlt_os_spare(void);
