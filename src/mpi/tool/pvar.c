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

static uint64_t life(const mlt_tool_pvar_handle *h, int i)
{
    uint8_t now = mlt_life(h->tool->rank);
    return now == MLT_LIFE_NEW ? 0 : now == MLT_LIFE_DONE ? 2 : 1;
}

static uint64_t large_kind(const mlt_tool_pvar_handle *h, int i)
{
    const char *kind = mlt_worker_large_kind(h->tool->rank->worker);
    return strcmp(kind, "chunks") == 0 ? 0 : strcmp(kind, "read") == 0 ? 1 : 2;
}

static uint64_t last_wait(const mlt_tool_pvar_handle *h, int i)
{
    uint64_t kind = h->tool->counts.last_wait;
    return kind < (uint64_t)mlt_tool_enum_count(&pvar_waits) ? kind : MLT_WAIT_OTHER;
}

// ---- the rank

static uint64_t unexpected_length(const mlt_tool_pvar_handle *h, int i)
{
    return h->tool->rank->unexpected.size;
}

static uint64_t posted_length(const mlt_tool_pvar_handle *h, int i)
{
    return h->tool->rank->posted.size;
}

static uint64_t sends_open(const mlt_tool_pvar_handle *h, int i)
{
    return h->tool->rank->sends_open;
}

// ---- a communicator

static uint64_t comm_seen(const mlt_tool_pvar_handle *h, int i)
{
    return h->seen;
}

static uint64_t comm_unexpected(const mlt_tool_pvar_handle *h, int i)
{
    const mlt_list_node *all = &h->tool->rank->unexpected.all;
    uint64_t n = 0;
    for (const mlt_list_node *l = all->next; l != all; l = l->next)
        n += mlt_container_of(l, const mlt_msg, all)->context == h->context;
    return n;
}

// A communicator that was freed stands at what the call before saw.
static uint64_t comm_collectives(const mlt_tool_pvar_handle *h, int i)
{
    bool lives_on = h->comm->magic == MLT_COMM_MAGIC && h->comm->context == h->context &&
                    h->comm->owner == h->tool->rank;
    return lives_on ? (uint64_t)h->comm->coll_calls + h->comm->fixed_calls : h->seen;
}

// ---- the worker

static const mlt_worker *pvar_worker_of(const mlt_tool_pvar_handle *h)
{
    return h->tool->rank->worker;
}

static uint64_t worker_sent(const mlt_tool_pvar_handle *h, int i)
{
    return pvar_worker_of(h)->counts.messages[i];
}

static uint64_t worker_sent_bytes(const mlt_tool_pvar_handle *h, int i)
{
    return pvar_worker_of(h)->counts.bytes[i];
}

static uint64_t worker_eager(const mlt_tool_pvar_handle *h, int i)
{
    return pvar_worker_of(h)->counts.eager;
}

static uint64_t worker_asked(const mlt_tool_pvar_handle *h, int i)
{
    return pvar_worker_of(h)->counts.rendezvous;
}

static uint64_t worker_idle(const mlt_tool_pvar_handle *h, int i)
{
    return pvar_worker_of(h)->counts.wait_ns;
}

static uint64_t worker_switches(const mlt_tool_pvar_handle *h, int i)
{
    return pvar_worker_of(h)->sched->switches;
}

static uint64_t worker_runnable(const mlt_tool_pvar_handle *h, int i)
{
    return pvar_worker_of(h)->sched->runnable;
}

static uint64_t worker_held(const mlt_tool_pvar_handle *h, int i)
{
    return pvar_worker_of(h)->held;
}

static uint64_t worker_held_most(const mlt_tool_pvar_handle *h, int i)
{
    return pvar_worker_of(h)->counts.unexpected_peak;
}

static uint64_t worker_hold_used(const mlt_tool_pvar_handle *h, int i)
{
    const mlt_worker *w = pvar_worker_of(h);
    double used = w->held_limit ? (double)w->held / (double)w->held_limit : 1;
    return (uint64_t)((used < 1 ? used : 1) * MLT_TOOL_PARTS);
}

