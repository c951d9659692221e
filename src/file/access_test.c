// SPDX-License-Identifier: BSD-3-Clause
// Single and merged accesses with random views against a model of the file, and where they end: at
// the end of the file, and where the system refuses. `file_access SEED COUNT` runs other seeds.
#include "file/access.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "file/merge.h"
#include "os/file.h"
#include "os/os.h"
#include "type/build.h"

enum { SIZE = 1 << 16, MANY = 6 };

static unsigned char model[SIZE];
static int64_t model_size;

// A list of blocks in order, with an extent that leaves room or not.
static mlt_type random_view(uint64_t *step)
{
    enum { MOST = 20 };
    int64_t length[MOST], at[MOST], end = 0;
    int64_t count = 1 + below(MOST);
    mlt_type type, sized;
    bool even = below(2);
    int64_t gap = below(30), block = 1 + below(40);
    for (int64_t i = 0; i < count; i++) {
        at[i] = end + (even ? gap : below(30));
        length[i] = even ? block : 1 + below(40);
        end = at[i] + length[i];
    }
    CHECK(mlt_type_make_indexed(&type, MLT_TYPE_BYTE, count, length, 0, at) == MLT_OK);
    CHECK(mlt_type_make_resized(&sized, &type, 0, end + below(3) * 7) == MLT_OK);
    mlt_type_unmake(&type);
    *step = sized.size;
    return sized;
}

static int64_t place(const mlt_file_access *a, uint64_t k)
{
    return mlt_file_place(a->begin, a->view, a->from + k);
}

// As many bytes as the model has room for.
static mlt_file_access random_access(int fd, bool writes, const mlt_type *view,
                                     const mlt_type *type, unsigned char *buf)
{
    mlt_file_access a = {.fd = fd,
                         .writes = writes,
                         .atomic = below(5) == 0,
                         .begin = below(100),
                         .view = view,
                         .from = below(200),
                         .bytes = below(2) ? below(300) : below(SIZE / 8),
                         .buf = buf,
                         .type = type};
    while (a.bytes > 0 && place(&a, a.bytes - 1) >= SIZE)
        a.bytes /= 2;
    return a;
}

static unsigned char *memory_at(const mlt_file_access *a, uint64_t k)
{
    return (unsigned char *)a->buf + mlt_file_place(0, a->type, k);
}

static void check_write(const mlt_file_access *a)
{
    CHECK(a->error == 0 && a->moved == a->bytes);
    for (uint64_t k = 0; k < a->bytes; k++) {
        model[place(a, k)] = *memory_at(a, k);
        model_size = place(a, k) >= model_size ? place(a, k) + 1 : model_size;
    }
}

static void check_read(const mlt_file_access *a)
{
    uint64_t wanted = 0;
    while (wanted < a->bytes && place(a, wanted) < model_size)
        wanted++;
    CHECK(a->error == 0 && a->moved == wanted);
    for (uint64_t k = 0; k < wanted; k++)
        CHECK(*memory_at(a, k) == model[place(a, k)]);
}

static void check_file(int fd)
{
    static unsigned char is[SIZE];
    size_t got;
    CHECK(mlt_os_file_read(fd, is, SIZE, 0, &got) == 0 && (int64_t)got == model_size);
    CHECK(memcmp(is, model, got) == 0);
}

static mlt_file_locks locks;

