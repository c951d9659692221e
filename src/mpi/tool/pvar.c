// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/tool/pvar.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

#include "base/text.h"
#include "coll/alg/alg.h"
#include "host/life.h"
#include "mpi/self.h"
#include "mpi_bodies.h"
#include "os/os.h"
#include "p2p/match.h"
#include "wire/transport.h"
#include "wire/wire.h"

// ---- states

static const mlt_tool_enum pvar_lives = MLT_TOOL_ENUM("rank_state", "before MPI|in MPI|after MPI");
static const mlt_tool_enum larges =
    MLT_TOOL_ENUM("large_message", "one copy|both copy|read|chunks|connection");
static const mlt_tool_enum large_kinds = MLT_TOOL_ENUM("worker_large", "chunks|read|read refused");
// As mlt_wait_kind.
static const mlt_tool_enum pvar_waits = MLT_TOOL_ENUM(
    "wait",
    "nothing|a message|a receiver|a message to probe|all of several|one of several|the other "
    "ranks|something else|a held message|a channel|time|a descriptor|a window");
// 1 + mlt_collective; 1 + the place in mlt_coll_algs. Filled in when first asked for.
static mlt_tool_enum collectives = MLT_TOOL_ENUM("collective", "none yet");
static mlt_tool_enum algorithms = MLT_TOOL_ENUM("algorithm", "none");

// Functions that say what the i-th element of a variable stands at now.
#define READER(name, value)                                                                        \
    static uint64_t name(const mlt_tool_pvar_handle *h, const mlt_rank *rank, int i)               \
    {                                                                                              \
        return value;                                                                              \
    }

static uint64_t life(const mlt_tool_pvar_handle *h, const mlt_rank *rank, int i)
{
    uint8_t now = mlt_life(rank);
    return now == MLT_LIFE_NEW ? 0 : now == MLT_LIFE_DONE ? 2 : 1;
}

static uint64_t large_kind(const mlt_tool_pvar_handle *h, const mlt_rank *rank, int i)
{
    const char *kind = mlt_worker_large_kind(rank->worker);
    return strcmp(kind, "chunks") == 0 ? 0 : strcmp(kind, "read") == 0 ? 1 : 2;
}

static uint64_t last_wait(const mlt_tool_pvar_handle *h, const mlt_rank *rank, int i)
{
    uint64_t kind = h->object.tool->counts.last_wait;
    return kind < (uint64_t)mlt_tool_enum_count(&pvar_waits) ? kind : MLT_WAIT_OTHER;
}

// ---- the rank

READER(unexpected_length, rank->unexpected.size)
READER(posted_length, rank->posted.size)
READER(sends_open, rank->sends_open)

// ---- a communicator

READER(comm_seen, h->seen)

static uint64_t comm_unexpected(const mlt_tool_pvar_handle *h, const mlt_rank *rank, int i)
{
    uint64_t n = 0;
    MLT_LIST_EACH(const mlt_msg, msg, &rank->unexpected.all, all)
        n += msg->context == h->context;
    return n;
}

// A communicator that was freed stands at what the call before saw.
static uint64_t comm_collectives(const mlt_tool_pvar_handle *h, const mlt_rank *rank, int i)
{
    bool lives_on = h->comm->magic == MLT_COMM_MAGIC && h->comm->context == h->context &&
                    h->comm->owner == rank;
    return lives_on ? (uint64_t)h->comm->coll_calls + h->comm->fixed_calls : h->seen;
}

// ---- the worker

READER(worker_sent, rank->worker->counts.messages[i])
READER(worker_sent_bytes, rank->worker->counts.bytes[i])
READER(worker_eager, rank->worker->counts.eager)
READER(worker_rendezvous, rank->worker->counts.rendezvous)
READER(worker_copies, rank->worker->counts.copies.count[i])
READER(worker_copies_bytes, rank->worker->counts.copies.bytes[i])
READER(worker_idle, rank->worker->counts.wait_ns)
READER(worker_switches, rank->worker->sched->switches)
READER(worker_runnable, rank->worker->sched->runnable)
READER(worker_held, rank->worker->held)
READER(worker_held_most, rank->worker->counts.unexpected_peak)

static uint64_t worker_hold_used(const mlt_tool_pvar_handle *h, const mlt_rank *rank, int i)
{
    const mlt_worker *w = rank->worker;
    double used = w->held_limit ? (double)w->held / (double)w->held_limit : 1;
    return (uint64_t)((used < 1 ? used : 1) * MLT_TOOL_PARTS);
}

