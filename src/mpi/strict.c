// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/strict.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/table.h"
#include "boot/ctl.h"
#include "host/globals.h"
#include "mpi/attr.h"
#include "mpi/coll/op.h"
#include "mpi/comm/group.h"
#include "mpi/comm/session.h"
#include "mpi/error/errhandler.h"
#include "mpi/file/file.h"
#include "mpi/handle.h"
#include "mpi/info/info.h"
#include "mpi/p2p/request.h"
#include "mpi/self.h"
#include "mpi/win/win.h"
#include "os/symbols.h"
#include "p2p/context.h"
#include "p2p/match.h"

enum {
    BATCH = MLT_CTL_MAX_BODY / sizeof(mlt_ctl_leak),
    MOST_PLACES = 200,    // of a worker; whatever comes after that is told together
    MOST_SENTS = 1 << 14, // of these a worker knows where they were sent
};

#define ELSEWHERE "at other places"

bool mlt_strict_on;

typedef struct strict_made {
    uintptr_t handle;
    mlt_rank *rank;
    const void *caller;
    uint16_t fn;
    uint8_t kind; // mlt_strict_kind
    bool freed;   // what has this address later is the library's own, until the program makes one
} strict_made;

// Where a rank sent last to another with that tag; kept by both workers.
typedef struct sent {
    int32_t from, to; // the sender's rank in the communicator, and the receiver's world rank
    int32_t tag;
    uint32_t context;
    const void *caller;      // the sender's
    struct sent_from *place; // the receiver's
} sent;

// What travels.
typedef struct sent_from {
    char call[sizeof((mlt_ctl_leak *)0)->sender];
    char place[sizeof((mlt_ctl_leak *)0)->sent];
} sent_from;

typedef struct sents {
    mlt_table table; // of indices of `all`
    sent *all;
    size_t count, room;
} sents;

// A worker's.
typedef struct mlt_strict {
    sents out, in;
    mlt_table table; // of indices of `all`, by handle
    strict_made *all;
    size_t count, room;
    struct leak *leaks; // of all ranks so far, by kind and place
    size_t leak_count, leak_room;
} mlt_strict;

typedef struct leak {
    mlt_ctl_leak told;
    uint64_t caller; // 0: messages
    int32_t last;    // rank that was counted
    uint32_t now;    // of its things
} leak;

static mlt_strict *strict_of(const mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    if (!w->strict)
        w->strict = mlt_xcalloc(1, sizeof *w->strict);
    return w->strict;
}

static void free_sents(sents *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->all[i].place);
    mlt_table_free(&s->table);
    free(s->all);
}

void mlt_strict_free(struct mlt_strict *strict)
{
    if (!strict)
        return;
    free_sents(&strict->out);
    free_sents(&strict->in);
    mlt_table_free(&strict->table);
    free(strict->all);
    free(strict->leaks);
    free(strict);
}

// ---- what is made

static uint32_t strict_hash_of(uintptr_t handle, mlt_strict_kind kind)
{
    return mlt_hash_word(handle * MLT_STRICT_KINDS + kind);
}

// The note of that handle; the last one made counts.
static strict_made *strict_note_of(mlt_strict *strict, uintptr_t handle, mlt_strict_kind kind)
{
    uint32_t hash = strict_hash_of(handle, kind);
    mlt_table_look look = mlt_table_look_for(&strict->table, hash);
    while (mlt_table_next(&look))
        if (strict->all[look.word].handle == handle && strict->all[look.word].kind == kind)
            return &strict->all[look.word];
    mlt_table_add(&strict->table, hash, strict->count);
    return MLT_ARRAY_ADD(strict->all, strict->count, strict->room);
}

void mlt_strict_made(mlt_rank *me, uint16_t fn, mlt_strict_kind kind, uintptr_t handle,
                     const void *caller)
{
    if (!me || !me->worker->mpi || (kind != MLT_STRICT_KEYVAL && !mlt_handle_is_address(handle)))
        return; // predefined ones are nobody's
    *strict_note_of(strict_of(me->worker), handle, kind) = (strict_made){
        .handle = handle, .rank = me, .caller = caller, .fn = fn, .kind = (uint8_t)kind};
}

void mlt_strict_freed(mlt_rank *me, mlt_strict_kind kind, uintptr_t handle)
{
    *strict_note_of(strict_of(me->worker), handle, kind) =
        (strict_made){.handle = handle, .rank = me, .kind = (uint8_t)kind, .freed = true};
}

