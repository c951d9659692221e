// SPDX-License-Identifier: BSD-3-Clause
// Attributes. Keys are slots of a table of the process, values are lists at their objects.
//
// A key lives until the user has freed it and the last attribute with it is gone; as long as it
// lives its number is known, so that a delete function may free the key that it gets. A slot is
// used again as late as possible and under another number, so that a stale number is caught.
//
// While a callback runs, the object's list may change: nothing here keeps a pointer into a list
// across one, but looks again.
#include "mpi/attr.h"

#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "boot/ctl.h"
#include "boot/job.h"
#include "mpi/error/errhandler.h"
#include "mpi/error/error.h"
#include "mpi/error/text.h"
#include "mpi/fortran.h"
#include "mpi/self.h"
#include "mpi/thread.h"
#include "mpi/type/dtype.h"
#include "mpi/win/win.h"
#include "mpi_bodies.h"

// MPI_COMM_DUP_FN and the like are 1, the null functions 0: neither is ever called.
enum { DUP_FUNCTION = 1 };

typedef enum language { IN_C, IN_FORTRAN, IN_OLD_FORTRAN } language;

typedef struct key {
    uint32_t number;  // the keyval; a generation above the slot
    uint32_t refs;    // 1 until the user frees it, and one for each attribute; 0: free
    uint32_t next;    // free: the next free slot
    uint8_t kind;     // mlt_attr_kind
    uint8_t language; // of its functions: a language
    bool open;        // the user has not freed it
    mlt_attr_functions functions;
    void *extra;
} key;

typedef struct mlt_attr {
    struct mlt_attr *next;
    key *key; // a counted reference
    void *value;
    uint32_t order; // grows along the list
    bool deleting;  // its delete function runs
    bool fortran;   // Fortran has set it: the value is an integer, which C sees by its address
} attr;

// ---- keys

enum {
    SLOT_BITS = 24, // so many keys that every one of a million ranks may have some
    GENERATIONS = 127,
    ATTR_REST =
        256, // slots before the first is used again: with the generations, stale keys are caught
    NO_SLOT = 0,
};

static struct {
    pthread_mutex_t lock;
    key **at;             // [slots]; keys never move
    uint32_t slots, room; // that were ever used; slot 0 never is
    uint32_t first, last; // free slots, the longest free first; NO_SLOT: none
} keys = {.lock = PTHREAD_MUTEX_INITIALIZER, .slots = 1};

static uint32_t attr_slot_of(uint32_t number)
{
    return number & ((1u << SLOT_BITS) - 1);
}

// A key without number and functions, or NULL: no room. Under the lock.
static key *take_slot(void)
{
    if (keys.first != NO_SLOT && keys.slots > ATTR_REST) {
        key *k = keys.at[keys.first];
        keys.first = k->next;
        return k;
    }
    uint32_t slot = keys.slots;
    key *k = slot >> SLOT_BITS ? NULL : calloc(1, sizeof *k);
    if (!k || !MLT_ARRAY_TRY(keys.at, (size_t)slot + 1, keys.room)) {
        free(k);
        return NULL;
    }
    k->number = slot;
    return keys.at[keys.slots++] = k;
}

// Under the lock.
static void drop_key(key *k)
{
    if (--k->refs > 0)
        return;
    uint32_t slot = attr_slot_of(k->number);
    k->next = NO_SLOT;
    if (keys.first == NO_SLOT)
        keys.first = slot;
    else
        keys.at[keys.last]->next = slot;
    keys.last = slot;
}

static void release_key(key *k)
{
    pthread_mutex_lock(&keys.lock);
    drop_key(k);
    pthread_mutex_unlock(&keys.lock);
}

// The living key of a number, NULL if there is none. Under the lock.
static key *find_key(int keyval)
{
    uint32_t number = (uint32_t)keyval, slot = attr_slot_of(number);
    if (keyval <= 0 || slot == NO_SLOT || slot >= keys.slots)
        return NULL;
    key *k = keys.at[slot];
    return k->number == number && k->refs > 0 ? k : NULL;
}

