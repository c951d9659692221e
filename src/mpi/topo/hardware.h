// SPDX-License-Identifier: BSD-3-Clause
// The parts of its machine that a rank may be restricted to, for MPI_Get_hw_resource_info and the
// hardware kinds of MPI_Comm_split_type. A part's type is a URI:
//
//     hwloc://Machine hwloc://Package hwloc://NUMANode hwloc://L3Cache hwloc://Core hwloc://PU
//     millet://Host millet://Process millet://Worker
//
// The former come from the affinity of the calling thread and what /sys says of the processors; the
// latter are where Millet runs the rank. Affinity is a thread's, so it is looked at in each call.
#pragma once

#include <stddef.h>

enum { MLT_HARDWARE_FREE = -1, MLT_HARDWARE_UNKNOWN = -2 };

// The index of the one instance of the type that the calling worker's thread is restricted to: the
// same number for all ranks of the job that are restricted to the same instance, and different ones
// for different instances, on whichever hosts. MLT_HARDWARE_FREE: it is not restricted to one (or the system does
// not say). MLT_HARDWARE_UNKNOWN: there is no such type. For ranks after MPI_Init.
int mlt_hardware_instance(const char *type_uri);

// All types; in each family (hwloc, millet) from the widest to the narrowest, as machines usually
// are. NULL after the last.
const char *mlt_hardware_type(size_t i);
