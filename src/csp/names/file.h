// SPDX-License-Identifier: BSD-3-Clause
// The file that a name server writes and its clients read: where it listens, and its key. `names`,
// of mode 0600, in a folder of mode 0700:
//
//     millet names 2
//     socket /run/user/1000/millet/names.socket
//     key 64 hexadecimal digits
//     pid 1234
//     host 16 hexadecimal digits, name       which one it runs on
//     tcp 40000 10.0.0.1 2001:db8::1         if it listens for other hosts: port and addresses
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "csp/net/far.h"
#include "os/line.h"

enum {
    MLT_NAMES_VERSION = 2,
    MLT_NAMES_KEY = 32,
    MLT_NAMES_PATH = 512,
    MLT_NAMES_HOST = 64,
};

typedef struct mlt_names_file {
    char socket[MLT_OS_LINE_NAME];
    unsigned char key[MLT_NAMES_KEY];
    uint32_t pid;
    mlt_far_place place;
    char host[MLT_NAMES_HOST]; // its name, for messages
} mlt_names_file;

// Whether the server can be reached through its socket: this is its host. (If nothing answers there,
// this may be a container of the same host, and place.port is worth a try.)
bool mlt_names_file_is_here(const mlt_names_file *file);

// Fills in what the file says about this host.
void mlt_names_file_of_here(mlt_names_file *file);

// Reads it if it belongs to the user, and nobody else may read it. MLT_ERR_NOT_FOUND: there is no
// such file. On failure `why` tells.
mlt_status mlt_names_file_read(const char *path, mlt_names_file *out, char *why,
                               size_t why_size) MLT_MUST_CHECK;
bool mlt_names_file_parse(const char *text, size_t bytes, mlt_names_file *out, char *why,
                          size_t why_size) MLT_MUST_CHECK;
// Writes it: another one of that name is replaced at once, never half.
mlt_status mlt_names_file_write(const char *path, const mlt_names_file *file, char *why,
                                size_t why_size) MLT_MUST_CHECK;

// The folder that a server uses if nobody says which. False: there is none, and `why` tells.
bool mlt_names_usual_folder(char folder[MLT_NAMES_PATH], char *why, size_t why_size) MLT_MUST_CHECK;

// In a time that does not depend on where they differ.
bool mlt_names_same_key(const unsigned char *a, const unsigned char *b);
