// SPDX-License-Identifier: BSD-3-Clause
// Each line has one record at each of its two workers: an mlt_flow_conn where it begins, an arrival
// where it ends. A worker never has both of one line.
//
// The end. Both sides say that they are done, each exactly once: the sender by END (even if CLOSED
// came before), the receiver by CLOSED (even if END came before). Afterwards neither says anything
// about the line. mlt_flow_conns_end waits for both of every line, so no packet comes to a worker
// that has left; and since END has come, no data of p2p is under way.
//
// Completions of p2p (message_left, message_came) only free, push and wake, for they must not start
// anything. Credits that they make possible are told by work of the next progress step.
#include "flow/conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "csp/net/remote.h"
#include "csp/wait.h"
#include "flow/element/store.h"
#include "flow/help.h"
#include "os/os.h"
#include "p2p/context.h"
#include "wire/wire.h"

// object is the line, always.
enum {
    ELEMENT = MLT_FLOW_PACKET_CONN, // src: kind, word: value_bytes, dst: 0
    POINTER,                        // the element's address
    COMING,                         // as ELEMENT, but the data is its length
    CREDIT,                         // word: how many
    CONN_END,
    CONN_CLOSED,
    STORE,  // word: the descriptor of the sender's store, src: its process
    MAPPED, // the receiver has it
    STORED, // src: kind, word: value_bytes; where it is in the store, and its length
};

enum { GIVE_BACK = 4, RECORDS = 16, CONN_NAME = 256 };

// A task that waits for credit.
typedef struct waiter {
    mlt_list_node node;
    mlt_fiber *fiber;
    uint32_t cost;
    bool ready; // the credits are its own
} waiter;

// Where a line begins.
struct mlt_flow_conn {
    mlt_flow_program *program;
    mlt_route *route;
    mlt_rank *rank; // of the sending task's place
    int32_t to;     // place
    uint32_t line, cap, credits;
    bool by_bytes;
    bool near; // another worker of this process
    bool ended, closed;
    bool told, maps; // of the store: the receiver knows of it (or is on another host); has it
    uint64_t small;  // bytes up to which data goes in a packet
    mlt_list_node waiting;
    mlt_flow_outlet *outlet;
    char *where; // for reports; NULL: no task has waited yet
};

// Where a line ends.
typedef struct arrival {
    mlt_flow_program *program;
    mlt_route *route;
    mlt_rank *rank; // of the receiving task's place
    int32_t from;   // place
    uint32_t line, cap;
    uint32_t out;    // credits that the sender does not have
    uint32_t untold; // of them: for elements that were taken
    uint32_t last;   // credits that the element cost that came last
    bool by_bytes;
    bool near;   // from another worker of this process
    bool queued; // work
    bool ended, over, closed;
    mlt_list_node
        moving; // in order: elements that p2p moves, and those that must not overtake them
    mlt_work work;
} arrival;

// An element that p2p moves, one that waits for such an element, or one that leaves.
typedef struct record {
    mlt_list_node node; // in arrival.moving
    mlt_req req;
    mlt_flow_element *e;
    void *of; // arrival or mlt_flow_conn
    bool here;
} record;

typedef struct peer { // a worker that lines lead to or come from
    mlt_route_user user;
    struct mlt_flow_conns *conns;
    char *store; // its process's; NULL: not mapped
    bool listed;
} peer;

struct mlt_flow_conns {
    mlt_flow_program *program;
    uint32_t *number_of; // [line_count]: in begins or ends; UINT32_MAX: neither
    mlt_flow_conn *begins;
    arrival *ends;
    uint32_t begin_count, end_count;
    peer *peers; // [workers]
    mlt_pool records;
    uint64_t open; // sides of lines that have not been told of, messages that leave
    mlt_fiber *ender;
};

static inline const mlt_flow_line *line_at(const mlt_flow_program *program, uint32_t line)
{
    return &program->lowered->lines[line];
}

static inline uint32_t worker_at(const mlt_flow_program *program, uint32_t task)
{
    return program->lowered->tasks[task].worker;
}

static void one_less(struct mlt_flow_conns *conns)
{
    mlt_assert(conns->open > 0);
    if (--conns->open == 0 && conns->ender)
        mlt_fiber_wake(conns->program->csp->sched, conns->ender);
}

