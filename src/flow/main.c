// SPDX-License-Identifier: BSD-3-Clause
// flow_main, which every rank calls.
//
//     arguments  ->  the first rank of a worker makes the program  ->  all ranks meet
//     ->  each runs the tasks of its place  ->  the last of a worker ends the lines  ->  all meet
//
// No rank waits for one that has left: all ranks find the same errors (arguments, graph), and leave
// after the first meeting. Rank 0 prints them.
#include <errno.h>
#include <fcntl.h>
#include <millet/csp.h>
#include <millet/flow.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/array.h"
#include "base/export.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"
#include "base/upcalls.h"
#include "boot/ctl.h"
#include "csp/chan.h"
#include "csp/event.h"
#include "csp/hang/hang.h"
#include "csp/net/route.h"
#include "csp/proc.h"
#include "flow/conn.h"
#include "flow/graph/number.h"
#include "flow/help.h"
#include "flow/run.h"
#include "flow/settings.h"
#include "os/fd.h"
#include "p2p/worker.h"

enum {
    SENTENCE = 1024,
    WRONG_ARGUMENTS = 2,
    WRONG_PROGRAM = 1,
    SENDERS_NAMED = 3,
    MAX_HELD_QUEUES = 64
};

_Thread_local mlt_flow_program *mlt_flow_self __attribute__((tls_model("initial-exec")));

// A program has run in this worker, whose last packets may still come.
static _Thread_local bool program_ended;

// ---- failures

_Noreturn void mlt_flow_fault(const flow_instance *who, const char *format, ...)
{
    (void)mlt_flow_come_back();
    char text[SENTENCE], sentence[2 * SENTENCE], kind[SENTENCE / 8];
    MLT_TEXT_PRINT(text, sizeof text, format);
    const mlt_flow_program *p = who->program;
    const mlt_flow_task *task = &p->lowered->tasks[who->task];
    snprintf(kind, sizeof kind, who->module ? "module %s, instance" : "%s",
             who->module ? who->module->name : mlt_flow_kind_name((mlt_flow_kind)task->kind));
    snprintf(sentence, sizeof sentence, "%s %s, on rank %u: %s", kind, who->name, task->place,
             text);
    // mpirun names rank and host again; alone that says nothing.
    bool launched = p->csp->worker->boot->job->launched;
    mlt_csp_end_job(launched ? (int32_t)task->place : MLT_CTL_NO_RANK, sentence);
    mlt_leave(EXIT_FAILURE);
}

MLT_EXPORT void flow_self_fail(const flow_self *self, const char *format, ...)
{
    char text[SENTENCE];
    MLT_TEXT_PRINT(text, sizeof text, format);
    mlt_flow_fault(self->instance, "%s", text);
}

MLT_EXPORT long flow_self_const(const flow_self *self, const char *name)
{
    const mlt_flow_graph *g = self->instance->program->graph;
    for (uint32_t i = 0; i < g->constant_count; i++)
        if (strcmp(g->constants[i].name, name) == 0)
            return g->constants[i].value;
    mlt_flow_fault(self->instance, "flow_const: the root has no constant called %s", name);
}

// ---- arguments

typedef struct arguments {
    mlt_flow_given *given; // their names are copies
    size_t given_count, given_room;
    bool help;
    char wrong[SENTENCE / 2]; // "": nothing
    int argc;                 // what is left for modules
    char **argv;
} arguments;

static void take_given(arguments *a, const char *text)
{
    const char *value = strchr(text, '=');
    if (!value || value == text) {
        snprintf(a->wrong, sizeof a->wrong, "-D wants NAME=value, but has '%s'", text);
        return;
    }
    long number;
    if (!mlt_flow_number_parse(value + 1, &number)) {
        snprintf(a->wrong, sizeof a->wrong, "-D %s: '%s' is not an integer such as 16 or 0x10",
                 text, value + 1);
        return;
    }
    char *name = mlt_xcalloc((size_t)(value - text) + 1, 1);
    memcpy(name, text, (size_t)(value - text));
    *MLT_ARRAY_ADD(a->given, a->given_count, a->given_room) =
        (mlt_flow_given){.name = name, .value = number};
}

