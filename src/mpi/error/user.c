// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/error/user.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "mpi/error/error.h"
#include "mpi/registry.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

enum { FIRST = MPI_ERR_LASTCODE + 1, MOST = 1 << 30 };

typedef struct entry {
    enum { FREE, CLASS, CODE } kind;
    int class;      // of a code; a class has its own number
    uint32_t codes; // of a class: how many of its codes exist
    char *text;     // a `string` of the registry; NULL: none
} entry;

typedef struct string {
    char characters[MPI_MAX_ERROR_STRING];
} string;

// All except last_used under the lock.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mlt_registry strings = MLT_REGISTRY_INIT(string);
static entry *table; // number FIRST + i is table[i]
static int room, used;
static int lowest; // no free entry is below it
// Relaxed: nothing else depends on it.
static _Atomic int last_used = MPI_ERR_LASTCODE;

const int *mlt_error_last_used_code(mlt_rank *me)
{
    int *copy = &mlt_mpi_of(me)->last_used_code;
    *copy = atomic_load_explicit(&last_used, memory_order_relaxed);
    return copy;
}

// A rank sees at once what it changed itself.
static void follow(mlt_rank *me)
{
    if (me && me->mpi)
        (void)mlt_error_last_used_code(me);
}

// ---- the table; with the lock held

static entry *find(int code)
{
    entry *e = code >= FIRST && code - FIRST < used ? &table[code - FIRST] : NULL;
    return e && e->kind != FREE ? e : NULL;
}

// The number of a new entry; 0: there are too many.
static int add(int kind, int class)
{
    while (lowest < used && table[lowest].kind != FREE)
        lowest++;
    if (lowest == used) {
        if (used == MOST)
            return 0;
        MLT_ARRAY_WANT(table, (size_t)used + 1, room);
        used++;
    }
    int code = FIRST + lowest;
    table[lowest] = (entry){.kind = kind, .class = kind == CLASS ? code : class};
    entry *its_class = kind == CODE ? find(class) : NULL;
    if (its_class)
        its_class->codes++;
    if (code > atomic_load_explicit(&last_used, memory_order_relaxed))
        atomic_store_explicit(&last_used, code, memory_order_relaxed);
    return code;
}

static void drop_text(entry *e)
{
    if (e->text)
        mlt_registry_give(&strings, e->text);
    e->text = NULL;
}

static void drop(int code)
{
    entry *e = find(code), *its_class = e->kind == CODE ? find(e->class) : NULL;
    if (its_class)
        its_class->codes--;
    drop_text(e);
    e->kind = FREE;
    if (code - FIRST < lowest)
        lowest = code - FIRST;
    while (used > 0 && table[used - 1].kind == FREE)
        used--;
    atomic_store_explicit(&last_used, FIRST + used - 1, memory_order_relaxed);
}

// ---- the contract

bool mlt_error_user_class(int code, int *class)
{
    pthread_mutex_lock(&lock);
    const entry *e = find(code);
    if (e)
        *class = e->class;
    pthread_mutex_unlock(&lock);
    return e != NULL;
}

bool mlt_error_user_text(int code, char text[MPI_MAX_ERROR_STRING])
{
    pthread_mutex_lock(&lock);
    const entry *e = find(code);
    if (e && e->text)
        memcpy(text, e->text, strlen(e->text) + 1);
    else
        text[0] = '\0';
    pthread_mutex_unlock(&lock);
    return e != NULL;
}

const char *mlt_error_user_sentence(int code)
{
    pthread_mutex_lock(&lock);
    const entry *e = find(code);
    const char *text = e ? e->text : "no error code of the program's own";
    pthread_mutex_unlock(&lock);
    return text ? text : "an error of the program's own, which has no string";
}

// ---- MPI's functions

static int too_many(mlt_rank *me, uint16_t fn)
{
    return mlt_mpi_raise(me, NULL, fn, MPI_ERR_OTHER,
                         "there are %d error classes and codes of the program, and no more fit",
                         MOST);
}

int mlt_mpi_Add_error_class(mlt_rank *me, int *errorclass)
{
    pthread_mutex_lock(&lock);
    int class = add(CLASS, 0);
    pthread_mutex_unlock(&lock);
    if (!class)
        return too_many(me, MLT_FN_Add_error_class);
    *errorclass = class;
    follow(me);
    return MPI_SUCCESS;
}

// A class of MPI's: it is its own class, as no code of Millet's is.
static bool is_predefined_class(int class)
{
    int of;
    return class > MPI_SUCCESS && class <= MPI_ERR_LASTCODE && mlt_mpi_code_class(class, &of) &&
           of == class;
}

