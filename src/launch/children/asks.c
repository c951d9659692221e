// SPDX-License-Identifier: BSD-3-Clause
#include "launch/children/asks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/list.h"
#include "base/memory.h"
#include "boot/child.h"
#include "launch/loop.h"

enum { ASKS_READ_BYTES = 64 << 10 };

typedef struct asks_ask {
    mlt_list_node link;
    mlt_loop_source source;
    mlt_asks *asks;
    uint32_t proc;
    int64_t number;
    char *request;
    size_t length, room;
    bool told; // the request was whole
} asks_ask;

struct mlt_asks {
    mlt_asks_conf conf;
    mlt_list_node open;
    int64_t last; // number
};

mlt_asks *mlt_asks_new(const mlt_asks_conf *conf)
{
    mlt_asks *asks = mlt_xcalloc(1, sizeof *asks);
    asks->conf = *conf;
    mlt_list_init(&asks->open);
    return asks;
}

static void end(asks_ask *a)
{
    mlt_loop_close(&a->source);
    free(a->request);
    mlt_list_remove(&a->link);
    mlt_loop_free(a);
}

static void asks_refuse(asks_ask *a, const char *why)
{
    char text[256];
    int n = snprintf(text, sizeof text, "%c%s", MLT_CHILD_FELL, why);
    (void)!send(a->source.fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
    end(a);
}

// Nothing more is to be read; the rank's closing of its end comes as a hang-up.
static void asks_tell(asks_ask *a)
{
    a->told = true;
    mlt_loop_remove(&a->source);
    if (!mlt_loop_add(&a->source, 0)) {
        asks_refuse(a, "mpirun cannot wait for events");
        return;
    }
    char *request = a->request;
    a->request = NULL; // an answer may come during the call, and end it
    a->asks->conf.tell(a->asks->conf.user, a->proc, a->number, request, a->length);
    free(request);
}

static void ready(mlt_loop_source *source, uint32_t events)
{
    asks_ask *a = mlt_container_of(source, asks_ask, source);
    if (a->told) {
        end(a);
        return;
    }
    MLT_ARRAY_WANT(a->request, a->length + ASKS_READ_BYTES + 1, a->room);
    ssize_t n = recv(source->fd, a->request + a->length, ASKS_READ_BYTES, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        end(a);
        return;
    }
    a->length += (size_t)n;
    if (a->length > MLT_CHILD_REQUEST_MOST)
        asks_refuse(a, "commands, arguments and info keys take more than 16 MiB");
    else if (n == 0)
        asks_tell(a);
}

void mlt_asks_take(mlt_asks *asks, uint32_t proc, int fd)
{
    asks_ask *a = mlt_xcalloc(1, sizeof *a);
    *a = (asks_ask){
        .source = {.fd = fd, .ready = ready}, .asks = asks, .proc = proc, .number = ++asks->last};
    mlt_list_push_back(&asks->open, &a->link);
    if (!mlt_loop_add(&a->source, EPOLLIN))
        asks_refuse(a, "mpirun cannot wait for events");
}

void mlt_asks_answer(mlt_asks *asks, int64_t number, const char *answer, size_t length)
{
    MLT_LIST_EACH(asks_ask, a, &asks->open, link) {
        if (a->number != number)
            continue;
        (void)!send(a->source.fd, answer, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (length == 0 || answer[0] == MLT_CHILD_FELL)
            end(a);
        return;
    }
}

void mlt_asks_free(mlt_asks *asks)
{
    if (!asks)
        return;
    while (!mlt_list_empty(&asks->open))
        end(mlt_container_of(asks->open.next, asks_ask, link));
    free(asks);
}