static void read_arguments(arguments *a, int argc, char **argv)
{
    *a = (arguments){.argv = mlt_xcalloc((size_t)argc + 1, sizeof *a->argv)};
    for (int i = 0; i < argc; i++) {
        if (i == 0 || strncmp(argv[i], "-", 1) != 0) {
            a->argv[a->argc++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            while (++i < argc)
                a->argv[a->argc++] = argv[i];
        } else if (strcmp(argv[i], "--help") == 0) {
            a->help = true;
        } else if (strcmp(argv[i], "-D") == 0 && i + 1 == argc) {
            snprintf(a->wrong, sizeof a->wrong, "-D wants NAME=value after it");
        } else if (strcmp(argv[i], "-D") == 0) {
            take_given(a, argv[++i]);
        } else if (strncmp(argv[i], "-D", 2) == 0) {
            take_given(a, argv[i] + 2);
        } else {
            a->argv[a->argc++] = argv[i];
        }
    }
}

static void free_arguments(arguments *a)
{
    for (size_t i = 0; i < a->given_count; i++)
        free((char *)a->given[i].name);
    free(a->given);
    free(a->argv);
}

// A constant that the root does not have.
static void main_check_given(arguments *a, const mlt_flow_graph *g)
{
    for (size_t i = 0; i < a->given_count && !a->wrong[0]; i++) {
        uint32_t at = 0;
        while (at < g->constant_count && strcmp(g->constants[at].name, a->given[i].name) != 0)
            at++;
        if (at < g->constant_count)
            continue;
        mlt_text wrong = mlt_text_on(a->wrong, sizeof a->wrong);
        mlt_text_add(&wrong, "-D %s: the program has no such constant%s", a->given[i].name,
                     g->constant_count ? "; it has" : "");
        for (uint32_t k = 0; k < g->constant_count; k++)
            mlt_text_add(&wrong, "%s %s", k ? "," : "", g->constants[k].name);
    }
}

static void print_help(const char *program, const mlt_flow_graph *g)
{
    printf("usage: %s [-D NAME=value ...] [arguments of the modules]\n", program);
    if (g->constant_count)
        printf("constants:\n");
    for (uint32_t i = 0; i < g->constant_count; i++)
        printf("  %s = %ld\n", g->constants[i].name, g->constants[i].value);
    fflush(stdout);
}

static void print_sentences(const mlt_flow_graph *g)
{
    fflush(stdout);
    for (uint32_t i = 0; i < g->sentence_count; i++) {
        const mlt_flow_graph_message *s = &g->sentences[i];
        fprintf(stderr, "%s:%d: %s: %s\n", s->file, s->line, s->warning ? "warning" : "error",
                s->text);
    }
}

// ---- making the program

static uint64_t hash_text(uint64_t h, const char *text)
{
    return mlt_hash_on(h, text, strlen(text) + 1);
}

static uint64_t hash_program(const mlt_flow_program *p)
{
    const mlt_flow_graph *g = p->graph;
    uint64_t h = MLT_HASH_FIRST;
    for (uint32_t i = 0; i < g->vector_count; i++) {
        h = hash_text(h, g->vectors[i].name);
        h = mlt_hash_on(h, &g->vectors[i].count, sizeof g->vectors[i].count);
    }
    for (uint32_t i = 0; i < g->edge_count; i++) {
        uint32_t edge[] = {g->edges[i].from, g->edges[i].to, g->edges[i].out, g->edges[i].in};
        h = mlt_hash_on(h, edge, sizeof edge);
    }
    for (uint32_t i = 0; i < g->constant_count; i++) {
        h = hash_text(h, g->constants[i].name);
        h = mlt_hash_on(h, &g->constants[i].value, sizeof g->constants[i].value);
    }
    if (p->placing)
        h = mlt_hash_on(h, p->placing->place_of, g->node_count * sizeof *p->placing->place_of);
    if (p->lowered)
        h = mlt_hash_on(h, &p->lowered->line_count, sizeof p->lowered->line_count);
    return mlt_hash_on(h, &g->errors, sizeof g->errors);
}

// A place is a rank of the job; workers may have different numbers of them.
// names: the job's hosts, if it has several; else NULL.
static mlt_flow_sites *new_sites(const mlt_worker *worker, const char *hosts,
                                 const mlt_flow_host *names, char *why, size_t why_size)
{
    mlt_job *job = worker->boot->job;
    uint32_t most = 1;
    for (uint32_t w = 0; w < job->workers; w++) {
        uint32_t ranks = mlt_job_location_at(job, w)->ranks;
        most = ranks > most ? ranks : most;
    }
    mlt_flow_sites *sites =
        mlt_flow_sites_new(job->workers, most, names ? NULL : hosts, why, why_size);
    if (!sites)
        return NULL;
    if (names) {
        uint32_t *host_of = mlt_xcalloc(job->workers, sizeof *host_of);
        for (uint32_t w = 0; w < job->workers; w++)
            host_of[w] = mlt_job_host_of(job, w);
        mlt_flow_sites_set(sites, host_of, names, job->hosts);
        free(host_of);
    }
    mlt_assert(sites->places >= worker->world_size);
    sites->places = worker->world_size;
    for (uint32_t r = 0; r < sites->places; r++)
        sites->worker_of[r] = mlt_worker_of_rank(worker, (int32_t)r);
    return sites;
}

static mlt_flow_program *new_program(mlt_csp *csp, const flow_root *root, const arguments *a,
                                     const char *hosts, const mlt_flow_host *names)
{
    mlt_flow_program *p = mlt_xcalloc(1, sizeof *p);
    p->csp = csp;
    p->worker = csp->worker->index;
    p->processes = csp->processes;
    p->ranks_here = csp->worker->count;
    p->argc = a->argc;
    p->argv = mlt_xcalloc((size_t)a->argc + 1, sizeof *p->argv);
    memcpy(p->argv, a->argv, (size_t)a->argc * sizeof *p->argv);
    p->graph = mlt_flow_graph_new(root, a->given, a->given_count);
    if (!p->graph->errors && !a->wrong[0] && !a->help) {
        p->sites = new_sites(csp->worker, hosts, names, p->why, sizeof p->why);
        if (p->sites)
            p->placing = mlt_flow_place(p->graph, p->sites, p->why, sizeof p->why);
        if (p->placing)
            p->lowered = mlt_flow_lower(
                p->graph, p->placing,
                &(mlt_flow_lowering){.balance = mlt_flow_conf_now.balance,
                                     .reproducible = mlt_flow_conf_now.reproducible});
    }
    p->measures =
        csp->worker->boot->job->profile || mlt_flow_conf_now.traced || *mlt_flow_conf_now.report;
    p->hash = hash_program(p);
    mlt_flow_self = p;
    if (p->lowered)
        mlt_flow_start(p);
    return p;
}

static void free_program(mlt_flow_program *p)
{
    if (p->lowered) {
        mlt_flow_parts_end(p);
        mlt_flow_start_free(p);
    }
    mlt_flow_lowered_free(p->lowered);
    if (p->placing)
        mlt_flow_placing_free(p->placing);
    if (p->sites)
        mlt_flow_sites_free(p->sites);
    mlt_flow_graph_free(p->graph);
    free(p->argv);
    free(p);
    mlt_flow_self = NULL;
    program_ended = true;
}

// ---- running

// Hang reports name the process that reads or writes a queue. A task with few lines holds their ends
// until the queues end. A task with many only notes itself: nobody else uses its ends.
static void record_queue_users(flow_instance *me)
{
    const mlt_fiber *self = me->program->csp->sched->current;
    bool few = me->ins + me->outs <= MAX_HELD_QUEUES;
    for (uint32_t i = 0; i < me->ins; i++) {
        if (me->in[i].chan && few)
            csp_hold_in(me->in[i].in);
        else if (me->in[i].chan)
            me->in[i].chan->last_user[MLT_READS] = self;
    }
    for (uint32_t i = 0; i < me->outs; i++) {
        if (me->out[i].to && few)
            csp_hold_out(me->out[i].out);
        else if (me->out[i].to)
            me->out[i].to->chan->last_user[MLT_WRITES] = self;
    }
}

static void end_queues(flow_instance *me)
{
    for (size_t i = 0; me->module && i < me->module->queue_count; i++)
        if (me->queues[i].last) {
            mlt_flow_element_drop(me->queues[i].last);
            me->queues[i].last = NULL;
        }
    for (uint32_t i = 0; i < me->outs; i++)
        mlt_flow_outlet_end(&me->out[i]);
    for (uint32_t i = 0; i < me->ins; i++)
        mlt_flow_inlet_end(&me->in[i]);
}

int mlt_flow_task_main(void *instance)
{
    flow_instance *me = instance;
    const flow_module *m = me->module;
    int result;
    uint64_t since = mlt_flow_conf_now.traced ? mlt_arch_cycles() : 0;
    me->started = true;
    record_queue_users(me);
    if (m) {
        if (m->init)
            m->init(me->my);
        result = m->run(me->my);
        if (result != 0)
            mlt_flow_fault(me, "it has failed: its run returned %d", result);
        if (m->fini)
            m->fini(me->my);
        (void)mlt_flow_come_back();
    } else if ((result = mlt_flow_part_run(me)) != 0) {
        mlt_flow_fault(me, "it has failed (%d)", result);
    }
    end_queues(me);
    if (since)
        mlt_csp_trace_lifetime(me->program->csp, since);
    me->ended = true;
    return 0;
}

static void run_tasks(mlt_flow_program *p)
{
    uint32_t place = (uint32_t)(mlt_csp_rank()->world - p->csp->worker->first_rank);
    uint32_t first = p->place_first[place], count = p->place_first[place + 1] - first;
    csp_proc *procs = mlt_xcalloc(count + 1, sizeof *procs);
    for (uint32_t i = 0; i < count; i++) {
        flow_instance *instance = &p->instances[first + i];
        procs[i] = (csp_proc){.run = mlt_flow_task_main, .arg = instance, .name = instance->name};
    }
    p->processes += count;
    if (count)
        (void)mlt_proc_par(procs, count, "flow_main");
    free(procs);
}

// ---- exit

// Ranks of this process that run their tasks, and which process that is: a child that a module
// forked may call exit.
static _Atomic uint32_t running;
static pid_t runner_pid;
static pthread_once_t exit_watched = PTHREAD_ONCE_INIT;

// A module that calls exit(0) throws away what all others still have to do, and the program would
// say that all is well.
static void exit_called(int status, void *unused)
{
    static const char sentence[] =
        "exit(0) was called while the program runs, and other instances have not ended: a module "
        "returns from its run, and flow_fail ends the program";
    (void)unused;
    // Relaxed: a thread that calls exit has seen its own flow_main begin.
    if (getpid() != runner_pid || atomic_load_explicit(&running, memory_order_relaxed) == 0)
        return;
    (void)mlt_flow_come_back(); // for the worker is about to end
    if (mlt_flow_self)
        mlt_flow_help_end(mlt_flow_self);
    if ((status & 0xff) != 0)
        return;
    const flow_instance *who = mlt_flow_calling();
    if (who)
        mlt_flow_fault(who, "%s", sentence);
    const mlt_rank *rank = mlt_csp_self ? mlt_csp_rank() : NULL;
    mlt_csp_end_job(rank ? rank->world : MLT_CTL_NO_RANK, sentence);
    mlt_leave(EXIT_FAILURE);
}

static void watch_exit(void)
{
    runner_pid = getpid();
    on_exit(exit_called, NULL);
}

// ---- meetings of all ranks

// Any module may read the program's standard input, but mpirun gives it to one process only. The
// others on that host duplicate its descriptor. `has`: a rank of the process that has it.
static void duplicate_stdin(int32_t has)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // for the ranks of this process
    const mlt_worker *w = mlt_csp_self->worker;
    mlt_job *job = w->boot->job;
    uint32_t proc = mlt_job_location_at(job, mlt_worker_of_rank(w, has))->proc;
    if (proc == w->boot->proc)
        return;
    pthread_mutex_lock(&lock);
    int fd = -1;
    if (mlt_os_is_null(STDIN_FILENO) && !mlt_job_is_here(job, mlt_worker_of_rank(w, has))) {
        // It cannot be had from another host. Whoever reads gets an error, not an end that is none.
        fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)dup2(fd, STDIN_FILENO);
    } else if (mlt_os_is_null(STDIN_FILENO)) {
        pid_t from = (pid_t)atomic_load_explicit(&mlt_job_proc_at(job, proc)->pid,
                                                 memory_order_relaxed); // they have met
        fd = mlt_os_fd_of(from, STDIN_FILENO, false);
        if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
            mlt_log("rank %d cannot get the standard input of rank %d (%s): place the module that "
                    "reads it "
                    "there: NAME @ %d;",
                    csp_node(), (int)has, strerror(errno), (int)has);
    }
    mlt_os_close(fd);
    pthread_mutex_unlock(&lock);
}

