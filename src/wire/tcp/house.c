// SPDX-License-Identifier: BSD-3-Clause
// What the workers of a process share, and how connections come and are lost.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "os/fd.h"
#include "os/tcp.h"
#include "wire/tcp/tcp_int.h"
#include "wire/tcp/way.h"

int64_t mlt_tcp_gone_ms = 5000;
_Atomic uint64_t mlt_tcp_abroad;

// Processes of a job are one here; a test may have several in one.
static pthread_mutex_t houses_lock = PTHREAD_MUTEX_INITIALIZER;
static tcp_house *houses;

static tcp_house *new_house(mlt_job *job, uint32_t proc, int ctl)
{
    const mlt_job_proc *own = mlt_job_proc_at(job, proc);
    size_t bytes = sizeof(tcp_house) + own->workers * sizeof(struct tcp_mail);
    tcp_house *house = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    _Atomic(tcp_pair *) *pairs = calloc(job->procs, sizeof *pairs);
    if (!house || !pairs) {
        free(house);
        free(pairs);
        return NULL;
    }
    memset(house, 0, bytes);
    house->job = job;
    house->proc = proc;
    house->workers = own->workers;
    house->first_worker = own->first_worker;
    house->ctl = ctl;
    house->pairs = pairs;
    pthread_mutex_init(&house->lock, NULL);
    pthread_mutex_init(&house->abroad_lock, NULL);
    mlt_way_enter(house);
    house->next = houses;
    houses = house;
    return house;
}

tcp_house *mlt_tcp_enter(mlt_job *job, uint32_t proc, int ctl)
{
    pthread_mutex_lock(&houses_lock);
    tcp_house *house = houses;
    while (house && (house->job != job || house->proc != proc))
        house = house->next;
    if (!house)
        house = new_house(job, proc, ctl);
    if (house) {
        house->holders++;
        house->living++;
    }
    pthread_mutex_unlock(&houses_lock);
    return house;
}

