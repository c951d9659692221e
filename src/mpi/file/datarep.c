// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/file/datarep.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/own.h"
#include "mpi/file/file.h"
#include "mpi/handle.h"
#include "mpi/thread.h"
#include "mpi/type/dtype.h"
#include "mpi/type/external32.h"
#include "type/build.h"

static const mlt_datarep internal = {.kind = MLT_DATAREP_MEMORY, .name = "internal"};
static const mlt_datarep external32 = {.kind = MLT_DATAREP_EXTERNAL32, .name = "external32"};
const mlt_datarep mlt_datarep_native = {.kind = MLT_DATAREP_MEMORY, .name = "native"};

const mlt_datarep *mlt_datarep_find(const mlt_rank *me, const char *name)
{
    const mlt_datarep *own[] = {&mlt_datarep_native, &internal, &external32};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(name, own[i]->name) == 0)
            return own[i];
    const mlt_rank_own *mine = me->own;
    const mlt_datarep *rep = mine ? mine->datareps : NULL;
    while (rep && strcmp(name, rep->name) != 0)
        rep = rep->next;
    return rep;
}

void mlt_datarep_forget(mlt_rank *me)
{
    mlt_rank_own *own = me->own;
    while (own && own->datareps) {
        mlt_datarep *rep = own->datareps;
        own->datareps = rep->next;
        free(rep);
    }
}

// ---- registering

int mlt_datarep_add(mlt_rank *me, const char *name, const mlt_datarep *new)
{
    if (!new->extent)
        return mlt_file_raise(me, NULL, MPI_ERR_ARG, "argument dtype_file_extent_fn is NULL");
    if (strlen(name) > MPI_MAX_DATAREP_STRING - 1 || name[0] == '\0')
        return mlt_file_raise(me, NULL, MPI_ERR_ARG,
                              "argument datarep has %zu bytes, but should have 1 to %d",
                              strlen(name), MPI_MAX_DATAREP_STRING - 1);
    if (mlt_datarep_find(me, name))
        return mlt_file_raise(me, NULL, MPI_ERR_DUP_DATAREP,
                              "there is a data representation '%s' already", name);
    mlt_rank_own *own = mlt_own_of(me);
    mlt_datarep *kept = mlt_xcalloc(1, sizeof *kept);
    *kept = *new;
    kept->kind = MLT_DATAREP_USER;
    kept->next = own->datareps;
    strcpy(kept->name, name);
    own->datareps = kept;
    return MPI_SUCCESS;
}

// ---- types as the file holds them

// Bytes of a named type in the file.
static mlt_status basic_size(mlt_rank *me, const mlt_datarep *rep, const mlt_type *type,
                             uint64_t *size, int *code)
{
    if (rep->kind == MLT_DATAREP_EXTERNAL32) {
        *size = mlt_external32_size(type);
        return MLT_OK;
    }
    MPI_Aint extent = -1;
    mlt_outside outside = mlt_thread_step_out(me);
    *code = rep->extent(mlt_dtype_handle(type), &extent, rep->state);
    mlt_thread_step_in(me, outside);
    *size = (uint64_t)extent;
    return *code == MPI_SUCCESS && extent >= 0 ? MLT_OK : MLT_ERR_INVALID;
}

// Whether any basic type has another size there.
static mlt_status changes(mlt_rank *me, const mlt_datarep *rep, const mlt_type *type, bool *changed,
                          int *code)
{
    const mlt_contents *c = &mlt_dtype_of(type)->contents;
    if (rep->kind == MLT_DATAREP_EXTERNAL32) { // sizes never grow there
        *changed = mlt_external32_size(type) != type->size;
        return MLT_OK;
    }
    if (type->code || c->type_count == 0) {
        uint64_t size;
        mlt_status status = basic_size(me, rep, type, &size, code);
        *changed |= status == MLT_OK && size != (uint64_t)type->extent;
        return status;
    }
    mlt_status status = MLT_OK;
    for (int64_t i = 0; i < c->type_count && status == MLT_OK; i++)
        status = changes(me, rep, c->type[i], changed, code);
    return status;
}

static mlt_status rebuild(mlt_rank *me, const mlt_datarep *rep, const mlt_type *type, mlt_type *out,
                          int *code);

