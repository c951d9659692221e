// SPDX-License-Identifier: BSD-3-Clause
//
// No call whose answer another rank can change keeps that rank from running: a rank repeats one such
// call, and nothing else, until a word in shared memory is set by a rank that may share its thread.

#define _GNU_SOURCE // beyond C11: temporary files
#include "check.h"

#include <unistd.h>

#define WORLD MPI_COMM_WORLD

enum { TAG = 1, PENDING = 2, THERE = 3, PARTS = 2, WORDS = 4, PATIENCE = 60 };

// What the calls work on.
typedef struct things {
    MPI_Win shared, made, dynamic, posted;
    _Atomic int *word; // the last rank sets it
    int *own;          // rank 0's part of `made`
    MPI_Aint at;       // ... of `dynamic`
    int peer;          // some other rank, a neighbour
    int in, out[WORDS];
    MPI_Request pending, inactive, parts, generalized;
    MPI_File file;
    char name[64];
} things;

// ---- the calls, each a few times a turn at most

static void test(things *t)
{
    int flag;
    CHECK_OK(MPI_Test(&t->pending, &flag, MPI_STATUS_IGNORE));
}

static void testall(things *t)
{
    int flag;
    CHECK_OK(MPI_Testall(1, &t->pending, &flag, MPI_STATUSES_IGNORE));
}

static void testany(things *t)
{
    int flag, index;
    CHECK_OK(MPI_Testany(1, &t->pending, &index, &flag, MPI_STATUS_IGNORE));
}

static void testsome(things *t)
{
    int count, index;
    CHECK_OK(MPI_Testsome(1, &t->pending, &count, &index, MPI_STATUSES_IGNORE));
}

static void test_null(things *t)
{
    MPI_Request none = MPI_REQUEST_NULL;
    int flag;
    (void)t;
    CHECK_OK(MPI_Test(&none, &flag, MPI_STATUS_IGNORE));
}

static void testall_null(things *t)
{
    MPI_Request none = MPI_REQUEST_NULL;
    int flag;
    (void)t;
    CHECK_OK(MPI_Testall(1, &none, &flag, MPI_STATUSES_IGNORE));
}

static void testany_null(things *t)
{
    MPI_Request none = MPI_REQUEST_NULL;
    int flag, index;
    (void)t;
    CHECK_OK(MPI_Testany(1, &none, &index, &flag, MPI_STATUS_IGNORE));
}

static void testsome_null(things *t)
{
    MPI_Request none = MPI_REQUEST_NULL;
    int count, index;
    (void)t;
    CHECK_OK(MPI_Testsome(1, &none, &count, &index, MPI_STATUSES_IGNORE));
}

static void test_inactive(things *t)
{
    int flag;
    CHECK_OK(MPI_Test(&t->inactive, &flag, MPI_STATUS_IGNORE));
}

static void test_generalized(things *t)
{
    int flag;
    CHECK_OK(MPI_Test(&t->generalized, &flag, MPI_STATUS_IGNORE));
}

static void get_status(things *t)
{
    int flag;
    CHECK_OK(MPI_Request_get_status(t->pending, &flag, MPI_STATUS_IGNORE));
}

static void get_status_null(things *t)
{
    int flag;
    (void)t;
    CHECK_OK(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, MPI_STATUS_IGNORE));
}

static void get_status_all(things *t)
{
    int flag;
    CHECK_OK(MPI_Request_get_status_all(1, &t->pending, &flag, MPI_STATUSES_IGNORE));
}

static void get_status_any(things *t)
{
    int flag, index;
    CHECK_OK(MPI_Request_get_status_any(1, &t->pending, &index, &flag, MPI_STATUS_IGNORE));
}

static void get_status_some(things *t)
{
    int count, index;
    CHECK_OK(MPI_Request_get_status_some(1, &t->pending, &count, &index, MPI_STATUSES_IGNORE));
}

static void iprobe(things *t)
{
    int flag;
    CHECK_OK(MPI_Iprobe(t->peer, PENDING, WORLD, &flag, MPI_STATUS_IGNORE));
}

