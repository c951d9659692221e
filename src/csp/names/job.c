// SPDX-License-Identifier: BSD-3-Clause
// Names within a job. A worker asks worker 0, and waits for the answer:
//
//     PUT(question, mlt_name)     -> ANSWER(question, status[, the one that has it])
//     FIND(question, name)        -> ANSWER(question, status, mlt_name), when there is one
//     DROP(question, name)        -> ANSWER(question, status)
//     OFF(question)               the finder waits no longer
//
// The number of the question is in `word`, a status in `object`; FIND's object is 1 if it wants to
// know at once. `src` is the rank that asks.
//
// When worker 0 ends, the next one keeps the names: it gets them by PUT (question 0) before anybody
// hears of the end, and those who were asking ask again there. On this host the segment tells
// whether it has ended before it got them. On another host it is asked: KEEP, and it says KEPT.
#include "csp/names/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/table.h"
#include "csp/names/names.h"
#include "csp/net/question.h"
#include "csp/net/reach.h"
#include "csp/net/remote.h"
#include "os/os.h"

enum { PUT = MLT_PACKET_NAMES, FIND, DROP, JOB_OFF, KEEP, KEPT, ANSWER };
enum { BUCKETS = 256 };

#define PATIENCE_NS UINT64_C(1000000000) // with an heir that computes

typedef struct job_kept {
    mlt_list_node node;
    mlt_name name;
} job_kept;

typedef struct finder {
    mlt_list_node node;
    uint32_t worker;
    int32_t question;
    char name[MLT_NAME_MOST + 1];
} finder;

typedef struct mlt_names_kept {
    mlt_list_node names[BUCKETS], finders[BUCKETS];
} mlt_names_kept;

// ---- the keeper

static uint32_t bucket_of(const char *name)
{
    return mlt_hash_bytes(name, strlen(name)) % BUCKETS;
}

static mlt_names_kept *kept_by(mlt_worker *worker)
{
    mlt_reach *reach = mlt_reach_of(worker);
    if (!reach->names) {
        reach->names = mlt_xcalloc(1, sizeof *reach->names);
        for (uint32_t i = 0; i < BUCKETS; i++) {
            mlt_list_init(&reach->names->names[i]);
            mlt_list_init(&reach->names->finders[i]);
        }
    }
    return reach->names;
}

static uint64_t name_bytes(const mlt_name *name)
{
    return offsetof(mlt_name, text) + strlen(name->text) + 1;
}

static void job_answer(mlt_worker *worker, uint32_t to, int32_t question, csp_status status,
                       const mlt_name *name)
{
    mlt_packet packet = {.kind = ANSWER, .object = (uint32_t)status, .word = question};
    if (question)
        mlt_p2p_packet(worker, to, &packet, name, name ? name_bytes(name) : 0);
}

static job_kept *job_find_own(mlt_names_kept *names, const char *name)
{
    MLT_LIST_EACH(job_kept, k, &names->names[bucket_of(name)], node)
        if (strcmp(k->name.name, name) == 0)
            return k;
    return NULL;
}

static void put(mlt_worker *worker, uint32_t from, int32_t question, const mlt_name *name,
                uint64_t bytes)
{
    mlt_names_kept *names = kept_by(worker);
    job_kept *k = job_find_own(names, name->name);
    if (k) {
        job_answer(worker, from, question, CSP_TAKEN, &k->name);
        return;
    }
    k = mlt_xcalloc(1, sizeof *k);
    memcpy(&k->name, name, bytes < sizeof k->name ? bytes : sizeof k->name);
    uint32_t bucket = bucket_of(k->name.name);
    mlt_list_push_back(&names->names[bucket], &k->node);
    job_answer(worker, from, question, CSP_OK, NULL);
    MLT_LIST_EACH_SAFE(finder, f, &names->finders[bucket], node) {
        if (strcmp(f->name, k->name.name) != 0)
            continue;
        mlt_list_remove(&f->node);
        job_answer(worker, f->worker, f->question, CSP_OK, &k->name);
        free(f);
    }
}

static void job_look(mlt_worker *worker, uint32_t from, const mlt_packet *packet, const char *name)
{
    mlt_names_kept *names = kept_by(worker);
    job_kept *k = job_find_own(names, name);
    if (k) {
        job_answer(worker, from, packet->word, CSP_OK, &k->name);
    } else if (packet->object) {
        job_answer(worker, from, packet->word, CSP_NO_NAME, NULL);
    } else {
        finder *f = mlt_xcalloc(1, sizeof *f);
        f->worker = from;
        f->question = packet->word;
        snprintf(f->name, sizeof f->name, "%s", name);
        mlt_list_push_back(&names->finders[bucket_of(name)], &f->node);
    }
}

