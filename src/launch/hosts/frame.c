// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/array.h"
#include "base/list.h"
#include "base/log.h"
#include "boot/job.h"
#include "net/greet.h"
#include "os/os.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are sent as they are");

// No text has it: the first byte is none of UTF-8's, and what would change line ends shows.
static const uint8_t frame_magic[8] = {0x89, 'M', 'l', 't', 'A', '\r', '\n', 0x1a};

enum { FRAME_READ_BYTES = 64 << 10, READS_A_TURN = 4 };

void mlt_frame_hello(uint8_t out[MLT_FRAME_HELLO_BYTES])
{
    uint32_t version = mlt_greet_version(), protocol = MLT_JOB_VERSION;
    memcpy(out, frame_magic, sizeof frame_magic);
    memcpy(out + 8, &version, sizeof version);
    memcpy(out + 12, &protocol, sizeof protocol);
}

// Where the magic, or what may become it, begins.
static size_t find_magic(const uint8_t *bytes, size_t count)
{
    size_t at = 0;
    while (at < count) {
        const uint8_t *first = memchr(bytes + at, frame_magic[0], count - at);
        if (!first)
            return count;
        at = (size_t)(first - bytes);
        size_t n = count - at < sizeof frame_magic ? count - at : sizeof frame_magic;
        if (memcmp(first, frame_magic, n) == 0)
            return at;
        at++;
    }
    return at;
}

mlt_frame_found mlt_frame_seek(const void *bytes, size_t count, size_t *at, char version[32])
{
    *at = find_magic(bytes, count);
    if (*at > MLT_FRAME_PREFACE)
        return MLT_FRAME_NONE;
    if (count - *at < MLT_FRAME_HELLO_BYTES)
        return MLT_FRAME_MORE;
    uint8_t own[MLT_FRAME_HELLO_BYTES];
    uint32_t theirs;
    mlt_frame_hello(own);
    const uint8_t *hello = (const uint8_t *)bytes + *at;
    memcpy(&theirs, hello + 8, sizeof theirs);
    char text[MLT_GREET_VERSION_TEXT];
    snprintf(version, 32, "%s", mlt_greet_version_text(text, theirs));
    return memcmp(hello, own, sizeof own) == 0 ? MLT_FRAME_FOUND : MLT_FRAME_OTHER;
}

int64_t mlt_frame_next(const void *bytes, size_t count, mlt_frame *frame)
{
    if (count < sizeof *frame)
        return 0;
    memcpy(frame, bytes, sizeof *frame);
    if (frame->type == 0 || frame->type >= MLT_FRAME_TYPES || frame->length > MLT_FRAME_MOST)
        return -1;
    size_t whole = sizeof *frame + frame->length;
    return count < whole ? 0 : (int64_t)whole;
}

// ---- Sending

static void die(mlt_channel *c, const char *why)
{
    if (c->dead)
        return;
    c->dead = true;
    mlt_loop_remove(&c->in);
    mlt_loop_remove(&c->out);
    if (c->ended)
        c->ended(c, why);
}

static void frame_write_some(mlt_channel *c)
{
    while (!c->dead && c->out.fd >= 0 && c->start < c->end) {
        ssize_t n = write(c->out.fd, c->queue + c->start, c->end - c->start);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            (void)mlt_loop_add(&c->out, EPOLLOUT);
            return;
        }
        if (n < 0)
            break; // what the other side said last is still to be read; then its end is seen
        c->start += (size_t)n;
    }
    c->start = c->end = 0;
    mlt_loop_remove(&c->out);
}

static void put(mlt_channel *c, const void *bytes, size_t count)
{
    if (c->start > 0 && c->end + count > c->room) {
        memmove(c->queue, c->queue + c->start, c->end - c->start);
        c->end -= c->start;
        c->start = 0;
    }
    MLT_ARRAY_WANT(c->queue, c->end + count, c->room);
    memcpy(c->queue + c->end, bytes, count);
    c->end += count;
}

static void put_sealed(mlt_channel *c, const void *bytes, size_t count)
{
    uint8_t seal[MLT_CRYPT_SEAL];
    put(c, bytes, count);
    mlt_crypt_seal(seal, c->queue + c->end - count, count, NULL, 0, c->seals_sent++, &c->keys.send);
    put(c, seal, sizeof seal);
}

static void put_frame(mlt_channel *c, const mlt_frame *frame, const void *body)
{
    void (*put_part)(mlt_channel *, const void *, size_t) = c->sealed ? put_sealed : put;
    put_part(c, frame, sizeof *frame);
    if (frame->length > 0)
        put_part(c, body, frame->length);
}

void mlt_channel_send(mlt_channel *c, const mlt_frame *frame, const void *body)
{
    mlt_assert(frame->length <= MLT_FRAME_MOST);
    if (c->dead || c->out.fd < 0)
        return;
    put_frame(c, frame, body);
    if (!c->out.added)
        frame_write_some(c);
}

static void out_ready(mlt_loop_source *source, uint32_t events)
{
    frame_write_some(mlt_container_of(source, mlt_channel, out));
}

void mlt_channel_flush(mlt_channel *c, int limit_ms)
{
    uint64_t until = mlt_os_now_ns() + (uint64_t)limit_ms * 1000000, now;
    while (!c->dead && c->out.fd >= 0 && c->start < c->end && (now = mlt_os_now_ns()) < until) {
        struct pollfd room = {.fd = c->out.fd, .events = POLLOUT};
        (void)poll(&room, 1, (int)((until - now) / 1000000) + 1);
        frame_write_some(c);
    }
}

// ---- Receiving

