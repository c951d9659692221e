// SPDX-License-Identifier: BSD-3-Clause
// What a name server knows: names, in order, which program holds each, and which programs wait for
// one. Everything belongs to a program (a connection), and ends with it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "csp/names/names.h"

enum {
    MLT_DIRECTORY_NAMES = 16384, // of one program
    MLT_DIRECTORY_WAITS = 4096,  // finds of one program that wait
    MLT_DIRECTORY_ALL = 1 << 18, // names in all
};

typedef struct mlt_directory_owner {
    mlt_list_node waits;
    uint32_t name_count, wait_count;
    int32_t pid;
    char program[96];
} mlt_directory_owner;

typedef struct mlt_directory_name {
    mlt_directory_owner *owner;
    uint8_t kind;
    uint32_t size, object;
    int32_t node;
    mlt_endpoint at;
    const char *text; // stored after the name
    char name[];
} mlt_directory_name;

typedef struct mlt_directory {
    mlt_directory_name **names; // [count], by strcmp
    size_t count, room;
    mlt_list_node waits; // all of them, those that came first first
    size_t waiting;
    // A name came that somebody waits for; the wait is over.
    void (*found)(mlt_directory_owner *owner, uint32_t id, const mlt_directory_name *name);
} mlt_directory;

void mlt_directory_init(mlt_directory *directory);

void mlt_directory_enter(mlt_directory_owner *owner, int32_t pid, const char *program);
void mlt_directory_leave(mlt_directory *directory,
                         mlt_directory_owner *owner); // all that it has goes

// These answer with a status and, if it is not CSP_OK, a message.
csp_status mlt_directory_put(mlt_directory *directory, mlt_directory_owner *owner,
                             const mlt_name *name, char *why, size_t why_size);
csp_status mlt_directory_drop(mlt_directory *directory, mlt_directory_owner *owner,
                              const char *name, char *why, size_t why_size);
csp_status mlt_directory_wait(mlt_directory *directory, mlt_directory_owner *owner,
                              const char *name, uint32_t id, char *why, size_t why_size);
void mlt_directory_cancel(mlt_directory *directory, mlt_directory_owner *owner, uint32_t id);

// NULL: there is none.
const mlt_directory_name *mlt_directory_find(const mlt_directory *directory, const char *name);
// The index of the first name after that one.
size_t mlt_directory_after(const mlt_directory *directory, const char *name);

void mlt_directory_copy(const mlt_directory_name *from, mlt_name *to);
