// SPDX-License-Identifier: BSD-3-Clause
// Requests: what wait, test and the like do with them, and MPI_Request_free.
//
// Every call goes the same way: look at all handles (a bad one is an error that names its place),
// wait or poll once if not enough is done, then finish the done ones: fill in the status, and free
// the request or make it inactive. Null handles and inactive persistent requests count as nothing.
//
// While a call that may block does block, the user's array belongs to us: null handles in it are
// NULL for that time, which is what p2p takes, so that waiting needs no memory of its own.
#include "mpi/p2p/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/coll/coll.h"
#include "mpi/error/error.h"
#include "mpi/file/file.h"
#include "mpi/goal/goal.h"
#include "mpi/p2p/copies.h"
#include "mpi/p2p/grequest.h"
#include "mpi/p2p/kind.h"
#include "mpi/p2p/partition.h"
#include "mpi/p2p/status.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

const mlt_req mlt_req_sent = {
    .magic = MLT_REQ_MAGIC,
    .kind = MLT_REQ_SEND,
    .done = true,
    .flags = MLT_REQF_SHARED,
};

const mlt_req mlt_req_proc_null = {
    .magic = MLT_REQ_MAGIC,
    .kind = MLT_REQ_RECV,
    .done = true,
    .from = MPI_PROC_NULL,
    .got_tag = MPI_ANY_TAG,
    .flags = MLT_REQF_SHARED,
};

void mlt_req_fill_other(mlt_req *req, mlt_rank *me, mlt_comm *comm)
{
    mlt_req_fill(req, me, MLT_REQ_OTHER, NULL, 0, NULL, MPI_ANY_SOURCE, MPI_ANY_TAG, comm);
    req->from = MPI_ANY_SOURCE;
    req->got_tag = MPI_ANY_TAG;
    req->got = req->sent = 0;
    req->sent_type = 0;
}

void mlt_req_free_done(mlt_req *req)
{
    if (req->flags & MLT_REQF_OWNS_BUF)
        free(req->buf);
    if (req->flags & MLT_REQF_COPIES)
        mlt_copies_end(req);
    mlt_req_close(req);
}

// ---- errors

// "8 MPI_DOUBLE, ", or nothing if the bytes are no whole number of elements of a type with a name.
static void words_of_data(char *words, size_t size, uint64_t bytes, const mlt_type *type,
                          const char *after)
{
    words[0] = '\0';
    if (type && type->magic == MLT_TYPE_MAGIC && type->name && type->size &&
        bytes % type->size == 0)
        snprintf(words, size, "%llu %s%s", (unsigned long long)(bytes / type->size), type->name,
                 after);
}

int mlt_req_code(mlt_rank *me, const mlt_req *req)
{
    char sent[160], room[160], from[80] = "";
    const mlt_comm *comm = req->owner;
    if (req->flags & MLT_REQF_GOAL)
        return mlt_goal_request_code(me, req);
    if (req->flags & MLT_REQF_COLL)
        return mlt_coll_request_code(me, req);
    if (req->flags & MLT_REQF_FILE)
        return mlt_file_request_code(me, req);
    if (req->fn != me->fn)
        snprintf(from, sizeof from, " of %s", mlt_fn_name(req->fn));
    if (req->status == MLT_ERR_NOT_FOUND)
        return mlt_mpi_code(me, me->fn, MPI_ERR_OTHER,
                            "there are too many communicators: no number was free for that%s",
                            from);
    if (req->status == MLT_ERR_DISAGREE)
        return mlt_mpi_kind_code(me, req, from);
    if (req->status != MLT_ERR_TRUNCATED)
        return mlt_mpi_code(me, me->fn, MPI_ERR_OTHER,
                            "the operation%s failed inside the library, with status %d", from,
                            (int)req->status);
    uint64_t space = req->count * req->type->size;
    words_of_data(sent, sizeof sent, req->sent,
                  req->sent_type ? mlt_type_coded(req->sent_type) : NULL, ", ");
    words_of_data(room, sizeof room, space, req->type, "");
    return mlt_mpi_code(
        me, me->fn, MPI_ERR_TRUNCATE,
        "message truncated: rank %d sent %llu bytes (%stag %d, %s), but the receive%s has room "
        "for %llu%s%s%s",
        req->from, (unsigned long long)req->sent, sent, req->got_tag, mlt_comm_name(me, comm), from,
        (unsigned long long)space, room[0] ? " (" : "", room, room[0] ? ")" : "");
}

