// SPDX-License-Identifier: BSD-3-Clause
// A pair goes over to the fabric: offers, SWITCH, and what is said if the fabric does not do it.
#include "wire/ofi/switchover.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/memory.h"
#include "boot/ctl.h"
#include "os/fd.h"
#include "os/tcp.h"
#include "wire/ofi/switchover_int.h"
#include "wire/transport.h"

const char *mlt_tcp_fabric = "tcp";
int64_t mlt_tcp_fabric_trust;

enum { TEXT_BYTES = MLT_FABRIC_WHY + 128, SPINS = 200 };

// The data of OFFER.
typedef struct ofi_offer {
    uint64_t nonce;
    uint32_t reads; // 1: it reads memory, and lets its own be read
    uint32_t address_bytes;
    char name[MLT_FABRIC_NAME];
    unsigned char address[MLT_FABRIC_ADDRESS];
} ofi_offer;
_Static_assert(sizeof(ofi_offer) <= MLT_WIRE_FRAME_OFFER_MOST && sizeof(ofi_offer) % 8 == 0,
               "an offer is a frame");

void mlt_switchover_lock(ofi_endpoint *o)
{
    for (uint32_t n = 0; !ofi_try_enter(o); n++)
        if (n % SPINS < SPINS - 1)
            mlt_arch_pause();
        else
            mlt_os_yield();
}

// ---- The endpoint

static MLT_COLD void say_note(int ctl, const char *text)
{
    mlt_ctl head = {
        .type = MLT_CTL_NOTE, .rank = MLT_CTL_NO_RANK, .length = (uint32_t)strlen(text)};
    (void)mlt_ctl_send(ctl, &head, text);
}

static MLT_COLD void say_by_tcp(int ctl, const char *why)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "MILLET_FABRIC is %s, but messages go by TCP: %s", mlt_tcp_fabric,
             why);
    say_note(ctl, text);
}

// The user has said that it must be the fabric.
static MLT_COLD _Noreturn void give_up(int ctl, const char *why)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "MILLET_FABRIC is %s, but %s", mlt_tcp_fabric, why);
    mlt_ctl head = {.type = MLT_CTL_ABORT,
                    .rank = MLT_CTL_NO_RANK,
                    .value = 1,
                    .length = (uint32_t)strlen(text)};
    if (mlt_ctl_send(ctl, &head, text) != MLT_OK)
        mlt_log("%s", text);
    mlt_leave(1);
}

static void free_fetches(ofi_fetch *list)
{
    for (ofi_fetch *next; list; list = next) {
        next = list->next;
        free(list);
    }
}

// For a fabric without a descriptor: polls for workers that sleep, and wakes them if something came.
static void *look_for_all(void *arg)
{
    enum { NAP_NS = 1000000 };
    ofi_endpoint *o = arg;
    while (!atomic_load_explicit(&o->looker_ends, memory_order_relaxed)) {
        mlt_os_sleep(NAP_NS);
        if (!ofi_try_enter(o))
            continue;
        bool any = !ofi_held_count(o) && mlt_switchover_gather(o);
        ofi_leave(o);
        for (uint32_t i = 0; any && i < o->workers; i++)
            mlt_tcp_wake(o->endpoint, i);
    }
    return NULL;
}

static void start_looker(ofi_endpoint *o)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    o->has_looker = pthread_create(&o->looker, NULL, look_for_all, o) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!o->has_looker)
        mlt_fatal("no thread can be started that looks at the fabric %s", o->facts->name);
}

