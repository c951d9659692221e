// SPDX-License-Identifier: BSD-3-Clause
// A tool to copy: counts what each rank does between MPI_Init and MPI_Finalize and prints the counts
// that are not 0. Link it to a program, which stays as it is: mpicc program.c count.c
//
// It wraps MPI_Init, MPI_Init_thread and MPI_Finalize by their PMPI_ names, and starts a handle for
// each counter, sum and timer that belongs to no object.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 128 };

typedef struct counted {
    char name[ROOM];
    MPI_T_pvar_handle handle;
    MPI_Datatype type;
    int count;
} counted;

// Where ranks are fibers, each has its own.
static counted *list;
static int length;
static MPI_T_pvar_session session;

static int is_wanted(int class, int bind)
{
    return bind == MPI_T_BIND_NO_OBJECT &&
           (class == MPI_T_PVAR_CLASS_COUNTER || class == MPI_T_PVAR_CLASS_AGGREGATE ||
            class == MPI_T_PVAR_CLASS_TIMER);
}

static void begin(void)
{
    int num = 0, provided;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return;
    MPI_T_pvar_get_num(&num);
    MPI_T_pvar_session_create(&session);
    list = calloc((size_t)num, sizeof *list);
    for (int i = 0; list && i < num; i++) {
        counted *c = &list[length];
        int room = ROOM, class, bind;
        MPI_T_pvar_get_info(i, c->name, &room, NULL, &class, &c->type, NULL, NULL, NULL, &bind,
                            NULL, NULL, NULL);
        if (is_wanted(class, bind) &&
            MPI_T_pvar_handle_alloc(session, i, NULL, &c->handle, &c->count) == MPI_SUCCESS)
            length++;
    }
    MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
}

static void print(int rank, const counted *c)
{
    union {
        unsigned long long number;
        double seconds;
    } value[16];
    if (c->count > 16 || MPI_T_pvar_read(session, c->handle, value) != MPI_SUCCESS)
        return;
    for (int i = 0; i < c->count; i++)
        if (c->type == MPI_DOUBLE && value[i].seconds > 0)
            printf("rank %d: %s %.6f s\n", rank, c->name, value[i].seconds);
        else if (c->type == MPI_UNSIGNED_LONG_LONG && value[i].number > 0)
            printf("rank %d: %s %llu\n", rank, c->name, value[i].number);
}

static void end(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES);
    for (int i = 0; i < length; i++)
        print(rank, &list[i]);
    free(list);
    MPI_T_finalize(); // frees the session and its handles
}

int MPI_Init(int *argc, char ***argv)
{
    begin();
    return PMPI_Init(argc, argv);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    begin();
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Finalize(void)
{
    end();
    return PMPI_Finalize();
}
