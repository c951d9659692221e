// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of files share: a name that no other run has, and what a file holds.

#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // mkstemp, pread
#endif

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

enum { PATH_ROOM = 256 };

// A name of a file that does not exist, the same on all ranks.
OUT_OF_LINE static void fresh_path(char path[PATH_ROOM])
{
    const char *folder = getenv("TMPDIR");
    if (world_rank() == 0) {
        snprintf(path, PATH_ROOM, "%s/millet-file-XXXXXX", folder ? folder : "/tmp");
        int fd = mkstemp(path);
        CHECK(fd >= 0);
        close(fd);
        unlink(path);
    }
    CHECK_OK(MPI_Bcast(path, PATH_ROOM, MPI_CHAR, 0, MPI_COMM_WORLD));
}

OUT_OF_LINE static MPI_File must_open(const char *path, int amode)
{
    MPI_File fh = MPI_FILE_NULL;
    CHECK_OK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &fh));
    return fh;
}

static inline int path_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

// What is in the file, as the system tells; the caller frees it.
OUT_OF_LINE static unsigned char *file_bytes(const char *path, long long *bytes)
{
    struct stat state;
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && fstat(fd, &state) == 0);
    unsigned char *data = must_alloc((size_t)state.st_size);
    CHECK_INT(pread(fd, data, (size_t)state.st_size, 0), state.st_size);
    close(fd);
    *bytes = state.st_size;
    return data;
}

OUT_OF_LINE static long long status_bytes(const MPI_Status *status)
{
    MPI_Count count = -1;
    CHECK_OK(MPI_Get_count_c(status, MPI_BYTE, &count));
    return count;
}
