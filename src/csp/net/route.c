// SPDX-License-Identifier: BSD-3-Clause
// Routes between the workers of a job, and what all routes have in common.
//
// A worker of another host that has ended while its process lives on cannot answer, and this host
// cannot see its memory. So with the first packet to it go questions to the other workers of its process:
//
//     first packet -----> worker X       it has ended, or takes the packet and says BYE when it ends
//     IS_THERE(X) ------> worker Y       beside it
//               <-------- GONE(X)        if X has taken its last look
//
// Both go by the same connection, and X's packet is there before Y has its own. X says that it is
// gone before it takes its last look, and Y looks at that word after X's packet was there: so Y sees
// that X is gone, or X sees the packet. If no worker of the process is left, the process ends.
#include "csp/net/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/upcalls.h"
#include "csp/names/job.h"
#include "csp/net/reach.h"
#include "csp/net/remote.h"
#include "csp/net/socket.h"
#include "os/jitter.h"

enum { PACKET_BYE = MLT_PACKET_ROUTE, PACKET_PART, PACKET_IS_THERE, PACKET_GONE, TELL_ALL = 64 };

#define PACKET_MOST (UINT64_C(1) << 40)

// A packet that came before the worker had anything to do with processes.
typedef struct early {
    mlt_list_node node;
    uint32_t from;
    mlt_packet packet;
    uint64_t bytes;
    unsigned char data[];
} early;

mlt_reach *mlt_reach_of(mlt_worker *worker)
{
    mlt_reach *reach = worker->reach;
    if (reach)
        return reach;
    reach = mlt_xcalloc(1, sizeof *reach);
    reach->met = mlt_xcalloc(worker->boot->job->workers, 1);
    mlt_list_init(&reach->early);
    worker->reach = reach;
    return reach;
}

// Who has met this worker hears of its end.
static inline mlt_reach *route_meet(mlt_worker *worker, uint32_t other)
{
    mlt_reach *reach = mlt_reach_of(worker);
    if (reach->met[other] == MLT_MET_NOT)
        reach->met[other] = MLT_MET;
    return reach;
}

static MLT_COLD void keep_early(mlt_worker *worker, uint32_t from, const mlt_packet *packet,
                                const void *data, uint64_t bytes)
{
    early *e = mlt_xcalloc(1, sizeof *e + bytes);
    e->from = from;
    e->packet = *packet;
    e->bytes = bytes;
    if (bytes)
        memcpy(e->data, data, bytes);
    mlt_list_push_back(&route_meet(worker, from)->early, &e->node);
}

void mlt_route_catch_up(mlt_csp *csp)
{
    mlt_reach *reach = mlt_reach_of(csp->worker);
    MLT_LIST_DRAIN(early, e, &reach->early, node) {
        mlt_route_packet(csp->worker, e->from, &e->packet, e->data, e->bytes);
        free(e);
    }
}

// ---- sending

static void send_one(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    if (MLT_LIKELY(route->worker != UINT32_MAX))
        mlt_p2p_packet(route->csp->worker, route->worker, packet, data, bytes);
    else
        mlt_socket_send(route, packet, data, bytes);
}

// All but the last piece go ahead; the first says how much there will be.
static MLT_COLD void send_long(mlt_route *route, const mlt_packet *packet, const void *data,
                               uint64_t bytes, uint64_t most)
{
    const unsigned char *at = data;
    mlt_packet part = {
        .kind = PACKET_PART, .object = (uint32_t)bytes, .word = (int32_t)(uint32_t)(bytes >> 32)};
    for (; bytes > most; bytes -= most, at += most)
        send_one(route, &part, at, most);
    send_one(route, packet, at, bytes);
}

void mlt_route_send(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    enum { SURELY = 1024 }; // every carrier takes that much at once
    if (MLT_UNLIKELY(route->lost))
        return;
    if (MLT_UNLIKELY(bytes > SURELY) && bytes > mlt_route_most(route))
        send_long(route, packet, data, bytes, mlt_route_most(route));
    else
        send_one(route, packet, data, bytes);
}

