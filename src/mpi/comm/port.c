// SPDX-License-Identifier: BSD-3-Clause
// Ports: how an intercommunicator over two jobs is made.
//
//     root A                                   root B
//       rpc: ACCEPT -> line                     rpc: CONNECT -> line
//       jobs and group A  --------- line ------->
//                         <-------- line --------- jobs and group B
//     agreement 1: all ranks hear of both; a rank of each process joins the bond at its agent
//     agreement 2: cards of the hosts, context numbers in use
//       cards A, numbers   -------- line ------->
//                         <-------- line --------- cards B, numbers
//       the context        -------- line ------->
//       rpc: WATCH                              rpc: WATCH
//     agreement 3: every worker makes the communicators of its ranks
//     a rank of each process tells its agent the cards of the other side
//
// A side on which something fails says so in its next message. No rank of one job hears from the
// other before the first message over the new communicator.
#include "mpi/comm/port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "boot/ctl.h"
#include "fiber/await.h"
#include "mpi/comm/bridge.h"
#include "mpi/comm/port_line.h"
#include "mpi/comm/shared.h"
#include "mpi/self.h"
#include "os/os.h"
#include "wire/wire.h"

enum { ANSWER_NS = 1000000000, ANSWERS = 10 }; // a side that has come tells who it is within 10 s

static int fail(char why[MLT_PORT_WHY], int class, const char *text)
{
    if (text)
        snprintf(why, MLT_PORT_WHY, "%s", text);
    return class;
}

// ---- opening and closing

int mlt_port_open(mlt_rank *me, char name[MPI_MAX_PORT_NAME], char why[MLT_PORT_WHY])
{
    mlt_port_rpc rpc;
    int code = MPI_ERR_OTHER;
    if (!mlt_port_rpc_open(&rpc, me, why))
        return code;
    if (mlt_port_ask(&rpc, MLT_RPC_OPEN, NULL, 0, MLT_RPC_NAME, NULL, why)) {
        snprintf(name, MPI_MAX_PORT_NAME, "%s", (const char *)mlt_rpc_body(&rpc.in));
        code = MPI_SUCCESS;
    }
    mlt_port_rpc_close(&rpc);
    return code;
}

int mlt_port_close(mlt_rank *me, const char *name, char why[MLT_PORT_WHY])
{
    mlt_port_rpc rpc;
    if (!mlt_port_rpc_open(&rpc, me, why))
        return MPI_ERR_OTHER;
    bool closed = mlt_port_ask(&rpc, MLT_RPC_CLOSE, name, strnlen(name, MPI_MAX_PORT_NAME),
                               MLT_RPC_DONE, NULL, why);
    mlt_port_rpc_close(&rpc);
    return closed ? MPI_SUCCESS : MPI_ERR_PORT;
}

// ---- what the root tells the others

typedef struct news {
    int32_t error;
    uint32_t stopped;
    char why[MLT_PORT_WHY];
    mlt_rpc_line line;
    uint32_t context; // agreement 3
    uint32_t
        bytes[2];   // agreement 1: of both sides' descriptions, the acceptor's first, which follow;
                    // agreement 3: of the other side's cards
    uint32_t seals; // agreement 1: mlt_rpc_seal behind these, for ranks of other jobs on this side
} news;

// What a rank tells in agreement 2; a card and numbers follow.
typedef struct report {
    char why[MLT_PORT_WHY]; // "": all is well
    uint32_t host;          // in the bond; with a card
    uint32_t card_bytes, used;
} report;

// What goes over the line after agreement 2; cards and numbers follow.
typedef struct line_report {
    char why[MLT_PORT_WHY];
    uint32_t card_bytes, used;
} line_report;

typedef struct port_call {
    mlt_rank *me;
    mlt_comm *comm;
    int root;
    bool accepts;
    mlt_port_result *result;
    // The root's.
    mlt_port_rpc rpc;
    int line;
    mlt_text described[2]; // the acceptor's first
    mlt_rpc_line about;
    mlt_text cards; // of the other side, and of other jobs of this one
    uint32_t context;
    mlt_port_rpc seals;
    // Everybody's.
    mlt_gathered first;
    const news *told;
    mlt_bridge_side sides[2];
    bool bonded; // the process has the bond
    bool tells;  // this rank tells the agent
    mlt_port_rpc own_rpc;
    mlt_rpc_seal found;       // where the root is of another job
    const mlt_rpc_seal *seal; // `found`; NULL: not needed
    uint8_t card[MLT_RPC_CARD_MOST];
    uint32_t card_bytes;
    char why[MLT_PORT_WHY]; // "": all is well here
} port_call;

