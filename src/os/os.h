// SPDX-License-Identifier: BSD-3-Clause
// Every system call that the engine makes. Nothing here suspends a fiber; mlt_os_futex_wait
// and mlt_os_sleep block the calling thread.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

// Memory. Areas are zeroed, without reserve, without huge pages when they hold stacks.
void *mlt_os_map(size_t bytes);            // NULL if the system refuses
void *mlt_os_map_stacks(size_t bytes);     // as above, never backed by huge pages
void *mlt_os_map_fd(int fd, size_t bytes); // shared mapping of a memfd; NULL on failure
void mlt_os_unmap(void *at, size_t bytes);
void mlt_os_discard(void *at, size_t bytes); // give the pages back; they read as zero afterwards
size_t mlt_os_page_size(void);

// Asks for huge pages for a large area that is used all over; where there are none, nothing
// happens.
void mlt_os_want_huge(void *at, size_t bytes);

// Guards an address range so that touching it raises SIGSEGV. guard_install needs no mapping of its
// own (Linux 6.13) and says MLT_ERR_UNSUPPORTED elsewhere; mlt_os_protect splits the mapping.
mlt_status mlt_os_guard_install(void *at, size_t bytes) MLT_MUST_CHECK;
mlt_status mlt_os_protect(void *at, size_t bytes) MLT_MUST_CHECK;

// Whether the kernel refuses to write to the 16 bytes at `at`, a multiple of 16, as it does for a
// range that is really guarded. If it does not refuse, they are overwritten. errno stays.
bool mlt_os_is_guarded(void *at);

// Ranges of equal length, `stride` bytes apart, at most MLT_OS_RANGES, by one system call. Guards
// them, as guard_install does (MLT_ERR_UNSUPPORTED: not all of them); or brings their pages in, as
// writing there would, if the system can.
enum { MLT_OS_RANGES = 64 };
mlt_status mlt_os_guard_ranges(char *at, size_t bytes, size_t stride,
                               uint32_t count) MLT_MUST_CHECK;
void mlt_os_fault_in_ranges(char *at, size_t bytes, size_t stride, uint32_t count);

// Whole pages of a mapping. protect_writing: they may only be read from now on. make_private: they
// become this process's own copy, which no other process that maps them can change.
mlt_status mlt_os_protect_writing(void *at, size_t bytes) MLT_MUST_CHECK;
mlt_status mlt_os_make_private(void *at, size_t bytes) MLT_MUST_CHECK;

// Changes a constant of the program, whose pages can only be read before and after.
mlt_status mlt_os_rewrite(const void *at, const void *from, size_t bytes) MLT_MUST_CHECK;

// An anonymous file of this size in memory; nothing has a name on disk. Returns the descriptor
// (close-on-exec) or -1. Where a filter refuses memfd_create, it is a file without a name in
// /dev/shm, TMPDIR or /tmp, whichever has room for all of it; mlt_os_is_memfd tells.
int mlt_os_memfd(const char *label, size_t bytes);
bool mlt_os_is_memfd(int fd);

// Nobody can change the size of this memfd any more, which would kill the processes that map it.
// Other files cannot be sealed; that is no error.
mlt_status mlt_os_seal_size(int fd) MLT_MUST_CHECK;

// Sets the size of a memfd. Maps a part of one (a page's multiple) at an address that is a multiple
// of `align`, a power of two; NULL on failure. Gives the pages of a shared mapping back to the
// system, for everybody who maps them: they read as zero afterwards.
mlt_status mlt_os_resize(int fd, uint64_t bytes) MLT_MUST_CHECK;
void *mlt_os_map_part(int fd, uint64_t offset, size_t bytes, size_t align);
void mlt_os_remove(void *at, size_t bytes);

// Maps a part of a memfd of another process of this user, which has it as descriptor `fd`; offset
// and bytes need not be a page's multiple. NULL: the system refuses, or the process is gone.
void *mlt_os_map_peer(pid_t peer, int fd, uint64_t offset, size_t bytes);
void mlt_os_unmap_peer(void *at, size_t bytes); // at, bytes: as there

typedef struct mlt_os_memory {
    uint64_t available; // bytes that could be taken now without swapping, cgroup limit included
    uint64_t total;
    uint64_t own; // this process's resident bytes
} mlt_os_memory;
mlt_status mlt_os_memory_state(mlt_os_memory *out) MLT_MUST_CHECK;