uint64_t mlt_route_most(const mlt_route *route)
{
    return route->worker != UINT32_MAX ? mlt_p2p_packet_most(route->csp->worker, route->worker)
                                       : mlt_socket_most();
}

// ---- making

static void name_worker(mlt_route *route, uint32_t worker)
{
    const mlt_job_location *w = mlt_job_location_at(route->csp->worker->boot->job, worker);
    if (w->ranks == 1)
        snprintf(route->who, sizeof route->who, "rank %u", w->first_rank);
    else
        snprintf(route->who, sizeof route->who, "the worker of ranks %u to %u", w->first_rank,
                 w->first_rank + w->ranks - 1);
}

static MLT_COLD mlt_route *new_route(mlt_csp *csp, uint32_t worker)
{
    mlt_job *job = csp->worker->boot->job;
    mlt_remote *net = csp->net;
    mlt_assert(worker < job->workers);
    mlt_route *route = mlt_xcalloc(1, sizeof *route);
    route->csp = csp;
    route->worker = worker;
    route->to = (mlt_endpoint){.job = job->identity, .worker = worker};
    mlt_list_init(&route->users);
    mlt_list_push_back(&net->routes, &route->node);
    name_worker(route, worker);
    net->to[worker] = route;
    route_meet(csp->worker, worker);
    return route;
}

// Whether that worker of this host has taken its last look.
static bool route_is_gone(mlt_job *job, uint32_t worker)
{
    mlt_job_worker *other = mlt_job_worker_at(job, worker);
    mlt_jitter();
    // Pairs with the fence of mlt_route_end: it has seen the packet, or this sees that it is gone.
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&other->csp_ended, memory_order_relaxed) ||
           atomic_load_explicit(&other->state, memory_order_relaxed) == MLT_WORKER_ENDED;
}

void mlt_route_ask_about(mlt_worker *worker, uint32_t other)
{
    mlt_job *job = worker->boot->job;
    const mlt_job_proc *proc = mlt_job_proc_at(job, mlt_job_location_at(job, other)->proc);
    const mlt_packet packet = {.kind = PACKET_IS_THERE, .object = other};
    for (uint32_t w = proc->first_worker; w < proc->first_worker + proc->workers; w++)
        if (w != other)
            mlt_p2p_packet(worker, w, &packet, NULL, 0);
}

void mlt_route_check(mlt_route *route)
{
    if (route->heard || route->worker == UINT32_MAX || route->worker == route->csp->worker->index)
        return;
    mlt_job *job = route->csp->worker->boot->job;
    if (mlt_job_is_here(job, route->worker) ? route_is_gone(job, route->worker)
                                            : mlt_p2p_has_ended(route->csp->worker, route->worker))
        mlt_route_ends(route);
    else if (!mlt_job_is_here(job, route->worker) && !route->asked) {
        route->asked = true;
        mlt_route_ask_about(route->csp->worker, route->worker);
    }
}

mlt_route *mlt_route_to_worker(mlt_csp *csp, uint32_t worker)
{
    mlt_route *route = mlt_remote_of(csp)->to[worker];
    if (MLT_LIKELY(route != NULL))
        return route;
    route = new_route(csp, worker);
    mlt_route_check(route);
    return route;
}

mlt_route *mlt_route_to(mlt_csp *csp, const mlt_endpoint *to, csp_time deadline, csp_status *status)
{
    *status = CSP_OK;
    if (to->job != csp->worker->boot->job->identity)
        return mlt_socket_to(csp, to, deadline, status);
    if (to->worker < csp->worker->boot->job->workers)
        return mlt_route_to_worker(csp, to->worker);
    mlt_csp_why(csp, "the job has no worker %u", to->worker);
    *status = CSP_LOST;
    return NULL;
}

const mlt_endpoint *mlt_route_own(mlt_csp *csp, bool listen)
{
    mlt_remote *net = mlt_remote_of(csp);
    net->own.job = csp->worker->boot->job->identity;
    net->own.worker = csp->worker->index;
    if (listen && !net->own.socket[0] && !mlt_socket_listen(csp, &net->own))
        return NULL;
    return &net->own;
}

// ---- arriving

static void drop_parts(mlt_route *route)
{
    free(route->parts);
    route->parts = NULL;
    route->got = route->want = 0;
}