static bool port_is_root(const port_call *c)
{
    return c->comm->rank == c->root;
}

static void set_error(port_call *c, int class)
{
    c->result->error = class;
    snprintf(c->result->why, sizeof c->result->why, "%s", c->why);
}

// ---- the root finds the other side

static void name_job(mlt_bridge_side *side, mlt_job *job)
{
    char host[64] = "?";
    (void)gethostname(host, sizeof host - 1);
    for (uint32_t i = 0; i < side->job_count; i++)
        if (side->jobs[i].identity == job->identity)
            snprintf(side->jobs[i].name, sizeof side->jobs[i].name, "mpirun %u on host %s",
                     job->launcher, host);
}

static void describe(port_call *c)
{
    mlt_worker *w = c->me->worker;
    mlt_bridge_side side;
    mlt_bridge_describe(&side, mlt_comm_group(c->comm), w->wire->worlds, w->boot->job,
                        c->about.encrypts != 0);
    name_job(&side, w->boot->job);
    mlt_text_free(&c->described[!c->accepts]);
    c->described[!c->accepts] = mlt_bridge_write(&side);
    mlt_bridge_free(&side);
}

// Asks for a line. False: c->why tells.
static bool get_line(port_call *c, const char *name, mlt_port_line_wait *wait)
{
    if (!mlt_port_ask(&c->rpc, c->accepts ? MLT_RPC_ACCEPT : MLT_RPC_CONNECT, name,
                      strnlen(name, MPI_MAX_PORT_NAME), MLT_RPC_LINE, wait, c->why))
        return false;
    if (c->rpc.head.length != sizeof c->about || c->rpc.in.fd < 0) {
        fail(c->why, 0, "mpirun answers something else");
        return false;
    }
    memcpy(&c->about, mlt_rpc_body(&c->rpc.in), sizeof c->about);
    c->line = c->rpc.in.fd;
    c->rpc.in.fd = -1;
    return true;
}

static void drop_line(port_call *c)
{
    if (c->line >= 0)
        close(c->line);
    c->line = -1;
}

// Tells who this side is, and hears who the other one is. MLT_ERR_CLOSED: the other one has gone.
static mlt_status introduce(port_call *c, mlt_port_line_wait *wait)
{
    mlt_text *own = &c->described[!c->accepts], *other = &c->described[c->accepts];
    mlt_bridge_side side;
    describe(c);
    mlt_status status = mlt_port_line_say(c->me, c->line, own->text, own->length);
    if (status == MLT_OK)
        status = mlt_port_line_hear(c->me, c->line, other, wait);
    if (status != MLT_OK)
        return status;
    const char *fault = mlt_bridge_read(&side, other->text, other->length);
    if (fault)
        return mlt_fail(MLT_ERR_INVALID, c->why, sizeof c->why,
                        "what the other side says of itself makes no sense: %s", fault);
    mlt_bridge_free(&side);
    return MLT_OK;
}

static int64_t soon(void)
{
    return (int64_t)mlt_os_now_ns() + (int64_t)ANSWERS * ANSWER_NS;
}

// An acceptor takes the next one, if one that waited has gone.
static bool find_other(port_call *c, const char *name, mlt_port_line_wait *wait)
{
    for (;;) {
        mlt_port_rpc_close(&c->rpc); // and with it the agent drops the bond
        if (!mlt_port_rpc_open(&c->rpc, c->me, c->why) || !get_line(c, name, wait))
            return false;
        mlt_port_line_wait brief = {.deadline = soon(), .stop = -1};
        mlt_status status = introduce(c, c->accepts ? &brief : wait);
        if (status == MLT_OK)
            return true;
        drop_line(c);
        if (c->accepts && !c->why[0])
            continue;
        if (!c->why[0])
            fail(c->why, 0,
                 status == MLT_PENDING ? "nobody accepted in time"
                                       : "the port was closed, or its job has ended");
        return false;
    }
}

// ---- agreement 1

