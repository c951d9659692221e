// SPDX-License-Identifier: BSD-3-Clause
// Which bytes a buffer of a call has. What that takes to know of types and communicators is asked when they
// are made: a wrong handle is then one that nobody knows, and its buffer is left alone.
#include <pthread.h>
#include <stdlib.h>

#include "layer.h"

enum { ROW_BITS = 12, ROWS = 1 << ROW_BITS, FIRST_OBJECT = 4096 };
#define SPAN_MOST ((__int128)64 << 20) // larger ones are left alone: most of it are gaps

typedef struct type_info {
    MPI_Count size, extent, true_lb, true_extent;
} type_info;

typedef struct known { // of a handle
    struct known *next;
    uintptr_t handle;
    type_info type;
    team team;
} known;

static struct {
    pthread_mutex_t lock;
    known *row[ROWS];
} types = {.lock = PTHREAD_MUTEX_INITIALIZER}, comms = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define ROW(table, handle) (&(table).row[layer_row((handle), ROW_BITS)])

// With the lock of the row's table.
static known *look_up(known *const *row, uintptr_t handle)
{
    known *k = *row;
    while (k && k->handle != handle)
        k = k->next;
    return k;
}

// The same. A handle that is freed is given out again.
static known *enter(known **row, uintptr_t handle)
{
    known *k = look_up(row, handle);
    if (!k) {
        k = calloc(1, sizeof *k);
        k->handle = handle;
        k->next = *row;
        *row = k;
    }
    return k;
}

// ---- types

// gen_layer.py: of predefined types; size 0: it is none.
extern const struct {
    size_t size, extent, true_extent;
} layer_predefined[1024];

void layer_type_made(int code, const MPI_Datatype *type)
{
    type_info t;
    MPI_Count lb;
    uintptr_t handle = code == MPI_SUCCESS && type ? (uintptr_t)*type : 0;
    if (handle < FIRST_OBJECT)
        return;
    PMPI_Type_size_c(*type, &t.size);
    PMPI_Type_get_extent_c(*type, &lb, &t.extent);
    PMPI_Type_get_true_extent_c(*type, &t.true_lb, &t.true_extent);
    pthread_mutex_lock(&types.lock);
    enter(ROW(types, handle), handle)->type = t;
    pthread_mutex_unlock(&types.lock);
}

// All zeros: nothing is known of it.
static type_info type_of(MPI_Datatype type)
{
    type_info t = {0, 0, 0, 0};
    uintptr_t handle = (uintptr_t)type;
    if (handle < 1024) {
        t.size = (MPI_Count)layer_predefined[handle].size;
        t.extent = (MPI_Count)layer_predefined[handle].extent;
        t.true_extent = (MPI_Count)layer_predefined[handle].true_extent;
    } else {
        pthread_mutex_lock(&types.lock);
        known *k = look_up(ROW(types, handle), handle);
        t = k ? k->type : t;
        pthread_mutex_unlock(&types.lock);
    }
    return t;
}

// ---- spans

// Numbers of 64 bits, multiplied and added, do not fit them.
typedef struct range {
    __int128 from, to; // nothing if equal
} range;

static range range_of(__int128 count, const type_info *t, __int128 at)
{
    if (count <= 0 || t->size == 0)
        return (range){0, 0};
    __int128 last = (count - 1) * t->extent;
    return (range){at + t->true_lb + (last < 0 ? last : 0),
                   at + t->true_lb + t->true_extent + (last > 0 ? last : 0)};
}

static void widen(range *all, range one)
{
    if (one.from == one.to)
        return;
    bool none = all->from == all->to;
    all->from = none || one.from < all->from ? one.from : all->from;
    all->to = none || one.to > all->to ? one.to : all->to;
}

static span span_of(range r)
{
    if (r.to - r.from > SPAN_MOST || r.from > INTPTR_MAX || r.from < INTPTR_MIN)
        return NOTHING;
    return (span){(intptr_t)r.from, (size_t)(r.to - r.from)};
}

static __int128 number(list l, int i)
{
    return l.width == sizeof(int) ? ((const int *)l.at)[i] : ((const MPI_Count *)l.at)[i];
}

