// SPDX-License-Identifier: BSD-3-Clause
// Frames pass a channel as they are, in whatever pieces they come, sealed or not. A sealed channel
// shows nothing of them, and notices each byte that is changed, repeated or left out.
#include "launch/hosts/frame.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "base/unit_test.h"

enum { FRAMES = 4, MOST_BYTES = 4096 };

static const char *const bodies[FRAMES] = {"start /bin/secret", "", "x", "two lines\nof a secret"};

typedef struct end {
    mlt_channel channel;
    int taken;
    const char *why; // it has ended
} end;

static end *end_of(mlt_channel *channel)
{
    return mlt_container_of(channel, end, channel);
}

static mlt_frame frame_of(int i)
{
    return (mlt_frame){.type = MLT_FRAME_SAY,
                       .length = (uint32_t)strlen(bodies[i]),
                       .from = 1,
                       .to = MLT_FRAME_HEAD,
                       .value = i};
}

static void take(mlt_channel *channel, const mlt_frame *frame, char *body)
{
    end *e = end_of(channel);
    CHECK(e->taken < FRAMES && frame->value == e->taken);
    check_same_text("the body", body, bodies[e->taken]);
    e->taken++;
}

static void ended(mlt_channel *channel, const char *why)
{
    end_of(channel)->why = why;
}

// The two sides of a connection, whose keys are never the same again.
static void make_keys(mlt_crypt_keys *dialler, mlt_crypt_keys *answerer)
{
    mlt_crypt_pair one, other;
    mlt_crypt_pair_new(&one);
    mlt_crypt_pair_new(&other);
    CHECK(mlt_crypt_exchange(dialler, &one, other.open, true) == MLT_OK);
    CHECK(mlt_crypt_exchange(answerer, &other, one.open, false) == MLT_OK);
}

// All bytes that a channel sends, from its first to the last frame's.
static size_t send_all(uint8_t bytes[MOST_BYTES], mlt_crypt_keys *keys)
{
    int fds[2];
    (void)mlt_loop_new();
    end from = {.channel = {.take = take, .ended = ended}};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
    if (keys)
        mlt_channel_seal(&from.channel, keys);
    CHECK(mlt_channel_open(&from.channel, fds[0], dup(fds[0])));
    for (int i = 0; i < FRAMES; i++) {
        mlt_frame frame = frame_of(i);
        mlt_channel_send(&from.channel, &frame, bodies[i]);
    }
    ssize_t got = read(fds[1], bytes, MOST_BYTES);
    mlt_channel_close(&from.channel);
    close(fds[1]);
    CHECK(got > 0 && got < MOST_BYTES);
    return (size_t)got;
}

// Lets them come in pieces of that size, and tells how many frames were taken.
static end receive(const uint8_t *bytes, size_t count, size_t piece, const mlt_crypt_keys *keys)
{
    int fds[2];
    (void)mlt_loop_new();
    end to = {.channel = {.take = take, .ended = ended}};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
    if (keys) {
        mlt_crypt_keys copy = *keys;
        mlt_channel_seal(&to.channel, &copy);
        for (size_t i = 0; i < sizeof copy; i++)
            CHECK(((const uint8_t *)&copy)[i] == 0); // wiped
    }
    CHECK(mlt_channel_open(&to.channel, fds[0], dup(fds[0])));
    for (size_t at = 0; at < count && !to.why; at += piece) {
        size_t n = count - at < piece ? count - at : piece;
        CHECK(write(fds[1], bytes + at, n) == (ssize_t)n);
        mlt_loop_turn();
    }
    mlt_channel_close(&to.channel);
    close(fds[1]);
    return to;
}

static void test_pieces(const uint8_t *bytes, size_t count, const mlt_crypt_keys *keys)
{
    for (size_t piece = 1; piece <= count; piece++) {
        end to = receive(bytes, count, piece, keys);
        CHECK(to.taken == FRAMES && !to.why);
    }
}

static void test_secret(const uint8_t *bytes, size_t count)
{
    CHECK(!memmem(bytes, count, "secret", 6));
    uint8_t four[4] = {MLT_FRAME_SAY};
    CHECK(!memmem(bytes + MLT_FRAME_HELLO_BYTES, count - MLT_FRAME_HELLO_BYTES, four, sizeof four));
}

static void test_changes(uint8_t *bytes, size_t count, const mlt_crypt_keys *keys)
{
    for (size_t at = MLT_FRAME_HELLO_BYTES; at < count; at++) {
        bytes[at] ^= 1;
        end to = receive(bytes, count, count, keys);
        bytes[at] ^= 1;
        CHECK(to.taken < FRAMES && to.why);
        check_same_text("a change", to.why, "sends what was changed on its way");
    }
}

static void test_order(const uint8_t *bytes, size_t count, const mlt_crypt_keys *keys)
{
    enum { FIRST = sizeof(mlt_frame) + 2 * MLT_CRYPT_SEAL };
    uint8_t other[2 * MOST_BYTES];
    size_t first = FIRST + strlen(bodies[0]), hello = MLT_FRAME_HELLO_BYTES;
    memcpy(other, bytes, hello); // without the first frame
    memcpy(other + hello, bytes + hello + first, count - hello - first);
    end to = receive(other, count - first, count, keys);
    CHECK(to.taken == 0 && to.why);
    memcpy(other, bytes, hello + first); // with the first frame twice
    memcpy(other + hello + first, bytes + hello, count - hello);
    CHECK(receive(other, count + first, count + first, keys).taken == 1);
}

// The receiver's own bytes, sent back to it.
static void test_reflected(const uint8_t *bytes, size_t count, const mlt_crypt_keys *sender)
{
    end to = receive(bytes, count, count, sender);
    CHECK(to.taken == 0 && to.why);
}

int main(void)
{
    uint8_t bytes[MOST_BYTES];
    char why[400];
    test_pieces(bytes, send_all(bytes, NULL), NULL);
    if (mlt_crypt_load(why, sizeof why) != MLT_OK) {
        fprintf(stderr, "skipped: %s\n", why);
        return 77;
    }
    mlt_crypt_keys dialler, answerer, sender;
    make_keys(&dialler, &answerer);
    sender = dialler;
    size_t count = send_all(bytes, &dialler);
    test_pieces(bytes, count, &answerer);
    test_secret(bytes, count);
    test_changes(bytes, count, &answerer);
    test_order(bytes, count, &answerer);
    test_reflected(bytes, count, &sender);
    return 0;
}
