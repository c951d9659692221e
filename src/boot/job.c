// SPDX-License-Identifier: BSD-3-Clause
#include "boot/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "boot/doorbell.h"
#include "boot/recorder.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/jitter.h"
#include "os/memory.h"
#include "os/os.h"

_Static_assert(sizeof(mlt_job) % MLT_LINE == 0, "what follows starts on a line of its own");
_Static_assert(sizeof(mlt_job_worker) == 3 * MLT_LINE,
               "one line each: mpirun's, owner's, senders'");
_Static_assert(sizeof(_Atomic uint32_t) == 4 && sizeof(_Atomic uint64_t) == 8,
               "shared memory holds fixed-width fields");

// The more workers, the more rings (their square), and the less each of them gets.
typedef struct geometry {
    uint32_t most_workers;
    uint32_t ring_slots, ring_data, chunks, chunk_bytes;
} geometry;

static const geometry geometries[] = {
    {1, 0, 0, 0, 0}, // nobody to talk to
    {16, 256, 64 << 10, 128, 32 << 10},
    {64, 128, 32 << 10, 32, 32 << 10},
    {MLT_JOB_MAX_WORKERS, 64, 16 << 10, 16, 16 << 10},
};

static const geometry *geometry_for(uint32_t workers)
{
    const geometry *g = geometries;
    while (g->most_workers < workers)
        g++;
    return g;
}

static uint64_t job_round_up(uint64_t n, uint64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

// Fills in every size and offset; the counts are set.
static void lay_out(mlt_job *job)
{
    const geometry *g = geometry_for(job->local_workers);
    uint64_t page = mlt_os_page_size(), workers = job->local_workers;
    job->ring_slots = g->ring_slots;
    job->ring_data = g->ring_data;
    job->chunks = g->chunks;
    job->chunk_bytes = g->chunk_bytes;
    job->ring_bytes = job->pool_bytes = 0;
    if (workers > 1) {
        job->ring_bytes = job_round_up(
            MLT_LINE + (uint64_t)g->ring_slots * MLT_SLOT_BYTES + g->ring_data, MLT_LINE);
        job->pool_bytes =
            job_round_up((uint64_t)g->chunks * (MLT_LINE + (uint64_t)g->chunk_bytes), page);
    }
    // Whole lines, so that two workers' bitmaps never share one.
    job->news_words = (uint32_t)(job_round_up((workers + 63) / 64 * 8, MLT_LINE) / 8);

    job->procs_at = sizeof(mlt_job);
    job->places_at = job_round_up(job->procs_at + job->procs * (uint64_t)sizeof(mlt_job_proc), 16);
    job->workers_at =
        job_round_up(job->places_at + job->workers * (uint64_t)sizeof(mlt_job_location), page);
    job->news_at = job->workers_at + workers * sizeof(mlt_job_worker);
    job->rings_at = job_round_up(job->news_at + workers * job->news_words * 8, page);
    job->pools_at = job_round_up(job->rings_at + workers * workers * job->ring_bytes, page);
    job->callsigs_at = job_round_up(job->pools_at + workers * job->pool_bytes, page);
    uint64_t words = (uint64_t)MLT_JOB_CALLSIGS * MLT_JOB_CALLSIG_WORDS;
    job->said_at = job->callsigs_at + words * sizeof(uint64_t);
    job->board_at = job->said_at + MLT_LINE;
    job->recorders_at = job_round_up(job->board_at + sizeof(mlt_job_board), page);
    job->bytes = job_round_up(
        job->recorders_at + workers * sizeof(mlt_recorder) + sizeof(mlt_recorder_names), page);
}

static uint32_t larger(const mlt_job_plan *plan, uint32_t proc)
{
    return plan->larger_of_proc ? plan->larger_of_proc[proc] : 0;
}

static uint32_t host_of(const mlt_job_plan *plan, uint32_t proc)
{
    return plan->host_of_proc ? plan->host_of_proc[proc] : 0;
}

static mlt_status count_up(const mlt_job_plan *plan, mlt_job *job, char *why, size_t why_size)
{
    uint64_t workers = 0, ranks = 0, all = 0;
    uint32_t procs = 0;
    for (uint32_t p = 0; p < plan->procs; p++) {
        bool here = host_of(plan, p) == plan->host;
        procs += here;
        workers += here ? plan->workers_of_proc[p] : 0;
        all += plan->workers_of_proc[p];
        ranks += (uint64_t)plan->workers_of_proc[p] * plan->ranks_a_worker[p] + larger(plan, p);
    }
    if (workers == 0 || workers > MLT_JOB_MAX_WORKERS)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "%llu workers were asked for, but a job has 1 to %d of them%s%s",
                        (unsigned long long)workers, MLT_JOB_MAX_WORKERS,
                        plan->host_of_proc ? " on a host" : "",
                        workers ? "; -nfg puts many ranks into each" : "");
    if (all > MLT_JOB_MAX_ALL_WORKERS)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "%llu workers were asked for, but a job has at most %d of them",
                        (unsigned long long)all, MLT_JOB_MAX_ALL_WORKERS);
    if (ranks == 0 || ranks > INT32_MAX)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "%llu ranks were asked for, but a job has 1 to %d of them",
                        (unsigned long long)ranks, INT32_MAX);
    *job = (mlt_job){.magic = MLT_JOB_MAGIC,
                     .version = MLT_JOB_VERSION,
                     .hosts = plan->host_of_proc ? plan->hosts : 1,
                     .host = plan->host,
                     .procs = plan->procs,
                     .workers = (uint32_t)all,
                     .local_procs = procs,
                     .local_workers = (uint32_t)workers,
                     .ranks = (uint32_t)ranks,
                     .cores = plan->cores,
                     .launched = plan->launched,
                     .launcher = (uint32_t)getpid(),
                     .readable = plan->launched && procs > 1 && mlt_os_peers_readable(),
                     .profile = plan->profile,
                     .numa_local = plan->numa_local,
                     .membarrier =
                         workers > 1 && workers <= plan->cores && mlt_os_barrier_join() == MLT_OK,
                     .memory = plan->launched ? mlt_os_memory_left(MLT_OS_PROC, MLT_OS_GROUPS) : 0,
                     .started_ns = mlt_os_now_ns(),
                     .identity = plan->identity};
    if (!job->identity &&
        getrandom(&job->identity, sizeof job->identity, GRND_NONBLOCK) != sizeof job->identity)
        job->identity = job->started_ns ^ (uint64_t)getpid() << 48;
    return MLT_OK;
}

