// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/adopt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "boot/foreign/adoption.h"
#include "launch/agent/agent.h"
#include "launch/hosts/agents.h"
#include "launch/hosts/connections.h"
#include "launch/hosts/frame.h"
#include "launch/hosts/task.h"
#include "launch/loop.h"
#include "launch/say.h"
#include "launch/spawn.h"
#include "launch/watch/last.h"
#include "launch/watch/leaks.h"
#include "launch/watch/map.h"
#include "launch/watch/report.h"
#include "launch/watch/watch.h"
#include "net/card.h"
#include "net/crypt.h"
#include "net/dial.h"
#include "net/iface.h"
#include "net/listen.h"
#include "os/fd.h"
#include "os/os.h"

#define ADOPT_MS UINT64_C(1000000)

enum {
    FIRST_VISIT_S =
        3, // until the process that started it is there; another one starts another agent
    ADOPT_TRIES = 12,     // to reach the head
    ADOPT_PAUSE_MS = 250, // between them
    MOST_APPS = 1024,
    ADOPT_LAST_WORDS_MS = 2000,
    ALONE_MS = 1000, // without a head, until all processes have left MPI_Finalize
};

typedef struct adopt adopt;

// A process of this host.
typedef struct visitor {
    mlt_loop_source source; // its connection
    mlt_loop_source life;   // its pidfd; fd -1: there is none
    adopt *of;
    uint32_t number;
    int pid;      // 0: not known
    int lifeline; // the writing end; -1: it has not been adopted
    bool greeted, gone;
} visitor;

struct adopt {
    uint32_t leader;
    mlt_loop_source door; // for the processes of this host
    visitor **visitors;
    uint32_t visitor_count, visitor_room, present;
    uint32_t size; // processes of the job; 0: not known
    bool over;
    bool forsaken; // ... because nobody is above

    bool keyed;
    mlt_key key;
    uint64_t identity;
    mlt_greet_self self;
    mlt_address own[MLT_ADDRESSES];
    uint32_t own_count;
    mlt_loop_timer timer; // of greetings

    // The head.
    bool heads;
    mlt_listen *listen;
    mlt_loop_source listen_source;
    mlt_net_peer *early; // agents of other hosts that have come before the plan was there
    uint32_t early_count, early_room;
    mlt_adoption_proc *procs; // [size]
    char **names;             // [size] hosts', at their leaders
    uint32_t known;
    mlt_watch *watch;
    mlt_agents *agents;
    mlt_report *report; // NULL: none, or it was printed
    mlt_path_map map;
    mlt_leaks leaks;
    uint64_t began;

    // The agent of another host.
    mlt_card head;
    mlt_dial *dial; // NULL: not now
    mlt_loop_source dial_source;
    uint32_t tries;
    uint64_t dial_at; // when it dials again; 0: not
    mlt_channel up;
    uint32_t silent; // ticks
    bool leaving;    // all processes of the job have ended
    bool headless;   // the head is gone; its launcher may have killed it when all ranks there ended
    uint32_t alone;  // ticks since then

    // Both.
    mlt_options options;
    mlt_task task;
    uint32_t host;
    mlt_agent *agent;
};

static adopt *adopt_self; // for messages

// ---- The processes of this host

static visitor *adopt_find(adopt *a, uint32_t number)
{
    for (uint32_t i = 0; i < a->visitor_count; i++)
        if (a->visitors[i]->greeted && !a->visitors[i]->gone && a->visitors[i]->number == number)
            return a->visitors[i];
    return NULL;
}

// The process has ended, or nothing of it can be heard.
static void lose(visitor *v)
{
    adopt *a = v->of;
    if (v->gone)
        return;
    v->gone = true;
    mlt_loop_close(&v->source);
    mlt_loop_close(&v->life);
    mlt_os_close_once(&v->lifeline);
    a->present--;
    if (a->agent)
        mlt_agent_lost(a->agent, v->number);
    if (a->present == 0 && (!a->agent || a->headless))
        a->over = true;
}

