! ranks: 1 2 4
! The module mpi_f08: typed handles and statuses, optional error codes, large counts, functions of
! the program, sections of arrays (MPI-5.0 19.1.2).

! Programs call a module of their own so: the library's have other names.
module mpi_types
  use mpi_f08
  implicit none
  type(MPI_Datatype) :: pair
end module mpi_types

module operations
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: faults = 0, raised = 0, times = 0
  integer(MPI_ADDRESS_KIND) :: deleted = 0
contains
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    if (good) return
    print *, 'not as expected: ', what
    faults = faults + 1
  end subroutine expect

  subroutine farthest(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    real(8), pointer :: in(:), inout(:)
    call expect(datatype == MPI_DOUBLE_PRECISION, 'the datatype of a reduction')
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    where (abs(in) > abs(inout)) inout = in
  end subroutine farthest

  subroutine farthest_c(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer :: short
    short = int(len)
    call farthest(invec, inoutvec, short, datatype)
  end subroutine farthest_c

  subroutine complain(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    call expect(comm == MPI_COMM_WORLD, 'the communicator of an error')
    raised = error_code
  end subroutine complain

  subroutine count_errors(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    times = times + 1
    raised = error_code
  end subroutine count_errors

  subroutine complain_of_session(session, error_code)
    type(MPI_Session) :: session
    integer :: error_code
    call expect(session /= MPI_SESSION_NULL, 'the session of an error')
    raised = error_code
  end subroutine complain_of_session

  subroutine forget(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deleted = attribute_val + extra_state
    ierror = MPI_SUCCESS
  end subroutine forget

  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    extra_state = extra_state + 100
    call MPI_Status_set_elements(status, MPI_BYTE, int(extra_state))
    call MPI_Status_set_cancelled(status, .false.)
    ierror = MPI_SUCCESS
  end subroutine query

  subroutine release(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    deleted = extra_state
    ierror = MPI_SUCCESS
  end subroutine release

  subroutine stop_it(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine stop_it
end module operations

program main
  use mpi_f08
  use operations
  implicit none
  integer :: rank, size, right, left
  call before_initialisation()
  call MPI_Init()
  call MPI_Pcontrol(1)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  call ring()
  call large_counts()
  call partitions()
  call reductions()
  call sections()
  call own_types()
  call functions()
  call errors_once()
  call statuses()
  call memory()
  call state_by_value()
  call MPI_Finalize()
  if (rank == 0 .and. faults == 0) print '(a)', 'ok'

contains

  subroutine before_initialisation()
    type(MPI_Errhandler) :: handler
    type(MPI_Session) :: session
    integer :: ierror
    handler = MPI_ERRHANDLER_NULL
    call MPI_Session_create_errhandler(complain_of_session, handler, ierror)
    call expect(ierror == MPI_SUCCESS .and. handler /= MPI_ERRHANDLER_NULL, 'a handler at any time')
    call MPI_Session_init(MPI_INFO_NULL, handler, session)
    call MPI_Session_call_errhandler(session, MPI_ERR_OTHER, ierror)
    call expect(raised == MPI_ERR_OTHER, 'the error of a session')
    call MPI_Session_finalize(session)
    call MPI_Errhandler_free(handler)
  end subroutine before_initialisation

  subroutine partitions()
    integer, asynchronous :: out(4), got(4)
    type(MPI_Request) :: requests(2)
    integer :: turn, part
    logical :: arrived
    call MPI_Psend_init(out, 4, 1_MPI_COUNT_KIND, MPI_INTEGER, mod(rank + 1, size), 6, MPI_COMM_WORLD, &
        MPI_INFO_NULL, requests(1))
    call MPI_Precv_init(got, 2, 2_MPI_COUNT_KIND, MPI_INTEGER, mod(rank + size - 1, size), 6, MPI_COMM_WORLD, &
        MPI_INFO_NULL, requests(2))
    do turn = 1, 2
      call MPI_Startall(2, requests)
      out = [(100 * turn + part, part = 1, 4)]
      call MPI_Pready(2, requests(1))
      call MPI_Pready_range(0, 1, requests(1))
      call MPI_Pready_list(1, [3], requests(1))
      arrived = .false.
      do while (.not. arrived)
        call MPI_Parrived(requests(2), 1, arrived)
      end do
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      if (.not. MPI_ASYNC_PROTECTS_NONBLOCKING) call MPI_F_sync_reg(got)
      call expect(all(got == [(100 * turn + part, part = 1, 4)]), 'partitions')
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine partitions

  subroutine ring()
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status(2)
    integer, asynchronous :: mine, got
    integer :: ierror, n
    mine = 10 * rank
    call MPI_Irecv(got, 1, MPI_INTEGER, left, 5, MPI_COMM_WORLD, requests(1), ierror)
    call expect(ierror == MPI_SUCCESS, 'an error code where one is asked for')
    call MPI_Isend(mine, 1, MPI_INTEGER, right, 5, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, status)
    if (.not. MPI_ASYNC_PROTECTS_NONBLOCKING) call MPI_F_sync_reg(got)
    call expect(got == 10 * left, 'the neighbour''s number')
    call expect(status(1)%MPI_SOURCE == left .and. status(1)%MPI_TAG == 5, 'fields of a status')
    call MPI_Get_count(status(1), MPI_INTEGER, n)
    call expect(n == 1, 'the count of a message')
    call expect(all([requests(1) == MPI_REQUEST_NULL, requests(2) == MPI_REQUEST_NULL]), 'done')
    call MPI_Sendrecv(mine, 1, MPI_INTEGER, right, 6, got, 1, MPI_INTEGER, left, 6, &
        comm=MPI_COMM_WORLD, status=MPI_STATUS_IGNORE)
  end subroutine ring

  subroutine large_counts()
    integer(MPI_COUNT_KIND) :: n
    integer(MPI_COUNT_KIND) :: counts(size)
    integer(MPI_ADDRESS_KIND) :: displacements(size)
    integer :: all(size), i
    type(MPI_Status) :: status
    n = 1
    call MPI_Sendrecv(rank, n, MPI_INTEGER, rank, 7, all, n, MPI_INTEGER, rank, 7, &
        MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call expect(n == 1_MPI_COUNT_KIND, 'a large count')
    counts = 1
    displacements = [(size - i, i = 1, size)]
    call MPI_Allgatherv(rank, 1_MPI_COUNT_KIND, MPI_INTEGER, all, counts, displacements, &
        MPI_INTEGER, MPI_COMM_WORLD)
    call expect(all(1) == size - 1 .and. all(size) == 0, 'gathered backwards')
  end subroutine large_counts

  subroutine reductions()
    type(MPI_Op) :: op
    real(8) :: mine(2), got(2)
    mine = [real(rank, 8), -2d0 * rank]
    call MPI_Op_create(farthest, .true., op)
    call MPI_Allreduce(mine, got, 2, MPI_DOUBLE_PRECISION, op, MPI_COMM_WORLD)
    call expect(all(got == [size - 1d0, -2d0 * (size - 1)]), 'a reduction of the program')
    call MPI_Op_free(op)
    call expect(op == MPI_OP_NULL, 'a freed operation')
    call MPI_Op_create_c(farthest_c, .true., op)
    call MPI_Allreduce(mine, got, 2_MPI_COUNT_KIND, MPI_DOUBLE_PRECISION, op, MPI_COMM_WORLD)
    call expect(got(2) == -2d0 * (size - 1), 'one with a large count')
    call MPI_Op_free(op)
    call MPI_Allreduce(MPI_IN_PLACE, mine, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    call expect(mine(1) == size * (size - 1) / 2, 'in place')
  end subroutine reductions

  subroutine sections()
    integer :: table(6, 4), got(12), i
    table = reshape([(i, i = 1, 24)], [6, 4])
    call MPI_Sendrecv(table(1:6:2, :), 12, MPI_INTEGER, rank, 8, got, 12, MPI_INTEGER, rank, 8, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(got == [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23]), 'every other row')
  end subroutine sections

  subroutine own_types()
    use mpi_types
    integer :: got(2)
    call MPI_Type_contiguous(2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    call MPI_Sendrecv([rank, size], 1, pair, rank, 8, got, 1, pair, rank, 8, MPI_COMM_WORLD, &
        MPI_STATUS_IGNORE)
    call expect(all(got == [rank, size]), 'a datatype of the program''s module')
    call MPI_Type_free(pair)
  end subroutine own_types

  subroutine functions()
    type(MPI_Errhandler) :: handler
    type(MPI_Comm) :: comm
    integer :: ierror, key, n
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call MPI_Comm_create_errhandler(complain, handler)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
    call MPI_Errhandler_free(handler)
    call MPI_Send(rank, 1, MPI_INTEGER, size, 0, MPI_COMM_WORLD, ierror)
    call expect(raised == ierror .and. ierror /= MPI_SUCCESS, 'an error handler of the program')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, forget, key, 1_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 41_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_get_attr(comm, key, value, flag)
    call expect(flag .and. value == 41, 'a copied attribute')
    call MPI_Comm_set_name(comm, 'copy')
    call MPI_Comm_get_name(comm, name, n)
    call expect(name == 'copy' .and. n == 4, 'a name')
    call MPI_Comm_free(comm)
    call expect(deleted == 42 .and. comm == MPI_COMM_NULL, 'a deleted attribute')
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key)
    call MPI_Comm_free_keyval(key)
  end subroutine functions

  ! How long some arrays are is asked of a communicator first, which may be the wrong one.
  subroutine errors_once()
    type(MPI_Errhandler) :: handler
    type(MPI_Comm) :: comm
    type(MPI_Datatype) :: types(1)
    integer :: ierror, none(1)
    integer(MPI_ADDRESS_KIND) :: places(1)
    none = 0
    places = 0
    types = MPI_INTEGER
    call MPI_Comm_create_errhandler(count_errors, handler)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, handler)
    call MPI_Errhandler_free(handler)
    call MPI_Cart_sub(MPI_COMM_WORLD, [.true., .true.], comm, ierror)
    call expect_once(ierror, MPI_ERR_TOPOLOGY, 'MPI_Cart_sub')
    call MPI_Neighbor_alltoallw(none, none, places, types, none, none, places, types, &
        MPI_COMM_WORLD, ierror)
    call expect_once(ierror, MPI_ERR_TOPOLOGY, 'MPI_Neighbor_alltoallw')
    call MPI_Neighbor_alltoallw(none, none, places, types, none, none, places, types, &
        MPI_COMM_NULL, ierror)
    call expect_once(ierror, MPI_ERR_COMM, 'MPI_Neighbor_alltoallw')
    call MPI_Alltoallw(none, none, none, types, none, none, none, types, MPI_COMM_NULL, ierror)
    call expect_once(ierror, MPI_ERR_COMM, 'MPI_Alltoallw')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  end subroutine errors_once

  ! One error of this class, which the text attributes to `procedure`.
  subroutine expect_once(code, class, procedure)
    integer, intent(in) :: code, class
    character(*), intent(in) :: procedure
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: found, n
    call MPI_Error_class(code, found)
    call MPI_Error_string(code, text, n)
    call expect(times == 1 .and. raised == code .and. found == class, procedure // ' fails once')
    call expect(index(text, procedure // ':') > 0, procedure // ' is named')
    times = 0
  end subroutine expect_once

  subroutine statuses()
    type(MPI_Status) :: status, again
    integer :: old(MPI_STATUS_SIZE)
    logical :: flag
    status%MPI_TAG = 99
    call MPI_Status_set_cancelled(status, .true.)
    call MPI_Status_f082f(status, old)
    call MPI_Status_f2f08(old, again)
    call MPI_Test_cancelled(again, flag)
    call expect(flag .and. again%MPI_TAG == 99, 'a status there and back')
  end subroutine statuses

  subroutine memory()
    type(c_ptr) :: place, detached
    integer, pointer :: numbers(:)
    integer :: n, got, ierror
    character, allocatable, target :: buffer(:)
    integer :: bytes
    integer(MPI_COUNT_KIND) :: many
    call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, place)
    call c_f_pointer(place, numbers, [10])
    numbers = 3
    call expect(sum(numbers) == 30, 'memory of the library')
    call MPI_Free_mem(numbers)
    allocate (buffer(1000 + MPI_BSEND_OVERHEAD))
    call MPI_Buffer_attach(buffer, 1000 + MPI_BSEND_OVERHEAD)
    call MPI_Bsend(rank, 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD)
    call MPI_Recv(got, 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPI_Buffer_detach(detached, bytes)
    call expect(c_associated(detached, c_loc(buffer)), 'the buffer comes back')
    call PMPI_Sizeof(many, n)
    call expect(n == 8, 'MPI_Sizeof, with the name for profiling')
    call MPI_Sizeof(got, n)
    call expect(bytes == 1000 + MPI_BSEND_OVERHEAD .and. n == 4, 'with its size')
    many = 2000
    call MPI_Comm_attach_buffer(MPI_COMM_SELF, buffer, 1000_MPI_COUNT_KIND)
    call MPI_Comm_detach_buffer(MPI_COMM_SELF, detached, many)
    call expect(c_associated(detached, c_loc(buffer)) .and. many == 1000, 'by a large size')
    call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0)
    call MPI_Bsend(rank, 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD)
    call MPI_Recv(got, 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPI_Buffer_detach(detached, bytes)
    call expect(c_associated(detached, c_loc(MPI_BUFFER_AUTOMATIC)), 'the automatic one')
    call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0_MPI_COUNT_KIND)
    call MPI_Buffer_detach(detached, many)
    call expect(c_associated(detached, c_loc(MPI_BUFFER_AUTOMATIC)), 'also in the large form')
  end subroutine memory

  subroutine state_by_value()
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: count
    call MPI_Grequest_start(query, release, stop_it, 3_MPI_ADDRESS_KIND, request)
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, status)
    call MPI_Get_count(status, MPI_BYTE, count)
    call expect(count == 103 .and. deleted == 103, 'the state of a generalized request')
  end subroutine state_by_value
end program main
