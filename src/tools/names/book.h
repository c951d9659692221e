// SPDX-License-Identifier: BSD-3-Clause
// What a name server knows: names, in order, which program holds each, and which programs wait for
// one. Everything belongs to a program (a connection), and ends with it.
#ifndef MLT_TOOLS_NAMES_BOOK_H
#define MLT_TOOLS_NAMES_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "csp/names/names.h"

enum {
    MLT_BOOK_NAMES = 16384, // of one program
    MLT_BOOK_WAITS = 4096,  // finds of one program that wait
    MLT_BOOK_ALL = 1 << 18, // names in all
};

typedef struct mlt_book_owner {
    mlt_list_node waits;
    uint32_t name_count, wait_count;
    int32_t pid;
    char program[96];
} mlt_book_owner;

typedef struct mlt_book_name {
    mlt_book_owner *owner;
    uint8_t kind;
    uint32_t size, object;
    int32_t node;
    mlt_endpoint at;
    const char *text; // stored after the name
    char name[];
} mlt_book_name;

typedef struct mlt_book {
    mlt_book_name **names; // [count], by strcmp
    size_t count, room;
    mlt_list_node waits; // all of them, those that came first first
    size_t waiting;
    // A name came that somebody waits for; the wait is over.
    void (*found)(mlt_book_owner *owner, uint32_t id, const mlt_book_name *name);
} mlt_book;

void mlt_book_init(mlt_book *book);
void mlt_book_fini(mlt_book *book); // nobody owns anything any more

void mlt_book_enter(mlt_book_owner *owner, int32_t pid, const char *program);
void mlt_book_leave(mlt_book *book, mlt_book_owner *owner); // all that it has goes

// These answer with a status and, if it is not CSP_OK, a message.
csp_status mlt_book_put(mlt_book *book, mlt_book_owner *owner, const mlt_name *name, char *why,
                        size_t why_size);
csp_status mlt_book_drop(mlt_book *book, mlt_book_owner *owner, const char *name, char *why,
                         size_t why_size);
csp_status mlt_book_wait(mlt_book *book, mlt_book_owner *owner, const char *name, uint32_t id,
                         char *why, size_t why_size);
void mlt_book_cancel(mlt_book *book, mlt_book_owner *owner, uint32_t id);

// NULL: there is none.
const mlt_book_name *mlt_book_find(const mlt_book *book, const char *name);
// The index of the first name after that one.
size_t mlt_book_after(const mlt_book *book, const char *name);

void mlt_book_copy(const mlt_book_name *from, mlt_name *to);

#endif
