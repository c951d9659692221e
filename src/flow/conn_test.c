// SPDX-License-Identifier: BSD-3-Clause
// Lines between workers that are threads of one process, with programs made by hand: nothing is
// lost, changed or overtaken; who has no credit waits; both sides may end at any time; and packets
// that make no sense end the job. Between processes, and with modules: test/mpi/flow_link.c.
#include "base/upcalls.h"
#include "flow/conn.h"

#include <errno.h>
#include <millet/csp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "csp/net/remote.h"
#include "csp/proc.h"
#include "flow/element/large.h"
#include "p2p/job_test.h"
#include "wire/wire.h"

enum { MOST_LINES = 64 };

// What a job does, the same for all its workers.
typedef struct plan {
    uint32_t workers, line_count;
    struct {
        uint32_t from, to; // workers
        uint32_t cap;
    } lines[MOST_LINES];
    csp_function *sends, *takes; // of an `end`
    uint32_t seed, elements;
    uint64_t most; // bytes of an element
    uint64_t stop; // elements after which the receiver ends; 0: never
} plan;

static plan the;
static pthread_barrier_t meeting;

// One end of a line, with its task.
typedef struct end {
    mlt_flow_program *program;
    uint32_t line;
    mlt_flow_inlet in;
    flow_instance instance;
    mlt_flow_outlet out;
} end;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static uint64_t start_of(uint32_t line)
{
    uint64_t state = the.seed * UINT64_C(1000003) + line;
    (void)next_random(&state);
    return state;
}

// ---- a program by hand: two tasks a line, one at each end

static void make_program(mlt_flow_program *p, mlt_rank *rank, end *ends)
{
    mlt_flow_lowered *l = calloc(1, sizeof *l);
    uint32_t n = the.line_count;
    *p = (mlt_flow_program){.csp = mlt_csp_enter("test"), .worker = rank->worker->index};
    p->graph = calloc(1, sizeof *p->graph);
    p->graph->vectors = calloc(1, sizeof *p->graph->vectors);
    p->graph->vectors[0] =
        (mlt_flow_vector){.name = "t", .module = &flow_Deal, .kind = MLT_FLOW_DEAL, .count = 2 * n};
    p->graph->vector_count = 1;
    p->graph->node_count = 2 * n;
    p->graph->vector_of = calloc(2 * n, sizeof *p->graph->vector_of);
    p->sites = calloc(1, sizeof *p->sites);
    p->sites->workers = the.workers;
    p->lowered = l;
    l->graph = p->graph;
    l->task_count = 2 * n;
    l->line_count = n;
    l->tasks = calloc(2 * n, sizeof *l->tasks);
    l->lines = calloc(n, sizeof *l->lines);
    l->in.first = calloc(2 * n + 1, sizeof *l->in.first);
    l->in.list = calloc(n, sizeof *l->in.list);
    p->instances = calloc(n, sizeof *p->instances);
    p->inlet_of = calloc(n, sizeof(mlt_flow_inlet *));
    mlt_flow_elements_init(&p->elements);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = the.lines[i].from, to = the.lines[i].to;
        l->tasks[2 * i] = (mlt_flow_task){.kind = MLT_FLOW_DEAL, .place = from, .worker = from};
        l->tasks[2 * i + 1] = (mlt_flow_task){.kind = MLT_FLOW_DEAL, .place = to, .worker = to};
        l->lines[i] = (mlt_flow_line){.from = 2 * i, .to = 2 * i + 1, .cap = the.lines[i].cap};
        l->in.first[2 * i + 1] = i;
        l->in.first[2 * i + 2] = i + 1;
        l->in.list[i] = i;
        l->tasks[2 * i].node = 2 * i;
        l->tasks[2 * i + 1].node = 2 * i + 1;
        end *e = &ends[i];
        *e = (end){.program = p, .line = i};
        if (from == p->worker) {
            e->out = (mlt_flow_outlet){.program = p, .line = i};
            p->instances[p->instance_count++] =
                (flow_instance){.program = p, .task = 2 * i, .out = &e->out, .outs = 1};
        }
        if (to == p->worker) {
            char name[32];
            snprintf(name, sizeof name, "line %u", i);
            csp_chan *chan = csp_chan_buffered(name, sizeof(mlt_flow_element *), the.lines[i].cap);
            e->in = (mlt_flow_inlet){.program = p,
                                     .chan = chan,
                                     .in = csp_chan_in(chan),
                                     .task = 2 * i + 1,
                                     .line = i,
                                     .cap = the.lines[i].cap};
            (void)csp_chan_out(chan);
            p->inlet_of[i] = &e->in;
        }
    }
}