// The key of the bond for ranks of other jobs on this side, which are in c->seals. How many; *good is
// false if there are none though they are needed, and c->why tells.
static uint32_t get_seals(port_call *c, bool *good)
{
    if (!mlt_comm_shared_of(c->comm)->foreign)
        return 0;
    *good = mlt_port_rpc_open(&c->seals, c->me, c->why) &&
            mlt_port_ask(&c->seals, MLT_RPC_SEAL, &c->about.bond, sizeof c->about.bond,
                         MLT_RPC_SEALS, NULL, c->why);
    return *good ? c->seals.head.length / (uint32_t)sizeof(mlt_rpc_seal) : 0;
}

// What the root tells: who the other side is, or why there is none.
static mlt_text tidings_of_root(port_call *c, const char *name, const mlt_port_wait *wait)
{
    mlt_port_line_wait line_wait = {.deadline = MLT_NEVER, .stop = wait ? wait->stop : -1};
    if (wait && wait->timeout_ns >= 0)
        line_wait.deadline = (int64_t)mlt_os_now_ns() + wait->timeout_ns;
    news n = {.error = wait ? wait->refused : MPI_SUCCESS};
    if (n.error != MPI_SUCCESS)
        snprintf(c->why, sizeof c->why, "%s", wait->why);
    bool found = n.error == MPI_SUCCESS && find_other(c, name, &line_wait);
    n.seals = found ? get_seals(c, &found) : 0;
    if (!found && n.error == MPI_SUCCESS)
        n.error = MPI_ERR_PORT;
    n.stopped = line_wait.stopped;
    n.line = c->about;
    for (int i = 0; found && i < 2; i++)
        n.bytes[i] = (uint32_t)c->described[i].length;
    memcpy(n.why, c->why, sizeof n.why);
    mlt_text all = {0};
    mlt_text_put(&all, &n, sizeof n);
    for (int i = 0; i < 2; i++)
        mlt_text_put(&all, c->described[i].text, n.bytes[i]);
    if (n.seals)
        mlt_text_put(&all, mlt_rpc_body(&c->seals.in), n.seals * sizeof(mlt_rpc_seal));
    return all;
}

static void tell_others(port_call *c, const char *name, const mlt_port_wait *wait)
{
    mlt_text tidings = {0};
    if (port_is_root(c))
        tidings = tidings_of_root(c, name, wait);
    (void)mlt_comm_gather(c->me, c->comm, tidings.text, tidings.length, &c->first);
    mlt_text_free(&tidings);
    c->told = (const news *)((const char *)c->first.data + c->first.at[c->root]);
}

// ---- the bond

// The jobs of both sides, each once; UINT32_MAX beyond them.
static const mlt_world_shape *job_of(const port_call *c, uint32_t i)
{
    const mlt_bridge_side *first = &c->sides[0], *second = &c->sides[1];
    if (i < first->job_count)
        return &first->jobs[i];
    for (uint32_t k = 0, at = first->job_count; k < second->job_count; k++) {
        bool again = false;
        for (uint32_t f = 0; f < first->job_count; f++)
            again |= first->jobs[f].identity == second->jobs[k].identity;
        if (!again && at++ == i)
            return &second->jobs[k];
    }
    return NULL;
}

// All other jobs get numbers. False: c->why tells. *foreign: there are some.
static bool agreement_worlds(port_call *c, mlt_bond_part *parts, uint32_t *count, bool *foreign)
{
    mlt_worker *w = c->me->worker;
    uint32_t procs = 0;
    const mlt_world_shape *shape;
    *foreign = false;
    for (*count = 0; (shape = job_of(c, *count)); (*count)++) {
        mlt_world *world = NULL;
        if (shape->identity != w->boot->job->identity) {
            *foreign = true;
            if (!mlt_worker_go_abroad(w) || !(world = mlt_worlds_meet(w->wire->worlds, shape))) {
                fail(c->why, 0,
                     "there is no memory, or there are no numbers left, for the ranks of "
                     "another job");
                return false;
            }
            // What is sent to the other job leaves before the call returns (mlt_detour_end).
            mlt_mpi_take_detour(MLT_DETOUR_USUAL);
        }
        parts[*count] = (mlt_bond_part){.world = world, .first_proc = procs};
        procs += shape->procs;
    }
    return true;
}

