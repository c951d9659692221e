// SPDX-License-Identifier: BSD-3-Clause
// What the name server and its clients say to each other.
//
// A message is a length (4 bytes, of what follows), a verb (1 byte) and the verb's fields; numbers
// have their lowest byte first, texts a length before them. The client says HELLO with the key
// first; the server says WELCOME, or REFUSED with the reason and closes. Then every request has an
// id, and one answer (LIST: up to MLT_NAMES_PAGE entries, then an ANSWER; CANCEL: none).
//
// An endpoint says by its kind how it can be reached: not at all from outside of its job, by a Unix
// socket of the abstract name space on its host, or also over TCP.
//
// Over TCP the greeting of src/net comes first and proves the key, so that the key of HELLO is 0.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csp/names/file.h"
#include "csp/names/names.h"

enum {
    MLT_NAMES_FRAME = 2048, // the longest message, its length included
    MLT_NAMES_SAID = 400,
};

// ---- messages

typedef enum mlt_names_verb {
    MLT_NAMES_HELLO = 1, // version, key, numbers[0]: the process, text: the program
    MLT_NAMES_WELCOME,   // numbers[0]: the server's process
    MLT_NAMES_REFUSED,   // text: why
    MLT_NAMES_PUT,       // id, name: all of it
    MLT_NAMES_FIND,      // id, flag: wait until there is one, name.name
    MLT_NAMES_CANCEL,    // id: of a FIND, which is not waited for any more; no answer
    MLT_NAMES_DROP,      // id, name.name
    MLT_NAMES_LIST,      // id, name.name: entries after that one ("": from the first)
    MLT_NAMES_STATUS,    // id
    MLT_NAMES_STOP,      // id
    MLT_NAMES_ANSWER,    // id, status, text: why
    MLT_NAMES_FOUND,     // id, name
    MLT_NAMES_ENTRY,     // id, name, numbers[0]: its process, text: its program
    MLT_NAMES_NUMBERS,   // id, numbers: process, programs, names, finds that wait, milliseconds up,
                         // connections from other hosts that were dropped
    MLT_NAMES_VERBS,
} mlt_names_verb;

enum { MLT_NAMES_NUMBERS_MOST = 6, MLT_NAMES_PAGE = 64 }; // PAGE: entries of one LIST

typedef struct mlt_names_message {
    uint8_t verb, version, flag, status; // status: csp_status
    uint32_t id;
    unsigned char key[MLT_NAMES_KEY];
    uint64_t numbers[MLT_NAMES_NUMBERS_MOST];
    mlt_name name;
    char text[MLT_NAMES_SAID];
} mlt_names_message;

// Returns its bytes.
size_t mlt_names_encode(const mlt_names_message *message, unsigned char out[MLT_NAMES_FRAME]);

// The message that the bytes begin with. Returns how many it has; 0: it is not all there yet; -1:
// it is none.
int mlt_names_decode(const unsigned char *in, size_t bytes, mlt_names_message *out);

// Not empty, not too long, without control characters. If not, *wrong says why: "is empty".
bool mlt_names_good(const char *name, const char **wrong);

// The place of one byte after another, in messages (csp/net/frame.c's, too). All functions write what
// they are given if there is an `out`, else they read it.
typedef struct mlt_names_cursor {
    const unsigned char *in;
    unsigned char *out;
    size_t at, end;
    bool failed; // there was not enough, or no room
} mlt_names_cursor;

uint64_t mlt_names_number(mlt_names_cursor *c, uint64_t value, int bytes); // returns it
void mlt_names_bytes(mlt_names_cursor *c, void *data, size_t bytes);
void mlt_names_text(mlt_names_cursor *c, char *text, size_t size);
void mlt_names_endpoint(mlt_names_cursor *c, mlt_endpoint *at);

// A message begins with its length. seal: writes it, into the first bytes, which were left free;
// returns the bytes of the whole. open: reads it, and ends the cursor with the message; returns the
// bytes of the whole, 0: it is not all there yet, -1: it is longer than `most`, or empty.
size_t mlt_names_seal(mlt_names_cursor *c, int length_bytes);
int mlt_names_open(mlt_names_cursor *c, int length_bytes, size_t most);