// ---- names and faults

// "'q[1].in' on worker 1"
static const char *name_of(const mlt_flow_program *program, uint32_t line, char *text, size_t size)
{
    const mlt_flow_lowered *l = program->lowered;
    const mlt_flow_line *at = &l->lines[line];
    char name[CONN_NAME];
    if (l->tasks[at->to].kind == MLT_FLOW_MODULE)
        mlt_flow_in_name(l->graph, &l->graph->edges[at->edge], name, sizeof name);
    else
        mlt_flow_node_name(l->graph, l->tasks[at->to].node, name, sizeof name);
    snprintf(text, size, "'%s' on worker %u", name, worker_at(program, at->to));
    return text;
}

static _Noreturn MLT_COLD void bad_line(const mlt_route *route, uint32_t line, const char *what)
{
    mlt_csp_fault("flow", "%s sent a packet about line %u, %s", route->who, line, what);
}

static _Noreturn MLT_COLD void bad_packet(const mlt_flow_program *program, const mlt_route *route,
                                          uint32_t line, const char *what)
{
    char name[CONN_NAME + 32];
    mlt_csp_fault("flow", "%s sent a packet for queue %s %s", route->who,
                  name_of(program, line, name, sizeof name), what);
}

static void peer_lost(mlt_route_user *user, mlt_route *route)
{
    struct mlt_flow_conns *conns = mlt_container_of(user, peer, user)->conns;
    mlt_csp_fault("flow", "%s, and lines of this worker lead there", conns->program->csp->why);
}

// ---- sending

static void message_left(mlt_req *req)
{
    record *r = mlt_container_of(req, record, req);
    mlt_flow_conn *conn = r->of;
    struct mlt_flow_conns *conns = conn->program->conns;
    if (r->req.count >= MLT_FLOW_HELPED)
        mlt_flow_help_less(conn->program, false);
    mlt_flow_element_drop(r->e);
    mlt_pool_give(&conns->records, r);
    one_less(conns);
}

static void fill_request(mlt_req *req, mlt_rank *rank, mlt_req_kind kind, mlt_flow_element *e,
                         uint64_t bytes, int32_t other, uint32_t line)
{
    mlt_req_init(req, rank, kind);
    mlt_req_message(req, mlt_flow_data(e), bytes, MLT_TYPE_BYTE, MLT_CONTEXT_FLOW, rank->world,
                    other, (int32_t)line);
}

// The element and its ref stay until the other side has the data, so nobody writes to it.
static void send_message(mlt_flow_conn *conn, const mlt_packet *packet, mlt_flow_element *e)
{
    struct mlt_flow_conns *conns = conn->program->conns;
    mlt_packet coming = *packet;
    uint64_t bytes = e->bytes;
    record *r = mlt_pool_take(&conns->records);
    coming.kind = COMING;
    mlt_route_send(conn->route, &coming, &bytes, sizeof bytes);
    r->e = e;
    r->of = conn;
    fill_request(&r->req, conn->rank, MLT_REQ_SEND, e, bytes, conn->to, conn->line);
    r->req.on_done = message_left;
    conns->open++;
    if (bytes >= MLT_FLOW_HELPED)
        mlt_flow_help_more(conn->program, false);
    mlt_p2p_send(&r->req);
    // Its data may need this worker to move, and what has left makes room for the next one: a task
    // that never waits must look from time to time.
    mlt_p2p_poll(conn->rank);
}

// Where an element lies.
typedef struct place_in_store {
    uint64_t offset, bytes;
} place_in_store;

static void tell_store(mlt_flow_conn *conn)
{
    conn->told = true;
    int fd = mlt_flow_store_fd();
    mlt_packet packet = {.kind = STORE, .object = conn->line, .word = fd, .src = (int32_t)getpid()};
    if (fd >= 0)
        mlt_route_send(conn->route, &packet, NULL, 0);
}

static void send_stored(mlt_flow_conn *conn, const mlt_packet *packet, mlt_flow_element *e)
{
    const mlt_flow_prefix *block = (const mlt_flow_prefix *)(const void *)e - 1;
    place_in_store at = {.offset = block->offset, .bytes = e->bytes};
    mlt_packet stored = *packet;
    stored.kind = STORED;
    mlt_route_send(conn->route, &stored, &at, sizeof at); // and it is the receiver's
}