static void regret(visitor *v, const char *text)
{
    mlt_adoption head = {.type = MLT_ADOPTION_SORRY};
    size_t length = strlen(text);
    if (v->source.fd >= 0)
        (void)!mlt_adoption_send(v->source.fd, &head, text,
                                 length < MLT_ADOPTION_BODY ? length : MLT_ADOPTION_BODY, NULL, 0);
}

static void regret_all(adopt *a, const char *text)
{
    for (uint32_t i = 0; i < a->visitor_count; i++)
        if (!a->visitors[i]->gone && a->visitors[i]->lifeline < 0)
            regret(a->visitors[i], text);
}

static void life_ended(mlt_loop_source *source, uint32_t events)
{
    lose(mlt_container_of(source, visitor, life));
}

static void watch_life(visitor *v)
{
    v->life = (mlt_loop_source){.fd = v->pid > 0 ? (int)syscall(SYS_pidfd_open, v->pid, 0) : -1,
                                .ready = life_ended};
    if (v->life.fd >= 0 && !mlt_loop_add(&v->life, EPOLLIN))
        mlt_loop_close(&v->life);
}

// mlt_agent_conf.adopt.
static bool adopt_hand_over(uint32_t proc, int job_fd, int ctl_fd, bool mixed, pid_t *pid)
{
    visitor *v = adopt_find(adopt_self, proc);
    int line[2];
    if (!v || pipe2(line, O_CLOEXEC) != 0)
        return false;
    const mlt_adoption head = {.type = MLT_ADOPTION_GO, .number = proc};
    const mlt_adoption_go go = {.agent = getpid(), .mixed = mixed};
    const int fds[MLT_ADOPTION_FDS] = {job_fd, ctl_fd, line[0]};
    mlt_status status =
        mlt_adoption_send(v->source.fd, &head, &go, sizeof go, fds, MLT_ADOPTION_FDS);
    close(line[0]);
    v->lifeline = line[1];
    *pid = v->pid;
    return status == MLT_OK;
}

// ---- Greetings between agents

static void prepare_greetings(adopt *a, const mlt_adoption_key *key)
{
    char why[512];
    mlt_iface_filter filter = {0};
    mlt_iface_ports ports;
    a->keyed = true;
    memcpy(a->key.bytes, key->key, sizeof a->key.bytes);
    a->identity = key->identity;
    if (mlt_crypt_load(why, sizeof why) != MLT_OK)
        mlt_quit(MLT_EXIT_SYSTEM, "%s", why);
    mlt_connections_net(&a->options, &filter, &ports);
    if (mlt_iface_addresses(a->own, &a->own_count, &filter, false, why, sizeof why) != MLT_OK)
        mlt_quit(MLT_EXIT_SYSTEM, "%s", why);
    a->self = mlt_greet_self_of(&a->key, a->identity, a->leader, true);
}

static void adopt_set_timer(adopt *a)
{
    uint64_t listens = a->listen ? mlt_listen_poll(a->listen).deadline_ns : 0;
    uint64_t dials = a->dial ? mlt_dial_poll(a->dial).deadline_ns : 0;
    const uint64_t times[] = {listens == MLT_POLL_FOREVER ? 0 : listens,
                              dials == MLT_POLL_FOREVER ? 0 : dials, a->dial_at};
    mlt_loop_alarm_first(&a->timer, times, sizeof times / sizeof *times);
}

// ---- The head listens

static bool adopt_welcomes(const mlt_greet_self *greets, uint32_t from, uint32_t to)
{
    const adopt *a = mlt_container_of(greets, adopt, self);
    return to == 0 && from < a->size;
}

