// SPDX-License-Identifier: BSD-3-Clause
// What workers write at the same time is what a reader finds; and what is left of a damaged file.
#include "trace/tracer.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "trace/read.h"

enum { WORKERS = 3, EVENTS = 100000 };

// An event that ends now, or has just ended.
static void trace_note(mlt_tracer *tracer, const mlt_trace_event *e)
{
    mlt_trace_like like =
        mlt_trace_like_of(e->bytes, e->rank, e->peer, e->tag, e->context, e->fn, e->how, e->kind);
    mlt_trace_note_like(tracer, &like, e->time + e->span, e->span);
}

static char path[] = "trace-test-XXXXXX";

static void *work(void *arg)
{
    uint32_t worker = (uint32_t)(uintptr_t)arg;
    mlt_tracer *tracer = mlt_tracer_new(worker);
    for (uint32_t i = 0; i < EVENTS; i++) {
        mlt_trace_event e = {.time = mlt_arch_cycles(),
                             .rank = worker,
                             .tag = (int32_t)i,
                             .bytes = 8,
                             .kind = MLT_TRACE_SENT};
        trace_note(tracer, &e);
    }
    mlt_tracer_end(tracer);
    return NULL;
}

static void write_file(void)
{
    static const char facts[] =
        "job\t3\t./a.out\twith a tab\nfn\t7\tMPI_Send\nhow\twait\t2\tmessage\n"
        "worker\t0\there\t17\t0\t1\nworker\t1\n\nnoise\nend\t3\nfn\t99999\tx";
    char why[200];
    CHECK(mlt_trace_begin("no/such/folder/x", why, sizeof why) == MLT_ERR_SYSTEM);
    check_same_text("why", why,
                    "cannot write the trace no/such/folder/x: No such file or directory");
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    CHECK(!mlt_trace_runs());
    CHECK(mlt_trace_begin(path, why, sizeof why) == MLT_OK && mlt_trace_runs());
    mlt_trace_facts(0, facts, sizeof facts - 1);
    pthread_t threads[WORKERS];
    for (uintptr_t i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    mlt_trace_end();
    CHECK(!mlt_trace_runs());
}

static uint64_t events_of(const mlt_trace *trace, bool all)
{
    uint64_t seen[WORKERS] = {0}, last[WORKERS] = {0}, sum = 0;
    for (uint64_t i = 0; i < trace->count; i++) {
        const mlt_trace_head *head = &trace->chunks[i].head;
        mlt_trace_event *events = calloc(head->count + 1, sizeof *events);
        CHECK(mlt_trace_load(trace, i, events));
        for (uint32_t e = 0; e < head->count; e++) {
            uint32_t w = events[e].rank;
            CHECK(w < WORKERS && w == head->worker && events[e].time >= last[w]);
            CHECK(events[e].time <= trace->end_ns - trace->begin_ns + 1000);
            CHECK(!all || events[e].tag == (int32_t)seen[w]);
            last[w] = events[e].time;
            seen[w]++;
            sum++;
        }
        free(events);
    }
    return sum;
}

static void read_file(void)
{
    mlt_trace trace;
    char why[200], room[32];
    CHECK(mlt_trace_open(&trace, path, why, sizeof why) == MLT_OK);
    CHECK(trace.damaged == 0 && trace.events == WORKERS * EVENTS);
    CHECK(events_of(&trace, true) == WORKERS * EVENTS);
    CHECK(trace.facts.ranks == 3 && trace.facts.ended && trace.facts.code == 3);
    check_same_text("command", trace.facts.command, "./a.out");
    check_same_text("fn", mlt_facts_fn(&trace.facts, 7, room), "MPI_Send");
    check_same_text("fn", mlt_facts_fn(&trace.facts, 8, room), "function 8");
    check_same_text("how", mlt_facts_how(&trace.facts, MLT_TRACE_WAIT, 2, room), "message");
    check_same_text("how", mlt_facts_how(&trace.facts, MLT_TRACE_WAIT, 3, room), "3");
    CHECK(trace.facts.worker_count == 1 && trace.facts.workers[0].process == 17);
    mlt_trace_close(&trace);
}

// A chunk with one event, and its head, to `to`. Returns how many bytes.
static size_t put_chunk(uint8_t *to, int kind, const void *data, size_t bytes)
{
    mlt_trace_head head = {.kind = (uint32_t)kind, .first = {1, 1}, .last = {2, 2}};
    mlt_trace_seal(&head, data, bytes);
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, data, bytes);
    return sizeof head + bytes;
}

// A trace of `job`, a line of facts, with one event of the rank; the status of opening it.
static mlt_status open_strange(mlt_trace *trace, const char *job, uint32_t rank, int32_t peer,
                               char *why, size_t why_size)
{
    static uint8_t file[4096];
    static mlt_trace_like slots[MLT_NOTE_SLOTS];
    uint64_t words[MLT_NOTE_WORDS];
    mlt_trace_like like = mlt_trace_like_of(0, rank, peer, 0, 0, 1, 0, MLT_TRACE_SENT);
    memset(slots, 0, sizeof slots);
    size_t count = mlt_trace_put(words, slots, 0, &like, 1, 0);
    size_t bytes = put_chunk(file, MLT_CHUNK_FACTS, job, strlen(job));
    bytes += put_chunk(file + bytes, MLT_CHUNK_EVENTS, words, count * sizeof *words);
    return mlt_trace_parse(trace, file, bytes, why, why_size);
}

