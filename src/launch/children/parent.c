// SPDX-License-Identifier: BSD-3-Clause
#include "launch/children/parent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "boot/lists.h"
#include "launch/children/task.h"
#include "launch/hosts/frame.h"
#include "launch/say.h"
#include "launch/watch/watch.h"
#include "os/fd.h"

enum { PARENT_READ_BYTES = 64 << 10, PARENT_LAST_WORDS_MS = 500, WHY_MOST = 16 << 10 };

struct mlt_parent {
    mlt_watch *watch;
    mlt_channel channel;
    int fd;
    mlt_lists task; // the options' words
    mlt_text said;  // lines
    bool born, opened;
};

static mlt_parent *parent_self; // for messages

// ---- Messages

static void parent_collect(const char *text)
{
    mlt_text_add(&parent_self->said, "%s\n", text);
}

static void write_all(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t n = send(fd, at, count, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd room = {.fd = fd, .events = POLLOUT};
            if (poll(&room, 1, PARENT_LAST_WORDS_MS) <= 0)
                return;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; // nobody is there
        at += n;
        count -= (size_t)n;
    }
}

static void parent_send_up(mlt_parent *e, const mlt_frame *frame, const void *body)
{
    uint8_t hello[MLT_FRAME_HELLO_BYTES];
    if (e->opened) {
        mlt_channel_send(&e->channel, frame, body);
        mlt_channel_flush(&e->channel, PARENT_LAST_WORDS_MS);
        return;
    }
    mlt_frame_hello(hello);
    write_all(e->fd, hello, sizeof hello);
    write_all(e->fd, frame, sizeof *frame);
    write_all(e->fd, body, frame->length);
}

static void fall(mlt_parent *e, int code)
{
    size_t length = e->said.length < WHY_MOST ? e->said.length : WHY_MOST;
    mlt_frame frame = {.type = MLT_FRAME_FELL, .length = (uint32_t)length, .value = code};
    parent_send_up(e, &frame, mlt_text_so_far(&e->said));
}

static void parent_quit(int code, const char *text)
{
    parent_collect(text);
    fall(parent_self, code);
}

// ---- The task

// The bytes so far hold a whole frame: true, and what is behind it stays.
static bool find_task(mlt_parent *e, const char *bytes, size_t count)
{
    char version[32];
    mlt_frame frame;
    size_t at;
    mlt_frame_found found = mlt_frame_seek(bytes, count, &at, version);
    if (found == MLT_FRAME_MORE)
        return false;
    at += MLT_FRAME_HELLO_BYTES;
    int64_t size = found == MLT_FRAME_FOUND ? mlt_frame_next(bytes + at, count - at, &frame) : -1;
    if (size == 0)
        return false;
    if (size < 0 || frame.type != MLT_FRAME_CHILD ||
        !mlt_lists_unpack(&e->task, bytes + at + sizeof frame, frame.length))
        mlt_quit(MLT_EXIT_SYSTEM, "the mpirun above has sent no task");
    return true;
}

// Nothing else is sent before the job is born, but TIME, which comes with the end of this one.
static void read_task(mlt_parent *e)
{
    char *bytes = NULL;
    size_t count = 0, room = 0;
    do {
        MLT_ARRAY_WANT(bytes, count + PARENT_READ_BYTES, room);
        ssize_t n = read(e->fd, bytes + count, PARENT_READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            exit(MLT_EXIT_FAILED); // the mpirun above is gone: nobody is there to be told
        count += (size_t)n;
    } while (!find_task(e, bytes, count));
    free(bytes);
}

mlt_parent *mlt_parent_join(int fd, mlt_options *out)
{
    mlt_parent *e = parent_self = mlt_xcalloc(1, sizeof *e);
    e->fd = fd;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    mlt_say_to(parent_collect, parent_quit);
    read_task(e);
    mlt_say_as(e->task.count ? e->task.items[0][0] : NULL);
    mlt_child_task_read(&e->task, out);
    return e;
}

// ---- The channel

static void parent_take(mlt_channel *channel, const mlt_frame *frame, char *body)
{
    mlt_parent *e = mlt_container_of(channel, mlt_parent, channel);
    if (frame->type == MLT_FRAME_TIME && frame->value >= 0)
        mlt_watch_time_over(e->watch, (double)frame->value / 1000);
    else if (frame->type == MLT_FRAME_FAILS)
        mlt_watch_child_fails(e->watch);
}

static void parent_channel_ended(mlt_channel *channel, const char *why)
{
    mlt_parent *e = mlt_container_of(channel, mlt_parent, channel);
    mlt_watch_abandon(e->watch);
}

void mlt_parent_watch(mlt_parent *e, mlt_watch *watch)
{
    int other = fcntl(e->fd, F_DUPFD_CLOEXEC, 0);
    e->watch = watch;
    e->channel = (mlt_channel){.take = parent_take, .ended = parent_channel_ended, .greeted = true};
    if (other < 0 || !mlt_channel_open(&e->channel, e->fd, other))
        mlt_quit(MLT_EXIT_SYSTEM, "cannot wait for events: %s", mlt_os_no_descriptor(errno));
    e->opened = true;
}

void mlt_parent_born(mlt_parent *e, const mlt_placement *plan)
{
    mlt_texts where = {NULL, 0};
    for (uint32_t h = 0; h < plan->host_count; h++) {
        mlt_texts_add(&where, mlt_text_of("%s", plan->hosts[h].host.name));
        mlt_texts_add(&where, mlt_text_of("%u", plan->hosts[h].workers));
    }
    size_t size;
    char *body = mlt_lists_pack(&(mlt_lists){.items = &where.items, .count = 1}, &size);
    mlt_frame frame = {.type = MLT_FRAME_BORN, .length = body ? (uint32_t)size : 0};
    e->born = true;
    mlt_say_to(NULL, NULL);
    parent_send_up(e, &frame, body);
    char *at = e->said.text, *end;
    for (; at && (end = strchr(at, '\n')); at = end + 1) // notes
        mlt_say("%.*s", (int)(end - at), at);
    mlt_text_free(&e->said);
    mlt_texts_free(&where);
    free(body);
}

void mlt_parent_fails(mlt_parent *e)
{
    mlt_frame frame = {.type = MLT_FRAME_FAILS};
    parent_send_up(e, &frame, NULL);
}

void mlt_parent_end(mlt_parent *e, int code)
{
    if (!e->born)
        fall(e, code);
    mlt_say_to(NULL, NULL);
    mlt_channel_close(&e->channel);
}
