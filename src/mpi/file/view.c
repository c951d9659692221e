// SPDX-License-Identifier: BSD-3-Clause
// Views, and where things lie in them.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mpi/file/file.h"
#include "mpi_bodies.h"
#include "type/build.h"

mlt_file_view *mlt_file_view_bytes(void)
{
    mlt_file_view *view = mlt_xcalloc(1, sizeof *view);
    *view = (mlt_file_view){.refs = 1,
                            .etype = MLT_TYPE_BYTE,
                            .filetype = MLT_TYPE_BYTE,
                            .rep = &mlt_datarep_native,
                            .shown = MLT_TYPE_BYTE,
                            .unit = 1,
                            .in_order = true};
    return view;
}

void mlt_file_view_drop(mlt_file_view *view)
{
    if (--view->refs > 0)
        return;
    if (view->shown == &view->made)
        mlt_type_unmake(&view->made);
    mlt_dtype_drop(view->etype);
    mlt_dtype_drop(view->filetype);
    free(view);
}

// ---- MPI_File_set_view

static int check_types(mlt_rank *me, mlt_file *file, const mlt_type *etype,
                       const mlt_type *filetype)
{
    if (!etype || !filetype)
        return mlt_file_raise(me, file, MPI_ERR_TYPE,
                              "argument %s is no valid datatype of this rank",
                              etype ? "filetype" : "etype");
    if (!etype->committed || !filetype->committed)
        return mlt_file_raise(me, file, MPI_ERR_TYPE,
                              "argument %s is a type that was not committed; call MPI_Type_commit "
                              "first",
                              etype->committed ? "filetype" : "etype");
    if (etype->size == 0 || filetype->size % etype->size != 0)
        return mlt_file_raise(
            me, file, MPI_ERR_ARG,
            "argument filetype has %llu bytes of data, but should have a multiple "
            "of the etype's %llu",
            (unsigned long long)filetype->size, (unsigned long long)etype->size);
    return MPI_SUCCESS;
}

// A type as the file holds it; `name` is the argument's.
static int type_in_file(mlt_rank *me, mlt_file *file, const mlt_datarep *rep, const mlt_type *type,
                        const char *name, mlt_type *out)
{
    int code = MPI_SUCCESS;
    if (mlt_datarep_type(me, rep, type, out, &code) == MLT_OK)
        return MPI_SUCCESS;
    return mlt_file_raise(me, file, code == MPI_SUCCESS ? MPI_ERR_CONVERSION : code,
                          "argument %s has no form in representation '%s'", name, rep->name);
}

// The layout that the file has, and whether it can be used.
static int view_lay_out(mlt_rank *me, mlt_file *file, mlt_file_view *view)
{
    bool writes = !(file->shared->amode & MPI_MODE_RDONLY);
    int code = MPI_SUCCESS;
    mlt_type etype;
    view->shown = view->filetype;
    view->unit = view->etype->size;
    if (view->rep->kind != MLT_DATAREP_MEMORY) {
        code = type_in_file(me, file, view->rep, view->filetype, "filetype", &view->made);
        if (code != MPI_SUCCESS)
            return code;
        view->shown = &view->made;
        code = type_in_file(me, file, view->rep, view->etype, "etype", &etype);
        if (code != MPI_SUCCESS)
            return code;
        view->unit = etype.size;
        mlt_type_unmake(&etype);
    }
    view->in_order = mlt_file_in_order(view->shown, false, false);
    if (view->in_order || (!writes && mlt_file_in_order(view->shown, true, false)))
        return MPI_SUCCESS;
    // The extent may be anything as long as accesses need one element only.
    view->in_order = view->once = mlt_file_in_order(view->shown, false, true);
    if (!view->once)
        return mlt_file_raise(
            me, file, MPI_ERR_ARG,
            "the displacements of argument filetype should be at least 0 and never "
            "decrease%s",
            writes ? ", and its parts must not overlap, as the file can be written" : "");
    return MPI_SUCCESS;
}

// MPI_DISPLACEMENT_CURRENT: where the shared pointer is.
static int begin_of(mlt_rank *me, mlt_file *file, int64_t *disp)
{
    bool sequential = file->shared->amode & MPI_MODE_SEQUENTIAL;
    if (*disp == MPI_DISPLACEMENT_CURRENT && sequential) {
        int64_t now = 0;
        int code = MPI_SUCCESS;
        if (file->comm->rank == 0)
            code = mlt_file_pointer_add(me, file, 0, &now);
        mlt_file_bcast(me, file->comm, &now, 0);
        *disp =
            mlt_file_place(file->view->disp, file->view->shown, (uint64_t)now * file->view->unit);
        return code;
    }
    if (sequential || *disp < 0)
        return mlt_file_raise(me, file, MPI_ERR_ARG, "argument disp is %lld, but should be %s",
                              (long long)*disp,
                              sequential ? "MPI_DISPLACEMENT_CURRENT, as the file was opened with "
                                           "MPI_MODE_SEQUENTIAL"
                                         : "at least 0");
    return MPI_SUCCESS;
}

