! SPDX-License-Identifier: BSD-3-Clause
! A program in Fortran whose other half is C (mixed_c.c): handles, statuses, attributes, operations and error handlers that one
! half makes and the other uses.
module state
  use mpi_f08
  implicit none
  integer :: heard = 0, wrong = 0, rank
contains
  subroutine handler(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    call MPI_Error_class(error_code, heard)
    if (comm == MPI_COMM_NULL) heard = -1
  end subroutine

  subroutine twice(invec, inoutvec, len, datatype)
    use, intrinsic :: iso_c_binding
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [2 * len])
    call c_f_pointer(inoutvec, b, [2 * len])
    if (datatype /= MPI_INTEGER) b = b + a ! a type of two INTEGERs
  end subroutine

  subroutine copy_attr(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    attribute_val_out = attribute_val_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  include 'checks.inc'
end module

program mixed
  use state
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    subroutine c_half(comm, op, two, handler, key, c_key, request) bind(C)
      import
      integer(c_int), value :: comm, op, two, handler, key
      integer(c_int) :: c_key, request
    end subroutine
    integer(c_int) function c_checks(comm, status) bind(C)
      import
      integer(c_int), value :: comm
      type(MPI_Status) :: status
    end function
  end interface
  type(MPI_Comm) :: twin, copy_of
  type(MPI_Op) :: op
  type(MPI_Datatype) :: two
  type(MPI_Errhandler) :: mine
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  integer :: key, c_key, value, ranks
  integer(MPI_ADDRESS_KIND) :: attribute
  logical :: flag

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_dup(MPI_COMM_WORLD, twin)
  call MPI_Op_create(twice, .true., op)
  call MPI_Type_contiguous(2, MPI_INTEGER, two)
  call MPI_Type_commit(two)
  call MPI_Comm_create_errhandler(handler, mine)
  call MPI_Comm_create_keyval(copy_attr, MPI_COMM_NULL_DELETE_FN, key, 1000_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(twin, key, -7_MPI_ADDRESS_KIND)
  call c_half(twin%MPI_VAL, op%MPI_VAL, two%MPI_VAL, mine%MPI_VAL, key, c_key, request%MPI_VAL)
  call check(heard == MPI_ERR_TAG, 'C has called a handler of Fortran')
  call MPI_Wait(request, status)
  call check(status%MPI_TAG == 17 .and. status%MPI_SOURCE == rank, 'a request of C')
  call check(c_checks(twin%MPI_VAL, status) == 0, 'C: see above')
  call MPI_Comm_get_attr(twin, c_key, attribute, flag)
  call check(flag .and. attribute == 4711, 'an attribute of C is its address')
  call MPI_Comm_set_attr(twin, c_key, 5_MPI_ADDRESS_KIND)
  call MPI_Comm_get_attr(twin, key, attribute, flag)
  call check(flag .and. attribute == 99, 'C has set an attribute of ours')
  call MPI_Comm_dup(twin, copy_of)
  call MPI_Comm_get_attr(copy_of, key, attribute, flag)
  call check(flag .and. attribute == 1099, 'our function has copied it')
  call MPI_Comm_get_attr(copy_of, c_key, attribute, flag)
  call check(flag .and. attribute == 6, 'the function of C has copied ours, which it saw by its address')
  call MPI_Comm_free(copy_of)
  call MPI_Comm_free(twin)
  call MPI_Op_free(op)
  value = 1
  call MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (wrong > 0) error stop 1
  if (rank == 0 .and. value == ranks) print '(a)', 'right'
end program
