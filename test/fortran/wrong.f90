! SPDX-License-Identifier: BSD-3-Clause
! Ends with an error, which the job's message must name.
program wrong_arguments
  use mpi_f08
  implicit none
  type(MPI_Request) :: q(3)
  character(len=20) :: which
  integer :: buffer(9)
  call get_command_argument(1, which)
  call MPI_Init()
  select case (which)
  case ('rank')
    call MPI_Send(buffer, 1, MPI_INTEGER, 77, 1, MPI_COMM_WORLD)
  case ('handle')
    call MPI_Barrier(MPI_Comm(987654))
  case ('section')
    call MPI_Isend(buffer(1:9:2), 6, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, q(1))
  case ('type')
    call MPI_Bcast(buffer, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD)
  case ('request')
    q = MPI_REQUEST_NULL
    q(2) = MPI_Request(987654)
    call MPI_Waitall(3, q, MPI_STATUSES_IGNORE)
  case ('hang')
    call MPI_Recv(buffer, 1, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end select
  print '(a)', 'nothing was said'
end program
