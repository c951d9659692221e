// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/error/error.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot/ctl.h"
#include "host/entry.h"
#include "host/fork.h"
#include "mpi/error/answer.h"
#include "mpi/error/errhandler.h"
#include "mpi/error/text.h"
#include "mpi/error/user.h"
#include "mpi/handle.h"
#include "mpi/self.h"
#include "mpi/thread.h"

enum {
    SLOTS = 254,
    CLASS_BITS = 6,
    CLASS_MASK = (1 << CLASS_BITS) - 1,
    // Its codes would be those of the tool interface, 1001 to 1018.
    TOOL_SLOT = (MPI_T_ERR_CANNOT_INIT >> CLASS_BITS) - 1,
};
_Static_assert(((SLOTS << CLASS_BITS) | CLASS_MASK) <= MPI_ERR_LASTCODE, "codes fit");
_Static_assert(MPI_ERR_ABI < CLASS_MASK, "classes fit");

// The last error messages of a worker.
struct mlt_error_log {
    uint32_t next;
    struct {
        uint8_t class; // 0: unused
        bool answered; // a handler of the program's has made `answer` of the code
        int answer;
        char text[MPI_MAX_ERROR_STRING];
    } slot[SLOTS];
};

static int code_of(int class, uint32_t slot)
{
    return class | (int)((slot + 1) << CLASS_BITS);
}

// Fortran's arrays begin with 1, and have round brackets: "dims[0]" becomes "dims(1)".
static void count_from_one(char text[MPI_MAX_ERROR_STRING])
{
    char out[MPI_MAX_ERROR_STRING];
    size_t n = 0;
    for (const char *at = text; *at && n + 16 < sizeof out;) {
        char *end;
        long long index = *at == '[' && at > text && isalnum((unsigned char)at[-1])
                              ? strtoll(at + 1, &end, 10)
                              : -1;
        if (index < 0 || *end != ']') {
            out[n++] = *at++;
            continue;
        }
        n += (size_t)snprintf(out + n, sizeof out - n, "(%lld)", index + 1);
        at = end + 1;
    }
    out[n] = '\0';
    memcpy(text, out, n + 1);
}

// Words "<function>: <what is wrong>".
static void word(char text[MPI_MAX_ERROR_STRING], uint16_t fn, const char *format, va_list args)
{
    int n = snprintf(text, MPI_MAX_ERROR_STRING, "%s: ", mlt_fn_name(fn));
    vsnprintf(text + n, (size_t)(MPI_MAX_ERROR_STRING - n), format, args);
    const mlt_rank *me = mlt_rank_self();
    if (me && me->mpi && atomic_load_explicit(&mlt_mpi_of(me)->fortran, memory_order_relaxed))
        count_from_one(text);
}

// Keeps the message; the plain class if there is no memory for it or no worker.
static int error_keep(mlt_rank *me, int class, const char *text)
{
    if (!me || !me->worker || !me->worker->mpi)
        return class;
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    if (!w->errors)
        w->errors = calloc(1, sizeof *w->errors);
    if (!w->errors)
        return class;
    if (w->errors->next == TOOL_SLOT)
        w->errors->next++;
    uint32_t slot = w->errors->next;
    w->errors->next = (slot + 1) % SLOTS;
    w->errors->slot[slot].class = (uint8_t) class;
    w->errors->slot[slot].answered = false;
    memcpy(w->errors->slot[slot].text, text, strlen(text) + 1);
    return code_of(class, slot);
}

bool mlt_mpi_code_class(int code, int *class)
{
    *class = code;
    if (code > MPI_ERR_LASTCODE)
        return mlt_error_user_class(code, class);
    if ((code >= MPI_T_ERR_CANNOT_INIT && code <= MPI_T_ERR_PVAR_NO_ATOMIC) ||
        code == MPI_ERR_LASTCODE)
        return true;
    *class = code & CLASS_MASK;
    return code >= 0 && code <= code_of(CLASS_MASK, SLOTS - 1) && *class <= MPI_ERR_ABI &&
           (code == MPI_SUCCESS || *class != MPI_SUCCESS);
}