READER(worker_requests, rank->worker->reqs.in_use)
READER(worker_ranks, rank->worker->count)
READER(worker_stack, mlt_sched_stack_size(rank->worker->sched))

static uint64_t worker_hosts_met(const mlt_tool_pvar_handle *h, const mlt_rank *rank, int i)
{
    const mlt_wire *wire = rank->worker->wire;
    return wire ? wire->met : 0;
}

READER(ring_slots, rank->worker->wire ? rank->worker->boot->job->ring_slots : 0)
READER(ring_bytes, rank->worker->wire ? rank->worker->boot->job->ring_data : 0)

static uint64_t pool_bytes(const mlt_tool_pvar_handle *h, const mlt_rank *rank, int i)
{
    const mlt_job *job = rank->worker->boot->job;
    return rank->worker->wire ? (uint64_t)job->chunks * job->chunk_bytes : 0;
}

// ---- the process

static uint64_t process_memory(const mlt_tool_pvar_handle *h, const mlt_rank *rank, int i)
{
    mlt_os_memory memory;
    return mlt_os_memory_state(&memory) == MLT_OK ? memory.own : 0;
}

static uint64_t process_memory_most(const mlt_tool_pvar_handle *h, const mlt_rank *rank, int i)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

READER(process_abroad, atomic_load_explicit(&mlt_tcp_abroad, memory_order_relaxed))

// ---- the table

#define VAR(name_, category_, class_, verbosity_, count_, help_, ...)                              \
    {                                                                                              \
        .name = name_, .category = category_, .help = help_, .count = count_,                      \
        .class = MPI_T_PVAR_CLASS_##class_, .verbosity = MPI_T_VERBOSITY_##verbosity_, __VA_ARGS__ \
    }
#define COUNTED(name, category, class_, field, help)                                               \
    VAR(name, category, class_, USER_BASIC, 1, help, .watch = true,                                \
        .at = offsetof(mlt_tool_counts, field))
#define TIMED(name, category, field, help)                                                         \
    VAR(name, category, TIMER, USER_BASIC, 1, help, .watch = true, .unit = MLT_UNIT_NANOSECONDS,   \
        .at = offsetof(mlt_tool_counts, field))
#define EXTREME(name, category, class_, now_, help)                                                \
    VAR(name, category, class_, USER_DETAIL, 1, help, .watch = true, .now = now_)
#define SHOWN(name, category, class_, now_, help)                                                  \
    VAR(name, category, class_, USER_DETAIL, 1, help, .read_only = true, .now = now_)
#define KEPT(name, category, class_, count, now_, help)                                            \
    VAR(name, category, class_, TUNER_BASIC, count, help, .now = now_)
#define STATE(name, category, enum_, now_, help)                                                   \
    VAR(name, category, STATE, TUNER_DETAIL, 1, help, .read_only = true, .unit = MLT_UNIT_STATE,   \
        .enumtype = &enum_, .now = now_)
#define LAST(name, category, enum_, field, help)                                                   \
    VAR(name, category, STATE, TUNER_DETAIL, 1, help, .read_only = true, .watch = true,            \
        .unit = MLT_UNIT_STATE, .enumtype = &enum_, .at = offsetof(mlt_tool_counts, field))
#define ON_COMM(name, class_, event_, bytes_, help)                                                \
    VAR(name, "p2p", class_, USER_BASIC, 1, help, .watch = true, .comm = true, .event = event_,    \
        .bytes = bytes_, .now = comm_seen)
#define CALLS(kind)                                                                                \
    COUNTED(                                                                                       \
        "calls_" #kind, "coll", COUNTER, collective_calls[MLT_TOOL_CALL_##kind],                   \
        "calls of this collective operation, blocking, nonblocking, or making a persistent one"),
// What is counted by distance: how often, and bytes. The help ends with whose ranks they are.
#define BY_DISTANCE(name, category, class_, field, help, more)                                     \
    COUNTED(name "_worker" more, category, class_, field[MLT_SAME_WORKER],                         \
            help "ranks of its worker"),                                                           \
        COUNTED(name "_process" more, category, class_, field[MLT_SAME_PROCESS],                   \
                help "other workers of its process"),                                              \
        COUNTED(name "_host" more, category, class_, field[MLT_SAME_HOST],                         \
                help "other processes of its host"),                                               \
        COUNTED(name "_far" more, category, class_, field[MLT_OTHER_HOST], help "other hosts")

// What devices copied by one way: how often, and bytes.
#define COPIED(name, way, help)                                                                    \
    COUNTED("device_" name, "p2p", COUNTER, copies.count[way], help),                              \
        COUNTED("device_" name "_bytes", "p2p", AGGREGATE, copies.bytes[way], "bytes of these")

