! SPDX-License-Identifier: BSD-3-Clause
! What a call from Fortran costs over the same call from C (cost_c.c): nanoseconds a call, the best of many rounds.
program cost
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  implicit none
  interface
    real(c_double) function c_cost(which, calls) bind(C)
      import
      integer(c_int), value :: which, calls
    end function
    real(c_double) function old_cost(which, calls) bind(C)
      import
      integer(c_int), value :: which, calls
    end function
  end interface
  character(len=30), parameter :: names(5) = [character(len=30) :: 'MPI_Comm_rank', 'MPI_Send to MPI_PROC_NULL', &
    'MPI_Send and MPI_Recv', 'MPI_Isend, MPI_Irecv, Waitall', 'MPI_Allreduce of one rank']
  integer, parameter :: calls = 20000, rounds = 200
  real(8) :: in_c, in_old, in_f08
  integer :: which, round
  call MPI_Init()
  print '(a30, 5a10)', ' ', 'C', 'mpi', 'mpi_f08', 'mpi-C', 'f08-C'
  do which = 1, 5
    in_c = huge(in_c)
    in_old = in_c
    in_f08 = in_c
    do round = 1, rounds ! the three take turns, so that a slow moment of the machine hits all of them
      in_c = min(in_c, c_cost(which, calls))
      in_old = min(in_old, old_cost(which, calls))
      in_f08 = min(in_f08, cost_of(which))
    end do
    print '(a30, 5f10.1)', names(which), in_c, in_old, in_f08, in_old - in_c, in_f08 - in_c
  end do
  call MPI_Finalize()

contains

  real(8) function cost_of(which)
    integer, intent(in) :: which
    real(8) :: began, buffer(4), got(4)
    integer :: i, rank
    type(MPI_Request) :: q(2)
    type(MPI_Status) :: s
    buffer = 1
    began = MPI_Wtime()
    do i = 1, calls
      select case (which)
      case (1)
        call MPI_Comm_rank(MPI_COMM_WORLD, rank)
      case (2)
        call MPI_Send(buffer, 4, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 1, MPI_COMM_WORLD)
      case (3)
        call MPI_Send(buffer, 4, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD)
        call MPI_Recv(got, 4, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, s)
      case (4)
        call MPI_Irecv(got, 4, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, q(1))
        call MPI_Isend(buffer, 4, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, q(2))
        call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
      case (5)
        call MPI_Allreduce(buffer, got, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
      end select
    end do
    cost_of = (MPI_Wtime() - began) / calls * 1e9
  end function
end program
