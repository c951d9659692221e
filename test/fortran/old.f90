! SPDX-License-Identifier: BSD-3-Clause
! The module mpi: handles are integers, ierror is there.
program old
  use mpi
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  integer :: rank, ranks, wrong = 0, code, q(2), s(MPI_STATUS_SIZE, 2), i, op, keyval, value, twin, session, calls = 0
  real :: m(4, 4)
  integer(MPI_ADDRESS_KIND) :: address, wide
  type(c_ptr) :: base
  integer, pointer :: memory(:)
  logical :: flag
  character(len=20) :: name
  character :: room(1000), text_back(4)
  double precision :: real_back

  call MPI_INIT(code)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, code)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, code)
  call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_RETURN, code)
  call check(.not. (MPI_SUBARRAYS_SUPPORTED .or. MPI_ASYNC_PROTECTS_NONBLOCKING), 'what is promised')
  m = rank
  call MPI_IRECV(m(1, 1), 4, MPI_REAL, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, q(1), code)
  call MPI_ISEND([1., 2., 3., 4.], 4, MPI_REAL, rank, 1, MPI_COMM_WORLD, q(2), code)
  call MPI_WAITALL(2, q, s, code)
  call check(all(m(:, 1) == [1., 2., 3., 4.]) .and. s(MPI_SOURCE, 1) == rank .and. s(MPI_TAG, 1) == 1, 'a message')
  call check(all(q == MPI_REQUEST_NULL), 'done')
  call MPI_SEND(m(2, :), 4, MPI_REAL, rank, 2, MPI_COMM_WORLD, code) ! the compiler makes a copy
  call MPI_RECV(m(:, 3), 4, MPI_REAL, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
  call check(all(m(:, 3) == [2., real(rank), real(rank), real(rank)]), 'a row')
  call MPI_SEND(m, 1, MPI_REAL, ranks, 2, MPI_COMM_WORLD, code)
  call MPI_ERROR_CLASS(code, i, code)
  call check(i == MPI_ERR_RANK, 'an error')
  call MPI_OP_CREATE(largest, .true., op, code)
  call MPI_ALLREDUCE(rank, i, 1, MPI_INTEGER, op, MPI_COMM_WORLD, code)
  call check(i == ranks - 1, 'an operation of our own')
  call MPI_OP_FREE(op, code)
  call MPI_KEYVAL_CREATE(copy, delete, keyval, 11, code)
  call MPI_ATTR_PUT(MPI_COMM_WORLD, keyval, -42, code)
  call MPI_COMM_DUP(MPI_COMM_WORLD, twin, code)
  call MPI_ATTR_GET(twin, keyval, value, flag, code)
  call check(flag .and. value == -43, 'an old attribute')
  call MPI_COMM_GET_ATTR(twin, keyval, wide, flag, code)
  call check(flag .and. wide == -43, 'seen by the new function')
  call MPI_COMM_FREE(twin, code)
  call MPI_ATTR_DELETE(MPI_COMM_WORLD, keyval, code)
  call MPI_KEYVAL_FREE(keyval, code)
  call check(calls == 3, 'one copy, two deleted')
  call MPI_ALLOC_MEM(8_MPI_ADDRESS_KIND, MPI_INFO_NULL, address, code)
  call check(address /= 0, 'memory')
  call MPI_ALLOC_MEM(8_MPI_ADDRESS_KIND, MPI_INFO_NULL, base, code)
  call c_f_pointer(base, memory, [2])
  memory = 5
  call MPI_FREE_MEM(memory, code)
  call MPI_BUFFER_ATTACH(room, 1000, code)
  call MPI_BUFFER_DETACH(m, i, code) ! the address may go anywhere
  call check(code == MPI_SUCCESS .and. i == 1000, 'a buffer, into reals')
  call MPI_BUFFER_ATTACH(room, 1000, code)
  call MPI_BUFFER_DETACH(text_back, i, code)
  call check(code == MPI_SUCCESS .and. i == 1000, 'a buffer, into characters')
  call MPI_COMM_ATTACH_BUFFER(MPI_COMM_WORLD, room, 1000, code)
  call MPI_COMM_DETACH_BUFFER(MPI_COMM_WORLD, real_back, i, code)
  call check(code == MPI_SUCCESS .and. i == 1000, 'a buffer of a communicator, into a number')
  call MPI_SESSION_INIT(MPI_INFO_NULL, MPI_ERRORS_RETURN, session, code)
  call MPI_SESSION_ATTACH_BUFFER(session, room, 1000, code)
  call MPI_SESSION_DETACH_BUFFER(session, address, i, code)
  call check(code == MPI_SUCCESS .and. i == 1000, 'a buffer of a session, into an address')
  call MPI_SESSION_FINALIZE(session, code)
  call MPI_COMM_GET_NAME(MPI_COMM_SELF, name, i, code)
  call check(name == 'MPI_COMM_SELF', 'a name')
  call MPI_TYPE_SIZE(MPI_COMPLEX, i, code)
  call check(i == 8, 'a size')
  call MPI_SIZEOF(m, i, code)
  call check(i == 4, 'MPI_SIZEOF')
  call MPI_FINALIZE(code)
  if (wrong > 0) error stop 1
  if (rank == 0) print '(a)', 'right'

contains

  subroutine largest(in, inout, n, datatype)
    integer :: n, in(n), inout(n), datatype
    if (datatype == MPI_INTEGER) inout = max(in, inout)
  end subroutine

  subroutine copy(comm, key, extra, in, out, flag, ierror)
    integer :: comm, key, extra, in, out, ierror
    logical :: flag
    out = in - 1
    flag = extra == 11 .and. comm == MPI_COMM_WORLD .and. key == keyval
    calls = calls + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete(comm, key, in, extra, ierror)
    integer :: comm, key, extra, in, ierror
    if (extra == 11 .and. in < 0 .and. key == keyval .and. comm /= MPI_COMM_NULL) calls = calls + 1
    ierror = MPI_SUCCESS
  end subroutine

  include 'checks.inc'
end program
