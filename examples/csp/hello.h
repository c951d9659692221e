// SPDX-License-Identifier: BSD-3-Clause
// What hello_client.c and hello_server.c say to each other.
#ifndef HELLO_H
#define HELLO_H

#include <millet/csp.h>

typedef struct question {
    char name[40];
    csp_parcel reply; // the end to write the answer to
} question;

typedef struct answer {
    char text[80];
} answer;

#endif