static void adopt_send_on(adopt *a, mlt_net_peer *peer)
{
    const mlt_placement *plan = &a->task.plan;
    (void)mlt_agents_came(a->agents, plan->procs[peer->process].host, peer);
    explicit_bzero(&peer->keys, sizeof peer->keys);
}

static void accept_agents(adopt *a)
{
    mlt_net_peer peer;
    while (mlt_listen_step(a->listen, mlt_os_now_ns(), &peer) == MLT_OK) {
        if (a->agents) {
            adopt_send_on(a, &peer);
            continue;
        }
        *MLT_ARRAY_ADD(a->early, a->early_count, a->early_room) = peer;
        explicit_bzero(&peer.keys, sizeof peer.keys);
    }
    adopt_set_timer(a);
}

static void adopt_listen_ready(mlt_loop_source *source, uint32_t events)
{
    accept_agents(mlt_container_of(source, adopt, listen_source));
}

static void begin_listening(adopt *a)
{
    char why[512];
    a->self.welcomes = adopt_welcomes;
    a->self.process = 0;
    mlt_listen_plan plan = {.self = &a->self,
                            .addresses = a->options.iface ? a->own : NULL,
                            .address_count = a->options.iface ? a->own_count : 0,
                            .strangers = MLT_LISTEN_STRANGERS,
                            .greet_ms = MLT_LISTEN_GREET_MS,
                            .gone_ms = (uint32_t)a->options.silent_ms};
    mlt_iface_filter filter;
    mlt_connections_net(&a->options, &filter, &plan.ports);
    if (mlt_listen_new(&a->listen, &plan, why, sizeof why) != MLT_OK)
        mlt_quit(MLT_EXIT_SYSTEM, "%s", why);
    a->listen_source =
        (mlt_loop_source){.fd = mlt_listen_poll(a->listen).fd, .ready = adopt_listen_ready};
    mlt_loop_need(&a->listen_source, EPOLLIN);
}

// Where this agent listens, with as many addresses as there is room for.
static size_t own_card(const adopt *a, uint8_t out[MLT_CARD_BYTES], size_t room)
{
    mlt_card card = {.port = mlt_listen_port(a->listen), .count = a->own_count};
    memcpy(card.addresses, a->own, a->own_count * sizeof *a->own);
    snprintf(card.name, sizeof card.name, "%.*s", MLT_KVS_NAME - 1, mlt_hosts_own());
    size_t size;
    while ((size = mlt_card_write(out, &card)) > room && card.count > 1)
        card.count--;
    return size <= room ? size : 0;
}

// ---- The others dial

static void adopt_frame_came(mlt_channel *up, const mlt_frame *frame, char *body);
static void adopt_channel_ended(mlt_channel *up, const char *why);

static void reached(adopt *a, mlt_net_peer *head)
{
    int out = fcntl(head->fd, F_DUPFD_CLOEXEC, 0);
    a->up = (mlt_channel){.take = adopt_frame_came, .ended = adopt_channel_ended};
    mlt_channel_seal(&a->up, &head->keys);
    if (out < 0 || !mlt_channel_open(&a->up, head->fd, out))
        mlt_quit(MLT_EXIT_SYSTEM, "no more descriptors: %s", mlt_os_no_descriptor(errno));
}

static void adopt_dial_ready(mlt_loop_source *source, uint32_t events);

static void begin_dial(adopt *a)
{
    enum { ROOM = 2 * MLT_ADDRESSES };
    mlt_address to[ROOM];
    char why[512];
    mlt_dial_plan plan = {.self = &a->self,
                          .wanted = 0,
                          .addresses = to,
                          .port = a->head.port,
                          .each_ms = MLT_DIAL_MS,
                          .gone_ms = (uint32_t)a->options.silent_ms};
    plan.count =
        mlt_address_likely(to, ROOM, a->own, a->own_count, a->head.addresses, a->head.count);
    if (mlt_dial_new(&a->dial, &plan, why, sizeof why) != MLT_OK)
        mlt_quit(MLT_EXIT_SYSTEM, "%s", why);
    a->dial_source = (mlt_loop_source){.fd = mlt_dial_poll(a->dial).fd, .ready = adopt_dial_ready};
    mlt_loop_need(&a->dial_source, EPOLLIN);
    adopt_dial_ready(&a->dial_source, 0);
}

