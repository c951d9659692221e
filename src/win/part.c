// SPDX-License-Identifier: BSD-3-Clause
#include "win/part.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/table.h"
#include "boot/job.h"
#include "boot/shmem.h"
#include "os/os.h"
#include "win/across.h"
#include "wire/wire.h"
#include "wire/world.h"

enum { PART_PATIENCE_NS = 1000000000 };

// ---- the worker's windows

mlt_win_part *mlt_win_part_find(const mlt_worker *worker, uint32_t id)
{
    const mlt_table *table = worker->windows;
    if (!table)
        return NULL;
    for (mlt_table_look look = mlt_table_look_for(table, mlt_hash_word(id)); mlt_table_next(&look);)
        if (((mlt_win_part *)look.word)->id == id)
            return (mlt_win_part *)look.word;
    return NULL;
}

void mlt_win_worker_fini(mlt_worker *worker)
{
    if (worker->windows)
        mlt_table_free(worker->windows);
    free(worker->windows);
    worker->windows = NULL;
}

// ---- making

mlt_win_part *mlt_win_part_new(const mlt_win_facts *f)
{
    mlt_win_part *part = mlt_xcalloc(1, sizeof *part);
    *part = (mlt_win_part){
        .worker = f->worker,
        .refs = 1,
        .ranks = f->ranks,
        .workers = f->workers,
        .place = f->place,
        .even = f->even,
        .contiguous = f->contiguous,
        .flavor = (uint8_t)f->flavor,
        .plain = f->flavor != MLT_WIN_DYNAMIC && (f->even || f->workers == 1),
        .single = f->flavor != MLT_WIN_DYNAMIC && f->even == 1,
        .shares = f->shares,
        .across = f->worker->boot->job->readable,
        .world = f->world,
        .group = f->group,
        .peers = mlt_xcalloc(f->workers, sizeof *part->peers),
    };
    mlt_list_init(&part->claims);
    mlt_list_init(&part->joins);
    return part;
}

static uint8_t reach_of(const mlt_win_part *part, uint32_t worker)
{
    const mlt_worker *me = part->worker;
    mlt_job *job = me->boot->job;
    if (worker >= job->workers) // of another job
        return MLT_WIN_FAR;
    if (mlt_job_location_at(job, worker)->proc == me->boot->proc)
        return MLT_WIN_NEAR;
    return part->shares && mlt_job_is_here(job, worker) ? MLT_WIN_HOST : MLT_WIN_FAR;
}

void mlt_win_part_peer(mlt_win_part *part, uint32_t place, uint32_t worker, int32_t first)
{
    part->peers[place] =
        (mlt_win_peer){.worker = worker, .first = first, .reach = reach_of(part, worker)};
}

void mlt_win_part_join(mlt_win_part *part, mlt_win_join *join)
{
    mlt_list_push_back(&part->joins, &join->node);
    part->came++;
}

