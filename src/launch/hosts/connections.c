// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/connections.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "launch/hosts/broker.h"
#include "launch/say.h"

// A connection that the other host could not make, and what it has tried.
typedef struct back {
    uint32_t proc, peer;
    char *text;
} back;

struct mlt_connections {
    mlt_agent_conf conf;
    mlt_agent *agent;
    mlt_broker *broker;
    back *backs;
    uint32_t count, room;
};

// A body of frame->length bytes is copied, as the agents want it.
static void connections_send(const mlt_connections *l, const mlt_frame *about, const void *body)
{
    mlt_frame frame = *about;
    frame.from = l->conf.host;
    char *copy = mlt_xcalloc(frame.length + 1, 1);
    memcpy(copy, body, frame.length);
    l->conf.send(l->conf.user, &frame, copy);
    free(copy);
}

static void send_card(mlt_connections *l, uint32_t to)
{
    uint8_t card[MLT_CARD_BYTES];
    mlt_frame frame = {.type = MLT_FRAME_CARD, .to = to};
    frame.length = (uint32_t)mlt_broker_card(l->broker, card);
    connections_send(l, &frame, card);
}

static void card_wanted(void *user, uint32_t host)
{
    connections_send(user, &(mlt_frame){.type = MLT_FRAME_CARD_WANTED, .to = host}, "");
}

static void connections_link_made(void *user, uint32_t proc, const mlt_ctl_link *link, int fd)
{
    mlt_connections *l = user;
    mlt_agent_give_link(l->agent, proc, link, fd);
    close(fd);
}

static void connections_give_up(mlt_connections *l, uint32_t proc, uint32_t peer, const char *text)
{
    mlt_frame frame = mlt_frame_up(MLT_FRAME_UNLINKED, l->conf.host, proc, peer, strlen(text));
    connections_send(l, &frame, text);
}

static const back *find_back(const mlt_connections *l, uint32_t proc, uint32_t peer)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (l->backs[i].proc == proc && l->backs[i].peer == peer)
            return &l->backs[i];
    return NULL;
}

static void connections_link_failed(void *user, uint32_t proc, uint32_t peer, const char *text)
{
    mlt_connections *l = user;
    const back *theirs = find_back(l, proc, peer);
    if (theirs) {
        char *both = mlt_text_of("%s\n%s", theirs->text, text);
        connections_give_up(l, proc, peer, both);
        free(both);
        return;
    }
    mlt_frame frame = {.type = MLT_FRAME_DIAL_BACK,
                       .length = (uint32_t)strlen(text),
                       .to = l->conf.plan->procs[peer].host,
                       .about = peer,
                       .value = proc};
    connections_send(l, &frame, text);
}

// The other host could not connect `peer` to `proc` of this one.
static void dial_back(mlt_connections *l, const mlt_frame *frame, const char *text)
{
    uint32_t proc = frame->about, peer = (uint32_t)frame->value;
    if (frame->value < 0 || frame->value >= l->conf.plan->proc_count || find_back(l, proc, peer))
        return;
    *MLT_ARRAY_ADD(l->backs, l->count, l->room) =
        (back){proc, peer, mlt_text_of("%.*s", (int)frame->length, text ? text : "")};
    if (mlt_broker_failed(l->broker, proc, peer)) // this one has tried already
        connections_give_up(l, proc, peer, l->backs[l->count - 1].text);
    else
        (void)!mlt_broker_want(l->broker, proc, peer);
}

void mlt_connections_net(const mlt_options *o, mlt_iface_filter *filter, mlt_iface_ports *ports)
{
    char why[512];
    if (o->iface && mlt_iface_parse(filter, o->iface, why, sizeof why) != MLT_OK)
        mlt_quit(MLT_EXIT_USAGE, "--iface: %s", why);
    if (o->port_range && mlt_iface_ports_parse(ports, o->port_range, why, sizeof why) != MLT_OK)
        mlt_quit(MLT_EXIT_USAGE, "--port-range: %s", why);
}

mlt_connections *mlt_connections_new(const mlt_agent_conf *conf, mlt_agent *agent)
{
    const mlt_placement *plan = conf->plan;
    mlt_connections *l = mlt_xcalloc(1, sizeof *l);
    uint32_t *host_of = mlt_xcalloc(plan->proc_count, sizeof *host_of);
    char why[512];
    for (uint32_t p = 0; p < plan->proc_count; p++)
        host_of[p] = plan->procs[p].host;
    l->conf = *conf;
    l->agent = agent;
    mlt_broker_conf broker = {.host_of = host_of,
                              .procs = plan->proc_count,
                              .hosts = plan->host_count,
                              .host = conf->host,
                              .job = conf->identity,
                              .key = conf->key,
                              .name = plan->hosts[conf->host].host.name,
                              .encrypt = conf->options->encrypt,
                              .gone_ms = (uint32_t)conf->options->silent_ms,
                              .link = connections_link_made,
                              .failed = connections_link_failed,
                              .card_wanted = card_wanted,
                              .user = l};
    mlt_connections_net(conf->options, &broker.iface, &broker.ports);
    if (mlt_broker_new(&l->broker, &broker, why, sizeof why) != MLT_OK)
        mlt_quit(MLT_EXIT_SYSTEM, "%s", why);
    free(host_of);
    return l;
}

void mlt_connections_want(mlt_connections *l, uint32_t proc, uint32_t peer)
{
    (void)!mlt_broker_want(l->broker, proc, peer); // a wrong number of a process has no effect
}

void mlt_connections_gone(mlt_connections *l, uint32_t proc)
{
    mlt_broker_ended(l->broker, proc);
}

void mlt_connections_take(mlt_connections *l, const mlt_frame *frame, const char *body)
{
    char why[256];
    if (frame->type == MLT_FRAME_CARD_WANTED)
        send_card(l, frame->from);
    else if (frame->type == MLT_FRAME_DIAL_BACK)
        dial_back(l, frame, body);
    else if (frame->type == MLT_FRAME_CARD &&
             mlt_broker_learn(l->broker, frame->from, body, frame->length, why, sizeof why))
        mlt_say("the card of host %s: %s",
                frame->from < l->conf.plan->host_count ? l->conf.plan->hosts[frame->from].host.name
                                                       : "?",
                why);
}

void mlt_connections_free(mlt_connections *l)
{
    if (!l)
        return;
    mlt_broker_free(l->broker);
    for (uint32_t i = 0; i < l->count; i++)
        free(l->backs[i].text);
    free(l->backs);
    free(l);
}