const mlt_tool_pvar mlt_tool_pvars[] = {
    COUNTED(
        "sent_worker", "p2p", COUNTER, sent[MLT_SAME_WORKER],
        "messages of this rank to ranks of its worker, those of collective operations included"),
    COUNTED("sent_process", "p2p", COUNTER, sent[MLT_SAME_PROCESS],
            "messages of this rank to other workers of its process"),
    COUNTED("sent_host", "p2p", COUNTER, sent[MLT_SAME_HOST],
            "messages of this rank to other processes of its host"),
    COUNTED("sent_far", "p2p", COUNTER, sent[MLT_OTHER_HOST],
            "messages of this rank to other hosts"),
    BY_DISTANCE("sent", "p2p", AGGREGATE, sent_bytes, "their bytes: to ", "_bytes"),
    COUNTED("sent_eager", "p2p", COUNTER, eager,
            "messages of this rank that left with their data, whether a receive waited or not"),
    COUNTED("sent_rendezvous", "p2p", COUNTER, rendezvous,
            "messages of this rank whose data waited for the receive"),
    COUNTED("received", "p2p", COUNTER, received, "messages that met their receive in this rank"),
    COUNTED("received_bytes", "p2p", AGGREGATE, received_bytes, "bytes of these messages"),
    COUNTED("unexpected", "p2p", COUNTER, unexpected,
            "messages that came to this rank before their receive"),
    SHOWN("unexpected_length", "p2p", LEVEL, unexpected_length,
          "messages that wait in this rank for their receive"),
    EXTREME("unexpected_most", "p2p", HIGHWATERMARK, unexpected_length,
            "the most messages that waited at once in this rank for their receive"),
    SHOWN("posted_length", "p2p", LEVEL, posted_length,
          "receives of this rank that wait for their message"),
    EXTREME("posted_most", "p2p", HIGHWATERMARK, posted_length,
            "the most receives of this rank that waited at once for their message"),
    EXTREME("posted_least", "p2p", LOWWATERMARK, posted_length,
            "the fewest receives of this rank that waited whenever a message came or was sent"),
    SHOWN("sends_open", "p2p", LEVEL, sends_open, "sends of this rank that are under way"),
    LAST("large_message", "p2p", larges, last_large,
         "how the last large message to this rank was moved"),
    BY_DISTANCE("partitioned", "p2p", COUNTER, moves.partitioned,
                "starts of partitioned sends of this rank to ", ""),
    BY_DISTANCE("partitioned", "p2p", AGGREGATE, moves.partitioned_bytes, "their bytes: to ",
                "_bytes"),
    COUNTED("partitions", "p2p", COUNTER, moves.partitions, "the partitions of these sends"),
    COUNTED("partitioned_received", "p2p", COUNTER, partitioned_received,
            "starts of partitioned receives of this rank"),
    COUNTED("partitioned_received_bytes", "p2p", AGGREGATE, partitioned_received_bytes,
            "bytes that these receives have room for"),
    COPIED("inside", MLT_COPY_INSIDE,
           "copies for this rank from memory of a device to such memory"),
    COPIED("out", MLT_COPY_OUT, "copies for this rank from memory of a device to that of the host"),
    COPIED("in", MLT_COPY_IN, "copies for this rank from memory of the host to that of a device"),
    COPIED("between", MLT_COPY_BETWEEN,
           "messages between processes that a device copied for this rank and its peer"),
    COPIED("chunks", MLT_COPY_CHUNKS,
           "messages between memory of a device of this rank and its peer that went in chunks"),
    COPIED("calls", MLT_COPY_CALL,
           "collective calls that a device did at once; they count for the first rank of a worker"),
    COUNTED("puts", "win", COUNTER, moves.ops[MLT_CTL_PUTS],
            "calls of this rank that put data into a window"),
    COUNTED("gets", "win", COUNTER, moves.ops[MLT_CTL_GETS],
            "calls of this rank that get data out of a window"),
    COUNTED("accumulates", "win", COUNTER, moves.ops[MLT_CTL_ACCUMULATES],
            "calls of this rank that change a window's data by an operation, or swap them"),
    BY_DISTANCE("one_sided", "win", COUNTER, moves.one_sided, "all of these on windows of ", ""),
    BY_DISTANCE("one_sided", "win", AGGREGATE, moves.one_sided_bytes, "their bytes: of ", "_bytes"),
    COUNTED("lock_waits", "win", COUNTER, lock_waits,
            "how often this rank had to wait in MPI_Win_lock or MPI_Win_lock_all"),
    TIMED("lock_wait_time", "win", lock_wait_ns, "how long this rank waited there"),
    COUNTED("waits", "fiber", COUNTER, waits, "how often this rank had to wait"),
    TIMED("wait_time", "fiber", wait_ns,
          "how long this rank waited; with several threads, the sum of their waits"),
    VAR("last_wait", "fiber", STATE, TUNER_DETAIL, 1, "what this rank waited for last",
        .read_only = true, .watch = true, .unit = MLT_UNIT_STATE, .enumtype = &pvar_waits,
        .now = last_wait),
    STATE("rank_state", "mpi", pvar_lives, life, "where this rank stands with MPI"),
    MLT_TOOL_COLLECTIVES(CALLS)
        LAST("last_collective", "coll", collectives, last_collective,
             "the collective operation that this rank's worker planned last"),
    LAST("last_algorithm", "coll", algorithms, last_algorithm,
         "the algorithm of that plan; none: it has no messages, or the algorithm is a user's"),
    ON_COMM("comm_sent", COUNTER, MLT_EVENT_SENT, false,
            "messages that this rank sent on the communicator; those of collective operations do "
            "not count"),
    ON_COMM("comm_sent_bytes", AGGREGATE, MLT_EVENT_SENT, true, "bytes of these messages"),
    ON_COMM("comm_received", COUNTER, MLT_EVENT_RECEIVED, false,
            "messages on the communicator that met their receive in this rank"),
    ON_COMM("comm_received_bytes", AGGREGATE, MLT_EVENT_RECEIVED, true, "bytes of these messages"),
    VAR("comm_unexpected_length", "p2p", LEVEL, USER_DETAIL, 1,
        "messages on the communicator that wait in this rank for their receive", .comm = true,
        .read_only = true, .now = comm_unexpected),
    VAR("comm_collectives", "coll", COUNTER, USER_BASIC, 1,
        "collective operations that this rank began on the communicator, and persistent ones that "
        "it made",
        .comm = true, .watch = true, .event = MLT_EVENTS, .now = comm_collectives),
    KEPT(
        "worker_sent", "p2p", COUNTER, MLT_CTL_DISTANCES, worker_sent,
        "messages of all ranks of the worker: to the same worker, the same process, the same host, "
        "other hosts"),
    KEPT("worker_sent_bytes", "p2p", AGGREGATE, MLT_CTL_DISTANCES, worker_sent_bytes,
         "their bytes, in the same order"),
    KEPT("worker_eager", "p2p", COUNTER, 1, worker_eager,
         "messages of all ranks of the worker that left with their data"),
    KEPT("worker_rendezvous", "p2p", COUNTER, 1, worker_rendezvous,
         "messages of all ranks of the worker whose data waited for the receive"),
    KEPT(
        "worker_device", "p2p", COUNTER, MLT_CTL_COPIES, worker_copies,
        "what devices copied for all ranks of the worker: inside, out, in, between, chunks, calls"),
    KEPT("worker_device_bytes", "p2p", AGGREGATE, MLT_CTL_COPIES, worker_copies_bytes,
         "its bytes, in the same order"),
    SHOWN("worker_held", "p2p", LEVEL, worker_held,
          "bytes of memory of messages that wait in the worker for their receive"),
    SHOWN("worker_held_most", "p2p", HIGHWATERMARK, worker_held_most,
          "the most of these bytes since the worker began"),
    VAR("worker_hold_used", "p2p", PERCENTAGE, TUNER_BASIC, 1,
        "how much of the memory of setting `hold` they take; from 1 on senders must wait",
        .read_only = true, .unit = MLT_UNIT_PARTS, .now = worker_hold_used),
    SHOWN("worker_requests", "p2p", LEVEL, worker_requests,
          "requests that the ranks of the worker hold"),
    STATE("worker_large", "p2p", large_kinds, large_kind,
          "how large messages between processes travel to this worker"),
    KEPT("worker_switches", "fiber", COUNTER, 1, worker_switches,
         "switches between ranks and processes of the worker"),
    SHOWN("worker_runnable", "fiber", LEVEL, worker_runnable,
          "ranks and processes of the worker that could run now"),
    SHOWN("worker_ranks", "fiber", SIZE, worker_ranks, "ranks of the worker"),
    SHOWN("worker_stack", "fiber", SIZE, worker_stack,
          "bytes of the stack of each rank; 0: the rank has its thread's"),
    VAR("worker_idle", "wire", TIMER, USER_BASIC, 1,
        "how long the worker had nothing to run, polling or asleep; in a job of several workers",
        .watch = true, .unit = MLT_UNIT_NANOSECONDS, .now = worker_idle),
    SHOWN("worker_ring_slots", "wire", SIZE, ring_slots,
          "messages that fit into the ring to another worker of the host; 0: there is none"),
    SHOWN("worker_ring_bytes", "wire", SIZE, ring_bytes, "bytes of their data that fit"),
    SHOWN("worker_pool_bytes", "wire", SIZE, pool_bytes,
          "bytes of the chunks in which the worker sends large messages to other processes"),
    KEPT("worker_hosts_met", "tcp", COUNTER, 1, worker_hosts_met,
         "workers of other hosts that the worker has had to do with"),
    SHOWN("process_memory", "host", LEVEL, process_memory, "bytes of memory of the process"),
    SHOWN("process_memory_most", "host", HIGHWATERMARK, process_memory_most,
          "the most memory that the process had since it began"),
    SHOWN("process_abroad", "host", LEVEL, process_abroad,
          "processes of other jobs that this one is connected with, or was until they end"),
    {.name = NULL},
};

