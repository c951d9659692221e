// SPDX-License-Identifier: BSD-3-Clause
// Keys of thread-specific data: each rank makes some, and its threads use them, with destructors.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

enum { KEYS = 3 };
static pthread_key_t keys[KEYS];
static tss_t c11;
static int rank, destroyed;

static void destroy(void *value)
{
    destroyed += *(int *)value;
    free(value);
}

// Sets its own value again, once.
static void destroy_twice(void *value)
{
    int *n = value;
    destroyed += 100;
    if (++*n < 2)
        pthread_setspecific(keys[1], n);
    else
        free(n);
}

static int *number(int n)
{
    int *made = malloc(sizeof *made);
    if (!made)
        abort();
    *made = n;
    return made;
}

static void *other_thread(void *before)
{
    *(int *)before = pthread_getspecific(keys[0]) == NULL;
    pthread_setspecific(keys[0], number(rank + 1));
    pthread_setspecific(keys[1], number(0));
    pthread_setspecific(keys[2], &rank); // has no destructor
    return NULL;
}

__attribute__((constructor)) static void make_keys(void)
{
    pthread_key_create(&keys[0], destroy);
    pthread_key_create(&keys[1], destroy_twice);
    pthread_key_create(&keys[2], NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tss_create(&c11, NULL);
    tss_set(c11, &rank);
    for (int i = 0; i < KEYS; i++)
        pthread_setspecific(keys[i], number(rank + i));
    MPI_Barrier(MPI_COMM_WORLD);
    int sum = 0, empty = 0;
    for (int i = 0; i < KEYS; i++) {
        int *value = pthread_getspecific(keys[i]);
        sum += *value;
        free(value);
        pthread_setspecific(keys[i], NULL);
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, other_thread, &empty) != 0 || pthread_join(thread, NULL) != 0)
        abort();
    pthread_key_delete(keys[2]);
    pthread_key_t next;
    pthread_key_create(&next, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: sum %d, %d, destroyed %d, new %d, right %d\n", rank, sum, empty, destroyed,
           pthread_getspecific(next) == NULL, tss_get(c11) == &rank);
    tss_delete(c11);
    MPI_Finalize();
    return 0;
}
