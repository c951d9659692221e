// SPDX-License-Identifier: BSD-3-Clause
// The name server itself: one thread, one folder, any number of programs that come, go and crash.
// docs/reference/names.md describes it, csp/names/text.h what is said.
#pragma once

typedef struct mlt_names_serve mlt_names_serve;

// Where it listens for other hosts: interfaces and ports as net/iface.h has them; iface NULL: only
// for this one.
typedef struct mlt_names_where {
    const char *iface, *ports; // "": all, any
} mlt_names_where;

// Takes the folder (made, if it is not there; there is one server a folder, as long as it lives),
// listens, and writes the file. The key of an earlier server is used again, and its port if it can
// be had: copies of the file on other hosts stay good.
mlt_names_serve *mlt_names_serve_new(const char *folder, const mlt_names_where *where);

// Serves until it is told to stop, by a client or by SIGTERM or SIGINT.
void mlt_names_serve_run(mlt_names_serve *serve);

// Lets go of the folder. The process ends then, and hangs up.
void mlt_names_serve_end(mlt_names_serve *serve);