static bool loads(const char *job, uint32_t rank, int32_t peer)
{
    mlt_trace trace;
    mlt_trace_event event;
    char why[200];
    CHECK(open_strange(&trace, job, rank, peer, why, sizeof why) == MLT_OK && trace.events == 1);
    bool fine = mlt_trace_load(&trace, 0, &event);
    mlt_trace_drop(&trace);
    return fine;
}

// Numbers of ranks that would make a reader take all memory.
static void strange_ranks(void)
{
    mlt_trace trace;
    char why[200];
    CHECK(loads("job\t3\tx\n", 2, 1) && loads("job\t3\tx\n", MLT_TRACE_NOBODY, -1));
    CHECK(!loads("job\t3\tx\n", 3, 1) && !loads("job\t3\tx\n", 2000000000, 1));
    CHECK(!loads("job\t3\tx\n", 2, 2000000000));
    CHECK(loads("end\t0\n", 3, 1) && !loads("end\t0\n", 2000000000, 1)); // no line says how many
    CHECK(open_strange(&trace, "job\t4000000000\tx\n", 0, 1, why, sizeof why) == MLT_ERR_INVALID);
    check_same_text("why", why, "it tells of 4000000000 ranks, but a trace has at most 16777216");
}

// Each chunk but the one that was hit survives, and one that was cut at the end is left out.
static void damage(void)
{
    mlt_trace trace;
    char why[200];
    struct stat status;
    CHECK(stat(path, &status) == 0);
    int fd = open(path, O_RDWR);
    CHECK(pwrite(fd, "????", 4, status.st_size / 2) == 4);
    CHECK(mlt_trace_open(&trace, path, why, sizeof why) == MLT_OK);
    uint64_t left = events_of(&trace, false);
    CHECK(trace.damaged > 0 && left < WORKERS * EVENTS && left >= WORKERS * EVENTS - 2 * 2341);
    mlt_trace_close(&trace);
    CHECK(ftruncate(fd, status.st_size - 5) == 0);
    CHECK(mlt_trace_open(&trace, path, why, sizeof why) == MLT_OK);
    CHECK(events_of(&trace, false) < left);
    mlt_trace_close(&trace);
    CHECK(ftruncate(fd, 50) == 0);
    CHECK(mlt_trace_open(&trace, path, why, sizeof why) == MLT_ERR_INVALID);
    check_same_text("why", why, "it is no trace: it does not hold a single chunk of one");
    CHECK(ftruncate(fd, 0) == 0);
    CHECK(mlt_trace_open(&trace, path, why, sizeof why) == MLT_ERR_SYSTEM);
    check_same_text("why", why, "it is empty");
    close(fd);
    CHECK(mlt_trace_open(&trace, "/", why, sizeof why) == MLT_ERR_SYSTEM);
    CHECK(mlt_trace_open(&trace, "no such file", why, sizeof why) == MLT_ERR_SYSTEM);
    check_same_text("why", why, "No such file or directory");
}

// A disk that is full costs events, which are counted, and nothing else.
static void full_disk(void)
{
    char why[200];
    CHECK(mlt_trace_begin("/dev/full", why, sizeof why) == MLT_OK);
    work(0);
    mlt_trace_end();
}

// Nobody needs to end a trace: what is new is written after a while.
static void cut(void)
{
    char why[200], cut_path[] = "trace-test-XXXXXX";
    mlt_trace trace;
    int fd = mkstemp(cut_path);
    CHECK(fd >= 0 && close(fd) == 0);
    CHECK(mlt_trace_begin(cut_path, why, sizeof why) == MLT_OK);
    mlt_tracer *tracer = mlt_tracer_new(2);
    for (int32_t i = 0; i < 20; i++) {
        trace_note(tracer, &(mlt_trace_event){.kind = MLT_TRACE_POSTED, .rank = 2, .tag = i});
        for (uint64_t events = 0; i % 10 == 9 && events <= (uint64_t)i;) {
            events = 0;
            if (mlt_trace_open(&trace, cut_path, why, sizeof why) == MLT_OK) {
                events = trace.events;
                CHECK(events_of(&trace, true) == events && events <= (uint64_t)i + 1);
                mlt_trace_close(&trace);
            }
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        }
    }
    mlt_tracer_end(tracer);
    mlt_trace_end();
    CHECK(mlt_trace_open(&trace, cut_path, why, sizeof why) == MLT_OK && trace.events == 20);
    mlt_trace_close(&trace);
    unlink(cut_path);
}

// A child writes nothing, and neither waits for the thread, which it does not have.
static void forked(void)
{
    char why[200];
    int status;
    CHECK(mlt_trace_begin("/dev/null", why, sizeof why) == MLT_OK);
    mlt_tracer *tracer = mlt_tracer_new(0);
    pid_t child = fork();
    if (child == 0) {
        mlt_trace_forget();
        for (uint32_t i = 0; i < EVENTS; i++)
            trace_note(tracer, &(mlt_trace_event){.kind = MLT_TRACE_POSTED});
        mlt_tracer_end(tracer);
        mlt_trace_end();
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    mlt_tracer_end(tracer);
    mlt_trace_end();
}

int main(void)
{
    write_file();
    read_file();
    damage();
    strange_ranks();
    unlink(path);
    full_disk();
    cut();
    forked();
    return 0;
}