mlt_flow_element *mlt_flow_conn_new(const mlt_flow_conn *conn, uint64_t bytes)
{
    return conn->maps && bytes > conn->small ? mlt_flow_element_stored(bytes)
                                             : mlt_flow_element_new(bytes);
}

static void send_pointer(mlt_flow_conn *conn, const mlt_packet *packet, mlt_flow_element *e)
{
    mlt_packet pointer = *packet;
    pointer.kind = POINTER;
    e = mlt_flow_element_own(e);
    e->line = conn->line;
    mlt_route_send(conn->route, &pointer, &e, sizeof e);
}

static inline void send_element(mlt_flow_conn *conn, mlt_flow_element *e)
{
    mlt_packet packet = {
        .kind = ELEMENT, .object = conn->line, .word = (int32_t)e->value_bytes, .src = e->kind};
    if (MLT_LIKELY(e->small || e->bytes <= conn->small)) {
        mlt_route_send(conn->route, &packet, mlt_flow_data(e), e->bytes);
        mlt_flow_element_drop(e);
    } else if (conn->near) {
        send_pointer(conn, &packet, e);
    } else if (conn->maps && e->refs == 1 && mlt_flow_store_has(e)) {
        send_stored(conn, &packet, e);
    } else {
        if (!conn->told)
            tell_store(conn);
        send_message(conn, &packet, e);
    }
}

static MLT_COLD void name_conn(mlt_flow_conn *conn)
{
    static const char begin[] = "waits for room in queue ";
    enum { SIZE = CONN_NAME + 64 };
    conn->where = mlt_xcalloc(SIZE, 1);
    memcpy(conn->where, begin, sizeof begin);
    name_of(conn->program, conn->line, conn->where + sizeof begin - 1, SIZE - sizeof begin);
}

// Credits for an element; half of them at most, so that two are always under way.
static inline uint32_t cost_of(bool by_bytes, uint32_t cap, uint64_t bytes)
{
    const uint64_t each = MLT_FLOW_BYTES / MLT_FLOW_CAP;
    if (MLT_LIKELY(!by_bytes || bytes <= each))
        return 1;
    uint64_t cost = (bytes + each - 1) / each;
    return cost < cap / 2 ? (uint32_t)cost : cap / 2;
}

// True: the credits are the caller's.
static __attribute__((noinline)) bool wait_for_credit(mlt_flow_conn *conn, uint32_t cost)
{
    mlt_sched *sched = conn->program->csp->sched;
    if (conn->closed)
        return false;
    if (!conn->where)
        name_conn(conn);
    uint64_t start = conn->program->measures ? mlt_os_now_ns() : 0;
    waiter me = {.fiber = sched->current, .cost = cost};
    mlt_csp_wait wait;
    mlt_list_push_waiter(&conn->waiting, &me.node);
    while (!me.ready && !conn->closed)
        mlt_fiber_park(sched, mlt_csp_wait_for(&wait, "flow_send", MLT_CSP_UPPER, conn->where, 0));
    if (!me.ready)
        mlt_list_remove(&me.node);
    if (start)
        conn->outlet->stats.blocked_ns += mlt_os_now_ns() - start;
    return !conn->closed;
}

bool mlt_flow_conn_put(mlt_flow_conn *conn, mlt_flow_element *e)
{
    mlt_assert(!conn->ended);
    uint32_t cost = cost_of(conn->by_bytes, conn->cap, e->bytes);
    if (MLT_UNLIKELY(conn->credits < cost || conn->closed || !mlt_list_empty(&conn->waiting))) {
        if (!wait_for_credit(conn, cost)) {
            mlt_flow_element_drop(e);
            return false;
        }
    } else {
        conn->credits -= cost;
    }
    send_element(conn, e);
    return true;
}

void mlt_flow_conn_end(mlt_flow_conn *conn)
{
    if (conn->ended)
        return;
    conn->ended = true;
    mlt_route_send(conn->route, &(mlt_packet){.kind = CONN_END, .object = conn->line}, NULL, 0);
}