// What the agent must know of the bond: the question JOIN.
static mlt_text bond_question(const port_call *c)
{
    mlt_worker *w = c->me->worker;
    uint32_t hosts = 0;
    mlt_rpc_bond about = {.bond = c->told->line.bond,
                          .encrypts = c->sides[0].encrypts || c->sides[1].encrypts};
    mlt_text runs = {0}, question = {0};
    const mlt_world_shape *shape;
    memcpy(about.sealed, c->told->line.sealed, sizeof about.sealed);
    if (c->seal) {
        about.via = c->seal->via;
        memcpy(about.sealed, c->seal->sealed, sizeof about.sealed);
    }
    for (uint32_t i = 0; (shape = job_of(c, i)); i++) {
        if (shape->identity == w->boot->job->identity) {
            about.own_proc = about.procs;
            about.own_host = hosts + w->boot->job->host;
        } else {
            snprintf(about.other, sizeof about.other, "%s", shape->name);
        }
        for (uint32_t k = 0; k < shape->run_count; k++, about.runs++) {
            mlt_rpc_run run = {hosts + shape->runs[k].host, shape->runs[k].procs};
            mlt_text_put(&runs, &run, sizeof run);
        }
        about.procs += shape->procs;
        hosts += shape->hosts;
    }
    about.hosts = hosts;
    mlt_text_put(&question, &about, sizeof about);
    mlt_text_put(&question, runs.text, runs.length);
    mlt_text_free(&runs);
    return question;
}

// A rank of another job than the root's finds the key as that job's agent has sealed it for its own.
// False: c->why tells.
static bool find_seal(port_call *c)
{
    const mlt_worlds *worlds = c->me->worker->wire->worlds;
    mlt_world *world = mlt_worlds_of_rank(worlds, mlt_comm_world_rank(c->comm, c->root));
    const unsigned char *at =
        (const unsigned char *)(c->told + 1) + c->told->bytes[0] + c->told->bytes[1];
    if (!world)
        return true;
    // relaxed: this process has joined it long ago.
    uint64_t bond = atomic_load_explicit(&world->bond, memory_order_relaxed);
    if (bond == c->told->line.bond)
        return true; // another rank of the process has joined already
    for (uint32_t i = 0; i < c->told->seals; i++) {
        memcpy(&c->found, at + i * sizeof c->found, sizeof c->found);
        if (c->found.via != bond)
            continue;
        c->seal = &c->found;
        return true;
    }
    return mlt_deny(
        c->why, sizeof c->why,
        "a rank of this side is of another job than the root, %s, and shares no connection "
        "with the root's host by which it could be told of the new one",
        world->shape.name);
}

static void join_bond(port_call *c)
{
    mlt_text question = bond_question(c);
    if (mlt_port_rpc_open(&c->own_rpc, c->me, c->why) &&
        mlt_port_ask(&c->own_rpc, MLT_RPC_JOIN, question.text, question.length, MLT_RPC_CARD, NULL,
                     c->why)) {
        c->card_bytes = c->own_rpc.head.length < sizeof c->card ? c->own_rpc.head.length
                                                                : (uint32_t)sizeof c->card;
        memcpy(c->card, mlt_rpc_body(&c->own_rpc.in), c->card_bytes);
    }
    mlt_text_free(&question);
}

static void make_bond(port_call *c)
{
    mlt_bond_part parts[2 * MLT_BRIDGE_JOBS];
    uint32_t count;
    bool foreign;
    if (!agreement_worlds(c, parts, &count, &foreign) || !foreign)
        return;
    mlt_worlds *worlds = c->me->worker->wire->worlds;
    if (!find_seal(c)) // before the new bond takes the place of the old one
        return;
    c->bonded = true;
    c->tells = mlt_bond_begin(worlds, c->told->line.bond, parts, count);
    if (c->tells)
        join_bond(c);
}

static bool read_sides(port_call *c)
{
    const unsigned char *at = (const unsigned char *)(c->told + 1);
    for (int i = 0; i < 2; i++) {
        const char *fault = mlt_bridge_read(&c->sides[i], at, c->told->bytes[i]);
        if (fault)
            return fail(c->why, 0, fault);
        at += c->told->bytes[i];
    }
    return true;
}

// ---- agreement 2, and what the roots tell each other then

static uint32_t port_own_host(const port_call *c)
{
    uint32_t hosts = 0;
    const mlt_world_shape *shape;
    for (uint32_t i = 0; (shape = job_of(c, i)); i++) {
        if (shape->identity == c->me->worker->boot->job->identity)
            return hosts + c->me->worker->boot->job->host;
        hosts += shape->hosts;
    }
    return 0;
}

