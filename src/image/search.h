// SPDX-License-Identifier: BSD-3-Clause
// Where the dynamic loader looks for a library.
#pragma once

// The folder of a file, for $ORIGIN. The caller frees it.
char *mlt_search_origin(const char *path);

// One name of a folder or file, the first `length` bytes of it, with $ORIGIN at its beginning
// replaced. The caller frees it.
char *mlt_search_expand(const char *part, int length, const char *origin);

// The path of the library in one of the folders, which colons part; NULL if it is in none, or
// folders is NULL. `dir` is what relative folders are relative to, or NULL. The caller frees it.
char *mlt_search_in(const char *folders, const char *name, const char *origin, const char *dir);
