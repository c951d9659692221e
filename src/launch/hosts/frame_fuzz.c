// SPDX-License-Identifier: BSD-3-Clause
// Any bytes from the agent of another host: mpirun takes or drops each frame, and says only whole
// lines. The bytes come through a pipe, in pieces. So do frames that are well made but mean nothing.
//
// The input: a byte for each step, and what follows it. 0 to 31: a frame of that type, from a host
// and about something, a byte each; 2 bytes of its value, 2 bytes of its length, and its body. A
// byte below 128: so many bytes of the channel, as they are. Others end the piece that is written
// so far.
#include "launch/hosts/frame.h"

#include <fcntl.h>
#include <fuzz/fuzz.h>
#include <fuzz/launcher.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "boot/ctl.h"
#include "launch/loop.h"
#include "launch/watch/watch.h"

enum { HOSTS = 2, PROCS = 3, WORKERS = 4, RANKS = 12, PIECE = 32 << 10 };

typedef struct head {
    mlt_channel channel;
    mlt_watch *watch;
    int to; // what is written here comes through the channel
    bool ended;
    char piece[PIECE];
    size_t length;
} head;

typedef struct input {
    const uint8_t *data;
    size_t size;
} input;

static void take(mlt_channel *channel, const mlt_frame *frame, char *body)
{
    head *h = mlt_container_of(channel, head, channel);
    FUZZ_CHECK(!h->ended && frame->type && frame->type < MLT_FRAME_TYPES);
    FUZZ_CHECK(frame->length <= MLT_FRAME_MOST && body[frame->length] == '\0');
    mlt_frame up = *frame;
    up.to = MLT_FRAME_HEAD;
    mlt_watch_send(h->watch, &up, body);
}

static void ended(mlt_channel *channel, const char *why)
{
    head *h = mlt_container_of(channel, head, channel);
    FUZZ_CHECK(!h->ended);
    h->ended = true;
    fuzz_check_sentence(why, 200);
}

static void preface(mlt_channel *channel, const char *text, size_t bytes)
{
    FUZZ_CHECK(bytes > 0 && !memmem(text, bytes, "\211MltA\r\n\032", 8));
}

static void flush(head *h, int loop)
{
    if (h->length > 0 && !h->ended && write(h->to, h->piece, h->length) > 0)
        mlt_loop_turn();
    h->length = 0;
}

static void put(head *h, int loop, const void *bytes, size_t count)
{
    if (h->length + count > sizeof h->piece)
        flush(h, loop);
    memcpy(h->piece + h->length, bytes, count);
    h->length += count;
}

static void put_frame(head *h, int loop, uint8_t type, input *in)
{
    static char body[4096];
    uint8_t from, about;
    int16_t value;
    uint16_t length;
    fuzz_take(&in->data, &in->size, &from, 1);
    fuzz_take(&in->data, &in->size, &about, 1);
    fuzz_take(&in->data, &in->size, &value, sizeof value);
    fuzz_take(&in->data, &in->size, &length, sizeof length);
    length %= sizeof body;
    fuzz_take(&in->data, &in->size, body, length);
    mlt_ctl record; // as long as its frame says, mostly
    if (type == MLT_FRAME_CTL && length >= sizeof record && from < 128) {
        memcpy(&record, body, sizeof record);
        record.length = (uint32_t)(length - sizeof record);
        memcpy(body, &record, sizeof record);
    }
    mlt_frame frame = {.type = type,
                       .length = length,
                       .from = from,
                       .to = MLT_FRAME_HEAD,
                       .about = about,
                       .value = value};
    put(h, loop, &frame, sizeof frame);
    put(h, loop, body, length);
}

static void step(head *h, int loop, input *in)
{
    uint8_t what;
    char bytes[128];
    fuzz_take(&in->data, &in->size, &what, 1);
    if (what < 32) {
        put_frame(h, loop, what, in);
    } else if (what < sizeof bytes) {
        fuzz_take(&in->data, &in->size, bytes, what);
        put(h, loop, bytes, what);
    } else {
        flush(h, loop);
    }
}

static const mlt_placement *the_plan(void)
{
    static mlt_placement_proc procs[PROCS] = {
        {.workers = 1, .ranks = 1},
        {.host = 1, .first_worker = 1, .workers = 2, .first_rank = 1, .ranks = 10},
        {.host = 1, .first_worker = 3, .workers = 1, .first_rank = 11, .ranks = 1}};
    static mlt_placement_host hosts[HOSTS] = {{.host = {.name = "a"}, .ranks = 1},
                                              {.host = {.name = "b"}, .ranks = 11}};
    static const mlt_placement plan = {.procs = procs,
                                       .proc_count = PROCS,
                                       .workers = WORKERS,
                                       .ranks = RANKS,
                                       .hosts = hosts,
                                       .host_count = HOSTS};
    return &plan;
}

static void play(void *argument)
{
    static head h; // its channel is large
    input *in = argument;
    int there[2], back[2], signals[2], loop = mlt_loop_new();
    FUZZ_CHECK(pipe2(there, O_CLOEXEC | O_NONBLOCK) == 0 && pipe2(back, O_CLOEXEC) == 0);
    FUZZ_CHECK(pipe2(signals, O_CLOEXEC | O_NONBLOCK) == 0);
    const mlt_options options = {.gdb = -1, .timeout_s = 1000};
    mlt_report *report = mlt_report_new(the_plan());
    mlt_path_map map;
    mlt_path_map_init(&map);
    const mlt_watch_conf conf = {.options = &options,
                                 .map = &map,
                                 .plan = the_plan(),
                                 .report = report,
                                 .signal_fd = signals[0],
                                 .guard_fd = -1};
    h = (head){.channel = {.take = take, .preface = preface, .ended = ended},
               .watch = mlt_watch_new(&conf),
               .to = there[1]};
    FUZZ_CHECK(mlt_channel_open(&h.channel, there[0], back[1]));
    uint8_t hello[MLT_FRAME_HELLO_BYTES], first;
    fuzz_take(&in->data, &in->size, &first, 1);
    mlt_frame_hello(hello);
    if (first % 8) // else it must be in the input
        put(&h, loop, hello, sizeof hello);
    while (in->size > 0)
        step(&h, loop, in);
    flush(&h, loop);
    mlt_channel_close(&h.channel);
    mlt_watch_free(h.watch);
    mlt_path_map_fini(&map);
    mlt_report_free(report);
    close(there[1]);
    close(back[0]);
    close(signals[0]);
    close(signals[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, size};
    FUZZ_CHECK(fuzz_run(play, &in));
    size_t said_size;
    const char *said = fuzz_said(&said_size);
    FUZZ_CHECK(said_size == 0 || said[said_size - 1] == '\n');
    fuzz_release();
    return 0;
}
