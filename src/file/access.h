// SPDX-License-Identifier: BSD-3-Clause
// One access to a file: bytes between memory and the places of the file that a view shows.
//
// A view is endlessly many elements of a type, from byte `begin` of the file on; its data, in the
// order of the type map, are numbered from 0. An access moves `bytes` of them, from number `from`
// on, to or from the elements of another type in memory. Neither side is ever listed block by
// block: runs of blocks are taken from the layouts a few at a time.
//
// Sieving is to move what lies between blocks, too, if that costs less than a call for each block.
// Reads do so at any time. Between the blocks of a write there may be others' data, who write them at
// the same time: writes sieve only under locks that all of them take (file/lock.h), and go block by
// block otherwise.
//
// Nothing here knows ranks or threads. Every function may block for as long as the disk takes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "file/lock.h"
#include "type/type.h"

typedef enum mlt_file_sieving {
    MLT_FILE_SIEVE_NEVER,
    MLT_FILE_SIEVE_DENSE, // where blocks lie close together: writes, up to mlt_file_access.near
    MLT_FILE_SIEVE_ALWAYS,
} mlt_file_sieving;

typedef struct mlt_file_access {
    int fd;
    bool writes;
    bool atomic; // as if nobody else accessed these bytes meanwhile: under locks of the file
    mlt_file_sieving sieve; // if it writes, the descriptor can be read, and the view is in order
    mlt_file_locks *locks;  // of a write; NULL: nobody sieves
    uint64_t near;          // bytes of the file from block to block, up to which writes are sieved
    int64_t begin;
    const mlt_type *view; // of which size > 0
    uint64_t from, bytes;
    void *buf; // elements in memory; the first byte of the packed form is moved first
    const mlt_type *type;
    // Results.
    uint64_t moved; // fewer than `bytes` if it failed, or if a read met the end of the file
    int error;      // errno's value; 0: none
} mlt_file_access;

void mlt_file_access_run(mlt_file_access *access);

// The same if it can be done without waiting for a disk: a read of what is in memory, or a short
// write. False: nothing was done.
bool mlt_file_access_now(mlt_file_access *access);

// One block on either side, and not long: not worth another thread if there is another way.
bool mlt_file_access_is_short(const mlt_file_access *access);

// Where byte `at` of a view's data lies in the file.
int64_t mlt_file_place(int64_t begin, const mlt_type *view, uint64_t at);

// How many bytes of a view's data lie before byte `place` of the file. The view's blocks are in
// order (mlt_file_in_order); once: those of its first element, and only they count.
uint64_t mlt_file_data_before(int64_t begin, const mlt_type *view, int64_t place, bool once);

// The data of endlessly many elements lie in the order of the file; once: those of one element.
// overlap: blocks may touch the same bytes; they do not otherwise.
bool mlt_file_in_order(const mlt_type *view, bool overlap, bool once);
