! Special variables of mpi_f08 that few programs pass: weights, and what a spawned job would get.
program main
  use mpi_f08
  implicit none
  type(MPI_Comm) :: ring, empty
  integer :: rank, size, from(1), to(1), weights(1), sources, targets
  logical :: weighted
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  from = mod(rank + size - 1, size)
  to = mod(rank + 1, size)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, from, MPI_UNWEIGHTED, 1, to, &
    MPI_UNWEIGHTED, MPI_INFO_NULL, .false., ring)
  call MPI_Dist_graph_neighbors_count(ring, sources, targets, weighted)
  if (weighted .or. sources /= 1 .or. targets /= 1) error stop 'the ring'
  from = -1
  call MPI_Dist_graph_neighbors(ring, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED)
  if (from(1) /= mod(rank + size - 1, size)) error stop 'its neighbours'
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, from, MPI_WEIGHTS_EMPTY, 0, to, &
    MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., empty)
  call MPI_Dist_graph_neighbors_count(empty, sources, targets, weighted)
  if (.not. weighted .or. sources /= 0) error stop 'the graph without edges'
  weights = 0
  if (size < 0) call MPI_Comm_spawn('none', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &
    empty, MPI_ERRCODES_IGNORE)
  if (rank == 0) print '(a)', 'ok'
  call MPI_Finalize()
end program main
