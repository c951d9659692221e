// SPDX-License-Identifier: BSD-3-Clause
// Packing and unpacking. The packed form is what travels: the data in the order of the type map,
// without a header; so it may be sent as MPI_PACKED and received as the type, and the other way
// round.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gpu/gpu.h"
#include "mpi/error/error.h"
#include "mpi/type/external32.h"
#include "mpi_bodies.h"
#include "type/type.h"

// The packed side of a call: `need` bytes from *position must lie in the `size` bytes of a buffer.
static int pack_check_room(mlt_rank *me, mlt_comm *comm, const void *buffer, const char *name,
                           const char *size_name, int64_t size, int64_t position, uint64_t need)
{
    if (size < 0)
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_ARG, size_name, size, "at least 0");
    if (position < 0 || position > size)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG,
                             "argument position points at %lld, but should be from 0 to %lld, as "
                             "%s says",
                             (long long)position, (long long)size, size_name);
    if (need > (uint64_t)(size - position))
        return mlt_mpi_raise(
            me, comm, me->fn, MPI_ERR_TRUNCATE,
            "argument %s is %lld, but should be at least %llu: %llu bytes are needed after "
            "position %lld, so %llu are missing",
            size_name, (long long)size, (unsigned long long)position + need,
            (unsigned long long)need, (long long)position,
            (unsigned long long)(need - (uint64_t)(size - position)));
    if (!buffer && need > 0)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_BUFFER, name,
                            "the address of the packed data");
    return MPI_SUCCESS;
}

int mlt_mpi_Pack(mlt_rank *me, const void *inbuf, MPI_Count incount, const mlt_type *datatype,
                 void *outbuf, MPI_Count outsize, MPI_Count *position, mlt_comm *comm)
{
    uint64_t bytes = (uint64_t)incount * datatype->size;
    int code = pack_check_room(me, comm, outbuf, "outbuf", "outsize", outsize, *position, bytes);
    if (code != MPI_SUCCESS)
        return code;
    if (bytes > 0)
        mlt_type_pack(datatype, inbuf, 0, (char *)outbuf + *position, bytes);
    *position += (MPI_Count)bytes;
    return MPI_SUCCESS;
}

int mlt_mpi_Unpack(mlt_rank *me, const void *inbuf, MPI_Count insize, MPI_Count *position,
                   void *outbuf, MPI_Count outcount, const mlt_type *datatype, mlt_comm *comm)
{
    uint64_t bytes = (uint64_t)outcount * datatype->size;
    int code = pack_check_room(me, comm, inbuf, "inbuf", "insize", insize, *position, bytes);
    if (code != MPI_SUCCESS)
        return code;
    if (bytes > 0)
        mlt_type_unpack(datatype, outbuf, 0, (const char *)inbuf + *position, bytes);
    *position += (MPI_Count)bytes;
    return MPI_SUCCESS;
}

// ---- external32

static int check_datarep(mlt_rank *me, const char *datarep)
{
    if (datarep && strcmp(datarep, "external32") == 0)
        return MPI_SUCCESS;
    return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_ARG,
                         "argument datarep is \"%.40s\", but should be \"external32\"",
                         datarep ? datarep : "");
}

// The packed bytes may be in memory of a device as well.
static void pack_by_host(const mlt_type *datatype, const void *inbuf, uint64_t count, void *to,
                         uint64_t bytes)
{
    char *here = mlt_xrealloc(NULL, bytes, 1);
    mlt_external32_pack(datatype, inbuf, count, here);
    mlt_gpu_copy(to, here, bytes);
    free(here);
}

static void unpack_by_host(const mlt_type *datatype, void *outbuf, uint64_t count, const void *from,
                           uint64_t bytes)
{
    char *here = mlt_xrealloc(NULL, bytes, 1);
    mlt_gpu_copy(here, from, bytes);
    mlt_external32_unpack(datatype, outbuf, count, here);
    free(here);
}

int mlt_mpi_Pack_external(mlt_rank *me, const char datarep[], const void *inbuf, MPI_Count incount,
                          const mlt_type *datatype, void *outbuf, MPI_Count outsize,
                          MPI_Count *position)
{
    uint64_t bytes = (uint64_t)incount * mlt_external32_size(datatype);
    int code = check_datarep(me, datarep);
    if (code == MPI_SUCCESS)
        code = pack_check_room(me, NULL, outbuf, "outbuf", "outsize", outsize, *position, bytes);
    if (code != MPI_SUCCESS)
        return code;
    char *to = (char *)outbuf + *position;
    if (bytes > 0 && datatype->device)
        pack_by_host(datatype, inbuf, (uint64_t)incount, to, bytes);
    else if (bytes > 0)
        mlt_external32_pack(datatype, inbuf, (uint64_t)incount, to);
    *position += (MPI_Count)bytes;
    return MPI_SUCCESS;
}

int mlt_mpi_Unpack_external(mlt_rank *me, const char datarep[], const void *inbuf, MPI_Count insize,
                            MPI_Count *position, void *outbuf, MPI_Count outcount,
                            const mlt_type *datatype)
{
    uint64_t bytes = (uint64_t)outcount * mlt_external32_size(datatype);
    int code = check_datarep(me, datarep);
    if (code == MPI_SUCCESS)
        code = pack_check_room(me, NULL, inbuf, "inbuf", "insize", insize, *position, bytes);
    if (code != MPI_SUCCESS)
        return code;
    const char *from = (const char *)inbuf + *position;
    if (bytes > 0 && datatype->device)
        unpack_by_host(datatype, outbuf, (uint64_t)outcount, from, bytes);
    else if (bytes > 0)
        mlt_external32_unpack(datatype, outbuf, (uint64_t)outcount, from);
    *position += (MPI_Count)bytes;
    return MPI_SUCCESS;
}

int mlt_mpi_Pack_external_size(mlt_rank *me, const char datarep[], MPI_Count incount,
                               const mlt_type *datatype, MPI_Count *size)
{
    int code = check_datarep(me, datarep);
    if (code == MPI_SUCCESS)
        *size = (MPI_Count)((uint64_t)incount * mlt_external32_size(datatype));
    return code;
}