static void gather_reports(port_call *c, mlt_gathered *all)
{
    uint32_t used = 0;
    const uint32_t *numbers = NULL;
    mlt_members *members = mlt_comm_members(c->comm);
    if (members->at[members->place].first == (uint32_t)c->comm->rank)
        numbers = mlt_context_abroad(c->me->worker, &used);
    if (!numbers)
        used = 0;
    report mine = {.host = port_own_host(c), .card_bytes = c->card_bytes, .used = used};
    memcpy(mine.why, c->why, sizeof mine.why);
    mlt_text whole = {0};
    mlt_text_put(&whole, &mine, sizeof mine);
    mlt_text_put(&whole, c->card, c->card_bytes);
    mlt_text_put(&whole, numbers, used * sizeof *numbers);
    (void)mlt_comm_gather(c->me, c->comm, whole.text, whole.length, all);
    mlt_text_free(&whole);
}

static bool has_card(const mlt_text *cards, uint32_t host)
{
    for (size_t at = 0; at < cards->length;) {
        mlt_rpc_card about;
        memcpy(&about, cards->text + at, sizeof about);
        if (about.host == host)
            return true;
        at += sizeof about + ((about.bytes + 3u) & ~(size_t)3);
    }
    return false;
}

// Of all ranks: the first failure, the cards of the hosts, the numbers in use.
static void port_collect(const port_call *c, const mlt_gathered *all, line_report *head,
                         mlt_text *cards, mlt_text *used)
{
    memset(head, 0, sizeof *head);
    for (int32_t r = 0; r < c->comm->size; r++) {
        const unsigned char *at = (const unsigned char *)all->data + all->at[r];
        report said;
        memcpy(&said, at, sizeof said);
        at += sizeof said;
        if (said.why[0] && !head->why[0])
            memcpy(head->why, said.why, sizeof head->why);
        if (said.card_bytes && !has_card(cards, said.host)) {
            static const unsigned char zeros[4];
            mlt_rpc_card about = {.host = said.host, .bytes = said.card_bytes};
            mlt_text_put(cards, &about, sizeof about);
            mlt_text_put(cards, at, said.card_bytes);
            mlt_text_put(cards, zeros, (4 - said.card_bytes % 4) % 4);
        }
        mlt_text_put(used, at + said.card_bytes, said.used * sizeof(uint32_t));
    }
    head->card_bytes = (uint32_t)cards->length;
    head->used = (uint32_t)(used->length / sizeof(uint32_t));
}

static bool say_report(port_call *c, const line_report *mine, const mlt_text *cards,
                       const mlt_text *used)
{
    mlt_text whole = {0};
    mlt_text_put(&whole, mine, sizeof *mine);
    mlt_text_put(&whole, cards->text, cards->length);
    mlt_text_put(&whole, used->text, used->length);
    mlt_status status = mlt_port_line_say(c->me, c->line, whole.text, whole.length);
    mlt_text_free(&whole);
    return status == MLT_OK;
}

// False: c->why tells.
static bool hear_report(port_call *c, mlt_text *used)
{
    mlt_text got = {0};
    line_report theirs;
    if (mlt_port_line_hear(c->me, c->line, &got, NULL) != MLT_OK)
        return fail(c->why, 0, "the other side has ended meanwhile");
    bool fits = got.length >= sizeof theirs;
    if (fits) {
        memcpy(&theirs, got.text, sizeof theirs);
        theirs.why[sizeof theirs.why - 1] = '\0';
        fits = got.length ==
               sizeof theirs + theirs.card_bytes + theirs.used * (uint64_t)sizeof(uint32_t);
    }
    if (fits && !theirs.why[0]) {
        const char *cards = got.text + sizeof theirs;
        mlt_text_put(&c->cards, cards, theirs.card_bytes);
        mlt_text_put(used, cards + theirs.card_bytes, theirs.used * sizeof(uint32_t));
    } else if (fits) {
        snprintf(c->why, sizeof c->why, "the other side failed: %.400s", theirs.why);
    } else {
        fail(c->why, 0, "what the other side says makes no sense");
    }
    mlt_text_free(&got);
    return !c->why[0];
}

