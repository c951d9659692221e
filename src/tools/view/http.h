// SPDX-License-Identifier: BSD-3-Clause
// Requests of a browser to `millet view --serve`, as far as the page makes them: GET without a body, HTTP/1.1.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MLT_HTTP_MOST = 8192, // bytes of a request
    MLT_HTTP_TARGET = 4096,
    MLT_HTTP_HOST = 256,
};

// What to answer with. MORE: the request is not whole yet.
enum {
    MLT_HTTP_MORE = 0,
    MLT_HTTP_FINE = 200,
    MLT_HTTP_BAD = 400,
    MLT_HTTP_FORBIDDEN = 403,
    MLT_HTTP_NOT_FOUND = 404,
    MLT_HTTP_METHOD = 405,
    MLT_HTTP_LONG = 431,
};

typedef struct mlt_http_request {
    char path[MLT_HTTP_TARGET];  // as it was written, up to the '?'
    char query[MLT_HTTP_TARGET]; // behind it
    char host[MLT_HTTP_HOST];    // "": not told
    bool closes;                 // the browser wants no further answer on this connection
} mlt_http_request;

// Reads the request that begins with these bytes. FINE: *used of them are it. MORE: read on. Anything else: the
// connection cannot go on after this answer, since nobody knows where the next request begins.
int mlt_http_read(mlt_http_request *request, const char *bytes, size_t count, size_t *used);

// The words of a status: "Not Found".
const char *mlt_http_words(int status);

// name=NUMBER in a query: decimal digits, below 2^64. False: it is not there, or it is none.
bool mlt_http_number(const char *query, const char *name, uint64_t *number);

// name=1,2,3: at most `most` of them. Returns how many; -1: it is not there, or not a list of numbers, or too long.
int mlt_http_numbers(const char *query, const char *name, uint64_t *numbers, int most);
