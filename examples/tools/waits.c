// SPDX-License-Identifier: BSD-3-Clause
// Events: a program that asks to be told when a rank has waited, and prints what for.
#include <mpi.h>
#include <stdio.h>

// What the callback needs of the event type and of this rank.
typedef struct watcher {
    int rank;
    MPI_T_enum kinds; // what a rank waits for, by the enumeration of variable last_wait
} watcher;

static void on_wake(MPI_T_event_instance event, MPI_T_event_registration registration,
                    MPI_T_cb_safety safety, void *user_data)
{
    const watcher *w = user_data;
    int kind, peer, room = 64;
    char name[64];
    MPI_T_event_read(event, 0, &kind);
    MPI_T_event_read(event, 1, &peer);
    MPI_T_enum_get_item(w->kinds, kind, NULL, name, &room);
    if (peer >= 0)
        printf("rank %d waited for %s of rank %d\n", w->rank, name, peer);
    (void)registration, (void)safety;
}

static void watch(watcher *w)
{
    int provided, event, variable;
    MPI_T_event_registration registration;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_get_index("last_wait", MPI_T_PVAR_CLASS_STATE, &variable);
    MPI_T_pvar_get_info(variable, NULL, NULL, NULL, NULL, NULL, &w->kinds, NULL, NULL, NULL, NULL,
                        NULL, NULL);
    MPI_T_event_get_index("rank_woken", &event);
    MPI_T_event_handle_alloc(event, NULL, MPI_INFO_NULL, &registration);
    MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, w, on_wake);
}

int main(int argc, char **argv)
{
    watcher w;
    int ball = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    watch(&w);
    if (w.rank == 1)
        MPI_Recv(&ball, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (w.rank == 0) {
        for (double end = MPI_Wtime() + 0.2; MPI_Wtime() < end;)
            ;
        MPI_Send(&ball, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    MPI_T_finalize();
    return 0;
}