void mlt_strict_request(mlt_rank *me, uint16_t fn, MPI_Request *request, const void *caller)
{
    if (me && me->worker->mpi && *request == mlt_req_sent_handle()) {
        mlt_req *req = mlt_req_new(me);
        mlt_req_fill_other(req, me, mlt_comm_self(me));
        req->kind = MLT_REQ_SEND;
        req->done = true;
        req->fn = fn;
        *request = mlt_req_handle(req);
    }
    mlt_strict_made(me, fn, MLT_STRICT_REQUEST, (uintptr_t)*request, caller);
}

// A request of which is known on what it works. Of one that was complete at once it is not.
static const mlt_req *request_of_comm(mlt_rank *me, MPI_Request handle)
{
    const mlt_req *req = mlt_req_mine(me, handle);
    if (!req || !req->owner || (req->flags & (MLT_REQF_SHARED | MLT_REQF_FILE)))
        return NULL;
    return req->kind == MLT_REQ_SEND && req->done ? NULL : req;
}

int mlt_strict_requests(mlt_rank *me, int count, const MPI_Request requests[])
{
    const mlt_req *first = NULL;
    int first_at = 0;
    for (int i = 0; i < count; i++) {
        const mlt_req *req = request_of_comm(me, requests[i]);
        if (req && !first) {
            first = req;
            first_at = i;
        } else if (req && mlt_comm_session(req->owner) != mlt_comm_session(first->owner)) {
            char one[48], other[48];
            snprintf(one, sizeof one, "array_of_requests[%d]", first_at);
            snprintf(other, sizeof other, "array_of_requests[%d]", i);
            return mlt_comm_two_sessions(me, req->owner, MPI_ERR_REQUEST, one, other);
        }
    }
    return MPI_SUCCESS;
}

// ---- what still lives

static bool request_lives(mlt_rank *me, const strict_made *m)
{
    const mlt_req *req = mlt_req_mine(me, (MPI_Request)m->handle);
    return req && !(req->flags & MLT_REQF_SHARED) && req->fn == m->fn;
}

static bool type_lives(const strict_made *m)
{
    const mlt_type *type = mlt_type_of((MPI_Datatype)m->handle);
    return type && !type->code && !mlt_dtype_of(type)->permanent;
}

static bool strict_lives(mlt_rank *me, const strict_made *m)
{
    const mlt_message *message;
    if (m->freed)
        return false;
    switch ((mlt_strict_kind)m->kind) {
    case MLT_STRICT_COMM:
        return mlt_comm_of(me, (MPI_Comm)m->handle);
    case MLT_STRICT_REQUEST:
        return request_lives(me, m);
    case MLT_STRICT_DATATYPE:
        return type_lives(m);
    case MLT_STRICT_GROUP:
        return mlt_group_of(me, (MPI_Group)m->handle);
    case MLT_STRICT_OP:
        return mlt_op_object((MPI_Op)m->handle);
    case MLT_STRICT_ERRHANDLER:
        return mlt_errhandler_of((MPI_Errhandler)m->handle);
    case MLT_STRICT_INFO:
        return mlt_info_of((MPI_Info)m->handle);
    case MLT_STRICT_SESSION:
        return mlt_session_of((MPI_Session)m->handle);
    case MLT_STRICT_MESSAGE:
        message = mlt_message_of((MPI_Message)m->handle);
        return message && message->rank == me;
    case MLT_STRICT_WIN:
        return mlt_win_mine(me, (MPI_Win)m->handle);
    case MLT_STRICT_KEYVAL:
        return mlt_attr_key_lives((int)m->handle);
    case MLT_STRICT_FILE:
        return mlt_file_mine(me, (MPI_File)m->handle);
    default:
        return false;
    }
}

// ---- words

// As crash reports have it: "./program(solve+0x41)[0x0]", of which the launcher finds the line.
static void word_place(uint64_t caller, char *text, size_t size)
{
    mlt_os_symbol symbol = mlt_os_symbol_of((const void *)(uintptr_t)caller);
    if (symbol.file && symbol.name)
        snprintf(text, size, "%s(%s+0x%llx)[0x0]", symbol.file, symbol.name,
                 (unsigned long long)symbol.offset);
    else
        snprintf(text, size, "%s+0x%llx", symbol.file ? symbol.file : "unknown code",
                 (unsigned long long)symbol.offset);
}

static bool is_same(const leak *l, const char *what, const char *call, uint64_t caller,
                    const char *place)
{
    return l->caller == caller && strcmp(l->told.what, what) == 0 &&
           strcmp(l->told.call, call) == 0 &&
           (caller || strncmp(l->told.place, place, strlen(place)) == 0);
}