// False: no memory.
static bool fill_in(const mlt_job_plan *plan, mlt_job *job)
{
    uint32_t worker = 0, rank = 0;
    uint32_t *locals = calloc(job->hosts, sizeof *locals); // the next local number of each host
    if (!locals)
        return false;
    for (uint32_t p = 0; p < plan->procs; p++) {
        mlt_job_proc *proc = mlt_job_proc_at(job, p);
        proc->first_worker = worker;
        proc->workers = plan->workers_of_proc[p];
        proc->first_rank = rank;
        proc->ranks = plan->workers_of_proc[p] * plan->ranks_a_worker[p] + larger(plan, p);
        proc->app = plan->app_of_proc[p];
        proc->host = host_of(plan, p);
        mlt_assert(proc->host < job->hosts);
        for (uint32_t w = 0; w < proc->workers; w++, worker++) {
            mlt_job_location *place = mlt_job_location_at(job, worker);
            *place = (mlt_job_location){.first_rank = rank,
                                        .ranks = plan->ranks_a_worker[p] + (w < larger(plan, p)),
                                        .proc = p,
                                        .local = locals[proc->host]++};
            if (proc->host == job->host)
                atomic_init(&mlt_job_worker_at(job, worker)->state, MLT_WORKER_UNBORN);
            rank += place->ranks;
        }
    }
    mlt_assert(worker == job->workers && rank == job->ranks &&
               locals[job->host] == job->local_workers);
    free(locals);
    return true;
}

mlt_status mlt_job_new(const mlt_job_plan *plan, mlt_job **out, int *fd, char *why, size_t why_size)
{
    *out = NULL;
    *fd = -1;
    mlt_job head;
    mlt_status status = count_up(plan, &head, why, why_size);
    if (status)
        return status;
    lay_out(&head);
    mlt_job *job;
    if (plan->launched) {
        *fd = mlt_os_memfd("millet-job", head.bytes);
        job = *fd < 0 || mlt_os_seal_size(*fd) ? NULL : mlt_os_map_fd(*fd, head.bytes);
    } else {
        job = mlt_os_map(head.bytes);
    }
    if (!job) {
        mlt_os_close_once(fd);
        return mlt_fail(
            MLT_ERR_NO_MEMORY, why, why_size,
            "no shared memory of %llu MiB for %u workers (%s); fewer workers need less, and "
            "`ulimit -%c` may set a limit",
            (unsigned long long)(head.bytes >> 20) + 1, head.workers, strerror(errno),
            errno == EFBIG ? 'f' : 'v');
    }
    memcpy(job, &head, sizeof head);
    if (!fill_in(plan, job)) {
        mlt_job_close(job);
        mlt_os_close_once(fd);
        return mlt_fail(MLT_ERR_NO_MEMORY, why, why_size, MLT_NO_ROOM "the numbers of %u hosts",
                        head.hosts);
    }
    *out = job;
    return MLT_OK;
}

