// SPDX-License-Identifier: BSD-3-Clause
// Datatypes as objects: their life, names, and what a rank notes about predefined ones.
#include "mpi/type/dtype.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi/self.h"
#include "mpi/type/external32.h"
#include "mpi_bodies.h"
#include "os/os.h"
#include "type/build.h"

// A name or attributes that a rank gave a predefined type; few ranks have any.
typedef struct mlt_type_note {
    struct mlt_type_note *next;
    const mlt_type *type;
    char *name; // NULL: as it was
    mlt_attrs attrs;
} type_note;

// ---- making

int mlt_dtype_no_memory(mlt_rank *me)
{
    return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_NO_MEM, MLT_NO_ROOM "the datatype");
}

mlt_dtype *mlt_dtype_new(mlt_rank *me, int combiner, int64_t integers, int64_t addresses,
                         int64_t counts, int64_t types)
{
    int64_t numbers = integers + addresses + counts;
    mlt_dtype *dtype = mlt_pool_take(&mlt_mpi_worker_of(me)->dtypes);
    mlt_contents *c = &dtype->contents;
    *dtype = (mlt_dtype){.owner = me};
    c->combiner = combiner;
    c->large = counts > 0;
    c->integer_count = integers;
    c->address_count = addresses;
    c->large_count = counts;
    c->number = c->few;
    c->type = &c->one;
    if (numbers > MLT_CONTENTS_FEW)
        c->number = calloc((size_t)numbers, sizeof *c->number);
    if (types > 1)
        c->type = calloc((size_t)types, sizeof *c->type);
    if (c->number && c->type) {
        c->type_count = types;
        return dtype;
    }
    mlt_dtype_discard(dtype);
    return NULL;
}

const mlt_type *mlt_dtype_for_device(const mlt_type *type)
{
    if (type->code)
        return mlt_gpu_twin_of_code(type);
    mlt_dtype *dtype = mlt_dtype_of(type);
    if (!dtype->twin) {
        dtype->twin = mlt_xcalloc(1, sizeof *dtype->twin);
        mlt_gpu_make_twin(&dtype->twin->type, type);
        dtype->twin->of = dtype;
    }
    mlt_type *twin = &dtype->twin->type;
    // Only what differs: another worker may be reading the rest, of a message that is under way.
    if (twin->committed != type->committed)
        twin->committed = type->committed;
    twin->name = type->name;
    return twin;
}

// Frees what a dead object has, and gives it back.
static void scrap(mlt_dtype *dtype)
{
    mlt_contents *c = &dtype->contents;
    free(dtype->twin);
    if (c->number != c->few)
        free(c->number);
    if (c->type != &c->one)
        free(c->type);
    free((char *)(uintptr_t)dtype->type.name);
    dtype->type.magic = 0;
    mlt_pool_give_last(&mlt_mpi_worker_of(dtype->owner)->dtypes, dtype);
}

void mlt_dtype_discard(mlt_dtype *dtype)
{
    for (int64_t i = 0; i < dtype->contents.type_count; i++)
        mlt_dtype_drop(dtype->contents.type[i]);
    scrap(dtype);
}

// The types that it was built from may go with it. A list, as types nest without limit.
void mlt_dtype_destroy(mlt_dtype *dtype)
{
    mlt_dtype *pending = dtype;
    dtype->next = NULL;
    while (pending) {
        mlt_dtype *now = pending;
        pending = now->next;
        for (int64_t i = 0; i < now->contents.type_count; i++) {
            const mlt_type *old = now->contents.type[i];
            if (old->code || --mlt_dtype_of(old)->refs > 0)
                continue;
            mlt_dtype_of(old)->next = pending;
            pending = mlt_dtype_of(old);
        }
        mlt_type_unmake(&now->type);
        scrap(now);
    }
}

// Adds up basic elements and external32 bytes over the types that it was built from. A type of
// Fortran's and a pair are like their parts.
static void measure(mlt_dtype *dtype)
{
    const mlt_contents *c = &dtype->contents;
    int64_t types = c->type_count ? c->type_count : 1;
    if (c->combiner == MPI_COMBINER_STRUCT && c->type_count == 0)
        return;
    for (int64_t i = 0; i < types; i++) {
        const mlt_type *old = c->type[i];
        uint64_t n = old->size ? dtype->type.size / old->size : 0;
        if (c->combiner == MPI_COMBINER_STRUCT)
            n = (uint64_t)c->number[1 + i];
        else if (c->combiner == MPI_COMBINER_VALUE_INDEX)
            n = 1;
        dtype->basics += n * mlt_type_basics(old);
        dtype->external32 += n * mlt_external32_size(old);
    }
}