// Compares the programs of all ranks. The first rank that differs from rank 0 ends the job.
static void compare_programs(csp_group *all, uint64_t own)
{
    int me = csp_node(), nodes = csp_nodes();
    uint64_t of_first = own;
    (void)csp_group_bcast(all, me, &of_first, sizeof of_first, 0);
    // The first rank that differs, and the first one that has input.
    long mine[] = {of_first == own ? nodes : me, mlt_os_is_null(STDIN_FILENO) ? nodes : me};
    long first[] = {nodes, nodes};
    (void)csp_group_allreduce(all, me, mine, first, 2, &csp_min_long);
    if (first[0] == me)
        mlt_csp_end_job(me, "flow_main: this rank has another root, other constants or other "
                            "arguments than rank 0: all ranks run the same flow program");
    if (first[0] < nodes)
        (void)csp_group_barrier(all, me); // which the other one never comes to: the job is ended
    if (mine[1] == nodes && first[1] < nodes)
        duplicate_stdin((int32_t)first[1]);
    if (mlt_upcalls.own_input)
        mlt_upcalls.own_input(mlt_csp_rank());
}

// The names of the job's hosts, as mpirun was told them. Every rank knows that of its own.
static mlt_flow_host *exchange_host_names(csp_group *all)
{
    enum { WORDS = sizeof((mlt_flow_host *)0)->name / sizeof(long) };
    const mlt_job *job = mlt_csp_self->worker->boot->job;
    const char *told = getenv("MILLET_HOST");
    char own[WORDS * sizeof(long)] = "";
    if (!told && gethostname(own, sizeof own - 1) != 0)
        own[0] = '\0';
    if (told)
        snprintf(own, sizeof own, "%s", told);
    long *mine = mlt_xcalloc(2 * (size_t)job->hosts, sizeof own),
         *of_all = mine + job->hosts * WORDS;
    memcpy(mine + job->host * WORDS, own, sizeof own);
    (void)csp_group_allreduce(all, csp_node(), mine, of_all, job->hosts * WORDS, &csp_max_long);
    mlt_flow_host *names = mlt_xcalloc(job->hosts, sizeof *names);
    for (uint32_t h = 0; h < job->hosts; h++)
        memcpy(names[h].name, of_all + h * WORDS, sizeof own);
    free(mine);
    return names;
}

