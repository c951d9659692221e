// SPDX-License-Identifier: BSD-3-Clause
// A section with gaps is a run of bytes (`block`), repeated at a stride, and that again, and so on:
// dimensions without gaps between them are joined first. What MPI says of a buffer holds for the
// sequence of the section's elements: datatypes are laid over it as if there were no gaps.
#include "fortran/section.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/fortran.h"

typedef struct shape {
    int64_t block; // bytes without a gap
    int levels;
    int64_t extent[MLT_F_RANKS_MOST];
    int64_t stride[MLT_F_RANKS_MOST];
    int64_t inside[MLT_F_RANKS_MOST]; // bytes of one piece of this level: of all levels below it
} shape;

static shape shape_of(const mlt_f_section *s)
{
    shape out = {.block = (int64_t)s->element};
    for (int i = 0; i < s->rank; i++) {
        int64_t extent = s->dim[i].extent, stride = s->dim[i].stride;
        if (extent == 1)
            continue;
        if (out.levels == 0 && stride == out.block) {
            out.block *= extent;
            continue;
        }
        int below = out.levels - 1;
        if (below >= 0 && stride == out.extent[below] * out.stride[below]) {
            out.extent[below] *= extent;
            continue;
        }
        out.inside[out.levels] = below < 0 ? out.block : out.inside[below] * out.extent[below];
        out.extent[out.levels] = extent;
        out.stride[out.levels++] = stride;
    }
    return out;
}

static int64_t bytes_of(const shape *sh)
{
    return sh->levels ? sh->inside[sh->levels - 1] * sh->extent[sh->levels - 1] : sh->block;
}

// ---- a datatype

// A named type that the elements of a dense one are, and its size; a type with gaps has none.
static bool unit_of(MPI_Datatype type, MPI_Datatype *unit, int64_t *size)
{
    int integers, addresses, types, combiner;
    MPI_Datatype inner = type;
    for (;;) {
        if (PMPI_Type_get_envelope(inner, &integers, &addresses, &types, &combiner))
            return false;
        if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP)
            break;
        int n[1];
        MPI_Aint none[1];
        MPI_Datatype next;
        if (PMPI_Type_get_contents(inner, integers, 0, 1, n, none, &next))
            return false;
        if (inner != type)
            PMPI_Type_free(&inner);
        inner = next;
    }
    MPI_Count lb, extent, bytes;
    bool named = combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
                 combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
    PMPI_Type_get_extent_c(inner, &lb, &extent);
    PMPI_Type_size_c(inner, &bytes);
    if (!named && inner != type)
        PMPI_Type_free(&inner);
    *unit = inner;
    *size = bytes;
    return named && bytes == extent && bytes > 0;
}

// The first `bytes` of the section up to a level, in units.
static MPI_Datatype type_of(const shape *sh, int level, int64_t bytes, MPI_Datatype unit,
                            int64_t size)
{
    MPI_Datatype made, part[2];
    if (level == 0) {
        PMPI_Type_contiguous_c(bytes / size, unit, &made);
        return made;
    }
    int64_t inside = sh->inside[level - 1], full = bytes / inside, rest = bytes % inside;
    part[0] = type_of(sh, level - 1, inside, unit, size);
    PMPI_Type_create_hvector_c(full, 1, sh->stride[level - 1], part[0], &made);
    PMPI_Type_free(&part[0]);
    if (rest == 0)
        return made;
    part[0] = made;
    part[1] = type_of(sh, level - 1, rest, unit, size);
    PMPI_Type_create_struct_c(2, (MPI_Count[]){1, 1},
                              (MPI_Count[]){0, full * sh->stride[level - 1]}, part, &made);
    PMPI_Type_free(&part[0]);
    PMPI_Type_free(&part[1]);
    return made;
}

static void take(mlt_f_part *part, MPI_Datatype made, int64_t extent)
{
    part->made = made;
    if (extent) {
        PMPI_Type_create_resized_c(made, 0, extent, &part->made);
        PMPI_Type_free(&made);
    }
    PMPI_Type_commit(&part->made);
    part->type = part->made;
}

