// SPDX-License-Identifier: BSD-3-Clause
// Reads with a kernel of this test's own (os/uring.h), which finishes them in any order, short, or with an
// error, and now and then takes none: every read is given back once, with its data, its error, or undone.
#include "file/uring.h"

#include <errno.h>

#include "base/unit_test.h"
#include "os/uring.h"
#include "type/type.h"

enum { SIZE = 1 << 16, READS = 1000, LONGEST = 5000, SEEDS = 30, MOST_OPEN = 256 };

// ---- the kernel

struct mlt_os_uring {
    uint32_t open;
    struct {
        char *to;
        uint32_t bytes;
        int64_t at;
        void *user;
    } reads[MOST_OPEN];
    int refuses; // one read of so many; 0: none
};

static unsigned char data[SIZE];
static mlt_os_uring kernel;
static const int errors[] = {EIO, EAGAIN, EINTR, ECANCELED, EINVAL, EOPNOTSUPP, ENOMEM, ESTALE};
static int no_kernel; // errno's value
static int bad;       // one result of so many is an error; 0: none

mlt_os_uring *mlt_os_uring_new(uint32_t most, int doorbell)
{
    CHECK(most == MOST_OPEN && doorbell == 99);
    errno = no_kernel;
    kernel.open = 0;
    return no_kernel ? NULL : &kernel;
}

void mlt_os_uring_free(mlt_os_uring *u)
{
    CHECK(u->open == 0);
}

bool mlt_os_uring_read(mlt_os_uring *u, int fd, void *to, uint32_t bytes, int64_t at, void *user)
{
    CHECK(fd == 7 && bytes > 0 && u->open < MOST_OPEN);
    if (u->refuses && below((uint64_t)u->refuses) == 0)
        return false;
    u->reads[u->open].to = to;
    u->reads[u->open].bytes = bytes;
    u->reads[u->open].at = at;
    u->reads[u->open++].user = user;
    return true;
}

bool mlt_os_uring_take(mlt_os_uring *u, mlt_os_uring_result *result)
{
    if (u->open == 0 || below(8) == 0)
        return false;
    uint32_t i = below(u->open), moved = u->reads[i].bytes;
    int64_t at = u->reads[i].at, left = at < SIZE ? SIZE - at : 0;
    if (below(2) && moved > 1)
        moved = 1 + below(moved - 1);
    moved = left < moved ? (uint32_t)left : moved;
    *result = (mlt_os_uring_result){.user = u->reads[i].user};
    if (bad && below((uint64_t)bad) == 0) {
        result->error = errors[below(sizeof errors / sizeof *errors)];
    } else if (moved > 0) {
        memcpy(u->reads[i].to, data + at, moved);
        result->moved = moved;
    }
    u->reads[i] = u->reads[--u->open];
    return true;
}

// ---- the test

typedef struct one {
    mlt_file_read read;
    mlt_file_access access;
    unsigned char *buf;
    int back;
} one;

static void check_back(one *o)
{
    const mlt_file_access *a = &o->access;
    int64_t at = a->begin + (int64_t)a->from, left = at < SIZE ? SIZE - at : 0;
    uint64_t whole = (uint64_t)left < a->bytes ? (uint64_t)left : a->bytes;
    CHECK(++o->back == 1);
    if (o->read.undone) {
        CHECK(a->error == 0 && (bad || kernel.refuses));
        return;
    }
    CHECK(a->error == 0 || (bad && (a->error == EIO || a->error == ESTALE)));
    CHECK(a->moved == whole || (a->error && a->moved < a->bytes));
    CHECK(left == 0 || memcmp(a->buf, data + at, a->moved) == 0);
    CHECK(a->buf == o->buf);
    for (uint64_t i = a->moved; i < a->bytes; i++)
        CHECK(o->buf[i] == 0xee);
}

// All that are over now.
static int take(mlt_file_uring *u)
{
    int taken = 0;
    for (mlt_file_read *read; (read = mlt_file_uring_take(u)); taken++)
        check_back(mlt_container_of(read, one, read));
    return taken;
}

static void run(uint64_t seed)
{
    static one all[READS];
    now_seed = random_state = seed;
    bad = seed % 3 == 0 ? 10 : 0;
    kernel.refuses = seed % 5 == 0 ? 1 + (int)below(20) : 0;
    mlt_file_uring *u = mlt_file_uring_new(99);
    int given = 0;
    CHECK(u);
    for (int i = 0; i < READS; i++) {
        one *o = &all[i];
        uint64_t bytes = 1 + below(LONGEST);
        *o = (one){.buf = malloc(bytes)};
        CHECK(o->buf);
        memset(o->buf, 0xee, bytes);
        o->access = (mlt_file_access){.fd = 7,
                                      .begin = below(SIZE),
                                      .from = below(3000),
                                      .bytes = bytes,
                                      .buf = o->buf,
                                      .view = MLT_TYPE_BYTE,
                                      .type = MLT_TYPE_BYTE,
                                      .moved = 77,
                                      .error = 88};
        o->read.access = &o->access;
        bool taken = mlt_file_uring_give(u, &o->read);
        CHECK(taken || kernel.refuses);
        o->back = !taken;
        given += taken;
        if (below(300) == 0)
            given -= take(u);
    }
    while (given > 0)
        given -= take(u);
    CHECK(take(u) == 0);
    mlt_file_uring_free(u);
    for (int i = 0; i < READS; i++) {
        CHECK(all[i].back == 1);
        free(all[i].buf);
    }
}

int main(void)
{
    for (int i = 0; i < SIZE; i++)
        data[i] = (unsigned char)random64();
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run(seed);
    no_kernel = EPERM;
    CHECK(!mlt_file_uring_new(99) && errno == EPERM);
    return 0;
}