static void iprobe_there(things *t)
{
    int flag;
    (void)t;
    CHECK_OK(MPI_Iprobe(world_rank(), THERE, WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
}

static void iprobe_nobody(things *t)
{
    int flag;
    (void)t;
    CHECK_OK(MPI_Iprobe(MPI_PROC_NULL, THERE, WORLD, &flag, MPI_STATUS_IGNORE));
}

static void probe_there(things *t)
{
    (void)t;
    CHECK_OK(MPI_Probe(world_rank(), THERE, WORLD, MPI_STATUS_IGNORE));
}

static void improbe(things *t)
{
    MPI_Message message;
    int flag;
    CHECK_OK(MPI_Improbe(t->peer, PENDING, WORLD, &flag, &message, MPI_STATUS_IGNORE));
}

static void parrived(things *t)
{
    int flag;
    CHECK_OK(MPI_Parrived(t->parts, 1, &flag));
    CHECK(!flag);
}

static void win_test(things *t)
{
    int flag;
    CHECK_OK(MPI_Win_test(t->posted, &flag));
    CHECK(!flag);
}

static void win_sync(things *t)
{
    CHECK_OK(MPI_Win_sync(t->shared));
}

static void get_flush(things *t)
{
    int v;
    CHECK_OK(MPI_Get(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, t->made));
    CHECK_OK(MPI_Win_flush(0, t->made));
}

static void flush_all(things *t)
{
    CHECK_OK(MPI_Win_flush_all(t->shared));
}

static void flush_local(things *t)
{
    CHECK_OK(MPI_Win_flush_local(0, t->made));
}

static void flush_local_all(things *t)
{
    CHECK_OK(MPI_Win_flush_local_all(t->made));
}

static void flush_nobody(things *t)
{
    CHECK_OK(MPI_Win_flush(MPI_PROC_NULL, t->made));
}

static void fetch(things *t)
{
    int v, none = 0;
    CHECK_OK(MPI_Fetch_and_op(&none, &v, MPI_INT, 0, 0, MPI_NO_OP, t->shared));
    CHECK_OK(MPI_Win_flush(0, t->shared));
}

static void swap(things *t)
{
    int v, none = 0;
    CHECK_OK(MPI_Compare_and_swap(&none, &none, &v, MPI_INT, 0, 0, t->made));
    CHECK_OK(MPI_Win_flush(0, t->made));
}

static void get_accumulate(things *t)
{
    int v[2];
    CHECK_OK(
        MPI_Get_accumulate(NULL, 0, MPI_INT, v, 2, MPI_INT, 0, 0, 2, MPI_INT, MPI_NO_OP, t->made));
    CHECK_OK(MPI_Win_flush(0, t->made));
}

static void dynamic(things *t)
{
    int v;
    CHECK_OK(MPI_Get(&v, 1, MPI_INT, 0, t->at, 1, MPI_INT, t->dynamic));
    CHECK_OK(MPI_Win_flush(0, t->dynamic));
}

static void rget_wait(things *t)
{
    MPI_Request r;
    int v;
    CHECK_OK(MPI_Rget(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, t->shared, &r));
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void rget_test(things *t)
{
    MPI_Request r;
    int v, flag = 0;
    CHECK_OK(MPI_Rget(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, t->made, &r));
    while (!flag)
        CHECK_OK(MPI_Test(&r, &flag, MPI_STATUS_IGNORE));
}

static void rput(things *t)
{
    MPI_Request r;
    CHECK_OK(MPI_Rput(t->out, 1, MPI_INT, world_rank(), 1, 1, MPI_INT, t->shared, &r));
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void raccumulate(things *t)
{
    MPI_Request r;
    CHECK_OK(MPI_Raccumulate(t->out, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, t->shared, &r));
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void rget_accumulate(things *t)
{
    MPI_Request r;
    int v;
    CHECK_OK(MPI_Rget_accumulate(t->out, 1, MPI_INT, &v, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_NO_OP,
                                 t->shared, &r));
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void read_at(things *t)
{
    int v;
    CHECK_OK(MPI_File_read_at(t->file, 0, &v, 1, MPI_INT, MPI_STATUS_IGNORE));
}

static void read_seek(things *t)
{
    int v;
    CHECK_OK(MPI_File_seek(t->file, 0, MPI_SEEK_SET));
    CHECK_OK(MPI_File_read(t->file, &v, 1, MPI_INT, MPI_STATUS_IGNORE));
}

static void read_shared(things *t)
{
    int v;
    CHECK_OK(MPI_File_read_shared(t->file, &v, 1, MPI_INT, MPI_STATUS_IGNORE));
}

static void iread_at(things *t)
{
    MPI_Request r;
    int v;
    CHECK_OK(MPI_File_iread_at(t->file, 0, &v, 1, MPI_INT, &r));
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void write_at(things *t)
{
    CHECK_OK(MPI_File_write_at(t->file, 0, t->out, 1, MPI_INT, MPI_STATUS_IGNORE));
}

static void file_size(things *t)
{
    MPI_Offset size;
    CHECK_OK(MPI_File_get_size(t->file, &size));
}

static void file_shared_position(things *t)
{
    MPI_Offset at;
    CHECK_OK(MPI_File_get_position_shared(t->file, &at));
}

static void file_sync(things *t)
{
    CHECK_OK(MPI_File_sync(t->file));
}

static void file_open(things *t)
{
    MPI_File file;
    (void)t;
    CHECK(MPI_File_open(MPI_COMM_SELF, "/nonexistent/file", MPI_MODE_RDONLY, MPI_INFO_NULL,
                        &file) != MPI_SUCCESS);
}

static void lookup(things *t)
{
    char port[MPI_MAX_PORT_NAME];
    CHECK(MPI_Lookup_name(t->name, MPI_INFO_NULL, port) != MPI_SUCCESS);
}

static void lock(things *t)
{
    int v;
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, t->posted));
    CHECK_OK(MPI_Get(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, t->posted));
    CHECK_OK(MPI_Win_unlock(0, t->posted));
}

static void lock_all(things *t)
{
    CHECK_OK(MPI_Win_lock_all(0, t->posted));
    CHECK_OK(MPI_Win_unlock_all(t->posted));
}

typedef struct call {
    const char *name;
    void (*repeat)(things *);
} call;

// `posted` is exposed for win_test alone.
static const call calls[] = {
    {"MPI_Test", test},
    {"MPI_Testall", testall},
    {"MPI_Testany", testany},
    {"MPI_Testsome", testsome},
    {"MPI_Test of MPI_REQUEST_NULL", test_null},
    {"MPI_Testall of MPI_REQUEST_NULL", testall_null},
    {"MPI_Testany of MPI_REQUEST_NULL", testany_null},
    {"MPI_Testsome of MPI_REQUEST_NULL", testsome_null},
    {"MPI_Test of an inactive request", test_inactive},
    {"MPI_Test of a generalized request", test_generalized},
    {"MPI_Request_get_status", get_status},
    {"MPI_Request_get_status of MPI_REQUEST_NULL", get_status_null},
    {"MPI_Request_get_status_all", get_status_all},
    {"MPI_Request_get_status_any", get_status_any},
    {"MPI_Request_get_status_some", get_status_some},
    {"MPI_Iprobe", iprobe},
    {"MPI_Iprobe that finds a message", iprobe_there},
    {"MPI_Iprobe of MPI_PROC_NULL", iprobe_nobody},
    {"MPI_Probe that finds a message", probe_there},
    {"MPI_Improbe", improbe},
    {"MPI_Parrived", parrived},
    {"MPI_Win_sync", win_sync},
    {"MPI_Get, MPI_Win_flush", get_flush},
    {"MPI_Win_flush_all", flush_all},
    {"MPI_Win_flush_local", flush_local},
    {"MPI_Win_flush_local_all", flush_local_all},
    {"MPI_Win_flush of MPI_PROC_NULL", flush_nobody},
    {"MPI_Fetch_and_op", fetch},
    {"MPI_Compare_and_swap", swap},
    {"MPI_Get_accumulate", get_accumulate},
    {"MPI_Get of a dynamic window", dynamic},
    {"MPI_Rget, MPI_Wait", rget_wait},
    {"MPI_Rget, MPI_Test", rget_test},
    {"MPI_Rput", rput},
    {"MPI_Raccumulate", raccumulate},
    {"MPI_Rget_accumulate", rget_accumulate},
    {"MPI_File_read_at", read_at},
    {"MPI_File_read", read_seek},
    {"MPI_File_read_shared", read_shared},
    {"MPI_File_iread_at", iread_at},
    {"MPI_File_write_at", write_at},
    {"MPI_File_get_size", file_size},
    {"MPI_File_get_position_shared", file_shared_position},
    {"MPI_File_sync", file_sync},
    {"MPI_File_open that fails", file_open},
    {"MPI_Lookup_name", lookup},
    {"MPI_Win_lock, MPI_Win_unlock", lock},
    {"MPI_Win_lock_all, MPI_Win_unlock_all", lock_all},
    {"MPI_Win_test", win_test},
};

// ---- what they need

static int query(void *state, MPI_Status *status)
{
    (void)state;
    CHECK_OK(MPI_Status_set_elements(status, MPI_INT, 0));
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int nothing(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int never(void *state, int done)
{
    (void)state, (void)done;
    return MPI_SUCCESS;
}

static void open_windows(things *t)
{
    int *base = NULL, unit;
    MPI_Aint bytes;
    CHECK_OK(MPI_Win_allocate_shared(sizeof(int) * WORDS, sizeof(int), MPI_INFO_NULL, WORLD, &base,
                                     &t->shared));
    memset(base, 0, sizeof(int) * WORDS);
    CHECK_OK(MPI_Win_shared_query(t->shared, world_size() - 1, &bytes, &unit, &base));
    t->word = (_Atomic int *)base;
    t->own = must_alloc(sizeof(int) * WORDS);
    memset(t->own, 0, sizeof(int) * WORDS);
    CHECK_OK(
        MPI_Win_create(t->own, sizeof(int) * WORDS, sizeof(int), MPI_INFO_NULL, WORLD, &t->made));
    CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, WORLD, &t->dynamic));
    CHECK_OK(MPI_Win_attach(t->dynamic, t->own, sizeof(int) * WORDS));
    CHECK_OK(MPI_Get_address(t->own, &t->at));
    CHECK_OK(MPI_Bcast(&t->at, 1, MPI_AINT, 0, WORLD));
    CHECK_OK(MPI_Win_create(t->own, sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &t->posted));
    CHECK_OK(MPI_Win_lock_all(0, t->shared));
    CHECK_OK(MPI_Win_lock_all(0, t->made));
    CHECK_OK(MPI_Win_lock_all(0, t->dynamic));
}

static void close_windows(things *t)
{
    CHECK_OK(MPI_Win_unlock_all(t->dynamic));
    CHECK_OK(MPI_Win_unlock_all(t->made));
    CHECK_OK(MPI_Win_unlock_all(t->shared));
    CHECK_OK(MPI_Win_free(&t->posted));
    CHECK_OK(MPI_Win_free(&t->dynamic));
    CHECK_OK(MPI_Win_free(&t->made));
    CHECK_OK(MPI_Win_free(&t->shared));
    free(t->own);
}

static void open_requests(things *t)
{
    CHECK_OK(MPI_Irecv(&t->in, 1, MPI_INT, t->peer, TAG, WORLD, &t->pending));
    CHECK_OK(MPI_Recv_init(&t->in, 1, MPI_INT, t->peer, PENDING, WORLD, &t->inactive));
    CHECK_OK(MPI_Grequest_start(query, nothing, never, NULL, &t->generalized));
    CHECK_OK(
        MPI_Precv_init(t->out, PARTS, 1, MPI_INT, t->peer, TAG, WORLD, MPI_INFO_NULL, &t->parts));
    CHECK_OK(MPI_Start(&t->parts));
    CHECK_OK(MPI_Send(NULL, 0, MPI_INT, world_rank(), THERE, WORLD));
}

static void close_requests(things *t)
{
    MPI_Request send;
    int next = (world_rank() + 1) % world_size();
    int out[PARTS] = {0};
    CHECK_OK(MPI_Send(t->out, 1, MPI_INT, next, TAG, WORLD));
    CHECK_OK(MPI_Psend_init(out, PARTS, 1, MPI_INT, next, TAG, WORLD, MPI_INFO_NULL, &send));
    CHECK_OK(MPI_Start(&send));
    CHECK_OK(MPI_Pready_range(0, PARTS - 1, send));
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Wait(&t->parts, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Wait(&t->pending, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Recv(NULL, 0, MPI_INT, world_rank(), THERE, WORLD, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Grequest_complete(t->generalized));
    CHECK_OK(MPI_Wait(&t->generalized, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Request_free(&send));
    CHECK_OK(MPI_Request_free(&t->parts));
    CHECK_OK(MPI_Request_free(&t->inactive));
}

// Each rank has a file of its own: what is collective of a file is then a call that need not wait.
static void open_file(things *t)
{
    char path[] = "/tmp/millet-poll-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK(write(fd, t->out, sizeof t->out) == (ssize_t)sizeof t->out);
    CHECK(close(fd) == 0);
    CHECK_OK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                           MPI_INFO_NULL, &t->file));
}

// ---- the loop

// All ranks but the last, which are exposed to it, or the last one alone.
static MPI_Group group_of(int others)
{
    MPI_Group all, some;
    int last = world_size() - 1;
    CHECK_OK(MPI_Comm_group(WORLD, &all));
    CHECK_OK(others ? MPI_Group_excl(all, 1, &last, &some) : MPI_Group_incl(all, 1, &last, &some));
    CHECK_OK(MPI_Group_free(&all));
    return some;
}

static void expose(things *t)
{
    MPI_Group group = group_of(0);
    if (world_rank() < world_size() - 1)
        CHECK_OK(MPI_Win_post(group, 0, t->posted));
    CHECK_OK(MPI_Group_free(&group));
}

static void end_exposure(things *t)
{
    MPI_Group group = group_of(1);
    if (world_rank() < world_size() - 1) {
        CHECK_OK(MPI_Win_wait(t->posted));
    } else {
        CHECK_OK(MPI_Win_start(group, 0, t->posted));
        CHECK_OK(MPI_Win_complete(t->posted));
    }
    CHECK_OK(MPI_Group_free(&group));
}

// All ranks but the last repeat the call until the last one has heard of each.
static void try_call(things *t, const call *c)
{
    int last = world_size() - 1, exposed = c->repeat == win_test;
    if (exposed)
        expose(t);
    CHECK_OK(MPI_Barrier(WORLD));
    if (world_rank() == last) {
        for (int i = 0; i < last; i++)
            CHECK_OK(MPI_Recv(NULL, 0, MPI_INT, i, TAG + 9, WORLD, MPI_STATUS_IGNORE));
        *t->word = 1;
    } else {
        CHECK_OK(MPI_Send(NULL, 0, MPI_INT, last, TAG + 9, WORLD));
        double until = MPI_Wtime() + PATIENCE;
        while (!*t->word) {
            c->repeat(t);
            if (MPI_Wtime() > until)
                check_fail(__FILE__, __LINE__, "repeated %s keeps the other ranks from running",
                           c->name);
        }
    }
    CHECK_OK(MPI_Barrier(WORLD));
    if (world_rank() == last)
        *t->word = 0;
    if (exposed)
        end_exposure(t);
    CHECK_OK(MPI_Barrier(WORLD));
}

int main(int argc, char **argv)
{
    things t = {.peer = 0};
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    t.peer = (world_rank() + world_size() - 1) % world_size();
    snprintf(t.name, sizeof t.name, "nobody-%d", world_rank());
    open_windows(&t);
    open_requests(&t);
    open_file(&t);
    for (int i = 0; i < COUNT_OF(calls); i++)
        try_call(&t, &calls[i]);
    CHECK_OK(MPI_File_close(&t.file));
    close_requests(&t);
    close_windows(&t);
    CHECK_OK(MPI_Finalize());
    return 0;
}
