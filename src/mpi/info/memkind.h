// SPDX-License-Identifier: BSD-3-Clause
// Kinds of memory that buffers may be in (MPI 4.1, "Memory Allocation Info"), as texts: a list of
// KIND or KIND:RESTRICTOR, with commas between them.
//
//     system, mpi[:alloc_mem|win_allocate|win_allocate_shared]    always
//     cuda[:host|device|managed]                                  where device memory is supported
//
// Whoever asks, by mpirun -memory-alloc-kinds or the info key of MPI_Session_init, is answered
// "mpi,system" and those of the kinds asked for that are supported. Who asks for a whole kind is told
// its restrictors, too: programs look for the one that they use. A kind that nobody asked for is not
// in the answer, and an unknown one is no error.
//
// The answer is the same for all that stems from a session, or from MPI_Init. A program may assert
// that it uses only some of them with a communicator, window or file. It is told that again if they
// are in the answer; nothing else depends on it.
#pragma once

#include "mpi/comm/comm.h"
#include "mpi/info/info.h"

#define MLT_MEMKIND_KEY    "mpi_memory_alloc_kinds"
#define MLT_MEMKIND_ASSERT "mpi_assert_memory_alloc_kinds"

// What mpirun was asked for; at any time.
const char *mlt_memkind_of_job(void);

// What the communicator's session asked for; NULL: it asked for nothing, or there is no session, and
// the job's holds.
const char *mlt_memkind_of_comm(const mlt_comm *comm);

// Sets both keys in an object that a program is told: the answer to `asked` (NULL: to the job's), and
// what `hints` (which may be NULL) assert, if it is in that.
void mlt_memkind_tell(mlt_info *told, const char *asked, const mlt_info *hints);

// Whether `hints` assert what the answer to `asked` has. If not, the assertion is ignored.
bool mlt_memkind_asserts(const mlt_info *hints, const char *asked);