// True if every size and offset is what mpirun would have written for these counts.
static bool is_sound(const mlt_job *head)
{
    if (head->local_workers == 0 || head->local_workers > MLT_JOB_MAX_WORKERS ||
        head->workers < head->local_workers || head->workers > MLT_JOB_MAX_ALL_WORKERS ||
        head->procs == 0 || head->procs > head->workers || head->host >= head->hosts)
        return false;
    mlt_job laid_out;
    memcpy(&laid_out, head, sizeof laid_out); // padding too
    lay_out(&laid_out);
    return memcmp(&laid_out, head, sizeof *head) == 0;
}

mlt_status mlt_job_open(int fd, mlt_job **out, char *why, size_t why_size)
{
    *out = NULL;
    struct stat about;
    mlt_job head;
    size_t moved;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) ||
        mlt_os_file_read(fd, &head, sizeof head, 0, &moved) != 0 || moved != sizeof head ||
        head.magic != MLT_JOB_MAGIC)
        return mlt_fail(MLT_ERR_NOT_FOUND, why, why_size,
                        "descriptor %d holds no job of Millet's mpirun", fd);
    if (head.version != MLT_JOB_VERSION)
        return mlt_fail(
            MLT_ERR_UNSUPPORTED, why, why_size,
            "mpirun speaks version %u and this program's library version %d; use the mpirun "
            "of the Millet that the program runs with",
            head.version, MLT_JOB_VERSION);
    if (head.bytes != (uint64_t)about.st_size)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "the job's segment has %lld bytes instead of %llu",
                        (long long)about.st_size, (unsigned long long)head.bytes);
    if (!is_sound(&head))
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "the job's segment is damaged: a process of the job wrote into its head");
    mlt_job *job = mlt_os_map_fd(fd, head.bytes);
    if (!job)
        return mlt_fail(
            MLT_ERR_NO_MEMORY, why, why_size,
            "the job's shared memory of %llu MiB cannot be mapped (%s); `ulimit -v` may set a "
            "limit",
            (unsigned long long)(head.bytes >> 20) + 1, strerror(errno));
    *out = job;
    return MLT_OK;
}

void mlt_job_close(mlt_job *job)
{
    if (job)
        mlt_os_unmap(job, job->bytes);
}

mlt_status mlt_job_protect_head(mlt_job *job)
{
    return mlt_os_protect_writing(job, job->workers_at);
}

mlt_status mlt_job_own_head(mlt_job *job)
{
    return mlt_os_make_private(job, job->workers_at);
}

// Says that somebody wakes it. False: it needs no waking.
static bool claim(mlt_job_worker *worker, uint32_t *word)
{
    uint32_t state = *word & MLT_NAP_STATE;
    if (state == MLT_WORKER_ROUSED || state == MLT_WORKER_RUNG)
        return true; // who claimed it may be held up for long: helping costs one call
    if (state != MLT_WORKER_ASLEEP && state != MLT_WORKER_LISTENS)
        return false;
    uint32_t nap = *word & ~(uint32_t)MLT_NAP_STATE;
    uint32_t claimed = nap | (state == MLT_WORKER_ASLEEP ? MLT_WORKER_ROUSED : MLT_WORKER_RUNG);
    // acq_rel: what was written before is seen by the worker that finds itself claimed. If it
    // fails, another waker was faster (the word tells), or the sleeper has been awake since the
    // fence, and has seen or will see the news before it sleeps again.
    if (atomic_compare_exchange_strong_explicit(&worker->state, word, claimed, memory_order_acq_rel,
                                                memory_order_relaxed)) {
        *word = claimed;
        return true;
    }
    return *word == claimed;
}

void mlt_job_wake(mlt_job_worker *worker)
{
    // Pairs with the sleeper's seq_cst store of ASLEEP or LISTENS before its seq_cst looks at the
    // news: one of the two sees the other.
    atomic_thread_fence(memory_order_seq_cst);
    uint32_t word = atomic_load_explicit(&worker->state, memory_order_relaxed);
    mlt_jitter();
    if (!claim(worker, &word))
        return;
    mlt_jitter();
    // A doorbell rings until it is heard, so it may be rung before the sleeper has begun to listen, or
    // long after it was awake for another reason.
    if ((word & MLT_NAP_STATE) == MLT_WORKER_ROUSED)
        mlt_os_futex_wake(&worker->state, 1);
    else
        mlt_doorbell_ring(worker);
    mlt_jitter();
    // From here on nobody need help. Of this nap only: the sleeper may be in its next one, which
    // another has claimed and not ended yet. Relaxed: it tells nothing but that.
    (void)atomic_compare_exchange_strong_explicit(&worker->state, &word, MLT_WORKER_AWAKE,
                                                  memory_order_relaxed, memory_order_relaxed);
}