static void credit_came(mlt_flow_conn *conn, const mlt_packet *packet)
{
    uint32_t n = (uint32_t)packet->word;
    if (n == 0 || n > conn->cap - conn->credits)
        bad_packet(conn->program, conn->route, conn->line, "that gives back more than there was");
    conn->credits += n;
    for (waiter *w; (w = MLT_LIST_FIRST(&conn->waiting, waiter, node));) {
        if (w->cost > conn->credits)
            break;
        mlt_list_remove(&w->node);
        conn->credits -= w->cost;
        w->ready = true;
        mlt_fiber_wake(conn->program->csp->sched, w->fiber);
    }
}

static void closed_came(mlt_flow_conn *conn)
{
    if (conn->closed)
        bad_packet(conn->program, conn->route, conn->line, "that closes it again");
    conn->closed = true;
    MLT_LIST_EACH(waiter, w, &conn->waiting, node)
        mlt_fiber_wake(conn->program->csp->sched, w->fiber);
    one_less(conn->program->conns);
}

// ---- arriving

static void tell_credit(arrival *a)
{
    mlt_packet packet = {.kind = CREDIT, .object = a->line, .word = (int32_t)a->untold};
    a->out -= a->untold;
    a->untold = 0;
    mlt_route_send(a->route, &packet, NULL, 0);
}

static void tell_later(mlt_work *work)
{
    arrival *a = mlt_container_of(work, arrival, work);
    a->queued = false;
    if (a->untold && !a->ended && !a->closed)
        tell_credit(a);
}

// The sender may have too few credits left. It is told soon, but not of each element: the reader
// takes more of them before the worker looks at its transports.
static inline void look_at_credit(arrival *a)
{
    if (MLT_UNLIKELY(a->out + a->last > a->cap && a->untold > 0 && !a->queued)) {
        a->queued = true;
        mlt_worker_later(a->program->csp->worker, &a->work);
    }
}

static void line_over(arrival *a)
{
    a->over = true;
    if (!a->closed)
        mlt_flow_inlet_line_ended(a->program->inlet_of[a->line]);
    one_less(a->program->conns);
}

static inline void push(arrival *a, mlt_flow_element *e)
{
    if (MLT_UNLIKELY(a->closed))
        mlt_flow_element_drop(e);
    else
        mlt_flow_inlet_push(a->program->inlet_of[a->line], e);
}

// Pushes elements that are here, up to the first that is not.
static void advance(arrival *a)
{
    struct mlt_flow_conns *conns = a->program->conns;
    for (record *r; (r = MLT_LIST_FIRST(&a->moving, record, node));) {
        if (!r->here)
            return;
        mlt_flow_element *e = r->e;
        mlt_list_remove(&r->node);
        mlt_pool_give(&conns->records, r);
        push(a, e);
    }
    if (a->ended && !a->over)
        line_over(a);
}

static void message_came(mlt_req *req)
{
    record *r = mlt_container_of(req, record, req);
    arrival *a = r->of;
    if (req->status != MLT_OK || req->got != req->count || req->sent != req->count)
        bad_packet(a->program, a->route, a->line, "whose length is not that of its data");
    r->here = true;
    if (req->count >= MLT_FLOW_HELPED)
        mlt_flow_help_less(a->program, false);
    advance(a);
}

static record *new_record(arrival *a, mlt_flow_element *e, bool here)
{
    record *r = mlt_pool_take(&a->program->conns->records);
    r->e = e;
    r->of = a;
    r->here = here;
    mlt_list_push_back(&a->moving, &r->node);
    return r;
}

static inline void arrived(arrival *a, mlt_flow_element *e)
{
    e->line = a->line;
    if (MLT_LIKELY(mlt_list_empty(&a->moving)))
        push(a, e);
    else
        (void)new_record(a, e, true);
}

static inline mlt_flow_element *conn_new_element(const mlt_packet *packet, uint64_t bytes)
{
    mlt_flow_element *e = mlt_flow_element_new(bytes);
    e->kind = (uint8_t)packet->src;
    e->value_bytes = (uint32_t)packet->word;
    return e;
}

// An element of so many bytes has come, or will.
static inline void charge(arrival *a, uint64_t bytes)
{
    a->last = cost_of(a->by_bytes, a->cap, bytes);
    if (MLT_UNLIKELY(a->last > a->cap - a->out))
        bad_packet(a->program, a->route, a->line, "for which it has no room");
    a->out += a->last;
}