// False: there is no such datatype.
static bool enter_type(mlt_f_part *part, const shape *sh, mlt_f_mode mode)
{
    MPI_Datatype unit;
    int64_t size;
    MPI_Count lb, extent;
    if (!unit_of(part->type, &unit, &size) || PMPI_Type_get_extent_c(part->type, &lb, &extent))
        return false;
    if (mode == MLT_F_VECTOR) { // elements stay elements
        if (sh->levels != 1 || sh->block != extent)
            return false;
        MPI_Datatype copy;
        PMPI_Type_dup(part->type, &copy);
        take(part, copy, sh->stride[0]);
        return true;
    }
    int64_t bytes = part->count * extent, last = sh->levels - 1;
    if (sh->block % size) { // a number reaches over a gap
        unit = MPI_BYTE;
        size = 1;
    }
    if (mode == MLT_F_BLOCKS && bytes % sh->inside[last])
        return false;
    int64_t step = mode == MLT_F_BLOCKS ? bytes / sh->inside[last] * sh->stride[last] : 0;
    take(part, type_of(sh, sh->levels, bytes, unit, size), step);
    part->count = 1;
    return true;
}

// ---- a copy

static void copy_level(const shape *sh, int level, char *section, char **copy, bool back)
{
    if (level == 0) {
        memcpy(back ? section : *copy, back ? *copy : section, (size_t)sh->block);
        *copy += sh->block;
        return;
    }
    for (int64_t i = 0; i < sh->extent[level - 1]; i++)
        copy_level(sh, level - 1, section + i * sh->stride[level - 1], copy, back);
}

int mlt_f_enter(mlt_f_part *part, const mlt_f_section *s, mlt_f_mode mode, mlt_f_way way, bool out,
                int code)
{
    if (code != MPI_SUCCESS || !MLT_F_GAPS(s))
        return code;
    shape sh = shape_of(s);
    bool any = mode == MLT_F_COPY || mode == MLT_F_VECTOR || part->count > 0;
    if (!any || !sh.levels) // C's function has the last word
        return MPI_SUCCESS;
    if (mode == MLT_F_SINGLE) {
        MPI_Count lb, extent = 0;
        if (part->type && PMPI_Type_get_extent_c(part->type, &lb, &extent))
            return MPI_SUCCESS; // it is raised there, too
        if (part->count > bytes_of(&sh) / (extent > 0 ? extent : 1))
            return MPI_ERR_COUNT;
    }
    if (mode != MLT_F_COPY && enter_type(part, &sh, mode))
        return MPI_SUCCESS;
    if (way == MLT_F_NEVER)
        return MPI_ERR_BUFFER;
    char *copy = malloc((size_t)bytes_of(&sh));
    if (!copy)
        return MPI_ERR_NO_MEM;
    part->address = part->copy = copy;
    part->out = out;
    copy_level(&sh, sh.levels, s->base, &copy, false);
    return MPI_SUCCESS;
}

void mlt_f_leave(mlt_f_part *part, const mlt_f_section *s)
{
    if (part->made)
        PMPI_Type_free(&part->made);
    if (!part->copy)
        return;
    shape sh = shape_of(s);
    char *copy = part->copy;
    if (part->out)
        copy_level(&sh, sh.levels, s->base, &copy, true);
    free(part->copy);
}

int mlt_f_refuse(MPI_Comm comm, const char *function, int code)
{
    static const char *const texts[] = {
        [MPI_ERR_COUNT] = "a buffer is a section with gaps that has fewer elements than the count "
                          "and the datatype say",
        [MPI_ERR_BUFFER] = "a buffer is a section with gaps that this call cannot be given: it "
                           "computes with it, or its blocks or datatype do not fit the section's "
                           "strides; use an array without gaps, or the blocking call",
        [MPI_ERR_NO_MEM] = "memory is exhausted: no room for a copy of a section with gaps",
    };
    return mlt_fortran_raise(comm, function, code, texts[code]);
}
