! ranks: 1 2 4
! Sections of arrays with gaps as buffers of mpi_f08: in blocking calls, and in those that return
! before they use the buffer (MPI-5.0 19.1.12). Polymorphic arrays, of which only the dynamic type
! tells how long an element is, and pointers to components.
program main
  use mpi_f08
  implicit none
  type :: place
    integer :: x
  end type place
  type, extends(place) :: body
    integer :: y, z
  end type body
  integer :: rank, size, right, left, faults = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  call blocking()
  call meanwhile()
  call expressions()
  call polymorphic()
  call components()
  call expect(MPI_SUBARRAYS_SUPPORTED, 'MPI_SUBARRAYS_SUPPORTED')
  if (MPI_SUBARRAYS_SUPPORTED) then
    call nonblocking()
    call partly_filled()
    call persistent()
    call refused()
    call odd_datatypes()
    call polymorphic_later()
    call untouched()
    call addresses()
  end if
  call MPI_Allreduce(MPI_IN_PLACE, faults, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. faults == 0) print '(a)', 'ok'
  call MPI_Finalize()
  if (faults /= 0) stop 1
contains
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    if (good) return
    print *, 'rank', rank, 'not as expected: ', what
    faults = faults + 1
  end subroutine expect

  ! Element (i, j) of rank of's array.
  integer elemental function cell(of, i, j)
    integer, intent(in) :: of, i, j
    cell = 10000 * of + 100 * i + j
  end function cell

  subroutine fill(array)
    integer, intent(out) :: array(:, :)
    integer :: i, j
    do j = 1, ubound(array, 2)
      do i = 1, ubound(array, 1)
        array(i, j) = cell(rank, i, j)
      end do
    end do
  end subroutine fill

  subroutine blocking()
    integer :: a(6, 8), b(6, 8), gathered(3, 0:size - 1), j
    type(MPI_Status) :: status
    call fill(a)
    b = -1
    call MPI_Sendrecv(a(2, :), 8, MPI_INTEGER, right, 1, &
                      b(6:1:-5, 1:8:2), 8, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    call expect(all(b(6, 1:8:2) == [(cell(left, 2, j), j = 1, 7, 2)]), 'odd columns of the row')
    call expect(all(b(1, 1:8:2) == [(cell(left, 2, j), j = 2, 8, 2)]), 'even columns of the row')
    call expect(all(b(2:5, :) == -1) .and. all(b(:, 2:8:2) == -1), 'what lies between')
    call MPI_Allgather(a(2:6:2, 3), 3, MPI_INTEGER, gathered, 3, MPI_INTEGER, MPI_COMM_WORLD)
    do j = 0, size - 1
      call expect(all(gathered(:, j) == cell(j, [2, 4, 6], 3)), 'a gathered column')
    end do
    b = -1
    b(1:5:2, 4) = rank
    call MPI_Allreduce(MPI_IN_PLACE, b(1:5:2, 4), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call expect(all(b(1:5:2, 4) == size * (size - 1) / 2), 'a sum in place')
    call expect(b(2, 4) == -1 .and. b(4, 4) == -1, 'what lies between the sums')
  end subroutine blocking

  ! What a pending receive brings during a blocking call into elements that the call has not changed.
  subroutine meanwhile()
    integer, asynchronous :: a(8)
    integer :: first, third
    type(MPI_Request) :: requests(2)
    a = -1
    first = 100 + rank
    third = 300 + rank
    call MPI_Irecv(a(3), 1, MPI_INTEGER, rank, 11, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(first, 1, MPI_INTEGER, rank, 12, MPI_COMM_WORLD, requests(2))
    call MPI_Sendrecv(third, 1, MPI_INTEGER, rank, 11, a(1:7:2), 1, MPI_INTEGER, rank, 12, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call expect(all(a == [first, -1, third, -1, -1, -1, -1, -1]), 'what came meanwhile')
  end subroutine meanwhile

  subroutine expressions()
    integer :: a(4), b(4)
    a = [1, 2, 3, 4]
    call MPI_Sendrecv(2 * a, 4, MPI_INTEGER, right, 13, b, 4, MPI_INTEGER, left, 13, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(b == 2 * a), 'an expression')
  end subroutine expressions

  subroutine polymorphic()
    class(place), allocatable :: bodies(:)
    integer :: a(8), b(8), i
    real(8) :: r(4)
    a = [(cell(rank, 1, i), i = 1, 8)]
    b = -1
    call pass(a, b, 8, MPI_INTEGER)
    call expect(all(b == [(cell(left, 1, i), i = 1, 8)]), 'CLASS(*) of INTEGERs')
    b = -1
    call pass(a(1:8:2), b(8:2:-2), 4, MPI_INTEGER)
    call expect(all(b(8:2:-2) == cell(left, 1, [1, 3, 5, 7])), 'CLASS(*) with gaps')
    call expect(all(b(1:8:2) == -1), 'what lies between elements of CLASS(*)')
    r = 0
    call pass([(rank + 0.5d0, i = 1, 4)], r, 4, MPI_DOUBLE_PRECISION)
    call expect(all(r == left + 0.5d0), 'CLASS(*) of DOUBLE PRECISION')
    allocate (body :: bodies(2))
    call pass(a(1:6), bodies, 6, MPI_INTEGER)
    call expect_bodies(bodies, [(cell(left, 1, i), i = 1, 6)])
    call MPI_Sendrecv(bodies, 6, MPI_INTEGER, left, 14, b, 6, MPI_INTEGER, right, 14, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(b(1:6) == a(1:6)), 'CLASS(place) sent')
    b = -1
    call pass(bodies(2:1:-1), b, 6, MPI_INTEGER)
    call expect(all(b(1:6) == cell(mod(left + size - 1, size), 1, [4, 5, 6, 1, 2, 3])), 'backwards')
  end subroutine polymorphic

  subroutine pass(from, to, n, datatype)
    class(*), intent(in) :: from(:)
    class(*), intent(inout) :: to(:)
    integer, intent(in) :: n
    type(MPI_Datatype), intent(in) :: datatype
    call MPI_Sendrecv(from, n, datatype, right, 14, to, n, datatype, left, 14, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine pass

  subroutine expect_bodies(bodies, cells)
    class(place), intent(in) :: bodies(:)
    integer, intent(in) :: cells(:)
    select type (bodies)
    type is (body)
      call expect(all([bodies(1)%x, bodies(1)%y, bodies(1)%z] == cells(1:3)), 'the first body')
      call expect(all([bodies(2)%x, bodies(2)%y, bodies(2)%z] == cells(4:6)), 'the second body')
    class default
      call expect(.false., 'the dynamic type')
    end select
  end subroutine expect_bodies

  ! A pointer to components, which gfortran passes as it is where it is an argument.
  subroutine components()
    type(body), target :: bodies(4)
    integer, pointer :: y(:)
    bodies = body(0, rank, 0)
    y => bodies%y
    call exchange(y)
    call expect(all(bodies%y == left) .and. all(bodies%x == 0) .and. all(bodies%z == 0), 'components')
  end subroutine components

  subroutine exchange(y)
    integer, pointer, intent(in) :: y(:)
    call MPI_Sendrecv_replace(y, 4, MPI_INTEGER, right, 15, left, 15, MPI_COMM_WORLD, &
                              MPI_STATUS_IGNORE)
  end subroutine exchange

  subroutine polymorphic_later()
    integer, asynchronous, target :: a(8), b(8)
    a = rank
    b = -1
    call pass_later(a(1:8:2), b(2:8:2))
    call expect(all(b(2:8:2) == left) .and. all(b(1:8:2) == -1), 'CLASS(*) in nonblocking calls')
  end subroutine polymorphic_later

  subroutine pass_later(from, to)
    class(*), asynchronous, intent(in) :: from(:)
    class(*), asynchronous, intent(inout) :: to(:)
    type(MPI_Request) :: requests(2)
    call MPI_Irecv(to, 4, MPI_INTEGER, left, 16, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(from, 4, MPI_INTEGER, right, 16, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  end subroutine pass_later

  subroutine nonblocking()
    integer, asynchronous :: a(6, 8), b(6, 8)
    real(8), asynchronous :: c(3, 4, 5), d(3, 4, 5)
    type(MPI_Request) :: requests(4)
    integer :: i, j
    call fill(a)
    b = -1
    c = 0
    c(:, 2, 1:5:2) = rank + 0.5d0
    d = -1
    call MPI_Irecv(b(1:6:2, 2:8:3), 9, MPI_INTEGER, left, 2, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(d(:, 3, 5:1:-2), 9, MPI_DOUBLE_PRECISION, left, 3, MPI_COMM_WORLD, requests(2))
    call MPI_Isend(a(1:6:2, 2:8:3), 9, MPI_INTEGER, right, 2, MPI_COMM_WORLD, requests(3))
    call MPI_Isend(c(:, 2, 1:5:2), 9, MPI_DOUBLE_PRECISION, right, 3, MPI_COMM_WORLD, requests(4))
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    do j = 1, 8
      do i = 1, 6
        if (mod(i, 2) == 1 .and. mod(j, 3) == 2) then
          call expect(b(i, j) == cell(left, i, j), 'an element of the section')
        else
          call expect(b(i, j) == -1, 'an element beside the section')
        end if
      end do
    end do
    call expect(all(d(:, 3, 1:5:2) == left + 0.5d0), 'a section of three dimensions')
    call expect(count(d == -1) == 51, 'what lies beside it')
    b = -1
    if (rank == 0) b(2, :) = 7
    call MPI_Ibcast(b(2, :), 8, MPI_INTEGER, 0, MPI_COMM_WORLD, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call expect(all(b(2, :) == 7) .and. count(b == -1) == 40, 'a row, broadcast')
  end subroutine nonblocking

  ! Fewer elements than the section has, and more than one datatype in each element.
  subroutine partly_filled()
    integer, asynchronous :: a(5, 5), b(5, 5)
    complex(8), asynchronous :: z(6), w(6)
    type(MPI_Request) :: requests(4)
    call fill(a)
    b = -1
    z = cmplx(rank, -rank, 8)
    w = 0
    call MPI_Irecv(b(1:5:4, :), 3, MPI_INTEGER, left, 4, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(a(1:5:4, :), 3, MPI_INTEGER, right, 4, MPI_COMM_WORLD, requests(2))
    call MPI_Irecv(w(1:6:2), 6, MPI_DOUBLE_PRECISION, left, 5, MPI_COMM_WORLD, requests(3))
    call MPI_Isend(z(2:6:2), 6, MPI_DOUBLE_PRECISION, right, 5, MPI_COMM_WORLD, requests(4))
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    call expect(all([b(1, 1), b(5, 1), b(1, 2)] == cell(left, [1, 5, 1], [1, 1, 2])), 'three')
    call expect(count(b == -1) == 22, 'no more than three')
    call expect(all(w(1:6:2) == cmplx(left, -left, 8)), 'two numbers in each element')
    call expect(all(w(2:6:2) == 0), 'what lies between')
  end subroutine partly_filled

  subroutine persistent()
    integer, asynchronous :: a(4, 4), b(4, 4)
    type(MPI_Request) :: requests(2)
    integer :: round
    call MPI_Send_init(a(3, :), 4, MPI_INTEGER, right, 6, MPI_COMM_WORLD, requests(1))
    call MPI_Recv_init(b(2, 1:4:1), 4, MPI_INTEGER, left, 6, MPI_COMM_WORLD, requests(2))
    do round = 1, 3
      b = -1
      a(3, :) = rank + round
      call MPI_Startall(2, requests)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      call expect(all(b(2, :) == left + round) .and. count(b == -1) == 12, 'a persistent row')
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine persistent

  ! Where nothing can step over the gaps, the call says so.
  subroutine refused()
    integer :: a(4, 4), class, code
    integer, allocatable :: all_of_them(:)
    type(MPI_Request) :: request
    allocate (all_of_them(4 * size))
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    a = 0
    request = MPI_REQUEST_NULL
    call MPI_Iallgather(a(1, :), 4, MPI_INTEGER, all_of_them, 4, MPI_INTEGER, MPI_COMM_WORLD, &
                        request, code)
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_BUFFER, 'gaps in a nonblocking gathering')
    call expect(request == MPI_REQUEST_NULL, 'no request')
    call MPI_Isend(a(1, :), 5, MPI_INTEGER, right, 7, MPI_COMM_WORLD, request, code)
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_BUFFER, 'more than the section has')
    call MPI_Isend(a(1, :), 4, MPI_DATATYPE_NULL, right, 7, MPI_COMM_WORLD, request, code)
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_TYPE, 'no datatype')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  end subroutine refused

  ! Datatypes whose elements do not lie one behind the other, each in its own extent.
  subroutine odd_datatypes()
    integer :: a(4, 4), class, code, i
    type(MPI_Datatype) :: types(3), pair
    type(MPI_Request) :: request
    integer(MPI_ADDRESS_KIND), parameter :: bytes = storage_size(0) / 8
    a = 0
    call MPI_Type_contiguous(2, MPI_INTEGER, pair)
    call MPI_Type_create_resized(pair, 0_MPI_ADDRESS_KIND, bytes, types(1))
    call MPI_Type_create_resized(MPI_INTEGER, -bytes, bytes, types(2))
    call MPI_Type_create_hindexed_block(1, 1, [-bytes], MPI_INTEGER, types(3))
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    do i = 1, 3
      call MPI_Type_commit(types(i))
      request = MPI_REQUEST_NULL
      call MPI_Irecv(a(2, :), 4, types(i), MPI_PROC_NULL, 7, MPI_COMM_WORLD, request, code)
      call MPI_Error_class(code, class)
      call expect(class == MPI_ERR_BUFFER .and. request == MPI_REQUEST_NULL, 'an odd datatype')
      call MPI_Type_free(types(i))
    end do
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    call MPI_Type_free(pair)
  end subroutine odd_datatypes

  ! Gaps do not matter in a buffer that the call leaves alone.
  subroutine untouched()
    integer, asynchronous :: a(4, 4), gathered(4 * size)
    integer :: none
    type(MPI_Request) :: request
    a = rank
    gathered = -1
    none = 0
    call MPI_Iallgather(a(1, 1:none:2), 0, MPI_INTEGER, gathered, 0, MPI_INTEGER, MPI_COMM_WORLD, &
                        request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Iallgather(a(1, :), 0, MPI_INTEGER, gathered, 0, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (rank == 0) then
      call MPI_Igather(a, 4, MPI_INTEGER, gathered, 4, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    else
      call MPI_Igather(a, 4, MPI_INTEGER, a(1, :), 4, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    end if
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (rank == 0) call expect(gathered(4 * size) == size - 1, 'gathered at the root')
  end subroutine untouched

  ! An address is that of the array, not of a copy.
  subroutine addresses()
    integer, target :: a(8)
    integer(MPI_ADDRESS_KIND) :: first, third
    call MPI_Get_address(a(1:8:3), first)
    call MPI_Get_address(a(3:8:2), third)
    call expect(MPI_Aint_diff(third, first) == 2 * storage_size(a) / 8, 'an address')
  end subroutine addresses
end program main