static void adopt_end_dial(adopt *a)
{
    mlt_loop_remove(&a->dial_source);
    mlt_dial_free(a->dial);
    a->dial = NULL;
}

static void adopt_dial_failed(adopt *a)
{
    mlt_text table = {0};
    mlt_dial_tell(a->dial, &table);
    adopt_end_dial(a);
    if (++a->tries < ADOPT_TRIES) {
        a->dial_at = mlt_os_now_ns() + ADOPT_PAUSE_MS * ADOPT_MS;
    } else {
        char *text = mlt_text_of("host %s cannot connect to host %s, where process 0 is; is there "
                                 "a firewall (MILLET_PORT_RANGE), or an interface that leads "
                                 "nowhere (MILLET_IFACE)?\n%s",
                                 mlt_hosts_own(), a->head.name, mlt_text_so_far(&table));
        regret_all(a, text);
        free(text);
        a->over = true;
    }
    mlt_text_free(&table);
}

static void adopt_dial_ready(mlt_loop_source *source, uint32_t events)
{
    adopt *a = mlt_container_of(source, adopt, dial_source);
    mlt_net_peer peer;
    mlt_status status = mlt_dial_step(a->dial, mlt_os_now_ns(), &peer);
    if (status == MLT_OK) {
        adopt_end_dial(a);
        reached(a, &peer);
    } else if (status != MLT_PENDING) {
        adopt_dial_failed(a);
    }
    adopt_set_timer(a);
}

static void adopt_rings(mlt_loop_timer *timer)
{
    adopt *a = mlt_container_of(timer, adopt, timer);
    if (a->listen)
        accept_agents(a);
    if (a->dial)
        adopt_dial_ready(&a->dial_source, 0);
    if (mlt_loop_due(&a->dial_at, mlt_os_now_ns()))
        begin_dial(a);
    adopt_set_timer(a);
}

// ---- What processes say

static void welcome(visitor *v, const void *body, size_t length)
{
    mlt_adoption head = {
        .type = MLT_ADOPTION_WELCOME, .number = v->of->leader, .size = v->of->size};
    if (mlt_adoption_send(v->source.fd, &head, body, length, NULL, 0) != MLT_OK)
        lose(v);
}

static void adopt_take_hello(visitor *v, const mlt_adoption_packet *packet)
{
    adopt *a = v->of;
    const mlt_adoption *head = &packet->head;
    if (packet->length != sizeof packet->body.hello || v->greeted || head->size < 1 ||
        head->number >= head->size || (a->size && a->size != head->size) ||
        adopt_find(a, head->number)) {
        regret(v, "the agent of this host is of another version of Millet, or of another job");
        lose(v);
        return;
    }
    a->size = head->size;
    v->greeted = true;
    v->number = head->number;
    if (v->number != 0) {
        welcome(v, NULL, 0);
        return;
    }
    uint8_t card[MLT_CARD_BYTES];
    size_t room = packet->body.hello.key.where_size;
    a->heads = true;
    a->procs = mlt_xcalloc(a->size, sizeof *a->procs);
    a->names = mlt_xcalloc(a->size, sizeof *a->names);
    if (a->size == 1) { // a program that nobody started: no other agent will come
        a->identity = packet->body.hello.key.identity;
        welcome(v, NULL, 0);
        return;
    }
    prepare_greetings(a, &packet->body.hello.key);
    begin_listening(a);
    welcome(v, card, own_card(a, card, room < MLT_KVS_WHERE ? room : MLT_KVS_WHERE));
}

