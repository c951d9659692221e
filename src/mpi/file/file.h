// SPDX-License-Identifier: BSD-3-Clause
// Files: MPI's meaning of what src/file does (docs/internals/files.md).
//
//     mlt_file         what a rank has: view, pointer, handler, hints; the handle is its address
//     mlt_file_shared  what the ranks of a worker have in common: one open descriptor, and the
//                      accesses of a collective call, which one of them, the leader, does for all
//     mlt_file_view    counted: accesses under way may outlive the view that they began with
//     mlt_file_service    what a worker has while any of its ranks has a file open: the line to the
//                      threads that block in its place
//
// Every rank has a communicator and a window of its own for the library: nothing of it meets the
// program's messages. The window holds the shared pointer, in the memory of rank 0.
#pragma once

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "fiber/io.h"
#include "file/access.h"
#include "file/pool.h"
#include "mpi/file/datarep.h"
#include "mpi/handle.h"
#include "mpi/info/info.h"
#include "mpi/registry.h"

enum { MLT_FILE_MAGIC = 0x000f11e5 };

typedef struct mlt_file_service {
    uint32_t files; // open ones, of all ranks
    bool lines;     // there is a line; the system may refuse its descriptor
    mlt_file_aio line;
    mlt_io_watch watch; // of the line's doorbell, while jobs are under way
    mlt_worker *worker;
} mlt_file_service;

typedef struct mlt_file_shared {
    uint32_t refs; // ranks of the worker that have it open, accesses under way
    int fd;        // -1: it could not be opened
    int error;     // errno's value of that
    int amode;
    char *path;
    bool readable;         // the descriptor is, whatever the access mode says
    bool in_memory;        // there is no disk
    bool may_be_stale;     // other hosts have it open, and this one may keep old copies (NFS)
    uint32_t present;      // ranks of the worker that opened it
    uint32_t context;      // of the communicator
    mlt_file_locks *locks; // in the memory of rank 0; NULL: it is on another host than some worker
    pthread_mutex_t atomic_mutex; // of atomic mode: locks of the system are the descriptor's
    mlt_comm *leaders; // the leaders of all workers; the leader's alone; NULL: it is the only one
    struct mlt_file_exchange *exchange; // the leader's alone; NULL: nothing was exchanged yet
    struct mlt_file_batch *batch;       // of a collective call that has begun; NULL: none
    mlt_fiber *leader;                  // that waits for the others; NULL: it does not
} mlt_file_shared;

typedef struct mlt_file_view {
    uint32_t refs;
    int64_t disp;
    const mlt_type *etype, *filetype; // held
    const mlt_datarep *rep;
    mlt_type made;         // the file's layout, if the representation changes sizes
    const mlt_type *shown; // filetype, or &made
    uint64_t unit;         // bytes of an etype in the file
    bool in_order;         // data lie in the order of the file
    bool once;             // only the first element's do: accesses stay within it
} mlt_file_view;

typedef enum mlt_file_exchanging {
    MLT_FILE_EXCHANGE_NEVER,
    MLT_FILE_EXCHANGE_SHORT, // short blocks
    MLT_FILE_EXCHANGE_ALWAYS,
} mlt_file_exchanging;

// What is in use (hints.c). Those for exchanges count at rank 0.
typedef struct mlt_file_hints {
    mlt_file_sieving sieve_reads, sieve_writes;
    mlt_file_exchanging exchange;
    uint32_t writers; // workers that have a window in an exchange
    uint64_t window;  // bytes of one
} mlt_file_hints;

typedef struct mlt_file {
    // What every access looks at comes first: of many ranks' files all lines are cold.
    mlt_registry_head head;
    mlt_rank *rank;
    mlt_file_shared *shared;
    mlt_file_view *view;
    int64_t position; // of the individual pointer, in etypes
    bool atomic;
    bool leads; // it is the leader's
    mlt_file_hints hints;
    MPI_Errhandler errhandler; // predefined or a mlt_errhandler; a counted reference
    mlt_comm *comm;            // the library's own, of the ranks that opened it
    MPI_Win window;            // one word, of rank 0: the shared pointer, in etypes
    mlt_info *info;            // hints in use; NULL: none
    uint16_t split;            // function that began a split collective access; 0: none
    uint64_t split_bytes;
    const void *split_buf;
    struct mlt_win_cache *cache; // of a path's `cache` (cached.c); NULL: none so far
} mlt_file;