static void try_seed(uint64_t seed)
{
    int fd = mlt_os_memfd("files", 0);
    uint64_t step;
    static unsigned char buf[MANY][4 * SIZE];
    CHECK(fd >= 0);
    random_state = now_seed = seed;
    memset(model, 0, sizeof model);
    model_size = 0;
    for (int round = 0; round < 12; round++) {
        bool writes = below(2);
        mlt_type views[MANY], type;
        mlt_file_access access[MANY], *list[MANY];
        uint32_t count = below(2) ? 1 : 1 + below(MANY);
        bool plain = below(3) == 0;
        type = random_view(&step);
        for (uint32_t i = 0; i < count; i++) {
            views[i] = random_view(&step);
            for (uint32_t k = 0; k < sizeof buf[i]; k++)
                buf[i][k] = (unsigned char)(random_state + i * 7 + k * 13 + (k >> 8));
            access[i] = random_access(fd, writes, plain ? MLT_TYPE_BYTE : &views[i],
                                      below(2) ? &type : MLT_TYPE_BYTE, buf[i]);
            access[i].atomic &= count == 1;
            access[i].sieve = (mlt_file_sieving)below(3);
            access[i].locks = below(4) ? &locks : NULL;
            access[i].near = below(64);
            list[i] = &access[i];
            if (writes && i > 0) // only one of them writes a byte
                access[i].begin = place(&access[i - 1], access[i - 1].bytes) + 1;
            while (access[i].bytes > 0 && place(&access[i], access[i].bytes - 1) >= SIZE)
                access[i].bytes /= 2;
        }
        if (count == 1 && (below(2) || !mlt_file_access_now(&access[0])))
            mlt_file_access_run(&access[0]);
        else if (count > 1)
            mlt_file_merge(list, count);
        for (uint32_t i = 0; i < count; i++) {
            if (writes)
                check_write(&access[i]);
            else
                check_read(&access[i]);
            mlt_type_unmake(&views[i]);
        }
        check_file(fd);
        mlt_type_unmake(&type);
    }
    close(fd);
}

// How many bytes lie before each place, by counting.
static void test_data_before(void)
{
    for (uint64_t seed = 1; seed < 60; seed++) {
        uint64_t step;
        random_state = now_seed = seed;
        mlt_type view = random_view(&step);
        int64_t begin = below(50);
        uint64_t k = 0;
        CHECK(mlt_file_in_order(&view, false, false) && mlt_file_in_order(&view, true, false));
        for (int64_t at = 0; at < 3 * view.extent + 60; at++) {
            while (mlt_file_place(begin, &view, k) < at)
                k++;
            CHECK(mlt_file_data_before(begin, &view, at, false) == k);
            CHECK(mlt_file_data_before(begin, &view, at, true) == (k < view.size ? k : view.size));
        }
        mlt_type_unmake(&view);
    }
    now_seed = 0;
}

static void test_order(void)
{
    int64_t down[] = {8, 0}, twice[] = {0, 2}, length[] = {4, 4};
    mlt_type type, less;
    CHECK(mlt_type_make_indexed(&type, MLT_TYPE_BYTE, 2, length, 0, down) == MLT_OK);
    CHECK(!mlt_file_in_order(&type, true, false));
    mlt_type_unmake(&type);
    CHECK(mlt_type_make_indexed(&type, MLT_TYPE_BYTE, 2, length, 0, twice) == MLT_OK);
    CHECK(!mlt_file_in_order(&type, false, false) && mlt_file_in_order(&type, true, false));
    CHECK(mlt_type_make_resized(&less, &type, 0, 1) == MLT_OK); // the next one begins before
    CHECK(!mlt_file_in_order(&less, true, false));
    CHECK(mlt_file_in_order(&less, true, true) && !mlt_file_in_order(&less, false, true));
    mlt_type_unmake(&less);
    mlt_type_unmake(&type);
}