// Displacements in units of the new extent.
static mlt_status indexed(const mlt_contents *c, const mlt_type *old, bool lengths, bool bytes,
                          mlt_type *out)
{
    int64_t count = c->number[0];
    const int64_t *length = lengths ? c->number + 1 : NULL;
    const int64_t *given = c->number + (lengths ? 1 + count : 2);
    int64_t *at = mlt_xcalloc((size_t)count + 1, sizeof *at);
    bool fits = true;
    for (int64_t i = 0; i < count; i++)
        fits &= !__builtin_mul_overflow(given[i], bytes ? 1 : old->extent, &at[i]);
    mlt_status status =
        fits ? mlt_type_make_indexed(out, old, count, length, lengths ? 0 : c->number[1], at)
             : MLT_ERR_INVALID;
    free(at);
    return status;
}

static mlt_status subarray(const mlt_contents *c, const mlt_type *old, mlt_type *out)
{
    bool large = c->large_count > 0;
    int64_t n = c->number[0], order = c->number[large ? 1 : 3 * n + 1];
    const int64_t *shape = c->number + (large ? 2 : 1);
    return mlt_type_make_subarray(out, old, (int)n, shape, shape + n, shape + 2 * n,
                                  order == MPI_ORDER_C);
}

static mlt_status structure(mlt_rank *me, const mlt_datarep *rep, const mlt_contents *c,
                            mlt_type *out, int *code)
{
    int64_t count = c->type_count, made = 0;
    mlt_type *type = mlt_xcalloc((size_t)count + 1, sizeof *type);
    const mlt_type **list = mlt_xcalloc((size_t)count + 1, sizeof *list);
    mlt_status status = MLT_OK;
    while (made < count &&
           (status = rebuild(me, rep, c->type[made], &type[made], code)) == MLT_OK) {
        list[made] = &type[made];
        made++;
    }
    if (status == MLT_OK)
        status = mlt_type_make_struct(out, count, c->number + 1, c->number + 1 + count, list);
    for (int64_t i = 0; i < made; i++)
        mlt_type_unmake(&type[i]);
    free(list);
    free(type);
    return status;
}

// A type that was made of one other, which is `old` now.
static mlt_status of_one(const mlt_contents *c, const mlt_type *old, mlt_type *out)
{
    const int64_t *n = c->number;
    int64_t stride;
    switch (c->combiner) {
    case MPI_COMBINER_DUP:
        mlt_type_make_dup(out, old);
        return MLT_OK;
    case MPI_COMBINER_CONTIGUOUS:
        return mlt_type_make_vector(out, old, 1, n[0], 0);
    case MPI_COMBINER_VECTOR:
        if (__builtin_mul_overflow(n[2], old->extent, &stride))
            return MLT_ERR_INVALID;
        return mlt_type_make_vector(out, old, n[0], n[1], stride);
    case MPI_COMBINER_HVECTOR:
        return mlt_type_make_vector(out, old, n[0], n[1], n[2]);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
        return indexed(c, old, true, c->combiner == MPI_COMBINER_HINDEXED, out);
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return indexed(c, old, false, c->combiner == MPI_COMBINER_HINDEXED_BLOCK, out);
    case MPI_COMBINER_RESIZED:
        return mlt_type_make_resized(out, old, n[0], n[1]);
    case MPI_COMBINER_SUBARRAY:
        return subarray(c, old, out);
    default: // MPI_COMBINER_DARRAY
        return MLT_ERR_INVALID;
    }
}

static mlt_status rebuild(mlt_rank *me, const mlt_datarep *rep, const mlt_type *type, mlt_type *out,
                          int *code)
{
    bool changed = false;
    mlt_status status = changes(me, rep, type, &changed, code);
    if (status != MLT_OK)
        return status;
    if (!changed) {
        mlt_type_make_dup(out, type);
        return MLT_OK;
    }
    const mlt_contents *c = &mlt_dtype_of(type)->contents;
    if (type->code || c->type_count == 0) {
        uint64_t size;
        status = basic_size(me, rep, type, &size, code);
        *out = (mlt_type){.magic = MLT_TYPE_MAGIC,
                          .contiguous = true,
                          .committed = 1,
                          .size = size,
                          .extent = (int64_t)size,
                          .true_extent = (int64_t)size};
        return status;
    }
    if (c->combiner == MPI_COMBINER_STRUCT)
        return structure(me, rep, c, out, code);
    mlt_type old;
    status = rebuild(me, rep, c->type[0], &old, code);
    if (status != MLT_OK)
        return status;
    status = of_one(c, &old, out);
    mlt_type_unmake(&old);
    return status;
}