static uint64_t worker_requests(const mlt_tool_pvar_handle *h, int i)
{
    return pvar_worker_of(h)->reqs.in_use;
}

static uint64_t worker_ranks(const mlt_tool_pvar_handle *h, int i)
{
    return pvar_worker_of(h)->count;
}

static uint64_t worker_stack(const mlt_tool_pvar_handle *h, int i)
{
    return mlt_sched_stack_size(pvar_worker_of(h)->sched);
}

static uint64_t worker_hosts_met(const mlt_tool_pvar_handle *h, int i)
{
    const mlt_wire *wire = pvar_worker_of(h)->wire;
    return wire ? wire->met : 0;
}

static uint64_t ring_slots(const mlt_tool_pvar_handle *h, int i)
{
    return pvar_worker_of(h)->wire ? pvar_worker_of(h)->boot->job->ring_slots : 0;
}

static uint64_t ring_bytes(const mlt_tool_pvar_handle *h, int i)
{
    return pvar_worker_of(h)->wire ? pvar_worker_of(h)->boot->job->ring_data : 0;
}

static uint64_t pool_bytes(const mlt_tool_pvar_handle *h, int i)
{
    const mlt_job *job = pvar_worker_of(h)->boot->job;
    return pvar_worker_of(h)->wire ? (uint64_t)job->chunks * job->chunk_bytes : 0;
}

// ---- the process

static uint64_t process_memory(const mlt_tool_pvar_handle *h, int i)
{
    mlt_os_memory memory;
    return mlt_os_memory_state(&memory) == MLT_OK ? memory.own : 0;
}

static uint64_t process_memory_most(const mlt_tool_pvar_handle *h, int i)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

static uint64_t process_abroad(const mlt_tool_pvar_handle *h, int i)
{
    return atomic_load_explicit(&mlt_tcp_abroad, memory_order_relaxed);
}

// ---- the table

#define COUNTED(name_, category_, class_, field, help_)                                            \
    {                                                                                              \
        .name = name_, .category = category_, .help = help_, .count = 1, .watch = true,            \
        .class = MPI_T_PVAR_CLASS_##class_, .verbosity = MPI_T_VERBOSITY_USER_BASIC,               \
        .at = offsetof(mlt_tool_counts, field)                                                     \
    }
#define EXTREME(name_, category_, class_, now_, help_)                                             \
    {                                                                                              \
        .name = name_, .category = category_, .help = help_, .count = 1, .watch = true,            \
        .class = MPI_T_PVAR_CLASS_##class_, .verbosity = MPI_T_VERBOSITY_USER_DETAIL, .now = now_  \
    }
#define SHOWN(name_, category_, class_, now_, help_)                                               \
    {                                                                                              \
        .name = name_, .category = category_, .help = help_, .count = 1, .read_only = true,        \
        .class = MPI_T_PVAR_CLASS_##class_, .verbosity = MPI_T_VERBOSITY_USER_DETAIL, .now = now_  \
    }
#define KEPT(name_, category_, class_, count_, now_, help_)                                        \
    {                                                                                              \
        .name = name_, .category = category_, .help = help_, .count = count_,                      \
        .class = MPI_T_PVAR_CLASS_##class_, .verbosity = MPI_T_VERBOSITY_TUNER_BASIC, .now = now_  \
    }
#define STATE(name_, category_, enum_, now_, help_)                                                \
    {                                                                                              \
        .name = name_, .category = category_, .help = help_, .count = 1, .read_only = true,        \
        .class = MPI_T_PVAR_CLASS_STATE, .verbosity = MPI_T_VERBOSITY_TUNER_DETAIL,                \
        .unit = MLT_UNIT_STATE, .enumtype = &enum_, .now = now_                                    \
    }
