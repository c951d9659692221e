// SPDX-License-Identifier: BSD-3-Clause
// Ranks load a plug-in, by its name alone, which the program's run path finds.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int of_program;
static int added;

int program_add(int x)
{
    added += x;
    return added;
}

static int rank;

static void *sym(void *handle, const char *name)
{
    void *found = dlsym(handle, name);
    if (!found) {
        printf("rank %d: %s\n", rank, dlerror());
        exit(1);
    }
    return found;
}

static void *open_plugin(void)
{
    void *handle = dlopen("libplugin.so", RTLD_NOW);
    if (!handle) {
        printf("rank %d: %s\n", rank, dlerror());
        exit(1);
    }
    return handle;
}

static void step(void *handle)
{
    char text[128];
    int (*plugin_step)(int) = (int (*)(int))sym(handle, "plugin_step");
    void *(*self)(void) = (void *(*)(void))sym(handle, "plugin_self");
    void (*state)(char *, size_t) = (void (*)(char *, size_t))sym(handle, "plugin_state");
    int first = plugin_step(rank + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    int second = plugin_step(rank + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    state(text, sizeof text);
    Dl_info about;
    int known = dladdr((void *)plugin_step, &about) && about.dli_saddr == (void *)plugin_step &&
                strcmp(about.dli_sname, "plugin_step") == 0;
    printf("rank %d: %d %d [%s] %d %d %d %d\n", rank, first, second, text, of_program, added,
           self() == (void *)plugin_step, known);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && rank % 2) // the others load it first
        MPI_Barrier(MPI_COMM_WORLD);
    // Not yet for this rank, whoever has it.
    printf("rank %d: %d %d\n", rank, dlopen("libplugin.so", RTLD_NOW | RTLD_NOLOAD) == NULL, added);
    void *handle = open_plugin(), *again = open_plugin();
    printf("rank %d: %d %d\n", rank, handle == again, added);
    if (argc > 1 && rank % 2 == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    step(handle);
    printf("rank %d: %d %d\n", rank, dlclose(handle), added);
    printf("rank %d: %d %d\n", rank, dlclose(again), added);
    MPI_Barrier(MPI_COMM_WORLD);
    // Another time: as new.
    handle = open_plugin();
    step(handle);
    void *own = dlopen(NULL, RTLD_NOW);
    int *of = sym(own, "of_program"), *too = sym(RTLD_DEFAULT, "of_program");
    printf("rank %d: %d %d %d\n", rank, of == &of_program, too == &of_program,
           sym(own, "program_add") == (void *)program_add);
    dlclose(handle);
    printf("rank %d: %d\n", rank, added);
    int none = dlopen("libnothing.so", RTLD_NOW) == NULL && dlerror() != NULL && dlerror() == NULL;
    int miss = dlsym(own, "no_such_name") == NULL && dlerror() != NULL && dlerror() == NULL;
    printf("rank %d: %d %d\n", rank, none, miss);
    MPI_Finalize();
    return 0;
}
