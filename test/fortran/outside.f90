! SPDX-License-Identifier: BSD-3-Clause
! Programs that are started by others, with arguments; data representations of the program's own.
module representation
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ranks, wrong = 0
contains
  ! In the file an integer is its negative, in twice the room.
  subroutine extent(datatype, extent_in_file, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer(MPI_ADDRESS_KIND) :: extent_in_file, extra_state
    integer :: ierror
    extent_in_file = 8
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra_state == 321)
  end subroutine

  subroutine read_it(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer, pointer :: mine(:), its(:)
    call c_f_pointer(userbuf, mine, [int(position) + count])
    call c_f_pointer(filebuf, its, [2 * count])
    mine(position + 1:) = -its(1::2)
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra_state == 321)
  end subroutine

  subroutine write_it(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer, pointer :: mine(:), its(:)
    call c_f_pointer(userbuf, mine, [int(position) + count])
    call c_f_pointer(filebuf, its, [2 * count])
    its(1::2) = -mine(position + 1:)
    its(2::2) = 77
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra_state == 321)
  end subroutine

  include 'checks.inc'
end module

program outside
  use representation
  implicit none
  type(MPI_Comm) :: parent
  logical :: spawned
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_get_parent(parent)
  spawned = parent /= MPI_COMM_NULL
  if (spawned) then
    call child()
  else
    call data_representation()
    call spawn()
  end if
  call MPI_Finalize()
  if (wrong > 0) error stop 1
  if (.not. spawned .and. rank == 0) print '(a)', 'right'

contains

  subroutine data_representation()
    type(MPI_File) :: file
    character(len=200) :: name
    integer :: numbers(5), raw(10), i, code, class
    call MPI_Register_datarep('negative', read_it, write_it, extent, 321_MPI_ADDRESS_KIND)
    call MPI_Register_datarep('negative', read_it, write_it, extent, 321_MPI_ADDRESS_KIND, code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_DUP_DATAREP, 'a name that is taken')
    call get_command_argument(1, name)
    write (name(len_trim(name) + 1:), '(a, i0)') '.', rank
    call MPI_File_open(MPI_COMM_SELF, trim(name), MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'negative', MPI_INFO_NULL)
    numbers = [(10 * rank + i, i=1, 5)]
    call MPI_File_write_at(file, 0_MPI_OFFSET_KIND, numbers, 5, MPI_INTEGER, MPI_STATUS_IGNORE)
    numbers = 0
    call MPI_File_read_at(file, 1_MPI_OFFSET_KIND, numbers, 4, MPI_INTEGER, MPI_STATUS_IGNORE)
    call check(all(numbers == [(10 * rank + i, i=2, 5), 0]), 'read as it was written')
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
    call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, raw, 10, MPI_INTEGER, MPI_STATUS_IGNORE)
    call check(all(raw(1::2) == [(-10 * rank - i, i=1, 5)]) .and. all(raw(2::2) == 77), 'as the file has it')
    call MPI_File_close(file)
  end subroutine

  subroutine spawn()
    type(MPI_Comm) :: children
    character(len=200) :: me
    character(len=12) :: words(3) = [character(len=12) :: '  spawned', '  two words', ' '], pairs(2, 2)
    integer :: codes(2), n, sum
    call get_command_argument(0, me)
    call MPI_Comm_spawn('  ' // me, words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, codes)
    call MPI_Comm_remote_size(children, n)
    call check(n == 2 .and. all(codes == MPI_SUCCESS), 'two children')
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, children)
    call check(sum == 2 * 9 + 1, 'with the arguments that they should have')
    call MPI_Comm_disconnect(children)
    pairs(:, 1) = ['first       ', ' second     ']
    pairs(:, 2) = ' '
    call MPI_Comm_spawn_multiple(2, [me, me], pairs, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, MPI_COMM_WORLD, children, &
                                 MPI_ERRCODES_IGNORE)
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, children)
    call check(sum == 5 + 6 + 1, 'each its own')
    call MPI_Comm_disconnect(children)
  end subroutine

  ! Tells the length of its arguments.
  subroutine child()
    character(len=20) :: first, second
    integer :: sum, told
    call get_command_argument(1, first)
    call get_command_argument(2, second)
    select case (first)
    case ('spawned')
      told = len_trim(second)
    case default
      told = len_trim(first)
    end select
    told = told + rank
    call MPI_Allreduce(told, sum, 1, MPI_INTEGER, MPI_SUM, parent)
    call MPI_Comm_disconnect(parent)
  end subroutine
end program