// NULL: MPI_FILE_NULL or a bad handle, for which mlt_bad_file raises MPI_ERR_FILE through the
// default error handler for files.
static inline mlt_file *mlt_file_of(MPI_File handle)
{
    uintptr_t h = (uintptr_t)handle;
    mlt_file *file = (mlt_file *)h;
    return mlt_handle_is_address(h) && mlt_registry_is(&file->head, MLT_FILE_MAGIC) ? file : NULL;
}

// The same, and it is this rank's.
static inline mlt_file *mlt_file_mine(const mlt_rank *me, MPI_File handle)
{
    mlt_file *file = mlt_file_of(handle);
    return file && file->rank == me ? file : NULL;
}

// name: of the argument.
int mlt_bad_file(mlt_rank *me, uint16_t fn, const char *name, MPI_File handle) MLT_COLD;
int mlt_bad_file_null(mlt_rank *me, mlt_file *file, const char *name, const char *should) MLT_COLD;

// Where the error handler of a file is kept, or with MPI_FILE_NULL the one that files of this rank
// begin with: MPI_ERRORS_RETURN unless the user has set another.
MPI_Errhandler *mlt_file_errhandler(mlt_rank *me, MPI_File file);

// As mlt_mpi_raise, with the file's handler; NULL: with that of MPI_FILE_NULL.
int mlt_file_raise(mlt_rank *me, mlt_file *file, int class, const char *format, ...)
    MLT_PRINTF(4, 5) MLT_COLD;
int mlt_file_raise_code(mlt_rank *me, mlt_file *file, int code) MLT_COLD;

int mlt_file_check_info(mlt_rank *me, mlt_file *file, MPI_Info info);

// What all ranks of `comm` agree on: the greatest of each number; or that of one of them. May suspend.
void mlt_file_allreduce_max(mlt_rank *me, mlt_comm *comm, const int64_t *mine, int64_t *all,
                            int count);
void mlt_file_bcast(mlt_rank *me, mlt_comm *comm, int64_t *number, int from);

// The class that an errno's value means.
int mlt_file_class(int error) MLT_COLD;

// MPI_Finalize: the rank's default is MPI_ERRORS_RETURN again, and its representations go.
void mlt_file_rank_ends(mlt_rank *me);

mlt_file *mlt_file_new(mlt_rank *me);
void mlt_file_free(mlt_file *file);

void mlt_file_shared_drop(mlt_file_shared *shared);

// ---- hints (hints.c)

void mlt_file_take_hints(mlt_file *file); // after file->info has changed

// ---- views (view.c)

mlt_file_view *mlt_file_view_bytes(void); // what a file begins with
static inline mlt_file_view *mlt_file_view_hold(mlt_file_view *view)
{
    view->refs++;
    return view;
}
void mlt_file_view_drop(mlt_file_view *view);

// ---- calls (calls.c)

// How a call finds the place that it reads or writes.
typedef enum mlt_file_where {
    MLT_FILE_AT,     // at an offset
    MLT_FILE_OWN,    // at the rank's own pointer
    MLT_FILE_SHARED, // at the shared one
    MLT_FILE_ORDERED // at the shared one, in the order of ranks
} mlt_file_where;

// What the user gave.
typedef struct mlt_file_call {
    mlt_file *file;
    bool writes;
    mlt_file_where place;
    int64_t offset; // in etypes; of MLT_FILE_AT, and of all when the place was found
    const void *buf;
    MPI_Count count;
    const mlt_type *type;
} mlt_file_call;

// At once; with a request; by all ranks together. They may suspend. An MPI code, raised.
int mlt_file_call_now(mlt_rank *me, mlt_file_call c, MPI_Status *status);
struct mlt_intercept_call;
int mlt_file_cached_now(mlt_rank *me, mlt_file_call c, MPI_Status *status,
                        struct mlt_intercept_call *along); // of a read, by a user's path
int mlt_file_call_later(mlt_rank *me, mlt_file_call c, MPI_Request *request);
int mlt_file_call_all(mlt_rank *me, mlt_file_call c, MPI_Status *status);

// By all ranks in two halves: the first does it all, as the standard allows; the second one tells. It
// may end `first` and `first_c`.
int mlt_file_call_begin(mlt_rank *me, mlt_file_call c);
int mlt_file_call_end(mlt_rank *me, mlt_file *file, const void *buf, MPI_Status *status,
                      uint16_t first, uint16_t first_c);

// ---- reads that a rule book's wrapper `cache` answers (cached.c)

// Of a file that was opened with MPI_MODE_RDONLY, and not in atomic mode: there MPI lets a rank see
// what others write only after MPI_File_sync, or when it opens the file anew. So until then, or
// until the view is another, bytes that were read are still right. They are numbered as the view shows them.
// Data that are converted pass it by.

