// A communicator that was freed, or a number that names none: handle [NUMBER].
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Comm comm, copy;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    copy = argc > 1 ? (MPI_Comm)(uintptr_t)strtoull(argv[1], NULL, 0) : comm;
    MPI_Comm_free(&comm);
    MPI_Comm_rank(copy, &rank);
    MPI_Finalize();
    return 0;
}
