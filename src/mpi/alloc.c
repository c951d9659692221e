// SPDX-License-Identifier: BSD-3-Clause
// MPI_Alloc_mem: memory that other processes of the host could map (boot/shmem.h).
#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "boot/shmem.h"
#include "mpi/error/error.h"
#include "mpi/info/info.h"
#include "mpi_bodies.h"
#include "os/os.h"

// From this size on, the machine's memory is looked at: the system promises more than it has.
enum { WORTH_A_LOOK = 64 << 20 };

// The value of the info key; false if it is no power of two.
static bool read_alignment(const char *text, size_t *align)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *align = (size_t)value;
    return end != text && *end == '\0' && errno == 0 && value > 0 && (value & (value - 1)) == 0;
}

static int alloc_no_memory(mlt_rank *me, MPI_Aint size, size_t align)
{
    if (align > 1)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_NO_MEM,
                             MLT_NO_ROOM "%lld bytes at a multiple of %zu", (long long)size, align);
    return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_NO_MEM, MLT_NO_ROOM "%lld bytes",
                         (long long)size);
}

int mlt_mpi_Alloc_mem(mlt_rank *me, MPI_Aint size, MPI_Info info, void *baseptr)
{
    size_t align = 1;
    const mlt_info *hints = mlt_info_of(info);
    if (!hints && info != MPI_INFO_NULL)
        return mlt_bad_info(me, NULL, me->fn, info);
    if (size < 0)
        return mlt_bad_value(me, NULL, me->fn, MPI_ERR_ARG, "size", size, "at least 0");
    const char *wanted = mlt_info_get(hints, "mpi_minimum_memory_alignment");
    if (wanted && !read_alignment(wanted, &align))
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_INFO_VALUE,
                             "the value of info key mpi_minimum_memory_alignment is \"%.64s\", but "
                             "should be a power of two",
                             wanted);
    mlt_os_memory machine;
    if (size >= WORTH_A_LOOK && mlt_os_memory_state(&machine) == MLT_OK &&
        (uint64_t)size > machine.total)
        return alloc_no_memory(me, size, align);
    void *address = mlt_shmem_alloc((size_t)size, align);
    if (!address)
        return alloc_no_memory(me, size, align);
    *(void **)baseptr = address;
    return MPI_SUCCESS;
}

int mlt_mpi_Free_mem(mlt_rank *me, void *base)
{
    if (!base || mlt_shmem_free(base))
        return MPI_SUCCESS;
    return mlt_mpi_raise(
        me, NULL, me->fn, MPI_ERR_BASE,
        "argument base is %p, but should be an address that MPI_Alloc_mem gave and "
        "that was not freed since",
        base);
}
