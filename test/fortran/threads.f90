! SPDX-License-Identifier: BSD-3-Clause
! Threads of OpenMP call MPI from Fortran: messages, attributes, whose values come back as they were set, and errors.
program threads
  use mpi_f08
  use omp_lib
  implicit none
  integer, parameter :: team = 3, rounds = 20
  integer :: provided, rank, size, key, i, wrong
  integer(MPI_ADDRESS_KIND) :: extra
  type(MPI_Comm) :: comms(0:team - 1)

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  if (provided < MPI_THREAD_MULTIPLE) call MPI_Abort(MPI_COMM_WORLD, 1)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  extra = 0
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, extra)
  do i = 0, team - 1
    call MPI_Comm_dup(MPI_COMM_WORLD, comms(i))
    call MPI_Comm_set_errhandler(comms(i), MPI_ERRORS_RETURN)
  end do
  wrong = 0
  !$omp parallel num_threads(team) reduction(+ : wrong)
  call exchange(omp_get_thread_num(), wrong)
  !$omp end parallel
  do i = 0, team - 1
    call MPI_Comm_free(comms(i))
  end do
  call MPI_Comm_free_keyval(key)
  call MPI_Reduce(wrong, i, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
  if (rank == 0 .and. i == 0) print '(a)', 'right'
  call MPI_Finalize()

contains

  subroutine exchange(me, bad)
    integer, intent(in) :: me
    integer, intent(inout) :: bad
    integer :: n, sent, got, code, class, few(9)
    integer(MPI_ADDRESS_KIND) :: value, found
    logical :: there
    do n = 1, rounds
      sent = rank * 100 + n
      got = -1
      call MPI_Sendrecv(sent, 1, MPI_INTEGER, mod(rank + 1, size), me, got, 1, MPI_INTEGER, mod(rank + size - 1, size), me, &
                        comms(me), MPI_STATUS_IGNORE)
      if (got /= mod(rank + size - 1, size) * 100 + n) bad = bad + 1
      value = -1000_MPI_ADDRESS_KIND * me - n
      found = 0
      call MPI_Comm_set_attr(comms(me), key, value)
      call MPI_Comm_get_attr(comms(me), key, found, there)
      if (.not. there .or. found /= value) bad = bad + 1
      ! An error that the Fortran layer finds itself.
      few = n
      call MPI_Send(few(1:9:2), 10, MPI_INTEGER, rank, me, comms(me), code)
      call MPI_Error_class(code, class)
      if (class /= MPI_ERR_COUNT) bad = bad + 1
    end do
  end subroutine
end program
