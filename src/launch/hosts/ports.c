// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "boot/rpc.h"
#include "launch/hosts/broker.h"
#include "launch/hosts/connections.h"
#include "launch/loop.h"
#include "launch/say.h"
#include "net/crypt.h"
#include "net/dial.h"
#include "net/iface.h"
#include "net/listen.h"
#include "os/fd.h"
#include "os/os.h"
#include "os/tcp.h"

enum {
    ACCEPTS = 0,        // the number of a port's side in the greeting
    CONNECTS = 1,       // ... and of the other one
    MOST_WAITS = 64,    // connections that wait for an accept
    PORTS_WORDS = 1024, // of a job that has died
};

static const char in_order[] = "B"; // what a line says last

typedef struct port {
    mlt_list_node link;
    mlt_ports *ports;
    mlt_loop_source source;
    uint32_t proc;
    mlt_port_name name;
    mlt_greet_self self;
    mlt_listen *listen;
    const char *failed; // why it is closed; NULL: it is open
    struct waiting {
        int fd;
        mlt_key key;
    } waits[MOST_WAITS];
    uint32_t count;
} port;

typedef struct rpc {
    mlt_list_node link;
    mlt_ports *ports;
    mlt_loop_source source;
    uint32_t proc;
    mlt_rpc_in in;
    port *accepts; // that it waits at; NULL: none
    // A dial under way.
    mlt_loop_source dialling;
    mlt_dial *dial;
    mlt_greet_self self;
    mlt_key key;
} rpc;

typedef struct bond {
    mlt_list_node link;
    mlt_ports *ports;
    uint64_t number;
    mlt_key key;
    mlt_loop_source line; // fd -1: it is another host's, or the other side has left in order
    mlt_broker *broker;   // NULL: nobody has joined
    const rpc *maker;     // whose line it is, until it is watched
    uint32_t own_proc, procs;
    uint32_t *members; // processes of this host that have joined
    uint32_t count, room;
    bool watched;
    char other[MLT_RPC_OTHER];
    char words[PORTS_WORDS]; // that the line said
    size_t said;
} bond;

struct mlt_ports {
    mlt_ports_conf conf;
    mlt_key own_key; // if the job has none
    mlt_iface_filter iface;
    mlt_iface_ports range;
    mlt_list_node ports, desks, bonds;
    mlt_loop_timer timer;
    bool ending;
};

static void alarm_next(mlt_ports *p);

// ---- keys

// The two keys of a greeting make one that both sides have, and its number.
static void make_key(mlt_key *key, const mlt_crypt_keys *keys, bool dials)
{
    static const char label[] = "millet bond key";
    const mlt_key *there = dials ? &keys->send : &keys->receive;
    const mlt_key *back = dials ? &keys->receive : &keys->send;
    mlt_crypt_piece pieces[] = {{label, sizeof label}, {back->bytes, sizeof back->bytes}};
    mlt_crypt_hash(key->bytes, there, pieces, 2);
}

static uint64_t number_of(const mlt_key *key)
{
    static const char label[] = "millet bond number";
    uint8_t hash[MLT_CRYPT_HASH];
    uint64_t number;
    mlt_crypt_hash(hash, key, &(mlt_crypt_piece){label, sizeof label}, 1);
    memcpy(&number, hash, sizeof number);
    return number ? number : 1;
}

static const mlt_key *job_key(const mlt_ports *p)
{
    return p->conf.key ? p->conf.key : &p->own_key;
}

// Only agents that know the key `under` can open it: nonce, the key under a hash of that, a hash of
// both.
_Static_assert(MLT_RPC_SEALED == 3 * MLT_KEY_BYTES, "nonce, key, proof");

static void mask_of(const mlt_key *under, const uint8_t *nonce, uint8_t mask[MLT_CRYPT_HASH])
{
    static const char label[] = "millet seal of a bond";
    mlt_crypt_piece pieces[] = {{label, sizeof label}, {nonce, MLT_KEY_BYTES}};
    mlt_crypt_hash(mask, under, pieces, 2);
}

