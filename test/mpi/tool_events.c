// SPDX-License-Identifier: BSD-3-Clause
//
// Events: each type happens, its callback gets what happened, in the order of time; safety levels,
// user data, hints, events that are dropped, freeing in callbacks, what callbacks may call, and every
// wrong argument.

#include "check.h"

typedef struct log {
    int calls, frees, drops, safety, source, bad;
    MPI_Count dropped, last_time;
    long long data[8]; // of the last event
    int elements;
    MPI_Aint places[8];
    MPI_T_event_registration registration;
    int free_in_callback, finalize_in_callback, ring_in_callback;
} log;

static void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration,
                     MPI_T_cb_safety safety, void *user_data)
{
    log *l = user_data;
    MPI_Count time = -1, now = -1;
    int source = -1, wide[16] = {0};
    uint64_t whole[16];
    l->calls++;
    l->safety = safety;
    l->bad += registration != l->registration;
    l->bad += MPI_T_event_get_timestamp(instance, &time) != MPI_SUCCESS;
    l->bad += MPI_T_event_get_source(instance, &source) != MPI_SUCCESS;
    l->bad += MPI_T_source_get_timestamp(source, &now) != MPI_SUCCESS;
    l->bad += time < l->last_time || now < time;
    l->last_time = time;
    l->source = source;
    l->bad += MPI_T_event_copy(instance, whole) != MPI_SUCCESS;
    for (int i = 0; i < l->elements; i++) {
        l->bad += MPI_T_event_read(instance, i, wide) != MPI_SUCCESS;
        l->data[i] = wide[0];
        l->bad += memcmp((char *)whole + l->places[i], wide, 4) != 0;
    }
    l->bad += MPI_T_event_read(instance, l->elements, wide) != MPI_T_ERR_INVALID_INDEX;
    l->bad += MPI_T_event_read(instance, -1, wide) != MPI_T_ERR_INVALID_INDEX;
    l->bad += MPI_T_event_read(instance, 0, NULL) != MPI_T_ERR_INVALID;
    l->bad += MPI_T_event_copy(instance, NULL) != MPI_T_ERR_INVALID;
    l->bad += MPI_T_event_get_source(instance, NULL) != MPI_T_ERR_INVALID;
    l->bad += MPI_T_event_get_timestamp(instance, NULL) != MPI_T_ERR_INVALID;
    if (l->ring_in_callback) { // any call is allowed, also one that causes the next event
        int x = 1, y = -1;
        l->bad += MPI_Send(&x, 1, MPI_INT, 0, 77, MPI_COMM_SELF) != MPI_SUCCESS;
        l->bad += MPI_Recv(&y, 1, MPI_INT, 0, 77, MPI_COMM_SELF, MPI_STATUS_IGNORE) != MPI_SUCCESS;
        l->bad += y != 1;
    }
    if (l->finalize_in_callback)
        l->bad += MPI_T_finalize() != MPI_SUCCESS;
}

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user_data)
{
    log *l = user_data;
    l->frees++;
    l->bad += registration != l->registration;
    l->bad += safety != MPI_T_CB_REQUIRE_NONE;
}

static void frees_itself(MPI_T_event_instance instance, MPI_T_event_registration registration,
                         MPI_T_cb_safety safety, void *user_data)
{
    log *l = user_data;
    int x;
    l->calls++;
    l->bad += MPI_T_event_handle_free(registration, l, on_free) != MPI_SUCCESS;
    l->bad += l->frees != 0; // not before this one has ended
    l->bad += MPI_T_event_handle_free(registration, l, on_free) != MPI_T_ERR_INVALID_HANDLE;
    l->bad += MPI_T_event_read(instance, 0, &x) != MPI_SUCCESS;
    (void)safety;
}

static void on_drop(MPI_Count count, MPI_T_event_registration registration, int source_index,
                    MPI_T_cb_safety safety, void *user_data)
{
    log *l = user_data;
    l->drops++;
    l->dropped += count;
    l->bad += registration != l->registration || safety != MPI_T_CB_REQUIRE_NONE;
    l->source = source_index;
}

