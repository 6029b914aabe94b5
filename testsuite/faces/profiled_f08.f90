! The names of mpi_f08 that few programs use: those for profiling, MPI_F_sync_reg,
! comparisons and functions. On any number of ranks.
program main
  use mpi_f08
  implicit none
  type(MPI_Status) :: status
  type(MPI_Request) :: request
  type(MPI_Comm) :: twin
  integer :: rank, size, next, before, got, bad, total, bytes, many
  integer(MPI_ADDRESS_KIND) :: here, there
  real(8) :: numbers(8), sums(8), pair(2)
  bad = 0
  call PMPI_Init()
  call PMPI_Comm_rank(MPI_COMM_WORLD, rank)
  call PMPI_Comm_size(MPI_COMM_WORLD, size)
  next = mod(rank + 1, size)
  before = mod(rank + size - 1, size)

  call PMPI_Irecv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, request)
  call PMPI_Send(rank, 1, MPI_INTEGER, next, 4, MPI_COMM_WORLD)
  call PMPI_Wait(request, status)
  call MPI_F_sync_reg(got)
  if (got /= before) bad = bad + 1

  call PMPI_Get_count(status, MPI_INTEGER, many)
  if (many /= 1) bad = bad + 1

  numbers = rank
  call PMPI_Allreduce(numbers, sums, 8, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  if (any(sums /= size * (size - 1) / 2)) bad = bad + 1
  call PMPI_Bcast(numbers(1:8:2), 4, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
  call PMPI_Comm_dup(MPI_COMM_WORLD, twin)
  if (twin == MPI_COMM_WORLD .or. .not. twin /= MPI_COMM_NULL) bad = bad + 1
  call PMPI_Comm_free(twin)
  if (request /= MPI_REQUEST_NULL) bad = bad + 1
  call PMPI_Get_address(pair(1), here)
  call PMPI_Get_address(pair(2), there)
  if (MPI_Aint_diff(there, here) /= 8) bad = bad + 1
  if (MPI_Aint_add(here, 8_MPI_ADDRESS_KIND) /= there) bad = bad + 1
  call MPI_Sizeof(pair, bytes)
  if (bytes /= 8 .or. MPI_Wtime() < 0 .or. MPI_Wtick() <= 0) bad = bad + 1

  call PMPI_Reduce(bad, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
  if (rank == 0 .and. total == 0) print '(a)', 'ok'
  call PMPI_Finalize()
end program main