static void free_program(mlt_flow_program *p)
{
    mlt_flow_lowered *l = p->lowered;
    CHECK(p->elements.in_use == 0);
    mlt_pool_fini(&p->elements);
    free(l->tasks);
    free(l->lines);
    free(l->in.first);
    free(l->in.list);
    free(l);
    free(p->graph->vectors);
    free(p->graph->vector_of);
    free(p->graph);
    free(p->sites);
    free(p->instances);
    free(p->inlet_of);
}

static void to_links(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    if (mlt_flow_self)
        mlt_flow_conn_packet(mlt_flow_self, route, packet, data, bytes);
}

static void rank_main(void *arg)
{
    mlt_rank *rank = arg;
    mlt_flow_program program;
    end *ends = calloc(the.line_count, sizeof *ends);
    csp_proc procs[2 * MOST_LINES];
    size_t count = 0;
    make_program(&program, rank, ends);
    mlt_flow_self = &program;
    mlt_flow_conns_begin(&program);
    for (uint32_t i = 0; i < the.line_count; i++) {
        CHECK((ends[i].out.conn != NULL) == (the.lines[i].from == program.worker));
        if (the.lines[i].from == program.worker)
            procs[count++] = (csp_proc){.run = the.sends, .arg = &ends[i], .name = "sends"};
        if (the.lines[i].to == program.worker)
            procs[count++] = (csp_proc){.run = the.takes, .arg = &ends[i], .name = "takes"};
    }
    pthread_barrier_wait(&meeting);
    CHECK(csp_par(procs, count) == 0);
    mlt_flow_conns_end(&program);
    CHECK(program.conns == NULL);
    pthread_barrier_wait(&meeting);
    mlt_flow_self = NULL;
    for (uint32_t i = 0; i < the.line_count; i++)
        if (ends[i].in.chan)
            csp_chan_free(ends[i].in.chan);
    free_program(&program);
    free(ends);
}

static void run(const char *policy)
{
    pthread_barrier_init(&meeting, NULL, the.workers);
    test_job_run(the.workers, 1, policy, rank_main, mlt_csp_end);
    pthread_barrier_destroy(&meeting);
}

// ---- everything arrives, in order

static uint64_t size_of(uint64_t *state)
{
    static const uint64_t edges[] = {0, 8, 32, MLT_FLOW_SMALL, 4096, MLT_FLOW_LARGE, 1 << 20};
    enum { EDGES = sizeof edges / sizeof *edges };
    uint64_t kind = next_random(state) % 4, bytes = 8;
    if (kind == 0)
        bytes = next_random(state) % (MLT_FLOW_SMALL + 40);
    else if (kind == 1)
        bytes = edges[next_random(state) % EDGES] + next_random(state) % 3;
    else if (kind == 2)
        bytes = next_random(state) % 20000;
    return bytes <= the.most ? bytes : bytes % the.most;
}

static void fill(unsigned char *data, uint64_t bytes, uint64_t mark)
{
    for (uint64_t i = 0; i < bytes; i += i < 64 ? 1 : 61)
        data[i] = (unsigned char)(mark + i * 7);
}

static bool is_filled(const unsigned char *data, uint64_t bytes, uint64_t mark)
{
    for (uint64_t i = 0; i < bytes; i += i < 64 ? 1 : 61)
        if (data[i] != (unsigned char)(mark + i * 7))
            return false;
    return true;
}