// Blocks that cross stripes, over the end of the file: all else is as it was.
static void test_sieved(void)
{
    enum { FULL = 2 * MLT_FILE_STRIPE + 5000, BLOCK = 7, STEP = 24, BLOCKS = 100000 };
    int fd = mlt_os_memfd("sieved", 0);
    unsigned char *is = malloc(FULL + MLT_FILE_STRIPE), *from = malloc((size_t)BLOCKS * BLOCK);
    mlt_type block, view;
    size_t moved;
    CHECK(fd >= 0 && is && from);
    memset(is, 5, FULL);
    memset(from, 9, (size_t)BLOCKS * BLOCK);
    CHECK(mlt_os_file_in_memory(fd));
    CHECK(mlt_os_file_write(fd, is, FULL, 0, &moved) == 0);
    CHECK(mlt_type_make_vector(&block, MLT_TYPE_BYTE, 1, BLOCK, BLOCK) == MLT_OK);
    CHECK(mlt_type_make_resized(&view, &block, 0, STEP) == MLT_OK);
    mlt_file_access a = {.fd = fd,
                         .writes = true,
                         .sieve = MLT_FILE_SIEVE_DENSE,
                         .locks = &locks,
                         .near = STEP,
                         .begin = 3,
                         .view = &view,
                         .bytes = (uint64_t)BLOCKS * BLOCK,
                         .buf = from,
                         .type = MLT_TYPE_BYTE};
    mlt_file_access_run(&a);
    CHECK(a.error == 0 && a.moved == a.bytes);
    CHECK(mlt_os_file_read(fd, is, FULL + MLT_FILE_STRIPE, 0, &moved) == 0);
    CHECK(moved == 3 + (size_t)(BLOCKS - 1) * STEP + BLOCK);
    for (size_t i = 0; i < moved; i++)
        CHECK(is[i] == (i >= 3 && (i - 3) % STEP < BLOCK ? 9 : i < FULL ? 5 : 0));
    a.fd = mlt_os_file_open("/dev/null", O_WRONLY, 0); // which cannot be read: block by block
    mlt_file_access_run(&a);
    CHECK(a.error == 0 && a.moved == a.bytes);
    close(a.fd); // which cannot be locked
    mlt_file_access_run(&a);
    CHECK(a.error == EBADF && a.moved == 0);
    a.fd = mlt_os_file_open("/dev/full", O_RDWR, 0);
    mlt_file_access_run(&a);
    CHECK(a.error == ENOSPC && a.moved == 0);
    close(a.fd);
    mlt_file_seize(&locks, 0); // somebody sieves: what would wait is not done now
    a.view = MLT_TYPE_BYTE;
    a.bytes = 10;
    a.fd = fd;
    CHECK(!mlt_file_access_now(&a));
    mlt_file_release(&locks, 0);
    CHECK(mlt_file_access_now(&a) && a.moved == 10);
    mlt_type_unmake(&view);
    mlt_type_unmake(&block);
    free(from);
    free(is);
    close(fd);
}

static void test_sorted(void)
{
    enum { COUNT = 9 };
    mlt_file_access all[COUNT], *list[COUNT];
    for (uint32_t first = 0; first < 3 * COUNT; first++) { // in turn from any one on, and shuffled
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t at =
                first < COUNT ? (i + first) % COUNT : (i * (first % 2 ? 2 : 4) + first) % COUNT;
            all[i] = (mlt_file_access){.view = MLT_TYPE_BYTE, .begin = at, .bytes = 1};
            list[i] = &all[i];
        }
        mlt_file_sort(list, COUNT);
        for (int64_t i = 0; i < COUNT; i++)
            CHECK(list[i]->begin == i);
    }
    mlt_file_sort(list, 0);
}

static void test_refused(void)
{
    int fd = mlt_os_file_open("/dev/full", O_WRONLY, 0);
    char byte = 1;
    mlt_file_access a = {.fd = fd,
                         .writes = true,
                         .view = MLT_TYPE_BYTE,
                         .bytes = 1,
                         .buf = &byte,
                         .type = MLT_TYPE_BYTE};
    mlt_file_access b = a, *both[] = {&a, &b};
    mlt_file_access_run(&a);
    CHECK(a.error == ENOSPC && a.moved == 0);
    b.begin = 1;
    mlt_file_merge(both, 2);
    CHECK(a.error == ENOSPC && b.error == ENOSPC && a.moved == 0);
    close(fd);
    a.fd = b.fd = fd; // closed
    a.writes = b.writes = false;
    mlt_file_access_run(&a);
    CHECK(a.error == EBADF);
    both[0] = &a;
    both[1] = &b;
    mlt_file_merge(both, 2);
    CHECK(a.error == EBADF && b.error == EBADF);
    a.atomic = true;
    mlt_file_access_run(&a);
    CHECK(a.error == EBADF);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 60;
    test_data_before();
    test_order();
    test_refused();
    test_sieved();
    test_sorted();
    for (uint64_t seed = first; seed < first + count; seed++)
        try_seed(seed);
    return 0;
}