static void take_cards(adopt *a, const mlt_adoption_packet *packet)
{
    uint32_t first = packet->head.number;
    size_t count = packet->length / sizeof *packet->body.procs;
    if (first != a->known || count > a->size - first)
        return;
    memcpy(a->procs + first, packet->body.procs, count * sizeof *a->procs);
    a->known += (uint32_t)count;
}

static void take_name(adopt *a, const mlt_adoption_packet *packet)
{
    if (packet->head.number < a->size && !a->names[packet->head.number])
        a->names[packet->head.number] = mlt_text_of("%s", packet->body.bytes);
}

static void take_key(adopt *a, const mlt_adoption_packet *packet)
{
    char why[256];
    const mlt_adoption_key *key = &packet->body.key;
    if (a->keyed || packet->length != sizeof *key || key->where_size > sizeof key->where)
        return;
    if (mlt_card_read(&a->head, key->where, key->where_size, why, sizeof why) != MLT_OK) {
        regret_all(a, why);
        a->over = true;
        return;
    }
    prepare_greetings(a, key);
    begin_dial(a);
}

static void visitor_ready(mlt_loop_source *source, uint32_t events)
{
    static mlt_adoption_packet packet;
    visitor *v = mlt_container_of(source, visitor, source);
    adopt *a = v->of;
    mlt_status status = mlt_adoption_receive(source->fd, &packet);
    if (status == MLT_PENDING)
        return;
    for (int i = 0; status == MLT_OK && i < packet.fd_count; i++)
        close(packet.fds[i]); // nobody of ours sends any
    if (status == MLT_ERR_CLOSED && v->life.fd >= 0 && v->lifeline >= 0) {
        mlt_loop_close(source); // its pidfd tells when it ends
        return;
    }
    if (status != MLT_OK) {
        lose(v);
        return;
    }
    switch (packet.head.type) {
    case MLT_ADOPTION_HELLO:
        adopt_take_hello(v, &packet);
        break;
    case MLT_ADOPTION_CARDS:
        if (v->greeted && v->number == 0)
            take_cards(a, &packet);
        break;
    case MLT_ADOPTION_NAME:
        if (v->greeted && v->number == 0)
            take_name(a, &packet);
        break;
    case MLT_ADOPTION_KEY:
        if (v->greeted && v->number == a->leader)
            take_key(a, &packet);
        break;
    default:
        break;
    }
    explicit_bzero(&packet, sizeof packet.head + packet.length);
}

static void door_ready(mlt_loop_source *source, uint32_t events)
{
    adopt *a = mlt_container_of(source, adopt, door);
    int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), pid = 0;
    if (fd < 0)
        return;
    if (!mlt_adoption_is_ours(fd, &pid)) {
        close(fd);
        return;
    }
    (void)alarm(0);
    visitor *v = mlt_xcalloc(1, sizeof *v);
    *v = (visitor){
        .source = {.fd = fd, .ready = visitor_ready}, .of = a, .pid = pid, .lifeline = -1};
    *MLT_ARRAY_ADD(a->visitors, a->visitor_count, a->visitor_room) = v;
    a->present++;
    watch_life(v);
    if (!mlt_loop_add(&v->source, EPOLLIN))
        lose(v);
}

// ---- The plan

static void adopt_add_host(adopt *a, uint32_t leader, uint32_t *host_of)
{
    mlt_placement *plan = &a->task.plan;
    if (host_of[leader])
        return;
    plan->hosts = mlt_xrealloc(plan->hosts, plan->host_count + 1, sizeof *plan->hosts);
    plan->hosts[plan->host_count] = (mlt_placement_host){
        .host = {.name = a->names[leader], .slots = 1, .here = leader == a->leader}};
    host_of[leader] = ++plan->host_count;
}

