// SPDX-License-Identifier: BSD-3-Clause
#include "boot/shmem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/unit_test.h"
#include "os/os.h"

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ (z >> 27);
}

// Bytes of memory that the file holds now.
static uint64_t file_bytes(void)
{
    struct stat about;
    return fstat(mlt_shmem_fd(0), &about) == 0 ? (uint64_t)about.st_blocks * 512 : 0;
}

// ---- every size and alignment

static void test_sizes(void)
{
    for (size_t bytes = 0; bytes < 700000; bytes = bytes < 300 ? bytes + 1 : bytes * 21 / 20) {
        char *at = mlt_shmem_alloc(bytes, 1);
        CHECK(at && (uintptr_t)at % MLT_SHMEM_ALIGN == 0);
        memset(at, (int)bytes, bytes);
        CHECK(!mlt_shmem_free(at + 1));
        CHECK(mlt_shmem_free(at));
        CHECK(!mlt_shmem_free(at));
    }
    for (size_t align = 1; align <= 64 << 20; align *= 2) {
        char *first = mlt_shmem_alloc(100, align), *second = mlt_shmem_alloc(300000, align);
        CHECK(first && second && first != second);
        CHECK((uintptr_t)first % align == 0 && (uintptr_t)second % align == 0);
        memset(first, 1, 100);
        memset(second, 2, 300000);
        CHECK(mlt_shmem_free(first) && mlt_shmem_free(second));
    }
}

static void test_wrong(void)
{
    int on_stack;
    char *from_heap = malloc(100), *one = mlt_shmem_alloc(100, 1);
    uint32_t segment;
    uint64_t offset;
    CHECK(!mlt_shmem_free(NULL) && !mlt_shmem_free(&on_stack) && !mlt_shmem_free(from_heap));
    CHECK(!mlt_shmem_free(one + 64) && !mlt_shmem_free(one + 128));
    CHECK(!mlt_shmem_find(from_heap, 1, &segment, &offset));
    CHECK(!mlt_shmem_find(NULL, 0, &segment, &offset));
    CHECK(mlt_shmem_free(one));
    CHECK(!mlt_shmem_alloc(SIZE_MAX / 2, 1) && !mlt_shmem_alloc(SIZE_MAX, 1));
    CHECK(!mlt_shmem_alloc(1, SIZE_MAX / 2 + 1));
    CHECK(mlt_shmem_fd(1) == -1);
    free(from_heap);
}

// ---- another mapping of the file shows the same bytes

static void test_find(void)
{
    enum { BLOCKS = 50 };
    char *blocks[BLOCKS];
    size_t bytes[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        bytes[i] = (size_t)1 << i % 21;
        blocks[i] = mlt_shmem_alloc(bytes[i], 1);
        memset(blocks[i], i, bytes[i]);
    }
    for (int i = 0; i < BLOCKS; i++) {
        uint32_t segment = 9;
        uint64_t offset = 0, inner = 0, page = mlt_os_page_size();
        CHECK(mlt_shmem_find(blocks[i], bytes[i], &segment, &offset) && segment == 0);
        CHECK(mlt_shmem_find(blocks[i] + bytes[i] / 2, bytes[i] / 4, &segment, &inner));
        CHECK(inner == offset + bytes[i] / 2);
        CHECK(!mlt_shmem_find(blocks[i], (size_t)1 << 40, &segment, &inner));
        uint64_t start = offset / page * page;
        size_t whole = (size_t)(offset - start) + bytes[i];
        char *other = mlt_os_map_part(mlt_shmem_fd(segment), start, whole, 1);
        CHECK(other);
        if (!other)
            continue;
        char *same = other + (offset - start);
        CHECK(same[0] == (char)i && same[bytes[i] - 1] == (char)i);
        same[0] = 'x';
        CHECK(blocks[i][0] == 'x');
        mlt_os_unmap(other, whole);
    }
    for (int i = 0; i < BLOCKS; i++)
        CHECK(mlt_shmem_free(blocks[i]));
}

// ---- what is freed goes back

static void test_given_back(void)
{
    enum { BLOCKS = 4000 };
    char **blocks = calloc(BLOCKS, sizeof *blocks);
    static const size_t sizes[] = {64, 1000, 5000, 40000, 100000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint64_t before = file_bytes();
        int n = sizes[s] > 20000 ? 300 : BLOCKS;
        for (int i = 0; i < n; i++) {
            blocks[i] = mlt_shmem_alloc(sizes[s], 1);
            memset(blocks[i], 1, sizes[s]);
        }
        CHECK(file_bytes() >= before + (uint64_t)n * sizes[s] * 9 / 10);
        for (int i = 0; i < n; i++)
            CHECK(mlt_shmem_free(blocks[(i * 7) % n]));
        CHECK(file_bytes() <= before + (256 << 10));
    }
    for (int i = 0; i < 1000; i++) { // a large one again and again: the file stays small
        char *large = mlt_shmem_alloc(64 << 20, 1);
        large[0] = large[(64 << 20) - 1] = 1;
        CHECK(mlt_shmem_free(large));
    }
    struct stat about;
    CHECK(fstat(mlt_shmem_fd(0), &about) == 0 && about.st_size < 256 << 20);
    // Half of the blocks of a large class: their pages go at once.
    uint64_t before = file_bytes();
    for (int i = 0; i < 64; i++)
        memset(blocks[i] = mlt_shmem_alloc(128 << 10, 1), 1, 128 << 10);
    for (int i = 0; i < 64; i += 2)
        CHECK(mlt_shmem_free(blocks[i]));
    CHECK(file_bytes() <= before + 33 * (128 << 10));
    for (int i = 1; i < 64; i += 2)
        CHECK(mlt_shmem_free(blocks[i]));
    free(blocks);
}

// ---- threads that take and free at random; nobody's bytes change

enum { THREADS = 4, STEPS = 20000, HELD = 64 };

static void *stress(void *arg)
{
    uint64_t random = (uint64_t)(uintptr_t)arg;
    struct {
        unsigned char *at;
        size_t bytes;
        unsigned char mark;
    } held[HELD] = {{0}};
    for (int step = 0; step < STEPS; step++) {
        uint64_t r = next(&random);
        int i = (int)(r % HELD);
        if (held[i].at) {
            for (size_t k = 0; k < held[i].bytes; k += 61)
                CHECK(held[i].at[k] == held[i].mark);
            CHECK(mlt_shmem_free(held[i].at));
            held[i].at = NULL;
            continue;
        }
        size_t align = (size_t)1 << (r >> 8) % 14;
        held[i].bytes = (size_t)(r >> 16) % ((size_t)1 << (r >> 48) % 20);
        held[i].mark = (unsigned char)(r >> 56);
        held[i].at = mlt_shmem_alloc(held[i].bytes, align);
        CHECK(held[i].at && (uintptr_t)held[i].at % align == 0);
        memset(held[i].at, held[i].mark, held[i].bytes);
    }
    for (int i = 0; i < HELD; i++)
        if (held[i].at)
            CHECK(mlt_shmem_free(held[i].at));
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, stress, (void *)(uintptr_t)(i + 1)) != 0)
            exit(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(file_bytes() < 4 << 20);
}

int main(void)
{
    test_wrong();
    test_sizes();
    test_find();
    test_given_back();
    test_threads();
    return 0;
}
