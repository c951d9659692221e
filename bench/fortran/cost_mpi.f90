! SPDX-License-Identifier: BSD-3-Clause
! The calls of cost.f90 by the module mpi.
real(c_double) function old_cost(which, calls) bind(C)
  use mpi
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  implicit none
  integer(c_int), value :: which, calls
  real(8) :: began, buffer(4), got(4)
  integer :: i, rank, code, q(2), s(MPI_STATUS_SIZE)
  buffer = 1
  began = MPI_Wtime()
  do i = 1, calls
    select case (which)
    case (1)
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
    case (2)
      call MPI_Send(buffer, 4, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 1, MPI_COMM_WORLD, code)
    case (3)
      call MPI_Send(buffer, 4, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, code)
      call MPI_Recv(got, 4, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, s, code)
    case (4)
      call MPI_Irecv(got, 4, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, q(1), code)
      call MPI_Isend(buffer, 4, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, q(2), code)
      call MPI_Waitall(2, q, MPI_STATUSES_IGNORE, code)
    case (5)
      call MPI_Allreduce(buffer, got, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, code)
    end select
  end do
  old_cost = (MPI_Wtime() - began) / calls * 1e9
end function