enum { MLT_OS_FOREVER = -1 }; // a timeout_ns that never passes

// Futex, usable between processes. wait returns when *word != expected, when woken, after
// timeout_ns, or spuriously.
void mlt_os_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns);
void mlt_os_futex_wake(_Atomic uint32_t *word, int count);

// The calling thread may run on every core that the system gives this process, whatever its creator
// was pinned to.
void mlt_os_run_anywhere(void);

// Blocks the thread for that time, or less if a signal comes. errno stays.
void mlt_os_sleep(int64_t ns);

// A full memory barrier on every thread of every process that has joined, by one system call of a
// few microseconds: lets the other side of a store-then-look handshake do without a fence. join
// says whether this kernel can. If the kernel refuses the quick way for once (it is out of memory),
// the slow one takes milliseconds; only when it refuses both is there none.
mlt_status mlt_os_barrier_join(void) MLT_MUST_CHECK;
mlt_status mlt_os_barrier(void) MLT_MUST_CHECK;

uint64_t mlt_os_now_ns(void);    // monotonic
uint64_t mlt_os_thread_ns(void); // processor time of this thread
int mlt_os_cores(void);          // cores that this process may run on, at least 1
int mlt_os_threads(void);        // threads of this process; 0 if the system does not say
uint32_t mlt_os_thread_id(void);

// The beginning of a small file, as text that fits. "" and false: it is empty or cannot be read.
// errno stays.
bool mlt_os_read_text(const char *path, char *text, size_t size);

// The system call that a thread of this process is in.
enum { MLT_OS_NO_CALL = -1, MLT_OS_CALL_UNKNOWN = -2 };
long mlt_os_call_of(pid_t thread);

// The state letter that /proc has of a process, or of a thread of it (0: none in particular), and
// its parent, if that is not NULL. 0 and -1: it cannot be seen. errno stays.
char mlt_os_state_of(pid_t process, uint32_t thread, pid_t *parent);

// Whether there is memory at an address, of which 8 bytes are looked at. errno stays.
bool mlt_os_is_readable(const void *address);

// Copies memory of this process that may not be there: false. It lies within one page.
bool mlt_os_read_own(void *to, const void *from, size_t bytes) MLT_MUST_CHECK;

void mlt_os_yield(void); // let another runnable thread of this core run

// Reads from another process's memory, or writes to it, in one copy. MLT_OK only if all bytes were
// copied; MLT_ERR_UNSUPPORTED if the system refuses it for that process, whatever the address.
mlt_status mlt_os_read_peer(pid_t peer, void *to, uint64_t from, size_t bytes) MLT_MUST_CHECK;
mlt_status mlt_os_write_peer(pid_t peer, uint64_t to, const void *from,
                             size_t bytes) MLT_MUST_CHECK;

// The same for 1 to MLT_OS_PEER_PIECES pieces by one call. If it fails, some may be written.
enum { MLT_OS_PEER_PIECES = 64 };
typedef struct mlt_os_peer_piece {
    uint64_t to;
    const void *from;
    size_t bytes;
} mlt_os_peer_piece;
mlt_status mlt_os_write_peer_pieces(pid_t peer, const mlt_os_peer_piece *pieces,
                                    uint32_t count) MLT_MUST_CHECK;

// The descendants of that process may read and write this one's memory, where such a permission is
// asked for (Yama's ptrace_scope 1). MLT_OS_ANYBODY: so may any process of this user.
enum { MLT_OS_ANYBODY = -1 };
void mlt_os_let_peers_in(pid_t ancestor);

// True if processes that let each other in as above may do so, as far as can be told: the system
// calls are there, no filter refuses them, and the administrator has not closed them to all.
bool mlt_os_peers_readable(void);

// A path by which this program's file can be opened, also when it was renamed since. Where /proc is
// not there, it is the name that the program was started by.
const char *mlt_os_program(void);

// The calling process gets SIGKILL when its parent ends.
void mlt_os_die_with_parent(void);

// Not 0: the thread is inside of a library that Millet has called, not the program. What that calls of
// libc is no rank's: if it parked the rank (host/libc/block.h), the library would be entered again.
extern _Thread_local uint32_t mlt_os_foreign __attribute__((tls_model("initial-exec")));
