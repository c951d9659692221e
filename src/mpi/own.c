// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/own.h"

#include <stdlib.h>

#include "base/log.h"
#include "mpi/file.h"
#include "mpi/getopt.h"
#include "mpi/output.h"
#include "mpi/self.h"

mlt_rank_own *mlt_own_of(mlt_rank *me)
{
    mlt_mpi *mpi = mlt_mpi_of(me);
    if (mpi->own)
        return mpi->own;
    mlt_rank_own *own = calloc(1, sizeof *own);
    if (!own)
        mlt_fatal("memory is exhausted: no room for what rank %d keeps of its own", me->world);
    own->line[0].fd = own->line[1].fd = -1;
    mpi->own = own;
    return own;
}

bool mlt_own_end(mlt_rank *me)
{
    mlt_rank_own *own = mlt_mpi_of(me)->own;
    if (!own)
        return true;
    mlt_file_close(me);
    bool whole = mlt_output_end(me);
    mlt_libc_state_free(own->libc);
    mlt_getopt_free(own->options);
    mlt_mpi_of(me)->own = NULL;
    free(own);
    return whole;
}