// The record of one kind and place; for messages the beginning of `place` decides.
static leak *leak_of(mlt_strict *strict, const char *what, const char *call, uint64_t caller,
                     const char *place)
{
    for (size_t i = 0; i < strict->leak_count; i++)
        if (is_same(&strict->leaks[i], what, call, caller, place))
            return &strict->leaks[i];
    if (strict->leak_count >= MOST_PLACES && strcmp(place, ELSEWHERE) != 0)
        return leak_of(strict, what, "", 0, ELSEWHERE);
    leak *l = MLT_ARRAY_ADD(strict->leaks, strict->leak_count, strict->leak_room);
    *l = (leak){.caller = caller, .last = -1};
    snprintf(l->told.what, sizeof l->told.what, "%s", what);
    snprintf(l->told.call, sizeof l->told.call, "%s", call);
    if (caller)
        word_place(caller, l->told.place, sizeof l->told.place);
    else
        snprintf(l->told.place, sizeof l->told.place, "%s", place);
    return l;
}

static void strict_count(leak *l, const mlt_rank *rank)
{
    mlt_ctl_leak *told = &l->told;
    if (l->last != rank->world) {
        if (told->ranks == 0 || rank->world < told->rank)
            told->rank = rank->world;
        told->ranks++;
        l->now = 0;
    }
    l->last = rank->world;
    l->now++;
    told->count++;
    told->most = l->now > told->most ? l->now : told->most;
}

void mlt_strict_look(mlt_rank *me)
{
    static const char *const names[] = {
        "communicator", "request", "datatype",        "group",  "operation", "error handler",
        "info object",  "session", "matched message", "window", "file",      "attribute key"};
    mlt_strict *strict = strict_of(me->worker);
    for (size_t i = 0; i < strict->count; i++) {
        const strict_made *m = &strict->all[i];
        if (m->rank != me || !strict_lives(me, m))
            continue;
        // The call lies before what it returns to; a rank's own copy of the program is the program.
        uint64_t caller = mlt_globals_original((uintptr_t)m->caller - 1);
        strict_count(leak_of(strict, names[m->kind], mlt_fn_name(m->fn), caller, ""), me);
    }
}

// ---- messages

static uint32_t hash_of_sent(const sent *s)
{
    uint64_t ranks = (uint64_t)(uint32_t)s->from << 32 | (uint32_t)s->to;
    uint64_t what = (uint64_t)(uint32_t)s->tag << 32 | s->context;
    return mlt_hash_word(ranks * 0x9e3779b97f4a7c15 + what);
}

// NULL: there is none, and none was made, as there are too many or `make` is false.
static sent *find_sent(sents *all, const sent *key, bool make)
{
    uint32_t hash = hash_of_sent(key);
    mlt_table_look look = mlt_table_look_for(&all->table, hash);
    while (mlt_table_next(&look)) {
        sent *s = &all->all[look.word];
        if (s->from == key->from && s->to == key->to && s->tag == key->tag &&
            s->context == key->context)
            return s;
    }
    if (!make || all->count == MOST_SENTS)
        return NULL;
    mlt_table_add(&all->table, hash, all->count);
    sent *s = MLT_ARRAY_ADD(all->all, all->count, all->room);
    *s = *key;
    return s;
}

void mlt_strict_sent(mlt_rank *me, uint16_t fn, int dest, int tag, const mlt_comm *comm,
                     const void *caller)
{
    if (!me || !me->worker->mpi || !comm || dest == MPI_PROC_NULL)
        return;
    sent key = {.from = comm->rank,
                .to = mlt_comm_world_rank(comm, dest),
                .tag = tag,
                .context = comm->context};
    if (key.to >= (int32_t)me->worker->boot->job->ranks)
        return; // one of another job, which takes no packets
    sent *known = find_sent(&strict_of(me->worker)->out, &key, true);
    if (!known || known->caller == caller)
        return;
    known->caller = caller;
    sent_from told = {{0}, {0}};
    snprintf(told.call, sizeof told.call, "%s", mlt_fn_name(fn));
    word_place(mlt_globals_original((uintptr_t)caller - 1), told.place, sizeof told.place);
    mlt_packet packet = {.kind = MLT_PACKET_STRICT,
                         .object = key.context,
                         .word = tag,
                         .src = key.from,
                         .dst = key.to};
    mlt_p2p_packet(me->worker, mlt_worker_of_rank(me->worker, key.to), &packet, &told, sizeof told);
}