// The slot of a code that the log still has; -1: none.
static int32_t error_slot_of(mlt_rank *me, int code)
{
    int class;
    if (!me || !me->worker || !me->worker->mpi || code > MPI_ERR_LASTCODE ||
        !mlt_mpi_code_class(code, &class) || code == class)
        return -1;
    const struct mlt_error_log *log = mlt_mpi_worker_of(me)->errors;
    int32_t slot = (code >> CLASS_BITS) - 1;
    return log && log->slot[slot].class == class ? slot : -1;
}

int mlt_mpi_set_answer(mlt_rank *me, int code, int answer)
{
    int32_t slot = error_slot_of(me, code);
    if (slot < 0) { // a plain class, or a code of the program's
        code = error_keep(me, MPI_ERR_OTHER, mlt_mpi_sentence(me, code));
        slot = error_slot_of(me, code);
    }
    if (slot >= 0) {
        mlt_mpi_worker_of(me)->errors->slot[slot].answered = true;
        mlt_mpi_worker_of(me)->errors->slot[slot].answer = answer;
    }
    return code;
}

int mlt_mpi_answer(mlt_rank *me, int code)
{
    mlt_gate *gate = mlt_thread_gate_in(me);
    int32_t slot = error_slot_of(me, code);
    struct mlt_error_log *log = slot >= 0 ? mlt_mpi_worker_of(me)->errors : NULL;
    if (log && log->slot[slot].answered) {
        code = log->slot[slot].answer;
        log->slot[slot].answered = false;
    }
    mlt_thread_gate_out(gate);
    return code;
}

const char *mlt_mpi_sentence(mlt_rank *me, int code)
{
    int class;
    if (code > MPI_ERR_LASTCODE)
        return mlt_error_user_sentence(code);
    if (!mlt_mpi_code_class(code, &class))
        return "no error code of Millet's";
    int32_t slot = error_slot_of(me, code);
    return slot >= 0 ? mlt_mpi_worker_of(me)->errors->slot[slot].text : mlt_error_text(class);
}

// Whose handler hears of errors without an object: MPI_COMM_SELF's. Programs that were written for
// MPI 3 set the world's alone and rely on that.
static mlt_comm *nobodys_comm(mlt_rank *me)
{
    mlt_mpi *mpi = mlt_mpi_of(me);
    return !mpi->self_handled && mpi->world.magic ? &mpi->world : mlt_comm_self(me);
}

// The message is that of the code; without a worker there is no place where the code keeps one.
static int call_handler(mlt_rank *me, mlt_comm *comm, int code, const char *sentence)
{
    if ((!me || !me->mpi) && mlt_errhandler_initial() == MPI_ERRORS_RETURN)
        return code;
    if (!me || !me->mpi)
        mlt_mpi_abort(me, code & CLASS_MASK, sentence);
    if (!comm)
        comm = nobodys_comm(me);
    return mlt_errhandler_call(me, comm->errhandler, mlt_comm_handle(me, comm), code);
}

int mlt_mpi_raise(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *format, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    va_list args;
    va_start(args, format);
    word(text, fn, format, args);
    va_end(args);
    mlt_gate *gate = mlt_thread_gate_in(me);
    int code = call_handler(me, comm, error_keep(me, class, text), text);
    mlt_thread_gate_out(gate);
    return code;
}

int mlt_mpi_code(mlt_rank *me, uint16_t fn, int class, const char *format, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    va_list args;
    va_start(args, format);
    word(text, fn, format, args);
    va_end(args);
    mlt_gate *gate = mlt_thread_gate_in(me);
    int code = error_keep(me, class, text);
    mlt_thread_gate_out(gate);
    return code;
}

int mlt_mpi_raise_code(mlt_rank *me, mlt_comm *comm, uint16_t fn, int code)
{
    (void)fn; // the message of the code has it
    mlt_gate *gate = mlt_thread_gate_in(me);
    code = call_handler(me, comm, code, mlt_mpi_sentence(me, code));
    mlt_thread_gate_out(gate);
    return code;
}

_Noreturn void mlt_mpi_abort(mlt_rank *me, int status, const char *sentence)
{
    mlt_entry_end_job(me ? me->world : MLT_CTL_NO_RANK, status, sentence);
}

// ---- the generated checks' ways out