static void proof_of(const mlt_key *under, const uint8_t *sealed, uint8_t proof[MLT_CRYPT_HASH])
{
    static const char label[] = "millet proof of a bond";
    mlt_crypt_piece pieces[] = {{label, sizeof label}, {sealed, 2 * (size_t)MLT_KEY_BYTES}};
    mlt_crypt_hash(proof, under, pieces, 2);
}

static bool seal(const mlt_key *under, const mlt_key *key, uint8_t sealed[MLT_RPC_SEALED])
{
    uint8_t mask[MLT_CRYPT_HASH];
    if (mlt_os_random(sealed, MLT_KEY_BYTES) != MLT_OK)
        return false;
    mask_of(under, sealed, mask);
    for (int i = 0; i < MLT_KEY_BYTES; i++)
        sealed[MLT_KEY_BYTES + i] = key->bytes[i] ^ mask[i];
    proof_of(under, sealed, sealed + 2 * (size_t)MLT_KEY_BYTES);
    explicit_bzero(mask, sizeof mask);
    return true;
}

static bool unseal(const mlt_key *under, const uint8_t sealed[MLT_RPC_SEALED], mlt_key *key)
{
    uint8_t mask[MLT_CRYPT_HASH], proof[MLT_CRYPT_HASH];
    proof_of(under, sealed, proof);
    if (!mlt_crypt_same(proof, sealed + 2 * (size_t)MLT_KEY_BYTES, sizeof proof))
        return false;
    mask_of(under, sealed, mask);
    for (int i = 0; i < MLT_KEY_BYTES; i++)
        key->bytes[i] = sealed[MLT_KEY_BYTES + i] ^ mask[i];
    explicit_bzero(mask, sizeof mask);
    return true;
}

// ---- desks

static void ports_answer(rpc *d, mlt_rpc_type type, const void *body, size_t length, int pass)
{
    (void)!mlt_rpc_say(d->source.fd, type, body, length, pass); // a rank that is gone needs none
}

static void ports_fail(rpc *d, const char *text)
{
    ports_answer(d, MLT_RPC_ERROR, text, strlen(text), -1);
}

static void ports_end_dial(rpc *d)
{
    if (!d->dial)
        return;
    mlt_loop_remove(&d->dialling);
    mlt_dial_free(d->dial);
    d->dial = NULL;
    mlt_key_wipe(&d->key);
}

static void end_bond(bond *b);

// A bond that was never watched goes with its maker, unless processes have joined it. Its line ends in
// any case: the root of the other side may wait there for what this one would have said.
static void leave_bonds(rpc *d)
{
    MLT_LIST_EACH_SAFE(bond, b, &d->ports->bonds, link) {
        if (b->maker != d)
            continue;
        b->maker = NULL;
        if (!b->watched && !b->count)
            end_bond(b);
        else if (!b->watched)
            mlt_loop_close(&b->line);
    }
}

static void close_rpc(rpc *d)
{
    ports_end_dial(d);
    leave_bonds(d);
    mlt_loop_close(&d->source);
    mlt_rpc_in_fini(&d->in);
    mlt_list_remove(&d->link);
    alarm_next(d->ports);
    mlt_loop_free(d);
}

static bond *new_bond(mlt_ports *p, const mlt_key *key);

// The two sides have greeted: the root gets the line, and the bond's key for the others.
static void give_line(rpc *d, int fd, const mlt_key *key)
{
    mlt_rpc_line line;
    memset(&line, 0, sizeof line);
    bond *b = new_bond(d->ports, key);
    line.bond = b->number;
    line.encrypts = d->ports->conf.options->encrypt;
    b->line.fd = fd;
    b->maker = d;
    if (seal(job_key(d->ports), key, line.sealed))
        ports_answer(d, MLT_RPC_LINE, &line, sizeof line, fd);
    else
        ports_fail(d, "the system has no random bytes");
}

// ---- ports