// Returns how many bytes the cache has answered: all, or 0.
uint64_t mlt_file_cached_answer(const mlt_file_call *c, const struct mlt_intercept_call *along);
// So many bytes were read, which took the time since then.
void mlt_file_cached_note(const mlt_file_call *c, const struct mlt_intercept_call *along,
                          uint64_t bytes, uint64_t since_ns);
// What was read may be old from now on.
void mlt_file_cached_forget(mlt_file *file);

// ---- accesses (access.c)

// An access that was prepared: converts before or after it, if the view's representation is not
// the memory's.
typedef struct mlt_file_move {
    mlt_file_access access;
    const mlt_file_view *view;
    bool converts; // the view's representation is not the memory's
    void *buf;     // the user's
    uint64_t count;
    const mlt_type *type;
    void *converted; // NULL: the access is to the user's memory
    uint64_t size;   // of an element in the file
    int code;        // of a function of the user's that failed
} mlt_file_move;

void mlt_file_move_begin(mlt_rank *me, mlt_file_move *move, const mlt_file_call *want);
void mlt_file_move_end(mlt_rank *me, mlt_file_move *move);
uint64_t mlt_file_move_bytes(const mlt_file_move *move); // as the status tells

// Bytes of `count` elements in the file.
uint64_t mlt_file_bytes(const mlt_file_view *view, const mlt_type *type, uint64_t count);

// Runs it now: the calling rank waits, the others of its worker may run.
void mlt_file_do(mlt_rank *me, mlt_file *file, mlt_file_move *move);

// Starts it; the request is complete when it is done.
void mlt_file_start(mlt_rank *me, const mlt_file_call *want, MPI_Request *request);

// What went wrong with an access, raised; MPI_SUCCESS: nothing.
int mlt_file_outcome(mlt_rank *me, mlt_file *file, const mlt_file_move *move);

// All ranks of the file call these (collective.c). They may suspend.
int mlt_file_do_all(mlt_rank *me, const mlt_file_call *want, uint64_t *bytes);
int mlt_file_sync(mlt_rank *me, mlt_file *file);

// What the leader of a worker does for it in a collective access (collective.c).
typedef struct mlt_file_lead {
    mlt_rank *me;
    mlt_file *file;
    mlt_file_access **all; // that move something
    uint32_t count;
    int error; // errno's value
} mlt_file_lead;

// ---- exchanged writes (exchange.c); all leaders call these. They may suspend.

// What all leaders know: where the accesses of all of them lie; how many leaders have windows, of
// `window` bytes at least.
typedef struct mlt_file_agreed {
    int64_t from, to;
    uint32_t writers;
    uint64_t window;
} mlt_file_agreed;

// Leaders must agree on lead->error afterwards. lead->all is in another order then.
void mlt_file_exchange_write(mlt_file_lead *lead, const mlt_file_agreed *agreed);
void mlt_file_exchange_close(mlt_rank *me, mlt_file_shared *shared);

// ---- the shared pointer (pointer.c); in etypes. All may suspend.

int mlt_file_pointer_open(mlt_rank *me, mlt_file *file);
mlt_file_locks *mlt_file_pointer_locks(mlt_rank *me, mlt_file *file); // NULL: not in reach
int mlt_file_pointer_close(mlt_rank *me, mlt_file *file);
int mlt_file_pointer_add(mlt_rank *me, mlt_file *file, int64_t etypes, int64_t *before);
int mlt_file_pointer_set(mlt_rank *me, mlt_file *file, int64_t etypes); // of rank 0 alone

// The place that a seek means; collective if `all`. An MPI code.
int mlt_file_whence(mlt_rank *me, mlt_file *file, int64_t offset, int whence, int64_t now,
                    int64_t *to);

// ---- the worker's service (service.c)

void mlt_file_service_open(mlt_rank *me);
void mlt_file_service_close(mlt_rank *me);

// Gives the job to a thread. False: there is none; run it here.
bool mlt_file_service_give(mlt_rank *me, mlt_file_task *job) MLT_MUST_CHECK;

// Jobs are under way: no other thread than the worker's may look for what is done now.
bool mlt_file_service_is_busy(const mlt_rank *me);

// Runs a job on a thread, if there is one, while the calling rank waits.
void mlt_file_service_wait(mlt_rank *me, mlt_comm *comm, mlt_file_task *job);

// ---- requests (MLT_REQF_FILE)

void mlt_file_request_end(mlt_req *req);
int mlt_file_request_code(mlt_rank *me, const mlt_req *req) MLT_COLD;
mlt_file *mlt_file_request_file(const mlt_req *req); // NULL: it was closed
