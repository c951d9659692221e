// SPDX-License-Identifier: BSD-3-Clause
// System calls on regular files. All return -1 and set errno on failure, and are tried again after a
// signal. Any of them may block for as long as the disk takes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct iovec;

// Close-on-exec; flags: O_RDWR and the like.
int mlt_os_file_open(const char *path, int flags, unsigned mode);
int mlt_os_file_close(int fd); // the descriptor is gone in any case
int mlt_os_file_unlink(const char *path);

// The bytes that could be moved before the end of the file; fewer than asked for only there, and with
// writes never. *moved says how many were, also on failure.
int mlt_os_file_read(int fd, void *to, size_t bytes, int64_t at, size_t *moved);
int mlt_os_file_write(int fd, const void *from, size_t bytes, int64_t at, size_t *moved);
int mlt_os_file_write_pieces(int fd, struct iovec *pieces, int count, int64_t at, size_t *moved);

// A read that waits for nothing: -1 and EAGAIN if it would, EOPNOTSUPP if the system cannot tell.
int mlt_os_file_read_now(int fd, void *to, size_t bytes, int64_t at, size_t *moved);

int mlt_os_file_size(int fd, int64_t *bytes); // as the server has it, if there is one
int mlt_os_file_resize(int fd, int64_t bytes);
int mlt_os_file_allocate(int fd, int64_t bytes); // the first so many have room; never shrinks it
int mlt_os_file_sync(int fd);
bool mlt_os_file_in_memory(int fd); // it is of a file system without a disk, as tmpfs is

// Its file system lets each host keep copies of data that another host has changed since: NFS, SMB.
bool mlt_os_file_is_loose(int fd);

// For such a file, which is open for reading. keep: this host writes nothing back but bytes that were
// written here; without a lock, NFS rounds to pages, whose other bytes may be old. Lasts as long as the
// descriptor. refresh: what is read from now on is what the server has. Both lock bytes that data cannot
// have; -1 and ENOLCK: there are no locks.
int mlt_os_file_keep(int fd);
int mlt_os_file_refresh(int fd);

// A lock of [from, to) of the open file, shared or not; waits for it. to 0: up to the end.
int mlt_os_file_lock(int fd, bool shared, int64_t from, int64_t to);
int mlt_os_file_unlock(int fd, int64_t from, int64_t to);

// A descriptor that can be read while somebody has rung it; ring and hush never block. errno stays.
int mlt_os_eventfd_new(void);
void mlt_os_eventfd_ring(int fd);
void mlt_os_eventfd_drain(int fd);