static port *find_port(mlt_ports *p, const char *text)
{
    mlt_port_name name;
    if (!mlt_port_name_read(&name, text))
        return NULL;
    MLT_LIST_EACH(port, at, &p->ports, link)
        if (at->name.number == name.number &&
            mlt_crypt_same(at->name.key.bytes, name.key.bytes, MLT_KEY_BYTES))
            return at;
    return NULL;
}

// Connections that wait, and desks that wait for them.
static void serve_port(port *at)
{
    mlt_ports *p = at->ports;
    MLT_LIST_EACH(rpc, d, &p->desks, link) {
        if (d->accepts != at)
            continue;
        if (at->failed) {
            d->accepts = NULL;
            ports_fail(d, at->failed);
        } else if (at->count) {
            struct waiting first = at->waits[0];
            memmove(at->waits, at->waits + 1, --at->count * sizeof *at->waits);
            d->accepts = NULL;
            give_line(d, first.fd, &first.key);
            mlt_key_wipe(&first.key);
        }
    }
}

static void ports_accept_all(port *at, uint64_t now_ns)
{
    mlt_net_peer peer;
    while (mlt_listen_step(at->listen, now_ns, &peer) == MLT_OK) {
        if (at->count == MOST_WAITS || peer.process != CONNECTS) {
            close(peer.fd);
        } else {
            struct waiting *w = &at->waits[at->count++];
            w->fd = peer.fd;
            make_key(&w->key, &peer.keys, false);
        }
        explicit_bzero(&peer.keys, sizeof peer.keys);
    }
    serve_port(at);
}

static void port_ready(mlt_loop_source *source, uint32_t events)
{
    port *at = mlt_container_of(source, port, source);
    ports_accept_all(at, mlt_os_now_ns());
    alarm_next(at->ports);
}

static void close_port(port *at, const char *why)
{
    at->failed = why;
    serve_port(at);
    for (uint32_t i = 0; i < at->count; i++)
        close(at->waits[i].fd);
    explicit_bzero(at->waits, sizeof at->waits);
    at->count = 0;
    mlt_loop_remove(&at->source);
    mlt_listen_free(at->listen);
    at->listen = NULL;
    mlt_key_wipe(&at->name.key);
    mlt_list_remove(&at->link);
    alarm_next(at->ports);
    mlt_loop_free(at);
}

static mlt_status listen_at(port *at, char *why, size_t why_size)
{
    mlt_ports *p = at->ports;
    mlt_port_name *n = &at->name;
    mlt_status status = mlt_crypt_load(why, why_size);
    if (status == MLT_OK)
        status = mlt_key_new(&n->key, why, why_size);
    if (status == MLT_OK && mlt_os_random(&n->number, sizeof n->number) != MLT_OK)
        status = MLT_ERR_SYSTEM;
    if (status == MLT_OK)
        status = mlt_iface_addresses(n->addresses, &n->count, &p->iface, false, why, why_size);
    if (status != MLT_OK)
        return status;
    at->self = mlt_greet_self_of(&n->key, n->number, ACCEPTS, true);
    mlt_listen_plan plan = {.self = &at->self,
                            .ports = p->range,
                            .addresses = n->addresses,
                            .address_count = n->count,
                            .strangers = MLT_LISTEN_STRANGERS,
                            .greet_ms = MLT_LISTEN_GREET_MS,
                            .gone_ms = (uint32_t)p->conf.options->silent_ms};
    status = mlt_listen_new(&at->listen, &plan, why, why_size);
    if (status == MLT_OK)
        n->port = mlt_listen_port(at->listen);
    return status;
}

static void open_port(rpc *d)
{
    mlt_ports *p = d->ports;
    char why[512] = "the system refuses another descriptor", name[MLT_PORT_NAME_MOST];
    port *at = mlt_xcalloc(1, sizeof *at);
    at->ports = p;
    at->proc = d->proc;
    if (listen_at(at, why, sizeof why) == MLT_OK) {
        at->source = (mlt_loop_source){.fd = mlt_listen_poll(at->listen).fd, .ready = port_ready};
        if (mlt_loop_add(&at->source, EPOLLIN)) {
            mlt_list_push_back(&p->ports, &at->link);
            mlt_port_name_write(name, &at->name);
            ports_answer(d, MLT_RPC_NAME, name, strlen(name), -1);
            alarm_next(p);
            return;
        }
        mlt_listen_free(at->listen);
    }
    free(at);
    ports_fail(d, why);
}