span layer_bytes(MPI_Count bytes)
{
    return bytes > 0 ? span_of((range){0, bytes}) : NOTHING;
}

span layer_elements(MPI_Count count, MPI_Datatype type)
{
    return layer_blocks(1, count, type);
}

span layer_blocks(int blocks, MPI_Count count, MPI_Datatype type)
{
    type_info t = type_of(type);
    return span_of(range_of(count > 0 ? (__int128)blocks * count : 0, &t, 0));
}

span layer_sum(int blocks, list counts, MPI_Datatype type)
{
    __int128 sum = 0;
    type_info t = type_of(type);
    for (int i = 0; counts.at && i < blocks; i++)
        sum += number(counts, i);
    return span_of(range_of(sum, &t, 0));
}

span layer_places(int blocks, list counts, list displs, MPI_Datatype type)
{
    range all = {0, 0};
    type_info t = type_of(type);
    for (int i = 0; counts.at && displs.at && i < blocks; i++)
        widen(&all, range_of(number(counts, i), &t, number(displs, i) * t.extent));
    return span_of(all);
}

span layer_typed(int blocks, list counts, list displs, const MPI_Datatype *each)
{
    range all = {0, 0};
    for (int i = 0; counts.at && displs.at && each && i < blocks; i++) {
        type_info t = type_of(each[i]);
        widen(&all, range_of(number(counts, i), &t, number(displs, i)));
    }
    return span_of(all);
}

// ---- communicators

static void ask_neighbours(MPI_Comm comm, team *t)
{
    int kind, weighted;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        PMPI_Cartdim_get(comm, &t->in);
        t->in = t->out = 2 * t->in;
    } else if (kind == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(comm, t->rank, &t->in);
        t->out = t->in;
    } else if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &t->in, &t->out, &weighted);
    }
}

static team ask(MPI_Comm comm)
{
    team t = {.known = true};
    int inter;
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_rank(comm, &t.rank);
    PMPI_Comm_size(comm, &t.local);
    t.peers = t.local;
    t.inter = inter;
    if (inter)
        PMPI_Comm_remote_size(comm, &t.peers);
    else
        ask_neighbours(comm, &t);
    return t;
}

static void comm_enter(MPI_Comm comm, team t)
{
    uintptr_t handle = (uintptr_t)comm;
    pthread_mutex_lock(&comms.lock);
    enter(ROW(comms, handle), handle)->team = t;
    pthread_mutex_unlock(&comms.lock);
}

void layer_comm_made(int code, const MPI_Comm *comm)
{
    if (code == MPI_SUCCESS && comm && (uintptr_t)*comm >= FIRST_OBJECT)
        comm_enter(*comm, ask(*comm));
}

// By MPI_Comm_idup, so that it may not be asked yet.
void layer_comm_copied(int code, MPI_Comm from, const MPI_Comm *comm)
{
    if (code == MPI_SUCCESS && comm && (uintptr_t)*comm >= FIRST_OBJECT)
        comm_enter(*comm, layer_team(from));
}

// The world is not known before MPI_Init, nor with sessions alone.
static team world(void)
{
    int begun = 0, over = 0;
    team t = {.known = false};
    PMPI_Initialized(&begun);
    PMPI_Finalized(&over);
    if (!begun || over)
        return t;
    PMPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &t.local);
    t.peers = t.local;
    t.known = true;
    return t;
}

team layer_team(MPI_Comm comm)
{
    uintptr_t handle = (uintptr_t)comm;
    team t = {.known = false};
    if (comm == MPI_COMM_WORLD)
        return world();
    if (comm == MPI_COMM_SELF)
        return (team){.known = true, .local = 1, .peers = 1};
    pthread_mutex_lock(&comms.lock);
    known *k = look_up(ROW(comms, handle), handle);
    t = k ? k->team : t;
    pthread_mutex_unlock(&comms.lock);
    return t;
}

bool layer_is_root(team t, int root)
{
    return t.inter ? root == MPI_ROOT : root == t.rank;
}

bool layer_is_leaf(team t, int root)
{
    return !t.inter || root >= 0;
}