int mlt_dtype_finish(mlt_rank *me, mlt_dtype *dtype, mlt_status status, MPI_Datatype *newtype)
{
    if (status != MLT_OK) {
        mlt_dtype_discard(dtype);
        if (status == MLT_ERR_NO_MEMORY)
            return mlt_dtype_no_memory(me);
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_ARG,
                             "the size, the bounds or a displacement of the datatype do not fit "
                             "into 63 bits; its counts, lengths and strides should be smaller");
    }
    dtype->refs = dtype->users = 1;
    measure(dtype);
    *newtype = mlt_dtype_handle(&dtype->type);
    return MPI_SUCCESS;
}

// ---- unnamed predefined types

mlt_dtype *mlt_dtype_find_permanent(mlt_rank *me, int combiner, int64_t first, int64_t second,
                                    const mlt_type *value, const mlt_type *index)
{
    mlt_dtype **at = &mlt_mpi_worker_of(me)->permanent;
    for (mlt_dtype *d; (d = *at); at = &d->next) {
        const mlt_contents *c = &d->contents;
        if (c->combiner != combiner || c->few[0] != first || c->few[1] != second ||
            c->type[0] != value || (c->type_count > 1 && c->type[1] != index))
            continue;
        *at = d->next; // to the front: programs ask for few, often
        d->next = mlt_mpi_worker_of(me)->permanent;
        mlt_mpi_worker_of(me)->permanent = d;
        return d;
    }
    return NULL;
}

int mlt_dtype_finish_permanent(mlt_rank *me, mlt_dtype *dtype, mlt_status status,
                               MPI_Datatype *newtype)
{
    int code = mlt_dtype_finish(me, dtype, status, newtype);
    if (code != MPI_SUCCESS)
        return code;
    dtype->permanent = true;
    dtype->type.committed = 1;
    dtype->next = mlt_mpi_worker_of(me)->permanent;
    mlt_mpi_worker_of(me)->permanent = dtype;
    return MPI_SUCCESS;
}

// ---- hosts that differ

static const MPI_Datatype of_long_double[] = {MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX,
                                              MPI_CXX_LONG_DOUBLE_COMPLEX, MPI_LONG_DOUBLE_INT};
enum { OF_LONG_DOUBLE = sizeof of_long_double / sizeof *of_long_double };

void mlt_dtype_disable_long_double(void)
{
    static const uint32_t none = 0;
    if (!getenv("MILLET_MIXED"))
        return;
    for (int i = 0; i < OF_LONG_DOUBLE; i++) {
        const mlt_type *type = mlt_type_coded((uintptr_t)of_long_double[i]);
        if (type->magic && mlt_os_rewrite(&type->magic, &none, sizeof none) != MLT_OK)
            mlt_fatal("the types of long double cannot be taken out of use");
    }
}

const char *mlt_dtype_long_double_hint(void)
{
    return getenv("MILLET_MIXED")
               ? "; it may be one of long double, of which hosts of this job have "
                 "different formats, as x86-64 and aarch64 do: use double, or "
                 "hosts of one kind"
               : "";
}

static bool is_of_long_double(MPI_Datatype handle)
{
    for (int i = 0; i < OF_LONG_DOUBLE; i++)
        if (handle == of_long_double[i])
            return true;
    return false;
}

// ---- bad handles

int mlt_bad_type(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name, MPI_Datatype handle)
{
    const mlt_type *type = mlt_type_of(handle);
    if (!type && is_of_long_double(handle))
        return mlt_mpi_raise(me, comm, fn, MPI_ERR_TYPE,
                             "argument %s is %s, but hosts of this job have different formats of "
                             "long double, as x86-64 and aarch64 do; use double, or hosts of one "
                             "kind",
                             name, mlt_type_coded((uintptr_t)handle)->name);
    if (!type)
        return mlt_bad_handle(me, comm, fn, MPI_ERR_TYPE, name, "datatype", (uintptr_t)handle);
    return mlt_mpi_raise(me, comm, fn, MPI_ERR_TYPE,
                         "argument %s is a datatype of rank %d, but should be one of rank %d or of "
                         "a rank of its worker; " MLT_HANDLE_OF_OTHER,
                         name, (int)mlt_dtype_of(type)->owner->world, (int)me->world);
}

// ---- what the user calls

int mlt_mpi_Type_commit(mlt_rank *me, MPI_Datatype *datatype)
{
    const mlt_type *type = mlt_type_mine(me, *datatype);
    if (!type)
        return mlt_bad_type(me, NULL, me->fn, "datatype", *datatype);
    if (!type->code) // a layout needs no further work
        mlt_dtype_of(type)->type.committed = 1;
    return MPI_SUCCESS;
}