static void take_close(rpc *d, const char *name)
{
    port *at = find_port(d->ports, name);
    if (!at) {
        ports_fail(d, "no such port is open here");
        return;
    }
    close_port(at, "the port was closed");
    ports_answer(d, MLT_RPC_DONE, NULL, 0, -1);
}

static void take_accept(rpc *d, const char *name)
{
    port *at = find_port(d->ports, name);
    if (!at) {
        ports_fail(
            d, "no such port is open on the root's host: it was closed, its process has ended, or "
               "the name is another job's or another host's");
        return;
    }
    d->accepts = at;
    serve_port(at);
}

// ---- connecting

static void step_dial(rpc *d)
{
    mlt_net_peer peer;
    mlt_status status = mlt_dial_step(d->dial, mlt_os_now_ns(), &peer);
    if (status == MLT_PENDING)
        return;
    if (status == MLT_OK) {
        mlt_key key;
        make_key(&key, &peer.keys, true);
        explicit_bzero(&peer.keys, sizeof peer.keys);
        ports_end_dial(d);
        give_line(d, peer.fd, &key);
        mlt_key_wipe(&key);
        return;
    }
    mlt_text text = {0};
    mlt_text_add(&text,
                 "nobody answers as the port should: it was closed, its job has ended, or the "
                 "name is wrong");
    mlt_text table = {0};
    mlt_dial_tell(d->dial, &table);
    if (table.text)
        mlt_text_add(&text, "\n%s", table.text);
    ports_end_dial(d);
    ports_fail(d, mlt_text_so_far(&text));
    mlt_text_free(&text);
    mlt_text_free(&table);
}

static void ports_dial_ready(mlt_loop_source *source, uint32_t events)
{
    rpc *d = mlt_container_of(source, rpc, dialling);
    if (d->dial)
        step_dial(d);
    alarm_next(d->ports);
}

static void take_connect(rpc *d, const char *text)
{
    mlt_ports *p = d->ports;
    mlt_port_name name;
    char why[512];
    mlt_address own[MLT_ADDRESSES], likely[2 * MLT_ADDRESSES];
    uint32_t own_count = 0;
    if (!mlt_port_name_read(&name, text)) {
        ports_fail(d, "that is no name of a port");
        return;
    }
    if (d->dial || mlt_crypt_load(why, sizeof why) != MLT_OK) {
        ports_fail(d, d->dial ? "it asks while its last question is not answered" : why);
        return;
    }
    if (mlt_iface_addresses(own, &own_count, &p->iface, false, why, sizeof why) != MLT_OK)
        own_count = 0;
    uint32_t count =
        mlt_address_likely(likely, 2 * MLT_ADDRESSES, own, own_count, name.addresses, name.count);
    d->key = name.key;
    mlt_key_wipe(&name.key);
    d->self = mlt_greet_self_of(&d->key, name.number, CONNECTS, true);
    mlt_dial_plan plan = {.self = &d->self,
                          .wanted = ACCEPTS,
                          .addresses = likely,
                          .count = count,
                          .port = name.port,
                          .each_ms = MLT_DIAL_MS,
                          .gone_ms = (uint32_t)p->conf.options->silent_ms};
    if (mlt_dial_new(&d->dial, &plan, why, sizeof why) != MLT_OK) {
        d->dial = NULL;
        ports_fail(d, why);
        return;
    }
    d->dialling = (mlt_loop_source){.fd = mlt_dial_poll(d->dial).fd, .ready = ports_dial_ready};
    (void)mlt_loop_add(&d->dialling, EPOLLIN);
    step_dial(d);
    alarm_next(p);
}

// ---- bonds

static bond *find_bond(mlt_ports *p, uint64_t number)
{
    MLT_LIST_EACH(bond, b, &p->bonds, link)
        if (b->number == number)
            return b;
    return NULL;
}