int mlt_tool_pvar_count(void)
{
    enum { COUNT = sizeof mlt_tool_pvars / sizeof *mlt_tool_pvars - 1 };
    return COUNT;
}

uint64_t mlt_tool_pvar_now(const mlt_tool_pvar_handle *h, int i)
{
    const mlt_rank *rank = h->object.tool->rank;
    if (!h->var->now)
        return *(const uint64_t *)((const char *)&h->object.tool->counts + h->var->at);
    return rank ? h->var->now(h, rank, i) : 0;
}

// ---- what there is

// Names that other tables have. The texts stay for the life of the process.
static void find_enums(void)
{
    static char names[1024], algs[8192];
    mlt_text text = mlt_text_on(names, sizeof names);
    mlt_text_add(&text, "none yet");
    for (int c = 0; c < MLT_COLLECTIVES; c++)
        mlt_text_add(&text, "|%s", mlt_collective_names[c]);
    collectives.items = names;
    text = mlt_text_on(algs, sizeof algs);
    mlt_text_add(&text, "none");
    for (const mlt_coll_alg *const *alg = mlt_coll_algs; *alg; alg++)
        mlt_text_add(&text, "|%s.%s", mlt_collective_names[(*alg)->collective], (*alg)->name);
    algorithms.items = algs;
}

