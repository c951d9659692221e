// SPDX-License-Identifier: BSD-3-Clause
#include "launch/live/look.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "boot/live.h"
#include "fiber/wait.h"
#include "os/os.h"

enum {
    LOOK_MOST_RANKS = 4096, // of a host that are looked at: each takes a microsecond
    NAMES = 16,             // places of names that are kept
    MOST_SHEETS = 1024,     // of a worker: each takes a microsecond
    MOST_RECORDS = 256,     // of a sheet
    MOST_QUEUES = 1024,     // of a worker
};

// Cache of one process: the address of a call's name (a string constant, it does not move), and its number
// in the snapshot.
typedef struct look_name {
    uint64_t at;
    uint16_t call;
} look_name;

typedef struct look {
    mlt_live_snap *snap;
    mlt_job *job;
    pid_t pid;
    uint32_t max_ranks_per_worker; // that are looked at
    uint32_t world_size;           // ranks of the job
    mlt_live_layout layout;
    look_name names[NAMES];
    uint32_t name_count;
} look;

static bool read_peer(const look *l, void *to, uint64_t from, size_t bytes)
{
    return from && mlt_os_read_peer(l->pid, to, from, bytes) == MLT_OK;
}

static uint64_t u64_at(const char *bytes, uint16_t at)
{
    uint64_t value;
    memcpy(&value, bytes + at, sizeof value);
    return value;
}

static uint32_t u32_at(const char *bytes, uint16_t at)
{
    uint32_t value;
    memcpy(&value, bytes + at, sizeof value);
    return value;
}

// ---- how things lie

static bool inside(uint16_t at, size_t bytes, uint16_t whole)
{
    return at + bytes <= whole;
}

// The table lies in memory that the rank's program can write.
static bool layout_is_sound(const mlt_live_layout *y)
{
    size_t distances = sizeof(uint64_t[MLT_CTL_DISTANCES]), word = sizeof(uint64_t);
    size_t half = sizeof(uint32_t);
    const uint16_t sizes[] = {y->worker_bytes, y->sched_bytes, y->rank_bytes, y->fiber_bytes,
                              y->wait_bytes};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] == 0 || sizes[i] > MLT_LIVE_MOST_BYTES)
            return false;
    return y->magic == MLT_LIVE_MAGIC && inside(y->sched, word, y->worker_bytes) &&
           inside(y->ranks, word, y->worker_bytes) &&
           inside(y->messages, distances, y->worker_bytes) &&
           inside(y->sizes, distances, y->worker_bytes) &&
           inside(y->eager, word, y->worker_bytes) &&
           inside(y->rendezvous, word, y->worker_bytes) && inside(y->held, word, y->worker_bytes) &&
           inside(y->held_most, word, y->worker_bytes) &&
           inside(y->copies, sizeof(mlt_ctl_copies), y->worker_bytes) &&
           inside(y->switches, word, y->sched_bytes) && inside(y->runnable, half, y->sched_bytes) &&
           inside(y->fiber, word, y->rank_bytes) && inside(y->ended, 1, y->rank_bytes) &&
           inside(y->unexpected, half, y->rank_bytes) && inside(y->posted, half, y->rank_bytes) &&
           inside(y->wait, word, y->fiber_bytes) && inside(y->call, word, y->wait_bytes) &&
           inside(y->kind, half, y->wait_bytes) && inside(y->context, half, y->wait_bytes) &&
           inside(y->peer, half, y->wait_bytes);
}

static bool queues_are_sound(const mlt_live_queues *q)
{
    size_t word = sizeof(uint64_t), half = sizeof(uint32_t);
    return q->list && q->bytes <= MLT_LIVE_MOST_BYTES &&
           inside(q->link, sizeof(mlt_list_node), q->bytes) &&
           inside(q->name, MLT_LIVE_QUEUE_NAME, q->bytes) && inside(q->number, word, q->bytes) &&
           inside(q->held, half, q->bytes) && inside(q->room, half, q->bytes) &&
           inside(q->flow, word, q->bytes) && inside(q->reads, sizeof(mlt_list_node), q->bytes) &&
           inside(q->writes, sizeof(mlt_list_node), q->bytes);
}

