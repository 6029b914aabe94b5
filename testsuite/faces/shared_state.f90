! What the functions of a generalized request write to their state is found in the variable that the
! program gave, as with MPICH's and Open MPI's own libraries.
module functions
  use mpi
  implicit none
contains
  subroutine query(state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: state
    integer :: status(MPI_STATUS_SIZE), ierror
    state = state + 10
    call MPI_Status_set_elements(status, MPI_BYTE, 0, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
  end subroutine query

  subroutine release(state, ierror)
    integer(MPI_ADDRESS_KIND) :: state
    integer :: ierror
    state = 2 * state
    ierror = MPI_SUCCESS
  end subroutine release

  subroutine stop_it(state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: state
    logical :: complete
    integer :: ierror
    if (.not. complete) state = state + 100
    ierror = MPI_SUCCESS
  end subroutine stop_it
end module functions

program main
  use mpi
  use functions
  implicit none
  integer(MPI_ADDRESS_KIND), volatile :: state
  integer :: request, rank, ierror
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  state = 1
  call MPI_Grequest_start(query, release, stop_it, state, request, ierror)
  call MPI_Cancel(request, ierror)
  if (state /= 101) error stop 'after the cancel function'
  call MPI_Grequest_complete(request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  if (state /= 222) error stop 'after the query and the free function'
  if (rank == 0) print '(a)', 'ok'
  call MPI_Finalize(ierror)
end program main