static void drop(mlt_worker *worker, uint32_t from, int32_t question, const char *name)
{
    job_kept *k = job_find_own(kept_by(worker), name);
    bool own = k && k->name.at.worker == from;
    if (own) {
        mlt_list_remove(&k->node);
        free(k);
    }
    job_answer(worker, from, question, own ? CSP_OK : k ? CSP_TAKEN : CSP_NO_NAME, NULL);
}

static void stop_finding(mlt_names_kept *names, uint32_t worker, int32_t question, bool all)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        MLT_LIST_EACH_SAFE(finder, f, &names->finders[i], node) {
            if (f->worker != worker || (!all && f->question != question))
                continue;
            mlt_list_remove(&f->node);
            free(f);
        }
}

bool mlt_names_keep(mlt_worker *worker, uint32_t from, const mlt_packet *packet, const void *data,
                    uint64_t bytes)
{
    switch (packet->kind) {
    case PUT:
        put(worker, from, packet->word, data, bytes);
        return true;
    case FIND:
        job_look(worker, from, packet, data);
        return true;
    case DROP:
        drop(worker, from, packet->word, data);
        return true;
    case JOB_OFF:
        stop_finding(kept_by(worker), from, packet->word, false);
        return true;
    case KEEP:
        mlt_p2p_packet(worker, from, &(mlt_packet){.kind = KEPT}, NULL, 0);
        return true;
    case KEPT:
        mlt_reach_of(worker)->kept = true;
        return true;
    default:
        return false;
    }
}

void mlt_names_ended(mlt_worker *worker, uint32_t from)
{
    mlt_reach *reach = worker->reach;
    if (!reach || !reach->names)
        return;
    stop_finding(reach->names, from, 0, true);
    for (uint32_t i = 0; i < BUCKETS; i++)
        MLT_LIST_EACH_SAFE(job_kept, k, &reach->names->names[i], node) {
            if (k->name.at.worker != from)
                continue;
            mlt_list_remove(&k->node);
            free(k);
        }
}

static bool job_is_gone(const mlt_worker *worker, uint32_t other)
{
    mlt_job *job = worker->boot->job;
    const mlt_reach *reach = worker->reach;
    if (!mlt_job_is_here(job, other))
        return reach->met[other] == MLT_MET_ENDED;
    mlt_job_worker *w = mlt_job_worker_at(job, other);
    return atomic_load_explicit(&w->csp_ended, memory_order_relaxed) ||
           atomic_load_explicit(&w->state, memory_order_relaxed) == MLT_WORKER_ENDED;
}

// The one that keeps the names after this worker; UINT32_MAX: all others have ended.
static uint32_t heir_of(const mlt_worker *worker)
{
    mlt_job *job = worker->boot->job;
    for (uint32_t i = 0; i < job->workers; i++)
        if (i != worker->index && !job_is_gone(worker, i))
            return i;
    return UINT32_MAX;
}

static bool has_names(const mlt_names_kept *names)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        if (!mlt_list_empty(&names->names[i]))
            return true;
    return false;
}

// Whether the heir has what was sent to it. On this host it is enough that it has left: what is
// still here when the heir looks the last time is lost.
static bool has_come(mlt_worker *worker, uint32_t heir)
{
    bool left = mlt_p2p_packets_left(worker, heir);
    if (mlt_job_is_here(worker->boot->job, heir))
        return left;
    mlt_p2p_last_look(worker);
    return mlt_reach_of(worker)->kept;
}

static void hand_to(mlt_worker *worker, mlt_names_kept *names, uint32_t heir, uint64_t until)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        MLT_LIST_EACH(const job_kept, k, &names->names[i], node)
            mlt_p2p_packet(worker, heir, &(mlt_packet){.kind = PUT}, &k->name,
                           name_bytes(&k->name));
    if (!mlt_job_is_here(worker->boot->job, heir)) {
        mlt_reach_of(worker)->kept = false;
        mlt_reach_of(worker)->met[heir] = MLT_MET;
        mlt_p2p_packet(worker, heir, &(mlt_packet){.kind = KEEP}, NULL, 0);
        mlt_route_ask_about(worker, heir);
    }
    while (!has_come(worker, heir) && !job_is_gone(worker, heir) && mlt_os_now_ns() < until)
        mlt_os_yield();
}

