// SPDX-License-Identifier: BSD-3-Clause
// What the workers of a process share, and how connections come and are lost.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "os/fd.h"
#include "os/tcp.h"
#include "wire/tcp/tcp_int.h"

int64_t mlt_tcp_gone_ms = 5000;
_Atomic uint64_t mlt_tcp_abroad;

// Processes of a job are one here; a test may have several in one.
static pthread_mutex_t endpoints_lock = PTHREAD_MUTEX_INITIALIZER;
static tcp_endpoint *endpoints;

static tcp_endpoint *new_endpoint(mlt_job *job, uint32_t proc, int ctl)
{
    const mlt_job_proc *own = mlt_job_proc_at(job, proc);
    size_t bytes = sizeof(tcp_endpoint) + own->workers * sizeof(struct tcp_mail);
    tcp_endpoint *endpoint = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    _Atomic(tcp_pair *) *pairs = calloc(job->procs, sizeof *pairs);
    if (!endpoint || !pairs) {
        free(endpoint);
        free(pairs);
        return NULL;
    }
    memset(endpoint, 0, bytes);
    endpoint->job = job;
    endpoint->proc = proc;
    endpoint->workers = own->workers;
    endpoint->first_worker = own->first_worker;
    endpoint->ctl = ctl;
    endpoint->pairs = pairs;
    endpoint->holders = own->workers;
    endpoint->living = own->workers;
    pthread_mutex_init(&endpoint->lock, NULL);
    pthread_mutex_init(&endpoint->abroad_lock, NULL);
    endpoint->fabric = mlt_switchover_enter(endpoint, job, proc, ctl);
    endpoint->next = endpoints;
    endpoints = endpoint;
    return endpoint;
}

tcp_endpoint *mlt_tcp_enter(mlt_job *job, uint32_t proc, int ctl)
{
    pthread_mutex_lock(&endpoints_lock);
    tcp_endpoint *endpoint = endpoints;
    while (endpoint && (endpoint->job != job || endpoint->proc != proc))
        endpoint = endpoint->next;
    if (!endpoint)
        endpoint = new_endpoint(job, proc, ctl);
    pthread_mutex_unlock(&endpoints_lock);
    return endpoint;
}

static void free_lane(tcp_lane *lane)
{
    if (!lane)
        return;
    mlt_spsc_free(atomic_load_explicit(&lane->out, memory_order_relaxed));
    mlt_spsc_free(lane->in);
    for (tcp_spilled *list = lane->taken; list;) {
        tcp_spilled *next = list->next;
        free(list);
        list = next;
    }
    for (tcp_spilled *list = lane->spill_first; list;) {
        tcp_spilled *next = list->next;
        free(list);
        list = next;
    }
    pthread_mutex_destroy(&lane->spill_lock);
    free(lane);
}

static void free_link(tcp_link *link)
{
    if (!link)
        return;
    mlt_tcp_shut(link);
    mlt_cipher_free(link->cipher);
    free(link);
}

void mlt_tcp_free_pair(tcp_pair *pair)
{
    if (!pair)
        return;
    for (int i = 0; i < LINKS; i++)
        free_link(atomic_load_explicit(&pair->links[i], memory_order_relaxed));
    for (uint32_t i = 0; i < pair->endpoint->workers; i++)
        free_lane(atomic_load_explicit(&pair->lanes[i], memory_order_relaxed));
    mlt_switchover_free(pair->switchover);
    if (pair->world)
        atomic_fetch_sub_explicit(&mlt_tcp_abroad, 1, memory_order_relaxed);
    free(pair->left);
    free(pair);
}

static void free_pairs(tcp_pair *list)
{
    while (list) {
        tcp_pair *pair = list;
        list = pair->next;
        mlt_tcp_free_pair(pair);
    }
}

static void free_endpoint(tcp_endpoint *endpoint)
{
    mlt_switchover_leave(endpoint->fabric); // before the memory goes that it reads and is read from
    for (uint32_t p = 0; p < endpoint->job->procs; p++)
        mlt_tcp_free_pair(atomic_load_explicit(&endpoint->pairs[p], memory_order_relaxed));
    free_pairs(endpoint->abroad);
    free_pairs(endpoint->retired);
    free(endpoint->links);
    free(endpoint->pairs);
    pthread_mutex_destroy(&endpoint->lock);
    pthread_mutex_destroy(&endpoint->abroad_lock);
    free(endpoint);
}

