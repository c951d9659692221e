// SPDX-License-Identifier: BSD-3-Clause
// The half of mixed.f90 that is C.
#include <mpi.h>
#include <stdio.h>

static int wrong;

static void check(int holds, const char *what)
{
    if (holds)
        return;
    printf("WRONG in C: %s\n", what);
    wrong++;
}

static int copies(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    *(void **)out = (void *)(*(MPI_Aint *)in + 1); // Fortran has set it: in is an address
    *flag = 1;
    return MPI_SUCCESS;
}

static int received;

void c_half(MPI_Fint f_comm, MPI_Fint f_op, MPI_Fint f_two, MPI_Fint f_handler, int key, int *c_key,
            MPI_Fint *request);
void c_half(MPI_Fint f_comm, MPI_Fint f_op, MPI_Fint f_two, MPI_Fint f_handler, int key, int *c_key,
            MPI_Fint *request)
{
    MPI_Comm comm = MPI_Comm_f2c(f_comm);
    int rank, size, pair[2], sum[2], flag;
    void *value;
    MPI_Request r;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    pair[0] = 1;
    pair[1] = rank;
    MPI_Allreduce(pair, sum, 1, MPI_Type_f2c(f_two), MPI_Op_f2c(f_op), comm);
    check(sum[0] == size && sum[1] == size * (size - 1) / 2, "an operation of Fortran");
    MPI_Comm_set_errhandler(comm, MPI_Errhandler_f2c(f_handler));
    MPI_Comm_call_errhandler(comm, MPI_ERR_TAG);
    MPI_Comm_get_attr(comm, key, &value, &flag);
    check(flag && *(MPI_Aint *)value == -7, "an attribute of Fortran is seen by its address");
    MPI_Comm_set_attr(comm, key, (void *)99);
    MPI_Comm_create_keyval(copies, MPI_COMM_NULL_DELETE_FN, c_key, NULL);
    MPI_Comm_set_attr(comm, *c_key, (void *)4711);
    MPI_Irecv(&received, 1, MPI_INT, rank, 17, comm, &r);
    MPI_Send(&size, 1, MPI_INT, rank, 17, comm);
    *request = MPI_Request_c2f(r);
}

int c_checks(MPI_Fint f_comm, const MPI_F08_status *f_status);
int c_checks(MPI_Fint f_comm, const MPI_F08_status *f_status)
{
    MPI_Status status;
    int size, count;
    char yes[4], no[4];
    int told;
    MPI_Status_f082c(f_status, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Comm_size(MPI_Comm_f2c(f_comm), &size);
    check(status.MPI_TAG == 17 && count == 1 && received == size, "a status of Fortran");
    check(MPI_Comm_f2c(123456789) == MPI_COMM_NULL, "a number that is no handle");
    MPI_Abi_get_fortran_booleans(4, yes, no, &told);
    check(told && yes[0] == 1 && no[0] == 0, "what .TRUE. is");
    return wrong;
}