static uint64_t round_up(uint64_t n, uint64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

// Small memories share pages; those of a page or more begin on one.
static uint64_t align_of(uint64_t size)
{
    uint64_t page = mlt_os_page_size();
    return size >= page ? page : MLT_SHMEM_ALIGN;
}

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint32_t span_of(const mlt_win_part *part)
{
    int32_t first = part->peers[part->place].first, last = first;
    MLT_LIST_EACH(const mlt_win_join, join, &part->joins, node)
        last = join->me > last ? join->me : last;
    return (uint32_t)(last - first) + 1;
}

// Where in the block the memory of the ranks that have come begins. `align` becomes the block's.
static bool part_lay_out(const mlt_win_part *part, uint64_t *align, uint64_t *bytes)
{
    uint64_t asked = *align;
    MLT_LIST_EACH(mlt_win_join, join, &part->joins, node) {
        uint64_t own = more(align_of(join->size), asked);
        *align = more(*align, own);
        join->base = round_up(*bytes, own);
        if (join->size > INT64_MAX - join->base)
            return false;
        *bytes = join->base + join->size;
    }
    return true;
}

// The same for all memory of the window, which is one piece.
static bool lay_out_all(uint64_t memory, uint64_t *align, uint64_t *bytes, uint64_t *begin)
{
    *align = more(*align, align_of(memory));
    *begin = round_up(*bytes, *align);
    *bytes = *begin + memory;
    return memory <= INT64_MAX - *begin;
}

// Its descriptors are open at first (lock.h). A dynamic one's list is under the guard, too.
static bool begins_open(const mlt_win_part *part)
{
    enum { FEW = 16 };
    return part->flavor != MLT_WIN_DYNAMIC &&
           (part->workers == 1 || (part->worker->boot->job->membarrier && part->span <= FEW));
}

static bool any_device(const mlt_win_part *part)
{
    bool any = false;
    MLT_LIST_EACH(const mlt_win_join, join, &part->joins, node)
        any |= join->device;
    return any;
}

static void take_descriptors(mlt_win_part *part, mlt_win_descriptor *descriptors)
{
    int32_t first = part->peers[part->place].first;
    uint32_t guard = begins_open(part) ? MLT_WIN_OPEN : MLT_WIN_GUARDED;
    MLT_LIST_DRAIN(mlt_win_join, join, &part->joins, node) { // its memory is a rank's stack
        uint64_t base = join->base;
        if (part->flavor == MLT_WIN_ALLOCATED)
            base += (uintptr_t)part->block;
        descriptors[join->me - first] = (mlt_win_descriptor){
            .base = base,
            .size = join->size,
            .unit = join->unit,
            .lock = {.holder = -1, .guard = join->device ? MLT_WIN_GUARDED : guard},
            .device = join->device};
        join->side->part = part;
        join->side->me = join->me;
        part->sides[join->me - first] = join->side;
    }
}

mlt_status mlt_win_part_block(mlt_win_part *part, uint64_t align, uint64_t memory,
                              mlt_win_card *card)
{
    part->span = span_of(part);
    uint64_t descriptors = sizeof(mlt_win_block) + part->span * sizeof(mlt_win_descriptor);
    uint64_t bytes = descriptors, begin = 0;
    align = more(align, MLT_SHMEM_ALIGN);
    bool fits = true;
    if (part->flavor == MLT_WIN_ALLOCATED)
        fits = part_lay_out(part, &align, &bytes);
    else if (memory)
        fits = lay_out_all(memory, &align, &bytes, &begin);
    part->block = fits && bytes <= SIZE_MAX / 4 ? mlt_shmem_alloc(bytes, align) : NULL;
    uint32_t segment = 0;
    if (!part->block)
        return MLT_ERR_NO_MEMORY;
    memset(part->block, 0, descriptors);
    part->sides = mlt_xcalloc(part->span, sizeof(mlt_win_side *));
    bool device = any_device(part);
    take_descriptors(part, (mlt_win_descriptor *)(part->block + sizeof(mlt_win_block)));
    *card = (mlt_win_card){.address = (uintptr_t)part->block,
                           .bytes = bytes,
                           .memory = begin,
                           .shares = part->shares,
                           .device = device};
    bool found = mlt_shmem_find(part->block, bytes, &segment, &card->offset);
    mlt_assert(found);
    card->fd = mlt_shmem_fd(segment);
    return MLT_OK;
}

void mlt_win_part_card(mlt_win_part *part, uint32_t place, const mlt_win_card *card)
{
    mlt_win_peer *peer = &part->peers[place];
    peer->card = *card;
    if (peer->reach != MLT_WIN_NEAR)
        return;
    peer->descriptors = (mlt_win_descriptor *)(uintptr_t)(card->address + sizeof(mlt_win_block));
    // What is attached to a dynamic one may be memory of a device.
    peer->direct =
        (part->flavor == MLT_WIN_CREATED || part->flavor == MLT_WIN_ALLOCATED) && !card->device;
}

// ---- where a rank is, if its worker's ranks do not follow each other

static void index_places(mlt_win_part *part)
{
    part->slots = 4;
    while (part->slots < 2 * part->workers)
        part->slots *= 2;
    part->places = mlt_xcalloc(part->slots, sizeof *part->places);
    for (uint32_t p = 0; p < part->workers; p++) {
        uint32_t at = mlt_hash_word(part->peers[p].worker);
        while (part->places[at & (part->slots - 1)])
            at++;
        part->places[at & (part->slots - 1)] = p + 1;
    }
}

uint32_t mlt_win_place_search(const mlt_win_part *part, int32_t rank)
{
    uint32_t worker = mlt_worker_of_rank(part->worker, part->world(part->group, rank));
    for (uint32_t at = mlt_hash_word(worker);; at++) {
        uint32_t place = part->places[at & (part->slots - 1)];
        mlt_assert(place);
        if (part->peers[place - 1].worker == worker)
            return place - 1;
    }
}

uint32_t mlt_win_domain_of(const mlt_win_part *part, uint32_t place)
{
    mlt_job *job = part->worker->boot->job;
    const mlt_win_peer *peer = &part->peers[place];
    uint32_t host, proc;
    if (MLT_LIKELY(peer->worker < job->workers)) {
        host = mlt_job_host_of(job, peer->worker);
        proc = mlt_job_location_at(job, peer->worker)->proc;
    } else {
        mlt_world_place there = mlt_worlds_place(part->worker->wire->worlds, peer->worker);
        host = there.host;
        proc = there.proc;
    }
    return peer->card.shares ? 2 * host : 2 * proc + 1; // both are numbers below 2^31
}

// The first worker of each domain, in the order of places.
static void find_domains(mlt_win_part *part)
{
    mlt_table seen = {0};
    uint32_t room = 0;
    for (uint32_t p = 0; p < part->workers; p++) {
        uint32_t domain = mlt_win_domain_of(part, p);
        mlt_table_look look = mlt_table_look_for(&seen, mlt_hash_word(domain));
        bool known = false;
        while (!known && mlt_table_next(&look))
            known = look.word == domain;
        if (known)
            continue;
        mlt_table_add(&seen, mlt_hash_word(domain), domain);
        if (domain == mlt_win_domain_of(part, part->place))
            part->lead = p;
        *MLT_ARRAY_ADD(part->leads, part->domains, room) = p;
    }
    mlt_table_free(&seen);
}

void mlt_win_part_open(mlt_win_part *part, uint32_t id)
{
    part->id = id;
    if (!part->even && part->workers > 1)
        index_places(part);
    find_domains(part);
    if (part->flavor == MLT_WIN_CONTIGUOUS) {
        mlt_win_peer *own = &part->peers[part->place];
        const mlt_win_card *holder = &part->peers[0].card;
        for (uint32_t i = 0; i < part->span; i++)
            if (part->sides[i])
                own->descriptors[i].base += holder->address + holder->memory;
        for (uint32_t p = 0; p < part->workers; p++)
            if (p == 0 || part->peers[p].reach == MLT_WIN_NEAR)
                mlt_win_peer_map(part, &part->peers[p]);
    }
    if (!part->worker->windows)
        part->worker->windows = mlt_xcalloc(1, sizeof(mlt_table));
    mlt_table_add(part->worker->windows, mlt_hash_word(id), (uintptr_t)part);
}

// ---- mapping

static char *map_block(mlt_win_part *part, const mlt_win_peer *peer)
{
    pid_t pid = mlt_win_process_of(part, peer);
    char *at = mlt_os_map_peer(pid, peer->card.fd, peer->card.offset, peer->card.bytes);
    if (at)
        return at;
    mlt_os_sleep(PART_PATIENCE_NS); // if it has ended, mpirun says why and ends the job meanwhile
    mlt_fatal("a window needs the memory of process %d, which this process cannot map; "
              "MILLET_WINDOWS=messages makes windows without shared memory",
              (int)pid);
}

void mlt_win_peer_map(mlt_win_part *part, mlt_win_peer *peer)
{
    if (!peer->descriptors) {
        char *at = map_block(part, peer);
        peer->descriptors = (mlt_win_descriptor *)(at + sizeof(mlt_win_block));
        peer->shift = at - (char *)(uintptr_t)peer->card.address;
        peer->direct = part->flavor == MLT_WIN_ALLOCATED;
    }
    if (part->flavor == MLT_WIN_CONTIGUOUS) { // all memory is the first one's
        if (peer != &part->peers[0])
            peer->shift = part->peers[0].shift;
        peer->direct = true;
    }
}

static void unmap(const mlt_win_peer *peer)
{
    if (peer->reach == MLT_WIN_HOST && peer->descriptors)
        mlt_os_unmap_peer((char *)peer->descriptors - sizeof(mlt_win_block), peer->card.bytes);
}

void mlt_win_part_drop(mlt_win_part *part)
{
    if (--part->refs > 0)
        return;
    if (part->id)
        (void)mlt_table_remove(part->worker->windows, mlt_hash_word(part->id), (uintptr_t)part);
    for (uint32_t p = 0; p < part->workers; p++)
        unmap(&part->peers[p]);
    if (part->block)
        (void)mlt_shmem_free(part->block);
    free(part->places);
    free(part->seen);
    free(part->leads);
    free(part->sides);
    free(part->peers);
    free(part);
}