// A piece that is not the last. False: it does not fit to what was announced.
static MLT_COLD bool part_arrived(mlt_route *route, const mlt_packet *packet, const void *data,
                                  uint64_t bytes)
{
    if (!route->parts) {
        route->want = packet->object | (uint64_t)(uint32_t)packet->word << 32;
        if (route->want > PACKET_MOST) // nobody has so much; of another program it may be nonsense
            return false;
        route->parts = malloc(route->want + 1);
        if (!route->parts)
            return false;
    }
    if (bytes > route->want - route->got)
        return false;
    memcpy(route->parts + route->got, data, bytes);
    route->got += bytes;
    return true;
}

static void upper_packet(mlt_route *route, const mlt_packet *packet, const void *data,
                         uint64_t bytes)
{
    if (mlt_upcalls.flow_packet && route->worker != UINT32_MAX)
        mlt_upcalls.flow_packet(route, packet, data, bytes);
    else
        mlt_route_lose(route, "it sent a packet of a kind that is not known");
}

void mlt_route_arrived(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    static mlt_route_handler *const handlers[] = {
        [1] = mlt_port_packet, [2] = mlt_chan_packet, [3] = mlt_names_packet, [4] = upper_packet};
    enum { HANDLERS = sizeof handlers / sizeof *handlers };
    uint32_t range = packet->kind / MLT_PACKET_RANGE;
    if (MLT_UNLIKELY(route->lost))
        return;
    if (MLT_UNLIKELY(route->parts && packet->kind != PACKET_PART)) {
        if (!part_arrived(route, packet, data, bytes) || route->got != route->want) {
            mlt_route_lose(route, "a long packet from it came in pieces that do not fit");
            return;
        }
        unsigned char *whole = route->parts;
        bytes = route->want;
        route->parts = NULL;
        drop_parts(route);
        mlt_route_arrived(route, packet, whole, bytes);
        free(whole);
        return;
    }
    if (MLT_LIKELY(range < HANDLERS && handlers[range]))
        handlers[range](route, packet, data, bytes);
    else if (packet->kind == PACKET_BYE)
        mlt_route_ends(route);
    else if (packet->kind != PACKET_PART)
        mlt_route_lose(route, "it sent a packet that nobody understands");
    else if (!part_arrived(route, packet, data, bytes))
        mlt_route_lose(route, "a long packet from it came in pieces that do not fit");
}

// Another worker of the job has ended, as it has said itself, or others have.
static void has_ended(mlt_worker *worker, uint32_t other)
{
    mlt_csp *csp = mlt_csp_of(worker);
    mlt_names_ended(worker, other);
    route_meet(worker, other)->met[other] = MLT_MET_ENDED;
    if (csp && csp->net && csp->net->to[other])
        mlt_route_ends(csp->net->to[other]);
}

void mlt_route_processes_ended(mlt_worker *worker)
{
    mlt_job *job = worker->boot->job;
    const mlt_reach *reach = worker->reach;
    for (uint32_t w = 0; reach && w < job->workers; w++)
        if (reach->met[w] == MLT_MET && !mlt_job_is_here(job, w) && mlt_p2p_has_ended(worker, w))
            has_ended(worker, w);
}

// Questions about other workers, and their answers.
static MLT_COLD void about_others(mlt_worker *worker, uint32_t from, const mlt_packet *packet)
{
    mlt_job *job = worker->boot->job;
    if (packet->object >= job->workers)
        return;
    if (packet->kind == PACKET_GONE)
        has_ended(worker, packet->object);
    else if (mlt_job_is_here(job, packet->object) && route_is_gone(job, packet->object))
        mlt_p2p_packet(worker, from, &(mlt_packet){.kind = PACKET_GONE, .object = packet->object},
                       NULL, 0);
}

