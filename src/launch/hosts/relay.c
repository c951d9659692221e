// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/array.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/table.h"

enum { PIECE = 64 << 10, STREAMS = 4 };

// A pipe, from or to a process.
typedef struct line {
    mlt_loop_source source; // fd -1: closed
    mlt_relay *relay;
    uint32_t proc, stream;
    uint64_t room; // output: bytes that may be sent. Input: bytes that were taken, but not told yet
    char *queue;   // input that the process has not read: queue[start .. start+length)
    size_t start, length, queue_room;
    bool ends;  // input: nothing comes after the queue
    bool early; // input of a process that has not been added yet
} line;

struct mlt_relay {
    mlt_relay_conf conf;
    uint64_t window;
    mlt_table lines; // by process and stream
    uint32_t open;   // output that has not ended
    bool drains;
};

// ---- Lines

static uint32_t relay_hash_of(uint32_t proc, uint32_t stream)
{
    return (proc * STREAMS + stream) * 0x9e3779b1u;
}

// Also one that is closed.
static line *find_any(const mlt_relay *r, uint32_t proc, int64_t stream)
{
    uint32_t hash = relay_hash_of(proc, (uint32_t)stream);
    for (mlt_table_look look = mlt_table_look_for(&r->lines, hash); mlt_table_next(&look);) {
        line *l = (line *)look.word;
        if (l->proc == proc && l->stream == stream)
            return l;
    }
    return NULL;
}

static line *relay_find(const mlt_relay *r, uint32_t proc, int64_t stream)
{
    line *l = find_any(r, proc, stream);
    return l && l->source.fd >= 0 ? l : NULL;
}

static line *new_line(mlt_relay *r, uint32_t proc, uint32_t stream)
{
    line *l = mlt_xcalloc(1, sizeof *l);
    *l = (line){.source = {.fd = -1}, .relay = r, .proc = proc, .stream = stream};
    mlt_table_add(&r->lines, relay_hash_of(proc, stream), (uintptr_t)l);
    return l;
}

static void shut(line *l)
{
    mlt_loop_close(&l->source);
    free(l->queue);
    l->queue = NULL;
    l->length = l->start = l->queue_room = 0;
}

static void relay_tell(const mlt_relay *r, mlt_frame_type type, uint32_t proc, uint32_t stream,
                       const void *body, size_t bytes)
{
    mlt_frame frame = mlt_frame_up(type, r->conf.host, proc, stream, bytes);
    r->conf.send(r->conf.user, &frame, (char *)(uintptr_t)body);
}

// ---- Output

static void end_output(line *l)
{
    shut(l);
    l->relay->open--;
    relay_tell(l->relay, MLT_FRAME_OUTPUT, l->proc, l->stream, NULL, 0);
}

// Sends a piece. False: there is nothing more now.
static bool send_piece(line *l)
{
    char piece[PIECE];
    size_t most = l->room < sizeof piece ? (size_t)l->room : sizeof piece;
    ssize_t n = read(l->source.fd, piece, most);
    if (n < 0 && errno == EINTR)
        return true;
    if (n > 0) {
        l->room -= (uint64_t)n;
        relay_tell(l->relay, MLT_FRAME_OUTPUT, l->proc, l->stream, piece, (size_t)n);
    } else if (n == 0 || errno != EAGAIN || l->relay->drains) {
        end_output(l);
    }
    return n > 0;
}

static void drain_output(line *l)
{
    while (l->source.fd >= 0 && l->room > 0 && send_piece(l))
        ;
}

static void output_ready(mlt_loop_source *source, uint32_t events)
{
    line *l = mlt_container_of(source, line, source);
    (void)send_piece(l);
    if (l->source.fd >= 0 && l->room == 0)
        mlt_loop_remove(source);
}

static void more_room(line *l, const mlt_frame *frame, const char *body)
{
    uint64_t bytes;
    if (frame->length != sizeof bytes) { // nobody reads any more: the process sees a broken pipe
        end_output(l);
        return;
    }
    memcpy(&bytes, body, sizeof bytes);
    l->room = bytes < l->relay->window - l->room ? l->room + bytes : l->relay->window;
    if (l->relay->drains)
        drain_output(l);
    else if (l->room > 0)
        (void)mlt_loop_add(&l->source, EPOLLIN);
}

// ---- Input

static void no_reader(const mlt_relay *r, uint32_t proc)
{
    relay_tell(r, MLT_FRAME_ROOM, proc, 0, NULL, 0);
}