static void adopt_add_proc(mlt_placement *plan, const mlt_adoption_proc *from, uint32_t host)
{
    uint64_t ranks = (uint64_t)from->workers * from->ranks;
    if (ranks + plan->ranks > INT32_MAX ||
        plan->workers + from->workers > MLT_PLACEMENT_MAX_WORKERS)
        mlt_quit(MLT_EXIT_USAGE,
                 "MILLET_NFG and MILLET_THREADS ask for more than %d ranks or %d "
                 "workers",
                 INT32_MAX, MLT_PLACEMENT_MAX_WORKERS);
    mlt_placement_add(
        plan, &plan->hosts[host],
        (mlt_placement_proc){
            .app = from->app, .host = host, .workers = from->workers, .ranks = (uint32_t)ranks});
}

// Each process was checked when its card was read, but may have written anything.
static bool adopt_is_sound(const adopt *a)
{
    for (uint32_t p = 0; p < a->size; p++) {
        const mlt_adoption_proc *one = &a->procs[p];
        if (one->leader >= a->size || a->procs[one->leader].leader != one->leader ||
            !a->names[one->leader] || one->app >= MOST_APPS || one->workers < 1 || one->ranks < 1)
            return false;
    }
    return true;
}

static void make_plan(adopt *a)
{
    mlt_placement *plan = &a->task.plan;
    uint32_t *host_of = mlt_xcalloc(a->size, sizeof *host_of),
             apps = 1; // 1 and the host of a leader
    if (!adopt_is_sound(a))
        mlt_quit(MLT_EXIT_SYSTEM, "the cards of the processes do not fit together");
    plan->procs = mlt_xcalloc(a->size, sizeof *plan->procs);
    for (uint32_t p = 0; p < a->size; p++) {
        adopt_add_host(a, a->procs[p].leader, host_of);
        adopt_add_proc(plan, &a->procs[p], host_of[a->procs[p].leader] - 1);
        apps = a->procs[p].app >= apps ? a->procs[p].app + 1 : apps;
    }
    a->host = host_of[a->leader] - 1;
    free(host_of);
    // Nothing of them is needed but a name for messages.
    mlt_app first = a->options.apps[0];
    a->options.apps = mlt_xcalloc(apps, sizeof first);
    a->options.app_count = apps;
    for (uint32_t i = 0; i < apps; i++)
        a->options.apps[i] = first;
}

// ---- Both: the agent's part

static void adopt_make_agent(adopt *a, void (*send)(void *, const mlt_frame *, char *), void *user)
{
    mlt_agent_conf conf = {.options = &a->options,
                           .plan = &a->task.plan,
                           .host = a->host,
                           .identity = a->identity,
                           .key = a->task.plan.host_count > 1 ? &a->key : NULL,
                           .cores = (uint32_t)mlt_os_cores(),
                           .adopt = adopt_hand_over,
                           .send = send,
                           .user = user};
    a->agent = mlt_agent_new(&conf);
}

// ---- The head

static void adopt_make_agents(adopt *a)
{
    size_t size;
    static char root[] = "/";
    a->task.identity = a->identity;
    a->task.head_host = a->host;
    a->task.options = a->options;
    a->task.dir = root;
    char *packed = mlt_task_pack(&a->task, &size);
    mlt_agents_conf conf = {.options = &a->options,
                            .plan = &a->task.plan,
                            .head_host = a->host,
                            .last = mlt_agents_hosts(&a->task.plan, a->host),
                            .waits = true,
                            .key = &a->key,
                            .task = packed,
                            .task_size = size,
                            .take = mlt_watch_send,
                            .user = a->watch};
    a->agents = mlt_agents_new(&conf);
    for (uint32_t i = 0; i < a->early_count; i++)
        adopt_send_on(a, &a->early[i]);
    a->early_count = 0;
}

