// SPDX-License-Identifier: BSD-3-Clause
// A communicator as one rank sees it, and what the ranks of a worker share of it.
//
// MPI_COMM_WORLD and MPI_COMM_SELF lie in the rank's mlt_mpi; others come from the worker's pool. A
// million ranks have a mlt_comm each for every communicator that they are in, so it is small; what
// few of them have is in `extra`, made when needed, and what is the same for all ranks of a worker
// is in `shared`.
//
// Contexts. A communicator has eight consecutive ones, beginning with `context`: point-to-point
// messages, what the library sends in collective calls (tags from 0 on: those that make
// communicators; below 0: schedules of the user's, goal/exec.h), what it sends among a part of the
// ranks, what leaders of intercommunicators send, and four for collective operations. They are
// unique in the job while the communicator lives anywhere (context.h).
//
// References: the user's handle and every request under way. MPI_Comm_free clears the magic at
// once, so that the handle is dead; the memory goes with the last request.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "mpi/attr.h"
#include "mpi/comm/map.h"
#include "p2p/context.h"
#include "p2p/p2p.h"

enum {
    MLT_COMM_MAGIC = 0x00c0113c,
    MLT_CONTEXT_COLLECTIVE = 1,
    MLT_CONTEXT_PART = 2,
    MLT_CONTEXT_LEADERS = 3,
    MLT_CONTEXT_LEVEL = 4,       // collective calls between workers (coll/team.h): peers are
    MLT_CONTEXT_LEVEL_FIXED = 5, // workers' places; persistent ones
    MLT_CONTEXT_FLAT = 6,        // ... between ranks
    MLT_CONTEXT_FLAT_FIXED = 7,
    MLT_CONTEXT_WORLD = 0,
    MLT_CONTEXT_SELF = 8,
    MLT_CONTEXT_GROUPS = 16,               // MPI_Comm_create_from_group: peers are world ranks
    MLT_CONTEXT_BARRIER = 17,              // mlt_agreement_workers: peers are world ranks
    MLT_CONTEXT_FIRST = MLT_CONTEXT_COMMS, // of those that are given out
};

struct mlt_context;    // context.h
struct mlt_session;    // session.h
struct mlt_topo;       // topo.h
struct mlt_goal_runs;  // goal.h
struct mlt_team;       // coll/team.h
struct mlt_reduce_tos; // reduce_to.h
struct mlt_stream;     // stream/stream.h

// What the ranks of a worker share of a communicator; counted by its mlt_comms. Of an
// intercommunicator it serves both groups.
typedef struct mlt_comm_shared {
    uint32_t refs;
    uint32_t context;
    struct mlt_context *id; // NULL: predefined
    mlt_map *group[2];      // [1]: intercommunicators only
    struct mlt_members
        *members;             // agreement.h: the workers that have ranks in it; NULL: not known yet
    mlt_list_node agreements; // open ones, see agreement.h
    void *window;             // that its ranks are making (win/make.c); NULL: none
    void *file;               // that its ranks open (file/open.c): the file's own communicator
    struct mlt_topo *topo;    // the last topology that was given to it; a counted reference
    struct mlt_coll_sources *sources; // coll/choose.h: rules for it; NULL: not asked for yet
    struct mlt_team *team;            // coll/team.h: its collective calls; NULL: none so far
    int32_t *locals; // ranks of this worker, if they do not follow each other; else NULL
    struct mlt_device_place *device; // mpi/coll/device.h; NULL: no device is in use
    struct mlt_coll_hosts *hosts;    // coll/where.h: of all its ranks; NULL: not known, or one host
    bool located;                    // it is known
    bool foreign;                    // some ranks are of other jobs (wire/world.h)
    uint32_t world_count;            // those, each held
    struct mlt_world **worlds;
} mlt_comm_shared;

