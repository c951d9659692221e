// SPDX-License-Identifier: BSD-3-Clause
// A section with gaps is a run of bytes (`block`), repeated at a stride, and that again, and so on:
// dimensions without gaps between them are joined first. What MPI says of a buffer holds for the
// sequence of the section's elements: datatypes are laid over it as if there were no gaps.
#include "fortran/section.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/fortran.h"

bool mlt_f_has_gaps(const mlt_f_section *s)
{
    ptrdiff_t next = (ptrdiff_t)s->element;
    bool gaps = false;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i].extent == 0)
            return false;
        gaps |= s->dim[i].stride != next && s->dim[i].extent != 1;
        next = s->dim[i].stride * s->dim[i].extent;
    }
    return gaps;
}

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

// ---- a datatype of all basic elements, for those with gaps of their own

typedef struct pieces {
    const shape *sh;
    int64_t n, room;
    MPI_Count *length, *place;
    MPI_Datatype *type;
    bool full; // memory is exhausted
} pieces;

static bool make_room(pieces *p)
{
    int64_t room = p->room ? 2 * p->room : 64;
    void *length = realloc(p->length, (size_t)room * sizeof *p->length);
    p->length = length ? length : p->length;
    void *place = realloc(p->place, (size_t)room * sizeof *p->place);
    p->place = place ? place : p->place;
    void *type = realloc(p->type, (size_t)room * sizeof *p->type);
    p->type = type ? type : p->type;
    if (length && place && type)
        p->room = room;
    return length && place && type;
}

static void add_piece(pieces *p, MPI_Datatype unit, int64_t size, int64_t n, int64_t place)
{
    int64_t last = p->n - 1;
    if (last >= 0 && p->type[last] == unit && p->place[last] + p->length[last] * size == place) {
        p->length[last] += n;
        return;
    }
    if (p->n == p->room && (p->full || !make_room(p))) {
        p->full = true;
        return;
    }
    p->type[p->n] = unit;
    p->place[p->n] = place;
    p->length[p->n++] = n;
}

// Where byte `at` of the elements lies, and how many follow it without a gap.
static int64_t place_of(const shape *sh, int64_t at, int64_t *follow)
{
    int64_t place = 0;
    for (int level = sh->levels - 1; level >= 0; level--) {
        place += at / sh->inside[level] * sh->stride[level];
        at %= sh->inside[level];
    }
    *follow = sh->block - at;
    return place + at;
}

static void add_element(void *user, MPI_Datatype basic, int64_t size, int64_t at)
{
    pieces *p = user;
    int64_t follow, place = place_of(p->sh, at, &follow);
    if (follow >= size) {
        add_piece(p, basic, size, 1, place);
        return;
    }
    for (int64_t n; size > 0; size -= n, at += n) { // it reaches over a gap
        place = place_of(p->sh, at, &follow);
        n = follow < size ? follow : size;
        add_piece(p, MPI_BYTE, 1, n, place);
    }
}

