// SPDX-License-Identifier: BSD-3-Clause
// Lines: streams between two processes of this host, Unix sockets. A name that begins with '@' is
// in the abstract name space and vanishes with the listener; others are paths. Descriptors are
// close-on-exec and never block. A call that fails returns -1 and sets errno; EAGAIN: not now.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MLT_OS_LINE_NAME = 100 }; // bytes of a name, with the 0 at its end

int mlt_os_line_listen(const char *name);
int mlt_os_line_accept(int listener);
int mlt_os_line_connect(const char *name);

// The kernel confirms that the process on the other side belongs to the user of this one. *pid is
// that process (pid may be NULL).
bool mlt_os_line_own(int fd, int32_t *pid);

// Moves some of it. Writing to a line that the other side has closed gives EPIPE and no signal;
// reading from one gives 0 bytes.
ssize_t mlt_os_line_write(int fd, const void *data, size_t bytes);
ssize_t mlt_os_line_read(int fd, void *data, size_t bytes);

// Nothing comes or goes any more; the other side reads to the end of the line.
void mlt_os_line_end(int fd);

// Blocks until there is something to read, or room to write; false after so many milliseconds.
bool mlt_os_line_wait(int fd, bool writes, int timeout_ms);
