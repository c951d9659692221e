// SPDX-License-Identifier: BSD-3-Clause
// Lists of texts as bytes: what MPI_Comm_spawn asks of mpirun, and what mpirun tells the mpirun of
// the new job. What the lists mean is said in boot/child.h and launch/children/task.h.
//
//     count of lists | for each: count of texts, the texts, each with its NUL
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mlt_lists {
    char ***items;  // [count], each with NULL at its end
    uint32_t count; // of lists
    char *memory;   // of the texts
} mlt_lists;

// The caller frees the bytes. NULL: no memory is left, or a list has more than 2^32 texts.
char *mlt_lists_pack(const mlt_lists *lists, size_t *size);

// False: these are no lists, or no memory is left; nothing is kept.
bool mlt_lists_unpack(mlt_lists *lists, const void *bytes, size_t size);
void mlt_lists_free(mlt_lists *lists); // of what unpack made; and there are none

// The number of texts of a list.
size_t mlt_lists_length(char *const *list);
