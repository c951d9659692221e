// SPDX-License-Identifier: BSD-3-Clause
#include "fortran/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Ends the program: a copy of arguments is all that is asked for here.
static void *room(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory) {
        fprintf(stderr, "libmpi_fortran: memory is exhausted: no room for %zu bytes of arguments\n",
                bytes);
        abort();
    }
    return memory;
}

// ---- handles

void *_Atomic mlt_f_known_handles[MLT_F_KNOWN];
_Atomic uint64_t mlt_f_known_numbers[MLT_F_HASHES];

void *mlt_f_learn_handle(MPI_Fint number)
{
    uint32_t index = (uint32_t)number - MLT_F_PREDEFINED;
    void *handle = mlt_fortran_handle(number);
    if (index < MLT_F_KNOWN)
        atomic_store_explicit(&mlt_f_known_handles[index], handle, memory_order_relaxed);
    return handle;
}

MPI_Fint mlt_f_learn_number(const void *handle)
{
    MPI_Fint number = mlt_fortran_number(handle);
    uint64_t index = (uint32_t)number - MLT_F_PREDEFINED;
    if (index < MLT_F_KNOWN && (uintptr_t)handle >> 48 == 0)
        atomic_store_explicit(&mlt_f_known_numbers[mlt_f_hash(handle)],
                              (uintptr_t)handle | index << 48, memory_order_relaxed);
    return number;
}

void **mlt_f_room_for_handles(int64_t n)
{
    return room((size_t)n * sizeof(void *));
}

void mlt_f_free_handles(void **handles)
{
    free(handles);
}

// Errors come with the call that follows; here they mean no datatypes.
int mlt_f_peers(MPI_Comm comm, mlt_f_peers_kind kind, mlt_f_peers_side side)
{
    int inter = 0, n = 0, kind_of_topology = MPI_UNDEFINED, in = 0, out = 0, weighted;
    if (comm == MPI_COMM_NULL || !comm)
        return 0;
    if (kind == MLT_F_RANKS) {
        PMPI_Comm_test_inter(comm, &inter);
        if (inter)
            PMPI_Comm_remote_size(comm, &n);
        else
            PMPI_Comm_size(comm, &n);
        return n;
    }
    PMPI_Topo_test(comm, &kind_of_topology);
    if (kind_of_topology == MPI_CART) {
        PMPI_Cartdim_get(comm, &n);
        return 2 * n;
    }
    if (kind_of_topology == MPI_GRAPH) {
        int rank;
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, &n);
        return n;
    }
    if (kind_of_topology == MPI_DIST_GRAPH)
        PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    return side == MLT_F_OUT ? out : in;
}

// ---- strings

char *mlt_f_text(char *few, const char *text, size_t length)
{
    while (length > 0 && text[length - 1] == ' ')
        length--;
    char *copy = length < MLT_F_TEXT ? few : room(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *mlt_f_text_trimmed(char *few, const char *text, size_t length)
{
    while (length > 0 && *text == ' ') {
        text++;
        length--;
    }
    return mlt_f_text(few, text, length);
}

void mlt_f_text_end(char *few, char *text)
{
    if (text != few)
        free(text);
}

void mlt_f_text_out(char *to, size_t length, const char *text)
{
    size_t n = strlen(text);
    if (n > length)
        n = length;
    memcpy(to, text, n);
    memset(to + n, ' ', length - n);
}