// False: more bytes are needed, or the channel is dead.
static bool frame_take_hello(mlt_channel *c)
{
    char version[32], why[160], own[MLT_GREET_VERSION_TEXT];
    size_t at;
    const char *bytes = c->got + c->got_start;
    mlt_frame_found found = mlt_frame_seek(bytes, c->got_end - c->got_start, &at, version);
    c->seen += at;
    if (at > 0 && c->preface)
        c->preface(c, bytes, at);
    c->got_start += at;
    if (found == MLT_FRAME_NONE || c->seen > MLT_FRAME_PREFACE) {
        die(c, "it prints too much before its agent begins");
    } else if (found == MLT_FRAME_OTHER) {
        snprintf(why, sizeof why, "its agent is Millet %s, but this mpirun is Millet %s", version,
                 mlt_greet_version_text(own, mlt_greet_version()));
        die(c, strcmp(version, own) != 0 ? why
                                         : "its agent is another build of Millet than this mpirun");
    } else if (found == MLT_FRAME_FOUND) {
        c->got_start += MLT_FRAME_HELLO_BYTES;
        c->greeted = true;
    }
    return c->greeted && !c->dead;
}

static bool open_part(mlt_channel *c, char *part, size_t bytes)
{
    return mlt_crypt_open((uint8_t *)part + bytes, part, bytes, NULL, 0, c->seals_taken++,
                          &c->keys.receive);
}

// As mlt_frame_next, and decrypts. The body begins MLT_CRYPT_SEAL bytes later.
static int64_t next_sealed(mlt_channel *c, mlt_frame *frame)
{
    enum { HEAD = sizeof *frame + MLT_CRYPT_SEAL };
    char *bytes = c->got + c->got_start;
    size_t count = c->got_end - c->got_start;
    if (count < HEAD)
        return 0;
    if (!c->head_open && !open_part(c, bytes, sizeof *frame))
        return -1;
    c->head_open = true;
    if (mlt_frame_next(bytes, sizeof *frame, frame) < 0)
        return -1;
    size_t whole = HEAD + (frame->length ? frame->length + MLT_CRYPT_SEAL : 0);
    if (count < whole)
        return 0;
    if (frame->length && !open_part(c, bytes + HEAD, frame->length))
        return -1;
    c->head_open = false;
    return (int64_t)whole;
}

static int64_t next_frame(mlt_channel *c, mlt_frame *frame)
{
    return c->sealed ? next_sealed(c, frame)
                     : mlt_frame_next(c->got + c->got_start, c->got_end - c->got_start, frame);
}

static void take_frames(mlt_channel *c)
{
    mlt_frame frame;
    int64_t size = 0;
    size_t before = sizeof frame + (c->sealed ? MLT_CRYPT_SEAL : 0);
    if (!c->greeted && !frame_take_hello(c))
        return;
    while (!c->dead && (size = next_frame(c, &frame)) > 0) {
        char *body = c->got + c->got_start + before, *end = body + frame.length, next = *end;
        c->got_start += (size_t)size;
        *end = '\0'; // there is room: see read_some
        c->take(c, &frame, body);
        if (!c->dead)
            *end = next;
    }
    if (size < 0)
        die(c,
            c->sealed ? "sends what was changed on its way" : "sends what is no frame of Millet's");
}

// False: there is nothing now.
static bool read_some(mlt_channel *c)
{
    if (c->got_start > 0 && c->got_start == c->got_end) {
        c->got_start = c->got_end = 0;
    } else if (c->got_start > FRAME_READ_BYTES) {
        memmove(c->got, c->got + c->got_start, c->got_end - c->got_start);
        c->got_end -= c->got_start;
        c->got_start = 0;
    }
    MLT_ARRAY_WANT(c->got, c->got_end + FRAME_READ_BYTES + 1, c->got_room);
    ssize_t n = read(c->in.fd, c->got + c->got_end, FRAME_READ_BYTES);
    if (n < 0)
        return errno == EINTR;
    c->heard = true;
    c->got_end += (size_t)n;
    if (n == 0)
        die(c, "ended");
    else
        take_frames(c);
    return n > 0;
}

static void in_ready(mlt_loop_source *source, uint32_t events)
{
    mlt_channel *c = mlt_container_of(source, mlt_channel, in);
    for (int i = 0; i < READS_A_TURN && !c->dead && c->in.fd >= 0; i++)
        if (!read_some(c))
            return;
}

// ---- The whole

bool mlt_channel_open(mlt_channel *c, int in_fd, int out_fd)
{
    uint8_t hello[MLT_FRAME_HELLO_BYTES];
    c->in = (mlt_loop_source){.fd = in_fd, .ready = in_ready};
    c->out = (mlt_loop_source){.fd = out_fd, .ready = out_ready};
    (void)fcntl(in_fd, F_SETFL, fcntl(in_fd, F_GETFL) | O_NONBLOCK);
    (void)fcntl(out_fd, F_SETFL, fcntl(out_fd, F_GETFL) | O_NONBLOCK);
    mlt_frame_hello(hello);
    put(c, hello, sizeof hello);
    frame_write_some(c);
    return mlt_loop_add(&c->in, EPOLLIN);
}

void mlt_channel_seal(mlt_channel *c, mlt_crypt_keys *keys)
{
    c->sealed = true;
    c->keys = *keys;
    explicit_bzero(keys, sizeof *keys);
}

void mlt_channel_close(mlt_channel *c)
{
    c->dead = true;
    mlt_loop_close(&c->out);
    mlt_loop_close(&c->in);
    free(c->got);
    free(c->queue);
    c->got = c->queue = NULL;
    c->got_start = c->got_end = c->got_room = c->start = c->end = c->room = 0;
    explicit_bzero(&c->keys, sizeof c->keys);
}