static mlt_flow_element *element_for(uint64_t *state)
{
    uint64_t bytes = size_of(state);
    mlt_flow_element *e = mlt_flow_element_new(bytes);
    fill(mlt_flow_data(e), bytes, *state);
    e->kind = (uint8_t)(*state % FLOW_TYPES);
    e->value_bytes = (uint32_t)(*state >> 40 | 1);
    return e;
}

static int send_all(void *arg)
{
    end *me = arg;
    uint64_t state = start_of(me->line);
    for (uint32_t i = 0; i < the.elements; i++) {
        mlt_flow_element *e = element_for(&state);
        bool shared = next_random(&state) % 8 == 0;
        if (shared)
            e->refs++;
        bool put = mlt_flow_conn_put(me->out.conn, e);
        if (shared) { // what this one still has is as it was
            CHECK(e->refs == 1 && e->magic == MLT_FLOW_ELEMENT_MAGIC);
            mlt_flow_element_drop(e);
        }
        if (!put) {
            CHECK(the.stop > 0 && i >= the.stop);
            break;
        }
        if (next_random(&state) % 50 == 0)
            csp_yield();
    }
    mlt_flow_conn_end(me->out.conn);
    return 0;
}

static int take_all(void *arg)
{
    end *me = arg;
    uint64_t state = start_of(me->line), count = 0;
    mlt_flow_element *e;
    while ((the.stop == 0 || count < the.stop) && (e = mlt_flow_take(&me->in))) {
        uint64_t bytes = size_of(&state), mark = state;
        CHECK(e->bytes == bytes && e->refs == 1 && e->kind == mark % FLOW_TYPES);
        CHECK(e->value_bytes == (uint32_t)(mark >> 40 | 1));
        CHECK(is_filled(mlt_flow_data(e), bytes, mark));
        mlt_flow_element_drop(e);
        (void)next_random(&state);
        if (next_random(&state) % 50 == 0)
            csp_yield();
        count++;
    }
    CHECK(count == (the.stop ? the.stop : the.elements));
    mlt_flow_inlet_end(&me->in);
    return 0;
}

static void everything(void)
{
    static const char *const policies[] = {"direct", "rr", "random:1", "random:2", "random:3"};
    for (uint32_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        the = (plan){.workers = 2 + i % 3,
                     .sends = send_all,
                     .takes = take_all,
                     .seed = i + 1,
                     .elements = 400,
                     .most = 1 << 20};
        the.line_count = 12;
        for (uint32_t k = 0; k < the.line_count; k++) {
            static const uint32_t caps[] = {1, 2, 3, 5, 64, 7};
            the.lines[k].from = k % the.workers;
            the.lines[k].to = (k + 1 + k / the.workers % (the.workers - 1)) % the.workers;
            the.lines[k].cap = caps[k % 6];
            CHECK(the.lines[k].from != the.lines[k].to);
        }
        run(policies[i]);
        the.stop = 7; // all receivers end early, whatever is on its way or waits
        run(policies[i]);
        the.stop = 390;
        run(policies[i]);
    }
}

// ---- back-pressure

static _Atomic uint64_t put_count, told;

static int send_counted(void *arg)
{
    end *me = arg;
    for (uint32_t i = 0; i < the.elements; i++) {
        mlt_flow_element *e = mlt_flow_element_new(8);
        memcpy(mlt_flow_data(e), &(uint64_t){i}, 8);
        if (!mlt_flow_conn_put(me->out.conn, e))
            break;
        atomic_fetch_add(&put_count, 1);
    }
    mlt_flow_conn_end(me->out.conn);
    return 0;
}

static void let_others_run(void)
{
    for (int i = 0; i < 3000; i++)
        csp_yield();
}