static void line_ready(mlt_loop_source *source, uint32_t events);

static bond *new_bond(mlt_ports *p, const mlt_key *key)
{
    uint64_t number = number_of(key);
    bond *b = find_bond(p, number);
    if (b && b->line.fd < 0)
        return b; // processes have joined it
    b = mlt_xcalloc(1, sizeof *b);
    b->ports = p;
    b->key = *key;
    b->number = number;
    b->line = (mlt_loop_source){.fd = -1, .ready = line_ready};
    mlt_list_push_back(&p->bonds, &b->link);
    return b;
}

static void end_bond(bond *b)
{
    if (b->line.fd >= 0 && b->watched)
        (void)!send(b->line.fd, in_order, sizeof in_order - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    mlt_loop_close(&b->line);
    mlt_broker_free(b->broker);
    mlt_key_wipe(&b->key);
    free(b->members);
    mlt_list_remove(&b->link);
    mlt_loop_free(b);
}

// The other side has ended, and not in order.
static void part_by_force(bond *b)
{
    mlt_ports *p = b->ports;
    mlt_loop_close(&b->line);
    if (!b->count || p->ending)
        return;
    b->words[b->said] = '\0';
    for (char *c = b->words; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
            *c = ' ';
    char *text = mlt_text_of("the job that this one is connected with, %s, has ended without "
                             "MPI_Comm_disconnect%s%s",
                             b->other, b->said > 1 ? ": " : "", b->said > 1 ? b->words + 1 : "");
    p->conf.lost(p->conf.user, text);
    free(text);
}

// The other side has said by the line that it goes.
static bool has_left(const bond *b)
{
    return b->said && b->words[0] == in_order[0];
}

static void line_ready(mlt_loop_source *source, uint32_t events)
{
    bond *b = mlt_container_of(source, bond, line);
    if (b->line.fd < 0)
        return;
    ssize_t n = recv(b->line.fd, b->words + b->said, sizeof b->words - 1 - b->said, MSG_DONTWAIT);
    if (n > 0)
        b->said += (size_t)n;
    if (has_left(b))
        mlt_loop_close(&b->line);
    else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) ||
             b->said == sizeof b->words - 1)
        part_by_force(b);
}

static void ports_link_made(void *user, uint32_t proc, const mlt_ctl_link *link, int fd)
{
    bond *b = user;
    mlt_ctl_link about = *link;
    about.bond = b->number;
    b->ports->conf.link(b->ports->conf.user, proc - b->own_proc, &about, fd);
    explicit_bzero(&about, sizeof about);
    close(fd);
}

static void ports_link_failed(void *user, uint32_t proc, uint32_t peer, const char *text)
{
    bond *b = user;
    char *whole =
        has_left(b)
            ? mlt_text_of("the job that this one is connected with, %s, has ended; this one still "
                          "sends to it, or waits for a message from it (MPI_Comm_disconnect tells "
                          "both when the other is through)",
                          b->other)
            : mlt_text_of("no connection to the other job, %s: %s", b->other, text);
    b->ports->conf.lost(b->ports->conf.user, whole);
    free(whole);
}

// The hosts of all processes, out of the runs. NULL: they do not fit.
static uint32_t *read_runs(const mlt_rpc_bond *about, const unsigned char *at, size_t length)
{
    mlt_rpc_run run;
    uint64_t procs = 0;
    if (about->procs > MLT_JOB_MAX_ALL_WORKERS || about->hosts > MLT_JOB_MAX_ALL_WORKERS ||
        about->own_host >= about->hosts || about->own_proc >= about->procs ||
        length != (uint64_t)about->runs * sizeof run)
        return NULL;
    uint32_t *host_of = mlt_xcalloc(about->procs, sizeof *host_of);
    for (uint32_t i = 0; i < about->runs; i++) {
        memcpy(&run, at + i * sizeof run, sizeof run);
        if (run.host >= about->hosts || procs + run.procs > about->procs) {
            free(host_of);
            return NULL;
        }
        for (uint32_t k = 0; k < run.procs; k++)
            host_of[procs++] = run.host;
    }
    if (procs == about->procs)
        return host_of;
    free(host_of);
    return NULL;
}