static int make_view(mlt_rank *me, mlt_file *file, int64_t disp, const mlt_type *etype,
                     const mlt_type *filetype, const char *datarep, mlt_file_view **out)
{
    int code = check_types(me, file, etype, filetype);
    const mlt_datarep *rep = datarep ? mlt_datarep_find(me, datarep) : NULL;
    if (code == MPI_SUCCESS && !rep)
        code =
            mlt_file_raise(me, file, MPI_ERR_UNSUPPORTED_DATAREP,
                           "argument datarep is '%s', but should be native, internal, external32 "
                           "or one that MPI_Register_datarep has made",
                           datarep ? datarep : "NULL");
    if (code != MPI_SUCCESS)
        return code;
    mlt_file_view *view = mlt_file_view_bytes();
    mlt_dtype_hold(etype);
    mlt_dtype_hold(filetype);
    view->disp = disp;
    view->etype = etype;
    view->filetype = filetype;
    view->rep = rep;
    code = view_lay_out(me, file, view);
    if (code == MPI_SUCCESS)
        *out = view;
    else
        mlt_file_view_drop(view);
    return code;
}

// All ranks take the new view, or none: somebody's wrong arguments are everybody's error.
int mlt_mpi_File_set_view(mlt_rank *me, mlt_file *file, MPI_Offset disp, const mlt_type *etype,
                          const mlt_type *filetype, const char *datarep, MPI_Info info)
{
    mlt_file_view *view = NULL;
    int64_t begin = disp;
    int code = begin_of(me, file, &begin);
    if (code == MPI_SUCCESS)
        code = mlt_file_check_info(me, file, info);
    if (code == MPI_SUCCESS)
        code = make_view(me, file, begin, etype, filetype, datarep, &view);
    int64_t mine[3] = {code != MPI_SUCCESS, view ? (int64_t)view->unit : 0,
                       view ? -(int64_t)view->unit : INT64_MIN},
            all[3];
    mlt_file_allreduce_max(me, file->comm, mine, all, 3);
    if (code == MPI_SUCCESS && all[0])
        code = mlt_file_raise(me, file, MPI_ERR_ARG, "another rank gave wrong arguments");
    else if (code == MPI_SUCCESS && all[1] != -all[2])
        code = mlt_file_raise(
            me, file, MPI_ERR_NOT_SAME,
            "argument etype has %lld bytes in the file, but others gave one of %lld; "
            "it must be the same on all ranks",
            (long long)mine[1], (long long)(all[1] == mine[1] ? -all[2] : all[1]));
    if (code != MPI_SUCCESS) {
        if (view)
            mlt_file_view_drop(view);
        return code;
    }
    mlt_file_cached_forget(file);
    mlt_file_view_drop(file->view);
    file->view = view;
    file->position = 0;
    if (file->comm->rank == 0)
        code = mlt_file_pointer_set(me, file, 0);
    (void)mlt_blocking_Barrier(me, file->comm);
    return code;
}

// ---- asking

int mlt_mpi_File_get_view(mlt_rank *me, mlt_file *file, MPI_Offset *disp, MPI_Datatype *etype,
                          MPI_Datatype *filetype, char *datarep)
{
    *disp = file->view->disp;
    *etype = mlt_dtype_give(file->view->etype);
    *filetype = mlt_dtype_give(file->view->filetype);
    strcpy(datarep, file->view->rep->name);
    return MPI_SUCCESS;
}

int mlt_mpi_File_get_type_extent(mlt_rank *me, mlt_file *file, const mlt_type *datatype,
                                 MPI_Count *extent)
{
    if (!datatype)
        return mlt_file_raise(me, file, MPI_ERR_TYPE,
                              "argument datatype is no valid datatype of this rank");
    *extent = datatype->extent;
    if (file->view->rep->kind == MLT_DATAREP_MEMORY)
        return MPI_SUCCESS;
    mlt_type made;
    int code = type_in_file(me, file, file->view->rep, datatype, "datatype", &made);
    if (code != MPI_SUCCESS)
        return code;
    *extent = made.extent;
    mlt_type_unmake(&made);
    return MPI_SUCCESS;
}

int mlt_mpi_File_get_byte_offset(mlt_rank *me, mlt_file *file, MPI_Offset offset, MPI_Offset *disp)
{
    int64_t data;
    if (offset < 0 || __builtin_mul_overflow(offset, (int64_t)file->view->unit, &data))
        return mlt_file_raise(me, file, MPI_ERR_ARG,
                              "argument offset is %lld, but should be from 0 to what 63 bits can "
                              "count in bytes",
                              (long long)offset);
    *disp = file->view->shown->size
                ? mlt_file_place(file->view->disp, file->view->shown, (uint64_t)data)
                : file->view->disp;
    return MPI_SUCCESS;
}
