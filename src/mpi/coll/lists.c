// SPDX-License-Identifier: BSD-3-Clause
// MPI_Gatherv and MPI_Scatterv, where only the root knows all blocks; MPI_Alltoallv and MPI_Alltoallw:
// lists of blocks for everybody.
#include "mpi/coll/coll.h"
#include "mpi/coll/inter.h"
#include "mpi/coll/list.h"

static int32_t every_peer(const mlt_comm *comm, int32_t root, bool sends, uint32_t i, int32_t *tag)
{
    return (int32_t)i;
}

// In place: what a rank has for itself stays where it is.
static int32_t other_peer(const mlt_comm *comm, int32_t root, bool sends, uint32_t i, int32_t *tag)
{
    return (int32_t)i == comm->rank ? -1 : (int32_t)i;
}

static int32_t gatherv_peer(const mlt_comm *comm, int32_t root, bool sends, uint32_t i,
                            int32_t *tag)
{
    return sends ? root : (int32_t)i;
}

static int32_t scatterv_peer(const mlt_comm *comm, int32_t root, bool sends, uint32_t i,
                             int32_t *tag)
{
    return sends ? (int32_t)i : root;
}

// One message between the root, which has `all`, and every rank, this way or that.
int mlt_coll_rooted_lists(mlt_rank *me, mlt_coll_form form, mlt_coll_list *one, mlt_coll_list *all,
                          int root, mlt_comm *comm, const mlt_how *how)
{
    bool gathers = form == MLT_FORM_GATHERV;
    int code = mlt_coll_check_root(me, comm, root);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    bool is_root = comm->inter ? root == MPI_ROOT : comm->rank == root;
    bool in_place = is_root && !comm->inter && mlt_coll_in_place(one->buf);
    bool has_one = comm->inter ? root >= 0 : !in_place;
    one->blocks = 1;
    all->blocks = (uint32_t)comm->peers;
    const mlt_coll_list *mine = has_one ? one : &mlt_coll_list_nothing;
    const mlt_coll_list *roots = is_root ? all : &mlt_coll_list_nothing;
    mlt_coll_list_peer *peer = comm->inter ? mlt_inter_peer
                               : in_place  ? other_peer
                               : gathers   ? gatherv_peer
                                           : scatterv_peer;
    return mlt_coll_exchange(me, comm, gathers ? mine : roots, gathers ? roots : mine, peer, root,
                             form, how);
}

int mlt_coll_all_lists(mlt_rank *me, mlt_coll_list *send, mlt_coll_list *recv, mlt_comm *comm,
                       const mlt_how *how)
{
    bool in_place = !comm->inter && mlt_coll_in_place(send->buf);
    if (in_place)
        *send = *recv;
    send->apart = in_place;
    send->blocks = recv->blocks = (uint32_t)comm->peers;
    return mlt_coll_exchange(me, comm, send, recv,
                             comm->inter ? mlt_inter_peer
                             : in_place  ? other_peer
                                         : every_peer,
                             MPI_ROOT, MLT_FORM_ALLTOALLV, how);
}