// The sender puts as many as fit, and one more for each that is taken, also if these are few.
static int take_slowly(void *arg)
{
    end *me = arg;
    uint64_t cap = the.lines[me->line].cap, taken = 0;
    while (atomic_load(&put_count) < cap)
        csp_yield();
    let_others_run();
    CHECK(atomic_load(&put_count) == cap);
    for (; taken < 10; taken++) {
        mlt_flow_element *e = mlt_flow_take(&me->in);
        CHECK(*(uint64_t *)mlt_flow_data(e) == taken);
        mlt_flow_element_drop(e);
        while (atomic_load(&put_count) < cap + taken + 1)
            csp_yield();
    }
    let_others_run();
    CHECK(atomic_load(&put_count) == cap + taken);
    CHECK(me->in.chan->held == cap);
    mlt_flow_inlet_end(&me->in); // the sender, which waits, hears of it
    return 0;
}

static int take_quickly(void *arg)
{
    end *me = arg;
    mlt_worker *w = me->program->csp->worker;
    uint64_t taken = 0, sent = w->wire->sent;
    for (mlt_flow_element *e; (e = mlt_flow_take(&me->in)); taken++) {
        CHECK(*(uint64_t *)mlt_flow_data(e) == taken);
        mlt_flow_element_drop(e);
    }
    CHECK(taken == the.elements);
    atomic_store(&told, w->wire->sent - sent);
    mlt_flow_inlet_end(&me->in);
    return 0;
}

static void pressure(void)
{
    static const uint32_t caps[] = {1, 2, 3, 4, 16, 64, 1000};
    for (uint32_t i = 0; i < sizeof caps / sizeof *caps; i++) {
        the = (plan){.workers = 2,
                     .line_count = 1,
                     .lines = {{.from = 0, .to = 1, .cap = caps[i]}},
                     .sends = send_counted,
                     .takes = take_slowly,
                     .elements = UINT32_MAX};
        atomic_store(&put_count, 0);
        run("direct");
    }
    the.elements = 100000;
    the.takes = take_quickly;
    the.lines[0].cap = 64;
    run("direct");
    CHECK(atomic_load(&told) < the.elements / 4);
}

// ---- ends

static int send_none(void *arg)
{
    end *me = arg;
    mlt_flow_conn_end(me->out.conn);
    return 0;
}

static int take_none(void *arg)
{
    mlt_flow_inlet_end(&((end *)arg)->in);
    return 0;
}

static int wait_for_end(void *arg)
{
    end *me = arg;
    CHECK(mlt_flow_take(&me->in) == NULL);
    mlt_flow_inlet_end(&me->in);
    return 0;
}

static int send_until_closed(void *arg)
{
    end *me = arg;
    while (mlt_flow_conn_put(me->out.conn, mlt_flow_element_new(1000)))
        csp_yield();
    CHECK(!mlt_flow_conn_put(me->out.conn, mlt_flow_element_new(8))); // and stays so
    mlt_flow_conn_end(me->out.conn);
    return 0;
}

static int forget(void *arg)
{
    return 0; // links_end ends what a task left
}

