// SPDX-License-Identifier: BSD-3-Clause
// Another implementation of the standard ABI, as small as can be: a job of seven ranks of which this process is rank 0. The
// others seem to send it twice their numbers. It includes no header of Millet's: handles and error classes are the numbers that
// the standard's chapter on the ABI has.
#include <stdint.h>

enum { SUCCESS = 0, ERR_TYPE = 3, ERR_COMM = 5 };
enum { COMM_WORLD = 0x101, INT = 0x209 };

int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Comm_rank(void *comm, int *rank);
int MPI_Comm_size(void *comm, int *size);
int MPI_Send(const void *buf, int count, void *type, int dest, int tag, void *comm);
int MPI_Recv(void *buf, int count, void *type, int source, int tag, void *comm, void *status);

int MPI_Init(int *argc, char ***argv)
{
    return SUCCESS;
}

int MPI_Finalize(void)
{
    return SUCCESS;
}

int MPI_Comm_rank(void *comm, int *rank)
{
    *rank = 0;
    return (uintptr_t)comm == COMM_WORLD ? SUCCESS : ERR_COMM;
}

int MPI_Comm_size(void *comm, int *size)
{
    *size = (uintptr_t)comm == COMM_WORLD ? 7 : 0;
    return (uintptr_t)comm == COMM_WORLD ? SUCCESS : ERR_COMM;
}

int MPI_Send(const void *buf, int count, void *type, int dest, int tag, void *comm)
{
    return (uintptr_t)type == INT ? SUCCESS : ERR_TYPE;
}

int MPI_Recv(void *buf, int count, void *type, int source, int tag, void *comm, void *status)
{
    if ((uintptr_t)type != INT || status)
        return ERR_TYPE;
    *(int *)buf = 2 * source;
    return SUCCESS;
}
