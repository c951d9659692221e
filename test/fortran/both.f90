! SPDX-License-Identifier: BSD-3-Clause
! All three interfaces in one program, two of them in one file (both_old.f90 has mpif.h): what one has begun another may end.
subroutine old_half(request, status_too)
  use mpi
  implicit none
  integer :: request, code, requests(1)
  logical :: status_too
  if (status_too) call MPI_Wait(request, MPI_STATUS_IGNORE, code)
  requests = MPI_REQUEST_NULL
  call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE, code)
end subroutine

program both
  use mpi_f08
  implicit none
  integer, asynchronous :: from, to(3)
  integer :: rank
  type(MPI_Request) :: q(3)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  from = rank + 1
  to = 0
  call MPI_Iallreduce(from, to(1), 1, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD, q(1))
  call MPI_Iallreduce(from, to(2), 1, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD, q(2))
  call MPI_Iallreduce(from, to(3), 1, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD, q(3))
  call old_half(q(1)%MPI_VAL, .true.)
  call oldest_half(q(2)%MPI_VAL)
  call MPI_Waitall(3, q, MPI_STATUSES_IGNORE)
  call MPI_Wait(q(3), MPI_STATUS_IGNORE)
  if (rank == 0 .and. all(to == 1) .and. all(q == MPI_REQUEST_NULL)) print '(a)', 'right'
  call MPI_Finalize()
end program