int mlt_mpi_not_ready(uint16_t fn)
{
    char text[MPI_MAX_ERROR_STRING];
    const mlt_rank *rank = mlt_thread_rank();
    const char *why = "was called before MPI_Init, and no session is open";
    if (mlt_fork_is_child())
        why = "was called in a child process that the rank forked; only the rank itself may use "
              "MPI, and a child may exec or exit";
    else if (rank && mlt_life(rank) == MLT_LIFE_DONE)
        why = "was called after MPI_Finalize";
    else if (rank && mlt_thread_is_kept_out(rank))
        why = "was called by a thread that the rank started; a rank with processes (csp.h) has "
              "MPI_THREAD_FUNNELED, so only its own thread may call MPI";
    else if (rank && mlt_rank_self() != rank && mlt_thread_is_ready(rank))
        why = "was called by a thread that the rank started, but the rank has not asked for it: "
              "call MPI_Init_thread with MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE";
    else if (!rank && mlt_entry_joined())
        why = "was called by a thread that belongs to no rank: no thread of a rank started it with "
              "pthread_create or thrd_create";
    snprintf(text, sizeof text, "%s %s", mlt_fn_name(fn), why);
    mlt_entry_end_job(rank ? rank->world : MLT_CTL_NO_RANK, MPI_ERR_OTHER, text);
}

int mlt_bad_handle(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                   const char *what, uintptr_t value)
{
    const char *null = mlt_handle_null_name(class, value);
    const mlt_comm *comm_of_other = class == MPI_ERR_COMM ? mlt_comm_of_other(me, value) : NULL;
    if (comm_of_other)
        return mlt_mpi_raise(me, comm, fn, class,
                             "argument %s is a communicator of rank %d, but should be one of rank "
                             "%d; " MLT_HANDLE_OF_OTHER,
                             name, (int)comm_of_other->owner->world, (int)me->world);
    if (null)
        return mlt_mpi_raise(me, comm, fn, class, "argument %s is %s, but should be a valid %s",
                             name, null, what);
    return mlt_mpi_raise(
        me, comm, fn, class,
        "argument %s is %#llx, but should be a valid %s (was it freed, or never set?)", name,
        (unsigned long long)value, what);
}

int mlt_bad_value(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                  int64_t value, const char *should)
{
    return mlt_mpi_raise(me, comm, fn, class, "argument %s is %lld, but should be %s", name,
                         (long long)value, should);
}

int mlt_bad_rank(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                 int64_t value, const char *more)
{
    mlt_gate *gate = mlt_thread_gate_in(me); // for the name
    int code = mlt_mpi_raise(me, comm, fn, class,
                             "argument %s is %lld, but should be a rank from 0 to %d of %s%s", name,
                             (long long)value, comm->peers - 1, mlt_comm_name(me, comm), more);
    mlt_thread_gate_out(gate);
    return code;
}

int mlt_bad_uncommitted(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name)
{
    return mlt_mpi_raise(
        me, comm, fn, MPI_ERR_TYPE,
        "argument %s is a datatype that is not committed; call MPI_Type_commit first", name);
}

int mlt_bad_null(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                 const char *should)
{
    return mlt_mpi_raise(me, comm, fn, class, "argument %s is NULL, but should be %s", name,
                         should);
}

int mlt_bad_buffer(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name, const void *buf,
                   const char *should)
{
    if (!buf)
        return mlt_bad_null(me, comm, fn, MPI_ERR_BUFFER, name, should);
    return mlt_mpi_raise(me, comm, fn, MPI_ERR_BUFFER,
                         "argument %s is MPI_IN_PLACE, which is for collective operations, but "
                         "should be %s",
                         name, should);
}

int mlt_bad_narrow(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name, int64_t value)
{
    return mlt_mpi_raise(me, comm, fn, MPI_ERR_VALUE_TOO_LARGE,
                         "the result %s is %lld, which is too large for an int; call %s_c", name,
                         (long long)value, mlt_fn_name(fn));
}

int mlt_bad_wild(mlt_rank *me, uint16_t fn, int class, const char *name, const char *what,
                 uintptr_t value)
{
    return mlt_mpi_raise(
        me, NULL, fn, class,
        "argument %s is %#llx, where no memory is, but should be a valid %s (was it "
        "never set?)",
        name, (unsigned long long)value, what);
}