// ---- ranks

static bool is_name(const char *text)
{
    size_t n = 0;
    for (; text[n]; n++)
        if (!isalnum((unsigned char)text[n]) && text[n] != '_')
            return false;
    return n > 0;
}

// The snapshot's number of the call whose name lies there. Reads no further than the page: the next may not
// be mapped.
static uint16_t call_at(look *l, uint64_t at)
{
    char text[MLT_LIVE_NAME] = "";
    for (uint32_t i = 0; i < l->name_count; i++)
        if (l->names[i].at == at)
            return l->names[i].call;
    size_t page = mlt_os_page_size(), left = page - at % page;
    if (!read_peer(l, text, at, left < sizeof text - 1 ? left : sizeof text - 1) || !is_name(text))
        return mlt_live_snap_call(l->snap, "another call");
    uint16_t call = mlt_live_snap_call(l->snap, text);
    if (l->name_count < NAMES)
        l->names[l->name_count++] = (look_name){.at = at, .call = call};
    return call;
}

static int32_t peer_of(const look *l, const char *wait)
{
    uint32_t kind = u32_at(wait, l->layout.kind), context = u32_at(wait, l->layout.context);
    uint32_t peer = u32_at(wait, l->layout.peer);
    // MPI_COMM_WORLD's contexts are the first: its ranks are those of the job.
    bool known = kind == MLT_WAIT_SEND ||
                 ((kind == MLT_WAIT_RECV || kind == MLT_WAIT_PROBE) && context < MLT_CONTEXTS);
    return known && peer < l->world_size ? (int32_t)peer : -1;
}

static void look_at_rank(look *l, mlt_live_rank *rank, const char *bytes)
{
    char fiber[MLT_LIVE_MOST_BYTES], wait[MLT_LIVE_MOST_BYTES];
    rank->unexpected = u32_at(bytes, l->layout.unexpected);
    rank->posted = u32_at(bytes, l->layout.posted);
    if (bytes[l->layout.ended]) {
        rank->doing = MLT_LIVE_ENDED;
        return;
    }
    if (!read_peer(l, fiber, u64_at(bytes, l->layout.fiber), l->layout.fiber_bytes) ||
        !read_peer(l, wait, u64_at(fiber, l->layout.wait), l->layout.wait_bytes))
        return;
    uint32_t kind = u32_at(wait, l->layout.kind);
    if (kind == MLT_WAIT_TIME || kind == MLT_WAIT_FD)
        return; // it waits for nobody in the job
    rank->doing = MLT_LIVE_WAITS;
    rank->in_collective = kind == MLT_WAIT_COLLECTIVE;
    rank->peer = peer_of(l, wait);
    rank->call = call_at(l, u64_at(wait, l->layout.call));
}

// Reads the first max_ranks_per_worker ranks one by one; if there are more, estimates the counts from the
// run queue.
static void look_at_ranks(look *l, mlt_live_worker *worker, const char *own, uint32_t runnable)
{
    uint32_t count =
        worker->ranks < l->max_ranks_per_worker ? worker->ranks : l->max_ranks_per_worker;
    char *bytes = mlt_xcalloc(count, l->layout.rank_bytes);
    if (!read_peer(l, bytes, u64_at(own, l->layout.ranks), (size_t)count * l->layout.rank_bytes))
        count = 0;
    mlt_live_snap *s = l->snap;
    MLT_ARRAY_WANT(s->ranks, s->rank_count + count, s->rank_room);
    for (uint32_t i = 0; i < count; i++) {
        mlt_live_rank rank = {.rank = worker->first_rank + i, .peer = -1};
        look_at_rank(l, &rank, bytes + (size_t)i * l->layout.rank_bytes);
        worker->waiting += rank.doing == MLT_LIVE_WAITS;
        worker->ended += rank.doing == MLT_LIVE_ENDED;
        s->ranks[s->rank_count++] = rank;
    }
    if (count < worker->ranks) { // one runs now, and those in the queue could
        uint32_t busy = runnable + 1 < worker->ranks ? runnable + 1 : worker->ranks;
        worker->waiting = worker->ranks - busy;
        worker->ended = 0;
    }
    free(bytes);
}