// The acceptor draws the number of the new communicator.
static bool port_agree(port_call *c, const mlt_text *used)
{
    mlt_text got = {0};
    if (c->accepts) {
        c->context = mlt_context_draw((const uint32_t *)(const void *)used->text,
                                      (uint32_t)(used->length / sizeof(uint32_t)));
        if (mlt_port_line_say(c->me, c->line, &c->context, sizeof c->context) != MLT_OK)
            return fail(c->why, 0, "the other side has ended meanwhile");
        return true;
    }
    if (mlt_port_line_hear(c->me, c->line, &got, NULL) != MLT_OK)
        return fail(c->why, 0, "the other side has ended meanwhile");
    if (got.length == sizeof c->context)
        memcpy(&c->context, got.text, sizeof c->context);
    mlt_text_free(&got);
    if (c->context < MLT_CONTEXT_ABROAD || c->context > MLT_CONTEXT_ABROAD_LAST ||
        c->context % MLT_CONTEXTS)
        return fail(c->why, 0, "the other side has chosen a wrong number");
    return true;
}

static void port_settle(port_call *c, const mlt_gathered *all)
{
    line_report mine;
    mlt_text cards = {0}, used = {0};
    port_collect(c, all, &mine, &cards, &used);
    memcpy(c->why, mine.why, sizeof c->why);
    bool said = say_report(c, &mine, &cards, &used);
    if (!c->why[0] && !said)
        fail(c->why, 0, "the other side has ended meanwhile");
    bool heard = !c->why[0] && hear_report(c, &used);
    if (heard && mlt_comm_shared_of(c->comm)->foreign) // jobs of this side need each other's, too
        mlt_text_put(&c->cards, cards.text, cards.length);
    if (heard && port_agree(c, &used) && c->bonded) {
        uint64_t bond = c->about.bond;
        (void)mlt_port_ask(&c->rpc, MLT_RPC_WATCH, &bond, sizeof bond, MLT_RPC_DONE, NULL, c->why);
    }
    drop_line(c);
    mlt_text_free(&cards);
    mlt_text_free(&used);
}

// ---- agreement 3

typedef struct port_participant {
    mlt_participant participant;
    const port_call *call;
    mlt_comm *new;
    int32_t error;
    uint32_t context;
    char why[MLT_PORT_WHY];
    mlt_text cards; // of the rank that tells the agent
} port_participant;

static void make_comms(mlt_agreement *agreement, const news *told)
{
    const port_call *c = ((port_participant *)agreement->participants)->call;
    const mlt_worlds *worlds =
        mlt_worlds_of(agreement->worker->boot->job, agreement->worker->boot->ctl);
    mlt_map *local = mlt_map_hold(mlt_comm_group(c->comm));
    mlt_map *remote = mlt_bridge_map(&c->sides[c->accepts], worlds);
    mlt_context *id = mlt_context_join(agreement->worker, told->context);
    mlt_comm_shared *shared =
        mlt_comm_shared_new(id, c->accepts ? local : remote, c->accepts ? remote : local);
    for (mlt_participant *g = agreement->participants; g; g = g->next) {
        port_participant *participant = (port_participant *)g;
        participant->new = mlt_comm_new(g->rank, shared, !c->accepts, participant->call->comm->rank,
                                        participant->call->comm);
    }
}

// A job has ranks on both sides, perhaps of one worker: all ranks of both meet once more.
static bool overlaps(const port_call *c)
{
    for (uint32_t i = 0; i < c->sides[0].job_count; i++)
        for (uint32_t k = 0; k < c->sides[1].job_count; k++)
            if (c->sides[0].jobs[i].identity == c->sides[1].jobs[k].identity)
                return true;
    return false;
}

static mlt_comm *make_together(const port_call *c, uint32_t context)
{
    const mlt_worlds *worlds = mlt_worlds_of(c->me->worker->boot->job, c->me->worker->boot->ctl);
    mlt_map *group[2] = {mlt_bridge_map(&c->sides[0], worlds),
                         mlt_bridge_map(&c->sides[1], worlds)};
    mlt_comm *new =
        mlt_inter_make(c->me, group[0], group[1], !c->accepts, c->comm->rank, context, c->comm);
    mlt_map_drop(group[0]);
    mlt_map_drop(group[1]);
    return new;
}