// The living key of a number and kind, held once more if it is open and `hold`; else NULL.
static key *use_key(mlt_attr_kind kind, int keyval, bool hold)
{
    pthread_mutex_lock(&keys.lock);
    key *k = find_key(keyval);
    if (k && (k->kind != kind || (hold && !k->open)))
        k = NULL;
    if (k && hold)
        k->refs++;
    pthread_mutex_unlock(&keys.lock);
    return k;
}

static void hold_key(key *k)
{
    pthread_mutex_lock(&keys.lock);
    k->refs++;
    pthread_mutex_unlock(&keys.lock);
}

bool mlt_attr_key_lives(int keyval)
{
    pthread_mutex_lock(&keys.lock);
    bool alive = find_key(keyval) != NULL;
    pthread_mutex_unlock(&keys.lock);
    return alive;
}

static const char *const kind_names[] = {
    [MLT_ATTR_COMM] = "communicators", [MLT_ATTR_TYPE] = "datatypes", [MLT_ATTR_WIN] = "windows"};

// Raises MPI_ERR_KEYVAL for a number that is no key, or not one of this kind.
static MLT_COLD int bad_key_code(mlt_rank *me, mlt_attr_kind kind, int keyval)
{
    pthread_mutex_lock(&keys.lock);
    const key *k = find_key(keyval);
    const char *other = k && k->kind != kind ? kind_names[k->kind] : NULL;
    bool freed = k && !k->open;
    pthread_mutex_unlock(&keys.lock);
    if (other)
        return mlt_mpi_code(me, me->fn, MPI_ERR_KEYVAL,
                            "attribute key %#x is for %s, but should be one for %s", keyval, other,
                            kind_names[kind]);
    const char *predefined = mlt_attr_key_text(keyval);
    if (predefined)
        return mlt_mpi_code(me, me->fn, MPI_ERR_KEYVAL,
                            "the attribute key is %s, which is predefined, but should be one "
                            "that the program has made for %s",
                            predefined, kind_names[kind]);
    if (keyval == MPI_KEYVAL_INVALID)
        return mlt_mpi_code(me, me->fn, MPI_ERR_KEYVAL,
                            "the attribute key is MPI_KEYVAL_INVALID, but should be one for %s",
                            kind_names[kind]);
    return mlt_mpi_code(
        me, me->fn, MPI_ERR_KEYVAL, "attribute key %#x %s, but should be one for %s", keyval,
        freed ? "was freed" : "does not exist (was it freed, or never set?)", kind_names[kind]);
}

static MLT_COLD int raise_at(mlt_rank *me, const mlt_attr_holder *h, int code)
{
    if (h->kind == MLT_ATTR_WIN)
        return mlt_errhandler_call(me, mlt_win_errhandler(h->object), h->object, code);
    return mlt_mpi_raise_code(me, h->comm, me->fn, code);
}

// The code of a callback.
static MLT_COLD int raise_theirs(mlt_rank *me, const mlt_attr_holder *h, int code)
{
    if (h->kind == MLT_ATTR_WIN)
        return raise_at(me, h, mlt_attrs_code(me, mlt_win_errhandler(h->object), code));
    return mlt_attrs_raise(me, h->comm, code);
}

int mlt_attr_new_key(mlt_rank *me, mlt_attr_kind kind, mlt_attr_functions its, void *extra,
                     int *keyval)
{
    pthread_mutex_lock(&keys.lock);
    key *k = take_slot();
    if (k) {
        uint32_t slot = attr_slot_of(k->number), generation = k->number >> SLOT_BITS;
        *k = (key){.number = (generation % GENERATIONS + 1) << SLOT_BITS | slot,
                   .refs = 1,
                   .kind = (uint8_t)kind,
                   .language = IN_C,
                   .open = true,
                   .functions = its,
                   .extra = extra};
        *keyval = (int)k->number;
    }
    pthread_mutex_unlock(&keys.lock);
    return k ? MPI_SUCCESS
             : mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_NO_MEM,
                             "there is no room for more attributes");
}