static void pointer_came(arrival *a, const void *data, uint64_t bytes)
{
    mlt_flow_element *e;
    if (bytes != sizeof e || !a->near)
        bad_packet(a->program, a->route, a->line, "that is no pointer");
    memcpy(&e, data, sizeof e);
    mlt_assert(e->magic == MLT_FLOW_ELEMENT_MAGIC && e->refs == 1);
    charge(a, e->bytes);
    arrived(a, e);
}

static void store_came(arrival *a, const mlt_packet *packet)
{
    peer *p = &a->program->conns->peers[a->route->worker];
    if (!mlt_job_is_here(a->program->csp->worker->boot->job, a->route->worker))
        bad_packet(a->program, a->route, a->line, "about memory of another host");
    if (!p->store)
        p->store = mlt_flow_store_map((pid_t)packet->src, packet->word);
    if (p->store && !a->closed)
        mlt_route_send(a->route, &(mlt_packet){.kind = MAPPED, .object = a->line}, NULL, 0);
}

static void stored_came(arrival *a, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    place_in_store at = {0};
    if (bytes == sizeof at)
        memcpy(&at, data, sizeof at);
    mlt_flow_element *e =
        mlt_flow_store_at(a->program->conns->peers[a->route->worker].store, at.offset, at.bytes);
    if (!e)
        bad_packet(a->program, a->route, a->line, "that is not in its store");
    charge(a, e->bytes);
    e->kind = (uint8_t)packet->src;
    e->value_bytes = (uint32_t)packet->word;
    arrived(a, e);
}

static void coming(arrival *a, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    uint64_t length;
    if (bytes != sizeof length)
        bad_packet(a->program, a->route, a->line, "that does not say how much comes");
    memcpy(&length, data, sizeof length);
    charge(a, length);
    mlt_flow_element *e = conn_new_element(packet, length);
    e->line = a->line;
    record *r = new_record(a, e, false);
    fill_request(&r->req, a->rank, MLT_REQ_RECV, e, length, a->from, a->line);
    r->req.on_done = message_came;
    if (length >= MLT_FLOW_HELPED)
        mlt_flow_help_more(a->program, false);
    mlt_p2p_recv(&r->req);
}

static void element_came(arrival *a, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    if (MLT_UNLIKELY((uint32_t)packet->src >= FLOW_TYPES))
        bad_packet(a->program, a->route, a->line, "of an unknown type");
    if (MLT_UNLIKELY(a->ended))
        bad_packet(a->program, a->route, a->line, "after its end");
    if (MLT_LIKELY(packet->kind == ELEMENT)) {
        charge(a, bytes);
        mlt_flow_element *e = conn_new_element(packet, bytes);
        if (bytes == 8)
            memcpy(mlt_flow_data(e), data, 8);
        else if (bytes)
            memcpy(mlt_flow_data(e), data, bytes);
        arrived(a, e);
    } else if (packet->kind == POINTER) {
        pointer_came(a, data, bytes);
    } else if (packet->kind == STORED) {
        stored_came(a, packet, data, bytes);
    } else {
        coming(a, packet, data, bytes);
    }
    look_at_credit(a);
}

static void end_came(arrival *a)
{
    if (a->ended)
        bad_packet(a->program, a->route, a->line, "that ends it again");
    a->ended = true;
    advance(a);
}

void mlt_flow_conn_taken(mlt_flow_program *program, uint32_t line, uint64_t bytes)
{
    struct mlt_flow_conns *conns = program->conns;
    arrival *a = &conns->ends[conns->number_of[line]];
    if (MLT_UNLIKELY(a->ended || a->closed))
        return;
    a->untold += cost_of(a->by_bytes, a->cap, bytes);
    mlt_assert(a->untold <= a->out);
    if (MLT_UNLIKELY(a->untold >= (a->cap + GIVE_BACK - 1) / GIVE_BACK))
        tell_credit(a);
    else
        look_at_credit(a);
}

bool mlt_flow_conn_over(const mlt_flow_program *program, uint32_t line)
{
    const struct mlt_flow_conns *conns = program->conns;
    return !conns || conns->ends[conns->number_of[line]].over;
}

static void close_arrival(arrival *a)
{
    if (a->closed)
        return;
    a->closed = true;
    mlt_route_send(a->route, &(mlt_packet){.kind = CONN_CLOSED, .object = a->line}, NULL, 0);
}