static const char *pvar_name(int i)
{
    return mlt_tool_pvars[i].name;
}

int mlt_mpi_T_pvar_get_index(mlt_rank *me, mlt_tool *tool, const char *name, int var_class,
                             int *pvar_index)
{
    int i, code = mlt_tool_find(name, &i, mlt_tool_pvar_count(), pvar_name);
    if (code != MPI_SUCCESS)
        return code;
    if (mlt_tool_pvars[i].class != var_class)
        return MPI_T_ERR_INVALID_NAME;
    *pvar_index = i;
    return MPI_SUCCESS;
}

static MPI_Datatype pvar_type_of(const mlt_tool_pvar *v)
{
    static const MPI_Datatype types[] = {[MLT_UNIT_COUNT] = MPI_UNSIGNED_LONG_LONG,
                                         [MLT_UNIT_NANOSECONDS] = MPI_DOUBLE,
                                         [MLT_UNIT_PARTS] = MPI_DOUBLE,
                                         [MLT_UNIT_STATE] = MPI_INT};
    return types[v->unit];
}

int mlt_mpi_T_pvar_get_info(mlt_rank *me, mlt_tool *tool, int pvar_index, char *name, int *name_len,
                            int *verbosity, int *var_class, MPI_Datatype *datatype,
                            MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind,
                            int *readonly, int *continuous, int *atomic)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const mlt_tool_pvar *v = &mlt_tool_pvars[pvar_index];
    pthread_once(&once, find_enums);
    mlt_tool_text(v->name, name, name_len);
    mlt_tool_text(v->help, desc, desc_len);
    mlt_tool_put(verbosity, v->verbosity);
    mlt_tool_put(var_class, v->class);
    if (datatype)
        *datatype = pvar_type_of(v);
    if (enumtype)
        *enumtype = mlt_tool_enum_handle(v->enumtype);
    mlt_tool_put(bind, v->comm ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT);
    mlt_tool_put(readonly, v->read_only);
    mlt_tool_put(continuous, !v->watch);
    mlt_tool_put(atomic, !v->read_only);
    return MPI_SUCCESS;
}
