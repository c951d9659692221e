// SPDX-License-Identifier: BSD-3-Clause
// What other files use of info objects, and threads on one object; test/mpi/info.c has the rest.
#include "mpi/info/info.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/unit_test.h"

static void test_contract(void)
{
    mlt_info *info = mlt_info_new(), *copy = mlt_info_dup(NULL);
    CHECK(mlt_info_of(mlt_info_handle(info)) == info);
    CHECK(mlt_info_of(MPI_INFO_NULL) == NULL && mlt_info_of((MPI_Info)12) == NULL);
    CHECK(mlt_info_of(MPI_INFO_ENV) && mlt_info_get(mlt_info_of(MPI_INFO_ENV), "command"));
    CHECK(mlt_info_get(NULL, "a") == NULL && mlt_info_count(copy) == 0);
    CHECK(mlt_info_key(info, 0) == NULL && mlt_info_key(info, -1) == NULL);
    mlt_info_set(info, "yes", "true");
    mlt_info_set(info, "no", "false");
    mlt_info_set(info, "perhaps", "TRUE");
    CHECK(mlt_info_flag(info, "yes", false) && mlt_info_flag(info, "yes", true));
    CHECK(!mlt_info_flag(info, "no", false) && !mlt_info_flag(info, "no", true));
    CHECK(!mlt_info_flag(info, "perhaps", false) && mlt_info_flag(info, "perhaps", true));
    CHECK(!mlt_info_flag(info, "absent", false) && mlt_info_flag(NULL, "absent", true));
    CHECK(strcmp(mlt_info_key(info, 2), "perhaps") == 0);
    CHECK(mlt_info_delete(info, "no") && !mlt_info_delete(info, "no"));
    CHECK(mlt_info_count(info) == 2 && strcmp(mlt_info_key(info, 1), "perhaps") == 0);
    MPI_Info stale = mlt_info_handle(info);
    mlt_info_free(info);
    mlt_info_free(copy);
    mlt_info_free(NULL);
    CHECK(mlt_info_of(stale) == NULL);
}

enum { THREADS = 4, ROUNDS = 3000 };

static void *work(void *shared)
{
    for (int i = 0; i < ROUNDS; i++) {
        char key[32];
        snprintf(key, sizeof key, "key %d", i % 50);
        mlt_info *own = mlt_info_dup(shared);
        mlt_info_set(own, "mine", key);
        CHECK(strcmp(mlt_info_get(own, "mine"), key) == 0);
        mlt_info_set(shared, key, "value");
        if (i % 3 == 0)
            (void)mlt_info_delete(shared, key);
        CHECK(mlt_info_count(shared) <= 50);
        mlt_info_free(own);
    }
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    mlt_info *shared = mlt_info_new();
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, shared) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    mlt_info_free(shared);
}

int main(void)
{
    test_contract();
    test_threads();
    return 0;
}