// What few communicators have.
typedef struct mlt_comm_extra {
    char *name;   // MPI_Comm_set_name's; NULL: the predefined name
    void *buffer; // MPI_Comm_attach_buffer's (buffer.c)
    mlt_attrs attrs;
    struct mlt_info *info;            // hints (info.c); NULL: none
    struct mlt_session *session;      // that it stems from; NULL: MPI_Init
    uint32_t orphans;                 // operations under way whose request the user has freed
    mlt_fiber *waits;                 // until there are none; NULL: nobody
    struct mlt_goal_runs *goal;       // runs of schedules (goal.h); NULL: none so far
    struct mlt_reduce_tos *reduce_to; // reduce_to.h; NULL: none so far
    struct mlt_team *flat;     // the rank's own view of the team (coll/team.h); NULL: none so far
    struct mlt_stream *stream; // MPIX_Stream_comm_create's; a counted reference
} mlt_comm_extra;

typedef struct mlt_comm {
    uint32_t magic; // MLT_COMM_MAGIC while it lives
    uint32_t context;
    int32_t rank, size;        // own rank, number of ranks (of its own group)
    int32_t peers;             // number of ranks that can be addressed: size, or the other group's
    int32_t base, stride;      // peer r is world rank base + r * stride, unless map says
    uint32_t refs;             // the user's handle, requests
    MPI_Errhandler errhandler; // predefined or a mlt_errhandler; a counted reference
    const mlt_map *map;        // of the peers; NULL: linear
    mlt_comm_shared *shared;   // NULL: MPI_COMM_SELF before its first use in a collective call
    mlt_comm_extra *extra;     // NULL: none
    struct mlt_topo *topo;     // NULL: none; a counted reference
    mlt_rank *owner;
    mlt_list_node link; // among the owner's communicators (mlt_mpi.comms); predefined: unused
    uint32_t calls;     // agreements of its ranks so far, see agreement.h
    uint32_t coll_calls, fixed_calls; // collective operations so far (coll.h); persistent ones made
    uint32_t local;                   // place among this worker's ranks, once `team` is there
    struct mlt_team *team;            // shared->team, once this rank has looked; NULL: not yet
    bool inter;
    uint8_t side; // intercommunicators: own group is shared->group[side]
} mlt_comm;
_Static_assert(sizeof(mlt_comm) <= 128, "a million ranks hold several each");

static inline int32_t mlt_comm_world_rank(const mlt_comm *comm, int rank)
{
    return MLT_UNLIKELY(comm->map != NULL) ? mlt_map_world(comm->map, rank)
                                           : comm->base + rank * comm->stride;
}

// The group of its owner; for an intercommunicator the local one.
static inline mlt_map *mlt_comm_group(const mlt_comm *comm)
{
    return comm->shared->group[comm->side];
}

// The ranks that can be addressed: its own group, or the remote one.
static inline mlt_map *mlt_comm_peer_group(const mlt_comm *comm)
{
    return comm->shared->group[comm->inter ? !comm->side : 0];
}

// For hang reports: the world rank of `peer` in the rank's communicator of that context.
int32_t mlt_comm_context_world_rank(const mlt_rank *rank, uint32_t context, int32_t peer);

// The communicator's extra part, made if it was not there.
mlt_comm_extra *mlt_comm_extra_of(mlt_comm *comm);

// The part that the worker's ranks share, made if it was not there (MPI_COMM_SELF's);
// mlt_comm_group needs it.
mlt_comm_shared *mlt_comm_shared_of(mlt_comm *comm);

// The handle that the user knows it by; MPI_COMM_NULL if the user has freed it.
MPI_Comm mlt_comm_handle(mlt_rank *me, mlt_comm *comm);

// The session that it stems from; NULL: MPI_Init.
static inline struct mlt_session *mlt_comm_session(const mlt_comm *comm)
{
    return comm->extra ? comm->extra->session : NULL;
}

// Raises that two arguments stem from different sessions.
int mlt_comm_two_sessions(mlt_rank *me, mlt_comm *comm, int class, const char *one,
                          const char *other);

// Raises that an argument is an intercommunicator.
int mlt_comm_bad_inter(mlt_rank *me, mlt_comm *comm, const char *name);

// Its name, for error messages: "MPI_COMM_WORLD". Never NULL.
const char *mlt_comm_name(mlt_rank *me, const mlt_comm *comm);

// Requests hold their communicator.
void mlt_comm_release(mlt_comm *comm);

static inline void mlt_comm_hold(mlt_comm *comm)
{
    comm->refs++;
}

static inline void mlt_comm_drop(mlt_comm *comm)
{
    if (--comm->refs == 0)
        mlt_comm_release(comm);
}
