// SPDX-License-Identifier: BSD-3-Clause
// Opens a device's driver in each rank, linked or (LOADS) loaded. The program has globals of its own.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int own;

#ifdef LOADS
static int (*driver_open)(void);
static void (*driver_look)(int *opened, int *constructed, int *shut);

static int load(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    driver_open = (int (*)(void))dlsym(driver, "driver_open");
    driver_look = (void (*)(int *, int *, int *))dlsym(driver, "driver_look");
    return 1;
}
#else
int driver_open(void);
void driver_look(int *opened, int *constructed, int *shut);

static int load(void)
{
    return 1;
}
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    own++;
    if (!load())
        return 1;
    driver_open();
    MPI_Barrier(MPI_COMM_WORLD);
    int opened, constructed, shut;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize(); // fibers look and end one after the other
    driver_look(&opened, &constructed, &shut);
    printf("opened %d, constructed %d, own %d%s\n", opened, constructed, own,
           shut ? ", shut down" : "");
    return 0;
}
