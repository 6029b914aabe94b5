! ranks: 1 2 3
! The module mpi: completion of several requests, address-sized attributes in both languages,
! strings, absolute addresses, generalized requests, datatypes taken apart (MPI-5.0 19.1.3, 19.3).
module checks
  implicit none
  integer :: faults = 0, freed = 0
contains
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    if (good) return
    print *, 'not as expected: ', what
    faults = faults + 1
  end subroutine expect
end module checks

module callbacks
  use mpi
  use checks
  implicit none
  integer(MPI_ADDRESS_KIND) :: deleted = 0
contains
  subroutine copy(comm, key, state, old, new, flag, ierror)
    integer :: comm, key, ierror
    integer(MPI_ADDRESS_KIND) :: state, old, new
    logical :: flag
    new = old + state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine copy

  subroutine forget(comm, key, value, state, ierror)
    integer :: comm, key, ierror
    integer(MPI_ADDRESS_KIND) :: value, state
    deleted = value
    ierror = MPI_SUCCESS
  end subroutine forget

  subroutine query(state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: state
    integer :: status(MPI_STATUS_SIZE), ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, int(state), ierror)
    call MPI_Status_set_cancelled(status, .true., ierror)
    status(MPI_SOURCE) = 17
    status(MPI_TAG) = 18
    ierror = MPI_SUCCESS
  end subroutine query

  subroutine release(state, ierror)
    integer(MPI_ADDRESS_KIND) :: state
    integer :: ierror
    freed = int(state)
    ierror = MPI_SUCCESS
  end subroutine release

  subroutine stop_it(state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: state
    logical :: complete
    integer :: ierror
    if (.not. complete) state = state + 100
    ierror = MPI_SUCCESS
  end subroutine stop_it
end module callbacks

program main
  use mpi
  use checks
  implicit none
  integer :: rank, ierror
  call MPI_Init(ierror)
  call MPI_Pcontrol(1)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call completion()
  call attributes()
  call c_attributes()
  call strings()
  call addresses()
  call generalized()
  call contents()
  call comparisons()
  call MPI_Finalize(ierror)
  if (rank == 0 .and. faults == 0) print '(a)', 'ok'

contains

  subroutine completion()
    integer :: requests(20), statuses(MPI_STATUS_SIZE, 20), indices(20)
    integer :: buffers(20), given(20), i, ready, which, seen
    logical :: flag
    do i = 1, 20
      call MPI_Irecv(buffers(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, requests(i), ierror)
    end do
    call MPI_Testany(20, requests, which, flag, MPI_STATUS_IGNORE, ierror)
    call expect(.not. flag .and. which == MPI_UNDEFINED, 'nothing has come')
    given(3) = 33
    call MPI_Send(given(3), 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, ierror)
    call MPI_Waitany(20, requests, which, statuses(:, 1), ierror)
    call expect(which == 3 .and. requests(3) == MPI_REQUEST_NULL, 'the third request is index 3')
    call expect(statuses(MPI_TAG, 1) == 3 .and. buffers(3) == 33, 'and holds what was sent')
    given(20) = 20
    call MPI_Send(given(20), 1, MPI_INTEGER, rank, 20, MPI_COMM_WORLD, ierror)
    seen = 0
    do while (seen == 0)
      call MPI_Waitsome(20, requests, ready, indices, statuses, ierror)
      seen = seen + ready
    end do
    call expect(ready == 1 .and. indices(1) == 20, 'the last index is the size')
    do i = 1, 19
      given(i) = 100 + i
      if (i /= 3) call MPI_Send(given(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, ierror)
    end do
    call MPI_Waitall(20, requests, MPI_STATUSES_IGNORE, ierror)
    call expect(all(requests == MPI_REQUEST_NULL), 'all are complete')
    call expect(buffers(1) == 101 .and. buffers(19) == 119, 'all have arrived')
    call MPI_Waitany(20, requests, which, MPI_STATUS_IGNORE, ierror)
    call expect(which == MPI_UNDEFINED, 'nothing to wait for')
  end subroutine completion

  subroutine attributes()
    use callbacks
    integer :: key, comm
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Comm_create_keyval(copy, forget, key, 5_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, 2_MPI_ADDRESS_KIND**40, ierror)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
    call MPI_Comm_get_attr(comm, key, value, flag, ierror)
    call expect(flag .and. value == 2_MPI_ADDRESS_KIND**40 + 5, 'a copied attribute')
    call MPI_Comm_free(comm, ierror)
    call expect(deleted == 2_MPI_ADDRESS_KIND**40 + 5, 'a deleted attribute')
    call MPI_Comm_delete_attr(MPI_COMM_SELF, key, ierror)
    call expect(deleted == 2_MPI_ADDRESS_KIND**40, 'the original')
    call MPI_Comm_free_keyval(key, ierror)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
    call expect(flag .and. value >= 32767, 'MPI_TAG_UB is a value')
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, key, value, ierror)
    call MPI_Type_contiguous(3, MPI_REAL, comm, ierror)
    call MPI_Type_set_attr(comm, key, -1_MPI_ADDRESS_KIND, ierror)
    call MPI_Type_get_attr(comm, key, value, flag, ierror)
    call expect(flag .and. value == -1, 'an attribute of a datatype')
    call MPI_Type_free(comm, ierror)
    call MPI_Type_free_keyval(key, ierror)
  end subroutine attributes

  ! What Fortran sets C reads through an address, and the other way C's pointer is the value.
  subroutine c_attributes()
    use, intrinsic :: iso_c_binding
    interface
      integer(c_int) function c_get(comm, key, value, flag) bind(C, name='MPI_Comm_get_attr')
        import :: c_int, c_intptr_t, c_ptr
        integer(c_intptr_t), value :: comm
        integer(c_int), value :: key
        type(c_ptr) :: value
        integer(c_int) :: flag
      end function c_get
      integer(c_int) function c_set(comm, key, value) bind(C, name='MPI_Comm_set_attr')
        import :: c_int, c_intptr_t, c_ptr
        integer(c_intptr_t), value :: comm
        integer(c_int), value :: key
        type(c_ptr), value :: value
      end function c_set
    end interface
    integer(c_intptr_t) :: self
    integer :: key, old
    integer(c_int) :: flag
    type(c_ptr) :: place
    integer(c_int), target :: mine
    integer(c_int), pointer :: seen
    integer(c_intptr_t), pointer :: wide
    integer(MPI_ADDRESS_KIND) :: value
    logical :: found
    self = MPI_COMM_SELF
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, value, ierror)
    call MPI_Attr_put(MPI_COMM_SELF, key, -77, ierror)
    ierror = c_get(self, key, place, flag)
    call c_f_pointer(place, seen)
    call expect(flag == 1 .and. seen == -77, 'C finds an INTEGER behind the address')
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, 2_MPI_ADDRESS_KIND**50, ierror)
    ierror = c_get(self, key, place, flag)
    call c_f_pointer(place, wide)
    call expect(wide == 2_c_intptr_t**50, 'C finds an address-sized integer')
    ierror = c_set(self, key, c_loc(mine))
    call MPI_Comm_get_attr(MPI_COMM_SELF, key, value, found, ierror)
    call expect(found .and. value == transfer(c_loc(mine), value), 'a pointer of C is the value')
    call MPI_Attr_get(MPI_COMM_SELF, key, old, found, ierror)
    call expect(found .and. old == int(iand(value, 2_MPI_ADDRESS_KIND**31 - 1)) .or. old < 0, 'cut')
    call MPI_Comm_delete_attr(MPI_COMM_SELF, key, ierror)
    call MPI_Comm_free_keyval(key, ierror)
  end subroutine c_attributes

  subroutine strings()
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=4) :: short
    character(len=20) :: value
    integer :: length, info, comm
    logical :: flag
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
    call MPI_Comm_set_name(comm, ' a name   ', ierror)
    call MPI_Comm_get_name(comm, name, length, ierror)
    call expect(name == ' a name' .and. length == 7, 'blanks in front stay, behind they go')
    call MPI_Comm_free(comm, ierror)
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, '  key  ', '  the value  ', ierror)
    value = repeat('x', 20)
    call MPI_Info_get(info, 'key', 20, value, flag, ierror)
    call expect(flag .and. value == 'the value', 'an info value loses both')
    length = 4
    call MPI_Info_get_string(info, 'key ', length, short, flag, ierror)
    call expect(flag .and. length == 9 .and. short == 'the ', 'as much as there is room for')
    call MPI_Info_get_nthkey(info, 0, name, ierror)
    call expect(name == 'key', 'the first key has number 0')
    call MPI_Info_get(info, 'other', 20, value, flag, ierror)
    call expect(.not. flag, 'a key that is not there')
    call MPI_Info_set(info, 'letter', char(233), ierror)
    length = 4
    call MPI_Info_get_string(info, 'letter', length, short, flag, ierror)
    call expect(flag .and. length == 1 .and. short == char(233), 'a byte that is no UTF-8')
    call MPI_Info_free(info, ierror)
    call MPI_Get_processor_name(name, length, ierror)
    call expect(length > 0 .and. len_trim(name) == length, 'the name of the processor')
  end subroutine strings

  subroutine addresses()
    integer :: a, b, lengths(2), types(2), struct
    integer(MPI_ADDRESS_KIND) :: places(2)
    integer :: got(2)
    a = 1000 + rank
    b = 2000 + rank
    call MPI_Get_address(a, places(1), ierror)
    call MPI_Get_address(b, places(2), ierror)
    lengths = 1
    types = MPI_INTEGER
    call MPI_Type_create_struct(2, lengths, places, types, struct, ierror)
    call MPI_Type_commit(struct, ierror)
    call MPI_Sendrecv(MPI_BOTTOM, 1, struct, rank, 0, got, 2, MPI_INTEGER, rank, 0, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call expect(got(1) == 1000 + rank .and. got(2) == 2000 + rank, 'sent from MPI_BOTTOM')
    call expect(MPI_Aint_diff(MPI_Aint_add(places(1), 8_MPI_ADDRESS_KIND), places(1)) == 8, 'aint')
    call MPI_Type_free(struct, ierror)
  end subroutine addresses

  subroutine generalized()
    use callbacks
    integer :: request, status(MPI_STATUS_SIZE), n
    integer(MPI_ADDRESS_KIND), asynchronous :: state
    logical :: flag
    state = 3
    call MPI_Grequest_start(query, release, stop_it, state, request, ierror)
    call MPI_Test(request, flag, status, ierror)
    call expect(.not. flag, 'not complete yet')
    call MPI_Cancel(request, ierror)
    call MPI_Grequest_complete(request, ierror)
    call MPI_Wait(request, status, ierror)
    call MPI_Get_elements(status, MPI_INTEGER, n, ierror)
    call MPI_Test_cancelled(status, flag, ierror)
    call expect(n == 103 .and. flag .and. status(MPI_TAG) == 18, 'what the query function said')
    call expect(freed == 103, 'the free function was called')
  end subroutine generalized

  subroutine contents()
    integer :: vector, integers(4), types(3), n, m, t, combiner
    integer(MPI_ADDRESS_KIND) :: addresses(1), lb, extent
    call MPI_Type_vector(2, 3, 4, MPI_DOUBLE_PRECISION, vector, ierror)
    call MPI_Type_get_envelope(vector, n, m, t, combiner, ierror)
    call expect(n == 3 .and. m == 0 .and. t == 1 .and. combiner == MPI_COMBINER_VECTOR, 'envelope')
    types = -5
    call MPI_Type_get_contents(vector, 4, 1, 3, integers, addresses, types, ierror)
    call expect(all(integers(1:3) == [2, 3, 4]), 'integers')
    call expect(types(1) == MPI_DOUBLE_PRECISION .and. types(2) == -5, 'types')
    call MPI_Type_get_extent(vector, lb, extent, ierror)
    call expect(lb == 0 .and. extent == 56, 'extent')
    call MPI_Type_free(vector, ierror)
    call MPI_Sizeof(extent, n, ierror)
    call expect(n == 8, 'MPI_Sizeof')
  end subroutine contents

  subroutine comparisons()
    type(MPI_Comm) :: world, self
    world%MPI_VAL = MPI_COMM_WORLD
    self%MPI_VAL = MPI_COMM_SELF
    call expect(world == world .and. world /= self .and. .not. world == self, 'typed handles')
  end subroutine comparisons
end program main
