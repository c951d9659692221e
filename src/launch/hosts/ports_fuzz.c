// SPDX-License-Identifier: BSD-3-Clause
// Ranks ask an agent for ports and connections, in any order and with any numbers: every question is
// answered once, in a known way, and the job is lost with a sentence or not at all. The agent connects
// with itself, over the loopback interface; nothing that the input says is dialled.
//
// The input: a byte for each step: its lower 2 bits are the rpc, the others what is done there.
#include "launch/hosts/ports.h"

#include <fuzz/fuzz.h>
#include <fuzz/launcher.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot/rpc.h"
#include "launch/loop.h"
#include "net/card.h"
#include "net/crypt.h"
#include "os/fd.h"

enum { DESKS = 4, MOST_BODY = 512, MOST_PORTS = 2, MOST_BONDS = 2 };

typedef struct window { // this side of an rpc
    int fd;             // -1: there is none
    mlt_rpc_in in;
    uint32_t asked, answered;
    int line;
} window;

typedef struct play {
    mlt_ports *ports;
    int loop;
    window rpc[DESKS];
    char port[MLT_PORT_NAME_MOST]; // the last one that was opened
    uint32_t port_count, bond_count;
    mlt_rpc_line line; // the last one that was given
    uint8_t card[MLT_CARD_BYTES];
    uint32_t card_bytes;
} play;

typedef struct input {
    const uint8_t *data;
    size_t size;
} input;

static uint8_t take(input *in)
{
    uint8_t byte;
    fuzz_take(&in->data, &in->size, &byte, 1);
    return byte;
}

static void link_made(void *user, uint32_t proc, const mlt_ctl_link *link, int fd)
{
    FUZZ_CHECK(link->bond && fd >= 0);
}

static void lost(void *user, const char *text)
{
    FUZZ_CHECK(text && *text);
}

// ---- answers

static void note_answer(play *p, window *w, const mlt_rpc_head *head)
{
    const unsigned char *body = mlt_rpc_body(&w->in);
    switch ((mlt_rpc_type)head->type) {
    case MLT_RPC_NAME:
        FUZZ_CHECK(head->length > 0 && head->length < sizeof p->port);
        memcpy(p->port, body, head->length + 1);
        break;
    case MLT_RPC_LINE:
        FUZZ_CHECK(head->length == sizeof p->line && w->in.fd >= 0);
        memcpy(&p->line, body, sizeof p->line);
        if (w->line >= 0)
            close(w->line);
        w->line = w->in.fd;
        w->in.fd = -1;
        break;
    case MLT_RPC_CARD:
        FUZZ_CHECK(head->length > 0 && head->length <= sizeof p->card);
        memcpy(p->card, body, head->length);
        p->card_bytes = head->length;
        break;
    case MLT_RPC_ERROR:
        FUZZ_CHECK(head->length > 0 && strlen((const char *)body) == head->length);
        break;
    default:
        FUZZ_CHECK(head->type == MLT_RPC_DONE && head->length == 0);
    }
    FUZZ_CHECK(++w->answered <= w->asked);
}

static void turn(play *p)
{
    struct pollfd look = {.fd = p->loop, .events = POLLIN};
    mlt_rpc_head head;
    while (mlt_os_poll(&look, 1, 0) > 0)
        mlt_loop_turn();
    for (window *w = p->rpc; w < p->rpc + DESKS; w++)
        while (w->fd >= 0 && mlt_rpc_hear(w->fd, &w->in, &head) == MLT_OK)
            note_answer(p, w, &head);
}

// ---- questions

static void leave(window *w)
{
    if (w->fd >= 0)
        close(w->fd);
    if (w->line >= 0)
        close(w->line);
    mlt_rpc_in_fini(&w->in);
    *w = (window){.fd = -1, .in = {.fd = -1}, .line = -1};
}

static void come(play *p, window *w)
{
    int pair[2];
    leave(w);
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    w->fd = pair[0];
    mlt_ports_rpc(p->ports, (uint32_t)(w - p->rpc), pair[1]);
}

static void ask(play *p, window *w, mlt_rpc_type type, const void *body, size_t length)
{
    if (w->fd < 0)
        come(p, w);
    w->asked++;
    FUZZ_CHECK(mlt_rpc_say(w->fd, type, body, length, -1) == MLT_OK);
    turn(p);
}

static void ask_anything(play *p, window *w, input *in)
{
    char body[MOST_BODY + 1];
    uint8_t type = take(in), length = take(in);
    mlt_port_name name;
    fuzz_take(&in->data, &in->size, body, length);
    body[length] = '\0';
    if (type == MLT_RPC_OPEN || (type == MLT_RPC_CONNECT && mlt_port_name_read(&name, body)))
        return;
    ask(p, w, type, body, length);
}

