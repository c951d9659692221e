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

void **mlt_f_handles(void **few, const MPI_Fint *numbers, int64_t n)
{
    void **handles = n <= MLT_F_FEW ? few : room((size_t)n * sizeof *handles);
    for (int64_t i = 0; i < n; i++)
        handles[i] = numbers ? mlt_f_handle(numbers[i]) : NULL;
    return handles;
}

void mlt_f_handles_end(void **few, void **handles)
{
    if (handles != few)
        free(handles);
}

void mlt_f_numbers(MPI_Fint *numbers, void *const *handles, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (handles[i])
            numbers[i] = mlt_f_number(handles[i]);
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

static char *copy_of(char *few, const char *text, size_t length)
{
    while (length > 0 && text[length - 1] == ' ')
        length--;
    char *copy = length < MLT_F_TEXT ? few : room(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *mlt_f_text(char *few, const char *text, size_t length)
{
    return copy_of(few, text, length);
}

char *mlt_f_text_trimmed(char *few, const char *text, size_t length)
{
    while (length > 0 && *text == ' ') {
        text++;
        length--;
    }
    return copy_of(few, text, length);
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