// If the heir ends at the same time, it hands on what it finds at its last look; if that is over,
// the next one is the heir, too.
static void hand_on(mlt_worker *worker, mlt_names_kept *names)
{
    uint32_t heir;
    uint64_t until = mlt_os_now_ns() + PATIENCE_NS;
    do {
        heir = has_names(names) ? heir_of(worker) : UINT32_MAX;
        if (heir != UINT32_MAX)
            hand_to(worker, names, heir, until);
        atomic_thread_fence(memory_order_seq_cst); // pairs with that of mlt_route_end
    } while (heir != UINT32_MAX && job_is_gone(worker, heir) && mlt_os_now_ns() < until);
}

void mlt_names_job_end(mlt_worker *worker)
{
    mlt_names_kept *names = mlt_reach_of(worker)->names;
    if (!names)
        return;
    mlt_names_ended(worker, worker->index);
    hand_on(worker, names);
    for (uint32_t i = 0; i < BUCKETS; i++) {
        MLT_LIST_DRAIN(job_kept, k, &names->names[i], node)
            free(k);
        MLT_LIST_DRAIN(finder, f, &names->finders[i], node)
            free(f);
    }
    free(names);
    mlt_reach_of(worker)->names = NULL;
}

// ---- those who ask

static csp_status ask_at(mlt_route *route, uint16_t kind, const void *data, uint64_t bytes,
                         mlt_name *out, const char *call, const char *name, csp_time deadline)
{
    bool at_once = kind == FIND && deadline == CSP_AT_ONCE;
    mlt_packet packet = {.kind = kind, .object = at_once, .src = mlt_csp_rank()->world};
    mlt_question question = {.answer = out, .size = sizeof *out, .call = call};
    csp_status status = mlt_question_ask(&question, route, &packet, data, bytes, MLT_CSP_NAME, name,
                                         at_once ? CSP_NEVER : deadline);
    if (status == CSP_LATE && kind == FIND) {
        packet.kind = JOB_OFF;
        mlt_route_send(route, &packet, NULL, 0);
    }
    return status;
}

// Asks whoever keeps the names: the first worker that has not ended, as far as is known here. This
// worker itself has not.
static csp_status job_ask(mlt_csp *csp, uint16_t kind, const void *data, uint64_t bytes,
                          mlt_name *out, const char *call, const char *name, csp_time deadline)
{
    for (uint32_t keeper = 0; keeper < csp->worker->boot->job->workers; keeper++) {
        mlt_route *route = mlt_route_to_worker(csp, keeper);
        if (route->lost)
            continue;
        csp_status status = ask_at(route, kind, data, bytes, out, call, name, deadline);
        if (status != CSP_LOST && status != CSP_RETIRED)
            return status;
    }
    return CSP_LOST;
}

static csp_status job_put(mlt_csp *csp, const mlt_name *name)
{
    mlt_name other;
    csp_status status =
        job_ask(csp, PUT, name, name_bytes(name), &other, "csp_register", name->name, CSP_NEVER);
    if (status == CSP_TAKEN)
        mlt_csp_why(csp, "rank %d has registered something as '%s'", other.node, name->name);
    return status;
}

static csp_status job_find(mlt_csp *csp, const char *name, mlt_name *out, csp_time deadline)
{
    csp_status status = job_ask(csp, FIND, name, strlen(name) + 1, out, "csp_find", name, deadline);
    if (status == CSP_NO_NAME)
        mlt_csp_why(csp, "nothing is registered as '%s'%s", name, mlt_names_hint(csp));
    else if (status == CSP_LATE)
        mlt_csp_why(csp, "nothing was registered as '%s' in time%s", name, mlt_names_hint(csp));
    return status;
}

static csp_status job_drop(mlt_csp *csp, const char *name)
{
    mlt_name other;
    csp_status status =
        job_ask(csp, DROP, name, strlen(name) + 1, &other, "csp_unregister", name, CSP_NEVER);
    if (status == CSP_NO_NAME)
        mlt_csp_why(csp, "nothing is registered as '%s'", name);
    if (status == CSP_TAKEN)
        mlt_csp_why(csp, "'%s' was registered by another worker", name);
    return status;
}

const mlt_names_ops mlt_names_job = {.put = job_put, .find = job_find, .drop = job_drop};

void mlt_names_packet(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    (void)mlt_question_answer(route->csp, (uint32_t)packet->word, (csp_status)packet->object, data,
                              bytes);
}