void mlt_flow_conn_close(mlt_flow_program *program, mlt_flow_inlet *inlet)
{
    struct mlt_flow_conns *conns = program->conns;
    const mlt_flow_lowered *l = program->lowered;
    uint32_t from = l->in.first[inlet->task], to = l->in.first[inlet->task + 1];
    const uint32_t *lines = &l->in.list[from];
    if (l->tasks[inlet->task].kind != MLT_FLOW_MODULE) { // a line for each inlet, maybe many
        lines = &inlet->line;
        to = from + 1;
    }
    for (uint32_t i = 0; i < to - from; i++)
        if (program->inlet_of[lines[i]] == inlet && conns->number_of[lines[i]] != UINT32_MAX)
            close_arrival(&conns->ends[conns->number_of[lines[i]]]);
}

// ---- packets

void mlt_flow_conn_packet(mlt_flow_program *program, mlt_route *route, const mlt_packet *packet,
                          const void *data, uint64_t bytes)
{
    struct mlt_flow_conns *conns = program->conns;
    uint32_t line = packet->object;
    if (MLT_UNLIKELY(!conns))
        bad_line(route, line, "but this worker has no lines to others now");
    if (MLT_UNLIKELY(line >= program->lowered->line_count))
        bad_line(route, line, "but there is no such line");
    uint32_t number = conns->number_of[line];
    bool back = packet->kind == CREDIT || packet->kind == CONN_CLOSED || packet->kind == MAPPED;
    const mlt_flow_line *at = line_at(program, line);
    if (MLT_UNLIKELY(number == UINT32_MAX ||
                     worker_at(program, back ? at->to : at->from) != route->worker))
        bad_line(route, line, "which does not lead from there to here");
    switch (packet->kind) {
    case ELEMENT:
    case POINTER:
    case COMING:
    case STORED:
        element_came(&conns->ends[number], packet, data, bytes);
        break;
    case CREDIT:
        credit_came(&conns->begins[number], packet);
        break;
    case CONN_END:
        end_came(&conns->ends[number]);
        break;
    case CONN_CLOSED:
        closed_came(&conns->begins[number]);
        break;
    case STORE:
        store_came(&conns->ends[number], packet);
        break;
    case MAPPED:
        conns->begins[number].maps = true;
        break;
    default:
        bad_line(route, line, "which nobody understands");
    }
}

// ---- beginning and end

static mlt_route *route_to(struct mlt_flow_conns *conns, uint32_t worker)
{
    mlt_route *route = mlt_route_to_worker(conns->program->csp, worker);
    peer *p = &conns->peers[worker];
    if (!p->listed) {
        p->listed = true;
        p->conns = conns;
        p->user.lost = peer_lost;
        mlt_list_push_back(&route->users, &p->user.node);
    }
    return route;
}

static mlt_rank *rank_at(const mlt_flow_program *program, uint32_t task)
{
    mlt_worker *w = program->csp->worker;
    uint32_t i = program->lowered->tasks[task].place - (uint32_t)w->first_rank;
    mlt_assert(i < w->count);
    return &w->ranks[i];
}

static bool is_near(const mlt_flow_program *program, uint32_t worker)
{
    return mlt_wire_peer(program->csp->worker->wire, worker)->distance == MLT_SAME_PROCESS;
}

static void begin_line(struct mlt_flow_conns *conns, uint32_t line, mlt_flow_conn *conn)
{
    mlt_flow_program *program = conns->program;
    const mlt_flow_line *at = line_at(program, line);
    uint32_t worker = worker_at(program, at->to);
    mlt_worker *own = program->csp->worker;
    *conn = (mlt_flow_conn){.program = program,
                            .route = route_to(conns, worker),
                            .rank = rank_at(program, at->from),
                            .to = (int32_t)program->lowered->tasks[at->to].place,
                            .line = line,
                            .cap = at->cap,
                            .credits = at->cap,
                            .by_bytes = at->by_bytes,
                            .near = is_near(program, worker),
                            .told = !mlt_job_is_here(own->boot->job, worker)};
    conn->small = conn->near ? MLT_FLOW_SMALL : mlt_p2p_eager_most(own, worker);
    mlt_list_init(&conn->waiting);
}