int mlt_req_bad(mlt_rank *me, int index, MPI_Request handle)
{
    char name[48] = "request";
    if (index >= 0)
        snprintf(name, sizeof name, "array_of_requests[%d]", index);
    const mlt_req *req = mlt_req_of(handle);
    if (!req || req->rank == me) // freed, but perhaps under way
        return mlt_bad_handle(me, NULL, me->fn, MPI_ERR_REQUEST, name, "request",
                              (uintptr_t)handle);
    return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_REQUEST,
                         "argument %s is %p, a request of rank %d, but should be one of rank "
                         "%d; " MLT_HANDLE_OF_OTHER,
                         name, (const void *)req, (int)req->rank->world, (int)me->world);
}

// ---- completion

// The end of a done request as far as the user sees it.
static inline void release(MPI_Request *handle, mlt_req *req)
{
    if (MLT_UNLIKELY(req->flags & (MLT_REQF_PERSISTENT | MLT_REQF_COPIES))) {
        if (req->flags & MLT_REQF_COPIES)
            mlt_copies_end(req);
        req->flags &= ~(uint32_t)MLT_REQF_ACTIVE;
        if (req->flags & MLT_REQF_PERSISTENT)
            return;
    }
    *handle = MPI_REQUEST_NULL;
    if (!(req->flags & MLT_REQF_SHARED))
        mlt_req_close(req);
}

static MLT_COLD int finish_generalized(mlt_rank *me, MPI_Request *handle, mlt_req *req,
                                       MPI_Status *status)
{
    int code = mlt_grequest_finish(me, req, status);
    release(handle, req);
    return code == MPI_SUCCESS ? code : mlt_mpi_raise_code(me, NULL, me->fn, code);
}

// Errors of an access to a file go to the file's handler.
static MLT_COLD int finish_failed_file(mlt_rank *me, MPI_Request *handle, mlt_req *req)
{
    int code = mlt_req_code(me, req);
    mlt_file *file = mlt_file_request_file(req);
    release(handle, req);
    return mlt_file_raise_code(me, file, code);
}

// For the calls that complete one operation: status, release, and the error handler if it failed.
static inline int finish_one(mlt_rank *me, MPI_Request *handle, mlt_req *req, MPI_Status *status)
{
    if (MLT_UNLIKELY(req->flags & MLT_REQF_GENERALIZED))
        return finish_generalized(me, handle, req, status);
    mlt_status_set_req(status, req);
    if (MLT_LIKELY(req->status == MLT_OK)) {
        release(handle, req);
        return MPI_SUCCESS;
    }
    if (req->flags & MLT_REQF_FILE)
        return finish_failed_file(me, handle, req);
    mlt_comm *comm = req->owner;
    int code = mlt_req_code(me, req);
    mlt_comm_hold(comm); // its error handler is still wanted
    release(handle, req);
    code = mlt_mpi_raise_code(me, comm, me->fn, code);
    mlt_comm_drop(comm);
    return code;
}

// What the calls that complete several operations remember of failures.
typedef struct failures {
    mlt_comm *comm;
    bool of_file;   // the first one was an access to a file:
    mlt_file *file; // which one; NULL: it was closed
    int index;      // of the first failed one in array_of_requests
    int code;       // MPI_SUCCESS: none failed
} failures;