void mlt_tcp_leave(tcp_endpoint *endpoint)
{
    pthread_mutex_lock(&endpoints_lock);
    bool last = --endpoint->holders == 0;
    for (tcp_endpoint **at = &endpoints; last && *at; at = &(*at)->next)
        if (*at == endpoint) {
            *at = endpoint->next;
            break;
        }
    pthread_mutex_unlock(&endpoints_lock);
    if (last)
        free_endpoint(endpoint);
}

// ---- Pairs and lanes

static tcp_pair *new_pair(tcp_endpoint *endpoint, uint32_t proc, uint32_t workers,
                          uint32_t first_worker)
{
    tcp_pair *pair = mlt_xcalloc(1, sizeof *pair + endpoint->workers * sizeof pair->lanes[0]);
    pair->endpoint = endpoint;
    pair->proc = proc;
    pair->workers = workers;
    pair->first_worker = first_worker;
    return pair;
}

static mlt_worlds *worlds_of(tcp_endpoint *endpoint)
{
    return mlt_worlds_of(endpoint->job, endpoint->ctl);
}

static tcp_pair *pair_abroad(tcp_endpoint *endpoint, uint32_t proc)
{
    mlt_world_place place;
    pthread_mutex_lock(&endpoint->abroad_lock);
    tcp_pair *pair = endpoint->abroad;
    while (pair && pair->proc != proc)
        pair = pair->next;
    if (!pair && mlt_worlds_proc(worlds_of(endpoint), proc, &place)) {
        pair = new_pair(endpoint, proc, place.workers, place.first_worker);
        pair->world = place.world;
        pair->next = endpoint->abroad;
        endpoint->abroad = pair;
        atomic_fetch_add_explicit(&mlt_tcp_abroad, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&endpoint->abroad_lock);
    mlt_assert(pair);
    return pair;
}

// acquire and release: whoever finds a pair or a lane sees what is in it.
tcp_pair *mlt_tcp_find_pair(tcp_endpoint *endpoint, uint32_t proc)
{
    return proc < endpoint->job->procs
               ? atomic_load_explicit(&endpoint->pairs[proc], memory_order_acquire)
               : NULL;
}

tcp_pair *mlt_tcp_pair(tcp_endpoint *endpoint, uint32_t proc)
{
    if (proc >= endpoint->job->procs)
        return pair_abroad(endpoint, proc);
    tcp_pair *pair = mlt_tcp_find_pair(endpoint, proc);
    if (pair)
        return pair;
    const mlt_job_proc *other = mlt_job_proc_at(endpoint->job, proc);
    tcp_pair *mine = new_pair(endpoint, proc, other->workers, other->first_worker);
    mine->switchover = mlt_switchover_new(endpoint->fabric); // with other jobs there is TCP only
    if (atomic_compare_exchange_strong_explicit(&endpoint->pairs[proc], &pair, mine,
                                                memory_order_acq_rel, memory_order_acquire))
        return mine;
    mlt_switchover_free(mine->switchover); // another thread was faster
    free(mine);
    return pair;
}

tcp_lane *mlt_tcp_lane(tcp_pair *pair, uint32_t worker)
{
    tcp_lane *lane = atomic_load_explicit(&pair->lanes[worker], memory_order_acquire);
    if (lane)
        return lane;
    tcp_lane *mine = mlt_xcalloc(1, sizeof *mine);
    mine->pair = pair;
    mine->worker = worker;
    mine->spill_last = &mine->spill_first;
    pthread_mutex_init(&mine->spill_lock, NULL);
    if (atomic_compare_exchange_strong_explicit(&pair->lanes[worker], &lane, mine,
                                                memory_order_acq_rel, memory_order_acquire))
        return mine;
    free_lane(mine);
    return lane;
}

void mlt_tcp_wake(tcp_endpoint *endpoint, uint32_t worker)
{
    mlt_job_worker *to = mlt_job_worker_at(endpoint->job, endpoint->first_worker + worker);
    // As mlt_wire_notify: ordered before the look at `state`.
    (void)atomic_exchange_explicit(&to->news, 1, memory_order_seq_cst);
    mlt_jitter();
    mlt_job_wake(to);
}

// ---- Connections

static void want_abroad(const tcp_pair *pair)
{
    // acquire: pairs with mlt_bond_begin.
    uint64_t bond = atomic_load_explicit(&pair->world->bond, memory_order_acquire);
    uint32_t first = atomic_load_explicit(&pair->world->bond_proc, memory_order_relaxed);
    mlt_ctl head = {.type = MLT_CTL_WANT,
                    .rank = MLT_CTL_NO_RANK,
                    .value = (int64_t)first + (pair->proc - pair->world->first_proc),
                    .length = sizeof bond};
    if (bond)
        (void)mlt_ctl_send(pair->endpoint->ctl, &head, &bond);
}

void mlt_tcp_want(tcp_pair *pair)
{
    if (atomic_load_explicit(&pair->wanted, memory_order_relaxed) ||
        atomic_exchange_explicit(&pair->wanted, 1, memory_order_relaxed))
        return;
    if (pair->world) {
        want_abroad(pair);
        return;
    }
    mlt_ctl head = {.type = MLT_CTL_WANT, .rank = MLT_CTL_NO_RANK, .value = pair->proc};
    (void)mlt_ctl_send(pair->endpoint->ctl, &head, NULL); // without mpirun the process ends anyway
}

// Nobody misses a job that is connected no longer.
static void lose_abroad(const tcp_pair *pair, const char *why)
{
    char text[512];
    if (!atomic_load_explicit(&pair->world->holders, memory_order_relaxed))
        return;
    // What a process has not read when it ends resets its connection.
    bool reset = strcmp(why, strerror(ECONNRESET)) == 0 || strcmp(why, strerror(EPIPE)) == 0;
    int n = snprintf(text, sizeof text,
                     "the connection to process %u of the other job, %s, is lost: %s%s",
                     pair->proc - pair->world->first_proc, pair->world->shape.name, why,
                     reset ? "; it has ended, most likely, though this job still sends to it "
                             "(MPI_Comm_disconnect tells both when the other is through)"
                           : "");
    mlt_ctl head = {.type = MLT_CTL_LOST_JOB,
                    .rank = MLT_CTL_NO_RANK,
                    .length = (uint32_t)(n < (int)sizeof text ? n : (int)sizeof text - 1)};
    (void)mlt_ctl_send(pair->endpoint->ctl, &head, text);
}

void mlt_tcp_lose(tcp_pair *pair, const char *why)
{
    // Once all have ended here nothing is missed. What the other side misses, it says itself.
    if (atomic_load_explicit(&pair->gone, memory_order_relaxed) ||
        atomic_load_explicit(&pair->endpoint->living, memory_order_relaxed) == 0 ||
        atomic_exchange_explicit(&pair->lost, 1, memory_order_relaxed))
        return;
    atomic_store_explicit(&pair->gone, 1, memory_order_relaxed);
    if (pair->world) {
        lose_abroad(pair, why);
        return;
    }
    mlt_ctl head = {.type = MLT_CTL_LOST,
                    .rank = MLT_CTL_NO_RANK,
                    .value = pair->proc,
                    .length = (uint32_t)strlen(why)};
    (void)mlt_ctl_send(pair->endpoint->ctl, &head, why);
}

// One that is free, or a new one.
static uint32_t new_number(tcp_endpoint *endpoint)
{
    for (uint32_t i = 0; i < endpoint->link_count; i++)
        if (!endpoint->links[i])
            return i;
    MLT_ARRAY_WANT(endpoint->links, endpoint->link_count + (size_t)1, endpoint->link_room);
    return endpoint->link_count++;
}

static tcp_link *new_link(tcp_endpoint *endpoint, tcp_pair *pair, mlt_cipher *cipher, int fd)
{
    tcp_link *link = mlt_xcalloc(1, sizeof *link);
    link->room_bytes = cipher ? CIPHER_ROOM_BYTES : ROOM_BYTES;
    link->room = mlt_xcalloc(1, link->room_bytes);
    link->cipher = cipher;
    link->pair = pair;
    link->fd = fd;
    link->number = new_number(endpoint);
    endpoint->links[link->number] = link;
    return link;
}

// The pair that a connection is for; NULL: it is none to a process of another host or job.
static tcp_pair *pair_for(tcp_endpoint *endpoint, const mlt_ctl_link *about)
{
    if (about->bond) {
        uint32_t proc = mlt_bond_proc(worlds_of(endpoint), about->bond, about->proc);
        return proc != UINT32_MAX ? mlt_tcp_pair(endpoint, proc) : NULL;
    }
    bool sound = about->proc < endpoint->job->procs &&
                 mlt_job_proc_at(endpoint->job, about->proc)->host != endpoint->job->host;
    return sound ? mlt_tcp_pair(endpoint, about->proc) : NULL;
}

static void add_link(tcp_endpoint *endpoint, const mlt_ctl_link *about, int fd)
{
    tcp_pair *pair = pair_for(endpoint, about);
    uint32_t n = 0;
    while (pair && n < LINKS && atomic_load_explicit(&pair->links[n], memory_order_relaxed))
        n++;
    if (!pair || n == LINKS) {
        mlt_os_close(fd);
        return;
    }
    char why[256];
    mlt_cipher *cipher = NULL;
    if (about->encrypts &&
        mlt_cipher_new(&cipher, about->send_key, about->receive_key, why, sizeof why) != MLT_OK) {
        mlt_tcp_lose(pair, why);
        mlt_os_close(fd);
        return;
    }
    if (!mlt_os_tcp_tune_patient(fd, (uint32_t)mlt_tcp_gone_ms)) {
        snprintf(why, sizeof why, "the system refuses a setting of its socket (%s)",
                 strerror(errno));
        mlt_tcp_lose(pair, why);
    }
    atomic_store_explicit(&pair->wanted, 1, memory_order_relaxed);
    if (n == 0 && pair->switchover && !cipher)
        mlt_switchover_offer(pair);
    // release: pairs with the acquire of whoever writes.
    atomic_store_explicit(&pair->links[n], new_link(endpoint, pair, cipher, fd),
                          memory_order_release);
}

// A link with frames left in its room stays: the system does not tell of these. If all have some,
// the new one has to wait; it will ring again.
void mlt_tcp_heat(tcp_worker *me, uint32_t number)
{
    if (me->hot_count < HOT) {
        me->hot[me->hot_count++] = number;
        return;
    }
    for (uint32_t i = 0; i < HOT; i++) {
        uint32_t at = me->hot_next++ % HOT;
        if (me->endpoint->workers == 1 && me->entries[me->hot[at]].link->stopped)
            continue;
        me->hot[at] = number;
        return;
    }
}

static void take_entry(tcp_worker *me, uint32_t number, tcp_link *link)
{
    me->entries[number] = (tcp_entry){.link = link, .fresh = true};
    me->entries_taken++;
    mlt_tcp_heat(me, number);
    me->new_entries = true;
}

static void entry(tcp_worker *me)
{
    const tcp_endpoint *endpoint = me->endpoint;
    for (uint32_t i = 0; i < endpoint->link_count; i++) {
        tcp_link *link = endpoint->links[i] ? endpoint->links[i] : &mlt_tcp_vacant;
        if (i == me->entry_count) {
            MLT_ARRAY_WANT(me->entries, i + (size_t)1, me->entry_room);
            me->entries[me->entry_count++] = (tcp_entry){.link = &mlt_tcp_vacant};
        }
        if (me->entries[i].link == &mlt_tcp_vacant && link != &mlt_tcp_vacant)
            take_entry(me, i, link);
    }
}

bool mlt_tcp_take_links(tcp_worker *me)
{
    // acquire: pairs with mlt_job_link_came.
    uint32_t came = atomic_load_explicit(&me->wire->own->links, memory_order_acquire);
    if (MLT_LIKELY(came == me->links_seen))
        return false;
    me->links_seen = came;
    tcp_endpoint *endpoint = me->endpoint;
    mlt_status status;
    pthread_mutex_lock(&endpoint->lock);
    do {
        mlt_ctl_link about = {.proc = UINT32_MAX};
        int fd;
        status = mlt_ctl_take_link(endpoint->ctl, &about, &fd);
        if (status == MLT_OK)
            add_link(endpoint, &about, fd);
        else if (status == MLT_ERR_SYSTEM && pair_for(endpoint, &about))
            mlt_tcp_lose(pair_for(endpoint, &about),
                         "this process has no descriptor left for it; `ulimit -n` may set a limit");
    } while (status == MLT_OK || status == MLT_ERR_SYSTEM);
    mlt_tcp_tidy(me);
    entry(me);
    pthread_mutex_unlock(&endpoint->lock);
    // Offers leave, whether or not there is something to be sent.
    for (uint32_t i = 0; endpoint->fabric && i < me->entry_count; i++)
        if (me->entries[i].fresh) {
            me->entries[i].fresh = false;
            (void)mlt_tcp_carry(me->entries[i].link->pair);
        }
    return true;
}
