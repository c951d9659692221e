! SPDX-License-Identifier: BSD-3-Clause
! Sections with gaps as buffers of mpi_f08, blocking and not; ranks in pairs, and collectives of all.
program sections
  use mpi_f08
  implicit none
  integer :: rank, ranks, wrong = 0, i, j, peer, code
  real(8) :: m(6, 6), got(6, 6), line(6)
  integer :: cube(4, 4, 4), part(8), strided(64), sums(10)
  character(len=4) :: words(6), answer(6)
  type(MPI_Request) :: q(4)
  type(MPI_Status) :: s(4)
  type(MPI_Datatype) :: three
  integer, allocatable :: counts(:), displs(:)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  peer = ieor(rank, 1)
  m = reshape([(real(100 * rank + i, 8), i=1, 36)], [6, 6])
  if (peer < ranks) then
    ! A block of every second row to a row.
    got = -1
    call MPI_Irecv(got(3, :), 6, MPI_DOUBLE_PRECISION, peer, 1, MPI_COMM_WORLD, q(1))
    call MPI_Isend(m(1:6:2, 2:6:3), 6, MPI_REAL8, peer, 1, MPI_COMM_WORLD, q(2))
    call MPI_Waitall(2, q, s)
    call check(all_equal(got(3, :), [7, 9, 11, 25, 27, 29] + 100d0 * peer), 'rows to a row')
    call check(count(got /= -1) == 6, 'nothing else is written')
    call MPI_Get_count(s(1), MPI_REAL8, i)
    call check(i == 6, 'the count of a section')

    ! Fewer elements than the section has, and such that its last line is not full.
    got = -1
    call MPI_Sendrecv(m(1:6:2, 1:6:2), 5, MPI_REAL8, peer, 2, got(2:6:2, 2:6:2), 5, MPI_REAL8, peer, 2, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call check(all_equal([got(2:6:2, 2), got(2:6:2, 4), got(2, 6)], [1, 3, 5, 13, 15, -1 - 100 * peer, -1 - 100 * peer] &
               + 100d0 * peer), 'a part of a section')

    ! Backwards, and in three dimensions.
    call MPI_Sendrecv(m(6:1:-1, 1), 6, MPI_REAL8, peer, 3, line, 6, MPI_REAL8, peer, 3, MPI_COMM_WORLD, s(1))
    call check(all_equal(line, [6, 5, 4, 3, 2, 1] + 100d0 * peer), 'backwards')
    cube = reshape([(1000 * rank + i, i=0, 63)], [4, 4, 4])
    call MPI_Irecv(part, 8, MPI_INTEGER, peer, 4, MPI_COMM_WORLD, q(1))
    call MPI_Isend(cube(1:4:2, 2:4:2, 1:4:3), 8, MPI_INTEGER, peer, 4, MPI_COMM_WORLD, q(2))
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
    call check(all(part == [4, 6, 12, 14, 52, 54, 60, 62] + 1000 * peer), 'a cube')

    ! Datatypes that are several elements long, strings, and large counts.
    call MPI_Type_contiguous(3, MPI_INTEGER, three)
    call MPI_Type_commit(three)
    strided = -1
    call MPI_Irecv(strided(1:64:5), 4, three, peer, 5, MPI_COMM_WORLD, q(1))
    call MPI_Send(cube(2, :, 1:3), 4, three, peer, 5, MPI_COMM_WORLD)
    call MPI_Wait(q(1), s(1))
    call check(all(strided(1:60:5) == [((1000 * peer + 1 + 4 * i + 16 * j, i=0, 3), j=0, 2)]), 'a type of three')
    call check(strided(61) == -1 .and. strided(2) == -1, 'nothing behind it')
    call MPI_Type_free(three)
    words = ['abcd', 'efgh', 'ijkl', 'mnop', 'qrst', 'uvwx']
    answer = '----'
    call MPI_Sendrecv(words(1:6:2)(2:3), 6_MPI_COUNT_KIND, MPI_CHARACTER, peer, 6, answer(2:6:2), 12_MPI_COUNT_KIND, &
                      MPI_CHARACTER, peer, 6, MPI_COMM_WORLD, s(1))
    call check(answer(2) == 'bcjk' .and. answer(4) == 'rs--' .and. answer(1) == '----', 'strings')

    ! Persistent.
    call MPI_Send_init(m(2, :), 6, MPI_REAL8, peer, 7, MPI_COMM_WORLD, q(1))
    call MPI_Recv_init(got(:, 1), 6, MPI_REAL8, peer, 7, MPI_COMM_WORLD, q(2))
    do i = 1, 2
      m(2, :) = i * 10 + rank
      call MPI_Startall(2, q)
      call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
      call check(all_equal(got(:, 1), spread(i * 10d0 + peer, 1, 6)), 'persistent')
    end do
    call MPI_Request_free(q(1))
    call MPI_Request_free(q(2))
  end if

  ! Collectives: one buffer; blocks that lie evenly; counts and displacements; computed with.
  m(1, :) = rank
  call MPI_Bcast(m(1, :), 6, MPI_REAL8, ranks - 1, MPI_COMM_WORLD)
  call check(all_equal(m(1, :), spread(real(ranks - 1, 8), 1, 6)), 'broadcast of a row')
  deallocate_all: block
    integer :: wide(2, 3, 0:ranks - 1), rows(ranks, 4)
    wide = -1
    call MPI_Allgather([rank, rank + 1, rank + 2], 3, MPI_INTEGER, wide(1, :, :), 3, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(wide(1, :, :) == reshape([((j + i, i=0, 2), j=0, ranks - 1)], [3, ranks])) .and. all(wide(2, :, :) == -1), &
               'allgather into blocks')
    part(:3) = [rank, rank + 1, rank + 2]
    call MPI_Iallgather(part, 3, MPI_INTEGER, wide(2, :, :), 3, MPI_INTEGER, MPI_COMM_WORLD, q(1))
    call MPI_Wait(q(1), MPI_STATUS_IGNORE)
    call check(all(wide(2, :, :) == wide(1, :, :)), 'nonblocking allgather into blocks')
    ! Columns of `rows` get one element each: blocks do not lie evenly in memory, so the call works on a copy.
    rows = -1
    call MPI_Alltoall(wide(1, 1, :), 1, MPI_INTEGER, rows(1:ranks, 2), 1, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(rows(:, 2) == rank) .and. all(rows(:, 1) == -1), 'alltoall')
    allocate(counts(ranks), displs(ranks))
    counts = 2
    displs = [(2 * (ranks - i), i=1, ranks)]
    strided = -1
    if (2 * ranks <= 32) then
      part(:2) = [rank, -rank - 5]
      call MPI_Iallgatherv(part, 2, MPI_INTEGER, strided(1:4 * ranks:2), counts, displs, MPI_INTEGER, &
                           MPI_COMM_WORLD, q(1))
      call MPI_Wait(q(1), MPI_STATUS_IGNORE)
      call check(all(strided(1:4 * ranks:4) == [(i, i=ranks - 1, 0, -1)]) .and. all(strided(2:64:2) == -1), 'allgatherv')
    end if
  end block deallocate_all
  sums = 1
  call MPI_Allreduce(MPI_IN_PLACE, sums(1:10:3), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check(all(sums(1:10:3) == ranks) .and. sums(2) == 1, 'allreduce in place')
  call MPI_Reduce(sums(1:10:3), sums(2:10:4), 3, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD)
  if (rank == 0) call check(all(sums(2:10:4) == ranks), 'reduce')

  ! What cannot be: the error says so.
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Send(sums(1:10:3), 5, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, code)
  call MPI_Error_class(code, i)
  call check(i == MPI_ERR_COUNT, 'more than the section has')
  call MPI_Send(sums(1:10:3), -1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, code)
  call MPI_Error_class(code, i)
  call check(i == MPI_ERR_COUNT, 'a negative count')
  call MPI_Finalize()
  if (wrong > 0) error stop 1
  if (rank == 0) print '(a)', 'right'

contains

  logical function all_equal(a, b)
    real(8), intent(in) :: a(:), b(:)
    all_equal = size(a) == size(b)
    if (all_equal) all_equal = all(a(:) == b(:))
  end function

  include 'checks.inc'
end program