// ---- what was measured along paths, and queues

static void look_at_sheets(const look *l, const mlt_live_shown *shown)
{
    mlt_live_sheet sheet;
    uint64_t at = (uintptr_t)shown->sheets;
    mlt_ctl_path *records = mlt_xcalloc(MOST_RECORDS, sizeof *records);
    for (int i = 0; i < MOST_SHEETS && read_peer(l, &sheet, at, sizeof sheet); i++) {
        if (sheet.magic != MLT_LIVE_SHEET)
            break; // it was hidden a moment ago
        uint64_t count = sheet.count < MOST_RECORDS ? sheet.count : MOST_RECORDS;
        if (read_peer(l, records, (uintptr_t)sheet.records, count * sizeof *records))
            for (uint64_t r = 0; r < count; r++)
                if (mlt_ctl_path_tells(&records[r]))
                    mlt_path_map_paths(&l->snap->map, &records[r], 1);
        at = (uintptr_t)sheet.next;
    }
    free(records);
}

// Somebody is in the list whose head lies there in the worker.
static bool has_some(const char *bytes, uint16_t head, uint64_t at)
{
    return u64_at(bytes, head) != at + head;
}

static void add_queue(const look *l, const mlt_live_queues *q, const char *bytes, uint64_t at,
                      uint32_t worker)
{
    mlt_live_snap *s = l->snap;
    mlt_live_queue queue = {.worker = worker,
                            .held = u32_at(bytes, q->held),
                            .room = u32_at(bytes, q->room),
                            .flow = u64_at(bytes, q->flow) != 0,
                            .starved = has_some(bytes, q->reads, at),
                            .blocked = has_some(bytes, q->writes, at)};
    if (!queue.room || queue.held > queue.room)
        return;
    memcpy(queue.name, bytes + q->name, MLT_LIVE_QUEUE_NAME - 1);
    if (!queue.name[0])
        snprintf(queue.name, sizeof queue.name, "channel %" PRIu64, u64_at(bytes, q->number));
    size_t used = strlen(queue.name);
    // What lies behind the name's end in the worker's memory does not go out with the snapshot.
    memset(queue.name + used, 0, sizeof queue.name - used);
    *MLT_ARRAY_ADD(s->queues, s->queue_count, s->queue_room) = queue;
}

static void look_at_queues(const look *l, const mlt_live_queues *q, uint32_t worker)
{
    char bytes[MLT_LIVE_MOST_BYTES];
    mlt_list_node link;
    if (!queues_are_sound(q) || !read_peer(l, &link, (uintptr_t)q->list, sizeof link))
        return;
    for (int i = 0; i < MOST_QUEUES && link.next != q->list; i++) {
        uint64_t at = (uintptr_t)link.next - q->link;
        if (!read_peer(l, bytes, at, q->bytes))
            return;
        add_queue(l, q, bytes, at, worker);
        memcpy(&link, bytes + q->link, sizeof link);
    }
}

// ---- workers

