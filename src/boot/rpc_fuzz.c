// SPDX-License-Identifier: BSD-3-Clause
// Any bytes at an rpc, in pieces, some of them with a descriptor: they are heard as the messages that
// they are, whole, until one is too long. No descriptor is lost.
//
// The input: a byte for each piece, then its bytes. The byte's lower 6 bits: how many; 64: with a
// descriptor; 128: the other side listens before the next piece.
#include "boot/rpc.h"

#include <fcntl.h>
#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/fd.h"

enum { LONGEST = 64, MOST = 4096 };

typedef struct ear {
    int fd;
    mlt_rpc_in in;
    mlt_status status;
    size_t heard; // bytes of whole messages
} ear;

static void listen_on(ear *e, const unsigned char *said, size_t count)
{
    mlt_rpc_head head, wanted;
    while (e->status == MLT_OK || e->status == MLT_PENDING) {
        e->status = mlt_rpc_hear(e->fd, &e->in, &head);
        if (e->status != MLT_OK)
            break;
        FUZZ_CHECK(count - e->heard >= sizeof head + head.length);
        memcpy(&wanted, said + e->heard, sizeof wanted);
        FUZZ_CHECK(head.type == wanted.type && head.length == wanted.length);
        FUZZ_CHECK(memcmp(e->in.bytes, said + e->heard, sizeof head + head.length) == 0);
        FUZZ_CHECK(mlt_rpc_body(&e->in)[head.length] == '\0');
        e->heard += sizeof head + head.length;
    }
    if (e->status == MLT_ERR_INVALID) {
        memcpy(&wanted, said + e->heard, sizeof wanted);
        FUZZ_CHECK(wanted.length > MLT_RPC_MOST);
    }
}

// The number that the next descriptor will have.
static int next_descriptor(void)
{
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    FUZZ_CHECK(fd >= 0);
    close(fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int pair[2], before = next_descriptor();
    unsigned char said[MOST];
    size_t count = 0;
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    ear e = {.fd = pair[0], .in = {.fd = -1}};
    while (size > 0 && count + LONGEST <= sizeof said) {
        uint8_t how;
        fuzz_take(&data, &size, &how, 1);
        size_t bytes = how % LONGEST;
        fuzz_take(&data, &size, said + count, bytes);
        struct iovec piece = {said + count, bytes};
        if (bytes)
            FUZZ_CHECK(mlt_os_send_with(pair[1], &piece, 1, how & 64 ? STDIN_FILENO : -1, false) ==
                       (ssize_t)bytes);
        count += bytes;
        if (how & 128)
            listen_on(&e, said, count);
    }
    close(pair[1]);
    listen_on(&e, said, count);
    FUZZ_CHECK(e.status == MLT_ERR_CLOSED || e.status == MLT_ERR_INVALID);
    mlt_rpc_in_fini(&e.in);
    close(pair[0]);
    FUZZ_CHECK(next_descriptor() == before);
    return 0;
}