static int enter_elements(mlt_f_part *part, const shape *sh)
{
    pieces p = {.sh = sh};
    mlt_fortran_elements(part->type, part->count, add_element, &p);
    MPI_Datatype made;
    if (!p.full &&
        PMPI_Type_create_struct_c(p.n, p.length, p.place, p.type, &made) == MPI_SUCCESS) {
        take(part, made, 0);
        part->count = 1;
    }
    free(p.length);
    free(p.place);
    free(p.type);
    return part->made ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

// ---- a copy

typedef struct mlt_f_copy {
    mlt_fortran_copy copy;
    shape sh;
    char *section;
    _Alignas(16) char data[];
} mlt_f_copy;

// Bytes [from, from + bytes) of the elements of a level.
static void move_level(const shape *sh, int level, char *section, char *data, int64_t from,
                       int64_t bytes, bool back)
{
    if (level == 0) {
        memcpy(back ? section + from : data, back ? data : section + from, (size_t)bytes);
        return;
    }
    int64_t inside = sh->inside[level - 1], i = from / inside, skip = from % inside;
    for (int64_t n; bytes > 0; bytes -= n, data += n, skip = 0, i++) {
        n = bytes < inside - skip ? bytes : inside - skip;
        move_level(sh, level - 1, section + i * sh->stride[level - 1], data, skip, n, back);
    }
}

static void move(mlt_fortran_copy *copy, int64_t from, int64_t bytes, bool back)
{
    mlt_f_copy *c = (mlt_f_copy *)copy;
    move_level(&c->sh, c->sh.levels, c->section, c->data + from, from, bytes, back);
}

static void free_copy(mlt_fortran_copy *copy)
{
    free(copy);
}

static int enter_copy(mlt_f_part *part, const shape *sh, void *section, bool out)
{
    int64_t bytes = bytes_of(sh);
    mlt_f_copy *c = malloc(sizeof *c + (size_t)bytes);
    if (!c)
        return MPI_ERR_NO_MEM;
    *c = (mlt_f_copy){{.move = move, .free = free_copy, .bytes = bytes, .out = out}, *sh, section};
    part->copy = c;
    part->address = c->data;
    move(&c->copy, 0, bytes, false);
    return MPI_SUCCESS;
}

// The call must not need more than the section has. Errors of the datatype are left to C's function.
static int check_size(mlt_f_part *part, const shape *sh)
{
    MPI_Count lb, extent, true_lb, true_extent;
    int64_t n = part->parts ? part->parts * part->count : part->count;
    if (!part->type || PMPI_Type_get_extent_c(part->type, &lb, &extent) ||
        PMPI_Type_get_true_extent_c(part->type, &true_lb, &true_extent))
        return MPI_ERR_TYPE;
    if (true_lb < 0 || (n - 1) * extent + true_lb + true_extent > bytes_of(sh))
        return MPI_ERR_COUNT;
    return MPI_SUCCESS;
}

int mlt_f_enter(mlt_f_part *part, const mlt_f_section *s, mlt_f_mode mode, mlt_f_fallback fallback,
                bool out, int code)
{
    if (code != MPI_SUCCESS || !MLT_F_GAPS(s))
        return code;
    shape sh = shape_of(s);
    bool any = mode == MLT_F_COPY || mode == MLT_F_VECTOR || part->count > 0;
    if (!any || !sh.levels) // C's function has the last word
        return MPI_SUCCESS;
    if (mode == MLT_F_SINGLE || part->parts) {
        code = check_size(part, &sh);
        if (code != MPI_SUCCESS)
            return code == MPI_ERR_TYPE ? MPI_SUCCESS : code;
    }
    if (mode != MLT_F_COPY && enter_type(part, &sh, mode))
        return MPI_SUCCESS;
    if (fallback == MLT_F_TYPED)
        return enter_elements(part, &sh);
    MPI_Count lb, extent = 0;
    if (part->parts)
        PMPI_Type_get_extent_c(part->type, &lb, &extent);
    code = enter_copy(part, &sh, s->base, out);
    if (code == MPI_SUCCESS)
        part->copy->copy.part = part->count * extent;
    return code;
}

void mlt_f_leave(mlt_f_part *part)
{
    if (part->made)
        PMPI_Type_free(&part->made);
    if (part->copy && part->copy->copy.out)
        move(&part->copy->copy, 0, part->copy->copy.bytes, true);
    free(part->copy);
}

void mlt_f_keep(mlt_f_part *part, int code, MPI_Request request)
{
    if (part->made)
        PMPI_Type_free(&part->made);
    if (part->copy && code == MPI_SUCCESS)
        mlt_fortran_keep(request, &part->copy->copy);
    else
        free(part->copy);
}

int mlt_f_refuse(MPI_Comm comm, const char *function, int code)
{
    static const char *const texts[] = {
        [MPI_ERR_COUNT] = "a buffer is a section with gaps that has fewer elements than the count "
                          "and the datatype say",
        [MPI_ERR_NO_MEM] = "memory is exhausted: no room for a copy of a section with gaps",
    };
    return mlt_fortran_raise(comm, function, code, texts[code]);
}