static void end_line(struct mlt_flow_conns *conns, uint32_t line, arrival *a)
{
    mlt_flow_program *program = conns->program;
    const mlt_flow_line *at = line_at(program, line);
    *a = (arrival){.program = program,
                   .route = route_to(conns, worker_at(program, at->from)),
                   .rank = rank_at(program, at->to),
                   .from = (int32_t)program->lowered->tasks[at->from].place,
                   .line = line,
                   .cap = at->cap,
                   .last = 1,
                   .by_bytes = at->by_bytes,
                   .near = is_near(program, worker_at(program, at->from)),
                   .work = {.run = tell_later}};
    mlt_list_init(&a->moving);
}

static void find_lines(struct mlt_flow_conns *conns, bool count)
{
    const mlt_flow_program *program = conns->program;
    conns->begin_count = conns->end_count = 0;
    for (uint32_t i = 0; i < program->lowered->line_count; i++) {
        const mlt_flow_line *at = line_at(program, i);
        bool from = worker_at(program, at->from) == program->worker;
        bool to = worker_at(program, at->to) == program->worker;
        uint32_t number = UINT32_MAX;
        if (from != to)
            number = from ? conns->begin_count++ : conns->end_count++;
        if (count)
            continue;
        conns->number_of[i] = number;
        if (from != to && from)
            begin_line(conns, i, &conns->begins[number]);
        else if (from != to)
            end_line(conns, i, &conns->ends[number]);
    }
}

void mlt_flow_conns_begin(mlt_flow_program *program)
{
    struct mlt_flow_conns *conns = mlt_xcalloc(1, sizeof *conns);
    mlt_assert(program->lowered->line_count <= INT32_MAX); // tags
    conns->program = program;
    conns->number_of = mlt_xcalloc(program->lowered->line_count, sizeof *conns->number_of);
    conns->peers = mlt_xcalloc(program->sites->workers, sizeof *conns->peers);
    mlt_pool_init(&conns->records, sizeof(record), RECORDS);
    find_lines(conns, true);
    conns->begins = mlt_xcalloc(conns->begin_count, sizeof *conns->begins);
    conns->ends = mlt_xcalloc(conns->end_count, sizeof *conns->ends);
    find_lines(conns, false);
    conns->open = (uint64_t)conns->begin_count + conns->end_count;
    for (uint32_t i = 0; i < program->instance_count; i++)
        for (uint32_t k = 0; k < program->instances[i].outs; k++) {
            mlt_flow_outlet *outlet = &program->instances[i].out[k];
            if (outlet->line == UINT32_MAX || conns->number_of[outlet->line] == UINT32_MAX)
                continue;
            outlet->conn = &conns->begins[conns->number_of[outlet->line]];
            outlet->conn->outlet = outlet;
        }
    program->conns = conns;
}

static void free_conns(struct mlt_flow_conns *conns)
{
    const mlt_flow_program *program = conns->program;
    for (uint32_t i = 0; i < conns->begin_count; i++) {
        free(conns->begins[i].where);
        if (conns->begins[i].outlet)
            conns->begins[i].outlet->conn = NULL;
    }
    for (uint32_t i = 0; i < program->sites->workers; i++)
        if (conns->peers[i].listed)
            mlt_list_remove(&conns->peers[i].user.node);
    for (uint32_t i = 0; i < conns->end_count; i++)
        if (conns->ends[i].queued)
            mlt_list_remove(&conns->ends[i].work.node);
    mlt_pool_fini(&conns->records);
    free(conns->begins);
    free(conns->ends);
    free(conns->number_of);
    free(conns->peers);
    free(conns);
}

void mlt_flow_conns_end(mlt_flow_program *program)
{
    struct mlt_flow_conns *conns = program->conns;
    mlt_sched *sched = program->csp->sched;
    mlt_csp_wait wait;
    for (uint32_t i = 0; i < conns->begin_count; i++)
        mlt_flow_conn_end(&conns->begins[i]);
    for (uint32_t i = 0; i < conns->end_count; i++)
        close_arrival(&conns->ends[i]);
    conns->ender = sched->current;
    while (conns->open > 0)
        mlt_fiber_park(sched, mlt_csp_wait_for(&wait, "flow_main", MLT_CSP_UPPER,
                                               "waits for instances on other workers", 0));
    program->conns = NULL;
    free_conns(conns);
}