int mlt_mpi_Type_free(mlt_rank *me, MPI_Datatype *datatype)
{
    const mlt_type *type = mlt_type_mine(me, *datatype);
    if (!type)
        return mlt_bad_type(me, NULL, me->fn, "datatype", *datatype);
    mlt_dtype *dtype = mlt_dtype_of(type);
    if (type->code || dtype->permanent)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_TYPE,
                             "argument datatype is %s, which is predefined, but should be a "
                             "datatype that the program has made",
                             type->name ? type->name : "a datatype without a name");
    if (dtype->users == 1 && dtype->attrs.first) {
        int code = mlt_attrs_delete_all(me, MLT_ATTR_TYPE, *datatype, &dtype->attrs);
        if (code != MPI_SUCCESS)
            return mlt_attrs_raise(me, NULL, code);
    }
    *datatype = MPI_DATATYPE_NULL;
    if (--dtype->users > 0)
        return MPI_SUCCESS;
    dtype->type.magic = 0;
    mlt_dtype_drop(type);
    return MPI_SUCCESS;
}

int mlt_mpi_Type_dup(mlt_rank *me, const mlt_type *oldtype, MPI_Datatype *newtype)
{
    mlt_dtype *dtype = mlt_dtype_new(me, MPI_COMBINER_DUP, 0, 0, 0, 1);
    mlt_attrs *attrs = mlt_dtype_attrs(me, oldtype, false);
    MPI_Datatype handle;
    if (!dtype)
        return mlt_dtype_no_memory(me);
    mlt_dtype_set_type(dtype, 0, oldtype);
    mlt_type_make_dup(&dtype->type, oldtype);
    dtype->type.committed = oldtype->committed;
    int code = mlt_dtype_finish(me, dtype, MLT_OK, &handle);
    if (attrs && attrs->first)
        code = mlt_attrs_copy(me, MLT_ATTR_TYPE, mlt_dtype_handle(oldtype), attrs, &dtype->attrs);
    if (code != MPI_SUCCESS) {
        mlt_dtype_drop(&dtype->type);
        return mlt_attrs_raise(me, NULL, code);
    }
    *newtype = handle;
    return MPI_SUCCESS;
}

// ---- names and attributes

static bool is_predefined(const mlt_type *type)
{
    return type->code || mlt_dtype_of(type)->permanent;
}

static type_note *dtype_note_of(mlt_rank *me, const mlt_type *type, bool make)
{
    type_note *note = mlt_mpi_of(me)->type_notes;
    while (note && note->type != type)
        note = note->next;
    if (note || !make)
        return note;
    note = mlt_xcalloc(1, sizeof *note);
    note->type = type;
    note->next = mlt_mpi_of(me)->type_notes;
    mlt_mpi_of(me)->type_notes = note;
    return note;
}

mlt_attrs *mlt_dtype_attrs(mlt_rank *me, const mlt_type *type, bool make)
{
    if (!is_predefined(type))
        return &mlt_dtype_of(type)->attrs;
    type_note *note = dtype_note_of(me, type, make);
    return note ? &note->attrs : NULL;
}

// "" if it has none.
static const char *dtype_name(mlt_rank *me, const mlt_type *type)
{
    const type_note *note = is_predefined(type) ? dtype_note_of(me, type, false) : NULL;
    const char *name = note && note->name ? note->name : type->name;
    return name ? name : "";
}

int mlt_mpi_Type_get_name(mlt_rank *me, const mlt_type *type, char *type_name, int *resultlen)
{
    const char *name = type ? dtype_name(me, type) : "MPI_DATATYPE_NULL";
    *resultlen = (int)strlen(name);
    memcpy(type_name, name, (size_t)*resultlen + 1);
    return MPI_SUCCESS;
}

int mlt_mpi_Type_set_name(mlt_rank *me, const mlt_type *type, const char *type_name)
{
    char *name = strndup(type_name, MPI_MAX_OBJECT_NAME - 1); // the standard cuts it
    if (!name)
        return mlt_dtype_no_memory(me);
    if (is_predefined(type)) {
        type_note *note = dtype_note_of(me, type, true);
        free(note->name);
        note->name = name;
    } else {
        free((char *)(uintptr_t)type->name);
        mlt_dtype_of(type)->type.name = name;
    }
    return MPI_SUCCESS;
}

void mlt_dtype_worker_fini(struct mlt_mpi_worker *worker, uint32_t ranks)
{
    for (uint32_t i = 0; i < ranks; i++)
        for (type_note *note = worker->ranks[i].type_notes, *next; note; note = next) {
            next = note->next;
            mlt_attrs_forget(&note->attrs);
            free(note->name);
            free(note);
        }
    for (mlt_dtype *d = worker->permanent, *next; d; d = next) {
        next = d->next;
        mlt_type_unmake(&d->type);
        if (d->contents.type != &d->contents.one)
            free(d->contents.type);
    }
}