static void ask_join(play *p, window *w, input *in)
{
    uint32_t words[(sizeof(mlt_rpc_bond) + MOST_BODY) / sizeof(uint32_t)];
    mlt_rpc_bond about = {.bond = p->line.bond, .encrypts = take(in) & 1};
    mlt_rpc_run *runs = (mlt_rpc_run *)(void *)((char *)words + sizeof about);
    memcpy(about.sealed, p->line.sealed, sizeof about.sealed);
    about.procs = take(in);
    about.hosts = take(in);
    about.own_proc = take(in);
    about.own_host = take(in);
    about.runs = take(in) % 16;
    fuzz_take(&in->data, &in->size, about.other, take(in) % sizeof about.other);
    for (uint32_t i = 0; i < about.runs; i++)
        runs[i] = (mlt_rpc_run){.host = take(in), .procs = take(in)};
    uint8_t wrong = take(in);
    if (wrong & 128)
        about.sealed[wrong % MLT_RPC_SEALED] ^= 1;
    memcpy(words, &about, sizeof about);
    if (p->bond_count++ < MOST_BONDS)
        ask(p, w, MLT_RPC_JOIN, words, sizeof about + about.runs * sizeof *runs);
}

static void ask_learn(play *p, window *w, input *in)
{
    uint8_t body[sizeof(uint64_t) + sizeof(mlt_rpc_card) + MLT_CARD_BYTES] = {0};
    mlt_rpc_card about = {.host = take(in), .bytes = p->card_bytes};
    uint8_t cut = take(in);
    memcpy(body, &p->line.bond, sizeof p->line.bond);
    memcpy(body + sizeof p->line.bond, &about, sizeof about);
    memcpy(body + sizeof p->line.bond + sizeof about, p->card, p->card_bytes);
    size_t length = sizeof p->line.bond + sizeof about + ((about.bytes + 3u) & ~(size_t)3);
    ask(p, w, MLT_RPC_LEARN, body, cut < length ? length - cut : 0);
}

static void say_on_line(window *w, input *in)
{
    char words[256];
    uint8_t length = take(in);
    fuzz_take(&in->data, &in->size, words, length);
    if (w->line >= 0 && length)
        (void)!send(w->line, words, length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void step(play *p, input *in)
{
    enum {
        COME,
        LEAVE,
        OPEN,
        CLOSE,
        ACCEPT,
        CONNECT,
        JOIN,
        LEARN,
        WATCH,
        ANY,
        LINE,
        WANT,
        PARTED,
        GONE,
        FAIL,
        WHATS
    };
    uint8_t what = take(in);
    window *w = &p->rpc[what % DESKS];
    switch (what / DESKS % WHATS) {
    case COME:
        come(p, w);
        break;
    case LEAVE:
        leave(w);
        break;
    case OPEN:
        if (p->port_count++ < MOST_PORTS)
            ask(p, w, MLT_RPC_OPEN, NULL, 0);
        break;
    case CLOSE:
        ask(p, w, MLT_RPC_CLOSE, p->port, strlen(p->port));
        break;
    case ACCEPT:
        ask(p, w, MLT_RPC_ACCEPT, p->port, strlen(p->port));
        break;
    case CONNECT:
        ask(p, w, MLT_RPC_CONNECT, p->port, strlen(p->port));
        break;
    case JOIN:
        ask_join(p, w, in);
        break;
    case LEARN:
        ask_learn(p, w, in);
        break;
    case WATCH:
        ask(p, w, MLT_RPC_WATCH, &p->line.bond, sizeof p->line.bond);
        break;
    case ANY:
        ask_anything(p, w, in);
        break;
    case LINE:
        say_on_line(w, in);
        break;
    case WANT:
        mlt_ports_want(p->ports, what % DESKS, p->line.bond, (int8_t)take(in));
        break;
    case PARTED:
        mlt_ports_parted(p->ports, what % DESKS, p->line.bond);
        break;
    case GONE:
        mlt_ports_gone(p->ports, what % DESKS, take(in) & 1);
        break;
    default:
        break;
    }
    turn(p);
}

static void run(void *argument)
{
    input *in = argument;
    static play p;
    const mlt_options options = {.iface = "lo", .silent_ms = 10000};
    int loop = mlt_loop_new();
    p = (play){.loop = loop};
    for (int i = 0; i < DESKS; i++)
        p.rpc[i] = (window){.fd = -1, .in = {.fd = -1}, .line = -1};
    p.ports = mlt_ports_new(
        &(mlt_ports_conf){.options = &options, .name = "here", .link = link_made, .lost = lost});
    uint8_t ends = take(in);
    while (in->size > 0)
        step(&p, in);
    mlt_ports_free(p.ports, ends & 1 ? "it was killed" : NULL);
    for (int i = 0; i < DESKS; i++)
        leave(&p.rpc[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, size};
    char why[512];
    if (mlt_crypt_load(why, sizeof why) != MLT_OK)
        exit(77); // there is no libsodium
    FUZZ_CHECK(fuzz_run(run, &in));
    fuzz_release();
    return 0;
}
