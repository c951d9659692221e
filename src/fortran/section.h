// SPDX-License-Identifier: BSD-3-Clause
// Buffers of mpi_f08: the C descriptor of an array or section (Fortran 2018, 18.5), and how one with
// gaps is handed to a C function.
//
// gfortran and flang lay out the fields that are used here alike; what lies between them differs, and
// is not touched. That lets one library serve both.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MLT_F_RANKS_MOST = 15 };

typedef struct mlt_f_section {
    void *base;
    size_t element; // bytes
    int version;
    int8_t rank;
    int8_t compilers_own[3];
    struct {
        ptrdiff_t lower, extent; // extent -1: the last one of an array of assumed size
        ptrdiff_t stride;        // bytes
    } dim[MLT_F_RANKS_MOST];
} mlt_f_section;

// A section with gaps becomes
typedef enum mlt_f_mode {
    MLT_F_SINGLE, // one element of a derived datatype with the gaps in it
    MLT_F_BLOCKS, // the same for each of several blocks of `count`, which must lie evenly
    MLT_F_VECTOR, // a datatype as long as the stride: counts and displacements stay what they are
    MLT_F_COPY,   // a copy without gaps, whatever the arguments
} mlt_f_mode;

// What is done if that is impossible.
typedef enum mlt_f_fallback {
    MLT_F_COPIED, // a blocking call works on a copy
    MLT_F_KEPT,   // so does one with a request, which has the copy until it is freed
    MLT_F_TYPED,  // a datatype is made of all basic elements (only SINGLE): always possible
} mlt_f_fallback;

// A buffer as C's function gets it.
typedef struct mlt_f_part {
    void *address;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Count parts;         // of a partitioned message, each of `count` elements; 0: it is none
    MPI_Datatype made;       // to be freed; 0: none
    struct mlt_f_copy *copy; // NULL: none
} mlt_f_part;

// True if the section has gaps. One without any elements has none.
bool mlt_f_has_gaps(const mlt_f_section *s);

// False: it has none; the usual case needs no call.
static inline bool mlt_f_may_have_gaps(const mlt_f_section *s)
{
    return s->rank != 0 && (s->rank != 1 || s->dim[0].stride != (ptrdiff_t)s->element);
}

#define MLT_F_GAPS(s) (__builtin_expect(mlt_f_may_have_gaps(s) && mlt_f_has_gaps(s), 0))

// Changes a part for its section, if that has gaps. `code` is that of the parts before it: with an error
// nothing is done. Returns an error class; mlt_f_refuse says what it means.
int mlt_f_enter(mlt_f_part *part, const mlt_f_section *s, mlt_f_mode mode, mlt_f_fallback fallback,
                bool out, int code);

// After a blocking call.
void mlt_f_leave(mlt_f_part *part);

// After a call that has made a request, or returned an error.
void mlt_f_keep(mlt_f_part *part, int code, MPI_Request request);

// Raises the error of mlt_f_enter in the name of a function.
int mlt_f_refuse(MPI_Comm comm, const char *function, int code);