static void tell_taken(line *l)
{
    if (l->room < l->relay->window / 2 && l->length > 0)
        return;
    uint64_t bytes = l->room;
    l->room = 0;
    if (bytes > 0)
        relay_tell(l->relay, MLT_FRAME_ROOM, l->proc, 0, &bytes, sizeof bytes);
}

// As much as the process takes now.
static void relay_feed(line *l)
{
    while (l->length > 0) {
        ssize_t n = write(l->source.fd, l->queue + l->start, l->length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            (void)mlt_loop_add(&l->source, EPOLLOUT);
            tell_taken(l);
            return;
        }
        if (n < 0) {
            no_reader(l->relay, l->proc);
            shut(l);
            return;
        }
        l->start += (size_t)n;
        l->length -= (size_t)n;
        l->room += (uint64_t)n;
    }
    l->start = 0;
    mlt_loop_remove(&l->source);
    tell_taken(l);
    if (l->ends)
        shut(l);
}

static void relay_input_ready(mlt_loop_source *source, uint32_t events)
{
    relay_feed(mlt_container_of(source, line, source));
}

static void take_input(line *l, const char *body, size_t bytes)
{
    if (bytes == 0) {
        l->ends = true;
    } else {
        if (l->start > 0)
            memmove(l->queue, l->queue + l->start, l->length);
        l->start = 0;
        MLT_ARRAY_WANT(l->queue, l->length + bytes, l->queue_room);
        memcpy(l->queue + l->length, body, bytes);
        l->length += bytes;
    }
    if (!l->early)
        relay_feed(l);
}

// Input for a process that may not be there yet, or any more.
static void input_came(mlt_relay *r, const mlt_frame *frame, const char *body)
{
    line *l = find_any(r, frame->about, 0);
    if (!l) {
        l = new_line(r, frame->about, 0);
        l->early = true;
    }
    if (l->early || l->source.fd >= 0)
        take_input(l, body, frame->length);
    else if (frame->length > 0)
        no_reader(r, frame->about);
}

// ---- Calls

mlt_relay *mlt_relay_new(const mlt_relay_conf *conf)
{
    mlt_relay *r = mlt_xcalloc(1, sizeof *r);
    r->conf = *conf;
    r->window = mlt_relay_window(conf->procs);
    return r;
}

void mlt_relay_free(mlt_relay *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->lines.size; i++) {
        if (!r->lines.slots[i].used)
            continue;
        line *l = (line *)r->lines.slots[i].word;
        shut(l);
        free(l);
    }
    mlt_table_free(&r->lines);
    free(r);
}

void mlt_relay_add(mlt_relay *r, uint32_t proc, uint32_t stream, int fd)
{
    line *l = find_any(r, proc, stream);
    if (!l)
        l = new_line(r, proc, stream);
    l->source = (mlt_loop_source){.fd = fd, .ready = stream ? output_ready : relay_input_ready};
    l->early = false;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    if (stream == 0) {
        if (l->length > 0 || l->ends)
            relay_feed(l); // what came early
        return;
    }
    l->room = r->window;
    r->open++;
    (void)mlt_loop_add(&l->source, EPOLLIN);
}

void mlt_relay_take(mlt_relay *r, const mlt_frame *frame, const char *body)
{
    if (frame->type == MLT_FRAME_INPUT && frame->about < r->conf.procs && !r->drains) {
        input_came(r, frame, body);
        return;
    }
    line *l = frame->type == MLT_FRAME_ROOM ? relay_find(r, frame->about, frame->value) : NULL;
    if (l && l->stream != 0)
        more_room(l, frame, body);
}

void mlt_relay_hear(mlt_relay *r, uint32_t proc)
{
    for (uint32_t stream = 1; stream < STREAMS; stream++) {
        line *l = relay_find(r, proc, stream);
        if (l)
            drain_output(l);
    }
}

void mlt_relay_drain(mlt_relay *r)
{
    r->drains = true;
    for (size_t i = 0; i < r->lines.size; i++) {
        if (!r->lines.slots[i].used)
            continue;
        line *l = (line *)r->lines.slots[i].word;
        mlt_loop_remove(&l->source);
        if (l->stream != 0)
            drain_output(l);
        else
            shut(l);
    }
}

bool mlt_relay_drained(const mlt_relay *r)
{
    return r->drains && r->open == 0;
}