static const char *make_broker(bond *b, const mlt_rpc_bond *about, const uint32_t *host_of,
                               char *why, size_t why_size)
{
    mlt_ports *p = b->ports;
    mlt_broker_conf conf = {.host_of = host_of,
                            .procs = about->procs,
                            .hosts = about->hosts,
                            .host = about->own_host,
                            .job = b->number,
                            .key = &b->key,
                            .name = p->conf.name,
                            .iface = p->iface,
                            .ports = p->range,
                            .encrypt = about->encrypts != 0,
                            .gone_ms = (uint32_t)p->conf.options->silent_ms,
                            .link = ports_link_made,
                            .failed = ports_link_failed,
                            .user = b};
    b->own_proc = about->own_proc;
    b->procs = about->procs;
    memcpy(b->other, about->other, sizeof b->other);
    b->other[sizeof b->other - 1] = '\0';
    for (char *c = b->other; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
            *c = '?';
    return mlt_broker_new(&b->broker, &conf, why, why_size) == MLT_OK ? NULL : why;
}

static void take_join(rpc *d, const unsigned char *body, size_t length)
{
    mlt_ports *p = d->ports;
    mlt_rpc_bond about;
    mlt_key key;
    char why[512];
    if (length < sizeof about || mlt_crypt_load(why, sizeof why) != MLT_OK) {
        ports_fail(d, length < sizeof about ? "the question is too short" : why);
        return;
    }
    memcpy(&about, body, sizeof about);
    const bond *via = about.via ? find_bond(p, about.via) : NULL;
    if ((about.via && !via) || !unseal(via ? &via->key : job_key(p), about.sealed, &key) ||
        number_of(&key) != about.bond) {
        ports_fail(d, about.via
                          ? "this host has given up the connection by which it was told of the new "
                            "one"
                          : "the bond's key is not one of this job");
        return;
    }
    bond *b = find_bond(p, about.bond);
    if (!b)
        b = new_bond(p, &key);
    mlt_key_wipe(&key);
    if (!b->broker) {
        uint32_t *host_of = read_runs(&about, body + sizeof about, length - sizeof about);
        const char *bad = host_of ? make_broker(b, &about, host_of, why, sizeof why)
                                  : "the bond's processes do not fit its hosts";
        free(host_of);
        if (bad) {
            ports_fail(d, bad);
            return;
        }
    }
    *MLT_ARRAY_ADD(b->members, b->count, b->room) = d->proc;
    uint8_t card[MLT_CARD_BYTES];
    size_t size = mlt_broker_card(b->broker, card);
    ports_answer(d, MLT_RPC_CARD, card, size, -1);
}

// A bond's number, and cards of the other side.
static void take_learn(rpc *d, const unsigned char *body, size_t length)
{
    uint64_t number;
    char why[256];
    if (length < sizeof number) {
        ports_fail(d, "the question is too short");
        return;
    }
    memcpy(&number, body, sizeof number);
    bond *b = find_bond(d->ports, number);
    size_t at = sizeof number;
    while (b && b->broker && at < length) {
        mlt_rpc_card about;
        if (length - at < sizeof about)
            break;
        memcpy(&about, body + at, sizeof about);
        at += sizeof about;
        if (about.bytes > length - at ||
            mlt_broker_learn(b->broker, about.host, body + at, about.bytes, why, sizeof why))
            break;
        size_t whole = (about.bytes + 3u) & ~(size_t)3;
        at += whole < length - at ? whole : length - at;
    }
    if (!b || !b->broker || at < length)
        ports_fail(d, "the cards of the other side are none");
    else
        ports_answer(d, MLT_RPC_DONE, NULL, 0, -1);
}

// For ranks of other jobs on the root's own side.
static void take_seal(rpc *d, const unsigned char *body, size_t length)
{
    mlt_ports *p = d->ports;
    uint64_t number = 0;
    if (length == sizeof number)
        memcpy(&number, body, sizeof number);
    const bond *b = find_bond(p, number);
    mlt_rpc_seal *seals = NULL;
    uint32_t count = 0, room = 0;
    bool good = b != NULL;
    MLT_LIST_EACH(const bond, other, &p->bonds, link) {
        if (!good || other->number == number || !other->broker)
            continue;
        mlt_rpc_seal *own = MLT_ARRAY_ADD(seals, count, room);
        own->via = other->number;
        good = seal(&other->key, &b->key, own->sealed);
    }
    if (good)
        ports_answer(d, MLT_RPC_SEALS, seals, count * sizeof *seals, -1);
    else
        ports_fail(d, b ? "the system has no random bytes" : "there is no such connection");
    free(seals);
}

static void take_watch(rpc *d, const unsigned char *body, size_t length)
{
    uint64_t number = 0;
    if (length == sizeof number)
        memcpy(&number, body, sizeof number);
    mlt_ports *p = d->ports;
    MLT_LIST_EACH_SAFE(bond, b, &p->bonds, link) {
        if (b->number != number || b->line.fd < 0 || b->watched || b->maker != d)
            continue;
        b->watched = true;
        b->maker = NULL;
        (void)mlt_os_tcp_tune_patient(b->line.fd, (uint32_t)p->conf.options->silent_ms);
        (void)mlt_loop_add(&b->line, EPOLLIN);
        break;
    }
    ports_answer(d, MLT_RPC_DONE, NULL, 0, -1);
}

// ---- what desks ask

static void take_question(rpc *d, const mlt_rpc_head *head)
{
    unsigned char *body = mlt_rpc_body(&d->in);
    switch ((mlt_rpc_type)head->type) {
    case MLT_RPC_OPEN:
        open_port(d);
        return;
    case MLT_RPC_CLOSE:
        take_close(d, (char *)body);
        return;
    case MLT_RPC_ACCEPT:
        take_accept(d, (char *)body);
        return;
    case MLT_RPC_CONNECT:
        take_connect(d, (char *)body);
        return;
    case MLT_RPC_JOIN:
        take_join(d, body, head->length);
        return;
    case MLT_RPC_LEARN:
        take_learn(d, body, head->length);
        return;
    case MLT_RPC_WATCH:
        take_watch(d, body, head->length);
        return;
    case MLT_RPC_SEAL:
        take_seal(d, body, head->length);
        return;
    default:
        ports_fail(d, "that question has no meaning");
    }
}

static void rpc_ready(mlt_loop_source *source, uint32_t events)
{
    rpc *d = mlt_container_of(source, rpc, source);
    mlt_rpc_head head;
    mlt_status status = mlt_rpc_hear(d->source.fd, &d->in, &head);
    if (status == MLT_OK)
        take_question(d, &head);
    else if (status != MLT_PENDING)
        close_rpc(d);
}

void mlt_ports_rpc(mlt_ports *p, uint32_t proc, int fd)
{
    rpc *d = mlt_xcalloc(1, sizeof *d);
    *d = (rpc){.ports = p,
               .proc = proc,
               .source = {.fd = fd, .ready = rpc_ready},
               .in = {.fd = -1},
               .dialling = {.fd = -1}};
    mlt_list_push_back(&p->desks, &d->link);
    if (!mlt_loop_add(&d->source, EPOLLIN))
        close_rpc(d);
}

// ---- processes

static bool is_member(const bond *b, uint32_t proc, uint32_t *at)
{
    for (*at = 0; *at < b->count; (*at)++)
        if (b->members[*at] == proc)
            return true;
    return false;
}

void mlt_ports_want(mlt_ports *p, uint32_t proc, uint64_t number, int64_t peer)
{
    uint32_t at;
    bond *b = find_bond(p, number);
    if (b && b->broker && is_member(b, proc, &at) && peer >= 0 && peer < b->procs)
        (void)!mlt_broker_want(b->broker, b->own_proc + proc, (uint32_t)peer);
}

static void leave(bond *b, uint32_t proc, bool ended)
{
    uint32_t at;
    if (ended && b->broker && proc < b->procs - b->own_proc)
        mlt_broker_ended(b->broker, b->own_proc + proc);
    if (!is_member(b, proc, &at))
        return;
    b->members[at] = b->members[--b->count];
}

void mlt_ports_parted(mlt_ports *p, uint32_t proc, uint64_t number)
{
    MLT_LIST_EACH_SAFE(bond, b, &p->bonds, link) {
        if (b->number != number)
            continue;
        leave(b, proc, false);
        if (!b->count)
            end_bond(b);
    }
}

void mlt_ports_gone(mlt_ports *p, uint32_t proc, bool ended_well)
{
    MLT_LIST_EACH_SAFE(port, at, &p->ports, link)
        if (at->proc == proc)
            close_port(at, "the process that opened the port has ended");
    MLT_LIST_EACH_SAFE(bond, b, &p->bonds, link) {
        uint32_t at;
        if (!is_member(b, proc, &at) || !ended_well)
            continue;
        leave(b, proc, true);
        if (!b->count)
            end_bond(b);
    }
}

// ---- time

static void alarm_next(mlt_ports *p)
{
    uint64_t when = MLT_POLL_FOREVER;
    MLT_LIST_EACH(port, listening, &p->ports, link) {
        uint64_t at = mlt_listen_poll(listening->listen).deadline_ns;
        when = at < when ? at : when;
    }
    MLT_LIST_EACH(const rpc, d, &p->desks, link) {
        uint64_t at = d->dial ? mlt_dial_poll(d->dial).deadline_ns : when;
        when = at < when ? at : when;
    }
    mlt_loop_alarm(&p->timer, when == MLT_POLL_FOREVER ? 0 : when);
}

static void ports_ring(mlt_loop_timer *timer)
{
    mlt_ports *p = mlt_container_of(timer, mlt_ports, timer);
    uint64_t now = mlt_os_now_ns();
    MLT_LIST_EACH(port, at, &p->ports, link)
        ports_accept_all(at, now);
    MLT_LIST_EACH(rpc, d, &p->desks, link)
        if (d->dial && mlt_dial_poll(d->dial).deadline_ns <= now)
            step_dial(d);
    alarm_next(p);
}

// ---- the whole

mlt_ports *mlt_ports_new(const mlt_ports_conf *conf)
{
    mlt_ports *p = mlt_xcalloc(1, sizeof *p);
    char why[512];
    p->conf = *conf;
    mlt_list_init(&p->ports);
    mlt_list_init(&p->desks);
    mlt_list_init(&p->bonds);
    mlt_connections_net(conf->options, &p->iface, &p->range);
    if (!conf->key && mlt_key_new(&p->own_key, why, sizeof why) != MLT_OK)
        mlt_quit(MLT_EXIT_SYSTEM, "%s", why);
    p->timer.ring = ports_ring;
    return p;
}

static void say_why(const bond *b, const char *why)
{
    char text[PORTS_WORDS];
    if (b->line.fd < 0)
        return;
    int n = snprintf(text, sizeof text - 1, "D%s", why);
    (void)!send(b->line.fd, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1,
                MSG_NOSIGNAL | MSG_DONTWAIT);
}

void mlt_ports_free(mlt_ports *p, const char *why)
{
    if (!p)
        return;
    p->ending = true;
    for (bond *b; (b = MLT_LIST_FIRST(&p->bonds, bond, link));) {
        if (why && b->count) {
            say_why(b, why);
            mlt_loop_close(&b->line);
        }
        end_bond(b);
    }
    for (port *at; (at = MLT_LIST_FIRST(&p->ports, port, link));)
        close_port(at, "the job has ended");
    for (rpc *d; (d = MLT_LIST_FIRST(&p->desks, rpc, link));)
        close_rpc(d);
    mlt_loop_alarm(&p->timer, 0);
    mlt_key_wipe(&p->own_key);
    free(p);
}
