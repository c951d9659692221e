// SPDX-License-Identifier: BSD-3-Clause
// Keys are new each time, pass through descriptors whole or not at all, and are wiped.
#include "net/key.h"

#include <poll.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unit_test.h"

static char why[200];
static const mlt_key zero;

static bool is_zero(const mlt_key *key)
{
    return memcmp(key, &zero, sizeof zero) == 0;
}

static void test_new(void)
{
    mlt_key a, b;
    CHECK(mlt_key_new(&a, why, sizeof why) == MLT_OK && mlt_key_new(&b, why, sizeof why) == MLT_OK);
    CHECK(memcmp(&a, &b, sizeof a) != 0 && !is_zero(&a));
    mlt_key_wipe(&a);
    CHECK(is_zero(&a));
}

// Through a pipe, cut after each number of bytes.
static void test_pass(uint32_t bytes)
{
    mlt_key key, copy = zero;
    int ends[2];
    CHECK(mlt_key_new(&key, why, sizeof why) == MLT_OK && pipe(ends) == 0);
    mlt_key_pass out = mlt_key_writing(&key, ends[1], 100);
    mlt_key_pass in = mlt_key_reading(&copy, ends[0], 100);
    CHECK(in.poll.fd == ends[0] && in.poll.events == POLLIN && out.poll.events == POLLOUT);
    CHECK(mlt_key_step(&in, 0, why, sizeof why) == MLT_PENDING);
    for (uint32_t i = 0; i < bytes; i++) { // one by one
        CHECK(write(ends[1], key.bytes + i, 1) == 1);
        CHECK(mlt_key_step(&in, 1, why, sizeof why) == (i + 1 < MLT_KEY_BYTES ? MLT_PENDING : 0));
    }
    if (bytes == MLT_KEY_BYTES) {
        CHECK(memcmp(&key, &copy, sizeof key) == 0);
        // What comes behind the key stays in the pipe.
        in = mlt_key_reading(&copy, ends[0], 100);
        mlt_key_wipe(&copy);
        CHECK(mlt_key_step(&out, 0, why, sizeof why) == MLT_OK && write(ends[1], "x", 1) == 1);
        CHECK(mlt_key_step(&in, 1, why, sizeof why) == MLT_OK && !memcmp(&key, &copy, sizeof key));
        char behind = 0;
        CHECK(read(ends[0], &behind, 1) == 1 && behind == 'x');
    } else {
        close(ends[1]);
        CHECK(mlt_key_step(&in, 1, why, sizeof why) == MLT_ERR_CLOSED && is_zero(&copy));
        char wanted[200];
        snprintf(wanted, sizeof wanted,
                 "the job's key could not be read: the other side closed it after %u of 32 bytes",
                 bytes);
        check_same_text("a pipe that was closed", why, wanted);
        ends[1] = -1;
    }
    close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
}

static void test_late(void)
{
    mlt_key key = zero;
    int ends[2];
    CHECK(pipe(ends) == 0 && write(ends[1], "abc", 3) == 3);
    mlt_key_pass in = mlt_key_reading(&key, ends[0], 100);
    CHECK(mlt_key_step(&in, 99, why, sizeof why) == MLT_PENDING && !is_zero(&key));
    CHECK(mlt_key_step(&in, 100, why, sizeof why) == MLT_ERR_CLOSED && is_zero(&key));
    check_same_text("late", why,
                    "the job's key could not be read: the time was up after 3 of 32 bytes");
    close(ends[0]);
    close(ends[1]);
}

static void test_wrong_descriptor(void)
{
    mlt_key key = {{1}};
    int ends[2];
    mlt_key_pass pass = mlt_key_reading(&key, 9999, 100);
    CHECK(mlt_key_step(&pass, 0, why, sizeof why) == MLT_ERR_SYSTEM && is_zero(&key));
    CHECK(strstr(why, "could not be read: Bad file descriptor"));
    // A writer's key is not wiped: it is still its own.
    key.bytes[0] = 1;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    close(ends[1]);
    pass = mlt_key_writing(&key, ends[0], 100);
    CHECK(mlt_key_step(&pass, 0, why, sizeof why) == MLT_ERR_SYSTEM && !is_zero(&key));
    CHECK(strstr(why, "could not be written: Broken pipe after 0 of 32"));
    close(ends[0]);
}

int main(void)
{
    test_new();
    for (uint32_t bytes = 0; bytes <= MLT_KEY_BYTES; bytes++)
        test_pass(bytes);
    test_late();
    test_wrong_descriptor();
    puts("all right");
    return 0;
}
