! SPDX-License-Identifier: BSD-3-Clause
! Something of each chapter by mpi_f08.
module chapters_of_mpi
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ranks, wrong = 0, heard = 0, freed = 0
  type(MPI_Comm) :: heard_of

contains

  subroutine requests()
    type(MPI_Request) :: q(4)
    type(MPI_Status) :: s(4)
    type(MPI_Message) :: message
    integer :: values(4), index, indices(4), n, i
    integer(MPI_COUNT_KIND) :: many
    logical :: flag
    values = 0
    do i = 1, 4
      call MPI_Irecv(values(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, q(i))
    end do
    call MPI_Test(q(1), flag, MPI_STATUS_IGNORE)
    call check(.not. flag .and. q(1) /= MPI_REQUEST_NULL, 'not there yet')
    call MPI_Send(33, 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD)
    call MPI_Waitany(4, q, index, s(1))
    call check(index == 3 .and. values(3) == 33 .and. s(1)%MPI_TAG == 3 .and. s(1)%MPI_SOURCE == rank, 'waitany counts from 1')
    call check(q(3) == MPI_REQUEST_NULL .and. all(q([1, 2, 4]) /= MPI_REQUEST_NULL), 'one request is done')
    call MPI_Send(11, 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD)
    call MPI_Send(44, 1_MPI_COUNT_KIND, MPI_INTEGER, rank, 4, MPI_COMM_WORLD)
    n = 0
    do while (n < 2)
      call MPI_Waitsome(4, q, i, indices, s)
      call check(all(indices(:i) == 1 .or. indices(:i) == 4), 'waitsome counts from 1')
      n = n + i
    end do
    call MPI_Cancel(q(2))
    call MPI_Wait(q(2), s(2))
    call MPI_Test_cancelled(s(2), flag)
    call check(flag .and. values(1) == 11 .and. values(4) == 44, 'cancelled')
    call MPI_Waitany(4, q, index, MPI_STATUS_IGNORE)
    call check(index == MPI_UNDEFINED, 'no request is left')
    call MPI_Isend([1, 2, 3], 3, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, q(1))
    call MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, message, s(1))
    call MPI_Get_count(s(1), MPI_INTEGER, many)
    call MPI_Mrecv(values, 4, MPI_INTEGER, message, s(2))
    call check(many == 3 .and. message == MPI_MESSAGE_NULL .and. all(values(:3) == [1, 2, 3]), 'matched probe')
    call MPI_Wait(q(1), MPI_STATUS_IGNORE)
    call MPI_Recv(values, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, s(1))
    call check(s(1)%MPI_SOURCE == MPI_PROC_NULL, 'nobody')
  end subroutine

  subroutine datatypes()
    type(MPI_Datatype) :: made, parts(2), real_type
    integer :: packed(4), position, n, i, integers(8), names
    integer(MPI_ADDRESS_KIND) :: first, second, lb, extent
    integer(MPI_COUNT_KIND) :: size
    type, bind(C) :: pair
      integer :: i
      real(8) :: x
    end type
    type(pair) :: from, to
    character(len=1) :: bytes(64)
    integer(MPI_ADDRESS_KIND) :: addresses(4)
    from = pair(7 + rank, 2.5d0)
    call MPI_Get_address(from%i, first)
    call MPI_Get_address(from%x, second)
    call MPI_Type_create_struct(2, [1, 1], [0_MPI_ADDRESS_KIND, MPI_Aint_diff(second, first)], &
                                [MPI_INTEGER, MPI_DOUBLE_PRECISION], made)
    call MPI_Type_commit(made)
    call MPI_Sendrecv(from, 1, made, rank, 1, to, 1, made, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(to%i == from%i .and. to%x == from%x, 'a structure')
    call MPI_Type_size(made, size)
    call MPI_Type_get_extent(made, lb, extent)
    call check(size == 12 .and. extent == 16, 'its size and extent')
    call MPI_Type_get_contents(made, 8, 4, 2, integers, addresses, parts)
    call check(parts(1) == MPI_INTEGER .and. parts(2) == MPI_DOUBLE_PRECISION .and. addresses(2) == 8, 'its contents')
    call MPI_Type_free(made)
    call check(made == MPI_DATATYPE_NULL, 'freed')
    position = 0
    call MPI_Pack([1, 2, 3], 3, MPI_INTEGER, bytes, 64, position, MPI_COMM_WORLD)
    call check(position == 12, 'packed')
    position = 0
    call MPI_Unpack(bytes, 64, position, packed, 3, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(packed(:3) == [1, 2, 3]), 'unpacked')
    first = 0
    call MPI_Pack_external('external32', 258, 1, MPI_INTEGER, bytes, 64_MPI_ADDRESS_KIND, first)
    call check(ichar(bytes(3)) == 1 .and. ichar(bytes(4)) == 2, 'external32')
    call MPI_Type_create_f90_real(15, 307, real_type)
    call MPI_Type_size(real_type, n)
    call check(n == 8, 'a type by its precision')
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 4, real_type)
    call MPI_Type_size(real_type, n)
    call check(n == 4, "a type by its size")
    call MPI_Sizeof(from%x, i)
    call check(i == 8, 'MPI_Sizeof')
    call MPI_Bcast(MPI_BOTTOM, 0, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Type_create_hindexed(1, [1], [address_of(packed)], MPI_INTEGER, made)
    call MPI_Type_commit(made)
    packed(1) = rank
    call MPI_Bcast(MPI_BOTTOM, 1, made, 0, MPI_COMM_WORLD)
    call MPI_F_sync_reg(packed)
    call check(packed(1) == 0, 'absolute addresses')
    call MPI_Type_free(made)
  end subroutine

  integer(MPI_ADDRESS_KIND) function address_of(x)
    integer, asynchronous :: x(:)
    call MPI_Get_address(x, address_of)
  end function

  subroutine add(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    if (datatype == MPI_INTEGER) b = a + b
  end subroutine

  subroutine add_many(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    if (datatype == MPI_INTEGER) b = a + b
  end subroutine

  subroutine collectives()
    type(MPI_Op) :: op
    type(MPI_Request) :: q
    type(MPI_Datatype) :: types(ranks)
    integer :: sums(3), given(3), i, all_of(ranks), back(ranks), ones(ranks), places(ranks)
    logical :: yes, any
    call MPI_Op_create(add, .true., op)
    call MPI_Allreduce([1, rank, 2], sums, 3, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(all(sums == [ranks, ranks * (ranks - 1) / 2, 2 * ranks]), 'an operation of our own')
    call MPI_Op_commutative(op, yes)
    call check(yes, 'it commutes')
    call MPI_Op_free(op)
    call MPI_Op_create_c(add_many, .false., op)
    call MPI_Op_commutative(op, yes)
    given = [1, rank, 2]
    call MPI_Iallreduce(given, sums, 3, MPI_INTEGER, op, MPI_COMM_WORLD, q)
    call MPI_Wait(q, MPI_STATUS_IGNORE)
    call check(.not. yes .and. sums(2) == ranks * (ranks - 1) / 2, 'one with large counts')
    call MPI_Op_free(op)
    call check(op == MPI_OP_NULL, 'freed')
    yes = rank == 0
    call MPI_Allreduce(yes, any, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD)
    call check(any .and. (any .eqv. .true.), 'logicals')
    all_of = [(100 * rank + i, i=1, ranks)]
    call MPI_Alltoall(all_of, 1, MPI_INTEGER, back, 1, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(back == [(100 * i + rank + 1, i=0, ranks - 1)]), 'alltoall')
    types = MPI_INTEGER
    ones = 1
    places = [(4 * (i - 1), i=1, ranks)]
    back = -1
    call MPI_Ialltoallw(all_of, ones, places, types, back, ones, places, types, MPI_COMM_WORLD, q)
    call MPI_Wait(q, MPI_STATUS_IGNORE)
    call check(all(back == [(100 * i + rank + 1, i=0, ranks - 1)]), 'ialltoallw')
    call MPI_Scan(1, i, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(i == rank + 1, 'scan')
  end subroutine

  subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    call check(extra_state == 1234567890123_MPI_ADDRESS_KIND .and. oldcomm == MPI_COMM_WORLD, 'the state of a copy function')
    attribute_val_out = attribute_val_in + 1
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    ierror = MPI_SUCCESS
    if (attribute_val == -5) ierror = MPI_ERR_OTHER
    if (attribute_val == 78) extra_state = 0
  end subroutine

  subroutine communicators()
    type(MPI_Comm) :: half, twin
    type(MPI_Group) :: group, first
    integer :: n, keyval, code, result
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half)
    call MPI_Comm_size(half, n)
    call check(n == (ranks + 1 - mod(rank, 2)) / 2, 'split')
    call MPI_Comm_group(MPI_COMM_WORLD, group)
    call MPI_Group_range_incl(group, 1, reshape([0, ranks - 1, 2], [3, 1]), first)
    call MPI_Group_size(first, n)
    call check(n == (ranks + 1) / 2, 'every second rank')
    call MPI_Group_free(first)
    call MPI_Group_free(group)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
    call check(flag .and. value == huge(1), 'a predefined attribute is a number')
    call MPI_Comm_create_keyval(copy, delete, keyval, 1234567890123_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 77_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_WORLD, twin)
    call MPI_Comm_get_attr(twin, keyval, value, flag)
    call check(flag .and. value == 78, 'copied by our function')
    call MPI_Comm_compare(MPI_COMM_WORLD, twin, result)
    call check(result == MPI_CONGRUENT .and. twin /= MPI_COMM_WORLD, 'a twin')
    call MPI_Comm_set_attr(half, keyval, -5_MPI_ADDRESS_KIND)
    call MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN)
    call MPI_Comm_delete_attr(half, keyval, code)
    call check(code /= MPI_SUCCESS, 'a delete function that fails')
    call MPI_Comm_free(twin)
    call MPI_Comm_free_keyval(keyval)
    call check(keyval == MPI_KEYVAL_INVALID, 'freed')
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, -9_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_WORLD, twin)
    call MPI_Comm_get_attr(twin, keyval, value, flag)
    call check(flag .and. value == -9, 'MPI_COMM_DUP_FN')
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval)
    call MPI_Comm_free(twin)
    call MPI_Comm_free_keyval(keyval)
  end subroutine

  subroutine topologies()
    type(MPI_Comm) :: grid, line, graph
    integer :: dims(2), coords(2), n, out, sources(1), weights(1)
    logical :: periods(2), weighted
    dims = 0
    call MPI_Dims_create(ranks, 2, dims)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., grid)
    call MPI_Cart_get(grid, 2, dims, periods, coords)
    call check(periods(1) .and. .not. periods(2) .and. product(dims) == ranks, 'a grid')
    call MPI_Cart_sub(grid, [.true., .false.], line)
    call MPI_Comm_size(line, n)
    call check(n == dims(1), 'a line of it')
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [modulo(rank - 1, ranks)], MPI_UNWEIGHTED, 1, &
                                        [modulo(rank + 1, ranks)], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph)
    call MPI_Dist_graph_neighbors_count(graph, n, out, weighted)
    call check(n == 1 .and. out == 1 .and. .not. weighted, 'a graph without weights')
    call MPI_Dist_graph_neighbors(graph, 1, sources, MPI_UNWEIGHTED, 1, coords, MPI_UNWEIGHTED)
    call MPI_Neighbor_alltoallw([rank], [1], [0_MPI_ADDRESS_KIND], [MPI_INTEGER], weights, [1], [0_MPI_ADDRESS_KIND], &
                                [MPI_INTEGER], graph)
    call check(weights(1) == sources(1) .and. sources(1) == modulo(rank - 1, ranks), 'its neighbours')
    call MPI_Comm_free(graph)
    call MPI_Comm_free(line)
    call MPI_Comm_free(grid)
  end subroutine

  subroutine texts()
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=5) :: short
    character(len=300) :: long
    type(MPI_Info) :: info
    integer :: n, version, subversion
    logical :: flag
    call MPI_Comm_get_name(MPI_COMM_WORLD, name, n)
    call check(name == 'MPI_COMM_WORLD' .and. n == 14, 'a name')
    call MPI_Comm_get_name(MPI_COMM_WORLD, short, n)
    call check(short == 'MPI_C' .and. n == 5, 'a name that is cut')
    call MPI_Info_create(info)
    long = repeat('v', 299)
    call MPI_Info_set(info, '  key  ', '  a value  ')
    call MPI_Info_set(info, 'long', long)
    n = 0
    call MPI_Info_get_string(info, 'key', n, long, flag)
    call check(flag .and. n == 7, 'the length of a value')
    n = 300
    call MPI_Info_get_string(info, 'long   ', n, long, flag)
    call check(flag .and. n == 299 .and. long == repeat('v', 299), 'a long value')
    n = 5
    call MPI_Info_get_string(info, 'key', n, short, flag)
    call check(flag .and. n == 7 .and. short == 'a val', 'a value that is cut')
    call MPI_Info_get_string(info, 'none', n, short, flag)
    call check(.not. flag, 'no value')
    call MPI_Info_get_nthkey(info, 0, name)
    call check(name == 'key', 'a key')
    call MPI_Info_free(info)
    call MPI_Get_version(version, subversion)
    call check(version == 5 .and. MPI_VERSION == 5, 'the version')
    call MPI_Get_processor_name(long, n)
    call check(n > 0 .and. long(n + 1:) == ' ', 'the machine')
    call MPI_Error_string(MPI_ERR_RANK, long, n)
    call check(n > 0 .and. long(n:n) /= ' ' .and. long(n + 1:) == ' ', 'an error')
  end subroutine

  subroutine handler(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code, class
    call MPI_Error_class(error_code, class)
    heard = class
    heard_of = comm
  end subroutine

  subroutine errors()
    type(MPI_Comm) :: twin
    type(MPI_Errhandler) :: mine
    integer :: code, class
    call MPI_Comm_dup(MPI_COMM_WORLD, twin)
    call MPI_Comm_create_errhandler(handler, mine)
    call MPI_Comm_set_errhandler(twin, mine)
    call MPI_Errhandler_free(mine)
    call MPI_Send(1, 1, MPI_INTEGER, ranks + 7, 1, twin, code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_RANK .and. heard_class() == MPI_ERR_RANK, 'an error handler of ours')
    call MPI_Comm_call_errhandler(twin, MPI_ERR_TAG)
    call check(heard_class() == MPI_ERR_TAG, 'called by us')
    call MPI_Send(MPI_IN_PLACE, 1, MPI_INTEGER, rank, 1, twin, code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_BUFFER .and. heard_class() == MPI_ERR_BUFFER, 'MPI_IN_PLACE is for collective calls')
    call MPI_Comm_free(twin)
  end subroutine

  integer function heard_class()
    heard_class = heard
    heard = 0
  end function

  subroutine windows()
    type(MPI_Win) :: win
    type(c_ptr) :: base
    integer, pointer :: memory(:)
    integer, asynchronous :: given
    integer :: got, right
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    right = modulo(rank + 1, ranks)
    given = 100 + rank ! it must stay until the fence, which an expression does not
    call MPI_Win_allocate(40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, memory, [10])
    memory = rank
    call MPI_Win_fence(0, win)
    call MPI_Put(given, 1, MPI_INTEGER, right, 3_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
    call MPI_Get(got, 1, MPI_INTEGER, right, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(memory(4) == 100 + modulo(rank - 1, ranks) .and. got == right, 'put and get')
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag)
    call check(flag .and. value == 40, 'the size of a window')
    call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag)
    call check(flag .and. value == transfer(base, value), 'its base')
    call MPI_Win_free(win)
    call MPI_Alloc_mem(8_MPI_ADDRESS_KIND, MPI_INFO_NULL, base)
    call c_f_pointer(base, memory, [2])
    memory = 1
    call MPI_Free_mem(memory)
  end subroutine

  subroutine files()
    type(MPI_File) :: file
    type(MPI_Status) :: s
    type(MPI_Request) :: q
    type(MPI_Datatype) :: etype, filetype
    integer :: matrix(4, 4), back(8), n, i, code, class
    integer(MPI_OFFSET_KIND) :: place, size
    character(len=40) :: rep, name
    call get_command_argument(1, name)
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    matrix = reshape([(100 * rank + i, i=1, 16)], [4, 4])
    place = 16 * rank
    call MPI_File_write_at_all(file, place, matrix(2, :), 4, MPI_INTEGER, s)
    call MPI_Get_count(s, MPI_INTEGER, n)
    call check(n == 4, 'a row is written')
    call MPI_File_sync(file)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_sync(file)
    back = -1
    place = 16 * modulo(rank + 1, ranks)
    call MPI_File_iread_at(file, place, back(1:8:2), 4_MPI_COUNT_KIND, MPI_INTEGER, q)
    call MPI_Wait(q, s)
    call check(all(back(1:8:2) == [2, 6, 10, 14] + 100 * modulo(rank + 1, ranks)) .and. all(back(2:8:2) == -1), &
               'another rank has its row in a section')
    call MPI_File_get_size(file, size)
    call check(size == 16 * ranks, 'the size of a file')
    call MPI_File_get_view(file, place, etype, filetype, rep)
    call check(place == 0 .and. etype == MPI_BYTE .and. rep == 'native', 'its view')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_close(file)
    call check(file == MPI_FILE_NULL, 'closed')
    call MPI_File_open(MPI_COMM_SELF, '/no/such/folder/file', MPI_MODE_RDONLY, MPI_INFO_NULL, file, code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_NO_SUCH_FILE, 'a file that is not there')
  end subroutine

  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state))
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = 5
    status%MPI_TAG = 6
    ierror = MPI_SUCCESS
  end subroutine

  subroutine free_it(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    freed = freed + int(extra_state)
    if (extra_state == 5) extra_state = 6
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel_it(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
    if (complete) ierror = MPI_ERR_OTHER
  end subroutine

  subroutine others()
    type(MPI_Request) :: q
    type(MPI_Status) :: s, t
    integer :: n, old(MPI_STATUS_SIZE), level
    integer(MPI_ADDRESS_KIND), volatile :: state
    logical :: flag, yes, no
    double precision :: began
    began = MPI_Wtime()
    state = 5
    call MPI_Abi_get_fortran_booleans(storage_size(yes) / 8, yes, no, flag)
    if (.not. flag) call MPI_Abi_set_fortran_booleans(storage_size(yes) / 8, .true., .false.)
    call MPI_Abi_get_fortran_booleans(storage_size(yes) / 8, yes, no, flag)
    call check(flag .and. yes .and. .not. no, 'booleans')
    call MPI_Grequest_start(query, free_it, cancel_it, 3_MPI_ADDRESS_KIND, q)
    call MPI_Cancel(q)
    call MPI_Grequest_complete(q)
    call MPI_Wait(q, s)
    call MPI_Get_count(s, MPI_INTEGER, n)
    call check(n == 3 .and. s%MPI_TAG == 6 .and. freed == 3, 'a generalized request')
    call MPI_Grequest_start(query, free_it, cancel_it, state, q)
    call MPI_Grequest_complete(q)
    call MPI_Wait(q, s)
    call check(freed == 8 .and. state == 6, 'its functions change the state that the program has')
    call MPI_Status_f082f(s, old)
    call check(old(MPI_SOURCE) == 5 .and. old(MPI_TAG) == 6, 'an old status')
    call MPI_Status_f2f08(old, t)
    call check(t%MPI_SOURCE == 5, 'and back')
    call MPI_Initialized(flag)
    call check(flag, 'initialized')
    call MPI_Query_thread(level)
    call check(MPI_Wtime() >= began .and. MPI_Wtick() > 0 .and. level >= MPI_THREAD_SINGLE, 'time')
    call check(MPI_Comm(MPI_COMM_WORLD%MPI_VAL) == MPI_COMM_WORLD, 'a handle is a number')
    call PMPI_Barrier(MPI_COMM_WORLD)
  end subroutine

  include 'checks.inc'
end module

program chapters
  use chapters_of_mpi
  implicit none
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call check(MPI_SUBARRAYS_SUPPORTED .and. MPI_ASYNC_PROTECTS_NONBLOCKING, 'what is promised')
  call requests()
  call datatypes()
  call collectives()
  call communicators()
  call topologies()
  call texts()
  call errors()
  call windows()
  call files()
  call others()
  call MPI_Finalize()
  if (wrong > 0) error stop 1
  if (rank == 0) print '(a)', 'right'
end program
