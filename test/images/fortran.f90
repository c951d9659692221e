! SPDX-License-Identifier: BSD-3-Clause
! What Fortran keeps between calls belongs to a rank: common blocks, saved variables, variables of modules, units and what they have not
! written yet, the generator of random numbers. The argument says how the program ends.
module mpi_calls
  use iso_c_binding
  implicit none
  interface
    integer(c_int) function start_mpi() bind(c)
      import
    end function
    integer(c_int) function count_ranks() bind(c)
      import
    end function
    subroutine end_mpi() bind(c)
    end subroutine
    subroutine wait_for_all() bind(c)
    end subroutine
    real(c_double) function pass_on(value, to, from) bind(c)
      import
      real(c_double), value :: value
      integer(c_int), value :: to, from
    end function
    subroutine sum_doubles(from, to, count) bind(c)
      import
      real(c_double), intent(in) :: from(*)
      real(c_double), intent(out) :: to(*)
      integer(c_int), value :: count
    end subroutine
  end interface
end module

module state
  use iso_c_binding
  implicit none
  integer :: rank = -1, size = 0
  real(c_double), allocatable :: field(:)
  character(len=20) :: name = 'nobody'
  integer(c_int), bind(c, name='seen_by_c') :: seen = 3
end module

block data initial
  common /numbers/ a, b(3)
  double precision a, b
  data a /1.5d0/, b /3*2.5d0/
end block data

integer function calls()
  implicit none
  integer, save :: n = 10
  n = n + 1
  calls = n
end function

subroutine change_common(rank)
  implicit none
  integer, intent(in) :: rank
  common /numbers/ a, b(3)
  double precision a, b
  a = a + rank
  b(2) = b(2) * (rank + 1)
end subroutine

subroutine write_file()
  use state
  use mpi_calls
  implicit none
  character(len=30) :: path, line
  integer :: unit, i, read_rank, status
  write (path, '(a,i0)') 'fortran.', rank
  open (unit=10, file=path, status='replace', action='readwrite')
  do i = 1, 5
    write (10, '(a,i0,a,i0)') 'rank ', rank, ' line ', i
    call wait_for_all()
  end do
  rewind (10)
  do i = 1, 3
    read (10, '(a)') line
    call wait_for_all()
  end do
  read (line(6:index(line, ' line')), *) read_rank
  open (newunit=unit, file=trim(path)//'x', status='replace', form='unformatted', access='stream')
  write (unit) rank, field
  call wait_for_all()
  inquire (unit=10, name=line)
  close (unit, status='delete')
  read (10, '(a)', iostat=status) path
  print '(a,i0,4a,i0,a,i0)', 'rank ', rank, ' has ', trim(line), ' ', trim(path), read_rank, ' ', status
  write (11, '(a,i0)') 'stays open in rank ', rank  ! unit 11, with a name of its own: fort.11 would be one file for all
end subroutine

program fortran
  use mpi_calls
  use state
  implicit none
  common /numbers/ a, b(3)
  double precision a, b, sums(3), passed
  integer, external :: calls
  integer :: i, n
  integer, allocatable :: seeds(:)
  real :: random
  character(len=60) :: text
  character(len=10) :: how, path
  call get_command_argument(1, how)
  rank = start_mpi()
  size = count_ranks()
  write (name, '(a,i4.4)') 'rank-', rank
  write (path, '(a,i0)') 'open.', rank
  open (unit=11, file=path, status='replace')
  allocate (field(rank + 1))
  field = rank
  seen = seen + rank
  call change_common(rank)
  do i = 1, rank
    n = calls()
  end do
  call random_seed(size=n)
  allocate (seeds(n))
  seeds = rank
  call random_seed(put=seeds)
  call wait_for_all()
  call random_seed(get=seeds)
  call random_number(random)
  call write_file()
  passed = pass_on(a, mod(rank + 1, size), mod(rank + size - 1, size))
  call sum_doubles([passed, b(2), sum(field)], sums, 3)
  write (text, '(3f12.2)') sums
  print '(a,i0,2f8.2,i6,i4,a,l2,1x,a,i3)', 'rank ', rank, a, b(2), calls(), seen, trim(text), all(seeds == rank), trim(name), &
    ubound(field, 1)
  call end_mpi()
  if (how == 'stop') stop
  if (how == 'error') error stop 3
end program