mlt_status mlt_datarep_type(mlt_rank *me, const mlt_datarep *rep, const mlt_type *type,
                            mlt_type *out, int *code)
{
    *code = MPI_SUCCESS;
    return rebuild(me, rep, type, out, code);
}

// ---- data

// Calls the user's function, for as many elements at a time as an int counts.
static int convert_here(mlt_rank *me, const mlt_datarep *rep, bool writes, const mlt_type *type,
                        void *buf, uint64_t count, void *file)
{
    MPI_Datarep_conversion_function *fn = writes ? rep->write : rep->read;
    MPI_Datarep_conversion_function_c *fn_c = writes ? rep->write_c : rep->read_c;
    MPI_Datatype handle = mlt_dtype_handle(type);
    bool hidden = !type->code && mlt_dtype_show(type);
    mlt_type made;
    int code;
    if (mlt_datarep_type(me, rep, type, &made, &code) != MLT_OK)
        return code == MPI_SUCCESS ? MPI_ERR_CONVERSION : code;
    mlt_outside outside = mlt_thread_step_out(me);
    for (uint64_t at = 0; at < count && code == MPI_SUCCESS;) {
        uint64_t n = fn && count - at > INT_MAX ? INT_MAX : count - at;
        void *there = (char *)file + at * made.size;
        code = fn ? fn(buf, handle, (int)n, there, (MPI_Offset)at, rep->state)
                  : fn_c(buf, handle, (MPI_Count)n, there, (MPI_Offset)at, rep->state);
        at += n;
    }
    mlt_thread_step_in(me, outside);
    mlt_type_unmake(&made);
    if (hidden)
        mlt_dtype_hide(type);
    return code;
}

// The user's function gets a copy in host memory, laid out alike, of elements in memory of a device.
static int convert_by_host(mlt_rank *me, const mlt_datarep *rep, bool writes, const mlt_type *type,
                           void *buf, uint64_t count, void *file)
{
    const mlt_type *original = mlt_dtype_original(type);
    int64_t steps = (int64_t)(count - 1) * type->extent;
    int64_t low = type->true_lb + (steps < 0 ? steps : 0);
    uint64_t bytes = count * type->size;
    char *memory = mlt_xcalloc((size_t)(type->true_extent + llabs(steps)), 1);
    void *copy = (void *)((uintptr_t)memory - (uintptr_t)low);
    mlt_type_move(original, copy, type, buf, 0, bytes);
    int code = convert_here(me, rep, writes, original, copy, count, file);
    if (!writes)
        mlt_type_move(type, buf, original, copy, 0, bytes);
    free(memory);
    return code;
}

static int datarep_convert(mlt_rank *me, const mlt_datarep *rep, bool writes, const mlt_type *type,
                           void *buf, uint64_t count, void *file)
{
    return (type->device && count ? convert_by_host : convert_here)(me, rep, writes, type, buf,
                                                                    count, file);
}

int mlt_datarep_write(mlt_rank *me, const mlt_datarep *rep, const mlt_type *type, const void *buf,
                      uint64_t count, void *file)
{
    if (rep->kind == MLT_DATAREP_EXTERNAL32)
        mlt_external32_pack(type, buf, count, file);
    else if (rep->write || rep->write_c)
        return datarep_convert(me, rep, true, type, (void *)(uintptr_t)buf, count, file);
    else
        mlt_type_pack(type, buf, 0, file, count * type->size);
    return MPI_SUCCESS;
}

int mlt_datarep_read(mlt_rank *me, const mlt_datarep *rep, const mlt_type *type, void *buf,
                     uint64_t count, const void *file)
{
    if (rep->kind == MLT_DATAREP_EXTERNAL32)
        mlt_external32_unpack(type, buf, count, file);
    else if (rep->read || rep->read_c)
        return datarep_convert(me, rep, false, type, buf, count, (void *)(uintptr_t)file);
    else
        mlt_type_unpack(type, buf, 0, file, count * type->size);
    return MPI_SUCCESS;
}
