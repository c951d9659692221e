// SPDX-License-Identifier: BSD-3-Clause
// Any bytes for either side of a greeting, in pieces of any size. A stranger, which does not know
// the key, never gets through, whatever it sends. A process of the job that breaks the rules (its
// hashes are right, and the rest is the input's) gets through or is refused with a message. Nothing
// behind the greeting is read.
//
// The first byte: 1: the side that is fuzzed dials; 2: hashes are right; 4: encrypts; the others
// give the size of pieces. Then messages, 128 bytes each.
#include "net/greet.h"

#include <errno.h>
#include <fuzz/fuzz.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/greet_int.h"

enum { DIALS = 1, RIGHT = 2, ENCRYPTS = 4, SELF = 3, PEER = 7, LIMIT = 100 };

static const mlt_key key = {{1, 2, 3}};

static void load(void)
{
    char why[300];
    if (mlt_crypt_load(why, sizeof why) == MLT_OK)
        return;
    fprintf(stderr, "skipped: %s\n", why);
    exit(77);
}

// The next message of the input after those before, with the right hash if it is to have one.
static size_t next_message(uint8_t said[3][MLT_GREET_BYTES], int n, bool right,
                           const uint8_t **data, size_t *size)
{
    size_t bytes = *size < MLT_GREET_BYTES ? *size : MLT_GREET_BYTES;
    fuzz_take(data, size, said[n], MLT_GREET_BYTES);
    if (right && bytes > 0) {
        bytes = MLT_GREET_BYTES;
        mlt_greet_hash(said[n] + MLT_GREET_AT_HASH, &key, said, n);
    }
    return bytes;
}

static mlt_status feed(mlt_greet *greet, int fd, const uint8_t *bytes, size_t size, size_t piece)
{
    mlt_status status = mlt_greet_step(greet, 1);
    while (size > 0 && status == MLT_PENDING) {
        size_t n = piece < size ? piece : size;
        FUZZ_CHECK(send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n);
        bytes += n;
        size -= n;
        status = mlt_greet_step(greet, 1);
    }
    return status;
}

// What the fuzzed side has said last; false: nothing.
static bool hear(int fd, uint8_t message[MLT_GREET_BYTES])
{
    ssize_t n = recv(fd, message, MLT_GREET_BYTES, MSG_DONTWAIT);
    FUZZ_CHECK(n <= 0 || n == MLT_GREET_BYTES);
    return n > 0;
}

static mlt_status converse(mlt_greet *greet, int fd, uint8_t how, const uint8_t *data, size_t size)
{
    uint8_t said[3][MLT_GREET_BYTES] = {{0}};
    bool right = how & RIGHT;
    size_t piece = 1 + how / 8 * 5u;
    mlt_status status = mlt_greet_step(greet, 1);
    for (int n = 0; n < 3 && status == MLT_PENDING; n++) {
        if ((n % 2 == 0) == greet->dials) {
            if (!hear(fd, said[n]))
                break;
            continue;
        }
        size_t bytes = next_message(said, n, right, &data, &size);
        status = feed(greet, fd, said[n], bytes, piece);
    }
    return status;
}

static void check(const mlt_greet *greet, mlt_status status, uint8_t how)
{
    if (status == MLT_OK) {
        FUZZ_CHECK(how & RIGHT && greet->proven && greet->peer != SELF);
        FUZZ_CHECK(!greet->dials || greet->peer == PEER);
        return;
    }
    FUZZ_CHECK(greet->fault > MLT_GREET_FINE && greet->fault < MLT_GREET_FAULTS);
    FUZZ_CHECK((how & RIGHT) || !greet->proven);
    fuzz_check_sentence(greet->why, sizeof greet->why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t how;
    int ends[2];
    mlt_greet greet;
    load();
    fuzz_take(&data, &size, &how, 1);
    mlt_greet_self self = {.key = &key,
                           .job = 42,
                           .process = SELF,
                           .version = 0x200, // as the seeds have it
                           .types = mlt_greet_types_here(),
                           .encrypts = how & ENCRYPTS};
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    if (how & DIALS)
        mlt_greet_dial(&greet, &self, ends[0], PEER, LIMIT);
    else
        mlt_greet_answer(&greet, &self, ends[0], LIMIT);
    mlt_status status = converse(&greet, ends[1], how, data, size);
    if (status == MLT_PENDING) // either the other side closes, or the time is up
        close(ends[1]);
    if (status == MLT_PENDING)
        status = mlt_greet_step(&greet, LIMIT);
    else
        close(ends[1]);
    check(&greet, status, how);
    mlt_greet_fini(&greet);
    close(ends[0]);
    return 0;
}
