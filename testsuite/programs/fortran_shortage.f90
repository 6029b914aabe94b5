! ranks: 1
! Where there is no memory for a copy of an argument, the call fails with MPI_ERR_NO_MEM and the process
! goes on (MPI-5.0 9.4). The arrays are never touched, so that they cost addresses alone.
program main
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  type, bind(c) :: rlimit
    integer(c_long) :: soft, hard
  end type rlimit
  interface
    integer(c_int) function getrlimit(what, limit) bind(c)
      import
      integer(c_int), value :: what
      type(rlimit) :: limit
    end function getrlimit
    integer(c_int) function setrlimit(what, limit) bind(c)
      import
      integer(c_int), value :: what
      type(rlimit) :: limit
    end function setrlimit
  end interface
  integer(c_int), parameter :: RLIMIT_AS = 9
  integer, parameter :: MANY = 32 * 1024 * 1024
  integer :: faults = 0, code
  real, allocatable :: field(:, :)
  type(MPI_Request), allocatable :: requests(:)
  type(MPI_Datatype) :: made
  integer, allocatable :: lengths(:)
  type(MPI_Datatype), allocatable :: types(:)
  call MPI_Init()
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  allocate (field(2, MANY), requests(MANY), types(MANY), lengths(MANY))
  call limit(32)
  if (MPI_SUBARRAYS_SUPPORTED) then
    call MPI_Bcast(field(1, :), MANY, MPI_REAL, 0, MPI_COMM_WORLD, code)
    call refused(code, 'a section')
  end if
  call MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE, code)
  call refused(code, 'requests')
  call MPI_Type_create_struct(MANY, lengths, spread(0_MPI_ADDRESS_KIND, 1, 1), types, made, code)
  call refused(code, 'datatypes')
  call limit(-1)
  call MPI_Barrier(MPI_COMM_WORLD)
  if (faults == 0) print '(a)', 'ok'
  call MPI_Finalize()
  if (faults /= 0) stop 1
contains
  ! Allows so many MiB of addresses more than there are now.
  subroutine limit(room)
    integer, intent(in) :: room
    type(rlimit) :: now
    integer(c_long) :: pages
    integer :: unit
    open (newunit=unit, file='/proc/self/statm', action='read')
    read (unit, *) pages
    close (unit)
    if (getrlimit(RLIMIT_AS, now) /= 0) stop 2
    now%soft = now%hard
    if (room >= 0) now%soft = pages * 4096 + room * 1024_c_long**2
    if (setrlimit(RLIMIT_AS, now) /= 0) stop 2
  end subroutine limit

  subroutine refused(code, what)
    integer, intent(in) :: code
    character(*), intent(in) :: what
    integer :: class
    class = MPI_SUCCESS
    if (code /= MPI_SUCCESS) call MPI_Error_class(code, class)
    if (class /= MPI_ERR_NO_MEM) then
      print '(2a,i0)', what, ': class ', class
      faults = faults + 1
    end if
  end subroutine refused
end program main