static void finish_port(mlt_agreement *agreement)
{
    const mlt_agreement_item *item = mlt_agreement_next(agreement, NULL);
    const news *told = mlt_agreement_item_data(item);
    if (told->error == MPI_SUCCESS &&
        !overlaps(((port_participant *)agreement->participants)->call))
        make_comms(agreement, told);
    for (mlt_participant *g = agreement->participants; g; g = g->next) {
        port_participant *participant = (port_participant *)g;
        participant->error = told->error;
        participant->context = told->context;
        memcpy(participant->why, told->why, sizeof participant->why);
        if (participant->call->tells && told->error == MPI_SUCCESS)
            mlt_text_put(&participant->cards, told + 1, told->bytes[0]);
    }
}

// The agent of this host learns where the other side is. That it cannot is found out when a
// connection is wanted: it waits for the cards.
static void learn(port_call *c, const port_participant *g)
{
    uint64_t bond = c->told->line.bond;
    mlt_text question = {0};
    mlt_text_put(&question, &bond, sizeof bond);
    mlt_text_put(&question, g->cards.text, g->cards.length);
    if (!mlt_port_ask(&c->own_rpc, MLT_RPC_LEARN, question.text, question.length, MLT_RPC_DONE,
                      NULL, c->why))
        mlt_log("rank %d: the agent does not take the cards of the other job: %s", c->me->world,
                c->why);
    mlt_text_free(&question);
}

static void port_make(port_call *c)
{
    mlt_text tidings = {0};
    if (port_is_root(c)) {
        news n = {.error = c->why[0] ? MPI_ERR_PORT : MPI_SUCCESS,
                  .context = c->context,
                  .bytes = {(uint32_t)c->cards.length}};
        memcpy(n.why, c->why, sizeof n.why);
        mlt_text_put(&tidings, &n, sizeof n);
        mlt_text_put(&tidings, c->cards.text, c->cards.length);
    }
    port_participant g = {.call = c};
    mlt_comm_meet(c->comm, &g.participant, false, finish_port, tidings.text, tidings.length);
    mlt_text_free(&tidings);
    if (g.error == MPI_SUCCESS && c->tells)
        learn(c, &g);
    mlt_text_free(&g.cards);
    if (g.error == MPI_SUCCESS && overlaps(c))
        g.new = make_together(c, g.context);
    c->result->comm = g.new;
    memcpy(c->why, g.why, sizeof c->why);
    if (g.error != MPI_SUCCESS)
        set_error(c, g.error);
}

// ---- the whole

static void port_end(port_call *c)
{
    drop_line(c);
    mlt_port_rpc_close(&c->rpc);
    mlt_port_rpc_close(&c->own_rpc);
    mlt_port_rpc_close(&c->seals);
    if (c->bonded)
        mlt_bond_made(c->me->worker->wire->worlds, c->told->line.bond);
    mlt_gathered_free(&c->first);
    for (int i = 0; i < 2; i++) {
        mlt_text_free(&c->described[i]);
        mlt_bridge_free(&c->sides[i]);
    }
    mlt_text_free(&c->cards);
}

void mlt_port_meet(mlt_rank *me, mlt_comm *comm, int root, bool accepts, const char *name,
                   const mlt_port_wait *wait, mlt_port_result *result)
{
    port_call *c = mlt_xcalloc(1, sizeof *c); // a fiber's stack may be small
    mlt_gathered all;
    uint16_t fn = me->fn;
    *result = (mlt_port_result){.error = MPI_SUCCESS};
    *c = (port_call){.me = me,
                     .comm = comm,
                     .root = root,
                     .accepts = accepts,
                     .result = result,
                     .rpc = {.fd = -1, .in = {.fd = -1}},
                     .own_rpc = {.fd = -1, .in = {.fd = -1}},
                     .seals = {.fd = -1, .in = {.fd = -1}},
                     .line = -1};
    mlt_comm_shared_of(comm);
    tell_others(c, name, wait);
    if (c->told->error != MPI_SUCCESS) {
        memcpy(c->why, c->told->why, sizeof c->why);
        result->stopped = c->told->stopped != 0;
        set_error(c, c->told->error);
    } else {
        if (read_sides(c))
            make_bond(c);
        gather_reports(c, &all);
        if (port_is_root(c))
            port_settle(c, &all);
        mlt_gathered_free(&all);
        port_make(c);
    }
    port_end(c);
    free(c);
    me->fn = fn;
}