static int index_of(const char *name)
{
    int i = -1;
    CHECK_INT(MPI_T_event_get_index(name, &i), MPI_SUCCESS);
    return i;
}

static void open_event(log *l, const char *name, MPI_Comm *comm, MPI_T_cb_safety safety)
{
    int i = index_of(name);
    memset(l, 0, sizeof *l);
    l->elements = COUNT_OF(l->places);
    CHECK_INT(MPI_T_event_get_info(i, NULL, NULL, NULL, NULL, l->places, &l->elements, NULL, NULL,
                                   NULL, NULL, NULL),
              MPI_SUCCESS);
    CHECK_INT(MPI_T_event_handle_alloc(i, comm, MPI_INFO_NULL, &l->registration), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_register_callback(l->registration, safety, MPI_INFO_NULL, l, on_event),
              MPI_SUCCESS);
}

static void close_event(log *l)
{
    MPI_T_event_registration stale = l->registration;
    CHECK_INT(MPI_T_event_handle_free(l->registration, l, on_free), MPI_SUCCESS);
    CHECK_INT(l->frees, 1);
    CHECK_INT(l->bad, 0);
    CHECK_INT(MPI_T_event_handle_free(stale, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
}

static void send_self(int n, int tag, int bytes, MPI_Comm comm)
{
    char out[256] = "", in[256];
    for (int i = 0; i < n; i++)
        CHECK_OK(MPI_Send(out, bytes, MPI_BYTE, 0, tag, comm));
    for (int i = 0; i < n; i++)
        CHECK_OK(MPI_Recv(in, bytes, MPI_BYTE, 0, tag, comm, MPI_STATUS_IGNORE));
}

// ---- types

static void check_unexpected(void)
{
    log l, on_comm;
    MPI_Comm comm;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    open_event(&l, "message_unexpected", NULL, MPI_T_CB_REQUIRE_NONE);
    open_event(&on_comm, "comm_message_unexpected", &comm, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE);
    send_self(3, 42, 17, comm);
    CHECK_INT(on_comm.calls, 3);
    CHECK_INT(on_comm.data[0], 0);
    CHECK_INT(on_comm.data[1], 42);
    CHECK_INT(on_comm.data[2], 17);
    CHECK_INT(on_comm.safety, MPI_T_CB_REQUIRE_NONE);
    CHECK(l.calls >= 3); // messages of other ranks may come, too
    int before = l.calls;
    send_self(2, 43, 5, MPI_COMM_SELF);
    CHECK_INT(on_comm.calls, 3);
    CHECK(l.calls >= before + 2);
    close_event(&l);
    close_event(&on_comm);
    send_self(2, 43, 5, comm);
    CHECK_INT(on_comm.calls, 3);
    CHECK_OK(MPI_Comm_free(&comm));
}

static void check_parks(int rank, int size)
{
    log parked, woken;
    int x = 1, y = -1, to = (rank + 1) % size, from = (rank + size - 1) % size;
    open_event(&parked, "rank_parked", NULL, MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    open_event(&woken, "rank_woken", NULL, MPI_T_CB_REQUIRE_THREAD_SAFE);
    for (int i = 0; i < 20; i++) {
        CHECK_OK(MPI_Send(&x, 1, MPI_INT, to, 9, MPI_COMM_WORLD));
        CHECK_OK(MPI_Recv(&y, 1, MPI_INT, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    CHECK_INT(parked.calls, woken.calls); // each call has ended
    if (parked.calls > 0) {
        CHECK(parked.data[0] > 0 && parked.data[0] == woken.data[0]);
        CHECK(woken.last_time >= parked.last_time);
    }
    if (size > 1) { // somebody has to wait
        int sum = 0;
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_OK(MPI_Allreduce(&parked.calls, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum > 0);
    }
    close_event(&parked);
    close_event(&woken);
}

// To the next rank, so large that it asks first.
static void check_large(int rank, int size)
{
    enum { BYTES = 1 << 20 };
    log l;
    char *out = calloc(1, BYTES), *in = must_alloc(BYTES);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    CHECK(out != NULL);
    open_event(&l, "large_message", NULL, MPI_T_CB_REQUIRE_NONE);
    CHECK_OK(MPI_Sendrecv(out, BYTES, MPI_BYTE, to, 4, in, BYTES, MPI_BYTE, from, 4, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
    CHECK(l.calls == 0 || l.calls == 1); // a rank of the same worker copies at once
    if (l.calls) {
        CHECK(l.data[0] >= 0 && l.data[0] < 5);
        CHECK_INT(l.data[1], from);
        CHECK_INT(l.data[2], 4);
        CHECK_INT(l.data[3], BYTES);
        CHECK_INT(l.source, 0);
    }
    close_event(&l);
    free(in);
    free(out);
}

// Plans of a communicator that is new, and the algorithm's name.
static void check_planned(int size)
{
    log l;
    MPI_Comm comm;
    int x = 1, sum = 0;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    open_event(&l, "collective_planned", NULL, MPI_T_CB_REQUIRE_NONE);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD)); // all ranks of a worker listen
    CHECK_OK(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_INT(sum, size);
    CHECK(l.calls >= 1);
    CHECK(l.data[0] > 0 && l.data[1] >= 0 && l.data[2] == size);
    CHECK_INT(l.source, 1);
    int calls = l.calls;
    CHECK_OK(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_INT(l.calls, calls); // the same plan
    close_event(&l);
    CHECK_OK(MPI_Comm_free(&comm));
}

// One after the other, so that each worker first meets the others here or before.
static void check_hosts(int rank, int size)
{
    log l;
    int x = rank, y = -1;
    open_event(&l, "host_met", NULL, MPI_T_CB_REQUIRE_NONE);
    for (int d = 1; d < size; d++)
        CHECK_OK(MPI_Sendrecv(&x, 1, MPI_INT, (rank + d) % size, 6, &y, 1, MPI_INT,
                              (rank + size - d) % size, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(l.calls >= 0 && l.calls < size);
    if (l.calls)
        CHECK(l.data[0] >= 0 && l.data[1] >= 0 && l.data[2] >= 1 && l.source == 2);
    close_event(&l);
}

// ---- what callbacks may do

static void check_dropped(void)
{
    log l;
    MPI_Info info, used;
    MPI_Comm comm;
    char out[4] = "", in[4], value[64] = "";
    MPI_Request requests[20];
    int room = sizeof value, flag = 0;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "millet_buffer", "5"));
    open_event(&l, "comm_message_unexpected", &comm, MPI_T_CB_REQUIRE_NONE);
    CHECK_INT(MPI_T_event_handle_set_info(l.registration, info), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_set_dropped_handler(l.registration, on_drop), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_handle_get_info(l.registration, &used), MPI_SUCCESS);
    CHECK_OK(MPI_Info_get_string(used, "millet_buffer", &room, value, &flag));
    CHECK(flag && strcmp(value, "5") == 0);
    CHECK_OK(MPI_Info_free(&used));
    // Twenty events in one call: MPI_Startall.
    for (int i = 0; i < 20; i++)
        CHECK_OK(MPI_Send_init(out, 4, MPI_BYTE, 0, i, comm, &requests[i]));
    CHECK_OK(MPI_Startall(20, requests));
    CHECK_INT(l.calls, 5);
    CHECK_INT(l.drops, 1);
    CHECK_INT(l.dropped, 15);
    CHECK_OK(MPI_Waitall(20, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 20; i++) {
        CHECK_OK(MPI_Recv(in, 4, MPI_BYTE, 0, i, comm, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Request_free(&requests[i]));
    }
    CHECK_INT(l.drops, 1);
    CHECK_INT(MPI_T_event_set_dropped_handler(l.registration, NULL), MPI_SUCCESS);
    close_event(&l);
    // The hint with the allocation; a value that is none is ignored.
    CHECK_OK(MPI_Info_set(info, "millet_buffer", "many"));
    CHECK_INT(
        MPI_T_event_handle_alloc(index_of("comm_message_unexpected"), &comm, info, &l.registration),
        MPI_SUCCESS);
    CHECK_INT(MPI_T_event_handle_get_info(l.registration, &used), MPI_SUCCESS);
    room = sizeof value;
    CHECK_OK(MPI_Info_get_string(used, "millet_buffer", &room, value, &flag));
    CHECK(flag && strcmp(value, "1024") == 0);
    CHECK_OK(MPI_Info_free(&used));
    CHECK_INT(MPI_T_event_handle_free(l.registration, NULL, NULL), MPI_SUCCESS);
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Comm_free(&comm));
}

static void check_callbacks(void)
{
    log low, high;
    MPI_Comm comm;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    // The callback of the lowest level is called; without it, that of a higher one; without any, none.
    open_event(&low, "comm_message_unexpected", &comm, MPI_T_CB_REQUIRE_NONE);
    memset(&high, 0, sizeof high);
    high.registration = low.registration;
    high.elements = low.elements;
    memcpy(high.places, low.places, sizeof high.places);
    CHECK_INT(MPI_T_event_register_callback(low.registration, MPI_T_CB_REQUIRE_THREAD_SAFE,
                                            MPI_INFO_NULL, &high, on_event),
              MPI_SUCCESS);
    send_self(1, 1, 1, comm);
    CHECK_INT(low.calls, 1);
    CHECK_INT(high.calls, 0);
    CHECK_INT(MPI_T_event_register_callback(low.registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL,
                                            NULL, NULL),
              MPI_SUCCESS);
    send_self(1, 1, 1, comm);
    CHECK_INT(low.calls, 1);
    CHECK_INT(high.calls, 1);
    CHECK_INT(MPI_T_event_register_callback(low.registration, MPI_T_CB_REQUIRE_THREAD_SAFE,
                                            MPI_INFO_NULL, NULL, NULL),
              MPI_SUCCESS);
    send_self(1, 1, 1, comm);
    CHECK_INT(high.calls, 1);
    CHECK_INT(high.bad, 0);
    close_event(&low);
    // A callback that causes events gets each of them, and does not run for ever.
    log ring;
    MPI_Comm self = MPI_COMM_SELF;
    open_event(&ring, "comm_message_unexpected", &self, MPI_T_CB_REQUIRE_NONE);
    ring.ring_in_callback = 1;
    send_self(1, 1, 1, MPI_COMM_SELF);
    CHECK(ring.calls >= 1 && ring.calls < 10);
    ring.ring_in_callback = 0;
    close_event(&ring);
    // A callback that frees its own registration.
    open_event(&low, "comm_message_unexpected", &comm, MPI_T_CB_REQUIRE_NONE);
    CHECK_INT(MPI_T_event_register_callback(low.registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL,
                                            &low, frees_itself),
              MPI_SUCCESS);
    send_self(3, 1, 1, comm);
    CHECK_INT(low.calls, 1);
    CHECK_INT(low.frees, 1);
    CHECK_INT(low.bad, 0);
    CHECK_OK(MPI_Comm_free(&comm));
}

static void check_errors(void)
{
    MPI_T_event_registration r = (MPI_T_event_registration)0, other;
    MPI_Comm null = MPI_COMM_NULL;
    MPI_Info info = (MPI_Info)(uintptr_t)3, used;
    int num = -1, x = -1, bound = index_of("comm_message_unexpected");
    MPI_Count time;
    CHECK_INT(MPI_T_event_get_num(&num), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_handle_alloc(num, NULL, MPI_INFO_NULL, &r), MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_event_handle_alloc(-1, NULL, MPI_INFO_NULL, &r), MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_event_handle_alloc(0, NULL, info, &r), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_event_handle_alloc(bound, NULL, MPI_INFO_NULL, &r), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_event_handle_alloc(bound, &null, MPI_INFO_NULL, &r), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(
        MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, on_event),
        MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_event_set_dropped_handler(r, on_drop), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_event_handle_get_info(r, &used), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_event_handle_set_info(r, MPI_INFO_NULL), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_event_callback_get_info(r, MPI_T_CB_REQUIRE_NONE, &used),
              MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_event_callback_set_info(r, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL),
              MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &r), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_register_callback(r, (MPI_T_cb_safety)1, MPI_INFO_NULL, NULL, on_event),
              MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_NONE, info, NULL, on_event),
              MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_event_handle_get_info(r, NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_event_handle_set_info(r, info), MPI_T_ERR_INVALID);
    // There is no callback of that level, then there is one.
    CHECK_INT(MPI_T_event_callback_get_info(r, MPI_T_CB_REQUIRE_NONE, &used), MPI_T_ERR_INVALID);
    log l = {.registration = r, .elements = 3, .places = {0, 4, 16}};
    CHECK_INT(MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &l, on_event),
              MPI_SUCCESS);
    CHECK_INT(MPI_T_event_callback_get_info(r, MPI_T_CB_REQUIRE_NONE, &used), MPI_SUCCESS);
    CHECK_OK(MPI_Info_get_nkeys(used, &x));
    CHECK_INT(x, 0);
    CHECK_OK(MPI_Info_free(&used));
    CHECK_INT(MPI_T_event_callback_get_info(r, MPI_T_CB_REQUIRE_NONE, NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_event_callback_set_info(r, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_callback_set_info(r, MPI_T_CB_REQUIRE_NONE, info), MPI_T_ERR_INVALID);
    // Outside of a callback there is no event.
    MPI_T_event_instance none = (MPI_T_event_instance)&num;
    CHECK_INT(MPI_T_event_read(none, 0, &x), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_event_copy(none, &x), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_event_get_timestamp(none, &time), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_event_get_source(none, &x), MPI_T_ERR_INVALID_HANDLE);
    other = r;
    CHECK_INT(MPI_T_event_handle_free(r, NULL, NULL), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_set_dropped_handler(other, NULL), MPI_T_ERR_INVALID_HANDLE);
}

// The last one: MPI_T ends inside of a callback, and begins again.
static void check_finalize(void)
{
    log l, other;
    MPI_Comm self = MPI_COMM_SELF;
    int provided = -1, x = -1;
    open_event(&l, "comm_message_unexpected", &self, MPI_T_CB_REQUIRE_NONE);
    open_event(&other, "comm_message_unexpected", &self, MPI_T_CB_REQUIRE_NONE);
    l.finalize_in_callback = 1;
    send_self(2, 1, 1, MPI_COMM_SELF);
    CHECK_INT(l.calls, 1);
    CHECK_INT(l.bad, 0);
    CHECK_INT(MPI_T_event_get_num(&x), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_handle_free(other.registration, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    open_event(&l, "comm_message_unexpected", &self, MPI_T_CB_REQUIRE_NONE);
    send_self(2, 1, 1, MPI_COMM_SELF);
    CHECK_INT(l.calls, 2);
    close_event(&l);
}

int main(int argc, char **argv)
{
    int provided = -1;
    log early;
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    open_event(&early, "message_unexpected", NULL, MPI_T_CB_REQUIRE_NONE); // before there is MPI
    CHECK_OK(MPI_Init(&argc, &argv));
    send_self(4, 2, 8, MPI_COMM_SELF);
    CHECK(early.calls >= 4);
    int rank = world_rank(), size = world_size();
    check_errors();
    check_unexpected();
    check_parks(rank, size);
    check_large(rank, size);
    check_planned(size);
    check_hosts(rank, size);
    check_dropped();
    check_callbacks();
    close_event(&early);
    check_finalize();
    open_event(&early, "message_unexpected", NULL, MPI_T_CB_REQUIRE_NONE);
    CHECK_OK(MPI_Finalize());
    close_event(&early);
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