#define LAST(name_, category_, enum_, field, help_)                                                \
    {                                                                                              \
        .name = name_, .category = category_, .help = help_, .count = 1, .read_only = true,        \
        .watch = true, .class = MPI_T_PVAR_CLASS_STATE, .verbosity = MPI_T_VERBOSITY_TUNER_DETAIL, \
        .unit = MLT_UNIT_STATE, .enumtype = &enum_, .at = offsetof(mlt_tool_counts, field)         \
    }
#define ON_COMM(name_, class_, sight_, bytes_, help_)                                              \
    {                                                                                              \
        .name = name_, .category = "p2p", .help = help_, .count = 1, .watch = true, .comm = true,  \
        .class = MPI_T_PVAR_CLASS_##class_, .verbosity = MPI_T_VERBOSITY_USER_BASIC,               \
        .event = sight_, .bytes = bytes_, .now = comm_seen                                         \
    }
#define CALLS(kind)                                                                                \
    COUNTED(                                                                                       \
        "calls_" #kind, "coll", COUNTER, calls[MLT_TOOL_CALL_##kind],                              \
        "calls of this collective operation, blocking, nonblocking, or making a persistent one"),

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
    COUNTED("sent_worker_bytes", "p2p", AGGREGATE, sent_bytes[MLT_SAME_WORKER],
            "their bytes: to ranks of its worker"),
    COUNTED("sent_process_bytes", "p2p", AGGREGATE, sent_bytes[MLT_SAME_PROCESS],
            "their bytes: to other workers of its process"),
    COUNTED("sent_host_bytes", "p2p", AGGREGATE, sent_bytes[MLT_SAME_HOST],
            "their bytes: to other processes of its host"),
    COUNTED("sent_far_bytes", "p2p", AGGREGATE, sent_bytes[MLT_OTHER_HOST],
            "their bytes: to other hosts"),
    COUNTED("sent_eager", "p2p", COUNTER, eager,
            "messages of this rank that left with their data, whether a receive waited or not"),
    COUNTED("sent_asked", "p2p", COUNTER, asked,
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
    COUNTED("partitioned_worker", "p2p", COUNTER, moves.partitioned[MLT_SAME_WORKER],
            "starts of partitioned sends of this rank to ranks of its worker"),
    COUNTED("partitioned_process", "p2p", COUNTER, moves.partitioned[MLT_SAME_PROCESS],
            "starts of partitioned sends of this rank to other workers of its process"),
    COUNTED("partitioned_host", "p2p", COUNTER, moves.partitioned[MLT_SAME_HOST],
            "starts of partitioned sends of this rank to other processes of its host"),
    COUNTED("partitioned_far", "p2p", COUNTER, moves.partitioned[MLT_OTHER_HOST],
            "starts of partitioned sends of this rank to other hosts"),
    COUNTED("partitioned_worker_bytes", "p2p", AGGREGATE, moves.partitioned_bytes[MLT_SAME_WORKER],
            "their bytes: to ranks of its worker"),
    COUNTED("partitioned_process_bytes", "p2p", AGGREGATE,
            moves.partitioned_bytes[MLT_SAME_PROCESS],
            "their bytes: to other workers of its process"),
    COUNTED("partitioned_host_bytes", "p2p", AGGREGATE, moves.partitioned_bytes[MLT_SAME_HOST],
            "their bytes: to other processes of its host"),
    COUNTED("partitioned_far_bytes", "p2p", AGGREGATE, moves.partitioned_bytes[MLT_OTHER_HOST],
            "their bytes: to other hosts"),
    COUNTED("partitions", "p2p", COUNTER, moves.partitions, "the partitions of these sends"),
    COUNTED("partitioned_received", "p2p", COUNTER, parted,
            "starts of partitioned receives of this rank"),
    COUNTED("partitioned_received_bytes", "p2p", AGGREGATE, parted_bytes,
            "bytes that these receives have room for"),
    COUNTED("puts", "win", COUNTER, moves.verbs[MLT_CTL_PUTS],
            "calls of this rank that put data into a window"),
    COUNTED("gets", "win", COUNTER, moves.verbs[MLT_CTL_GETS],
            "calls of this rank that get data out of a window"),
    COUNTED("accumulates", "win", COUNTER, moves.verbs[MLT_CTL_ACCUMULATES],
            "calls of this rank that change a window's data by an operation, or swap them"),
    COUNTED("one_sided_worker", "win", COUNTER, moves.one_sided[MLT_SAME_WORKER],
            "all of these on windows of ranks of its worker"),
    COUNTED("one_sided_process", "win", COUNTER, moves.one_sided[MLT_SAME_PROCESS],
            "all of these on windows of other workers of its process"),
    COUNTED("one_sided_host", "win", COUNTER, moves.one_sided[MLT_SAME_HOST],
            "all of these on windows of other processes of its host"),
    COUNTED("one_sided_far", "win", COUNTER, moves.one_sided[MLT_OTHER_HOST],
            "all of these on windows of other hosts"),
    COUNTED("one_sided_worker_bytes", "win", AGGREGATE, moves.one_sided_bytes[MLT_SAME_WORKER],
            "their bytes: of ranks of its worker"),
    COUNTED("one_sided_process_bytes", "win", AGGREGATE, moves.one_sided_bytes[MLT_SAME_PROCESS],
            "their bytes: of other workers of its process"),
    COUNTED("one_sided_host_bytes", "win", AGGREGATE, moves.one_sided_bytes[MLT_SAME_HOST],
            "their bytes: of other processes of its host"),
    COUNTED("one_sided_far_bytes", "win", AGGREGATE, moves.one_sided_bytes[MLT_OTHER_HOST],
            "their bytes: of other hosts"),
    COUNTED("lock_waits", "win", COUNTER, lock_waits,
            "how often this rank had to wait in MPI_Win_lock or MPI_Win_lock_all"),
    {.name = "lock_wait_time",
     .category = "win",
     .help = "how long this rank waited there",
     .class = MPI_T_PVAR_CLASS_TIMER,
     .unit = MLT_UNIT_NANOSECONDS,
     .count = 1,
     .watch = true,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .at = offsetof(mlt_tool_counts, lock_wait_ns)},
    COUNTED("waits", "fiber", COUNTER, waits, "how often this rank had to wait"),
    {.name = "wait_time",
     .category = "fiber",
     .help = "how long this rank waited; with several threads, the sum of their waits",
     .class = MPI_T_PVAR_CLASS_TIMER,
     .unit = MLT_UNIT_NANOSECONDS,
     .count = 1,
     .watch = true,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .at = offsetof(mlt_tool_counts, wait_ns)},
    {.name = "last_wait",
     .category = "fiber",
     .help = "what this rank waited for last",
     .class = MPI_T_PVAR_CLASS_STATE,
     .unit = MLT_UNIT_STATE,
     .count = 1,
     .watch = true,
     .read_only = true,
     .verbosity = MPI_T_VERBOSITY_TUNER_DETAIL,
     .enumtype = &pvar_waits,
     .now = last_wait},
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
    {.name = "comm_unexpected_length",
     .category = "p2p",
     .help = "messages on the communicator that wait in this rank for their receive",
     .class = MPI_T_PVAR_CLASS_LEVEL,
     .count = 1,
     .comm = true,
     .read_only = true,
     .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
     .now = comm_unexpected},
    {.name = "comm_collectives",
     .category = "coll",
     .help = "collective operations that this rank began on the communicator, and persistent ones "
             "that it made",
     .class = MPI_T_PVAR_CLASS_COUNTER,
     .count = 1,
     .comm = true,
     .watch = true,
     .event = MLT_EVENTS,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .now = comm_collectives},
    KEPT(
        "worker_sent", "p2p", COUNTER, MLT_CTL_DISTANCES, worker_sent,
        "messages of all ranks of the worker: to the same worker, the same process, the same host, "
        "other hosts"),
    KEPT("worker_sent_bytes", "p2p", AGGREGATE, MLT_CTL_DISTANCES, worker_sent_bytes,
         "their bytes, in the same order"),
    KEPT("worker_eager", "p2p", COUNTER, 1, worker_eager,
         "messages of all ranks of the worker that left with their data"),
    KEPT("worker_asked", "p2p", COUNTER, 1, worker_asked,
         "messages of all ranks of the worker whose data waited for the receive"),
    SHOWN("worker_held", "p2p", LEVEL, worker_held,
          "bytes of memory of messages that wait in the worker for their receive"),
    SHOWN("worker_held_most", "p2p", HIGHWATERMARK, worker_held_most,
          "the most of these bytes since the worker began"),
    {.name = "worker_hold_used",
     .category = "p2p",
     .help = "how much of the memory of setting `hold` they take; from 1 on senders must wait",
     .class = MPI_T_PVAR_CLASS_PERCENTAGE,
     .unit = MLT_UNIT_PARTS,
     .count = 1,
     .read_only = true,
     .verbosity = MPI_T_VERBOSITY_TUNER_BASIC,
     .now = worker_hold_used},
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
    {.name = "worker_idle",
     .category = "wire",
     .help =
         "how long the worker had nothing to run, polling or asleep; in a job of several workers",
     .class = MPI_T_PVAR_CLASS_TIMER,
     .unit = MLT_UNIT_NANOSECONDS,
     .count = 1,
     .watch = true,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .now = worker_idle},
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
    if (!h->var->now)
        return *(const uint64_t *)((const char *)&h->tool->counts + h->var->at);
    return h->tool->rank ? h->var->now(h, i) : 0;
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

int mlt_mpi_T_pvar_get_num(mlt_rank *me, int *num_pvar)
{
    mlt_tool *tool;
    int code = mlt_tool_enter(me, &tool);
    if (code != MPI_SUCCESS)
        return code;
    if (!num_pvar)
        return MPI_T_ERR_INVALID;
    *num_pvar = mlt_tool_pvar_count();
    return MPI_SUCCESS;
}

int mlt_mpi_T_pvar_get_index(mlt_rank *me, const char *name, int var_class, int *pvar_index)
{
    mlt_tool *tool;
    int code = mlt_tool_enter(me, &tool);
    if (code != MPI_SUCCESS)
        return code;
    if (!name || !pvar_index)
        return MPI_T_ERR_INVALID;
    for (int i = 0; i < mlt_tool_pvar_count(); i++)
        if (strcmp(mlt_tool_pvars[i].name, name) == 0 && mlt_tool_pvars[i].class == var_class) {
            *pvar_index = i;
            return MPI_SUCCESS;
        }
    return MPI_T_ERR_INVALID_NAME;
}

static MPI_Datatype pvar_type_of(const mlt_tool_pvar *v)
{
    static const MPI_Datatype types[] = {[MLT_UNIT_COUNT] = MPI_UNSIGNED_LONG_LONG,
                                         [MLT_UNIT_NANOSECONDS] = MPI_DOUBLE,
                                         [MLT_UNIT_PARTS] = MPI_DOUBLE,
                                         [MLT_UNIT_STATE] = MPI_INT};
    return types[v->unit];
}

int mlt_mpi_T_pvar_get_info(mlt_rank *me, int pvar_index, char *name, int *name_len, int *verbosity,
                            int *var_class, MPI_Datatype *datatype, MPI_T_enum *enumtype,
                            char *desc, int *desc_len, int *bind, int *readonly, int *continuous,
                            int *atomic)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    mlt_tool *tool;
    int code = mlt_tool_enter(me, &tool);
    if (code != MPI_SUCCESS)
        return code;
    if (pvar_index < 0 || pvar_index >= mlt_tool_pvar_count())
        return MPI_T_ERR_INVALID_INDEX;
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