static void free_lane(tcp_lane *lane)
{
    if (!lane)
        return;
    mlt_tube_free(atomic_load_explicit(&lane->out, memory_order_relaxed));
    mlt_tube_free(lane->in);
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
    for (uint32_t i = 0; i < pair->house->workers; i++)
        free_lane(atomic_load_explicit(&pair->lanes[i], memory_order_relaxed));
    mlt_way_free(pair->way);
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

static void free_house(tcp_house *house)
{
    mlt_way_leave(house); // before the memory goes that it reads and is read from
    for (uint32_t p = 0; p < house->job->procs; p++)
        mlt_tcp_free_pair(atomic_load_explicit(&house->pairs[p], memory_order_relaxed));
    free_pairs(house->abroad);
    free_pairs(house->retired);
    free(house->links);
    free(house->pairs);
    pthread_mutex_destroy(&house->lock);
    pthread_mutex_destroy(&house->abroad_lock);
    free(house);
}

void mlt_tcp_leave(tcp_house *house)
{
    pthread_mutex_lock(&houses_lock);
    bool last = --house->holders == 0;
    for (tcp_house **at = &houses; last && *at; at = &(*at)->next)
        if (*at == house) {
            *at = house->next;
            break;
        }
    pthread_mutex_unlock(&houses_lock);
    if (last)
        free_house(house);
}

// ---- Pairs and lanes

static tcp_pair *new_pair(tcp_house *house, uint32_t proc, uint32_t workers, uint32_t first_worker)
{
    tcp_pair *pair = mlt_take(1, sizeof *pair + house->workers * sizeof pair->lanes[0]);
    pair->house = house;
    pair->proc = proc;
    pair->workers = workers;
    pair->first_worker = first_worker;
    return pair;
}

mlt_worlds *mlt_tcp_worlds(tcp_house *house)
{
    return mlt_worlds_of(house->job, house->ctl);
}

static tcp_pair *pair_abroad(tcp_house *house, uint32_t proc)
{
    mlt_world_place place;
    pthread_mutex_lock(&house->abroad_lock);
    tcp_pair *pair = house->abroad;
    while (pair && pair->proc != proc)
        pair = pair->next;
    if (!pair && mlt_worlds_proc(mlt_tcp_worlds(house), proc, &place)) {
        pair = new_pair(house, proc, place.workers, place.first_worker);
        pair->world = place.world;
        pair->next = house->abroad;
        house->abroad = pair;
        atomic_fetch_add_explicit(&mlt_tcp_abroad, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&house->abroad_lock);
    mlt_assert(pair);
    return pair;
}

// acquire and release: whoever finds a pair or a lane sees what is in it.
tcp_pair *mlt_tcp_pair(tcp_house *house, uint32_t proc)
{
    if (proc >= house->job->procs)
        return pair_abroad(house, proc);
    tcp_pair *pair = atomic_load_explicit(&house->pairs[proc], memory_order_acquire);
    if (pair)
        return pair;
    const mlt_job_proc *other = mlt_job_proc_at(house->job, proc);
    tcp_pair *mine = new_pair(house, proc, other->workers, other->first_worker);
    mine->way = mlt_way_new(house); // with other jobs there is TCP only
    if (atomic_compare_exchange_strong_explicit(&house->pairs[proc], &pair, mine,
                                                memory_order_acq_rel, memory_order_acquire))
        return mine;
    mlt_way_free(mine->way); // another thread was faster
    free(mine);
    return pair;
}

tcp_lane *mlt_tcp_lane(tcp_pair *pair, uint32_t worker)
{
    tcp_lane *lane = atomic_load_explicit(&pair->lanes[worker], memory_order_acquire);
    if (lane)
        return lane;
    tcp_lane *mine = mlt_take(1, sizeof *mine);
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

void mlt_tcp_wake(tcp_house *house, uint32_t worker)
{
    mlt_job_worker *to = mlt_job_worker_at(house->job, house->first_worker + worker);
    // As mlt_wire_notify: ordered before the look at `asleep`.
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
        (void)mlt_ctl_send(pair->house->ctl, &head, &bond);
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
    (void)mlt_ctl_send(pair->house->ctl, &head, NULL); // without mpirun the process ends anyway
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
    (void)mlt_ctl_send(pair->house->ctl, &head, text);
}

void mlt_tcp_lose(tcp_pair *pair, const char *why)
{
    // Once all have ended here nothing is missed. What the other side misses, it says itself.
    if (atomic_load_explicit(&pair->gone, memory_order_relaxed) ||
        atomic_load_explicit(&pair->house->living, memory_order_relaxed) == 0 ||
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
    (void)mlt_ctl_send(pair->house->ctl, &head, why);
}

// One that is free, or a new one.
static uint32_t new_number(tcp_house *house)
{
    for (uint32_t i = 0; i < house->link_count; i++)
        if (!house->links[i])
            return i;
    MLT_ARRAY_WANT(house->links, house->link_count + (size_t)1, house->link_room);
    return house->link_count++;
}

static tcp_link *new_link(tcp_house *house, tcp_pair *pair, mlt_cipher *cipher, int fd)
{
    tcp_link *link = mlt_take(1, sizeof *link);
    link->room_bytes = cipher ? CIPHER_ROOM_BYTES : ROOM_BYTES;
    link->room = mlt_take(1, link->room_bytes);
    link->cipher = cipher;
    link->pair = pair;
    link->fd = fd;
    link->number = new_number(house);
    house->links[link->number] = link;
    return link;
}

// The pair that a connection is for; NULL: it is none to a process of another host or job.
static tcp_pair *pair_for(tcp_house *house, const mlt_ctl_link *about)
{
    if (about->bond) {
        uint32_t proc = mlt_bond_proc(mlt_tcp_worlds(house), about->bond, about->proc);
        return proc != UINT32_MAX ? mlt_tcp_pair(house, proc) : NULL;
    }
    bool sound = about->proc < house->job->procs &&
                 mlt_job_proc_at(house->job, about->proc)->host != house->job->host;
    return sound ? mlt_tcp_pair(house, about->proc) : NULL;
}

static void add_link(tcp_house *house, const mlt_ctl_link *about, int fd)
{
    tcp_pair *pair = pair_for(house, about);
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
    if (n == 0 && pair->way && !cipher)
        mlt_way_offer(pair);
    // release: pairs with the acquire of whoever writes.
    atomic_store_explicit(&pair->links[n], new_link(house, pair, cipher, fd), memory_order_release);
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
        if (me->house->workers == 1 && me->seats[me->hot[at]].link->stopped)
            continue;
        me->hot[at] = number;
        return;
    }
}

static void take_seat(tcp_worker *me, uint32_t number, tcp_link *link)
{
    me->seats[number] = (tcp_seat){.link = link, .fresh = true};
    me->seats_taken++;
    mlt_tcp_heat(me, number);
    me->new_seats = true;
}

static void seat(tcp_worker *me)
{
    const tcp_house *house = me->house;
    for (uint32_t i = 0; i < house->link_count; i++) {
        tcp_link *link = house->links[i] ? house->links[i] : &mlt_tcp_vacant;
        if (i == me->seat_count) {
            MLT_ARRAY_WANT(me->seats, i + (size_t)1, me->seat_room);
            me->seats[me->seat_count++] = (tcp_seat){.link = &mlt_tcp_vacant};
        }
        if (me->seats[i].link == &mlt_tcp_vacant && link != &mlt_tcp_vacant)
            take_seat(me, i, link);
    }
}

bool mlt_tcp_take_links(tcp_worker *me)
{
    // acquire: pairs with mlt_job_link_came.
    uint32_t came = atomic_load_explicit(&me->wire->own->links, memory_order_acquire);
    if (MLT_LIKELY(came == me->links_seen))
        return false;
    me->links_seen = came;
    tcp_house *house = me->house;
    mlt_status status;
    pthread_mutex_lock(&house->lock);
    do {
        mlt_ctl_link about = {.proc = UINT32_MAX};
        int fd;
        status = mlt_ctl_take_link(house->ctl, &about, &fd);
        if (status == MLT_OK)
            add_link(house, &about, fd);
        else if (status == MLT_ERR_SYSTEM && pair_for(house, &about))
            mlt_tcp_lose(pair_for(house, &about),
                         "this process has no descriptor left for it; `ulimit -n` may set a limit");
    } while (status == MLT_OK || status == MLT_ERR_SYSTEM);
    mlt_tcp_tidy(me);
    seat(me);
    pthread_mutex_unlock(&house->lock);
    // Offers leave, whether or not there is something to be sent.
    for (uint32_t i = 0; house->fabric && i < me->seat_count; i++)
        if (me->seats[i].fresh) {
            me->seats[i].fresh = false;
            (void)mlt_tcp_carry(me->seats[i].link->pair);
        }
    return true;
}
