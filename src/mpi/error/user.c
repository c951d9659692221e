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

enum { USER_FIRST = MPI_ERR_LASTCODE + 1, USER_MOST = 1 << 30 };

typedef struct user_entry {
    enum { FREE, CLASS, CODE } kind;
    int class;      // of a code; a class has its own number
    uint32_t codes; // of a class: how many of its codes exist
    char *text;     // a `string` of the registry; NULL: none
} user_entry;

typedef struct string {
    char characters[MPI_MAX_ERROR_STRING];
} string;

// All except last_used under the lock.
static pthread_mutex_t user_lock = PTHREAD_MUTEX_INITIALIZER;
static mlt_registry strings = MLT_REGISTRY_INIT(string);
static user_entry *table; // number FIRST + i is table[i]
static int user_room, used;
static int user_lowest; // no free entry is below it
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

static user_entry *user_find(int code)
{
    user_entry *e =
        code >= USER_FIRST && code - USER_FIRST < used ? &table[code - USER_FIRST] : NULL;
    return e && e->kind != FREE ? e : NULL;
}

// The number of a new entry; 0: there are too many.
static int user_add(int kind, int class)
{
    while (user_lowest < used && table[user_lowest].kind != FREE)
        user_lowest++;
    if (user_lowest == used) {
        if (used == USER_MOST)
            return 0;
        (void)MLT_ARRAY_ADD(table, used, user_room);
    }
    int code = USER_FIRST + user_lowest;
    table[user_lowest] = (user_entry){.kind = kind, .class = kind == CLASS ? code : class};
    user_entry *its_class = kind == CODE ? user_find(class) : NULL;
    if (its_class)
        its_class->codes++;
    if (code > atomic_load_explicit(&last_used, memory_order_relaxed))
        atomic_store_explicit(&last_used, code, memory_order_relaxed);
    return code;
}

static void drop_text(user_entry *e)
{
    if (e->text)
        mlt_registry_give(&strings, e->text);
    e->text = NULL;
}

static void user_drop(int code)
{
    user_entry *e = user_find(code), *its_class = e->kind == CODE ? user_find(e->class) : NULL;
    if (its_class)
        its_class->codes--;
    drop_text(e);
    e->kind = FREE;
    if (code - USER_FIRST < user_lowest)
        user_lowest = code - USER_FIRST;
    while (used > 0 && table[used - 1].kind == FREE)
        used--;
    atomic_store_explicit(&last_used, USER_FIRST + used - 1, memory_order_relaxed);
}

// ---- the contract

bool mlt_error_user_class(int code, int *class)
{
    pthread_mutex_lock(&user_lock);
    const user_entry *e = user_find(code);
    if (e)
        *class = e->class;
    pthread_mutex_unlock(&user_lock);
    return e != NULL;
}

bool mlt_error_user_text(int code, char text[MPI_MAX_ERROR_STRING])
{
    pthread_mutex_lock(&user_lock);
    const user_entry *e = user_find(code);
    if (e && e->text)
        memcpy(text, e->text, strlen(e->text) + 1);
    else
        text[0] = '\0';
    pthread_mutex_unlock(&user_lock);
    return e != NULL;
}

const char *mlt_error_user_sentence(int code)
{
    pthread_mutex_lock(&user_lock);
    const user_entry *e = user_find(code);
    const char *text = e ? e->text : "no error code of the program's own";
    pthread_mutex_unlock(&user_lock);
    return text ? text : "an error of the program's own, which has no string";
}

// ---- MPI's functions

static int user_too_many(mlt_rank *me, uint16_t fn)
{
    return mlt_mpi_raise(me, NULL, fn, MPI_ERR_OTHER,
                         "there are %d error classes and codes of the program, and no more fit",
                         USER_MOST);
}

int mlt_mpi_Add_error_class(mlt_rank *me, int *errorclass)
{
    pthread_mutex_lock(&user_lock);
    int class = user_add(CLASS, 0);
    pthread_mutex_unlock(&user_lock);
    if (!class)
        return user_too_many(me, MLT_FN_Add_error_class);
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
    pthread_mutex_lock(&user_lock);
    const user_entry *e = user_find(errorclass);
    valid |= e && e->kind == CLASS;
    if (valid)
        code = user_add(CODE, errorclass);
    pthread_mutex_unlock(&user_lock);
    if (!valid)
        return mlt_bad_value(me, NULL, MLT_FN_Add_error_code, MPI_ERR_ARG, "errorclass", errorclass,
                             "an error class, of MPI's or from MPI_Add_error_class");
    if (!code)
        return user_too_many(me, MLT_FN_Add_error_code);
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
    pthread_mutex_lock(&user_lock);
    user_entry *e = user_find(errorcode);
    if (e) {
        if (!e->text)
            e->text = mlt_registry_take(&strings);
        memcpy(e->text, text, length + 1);
    }
    pthread_mutex_unlock(&user_lock);
    if (!e)
        return mlt_bad_value(me, NULL, MLT_FN_Add_error_string, MPI_ERR_ARG, "errorcode", errorcode,
                             "an error class or code of the program's own, as MPI_Add_error_class "
                             "and MPI_Add_error_code give");
    return MPI_SUCCESS;
}

// A class is a code, too: what the standard says of a code's string holds for its own.
int mlt_error_user_remove(mlt_rank *me, uint16_t fn, bool class, int code)
{
    const char *what = class ? "class" : "code";
    pthread_mutex_lock(&user_lock);
    const user_entry *e = user_find(code);
    bool found = e && e->kind == (class ? CLASS : CODE), text = found && e->text;
    uint32_t codes = found ? e->codes : 0;
    if (found && codes == 0 && !text)
        user_drop(code);
    pthread_mutex_unlock(&user_lock);
    if (!found)
        return mlt_bad_value(me, NULL, fn, MPI_ERR_ARG, class ? "errorclass" : "errorcode", code,
                             class ? "an error class from MPI_Add_error_class"
                                   : "an error code from MPI_Add_error_code");
    if (codes > 0)
        return mlt_mpi_raise(me, NULL, fn, MPI_ERR_OTHER,
                             "error class %d still has %u error codes; remove them first with "
                             "MPI_Remove_error_code",
                             code, codes);
    if (text)
        return mlt_mpi_raise(me, NULL, fn, MPI_ERR_OTHER,
                             "error %s %d still has a string; remove it first with "
                             "MPI_Remove_error_string",
                             what, code);
    follow(me);
    return MPI_SUCCESS;
}

int mlt_mpi_Remove_error_string(mlt_rank *me, int errorcode)
{
    pthread_mutex_lock(&user_lock);
    user_entry *e = user_find(errorcode);
    bool text = e && e->text;
    if (text)
        drop_text(e);
    pthread_mutex_unlock(&user_lock);
    if (!text)
        return mlt_bad_value(me, NULL, MLT_FN_Remove_error_string, MPI_ERR_ARG, "errorcode",
                             errorcode,
                             "an error class or code with a string that "
                             "MPI_Add_error_string has set");
    return MPI_SUCCESS;
}