// Freed again while attributes have it: nothing happens, as programs do so in delete functions.
int mlt_attr_free_key(mlt_rank *me, mlt_attr_kind kind, int *keyval)
{
    pthread_mutex_lock(&keys.lock);
    key *k = find_key(*keyval);
    bool good = k && k->kind == kind;
    if (good && k->open) {
        k->open = false;
        drop_key(k);
    }
    pthread_mutex_unlock(&keys.lock);
    if (!good)
        return mlt_mpi_raise_code(me, NULL, me->fn, bad_key_code(me, kind, *keyval));
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

// ---- lists

// attrs may be NULL.
static attr *find_attr(const mlt_attrs *attrs, int keyval)
{
    attr *a = attrs ? attrs->first : NULL;
    while (a && a->key->number != (uint32_t)keyval)
        a = a->next;
    return a;
}

static attr *last_attr(const mlt_attrs *attrs)
{
    attr *a = attrs->first;
    while (a && a->next)
        a = a->next;
    return a;
}

// Takes over the reference on the key.
static void attr_append(mlt_attrs *attrs, key *k, void *value, bool fortran)
{
    attr *last = last_attr(attrs), *a = malloc(sizeof *a);
    if (!a)
        mlt_no_room("an attribute");
    *a = (attr){.key = k, .value = value, .order = last ? last->order + 1 : 0, .fortran = fortran};
    *(last ? &last->next : &attrs->first) = a;
}

static void remove_attr(mlt_attrs *attrs, attr *a)
{
    attr **place = &attrs->first;
    while (*place != a)
        place = &(*place)->next;
    *place = a->next;
    release_key(a->key);
    free(a);
}

// ---- callbacks. me->fn is the user's call again when they return.

// Functions of Fortran get everything by its address. Old ones have attributes of an INTEGER.
typedef void fortran_delete(MPI_Fint *object, MPI_Fint *keyval, void *value, void *extra_state,
                            MPI_Fint *ierror);
typedef void fortran_copy(MPI_Fint *object, MPI_Fint *keyval, void *extra_state, void *in,
                          void *out, int *flag, MPI_Fint *ierror);

static int fortran_delete_attr(void *object, const key *k, void *value)
{
    MPI_Fint handle = mlt_fortran_number(object), number = (MPI_Fint)k->number;
    MPI_Fint code = MPI_SUCCESS, old_value = (MPI_Fint)(MPI_Aint)value;
    MPI_Fint old_extra = (MPI_Fint)(MPI_Aint)k->extra;
    MPI_Aint its_value = (MPI_Aint)value, extra = (MPI_Aint)k->extra;
    bool old = k->language == IN_OLD_FORTRAN;
    ((fortran_delete *)k->functions.delete.value)(&handle, &number,
                                                  old ? (void *)&old_value : (void *)&its_value,
                                                  old ? (void *)&old_extra : (void *)&extra, &code);
    return code;
}

static int fortran_copy_attr(void *object, const key *k, void *in, void **out, int *flag)
{
    MPI_Fint handle = mlt_fortran_number(object), number = (MPI_Fint)k->number;
    MPI_Fint code = MPI_SUCCESS, old_in = (MPI_Fint)(MPI_Aint)in, old_out = 0;
    MPI_Fint old_extra = (MPI_Fint)(MPI_Aint)k->extra;
    MPI_Aint its_in = (MPI_Aint)in, its_out = 0, extra = (MPI_Aint)k->extra;
    bool old = k->language == IN_OLD_FORTRAN;
    ((fortran_copy *)k->functions.copy.value)(
        &handle, &number, old ? (void *)&old_extra : (void *)&extra,
        old ? (void *)&old_in : (void *)&its_in, old ? (void *)&old_out : (void *)&its_out, flag,
        &code);
    *out = (void *)(old ? (MPI_Aint)old_out : its_out);
    return code;
}

// A C function sees Fortran's integer by its address.
static int call_delete(mlt_rank *me, void *object, const key *k, void *value, bool fortran)
{
    int code, number = (int)k->number;
    const mlt_attr_functions *f = &k->functions;
    void *seen = fortran ? &value : value;
    if (f->delete.value == 0)
        return MPI_SUCCESS;
    mlt_outside outside = mlt_thread_step_out(me);
    if (k->language != IN_C)
        code = fortran_delete_attr(object, k, value);
    else if (k->kind == MLT_ATTR_COMM)
        code = f->delete.comm((MPI_Comm)object, number, seen, k->extra);
    else if (k->kind == MLT_ATTR_TYPE)
        code = f->delete.type((MPI_Datatype)object, number, seen, k->extra);
    else
        code = f->delete.win((MPI_Win)object, number, seen, k->extra);
    mlt_thread_step_in(me, outside);
    return code;
}

// The copy belongs to the language of the function that made it; `fortran` is changed.
static int call_copy(mlt_rank *me, void *object, const key *k, void *in, void **out, int *flag,
                     bool *fortran)
{
    int code, number = (int)k->number;
    const mlt_attr_functions *f = &k->functions;
    void *seen = *fortran ? &in : in;
    *flag = f->copy.value == DUP_FUNCTION;
    *out = in;
    if (f->copy.value <= DUP_FUNCTION)
        return MPI_SUCCESS;
    *fortran = k->language != IN_C;
    mlt_outside outside = mlt_thread_step_out(me);
    if (k->language != IN_C)
        code = fortran_copy_attr(object, k, in, out, flag);
    else if (k->kind == MLT_ATTR_COMM)
        code = f->copy.comm((MPI_Comm)object, number, k->extra, seen, out, flag);
    else if (k->kind == MLT_ATTR_TYPE)
        code = f->copy.type((MPI_Datatype)object, number, k->extra, seen, out, flag);
    else
        code = f->copy.win((MPI_Win)object, number, k->extra, seen, out, flag);
    mlt_thread_step_in(me, outside);
    return code;
}

// Calls the delete function of an attribute, and removes it if the function agrees and has not set
// it anew.
static int delete_attr(mlt_rank *me, void *object, mlt_attrs *attrs, attr *a)
{
    key *k = a->key;
    if (a->deleting) // asked for by its own delete function
        return MPI_SUCCESS;
    hold_key(k); // the function may free the key, and remove the attribute
    a->deleting = true;
    int code = call_delete(me, object, k, a->value, a->fortran);
    a = find_attr(attrs, (int)k->number);
    if (a && a->deleting) {
        a->deleting = false;
        if (code == MPI_SUCCESS)
            remove_attr(attrs, a);
    }
    release_key(k);
    return code;
}

int mlt_attrs_delete_all(mlt_rank *me, mlt_attr_kind kind, void *object, mlt_attrs *attrs)
{
    // Delete functions may set attributes, which are deleted in turn, but not without end.
    uint32_t calls = 64;
    for (const attr *a = attrs->first; a; a = a->next)
        calls++;
    for (attr *a; (a = last_attr(attrs)); calls--) {
        mlt_assert(a->key->kind == kind);
        if (a->deleting) // a delete function frees the object that it is called for
            return MPI_ERR_OTHER;
        if (calls == 0) {
            remove_attr(attrs, a);
            calls++;
            continue;
        }
        int code = delete_attr(me, object, attrs, a);
        if (code != MPI_SUCCESS)
            return code;
    }
    return MPI_SUCCESS;
}

void mlt_attrs_forget_last(mlt_attrs *attrs)
{
    attr *a = last_attr(attrs);
    if (a)
        remove_attr(attrs, a);
}

void mlt_attrs_forget(mlt_attrs *attrs)
{
    while (attrs->first)
        remove_attr(attrs, attrs->first);
}

int mlt_attrs_copy(mlt_rank *me, mlt_attr_kind kind, void *from, const mlt_attrs *old,
                   mlt_attrs *new)
{
    const attr *last = last_attr(old);
    uint32_t end = last ? last->order : 0;
    int64_t done = -1; // order of the attribute that was looked at last
    for (;;) {
        attr *a = old->first;
        while (a && a->order <= done)
            a = a->next;
        if (!a || a->order > end) // what copy functions set anew is not copied
            return MPI_SUCCESS;
        key *k = a->key;
        mlt_assert(k->kind == kind);
        done = a->order;
        hold_key(k); // becomes the copy's
        void *value;
        bool fortran = a->fortran;
        int flag, code = call_copy(me, from, k, a->value, &value, &flag, &fortran);
        if (code == MPI_SUCCESS && flag) {
            attr_append(new, k, value, fortran);
            continue;
        }
        release_key(k);
        if (code != MPI_SUCCESS) {
            while (mlt_attrs_delete_all(me, kind, from, new) != MPI_SUCCESS)
                mlt_attrs_forget_last(new);
            return code;
        }
    }
}

int mlt_attrs_raise(mlt_rank *me, mlt_comm *comm, int code)
{
    MPI_Errhandler handler = comm ? comm->errhandler : mlt_comm_self(me)->errhandler;
    return mlt_mpi_raise_code(me, comm, me->fn, mlt_attrs_code(me, handler, code));
}

int mlt_attrs_code(mlt_rank *me, MPI_Errhandler handler, int code)
{
    int class;
    if (handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_ABORT)
        return code;
    return mlt_mpi_code(me, me->fn, mlt_mpi_code_class(code, &class) ? class : MPI_ERR_OTHER,
                        "an attribute's copy or delete function returned the error code %d", code);
}

// ---- values

// libmpi_fortran says here that the call of MPI_X_set_attr that follows comes from Fortran, and
// learns whether Fortran has set what MPI_X_get_attr gave. No rank is switched in between.
static _Thread_local bool sets_from_fortran, got_from_fortran;

void mlt_fortran_attr(bool fortran)
{
    sets_from_fortran = fortran;
}

bool mlt_fortran_attr_was(void)
{
    bool was = got_from_fortran;
    got_from_fortran = false;
    return was;
}

mlt_attr_fortran mlt_attr_fortran_take(void)
{
    mlt_attr_fortran taken = {sets_from_fortran, got_from_fortran};
    sets_from_fortran = got_from_fortran = false;
    return taken;
}

void mlt_attr_fortran_put(mlt_attr_fortran taken)
{
    sets_from_fortran = taken.sets;
    got_from_fortran = taken.got;
}

void mlt_fortran_mark_keyval(int keyval, bool old)
{
    pthread_mutex_lock(&keys.lock);
    key *k = find_key(keyval);
    if (k)
        k->language = old ? IN_OLD_FORTRAN : IN_FORTRAN;
    pthread_mutex_unlock(&keys.lock);
}

int mlt_attr_get(mlt_rank *me, mlt_attr_holder h, int keyval, void *value, int *flag)
{
    if (!use_key(h.kind, keyval, false))
        return raise_at(me, &h, bad_key_code(me, h.kind, keyval));
    attr *a = find_attr(h.attrs, keyval);
    *flag = a != NULL;
    got_from_fortran = a && a->fortran;
    if (a)
        *(void **)value = a->fortran ? (void *)&a->value : a->value;
    return MPI_SUCCESS;
}

int mlt_attr_set(mlt_rank *me, mlt_attr_holder h, int keyval, void *value)
{
    bool fortran = sets_from_fortran;
    sets_from_fortran = false;
    key *k = use_key(h.kind, keyval, true); // the reference becomes the attribute's
    if (!k)
        return raise_at(me, &h, bad_key_code(me, h.kind, keyval));
    attr *a = find_attr(h.attrs, keyval);
    if (a && !a->deleting) {
        a->deleting = true;
        int code = call_delete(me, h.object, k, a->value, a->fortran);
        a = find_attr(h.attrs, keyval);
        if (code != MPI_SUCCESS) {
            if (a)
                a->deleting = false;
            release_key(k);
            return raise_theirs(me, &h, code);
        }
    }
    if (!a) {
        attr_append(h.attrs, k, value, fortran);
        return MPI_SUCCESS;
    }
    a->value = value;
    a->fortran = fortran;
    a->deleting = false;
    release_key(k);
    return MPI_SUCCESS;
}

int mlt_attr_delete(mlt_rank *me, mlt_attr_holder h, int keyval)
{
    if (!use_key(h.kind, keyval, false))
        return raise_at(me, &h, bad_key_code(me, h.kind, keyval));
    attr *a = find_attr(h.attrs, keyval);
    int code = a ? delete_attr(me, h.object, h.attrs, a) : MPI_SUCCESS;
    return code == MPI_SUCCESS ? MPI_SUCCESS : raise_theirs(me, &h, code);
}

// ---- of communicators

static const int tag_ub = INT_MAX, io = MPI_ANY_SOURCE, host = MPI_PROC_NULL;
static const int clocks_agree = 1, clocks_differ = 0;

// The value of a predefined attribute, the same for every rank of a process; NULL: not predefined.
static const void *attr_predefined(mlt_rank *me, int keyval)
{
    mlt_boot *boot = me->worker->boot;
    switch (keyval) {
    case MPI_TAG_UB:
        return &tag_ub;
    case MPI_IO:
        return &io;
    case MPI_HOST:
        return &host;
    case MPI_WTIME_IS_GLOBAL:
        return boot->job->hosts == 1 ? &clocks_agree : &clocks_differ;
    case MPI_LASTUSEDCODE:
        return mlt_error_last_used_code(me);
    case MPI_APPNUM:
        return &mlt_job_proc_at(boot->job, boot->proc)->app;
    case MPI_UNIVERSE_SIZE:
        return &boot->universe;
    default:
        return NULL;
    }
}

mlt_attr_holder mlt_attr_of_comm(mlt_rank *me, mlt_comm *comm, bool make)
{
    if (make)
        (void)mlt_comm_extra_of(comm);
    return (mlt_attr_holder){MLT_ATTR_COMM, comm, mlt_comm_handle(me, comm),
                             comm->extra ? &comm->extra->attrs : NULL};
}

int mlt_mpi_Comm_get_attr(mlt_rank *me, mlt_comm *comm, int keyval, void *value, int *flag)
{
    const void *known = attr_predefined(me, keyval);
    // The standard: of these, communicators from sessions have only MPI_TAG_UB.
    if (known && keyval != MPI_TAG_UB && comm->extra && comm->extra->session) {
        *flag = 0;
        return MPI_SUCCESS;
    }
    if (!known)
        return mlt_attr_get(me, mlt_attr_of_comm(me, comm, false), keyval, value, flag);
    *(const void **)value = known;
    *flag = 1;
    return MPI_SUCCESS;
}

// ---- of datatypes

mlt_attr_holder mlt_attr_of_type(mlt_rank *me, const mlt_type *type, bool make)
{
    return (mlt_attr_holder){MLT_ATTR_TYPE, NULL, mlt_dtype_handle(type),
                             mlt_dtype_attrs(me, type, make)};
}

// ---- of windows

mlt_attr_holder mlt_attr_of_win(mlt_win *win, bool make)
{
    mlt_win_notes *notes = make ? mlt_win_notes_of(win) : win->notes;
    return (mlt_attr_holder){MLT_ATTR_WIN, NULL, win, notes ? &notes->attrs : NULL};
}

int mlt_mpi_Win_get_attr(mlt_rank *me, mlt_win *win, int keyval, void *value, int *flag)
{
    const void *known = mlt_win_attribute(win, keyval, flag);
    if (!*flag)
        return mlt_attr_get(me, mlt_attr_of_win(win, false), keyval, value, flag);
    *(const void **)value = known;
    return MPI_SUCCESS;
}