ofi_endpoint *mlt_switchover_enter(tcp_endpoint *endpoint, mlt_job *job, uint32_t proc, int ctl)
{
    mlt_fabric_choice choice;
    char why[MLT_FABRIC_WHY];
    if (mlt_fabric_choose(mlt_tcp_fabric, &choice) != MLT_OK)
        give_up(ctl, "it should be tcp, auto, ofi or ofi:PROVIDER");
    if (!choice.wanted || job->hosts == 1)
        return NULL;
    choice.processes = job->procs;
    choice.trusts = mlt_tcp_fabric_trust != 0;
    mlt_fabric *fabric = mlt_fabric_open(&choice, why, sizeof why);
    if (!fabric && choice.demanded)
        give_up(ctl, why);
    if (!fabric && *why)
        say_by_tcp(ctl, why);
    if (!fabric)
        return NULL;
    uint32_t workers = mlt_job_proc_at(job, proc)->workers;
    ofi_endpoint *o = mlt_xcalloc(1, sizeof *o + workers * sizeof *o->fetches_of);
    o->endpoint = endpoint;
    o->job = job;
    o->proc = proc;
    o->workers = workers;
    o->ctl = ctl;
    o->fabric = fabric;
    o->facts = mlt_fabric_about(fabric);
    o->demanded = choice.demanded;
    if (o->facts->fd < 0)
        start_looker(o);
    return o;
}

void mlt_switchover_leave(ofi_endpoint *o)
{
    if (!o)
        return;
    atomic_store_explicit(&o->looker_ends, 1, memory_order_relaxed);
    if (o->has_looker)
        (void)pthread_join(o->looker, NULL);
    mlt_fabric_close(o->fabric);
    free(o->aligned);
    free_fetches(o->spare_fetches);
    free(o);
}

int mlt_switchover_fd(const ofi_endpoint *o)
{
    return o ? o->facts->fd : -1;
}

bool mlt_switchover_has_held(const ofi_endpoint *o)
{
    return o && ofi_held_count(o);
}

// ---- A pair

ofi_switchover *mlt_switchover_new(ofi_endpoint *o)
{
    if (!o)
        return NULL;
    ofi_switchover *s = mlt_xcalloc(1, sizeof *s);
    s->ours = o;
    s->fetches_end = &s->fetches;
    s->link = (tcp_link){.by_fabric = true, .fd = -1, .heard = true};
    if (mlt_os_random(&s->own_nonce, sizeof s->own_nonce) != MLT_OK)
        s->refused = true; // without a nonce, no offer
    return s;
}

// After the fabric was closed.
void mlt_switchover_free(ofi_switchover *s)
{
    if (s)
        free_fetches(s->fetches);
    free(s);
}

bool mlt_switchover_is_out(const tcp_pair *pair)
{
    return pair->switchover && ofi_is_out(pair->switchover);
}

bool mlt_switchover_is_in(const tcp_pair *pair)
{
    return pair->switchover && atomic_load_explicit(&pair->switchover->in, memory_order_acquire);
}

void mlt_switchover_busy(ofi_switchover *s)
{
    ofi_endpoint *o = s->ours;
    if (s->busy)
        return;
    s->busy = true;
    s->next_busy = o->busy;
    o->busy = s;
}

void mlt_switchover_blocked(ofi_switchover *s)
{
    ofi_endpoint *o = s->ours;
    atomic_store_explicit(&s->pair->blocked, 1, memory_order_relaxed);
    if (s->blocked)
        return;
    s->blocked = true;
    s->next_blocked = o->blocked;
    o->blocked = s;
}

// The fabric does not do it: the connection will, if nothing depends on the fabric yet.
MLT_COLD void mlt_switchover_refuse(ofi_switchover *s, const char *why)
{
    tcp_pair *pair = s->pair;
    ofi_endpoint *o = s->ours;
    char text[TEXT_BYTES];
    if (ofi_is_out(s) || atomic_load_explicit(&s->in, memory_order_relaxed)) {
        snprintf(text, sizeof text, "the fabric fails: %s", why);
        mlt_tcp_lose(pair, text);
        return;
    }
    if (s->refused || atomic_load_explicit(&pair->gone, memory_order_relaxed))
        return;
    s->refused = true;
    if (o->complains)
        return;
    o->complains = s;
    o->complains_ns = mlt_os_now_ns();
    snprintf(o->complaint, sizeof o->complaint, "%s", why);
}

