// SPDX-License-Identifier: BSD-3-Clause
//
// For random programs that run over two jobs: a communicator of the ranks of this job and of the one
// that it spawns, or was spawned by.

#pragma once

#include "check.h"

// The first job spawns so many ranks of this program with `arguments`; key and value: for
// MPI_Comm_spawn, or NULL. The spawned job needs none of these. Without children, MPI_COMM_WORLD.
OUT_OF_LINE static MPI_Comm family_new(char *program, char **arguments, int children,
                                       const char *key, const char *value)
{
    MPI_Comm parent, kin, all;
    MPI_Info info = MPI_INFO_NULL;
    CHECK_OK(MPI_Comm_get_parent(&parent));
    kin = parent;
    if (parent == MPI_COMM_NULL) {
        if (children == 0)
            return MPI_COMM_WORLD;
        if (key) {
            CHECK_OK(MPI_Info_create(&info));
            CHECK_OK(MPI_Info_set(info, key, value));
        }
        CHECK_OK(MPI_Comm_spawn(program, arguments, children, info, 0, MPI_COMM_WORLD, &kin,
                                MPI_ERRCODES_IGNORE));
        if (info != MPI_INFO_NULL)
            CHECK_OK(MPI_Info_free(&info));
    }
    CHECK_OK(MPI_Intercomm_merge(kin, parent != MPI_COMM_NULL, &all));
    CHECK_OK(MPI_Comm_disconnect(&kin));
    return all;
}

static inline void family_free(MPI_Comm *all)
{
    if (*all != MPI_COMM_WORLD)
        CHECK_OK(MPI_Comm_disconnect(all));
}