static MLT_COLD void note_failure(failures *failed, int index, int code, const mlt_req *req,
                                  MPI_Status *statuses, int before)
{
    if (failed->code != MPI_SUCCESS)
        return;
    mlt_comm *comm = req->owner;
    failed->of_file = req->flags & MLT_REQF_FILE;
    failed->file = failed->of_file ? mlt_file_request_file(req) : NULL;
    failed->comm = comm;
    if (comm)
        mlt_comm_hold(comm); // until raise_in_status
    failed->index = index;
    failed->code = code;
    for (int i = 0; statuses != MPI_STATUSES_IGNORE && i < before; i++)
        statuses[i].MPI_ERROR = MPI_SUCCESS;
}

// Finishes requests[index], whose status is statuses[place] (of those before it all are filled in).
static inline void finish_several(mlt_rank *me, MPI_Request *requests, int index,
                                  MPI_Status *statuses, int place, failures *failed)
{
    mlt_req *req = (mlt_req *)requests[index];
    MPI_Status *status = statuses != MPI_STATUSES_IGNORE ? &statuses[place] : MPI_STATUS_IGNORE;
    int code = MPI_SUCCESS;
    if (MLT_UNLIKELY(req->flags & MLT_REQF_GENERALIZED))
        code = mlt_grequest_finish(me, req, status);
    else
        mlt_status_set_req(status, req);
    if (MLT_UNLIKELY(req->status != MLT_OK))
        code = mlt_req_code(me, req);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        note_failure(failed, index, code, req, statuses, place);
    if (MLT_UNLIKELY(failed->code != MPI_SUCCESS) && status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = code;
    release(&requests[index], req);
}

static MLT_COLD int raise_in_status(mlt_rank *me, const failures *failed)
{
    const char *call = mlt_mpi_call(me), *why = mlt_mpi_sentence(me, failed->code);
    size_t length = strlen(call);
    if (strncmp(why, call, length) == 0 && strncmp(why + length, ": ", 2) == 0)
        why += length + 2;
    const char *format = "array_of_requests[%d] failed: %s";
    int code = failed->of_file
                   ? mlt_file_raise(me, failed->file, MPI_ERR_IN_STATUS, format, failed->index, why)
                   : mlt_mpi_raise(me, failed->comm, me->fn, MPI_ERR_IN_STATUS, format,
                                   failed->index, why);
    if (failed->comm)
        mlt_comm_drop(failed->comm);
    return code;
}

// ---- one request

// What a rank waited for is not there any more: requests are lost, and perhaps not only its own.
static MLT_COLD _Noreturn void lost(mlt_rank *me, const char *argument)
{
    char text[MPI_MAX_ERROR_STRING];
    snprintf(text, sizeof text,
             "%s: another rank wrote into argument %s while this one waited; ranks of one process "
             "share the program's global variables, and each needs requests of its own",
             mlt_mpi_call(me), argument);
    mlt_mpi_abort(me, MPI_ERR_REQUEST, text);
}

int mlt_mpi_Wait(mlt_rank *me, MPI_Request *request, MPI_Status *status)
{
    MPI_Request handle = *request;
    mlt_req *req = mlt_req_mine(me, handle);
    if (MLT_UNLIKELY(!req)) {
        if (handle != MPI_REQUEST_NULL)
            return mlt_req_bad(me, -1, handle);
        mlt_status_set_empty(status);
        return MPI_SUCCESS;
    }
    if (MLT_UNLIKELY(mlt_req_is_inactive(req))) {
        mlt_status_set_empty(status);
        return MPI_SUCCESS;
    }
    if (!req->done) {
        mlt_req_wait(req, mlt_mpi_call(me));
        if (MLT_UNLIKELY(*request != handle))
            lost(me, "request");
    }
    return finish_one(me, request, req, status);
}

// An active request is done, or found to be.
static inline bool is_over(mlt_req *req)
{
    return req->done || (MLT_UNLIKELY(req->flags & MLT_REQF_PART) && mlt_part_is_over(req));
}

// The status of a request that is done and stays. The operation's error, if any, is left to the
// call that completes it; that of a generalized request's own function is returned.
static inline int request_show(mlt_rank *me, MPI_Request handle, MPI_Status *status)
{
    mlt_req *req = (mlt_req *)handle;
    if (MLT_UNLIKELY(req->flags & MLT_REQF_GENERALIZED))
        return mlt_grequest_query(me, req, status);
    if (MLT_UNLIKELY(req->flags & MLT_REQF_COPIES))
        mlt_copies_end(req);
    mlt_status_set_req(status, req);
    return MPI_SUCCESS;
}

static inline int raise_shown(mlt_rank *me, int code)
{
    return MLT_LIKELY(code == MPI_SUCCESS) ? code : mlt_mpi_raise_code(me, NULL, me->fn, code);
}

// place: where the handle is, for a request that ends if it is done; NULL: it stays.
static inline int request_test(mlt_rank *me, MPI_Request handle, MPI_Request *place, int *flag,
                               MPI_Status *status)
{
    mlt_req *req = mlt_req_mine(me, handle);
    if (MLT_UNLIKELY(!req) && handle != MPI_REQUEST_NULL)
        return mlt_req_bad(me, -1, handle);
    if (MLT_UNLIKELY(!req || mlt_req_is_inactive(req))) {
        *flag = 1;
        mlt_status_set_empty(status);
        mlt_mpi_yield_if_due(me);
        return MPI_SUCCESS;
    }
    if (!req->done)
        mlt_p2p_poll(me);
    else if (!place)
        mlt_mpi_yield_if_due(me);
    *flag = is_over(req);
    if (!*flag)
        return MPI_SUCCESS;
    return place ? finish_one(me, place, req, status)
                 : raise_shown(me, request_show(me, handle, status));
}

int mlt_mpi_Test(mlt_rank *me, MPI_Request *request, int *flag, MPI_Status *status)
{
    return request_test(me, *request, request, flag, status);
}

int mlt_mpi_Request_get_status(mlt_rank *me, MPI_Request request, int *flag, MPI_Status *status)
{
    return request_test(me, request, NULL, flag, status);
}

static MLT_COLD int free_generalized(mlt_rank *me, mlt_req *req)
{
    if (!req->done) { // MPI_Grequest_complete frees it
        req->flags |= MLT_REQF_FREED;
        return MPI_SUCCESS;
    }
    int code = mlt_grequest_free(me, req);
    mlt_req_free(req);
    return raise_shown(me, code);
}

static void orphan_done(mlt_req *req)
{
    mlt_comm *comm = req->owner;
    if (--comm->extra->orphans == 0 && comm->extra->waits)
        mlt_fiber_wake(req->rank->worker->sched, comm->extra->waits);
    mlt_req_free_done(req);
}

// From now on only the library waits for it. Such requests are counted (mlt_comm_extra.orphans),
// except those of MPI_COMM_WORLD and MPI_COMM_SELF, whose number nothing asks for.
static void leave_alone(mlt_rank *me, mlt_req *req)
{
    mlt_comm *comm = req->owner;
    const mlt_mpi *mpi = mlt_mpi_of(me);
    req->flags |= MLT_REQF_FREED;
    req->on_done = mlt_req_free_done;
    if (comm == &mpi->world || comm == mpi->self)
        return;
    mlt_comm_extra_of(comm)->orphans++;
    req->on_done = orphan_done;
}

int mlt_mpi_Request_free(mlt_rank *me, MPI_Request *request)
{
    mlt_req *req = mlt_req_mine(me, *request);
    if (!req)
        return mlt_req_bad(me, -1, *request);
    *request = MPI_REQUEST_NULL;
    if (req->flags & MLT_REQF_SHARED)
        return MPI_SUCCESS;
    if (req->flags & MLT_REQF_GENERALIZED)
        return free_generalized(me, req);
    if ((req->flags & (MLT_REQF_COLL | MLT_REQF_STREAM)) && !req->done) {
        *request = mlt_req_handle(req);
        return mlt_mpi_raise(
            me, req->owner, me->fn, MPI_ERR_REQUEST,
            "argument request is one of %s that is under way, which must be waited "
            "for, not freed",
            mlt_fn_name(req->fn));
    }
    if ((req->flags & MLT_REQF_PART) && !mlt_part_may_free(req)) {
        *request = mlt_req_handle(req);
        return mlt_mpi_raise(
            me, req->owner, me->fn, MPI_ERR_REQUEST,
            "argument request is an active one of MPI_Psend_init, of which partitions are not "
            "ready yet; without the request MPI_Pready cannot be called for them");
    }
    req->flags &= ~(uint32_t)(MLT_REQF_PERSISTENT | MLT_REQF_ACTIVE);
    if (req->done)
        mlt_req_close(req);
    else
        leave_alone(me, req);
    return MPI_SUCCESS;
}

// ---- several requests

// What an array of handles holds.
typedef struct request_look {
    int active; // neither null nor inactive
    int done;   // active and done
    int first;  // the first of these; -1: none
} request_look;

// False if a handle is bad: its index is in look->first.
static bool request_look_at(mlt_rank *me, int count, const MPI_Request *requests,
                            request_look *seen)
{
    request_look l = {0, 0, -1};
    for (int i = 0; i < count; i++) {
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        mlt_req *req = mlt_req_mine(me, requests[i]);
        if (MLT_UNLIKELY(!req)) {
            seen->first = i;
            return false;
        }
        if (mlt_req_is_inactive(req))
            continue;
        l.active++;
        if (is_over(req)) {
            if (l.done++ == 0)
                l.first = i;
        }
    }
    *seen = l;
    return true;
}

// The same; makes a step of progress if not enough is done: all, or one. Ranks that run meanwhile may have
// the same array.
static bool request_look_twice(mlt_rank *me, int count, const MPI_Request *requests, bool all,
                               request_look *seen)
{
    if (!request_look_at(me, count, requests, seen))
        return false;
    if (seen->done == seen->active || (seen->done && !all))
        return true;
    mlt_p2p_poll(me);
    return request_look_at(me, count, requests, seen);
}

static inline bool is_done(MPI_Request handle)
{
    const mlt_req *req = (const mlt_req *)handle;
    return handle != MPI_REQUEST_NULL && !mlt_req_is_inactive(req) && req->done;
}

static bool hide_nulls(int count, MPI_Request *requests)
{
    bool any = false;
    for (int i = 0; i < count; i++) {
        if (requests[i] == MPI_REQUEST_NULL) {
            requests[i] = NULL;
            any = true;
        }
    }
    return any;
}

static void show_nulls(int count, MPI_Request *requests)
{
    for (int i = 0; i < count; i++) {
        if (!requests[i])
            requests[i] = MPI_REQUEST_NULL;
    }
}

// Waits until all are done; inactive ones are.
static void wait_all(mlt_rank *me, int count, MPI_Request *requests)
{
    bool nulls = hide_nulls(count, requests);
    if (!mlt_req_wait_all(me, (mlt_req *const *)requests, (uint64_t)count, mlt_mpi_call(me)))
        lost(me, "array_of_requests");
    if (nulls)
        show_nulls(count, requests);
}

static void mark_inactive(int count, MPI_Request *requests, bool done)
{
    for (int i = 0; i < count; i++) {
        mlt_req *req = (mlt_req *)requests[i];
        if (req && mlt_req_is_inactive(req))
            req->done = done;
    }
}

// Waits until an active one is done. Inactive ones are not done for that time, so p2p does not take
// them for one.
static void wait_any(mlt_rank *me, int count, MPI_Request *requests)
{
    hide_nulls(count, requests);
    mark_inactive(count, requests, false);
    if (!mlt_req_wait_any(me, (mlt_req *const *)requests, (uint64_t)count, mlt_mpi_call(me)))
        lost(me, "array_of_requests");
    mark_inactive(count, requests, true);
    show_nulls(count, requests);
}

// The second half of MPI_Waitall and MPI_Testall: everything is done.
static int finish_all(mlt_rank *me, int count, MPI_Request *requests, MPI_Status *statuses)
{
    failures failed = {.code = MPI_SUCCESS};
    for (int i = 0; i < count; i++) {
        if (requests[i] != MPI_REQUEST_NULL) {
            // The same handle twice: its request was freed a moment ago.
            if (MLT_UNLIKELY(!mlt_req_of(requests[i])))
                return mlt_req_bad(me, i, requests[i]);
            if (MLT_LIKELY(!mlt_req_is_inactive((mlt_req *)requests[i]))) {
                finish_several(me, requests, i, statuses, i, &failed);
                continue;
            }
        }
        if (statuses != MPI_STATUSES_IGNORE)
            mlt_status_set_empty(&statuses[i]);
    }
    return MLT_LIKELY(failed.code == MPI_SUCCESS) ? MPI_SUCCESS : raise_in_status(me, &failed);
}

int mlt_mpi_Waitall(mlt_rank *me, int count, MPI_Request requests[], MPI_Status statuses[])
{
    bool open = false;
    for (int i = 0; i < count; i++) {
        if (requests[i] == mlt_req_sent_handle() || requests[i] == MPI_REQUEST_NULL)
            continue;
        const mlt_req *req = mlt_req_mine(me, requests[i]);
        if (MLT_UNLIKELY(!req))
            return mlt_req_bad(me, i, requests[i]);
        open |= !req->done;
    }
    if (open)
        wait_all(me, count, requests);
    return finish_all(me, count, requests, statuses);
}

int mlt_mpi_Testall(mlt_rank *me, int count, MPI_Request requests[], int *flag,
                    MPI_Status statuses[])
{
    request_look seen;
    if (!request_look_twice(me, count, requests, true, &seen))
        return mlt_req_bad(me, seen.first, requests[seen.first]);
    *flag = seen.done == seen.active;
    if (!seen.active)
        mlt_mpi_yield_if_due(me);
    return *flag ? finish_all(me, count, requests, statuses) : MPI_SUCCESS;
}

int mlt_mpi_Waitany(mlt_rank *me, int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    request_look seen;
    if (!request_look_at(me, count, requests, &seen))
        return mlt_req_bad(me, seen.first, requests[seen.first]);
    if (seen.active && !seen.done) {
        wait_any(me, count, requests);
        (void)request_look_at(me, count, requests, &seen);
    }
    if (!seen.active) {
        *index = MPI_UNDEFINED;
        mlt_status_set_empty(status);
        return MPI_SUCCESS;
    }
    *index = seen.first;
    return finish_one(me, &requests[seen.first], (mlt_req *)requests[seen.first], status);
}

int mlt_mpi_Testany(mlt_rank *me, int count, MPI_Request requests[], int *index, int *flag,
                    MPI_Status *status)
{
    request_look seen;
    if (!request_look_twice(me, count, requests, false, &seen))
        return mlt_req_bad(me, seen.first, requests[seen.first]);
    *flag = seen.done || !seen.active;
    if (!seen.done) {
        *index = MPI_UNDEFINED;
        if (!seen.active) {
            mlt_status_set_empty(status);
            mlt_mpi_yield_if_due(me);
        }
        return MPI_SUCCESS;
    }
    *index = seen.first;
    return finish_one(me, &requests[seen.first], (mlt_req *)requests[seen.first], status);
}

// The second half of MPI_Waitsome and MPI_Testsome: whatever is done.
static int finish_some(mlt_rank *me, int count, MPI_Request *requests, int *outcount, int *indices,
                       MPI_Status *statuses)
{
    failures failed = {.code = MPI_SUCCESS};
    int n = 0;
    for (int i = 0; i < count; i++) {
        if (MLT_UNLIKELY(requests[i] != MPI_REQUEST_NULL && !mlt_req_of(requests[i])))
            return mlt_req_bad(me, i, requests[i]); // the same handle twice
        if (!is_done(requests[i]))
            continue;
        indices[n] = i;
        finish_several(me, requests, i, statuses, n, &failed);
        n++;
    }
    *outcount = n;
    return MLT_LIKELY(failed.code == MPI_SUCCESS) ? MPI_SUCCESS : raise_in_status(me, &failed);
}

int mlt_mpi_Waitsome(mlt_rank *me, int incount, MPI_Request requests[], int *outcount,
                     int indices[], MPI_Status statuses[])
{
    request_look seen;
    if (!request_look_at(me, incount, requests, &seen))
        return mlt_req_bad(me, seen.first, requests[seen.first]);
    if (!seen.active) {
        *outcount = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    if (!seen.done)
        wait_any(me, incount, requests);
    else if (seen.done < seen.active)
        mlt_p2p_poll(me); // what is done every time must not keep the others from being seen
    return finish_some(me, incount, requests, outcount, indices, statuses);
}

int mlt_mpi_Testsome(mlt_rank *me, int incount, MPI_Request requests[], int *outcount,
                     int indices[], MPI_Status statuses[])
{
    request_look seen;
    if (!request_look_at(me, incount, requests, &seen))
        return mlt_req_bad(me, seen.first, requests[seen.first]);
    if (!seen.active) {
        *outcount = MPI_UNDEFINED;
        mlt_mpi_yield_if_due(me);
        return MPI_SUCCESS;
    }
    if (seen.done < seen.active)
        mlt_p2p_poll(me);
    return finish_some(me, incount, requests, outcount, indices, statuses);
}

// ---- several requests, only looked at

int mlt_mpi_Request_get_status_all(mlt_rank *me, int count, const MPI_Request requests[], int *flag,
                                   MPI_Status statuses[])
{
    request_look seen;
    if (!request_look_twice(me, count, requests, true, &seen))
        return mlt_req_bad(me, seen.first, requests[seen.first]);
    *flag = seen.done == seen.active;
    int code = MPI_SUCCESS;
    for (int i = 0; *flag && statuses != MPI_STATUSES_IGNORE && i < count; i++) {
        int shown = MPI_SUCCESS;
        if (is_done(requests[i]))
            shown = request_show(me, requests[i], &statuses[i]);
        else
            mlt_status_set_empty(&statuses[i]);
        code = code == MPI_SUCCESS ? shown : code;
    }
    mlt_mpi_yield_if_due(me);
    return raise_shown(me, code);
}

int mlt_mpi_Request_get_status_any(mlt_rank *me, int count, const MPI_Request requests[],
                                   int *index, int *flag, MPI_Status *status)
{
    request_look seen;
    if (!request_look_twice(me, count, requests, false, &seen))
        return mlt_req_bad(me, seen.first, requests[seen.first]);
    *flag = seen.done || !seen.active;
    *index = seen.done ? seen.first : MPI_UNDEFINED;
    int code = seen.done ? request_show(me, requests[seen.first], status) : MPI_SUCCESS;
    if (!seen.active)
        mlt_status_set_empty(status);
    mlt_mpi_yield_if_due(me);
    return raise_shown(me, code);
}

int mlt_mpi_Request_get_status_some(mlt_rank *me, int incount, const MPI_Request requests[],
                                    int *outcount, int indices[], MPI_Status statuses[])
{
    request_look seen;
    if (!request_look_at(me, incount, requests, &seen))
        return mlt_req_bad(me, seen.first, requests[seen.first]);
    if (seen.done < seen.active)
        mlt_p2p_poll(me);
    int n = 0, code = MPI_SUCCESS;
    for (int i = 0; i < incount; i++) {
        if (!is_done(requests[i]))
            continue;
        int shown = MPI_SUCCESS;
        if (statuses != MPI_STATUSES_IGNORE)
            shown = request_show(me, requests[i], &statuses[n]);
        code = code == MPI_SUCCESS ? shown : code;
        indices[n++] = i;
    }
    *outcount = seen.active ? n : MPI_UNDEFINED;
    mlt_mpi_yield_if_due(me);
    return raise_shown(me, code);
}
