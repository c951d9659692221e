// SPDX-License-Identifier: BSD-3-Clause
#include "wire/tcp/cipher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/memory.h"
#include "os/tcp.h"

static void derive(mlt_key *check, const mlt_key *key)
{
    static const char what[] = "lengths of records";
    mlt_crypt_hash(check->bytes, key, &(mlt_crypt_piece){what, sizeof what}, 1);
}

mlt_status mlt_cipher_new(mlt_cipher **cipher, const uint8_t send_key[MLT_KEY_BYTES],
                          const uint8_t receive_key[MLT_KEY_BYTES], char *why, size_t why_size)
{
    *cipher = NULL;
    mlt_status status = mlt_crypt_load(why, why_size);
    if (status != MLT_OK)
        return status;
    mlt_cipher *c = malloc(sizeof *c);
    if (!c)
        return mlt_fail(MLT_ERR_NO_MEMORY, why, why_size, MLT_NO_ROOM "an encrypted connection");
    c->sent = c->received = 0;
    c->out_at = c->out_end = c->in_end = 0;
    memcpy(c->keys.send.bytes, send_key, MLT_KEY_BYTES);
    memcpy(c->keys.receive.bytes, receive_key, MLT_KEY_BYTES);
    derive(&c->checks.send, &c->keys.send);
    derive(&c->checks.receive, &c->keys.receive);
    *cipher = c;
    return MLT_OK;
}

void mlt_cipher_free(mlt_cipher *cipher)
{
    if (!cipher)
        return;
    mlt_key_wipe(&cipher->keys.send);
    mlt_key_wipe(&cipher->keys.receive);
    mlt_key_wipe(&cipher->checks.send);
    mlt_key_wipe(&cipher->checks.receive);
    free(cipher);
}

// ---- Writing

bool mlt_cipher_flush(mlt_cipher *c, int fd)
{
    while (c->out_at != c->out_end) {
        struct iovec piece = {.iov_base = c->out + c->out_at, .iov_len = c->out_end - c->out_at};
        ssize_t n = mlt_os_tcp_send(fd, &piece, 1);
        if (n < 0)
            return false;
        c->out_at += (uint32_t)n;
    }
    return true;
}

static uint32_t copy_pieces(unsigned char *to, const struct iovec *pieces, uint32_t count)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < count && bytes < MLT_CIPHER_RECORD; i++) {
        uint64_t room = MLT_CIPHER_RECORD - bytes;
        uint64_t n = pieces[i].iov_len < room ? pieces[i].iov_len : room;
        memcpy(to + bytes, pieces[i].iov_base, n);
        bytes += (uint32_t)n;
    }
    return bytes;
}

ssize_t mlt_cipher_send(mlt_cipher *c, int fd, const struct iovec *pieces, uint32_t count)
{
    if (!mlt_cipher_flush(c, fd))
        return -1;
    uint32_t head[2] = {copy_pieces(c->out + MLT_CIPHER_HEAD, pieces, count)};
    head[1] = (uint32_t)mlt_crypt_short(&c->checks.send, c->sent, head[0]);
    memcpy(c->out, head, sizeof head);
    mlt_crypt_seal(c->out + sizeof head, c->out + MLT_CIPHER_HEAD, head[0], c->out, sizeof head,
                   c->sent++, &c->keys.send);
    c->out_at = 0;
    c->out_end = MLT_CIPHER_HEAD + head[0];
    int saved = errno;
    (void)mlt_cipher_flush(c, fd); // the bytes are in the record: if that fails, the next one tells
    errno = saved;
    return head[0];
}

// ---- Reading

static bool is_good(const mlt_cipher *c, const uint32_t head[2])
{
    return head[0] > 0 && head[0] <= MLT_CIPHER_RECORD &&
           head[1] == (uint32_t)mlt_crypt_short(&c->checks.receive, c->received, head[0]);
}

// Opens the record that begins what was read. Its length; 0: it is not there yet; -1: it was forged.
static int32_t open_record(mlt_cipher *c)
{
    uint32_t head[2];
    if (c->in_end < MLT_CIPHER_HEAD)
        return 0;
    memcpy(head, c->in, sizeof head);
    if (!is_good(c, head))
        return -1;
    if (c->in_end - MLT_CIPHER_HEAD < head[0])
        return 0;
    bool good = mlt_crypt_open(c->in + sizeof head, c->in + MLT_CIPHER_HEAD, head[0], c->in,
                               sizeof head, c->received++, &c->keys.receive);
    return good ? (int32_t)head[0] : -1;
}

bool mlt_cipher_has_record(const mlt_cipher *c)
{
    uint32_t head[2];
    if (c->in_end < MLT_CIPHER_HEAD)
        return false;
    memcpy(head, c->in, sizeof head);
    return !is_good(c, head) || c->in_end - MLT_CIPHER_HEAD >= head[0];
}

ssize_t mlt_cipher_receive(mlt_cipher *c, int fd, unsigned char *to, uint64_t room)
{
    ssize_t got = 0;
    for (;;) {
        int32_t bytes = room >= MLT_CIPHER_RECORD ? open_record(c) : 0;
        if (bytes < 0) {
            errno = EBADMSG;
            return -1;
        }
        if (bytes > 0) {
            uint32_t all = MLT_CIPHER_HEAD + (uint32_t)bytes;
            memcpy(to, c->in + MLT_CIPHER_HEAD, (size_t)bytes);
            memmove(c->in, c->in + all, c->in_end - all);
            c->in_end -= all;
            to += bytes;
            room -= (uint64_t)bytes;
            got += bytes;
            continue;
        }
        if (got)
            return got;
        struct iovec piece = {.iov_base = c->in + c->in_end, .iov_len = MLT_CIPHER_IN - c->in_end};
        ssize_t n = mlt_os_tcp_receive(fd, &piece, 1);
        if (n <= 0)
            return n;
        c->in_end += (uint32_t)n;
    }
}
