// SPDX-License-Identifier: BSD-3-Clause
// Records come out as they went in, in any portions. A bit of the head that is changed is noticed
// when the head has come: nobody waits for bytes of which a forged length speaks.
#include "wire/tcp/cipher.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/unit_test.h"

enum { TOLD = 100, ROOM = 2 * MLT_CIPHER_RECORD };

static mlt_cipher *sender, *receiver;
static int ends[2];
static unsigned char data[3 * MLT_CIPHER_RECORD], got[ROOM];

static bool open_pair(void)
{
    static const uint8_t one[MLT_KEY_BYTES] = {1}, two[MLT_KEY_BYTES] = {2};
    char why[400];
    mlt_status status = mlt_cipher_new(&sender, one, two, why, sizeof why);
    if (status == MLT_ERR_UNSUPPORTED)
        return false;
    CHECK(status == MLT_OK);
    CHECK(mlt_cipher_new(&receiver, two, one, why, sizeof why) == MLT_OK);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    return true;
}

static void close_pair(void)
{
    mlt_cipher_free(sender);
    mlt_cipher_free(receiver);
    close(ends[0]);
    close(ends[1]);
}

static void test_bytes(void)
{
    CHECK(open_pair());
    uint64_t put = 0, taken = 0;
    while (taken < sizeof data) {
        struct iovec piece = {.iov_base = data + put, .iov_len = sizeof data - put};
        ssize_t n = piece.iov_len ? mlt_cipher_send(sender, ends[0], &piece, 1) : 0;
        put += n > 0 ? (uint64_t)n : 0;
        n = mlt_cipher_receive(receiver, ends[1], got, sizeof got);
        CHECK(n > 0 || errno == EAGAIN);
        CHECK(n < 0 || memcmp(got, data + taken, (size_t)n) == 0);
        taken += n > 0 ? (uint64_t)n : 0;
    }
    close_pair();
}

// A record whose head alone arrives, with one bit changed (-1: none).
static ssize_t receive_head(int bit)
{
    unsigned char record[MLT_CIPHER_HEAD + TOLD];
    int between[2];
    CHECK(open_pair());
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, between) == 0);
    struct iovec piece = {.iov_base = data, .iov_len = TOLD};
    CHECK(mlt_cipher_send(sender, between[0], &piece, 1) == TOLD);
    CHECK(read(between[1], record, sizeof record) == sizeof record);
    if (bit >= 0)
        record[bit / 8] ^= (unsigned char)(1 << bit % 8);
    CHECK(write(ends[0], record, MLT_CIPHER_HEAD) == MLT_CIPHER_HEAD);
    ssize_t n = mlt_cipher_receive(receiver, ends[1], got, sizeof got);
    int error = errno;
    CHECK(mlt_cipher_has_record(receiver) == (bit >= 0));
    close(between[0]);
    close(between[1]);
    close_pair();
    errno = error;
    return n;
}

static void test_heads(void)
{
    CHECK(receive_head(-1) == -1 && errno == EAGAIN);
    for (int bit = 0; bit < 64; bit++)
        CHECK(receive_head(bit) == -1 && errno == EBADMSG);
}

int main(void)
{
    if (!open_pair())
        return 77;
    close_pair();
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 7 + i / 251);
    test_bytes();
    test_heads();
    return 0;
}
