// SPDX-License-Identifier: BSD-3-Clause
// Accesses of many ranks, done together: a line of text from each of 100,000 fibers becomes a few
// writes.
//
// A stage is a window of the file in memory. Pieces of accesses are put into it, in the order of the
// file, and what was put is written: exactly those bytes, never one between them. A read fills the
// stage once, and every access that wants a part of it takes that.
//
// The views of these accesses are in order (mlt_file_in_order), so each access goes forward only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "file/access.h"
#include "type/type.h"

typedef struct mlt_file_stage {
    int64_t begin;       // of the window in the file
    uint64_t room;       // its bytes
    unsigned char *data; // the window
    uint64_t *put;       // a bit for each byte that was put
    uint64_t low, high;  // of them; high 0: none
    void *own;           // data, if the stage frees it
} mlt_file_stage;

// data: the window's memory, which stays the caller's; NULL: the stage's own. False: memory is out.
bool mlt_file_stage_init(mlt_file_stage *stage, uint64_t room, void *data);
void mlt_file_stage_fini(mlt_file_stage *stage);
void mlt_file_stage_move(mlt_file_stage *stage, int64_t begin); // empties it

// Blocks of the window, whose data lie one after the other. run->at counts from the file's beginning.
void mlt_file_stage_put(mlt_file_stage *stage, const mlt_type_run *run, const void *data);

// The same for blocks whose data somebody has put into the window's memory.
void mlt_file_stage_mark(mlt_file_stage *stage, const mlt_type_run *run);

// Writes what was put; 0 or errno's value. locks: of the open file; NULL: nobody sieves.
int mlt_file_stage_flush(mlt_file_stage *stage, int fd, mlt_file_locks *locks);

// Where the next byte of an access lies; INT64_MAX: it is done.
int64_t mlt_file_next(const mlt_file_access *access);

// In the order of the places where they begin.
void mlt_file_sort(mlt_file_access **accesses, uint32_t count);

// Accesses that are served from the file's beginning to its end.
typedef struct mlt_file_queue {
    mlt_file_access **all;    // sorted
    mlt_file_access **active; // begun, and not done; may be `all`, which loses those that are done
    uint32_t count, begun, active_count;
} mlt_file_queue;

// The first byte that any of them wants; INT64_MAX: all are done.
int64_t mlt_file_queue_next(const mlt_file_queue *queue);

// Those that want bytes before `limit` are active from now on; those that are done, no longer.
void mlt_file_queue_begin(mlt_file_queue *queue, int64_t limit);
void mlt_file_queue_forget(mlt_file_queue *queue);

// Takes what an access still wants of the file before `limit`: `sink` gets runs of blocks, with
// their data one after the other. room: memory of MLT_FILE_CUT bytes, for data with gaps.
enum { MLT_FILE_CUT = 64 << 10 };
typedef void mlt_file_sink(void *user, const mlt_type_run *run, const void *data);
void mlt_file_cut(mlt_file_access *access, int64_t limit, void *room, mlt_file_sink *sink,
                  void *user);

// Runs `count` accesses to one descriptor, all reads or all writes, none of them atomic. Each gets
// its result; one that fails stops all writes, and all that are not done have its error.
void mlt_file_merge(mlt_file_access **accesses, uint32_t count);
