// SPDX-License-Identifier: BSD-3-Clause
// Files: what all of them have. Nothing opens one yet, so no handle is a file's but MPI_FILE_NULL,
// which stands for the rank's default error handler.
#ifndef MLT_MPI_FILE_H
#define MLT_MPI_FILE_H

#include <mpi.h>
#include <stdint.h>

#include "mpi/handle.h"

enum { MLT_FILE_MAGIC = 0x000f11e5 };

typedef struct mlt_file {
    uint32_t magic; // MLT_FILE_MAGIC while it lives
    mlt_rank *rank;
    MPI_Errhandler errhandler; // predefined or a mlt_errhandler; a counted reference
} mlt_file;

// NULL: MPI_FILE_NULL or a bad handle, for which mlt_bad_file raises MPI_ERR_FILE through the
// default error handler for files.
static inline mlt_file *mlt_file_of(MPI_File handle)
{
    uintptr_t h = (uintptr_t)handle;
    mlt_file *file = (mlt_file *)h;
    return mlt_handle_is_address(h) && file->magic == MLT_FILE_MAGIC ? file : NULL;
}

int mlt_bad_file(mlt_rank *me, MPI_File handle) MLT_COLD;

// Where the error handler of a file is kept, or with MPI_FILE_NULL the one that files of this rank
// begin with: MPI_ERRORS_RETURN unless the user has set another.
MPI_Errhandler *mlt_file_errhandler(mlt_rank *me, MPI_File file);

// MPI_Finalize: the rank's default is MPI_ERRORS_RETURN again.
void mlt_file_close(mlt_rank *me);

#endif