// False: it cannot be read.
static bool look_inside(look *l, mlt_live_worker *worker, const mlt_job_worker *entry)
{
    char own[MLT_LIVE_MOST_BYTES], sched[MLT_LIVE_MOST_BYTES];
    // acquire: pairs with mlt_live_show.
    uint64_t at = atomic_load_explicit(&entry->live, memory_order_acquire);
    uint64_t layout = atomic_load_explicit(&entry->layout, memory_order_relaxed);
    if (!l->pid || !read_peer(l, &l->layout, layout, sizeof l->layout) ||
        !layout_is_sound(&l->layout) || !read_peer(l, own, at, l->layout.worker_bytes) ||
        !read_peer(l, sched, u64_at(own, l->layout.sched), l->layout.sched_bytes))
        return false;
    memcpy(worker->messages, own + l->layout.messages, sizeof worker->messages);
    memcpy(worker->bytes, own + l->layout.sizes, sizeof worker->bytes);
    worker->eager = u64_at(own, l->layout.eager);
    worker->rendezvous = u64_at(own, l->layout.rendezvous);
    worker->held = u64_at(own, l->layout.held);
    worker->held_most = u64_at(own, l->layout.held_most);
    if (l->layout.copies) // else the library is an older one
        memcpy(&worker->copies, own + l->layout.copies, sizeof worker->copies);
    worker->switches = u64_at(sched, l->layout.switches);
    look_at_ranks(l, worker, own, u32_at(sched, l->layout.runnable));
    mlt_live_shown shown;
    if (read_peer(l, &shown, l->layout.shown, sizeof shown)) {
        look_at_sheets(l, &shown);
        look_at_queues(l, &shown.queues, worker->worker);
    }
    return true;
}

static void look_at_worker(look *l, uint32_t number, uint32_t proc, const mlt_placement *plan)
{
    mlt_live_snap *s = l->snap;
    mlt_live_worker worker = {.worker = number, .proc = proc, .host = plan->procs[proc].host};
    const mlt_job_worker *entry = mlt_job_worker_at(l->job, number);
    worker.ranks = mlt_placement_ranks_of(plan, number, &worker.first_rank);
    mlt_job_worker_state state = mlt_job_state_of(entry);
    if (state == MLT_WORKER_ENDED) {
        worker.ended = worker.ranks;
    } else if (state == MLT_WORKER_UNBORN) {
        worker.unborn = 1;
    } else if (!look_inside(l, &worker, entry)) {
        uint32_t blocked = atomic_load_explicit(&entry->blocked, memory_order_relaxed);
        worker.unreadable = 1;
        worker.waiting = blocked < worker.ranks ? blocked : worker.ranks;
    }
    *MLT_ARRAY_ADD(s->workers, s->worker_count, s->worker_room) = worker;
}

// ---- processes

// What the system says of it; 0: nothing.
static uint64_t memory_of(pid_t pid)
{
    char path[64];
    uint64_t pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *in = fopen(path, "re");
    if (!in)
        return 0;
    if (fscanf(in, "%*u %" SCNu64, &pages) != 1)
        pages = 0;
    fclose(in);
    return pages * mlt_os_page_size();
}

static uint64_t cpu_ns_of(pid_t pid)
{
    char path[64], line[1024] = "";
    uint64_t user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *in = fopen(path, "re");
    if (!in)
        return 0;
    size_t n = fread(line, 1, sizeof line - 1, in);
    fclose(in);
    line[n] = '\0';
    const char *rest = strrchr(line, ')'); // the program's name may hold anything
    if (!rest ||
        sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64, &user,
               &system) != 2)
        return 0;
    long ticks = sysconf(_SC_CLK_TCK);
    return ticks > 0 ? (user + system) * (UINT64_C(1000000000) / (uint64_t)ticks) : 0;
}

void mlt_live_look(mlt_live_snap *s, mlt_job *job, const mlt_placement *plan,
                   const mlt_live_child *children, uint32_t count)
{
    look l = {.snap = s, .job = job, .world_size = plan->ranks};
    l.max_ranks_per_worker =
        job->local_workers < LOOK_MOST_RANKS ? LOOK_MOST_RANKS / job->local_workers : 1;
    for (uint32_t i = 0; i < count; i++) {
        const mlt_placement_proc *proc = &plan->procs[children[i].proc];
        l.pid = children[i].pid;
        l.name_count = 0;
        for (uint32_t w = 0; w < proc->workers; w++)
            look_at_worker(&l, proc->first_worker + w, children[i].proc, plan);
        if (!l.pid)
            continue;
        *MLT_ARRAY_ADD(s->procs, s->proc_count, s->proc_room) =
            (mlt_live_proc){.proc = children[i].proc,
                            .host = proc->host,
                            .pid = (uint64_t)l.pid,
                            .memory = memory_of(l.pid),
                            .cpu_ns = cpu_ns_of(l.pid)};
    }
}
