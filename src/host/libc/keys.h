// SPDX-License-Identifier: BSD-3-Clause
// Keys of thread-specific data. A process has 1,024 of them, but every image of a library that
// needs one makes its own: OpenMP's and Fortran's run-time do. So a key that code of an image makes
// is the rank's: its number is beyond the system's, and its values are kept here, for the rank's
// main and for each thread that the rank has started. Keys that other code makes are the system's.
#pragma once

struct mlt_keys;

// The rank has ended. Its threads may live on, and keep their values. NULL is fine.
void mlt_keys_free(struct mlt_keys *keys);