// mlt_watch_conf.finalised. Not when all processes have ended: this one may be killed then.
static void print_last(void *user)
{
    adopt *a = user;
    if (a->report && !mlt_last_report(&a->options, a->report, &a->map, mlt_os_now_ns() - a->began))
        mlt_say(MLT_NO_ROOM "the report");
    a->report = NULL;
    mlt_last_leaks(&a->options, &a->leaks);
    a->leaks.count = 0;
}

static int signal_fd(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGQUIT);
    return mlt_spawn_signal_fd(&set);
}

static int run_head(adopt *a)
{
    mlt_path_map_init(&a->map);
    make_plan(a);
    a->began = mlt_os_now_ns();
    if (a->options.report)
        a->report = mlt_report_new(&a->task.plan);
    mlt_watch_conf conf = {.options = &a->options,
                           .plan = &a->task.plan,
                           .report = a->report,
                           .map = &a->map,
                           .leaks = &a->leaks,
                           .host = a->host,
                           .group = getpgrp(),
                           .finalised = print_last,
                           .user = a,
                           .signal_fd = signal_fd(),
                           .adopted = true,
                           .guard_fd = -1};
    a->watch = mlt_watch_new(&conf);
    if (a->task.plan.host_count > 1)
        adopt_make_agents(a);
    else
        mlt_loop_close(&a->listen_source);
    adopt_make_agent(a, mlt_watch_send, a->watch);
    mlt_watch_join(a->watch, a->agent, a->agents);
    int code = mlt_watch_run(a->watch);
    print_last(a);
    mlt_watch_free(a->watch);
    mlt_say_finish(ADOPT_LAST_WORDS_MS);
    return code;
}

// ---- The agent of another host

static void adopt_send_up(void *user, const mlt_frame *frame, char *body)
{
    adopt *a = user;
    if (!a->headless && !a->forsaken)
        mlt_channel_send(&a->up, frame, body);
}

static void adopt_tell(adopt *a, mlt_frame_type type, int64_t value, const void *body,
                       size_t length)
{
    mlt_frame frame = mlt_frame_up(type, a->host, a->host, value, length);
    mlt_channel_send(&a->up, &frame, body);
}

static void adopt_say(const char *text)
{
    adopt_tell(adopt_self, MLT_FRAME_SAY, 0, text, strlen(text));
}

static void adopt_quit(int code, const char *text)
{
    adopt_tell(adopt_self, MLT_FRAME_FAILED, code, text, strlen(text));
    mlt_channel_flush(&adopt_self->up, ADOPT_LAST_WORDS_MS);
}

static void adopt_take_task(adopt *a, const char *bytes, size_t size)
{
    char why[256];
    if (a->agent)
        return;
    if (!mlt_task_unpack(&a->task, a->host, bytes, size, why, sizeof why))
        mlt_quit(MLT_EXIT_SYSTEM, "%s", why);
    a->options = a->task.options;
    mlt_say_to(adopt_say, adopt_quit);
    adopt_make_agent(a, adopt_send_up, a);
    mlt_agent_tell_ready(a->agent);
}

static void adopt_frame_came(mlt_channel *up, const mlt_frame *frame, char *body)
{
    adopt *a = mlt_container_of(up, adopt, up);
    if (frame->type == MLT_FRAME_PLACE && !a->agent)
        a->host = frame->about;
    else if (frame->type == MLT_FRAME_TASK)
        adopt_take_task(a, body, frame->length);
    else if (frame->type == MLT_FRAME_BYE)
        a->leaving = true;
    if (a->agent)
        mlt_agent_take(a->agent, frame, body);
}

// Launchers that keep processes in control groups, as Slurm does, kill the agent of a host when the
// last process there ends. After MPI_Finalize that is nobody's loss.
static void adopt_channel_ended(mlt_channel *up, const char *why)
{
    adopt *a = mlt_container_of(up, adopt, up);
    if (a->headless)
        return;
    regret_all(a, "the agent of the host of process 0 has ended");
    a->headless = a->agent != NULL;
    a->over = a->forsaken = !a->headless || a->present == 0;
}