static void endings(void)
{
    static csp_function *const ways[][2] = {
        {send_none, take_none}, {send_none, wait_for_end}, {send_until_closed, take_none},
        {forget, forget},       {forget, take_none},       {send_none, forget}};
    for (uint32_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (uint32_t cap = 1; cap <= 64; cap *= 8) {
            the = (plan){
                .workers = 2,
                .line_count = 2,
                .lines = {{.from = 0, .to = 1, .cap = cap}, {.from = 1, .to = 0, .cap = cap}},
                .sends = ways[i][0],
                .takes = ways[i][1]};
            run(i % 2 ? "direct" : "random:5");
        }
}

// ---- packets that make no sense

enum { LINK = MLT_FLOW_PACKET_CONN };

typedef struct nonsense {
    mlt_packet packet;
    const void *data;
    uint64_t bytes;
    uint32_t times;
    const char *sentence;
} nonsense;

static nonsense now;

// In place of the sender's task: line 0 leads to worker 1, line 1 back, line 2 on to worker 2.
static int send_nonsense(void *arg)
{
    end *me = arg;
    if (me->line == 0) {
        mlt_route *route = mlt_route_to_worker(me->program->csp, 1);
        for (uint32_t i = 0; i < now.times; i++)
            mlt_route_send(route, &now.packet, now.data, now.bytes);
    }
    while (true)
        csp_yield();
    return 0;
}

static int stay(void *arg)
{
    while (true)
        csp_yield();
    return 0;
}

static void end_with(int32_t rank, const char *sentence)
{
    fprintf(stderr, "%s\n", sentence);
    _exit(9);
}

static void run_nonsense(void)
{
    the = (plan){.workers = 3,
                 .line_count = 3,
                 .lines = {{.from = 0, .to = 1, .cap = 2},
                           {.from = 1, .to = 0, .cap = 2},
                           {.from = 1, .to = 2, .cap = 2}},
                 .sends = send_nonsense,
                 .takes = stay};
    int pipes[2], status;
    char text[512];
    CHECK(pipe(pipes) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        dup2(pipes[1], STDERR_FILENO);
        run("direct");
        _exit(0);
    }
    close(pipes[1]);
    size_t length = 0;
    for (ssize_t n; (n = read(pipes[0], text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)n;
    text[length] = 0;
    close(pipes[0]);
    CHECK(waitpid(pid, &status, 0) == pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 9 || !strstr(text, now.sentence)) {
        fprintf(stderr, "expected: %s\ngot (status %x): %s\n", now.sentence, (unsigned)status,
                text);
        exit(1);
    }
}

static void faults(void)
{
    const uint64_t pointer = 8;
    const nonsense all[] = {
        {{.kind = LINK, .object = 3}, NULL, 0, 1, "line 3, but there is no such line"},
        {{.kind = LINK, .object = UINT32_MAX}, NULL, 0, 1, "but there is no such line"},
        {{.kind = LINK, .object = 1}, NULL, 0, 1, "line 1, which does not lead from there to here"},
        {{.kind = LINK, .object = 2}, NULL, 0, 1, "line 2, which does not lead from there to here"},
        {{.kind = LINK + 3, .object = 0, .word = 1}, NULL, 0, 1, "which does not lead from"},
        {{.kind = LINK + 9, .object = 0}, NULL, 0, 1, "line 0, which nobody understands"},
        {{.kind = LINK, .object = 0}, NULL, 0, 3, "for which it has no room"},
        {{.kind = LINK, .object = 0, .src = FLOW_TYPES}, NULL, 0, 1, "of an unknown type"},
        {{.kind = LINK, .object = 0, .src = -1}, NULL, 0, 1, "of an unknown type"},
        {{.kind = LINK + 1, .object = 0}, &pointer, 7, 1, "that is no pointer"},
        {{.kind = LINK + 2, .object = 0}, &pointer, 7, 1, "that does not say how much comes"},
        {{.kind = LINK + 3, .object = 1, .word = 1}, NULL, 0, 1, "more than there was"},
        {{.kind = LINK + 3, .object = 1, .word = 0}, NULL, 0, 1, "more than there was"},
        {{.kind = LINK + 3, .object = 1, .word = -1}, NULL, 0, 1, "more than there was"},
        {{.kind = LINK + 4, .object = 0}, NULL, 0, 2, "that ends it again"},
        {{.kind = LINK + 5, .object = 1}, NULL, 0, 2, "that closes it again"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        now = all[i];
        run_nonsense();
    }
}

const mlt_upcall_table mlt_upcalls = {
    .packet = mlt_route_packet, .flow_packet = to_links, .end_job = end_with};

int main(void)
{
    char why[256];
    CHECK(mlt_settings_read(mlt_p2p_settings, mlt_p2p_settings_count, why, sizeof why) == MLT_OK);
    faults();
    everything();
    pressure();
    endings();
    mlt_flow_large_forget();
    return 0;
}