void mlt_job_ask_waits(mlt_job *job)
{
    for (uint32_t w = 0; w < job->local_workers; w++) {
        mlt_job_worker *worker = mlt_job_local_at(job, w);
        atomic_fetch_add_explicit(&worker->report_wanted, 1, memory_order_release);
        mlt_job_wake(worker);
    }
}

uint32_t mlt_job_want_rules(mlt_job *job, const char *file)
{
    mlt_job_board *board = mlt_job_board_at(job);
    // relaxed: mpirun alone writes it. A rank may have written nonsense, which only its job sees.
    uint32_t number = atomic_load_explicit(&board->rules_wanted, memory_order_relaxed) + 1;
    snprintf(board->rule_files[number % MLT_JOB_RULE_FILES], MLT_JOB_RULES_PATH, "%s", file);
    // release: the file's name is complete; pairs with mlt_outside_look.
    atomic_store_explicit(&board->rules_wanted, number, memory_order_release);
    mlt_job_ask_waits(job); // so that they look; wait records that nobody waits for are dropped
    return number;
}

void mlt_job_debug_gate_wait(mlt_job *job)
{
    mlt_job_board *board = mlt_job_board_at(job);
    // relaxed: the word is all there is to know.
    while (!atomic_load_explicit(&board->debug_gate, memory_order_relaxed))
        mlt_os_futex_wait(&board->debug_gate, 0, -1);
}

void mlt_job_debug_gate_open(mlt_job *job)
{
    mlt_job_board *board = mlt_job_board_at(job);
    atomic_store_explicit(&board->debug_gate, 1,
                          memory_order_relaxed); // pairs with mlt_job_debug_gate_wait
    mlt_os_futex_wake(&board->debug_gate, INT32_MAX);
}

void mlt_job_want_trace(mlt_job *job, bool on)
{
    mlt_job_board *board = mlt_job_board_at(job);
    // relaxed: mpirun alone writes it, and the word is all there is to know.
    uint32_t before = atomic_load_explicit(&board->trace, memory_order_relaxed);
    atomic_store_explicit(&board->trace, (before | 1) + 1 + on, memory_order_relaxed);
    mlt_job_ask_waits(job);
}

void mlt_job_link_came(mlt_job *job, uint32_t proc)
{
    const mlt_job_proc *to = mlt_job_proc_at(job, proc);
    for (uint32_t w = 0; w < to->workers; w++) {
        mlt_job_worker *worker = mlt_job_worker_at(job, to->first_worker + w);
        // release: the connection was put into the channel before; pairs with the worker's acquire.
        atomic_fetch_add_explicit(&worker->links, 1, memory_order_release);
        mlt_job_wake(worker);
    }
}

mlt_job_observation mlt_job_observe(mlt_job *job)
{
    mlt_job_observation look = {.quiet = false};
    for (uint32_t w = 0; w < job->local_workers; w++) {
        mlt_job_worker *worker = mlt_job_local_at(job, w);
        // The epoch is read on both sides: if it stood still, then the worker slept in that very
        // epoch when its counts were read, and two equal looks mean that it slept all the time
        // between them. acquire pairs with the owner's release when it goes to sleep, whose counts
        // are then current.
        uint32_t before = atomic_load_explicit(&worker->epoch, memory_order_acquire);
        uint32_t state = atomic_load_explicit(&worker->state, memory_order_acquire) & MLT_NAP_STATE;
        uint32_t wakes_itself = atomic_load_explicit(&worker->wakes_itself, memory_order_acquire);
        uint64_t sent = atomic_load_explicit(&worker->sent, memory_order_relaxed);
        uint64_t received = atomic_load_explicit(&worker->received, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&worker->epoch, memory_order_relaxed) == before) {
            // One that listens and does not wake itself waits for connections to other hosts: what
            // comes by them was sent, and is counted there.
            bool asleep = state == MLT_WORKER_ASLEEP || state == MLT_WORKER_LISTENS;
            look.asleep += asleep && !wakes_itself;
            look.ended += state == MLT_WORKER_ENDED;
        }
        look.epochs += before;
        look.in_flight += sent - received;
    }
    look.quiet = look.asleep + look.ended == job->local_workers;
    return look;
}
