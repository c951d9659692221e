! SPDX-License-Identifier: BSD-3-Clause
! Sections with gaps in calls that go on after they return, where only a copy or a datatype of all elements will do.
program kept
  use mpi_f08
  implicit none
  integer :: rank, ranks, wrong = 0, i, code
  type(MPI_Request) :: q(4)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call reductions()
  call persistent()
  call blocks()
  call own_types()
  call one_sided()
  call partitions()
  call errors()
  call MPI_Finalize()
  if (wrong > 0) error stop 1
  if (rank == 0) print '(a)', 'right'

contains

  subroutine reductions()
    integer, asynchronous :: from(4, 6), to(4, 6), more(2, 8), many(2, 6, ranks)
    integer :: total
    logical :: flag
    total = ranks * (ranks - 1) / 2
    from = rank
    to = -1
    call MPI_Iallreduce(from(1:4:2, 2:6:2), to(2:4:2, 1:6:2), 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, q(1))
    more = 5
    more(1, :) = [(i * rank, i=1, 8)]
    call MPI_Iscan(MPI_IN_PLACE, more(1, :), 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, q(2))
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status(q(1), flag, MPI_STATUS_IGNORE)
    end do
    call check(all(to(2:4:2, 1:6:2) == total), 'it is there when the request is seen to be done')
    to(2, 1) = -7
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
    call check(to(2, 1) == -7, 'and comes once')
    call check(all(to(1:4:2, :) == -1) .and. all(to(:, 2:6:2) == -1), 'nothing else is written')
    call check(all(more(1, :) == [(i * rank * (rank + 1) / 2, i=1, 8)]) .and. all(more(2, :) == 5), 'scan in place')
    from = rank + 1
    many = rank + 1
    call MPI_Ireduce_scatter_block(many(1, :, :), to(3, :), 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, q(3))
    call MPI_Wait(q(3), MPI_STATUS_IGNORE)
    call check(all(to(3, :) == total + ranks), 'reduce and scatter to a row')
    call MPI_Ireduce(from(4, :), more(2, 1:6), 6_MPI_COUNT_KIND, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, q(1))
    call MPI_Wait(q(1), MPI_STATUS_IGNORE)
    call check(all(more(2, 1:6) == merge(ranks, 5, rank == 0)), 'reduce, with large counts')
  end subroutine

  subroutine persistent()
    real(8), asynchronous :: x(5, 5), y(5, 5)
    integer :: round
    y = -1
    call MPI_Allreduce_init(x(2, :), y(:, 3), 5, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, q(1))
    call MPI_Allreduce_init(x(:, 2), y(4, 1:5:4), 2, MPI_REAL8, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, q(2))
    do round = 1, 3
      x = round + rank
      call MPI_Startall(2, q)
      call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
      call check(all(y(:, 3) == ranks * round + ranks * (ranks - 1) / 2), 'a persistent reduction of a row')
      call check(y(4, 1) == round + ranks - 1 .and. y(4, 5) == y(4, 1) .and. y(4, 2) == -1, 'and one to a part of a row')
    end do
    call MPI_Request_free(q(1))
    call MPI_Request_free(q(2))
  end subroutine

  subroutine blocks()
    integer, asynchronous :: wide(3, 2 * ranks), answer(3, 2 * ranks), line(8 * ranks)
    integer :: counts(ranks), displs(ranks)
    type(MPI_Datatype) :: types(ranks)
    type(MPI_Comm) :: grid
    integer :: two(2) = 1
    integer(MPI_ADDRESS_KIND) :: bytes(3) = [0, 4, 0]
    type(MPI_Datatype) :: pair(2)
    ! Blocks of one element, of which two lie in a column: not evenly.
    wide = reshape([(100 * rank + i, i=1, 6 * ranks)], [3, 2 * ranks])
    answer = -1
    call MPI_Ialltoall(wide(1:3:2, 1:ranks), 2, MPI_INTEGER, answer(2:3, 1:2 * ranks:2), 2, MPI_INTEGER, MPI_COMM_WORLD, q(1))
    call MPI_Ialltoall(wide(1:2, 1:2 * ranks:2), 1, MPI_INTEGER, line(1:ranks), 1, MPI_INTEGER, MPI_COMM_WORLD, q(2))
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
    call check(all(answer(2, 1:2 * ranks:2) == [(100 * i + 3 * rank + 1, i=0, ranks - 1)]), 'alltoall')
    call check(all(answer(1, :) == -1) .and. all(answer(:, 2:2 * ranks:2) == -1), 'nothing else is written')
    call check(all(line(:ranks) == [(100 * i + 6 * (rank / 2) + 1 + mod(rank, 2), i=0, ranks - 1)]), 'uneven blocks')
    counts = 1
    displs = [(2 * (ranks - i), i=1, ranks)]
    answer = -1
    line(1) = rank
    call MPI_Iallgatherv(line, 1, MPI_INTEGER, answer(1:3:2, :), counts, displs, MPI_INTEGER, MPI_COMM_WORLD, q(1))
    call MPI_Wait(q(1), MPI_STATUS_IGNORE)
    call check(all(answer(1, 1:ranks) == [(ranks - i, i=1, ranks)]) .and. all(answer(3, :) == -1), 'allgatherv')
    types = MPI_INTEGER
    displs = [(8 * (i - 1), i=1, ranks)]
    line = -1
    call MPI_Ialltoallw(wide(2, :), counts, displs, types, line(1:8 * ranks:4), counts, displs, types, MPI_COMM_WORLD, q(1))
    call MPI_Wait(q(1), MPI_STATUS_IGNORE)
    call check(all(line(1:8 * ranks:8) == [(100 * i + 6 * rank + 2, i=0, ranks - 1)]) .and. count(line /= -1) == ranks, 'alltoallw')
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., grid)
    line = -1
    pair = MPI_INTEGER
    call MPI_Ineighbor_alltoallw(wide(2, 1:2), two, bytes, pair, line(1:8:3), two, bytes(2:3), pair, grid, q(1))
    call MPI_Wait(q(1), MPI_STATUS_IGNORE)
    call check(line(4) == 100 * modulo(rank - 1, ranks) + 5 .and. line(1) == 100 * modulo(rank + 1, ranks) + 2 .and. &
               line(7) == -1, 'alltoallw of neighbours')
    call MPI_Comm_free(grid)
  end subroutine

  ! Datatypes with gaps of their own, laid over sections with gaps.
  subroutine own_types()
    integer, asynchronous :: a(4, 9), b(4, 9)
    type(MPI_Datatype) :: every_third, mixed, far
    type(MPI_File) :: file
    type(MPI_Status) :: s
    integer :: peer, n
    peer = modulo(rank + 1, ranks)
    call MPI_Type_vector(3, 1, 3, MPI_INTEGER, every_third)
    call MPI_Type_commit(every_third)
    call MPI_Type_create_struct(3, [1, 1, 4], [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND, 18_MPI_ADDRESS_KIND], &
                                [MPI_INTEGER, MPI_REAL8, MPI_BYTE], mixed)
    call MPI_Type_commit(mixed)
    a = reshape([(100 * rank + i, i=1, 36)], [4, 9])
    b = -1
    call MPI_Irecv(b(3, :), 1, every_third, modulo(rank - 1, ranks), 1, MPI_COMM_WORLD, q(1))
    call MPI_Isend(a(2, :), 1, every_third, peer, 1, MPI_COMM_WORLD, q(2))
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
    call check(all(b(3, 1:9:3) == 100 * modulo(rank - 1, ranks) + [2, 14, 26]) .and. count(b /= -1) == 3, 'a vector over rows')
    b = -1
    call MPI_Irecv(b(2:4:2, 1:9:2), 1, mixed, rank, 2, MPI_COMM_WORLD, q(1))
    call MPI_Isend(a(1:4:3, 1:9:2), 1, mixed, rank, 2, MPI_COMM_WORLD, q(2))
    call MPI_Wait(q(2), s)
    call MPI_Wait(q(1), s)
    call MPI_Get_count(s, mixed, n)
    call check(n == 1 .and. b(2, 1) == a(1, 1) .and. b(4, 1) == -1 .and. b(2, 3) == a(1, 3) .and. b(4, 3) == a(4, 3), &
               'a structure')
    call check(b(2, 5) /= -1 .and. b(4, 5) /= -1 .and. b(2, 7) == -1, 'which ends in the midst of elements')
    call MPI_File_open(MPI_COMM_SELF, trim(file_name()), MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
                       MPI_INFO_NULL, file)
    call MPI_File_iwrite_at(file, 0_MPI_OFFSET_KIND, a(1, :), 1, every_third, q(1))
    call MPI_Wait(q(1), MPI_STATUS_IGNORE)
    b = -1
    call MPI_File_read_at_all_begin(file, 0_MPI_OFFSET_KIND, b(4, :), 1, every_third)
    call MPI_File_read_at_all_end(file, b(4, :), s)
    call check(all(b(4, 1:9:3) == a(1, 1:9:3)) .and. count(b /= -1) == 3, 'a file')
    call MPI_File_close(file)
    call MPI_Type_create_resized(every_third, 0_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND, far)
    call MPI_Type_commit(far)
    b = -1
    call MPI_Irecv(b(1, :), 3, far, rank, 3, MPI_COMM_WORLD, q(1))
    call MPI_Send(a(2, :), 9, MPI_INTEGER, rank, 3, MPI_COMM_WORLD)
    call MPI_Wait(q(1), s)
    call check(all(b(1, [1, 4, 7, 2, 5, 8, 3, 6, 9]) == a(2, :)), 'elements that are woven')
    call MPI_Type_free(far)
    call MPI_Type_free(every_third)
    call MPI_Type_free(mixed)
  end subroutine

  subroutine one_sided()
    integer, asynchronous :: window(20), mine(3, 9)
    type(MPI_Win) :: win
    type(MPI_Datatype) :: every_third
    window = 1
    mine = reshape([(i, i=1, 27)], [3, 9])
    call MPI_Type_vector(3, 1, 3, MPI_INTEGER, every_third)
    call MPI_Type_commit(every_third)
    call MPI_Win_create(window, 80_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    call MPI_Accumulate(mine(2, :), 1, every_third, 0, 0_MPI_ADDRESS_KIND, 3, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    if (rank == 0) call check(all(window(:4) == [1 + 2 * ranks, 1 + 11 * ranks, 1 + 20 * ranks, 1]), 'accumulate')
    call MPI_Get(mine(1, :), 1, every_third, 0, 0_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(all(mine(1, 1:9:3) == [1 + 2 * ranks, 1 + 11 * ranks, 1 + 20 * ranks]) .and. mine(1, 2) == 4, 'get')
    call MPI_Win_free(win)
    call MPI_Type_free(every_third)
  end subroutine

  ! Partitions of three elements of sections whose columns have two.
  subroutine partitions()
    integer, asynchronous :: a(4, 6), b(4, 6)
    integer :: round, left
    logical :: flag
    left = modulo(rank - 1, ranks)
    call MPI_Psend_init(a(1:4:2, :), 4, 3_MPI_COUNT_KIND, MPI_INTEGER, modulo(rank + 1, ranks), 5, MPI_COMM_WORLD, &
                        MPI_INFO_NULL, q(1))
    call MPI_Precv_init(b(2:4:2, :), 4, 3_MPI_COUNT_KIND, MPI_INTEGER, left, 5, MPI_COMM_WORLD, MPI_INFO_NULL, q(2))
    do round = 1, 2
      a = -3
      b = -1
      call MPI_Startall(2, q)
      a = reshape([(1000 * round + 100 * rank + i, i=1, 24)], [4, 6])
      call MPI_Pready(2, q(1))
      call MPI_Pready_range(0, 1, q(1))
      if (round == 1) then
        flag = .false.
        do while (.not. flag)
          call MPI_Parrived(q(2), 0, flag)
        end do
        call check(b(2, 1) == 1000 + 100 * left + 1 .and. b(4, 1) == b(2, 1) + 2 .and. b(2, 2) == b(2, 1) + 4, 'a partition')
        b(2, 1) = -9
      end if
      call MPI_Pready_list(1, [3], q(1))
      call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
      if (round == 1) then
        call check(b(2, 1) == -9, 'which came once')
        b(2, 1) = 1000 + 100 * left + 1
      end if
      call check(all(b(2:4:2, :) == 1000 * round + 100 * left + reshape([(4 * i + 1, 4 * i + 3, i=0, 5)], [2, 6])) .and. &
                 all(b(1:4:2, :) == -1), 'all partitions')
    end do
    call MPI_Request_free(q(1))
    call MPI_Request_free(q(2))
  end subroutine

  subroutine errors()
    integer, asynchronous :: a(10)
    integer :: class
    a = 3
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Iallreduce(a(1:10:3), a(2:10:3), 3, MPI_INTEGER, MPI_OP_NULL, MPI_COMM_WORLD, q(1), code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_OP .and. q(1) == MPI_REQUEST_NULL .and. all(a == 3), 'an error leaves nothing behind')
    call MPI_Precv_init(a(1:10:3), 3, 2_MPI_COUNT_KIND, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_INFO_NULL, q(1), code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_COUNT, 'more partitions than the section has')
    call MPI_Isend(a(1:10:3), 5, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, q(1), code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_COUNT, 'more than the section has')
  end subroutine

  function file_name()
    character(len=200) :: file_name
    call get_command_argument(1, file_name)
    write (file_name(len_trim(file_name) + 1:), '(a, i0)') '.', rank
  end function

  include 'checks.inc'
end program
