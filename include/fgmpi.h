// SPDX-License-Identifier: BSD-3-Clause
// FG-MPI's way to run a different function in each rank:
//
//     int worker(int argc, char **argv);
//     FG_ProcessPtr_t binding(int argc, char **argv, int rank) { return worker; }
//     int main(int argc, char **argv) { return FGmpiexec(&argc, &argv, binding); }
//
// The binding may also be a function of the rank alone, or FG-MPI's lookup function, which finds a
// binding by the name in the environment variable FGMAP. In Millet every rank runs main already, so
// FGmpiexec calls the function that the calling rank is bound to, and returns its result. A binding
// of arguments and rank is also called with MAP_INIT_ACTION instead of a rank, by the first rank of
// each process before all else, and with MAP_FINALIZE_ACTION, by the last one at the end.
#ifndef FGMPI_H_MILLET
#define FGMPI_H_MILLET

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAP_INIT_ACTION     (-1)
#define MAP_FINALIZE_ACTION (-2)

typedef int PROCESS; // what such a function returns
typedef int (*FG_ProcessPtr_t)(int argc, char **argv);
typedef FG_ProcessPtr_t (*FG_MapPtr_t)(int argc, char **argv, int rank);
typedef FG_MapPtr_t (*LookupMapPtr_t)(int argc, char **argv, char *name);
typedef FG_ProcessPtr_t (*FG_RankMapPtr_t)(int rank);

int FGmpiexec_map(int *argc, char ***argv, FG_MapPtr_t map);
int FGmpiexec_lookup(int *argc, char ***argv, LookupMapPtr_t lookup);
int FGmpiexec_rank(int *argc, char ***argv, FG_RankMapPtr_t map);

// The ranks of the caller's worker (-nfg of them) have consecutive numbers. These give how many
// there are, the first one's rank in MPI_COMM_WORLD, and the number of workers (-n).
int MPIX_Get_collocated_size(int *size);
int MPIX_Get_collocated_startrank(int *rank);
int MPIX_Get_n_size(int *size);

// The calling rank's priority, from -MPIX_PRIORITY_MOST to MPIX_PRIORITY_MOST; 0 unless set. Under
// mpirun --sched priority, of the ranks of a worker that can run one with a higher priority runs
// first, from the next time on that the caller waits. A rank that waits for another lends it its
// priority. Other policies do not look at it, but plug-ins may.
#define MPIX_PRIORITY_MOST 31
int MPIX_Set_priority(int priority);
int MPIX_Get_priority(int *priority);

// Sleeps at least so many microseconds; the other ranks of the worker run meanwhile.
void MPIX_Usleep(unsigned long long utime);

#ifdef __cplusplus
}

static inline int FGmpiexec(int *argc, char ***argv, FG_MapPtr_t map)
{
    return FGmpiexec_map(argc, argv, map);
}

static inline int FGmpiexec(int *argc, char ***argv, LookupMapPtr_t lookup)
{
    return FGmpiexec_lookup(argc, argv, lookup);
}

static inline int FGmpiexec(int *argc, char ***argv, FG_RankMapPtr_t map)
{
    return FGmpiexec_rank(argc, argv, map);
}
#else
#define FGmpiexec(argc, argv, binding)                                                             \
    _Generic((binding), FG_MapPtr_t                                                                \
             : FGmpiexec_map, LookupMapPtr_t                                                       \
             : FGmpiexec_lookup, FG_RankMapPtr_t                                                   \
             : FGmpiexec_rank)((argc), (argv), (binding))
#endif

#endif