// The processes may be about to leave MPI_Finalize, or the job has lost a host.
static void be_alone(adopt *a)
{
    mlt_agent_hear(a->agent);
    if (++a->alone * MLT_AGENTS_BEAT_MS >= ALONE_MS && !mlt_agent_finalised(a->agent))
        a->over = a->forsaken = true;
}

static void beat(mlt_loop_timer *timer)
{
    static const mlt_frame frame = {.type = MLT_FRAME_BEAT};
    adopt *a = adopt_self;
    if (a->headless) {
        be_alone(a);
        return;
    }
    a->silent = a->up.heard ? 0 : a->silent + 1;
    a->up.heard = false;
    if (a->silent >= mlt_agents_patience(a->agent ? a->options.silent_ms : 10 * MLT_SILENT_MS))
        adopt_channel_ended(&a->up, "");
    mlt_channel_send(&a->up, &frame, NULL);
}

static int run_below(adopt *a)
{
    mlt_loop_timer beats = {.ring = beat};
    mlt_loop_alarm_every(&beats, MLT_AGENTS_BEAT_MS * UINT64_C(1000000));
    while (!a->over && !a->leaving)
        mlt_loop_turn();
    if (a->forsaken && a->agent)
        mlt_agent_take(a->agent, &(mlt_frame){.type = MLT_FRAME_KILL, .value = 1}, NULL);
    mlt_channel_flush(&a->up, a->headless || a->forsaken ? 0 : ADOPT_LAST_WORDS_MS);
    return a->forsaken ? MLT_EXIT_FAILED : 0;
}

// ---- The whole

// Leaves the process that has started this one: its input, its descriptors, its terminal. Standard
// output stays for jobs that ranks spawn, and errors for messages.
static void become_agent(void)
{
    pid_t pid = fork();
    if (pid != 0)
        _exit(pid < 0);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "millet-agent");
    (void)fcntl(MLT_ADOPTION_LISTEN, F_SETFD, FD_CLOEXEC);
    if (syscall(SYS_close_range, MLT_ADOPTION_LISTEN + 1, UINT32_MAX, 0) == 0)
        return;
    for (int fd = MLT_ADOPTION_LISTEN + 1; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
        close(fd);
}

static void adopt_read_options(adopt *a, const char *program)
{
    char *words[] = {"mpirun", "-H",        "localhost", "-n",
                     "1",      "--bind-to", "none",      (char *)(uintptr_t)program,
                     NULL};
    mlt_options_read(sizeof words / sizeof *words - 1, words, &a->options);
}

int mlt_adopt(const char *leader, const char *program)
{
    static adopt a = {.door = {.fd = MLT_ADOPTION_LISTEN, .ready = door_ready},
                      .timer = {.ring = adopt_rings},
                      .listen_source = {.fd = -1},
                      .up = {.in = {.fd = -1}, .out = {.fd = -1}}};
    sigset_t blocked;
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(MLT_ADOPTION_LISTEN, SOL_SOCKET, SO_ACCEPTCONN, &type, &size) != 0 || !type)
        mlt_quit(MLT_EXIT_USAGE, "--adopt is for programs that another launcher has started");
    become_agent();
    mlt_say_by("millet");
    mlt_spawn_prepare(&blocked);
    (void)alarm(FIRST_VISIT_S);
    a.leader = (uint32_t)strtoul(leader, NULL, 10);
    adopt_read_options(&a, program);
    (void)mlt_loop_new();
    (void)fcntl(MLT_ADOPTION_LISTEN, F_SETFL, O_NONBLOCK);
    mlt_loop_need(&a.door, EPOLLIN);
    adopt_self = &a;
    while (!a.over && a.up.in.fd < 0 && !(a.heads && a.known == a.size))
        mlt_loop_turn();
    if (a.over)
        return 0;
    return a.heads ? run_head(&a) : run_below(&a);
}