static int report_not_run(const mlt_flow_program *p, const arguments *a, const flow_root *root)
{
    bool tells = csp_node() == 0;
    if (tells && (p->graph->sentence_count > 0 && !a->wrong[0] && !a->help))
        print_sentences(p->graph);
    if (a->wrong[0]) {
        if (tells)
            mlt_log("%s", a->wrong);
        return WRONG_ARGUMENTS;
    }
    if (a->help) {
        if (tells)
            print_help(p->argv[0] ? p->argv[0] : root->name, p->graph);
        return 0;
    }
    if (p->graph->errors == 0 && tells)
        fprintf(stderr, "%s%s%s\n", p->sites ? root->file : "", p->sites ? ":" : "", p->why);
    return WRONG_PROGRAM;
}

// The last rank of a worker to come here ends what its tasks had in common.
static void end_connections(mlt_flow_program *p)
{
    if (++p->ranks_done < p->ranks_here)
        return;
    mlt_flow_conns_end(p);
    mlt_flow_help_end(p);
}

MLT_EXPORT int flow_main(int argc, char **argv, const flow_root *root, const char *hosts)
{
    mlt_csp *csp = mlt_csp_enter("flow_main");
    if (csp->sched->current->pool)
        mlt_csp_fault("flow_main", "main calls it, not a process");
    while (mlt_flow_self && mlt_flow_self->ranks_left > 0)
        csp_yield(); // others of this worker are about to leave the one before
    if (program_ended && csp->worker->boot->job->workers > 1)
        mlt_csp_fault("flow_main", "a flow program has run already, and a job may run only one");
    arguments a;
    read_arguments(&a, argc, argv);
    csp_group *all = csp_nodes() > 1 ? csp_group_of_nodes("flow", 1) : NULL;
    mlt_flow_host *names = csp->worker->boot->job->hosts > 1 ? exchange_host_names(all) : NULL;
    mlt_flow_program *p = mlt_flow_self;
    if (!p)
        p = new_program(csp, root, &a, hosts, names);
    free(names);
    main_check_given(&a, p->graph);
    uint64_t own = hash_text(p->hash, root->name);
    for (int i = 1; i < argc; i++)
        own = hash_text(own, argv[i]);
    if (all)
        compare_programs(all, own);
    int status = 0;
    if (!p->lowered || a.wrong[0]) {
        status = report_not_run(p, &a, root);
    } else {
        if (csp_node() == 0 && a.given_count > 0)
            print_sentences(p->graph); // warnings, which nobody has seen for these constants
        pthread_once(&exit_watched, watch_exit);
        atomic_fetch_add_explicit(&running, 1, memory_order_relaxed);
        run_tasks(p);
    }
    if (p->lowered)
        end_connections(p);
    if (all)
        (void)csp_group_barrier(all, csp_node());
    if (p->lowered && status == 0)
        atomic_fetch_sub_explicit(&running, 1, memory_order_relaxed);
    if (p->lowered && status == 0)
        mlt_flow_stats_tell(p);
    csp_group_free(all);
    free_arguments(&a);
    if (++p->ranks_left == p->ranks_here)
        free_program(p);
    return status;
}