// An endpoint may be gone because its process has ended, which the connection tells in a moment: that
// is no reason to complain.
MLT_COLD void mlt_switchover_complain(ofi_endpoint *o)
{
    enum { PATIENCE_NS = 1000000000 };
    const ofi_switchover *s = o->complains;
    char text[TEXT_BYTES];
    if (mlt_os_now_ns() - o->complains_ns < PATIENCE_NS)
        return;
    o->complains = NULL;
    if (atomic_load_explicit(&s->pair->gone, memory_order_relaxed))
        return;
    snprintf(text, sizeof text, "process %u and process %u cannot talk by it: %s", o->proc,
             s->pair->proc, o->complaint);
    if (o->demanded)
        give_up(o->ctl, text);
    snprintf(text, sizeof text, "a connection stays with TCP instead of the fabric %s: %s",
             o->facts->name, o->complaint);
    say_note(o->ctl, text);
}

// ---- Offers

void mlt_switchover_offer(tcp_pair *pair)
{
    ofi_switchover *s = pair->switchover;
    const mlt_fabric_facts *facts = s->ours->facts;
    ofi_offer offer = {
        .nonce = s->own_nonce, .reads = facts->reads, .address_bytes = facts->address_bytes};
    mlt_wire_frame head = {.kind = MLT_WIRE_FRAME_OFFER, .length = sizeof offer};
    s->pair = s->link.pair = pair;
    if (s->refused)
        return;
    memcpy(offer.address, facts->address, facts->address_bytes);
    snprintf(offer.name, sizeof offer.name, "%s", facts->name);
    memcpy(s->control, &head, MLT_WIRE_FRAME_HEAD);
    memcpy(s->control + MLT_WIRE_FRAME_HEAD, &offer, sizeof offer);
    s->control_end = MLT_WIRE_FRAME_HEAD + sizeof offer;
}

bool mlt_switchover_write_control(tcp_pair *pair, tcp_link *link)
{
    ofi_switchover *s = pair->switchover;
    while (s->control_at < s->control_end) {
        struct iovec piece = {.iov_base = s->control + s->control_at,
                              .iov_len = s->control_end - s->control_at};
        ssize_t n = mlt_os_tcp_send(link->fd, &piece, 1);
        if (n < 0)
            return false; // reading will tell why
        s->control_at += (uint32_t)n;
    }
    s->control_at = s->control_end = 0;
    return true;
}

// Whoever wants to know what came by the connection before must have read it.
void mlt_switchover_heard_switch(tcp_pair *pair)
{
    // release: pairs with mlt_switchover_is_in.
    atomic_store_explicit(&pair->switchover->in, 1, memory_order_release);
}

void mlt_switchover_heard_offer(tcp_pair *pair, const mlt_wire_frame *frame)
{
    ofi_switchover *s = pair->switchover;
    ofi_endpoint *o = s->ours;
    ofi_offer offer;
    char why[MLT_FABRIC_WHY];
    if (frame->length != sizeof offer || s->met || !s->pair)
        return;
    memcpy(&offer, mlt_wire_frame_data(frame), sizeof offer);
    offer.name[sizeof offer.name - 1] = '\0';
    mlt_switchover_lock(o);
    if (strcmp(offer.name, o->facts->name) != 0) {
        snprintf(why, sizeof why, "one has %s, the other one %.*s", o->facts->name, MLT_FABRIC_NAME,
                 offer.name);
        mlt_switchover_refuse(s, why);
    } else if (mlt_fabric_meet(o->fabric, offer.address, &s->to) != MLT_OK) {
        mlt_switchover_refuse(s, o->facts->why);
    } else {
        s->nonce = offer.nonce;
        atomic_store_explicit(&s->reads, offer.reads && o->facts->reads, memory_order_relaxed);
        s->met = true;
        mlt_switchover_busy(s);
    }
    ofi_leave(o);
}

// The other side has taken HELLO: the fabric is open.
bool mlt_switchover_switch(tcp_pair *pair, tcp_link *link)
{
    ofi_switchover *s = pair->switchover;
    if (!s->switching) {
        if (!atomic_load_explicit(&s->confirmed, memory_order_relaxed) || s->control_end)
            return false;
        mlt_wire_frame frame = {.kind = MLT_WIRE_FRAME_SWITCH};
        memcpy(s->control, &frame, MLT_WIRE_FRAME_HEAD);
        s->control_end = MLT_WIRE_FRAME_HEAD;
        s->switching = true;
    }
    if (!mlt_switchover_write_control(pair, link))
        return false;
    atomic_store_explicit(&s->out, 1, memory_order_release);
    return true;
}
