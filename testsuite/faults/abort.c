/* Rank 1 gives up with the code that it is given while the others wait for it.
 *
 * usage: abort CODE */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, word;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        MPI_Abort(MPI_COMM_WORLD, atoi(argv[1]));
    MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 99; /* nobody comes this far */
}