void mlt_strict_packet(mlt_worker *worker, const mlt_packet *packet, const void *data,
                       uint64_t bytes)
{
    sent key = {
        .from = packet->src, .to = packet->dst, .tag = packet->word, .context = packet->object};
    sent *known = worker->mpi && bytes == sizeof(sent_from)
                      ? find_sent(&strict_of(worker)->in, &key, true)
                      : NULL;
    if (!known)
        return;
    if (!known->place)
        known->place = mlt_xcalloc(1, sizeof *known->place);
    memcpy(known->place, data, sizeof *known->place);
    known->place->call[sizeof known->place->call - 1] = '\0';
    known->place->place[sizeof known->place->place - 1] = '\0';
}

// The sender's place, if it is known.
static void add_sender(mlt_strict *strict, const mlt_rank *rank, const mlt_msg *msg,
                       mlt_ctl_leak *told)
{
    sent key = {.from = msg->src, .to = rank->world, .tag = msg->tag, .context = msg->context};
    const sent *known = find_sent(&strict->in, &key, false);
    if (!known || !known->place)
        return;
    memcpy(told->sender, known->place->call, sizeof told->sender);
    memcpy(told->sent, known->place->place, sizeof told->sent);
}

static void look_at_message(mlt_strict *strict, mlt_rank *rank, const mlt_msg *msg)
{
    char key[64], comm[32];
    if (msg->context > MLT_CONTEXT_ABROAD_LAST || msg->context % MLT_CONTEXTS != 0)
        return; // the library's own
    if (msg->context == MLT_CONTEXT_WORLD)
        snprintf(comm, sizeof comm, "MPI_COMM_WORLD");
    else if (msg->context >= MLT_CONTEXT_ABROAD)
        snprintf(comm, sizeof comm, "a communicator of several jobs");
    else
        snprintf(comm, sizeof comm, "communicator #%u", (unsigned)(msg->context / MLT_CONTEXTS));
    snprintf(key, sizeof key, "tag %d, %s, ", (int)msg->tag, comm);
    leak *l = leak_of(strict, MLT_CTL_LEAK_MESSAGE, "", 0, key);
    if (l->told.ranks == 0 && strcmp(l->told.place, ELSEWHERE) != 0) {
        snprintf(l->told.place, sizeof l->told.place, "%s%llu bytes from rank %d", key,
                 (unsigned long long)msg->bytes, (int)msg->src);
        add_sender(strict, rank, msg, &l->told);
    }
    strict_count(l, rank);
}

static void look_at_messages(mlt_worker *worker)
{
    mlt_strict *strict = strict_of(worker);
    mlt_p2p_last_look(worker); // what was sent before the others came here
    for (uint32_t i = 0; i < worker->count; i++) {
        const mlt_list_node *all = &worker->ranks[i].unexpected.all;
        for (const mlt_list_node *l = all->next; l && l != all; l = l->next)
            look_at_message(strict, &worker->ranks[i], mlt_container_of(l, mlt_msg, all));
    }
}

// ---- telling

static void say(const mlt_ctl_leak *told)
{
    bool message = strcmp(told->what, MLT_CTL_LEAK_MESSAGE) == 0;
    mlt_log("note: rank %d: %llu %s%s not %s: %s%s%s%s%s%s%s", (int)told->rank,
            (unsigned long long)told->count, told->what, told->count == 1 ? " was" : "s were",
            message ? "received" : "freed", told->call, told->call[0] ? " in " : "", told->place,
            told->sender[0] ? ", sent by " : "", told->sender, told->sender[0] ? " in " : "",
            told->sent);
}

static void send_batch(int ctl, const leak *leaks, size_t n)
{
    mlt_ctl_leak *body = mlt_xcalloc(n, sizeof *body);
    mlt_ctl head = {.type = MLT_CTL_LEAKS,
                    .rank = MLT_CTL_NO_RANK,
                    .value = (int64_t)n,
                    .length = (uint32_t)(n * sizeof *body)};
    for (size_t i = 0; i < n; i++)
        body[i] = leaks[i].told;
    (void)mlt_ctl_send(ctl, &head, body); // a launcher that is gone needs no note
    free(body);
}

void mlt_strict_tell(mlt_worker *worker)
{
    look_at_messages(worker);
    mlt_strict *strict = strict_of(worker);
    int ctl = worker->boot->ctl;
    for (size_t i = 0; ctl < 0 && i < strict->leak_count; i++)
        say(&strict->leaks[i].told);
    for (size_t at = 0, n; ctl >= 0 && at < strict->leak_count; at += n) {
        n = strict->leak_count - at < BATCH ? strict->leak_count - at : BATCH;
        send_batch(ctl, strict->leaks + at, n);
    }
    strict->leak_count = 0;
}