// ---- packets

void mlt_flow_packet(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    mlt_flow_program *p = mlt_flow_self;
    if (!p && program_ended)
        return; // a credit that nobody needs any more
    mlt_assert(p && p->lowered);
    if (packet->kind >= MLT_FLOW_PACKET_PART)
        mlt_flow_part_packet(p, route, packet, data, bytes);
    else
        mlt_flow_conn_packet(p, route, packet, data, bytes);
}

// ---- hang reports

// Names the tasks of other workers that may still write to the queue, and counts them. Readers: 0,
// since a queue is read on its own worker only.
uint32_t mlt_flow_remote_users(const csp_chan *chan, bool writers, char *text, size_t size)
{
    char name[SENTENCE / 8];
    const mlt_flow_inlet *inlet = chan->queue;
    const mlt_flow_program *p = inlet->program;
    const mlt_flow_lowered *l = p->lowered;
    uint32_t first = l->in.first[inlet->task], lines_in = l->in.first[inlet->task + 1] - first;
    const uint32_t *lines = &l->in.list[first];
    if (l->tasks[inlet->task].kind != MLT_FLOW_MODULE) { // a line for each inlet, maybe many
        lines = &inlet->line;
        lines_in = 1;
    }
    uint32_t count = 0, shown = 0;
    mlt_text out = mlt_text_on(text, size);
    for (uint32_t i = 0; writers && i < lines_in; i++) {
        const mlt_flow_line *line = &l->lines[lines[i]];
        const mlt_flow_task *from = &l->tasks[line->from];
        if (p->inlet_of[lines[i]] != inlet || from->worker == p->worker ||
            mlt_flow_conn_over(p, lines[i]))
            continue;
        count++;
        if (shown == SENDERS_NAMED || out.cut)
            continue;
        mlt_flow_task_name(l, line->from, name, sizeof name);
        mlt_text_add(&out, "%s%s", shown++ ? ", " : "", name);
        if (from->kind == MLT_FLOW_MODULE) // others have their worker's name
            mlt_text_add(&out, " on rank %u", from->place);
    }
    if (count > shown)
        mlt_text_add(&out, " and %u others", count - shown);
    return count;
}