int mlt_mpi_Add_error_code(mlt_rank *me, int errorclass, int *errorcode)
{
    int code = 0;
    bool valid = is_predefined_class(errorclass);
    pthread_mutex_lock(&lock);
    const entry *e = find(errorclass);
    valid |= e && e->kind == CLASS;
    if (valid)
        code = add(CODE, errorclass);
    pthread_mutex_unlock(&lock);
    if (!valid)
        return mlt_bad_value(me, NULL, MLT_FN_Add_error_code, MPI_ERR_ARG, "errorclass", errorclass,
                             "an error class, of MPI's or from MPI_Add_error_class");
    if (!code)
        return too_many(me, MLT_FN_Add_error_code);
    *errorcode = code;
    follow(me);
    return MPI_SUCCESS;
}

int mlt_mpi_Add_error_string(mlt_rank *me, int errorcode, const char *text)
{
    size_t length = strnlen(text, MPI_MAX_ERROR_STRING);
    if (length == MPI_MAX_ERROR_STRING)
        return mlt_mpi_raise(me, NULL, MLT_FN_Add_error_string, MPI_ERR_ARG,
                             "argument string is longer than %d characters, but should have at "
                             "most as many",
                             MPI_MAX_ERROR_STRING - 1);
    pthread_mutex_lock(&lock);
    entry *e = find(errorcode);
    if (e) {
        if (!e->text)
            e->text = mlt_registry_take(&strings);
        memcpy(e->text, text, length + 1);
    }
    pthread_mutex_unlock(&lock);
    if (!e)
        return mlt_bad_value(me, NULL, MLT_FN_Add_error_string, MPI_ERR_ARG, "errorcode", errorcode,
                             "an error class or code of the program's own, as MPI_Add_error_class "
                             "and MPI_Add_error_code give");
    return MPI_SUCCESS;
}

// A class is a code, too: what the standard says of a code's string holds for its own.
int mlt_mpi_Remove_error_class(mlt_rank *me, int errorclass)
{
    pthread_mutex_lock(&lock);
    const entry *e = find(errorclass);
    bool found = e && e->kind == CLASS;
    uint32_t codes = found ? e->codes : 0;
    bool text = found && e->text;
    if (found && codes == 0 && !text)
        drop(errorclass);
    pthread_mutex_unlock(&lock);
    if (!found)
        return mlt_bad_value(me, NULL, MLT_FN_Remove_error_class, MPI_ERR_ARG, "errorclass",
                             errorclass, "an error class from MPI_Add_error_class");
    if (codes > 0)
        return mlt_mpi_raise(me, NULL, MLT_FN_Remove_error_class, MPI_ERR_OTHER,
                             "error class %d still has %u error codes; remove them first with "
                             "MPI_Remove_error_code",
                             errorclass, codes);
    if (text)
        return mlt_mpi_raise(me, NULL, MLT_FN_Remove_error_class, MPI_ERR_OTHER,
                             "error class %d still has a string; remove it first with "
                             "MPI_Remove_error_string",
                             errorclass);
    follow(me);
    return MPI_SUCCESS;
}

int mlt_mpi_Remove_error_code(mlt_rank *me, int errorcode)
{
    pthread_mutex_lock(&lock);
    const entry *e = find(errorcode);
    bool found = e && e->kind == CODE, text = found && e->text;
    if (found && !text)
        drop(errorcode);
    pthread_mutex_unlock(&lock);
    if (!found)
        return mlt_bad_value(me, NULL, MLT_FN_Remove_error_code, MPI_ERR_ARG, "errorcode",
                             errorcode, "an error code from MPI_Add_error_code");
    if (text)
        return mlt_mpi_raise(me, NULL, MLT_FN_Remove_error_code, MPI_ERR_OTHER,
                             "error code %d still has a string; remove it first with "
                             "MPI_Remove_error_string",
                             errorcode);
    follow(me);
    return MPI_SUCCESS;
}

int mlt_mpi_Remove_error_string(mlt_rank *me, int errorcode)
{
    pthread_mutex_lock(&lock);
    entry *e = find(errorcode);
    bool text = e && e->text;
    if (text)
        drop_text(e);
    pthread_mutex_unlock(&lock);
    if (!text)
        return mlt_bad_value(me, NULL, MLT_FN_Remove_error_string, MPI_ERR_ARG, "errorcode",
                             errorcode,
                             "an error class or code with a string that "
                             "MPI_Add_error_string has set");
    return MPI_SUCCESS;
}
