! Conversions between the statuses of mpi_f08 and of older Fortran (MPI-5.0 19.3.5).
program main
  use mpi_f08
  implicit none
  type(MPI_Status) :: status, again
  integer :: old(MPI_STATUS_SIZE), rank, got, many
  logical :: cancelled
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, 0, 4, got, 1, MPI_INTEGER, 0, 4, MPI_COMM_SELF, status)
  call MPI_Status_f082f(status, old)
  if (old(MPI_SOURCE) /= 0 .or. old(MPI_TAG) /= 4) error stop 'to older Fortran'
  old(MPI_TAG) = 5
  old(MPI_ERROR) = MPI_ERR_TAG
  call MPI_Status_f2f08(old, again)
  if (again%MPI_SOURCE /= 0 .or. again%MPI_TAG /= 5) error stop 'and back'
  if (again%MPI_ERROR /= MPI_ERR_TAG) error stop 'its error'
  call MPI_Get_count(again, MPI_INTEGER, many)
  call MPI_Test_cancelled(again, cancelled)
  if (many /= 1 .or. cancelled) error stop 'what it counts'
  if (rank == 0) print '(a)', 'ok'
  call MPI_Finalize()
end program main