void mlt_route_packet(mlt_worker *worker, uint32_t from, const mlt_packet *packet, const void *data,
                      uint64_t bytes)
{
    mlt_csp *csp = mlt_csp_self;
    if (MLT_UNLIKELY(packet->kind / MLT_PACKET_RANGE == MLT_PACKET_NAMES / MLT_PACKET_RANGE) &&
        mlt_names_keep(worker, from, packet, data, bytes)) {
        route_meet(worker, from);
        return;
    }
    if (MLT_UNLIKELY(packet->kind == PACKET_IS_THERE || packet->kind == PACKET_GONE)) {
        about_others(worker, from, packet);
        return;
    }
    if (MLT_UNLIKELY(packet->kind == PACKET_BYE)) {
        mlt_names_ended(worker, from);
        route_meet(worker, from)->met[from] = MLT_MET_ENDED;
    }
    if (MLT_UNLIKELY(!csp || csp->worker != worker)) {
        csp = mlt_csp_of(worker);
        if (!csp) {
            keep_early(worker, from, packet, data, bytes);
            return;
        }
    }
    mlt_remote *net = csp->net ? csp->net : mlt_remote_of(csp);
    mlt_route *route = net->to[from];
    if (MLT_UNLIKELY(!route))
        route = new_route(csp, from);
    route->heard = true;
    mlt_route_arrived(route, packet, data, bytes);
}

static void tell_users(mlt_route *route)
{
    route->lost = true;
    drop_parts(route);
    MLT_LIST_DRAIN(mlt_route_user, user, &route->users, node)
        user->lost(user, route);
}

void mlt_route_lose(mlt_route *route, const char *why)
{
    if (route->lost)
        return;
    mlt_csp_why(route->csp, "%s is lost: %s", route->who, why);
    tell_users(route);
}

void mlt_route_ends(mlt_route *route)
{
    if (route->lost)
        return;
    route->ended = true;
    mlt_csp_why(route->csp, "%s has ended", route->who);
    tell_users(route);
}

void mlt_route_say_bye(mlt_route *route)
{
    mlt_route_send(route, &(mlt_packet){.kind = PACKET_BYE}, NULL, 0);
}

void mlt_routes_end(mlt_csp *csp)
{
    mlt_remote *net = csp->net;
    for (uint32_t i = 0; i < csp->worker->boot->job->workers; i++)
        if (net->to[i]) {
            drop_parts(net->to[i]);
            free(net->to[i]);
        }
    free(net->to);
}

// ---- the end

static bool must_hear(mlt_worker *worker, const mlt_reach *reach, uint32_t other)
{
    mlt_job *job = worker->boot->job;
    if (other == worker->index || reach->met[other] == MLT_MET_ENDED)
        return false;
    if (!mlt_job_is_here(job, other))
        return reach->met[other] == MLT_MET;
    return (reach->met[other] || job->workers <= TELL_ALL) &&
           atomic_load_explicit(&mlt_job_worker_at(job, other)->state, memory_order_relaxed) !=
               MLT_WORKER_ENDED;
}

// Whoever spoke to this worker, or may be about to, must not wait for it for ever. In large jobs
// and on other hosts, those that it never met see its end when they make a route.
static void tell_end(mlt_worker *worker, const mlt_reach *reach)
{
    const mlt_packet bye = {.kind = PACKET_BYE};
    for (uint32_t i = 0; i < worker->boot->job->workers; i++)
        if (must_hear(worker, reach, i))
            mlt_p2p_packet(worker, i, &bye, NULL, 0);
}

static void end_reach(mlt_worker *worker)
{
    mlt_reach *reach = worker->reach;
    if (!reach)
        return;
    mlt_names_job_end(worker); // before: the next keeper must have the names
    tell_end(worker, reach);
    MLT_LIST_DRAIN(early, e, &reach->early, node)
        free(e);
    free(reach->met);
    free(reach);
    worker->reach = NULL;
}

void mlt_route_end(mlt_worker *worker)
{
    mlt_job *job = worker->boot->job;
    end_reach(worker);
    if (job->workers == 1)
        return;
    atomic_store_explicit(&mlt_job_worker_at(job, worker->index)->csp_ended, 1,
                          memory_order_relaxed);
    mlt_jitter();
    atomic_thread_fence(memory_order_seq_cst); // pairs with that of mlt_route_check
    mlt_p2p_last_look(worker);
    end_reach(worker); // for those whose first packet came only now
}
