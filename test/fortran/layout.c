// SPDX-License-Identifier: BSD-3-Clause
// The descriptor that libmpi_fortran reads is the compiler's.
#include <ISO_Fortran_binding.h>
#include <stddef.h>

#include "fortran/section.h"

#define SAME(ours, theirs)                                                                         \
    _Static_assert(offsetof(mlt_f_section, ours) == offsetof(CFI_cdesc_t, theirs), #ours)
SAME(base, base_addr);
SAME(element, elem_len);
SAME(version, version);
SAME(rank, rank);
SAME(dim, dim);
_Static_assert(sizeof(((mlt_f_section *)0)->dim[0]) == sizeof(CFI_dim_t), "dim");
_Static_assert(offsetof(CFI_dim_t, sm) == 2 * sizeof(ptrdiff_t), "stride");
