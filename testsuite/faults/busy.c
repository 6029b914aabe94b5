/* Ranks that talk to each other until they are ended: sums over all, and a message of 200 kB to the
 * rank half the world away, which with two hosts is one on the other host.
 *
 * Rank 0 prints "begun" when the first round is over. */
#include <mpi.h>
#include <stdio.h>

static int out[50000], in[50000];

int main(int argc, char **argv)
{
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int begun = 0;; begun = 1) {
        int other = (rank + size / 2) % size;
        MPI_Sendrecv(out, 50000, MPI_INT, other, 3, in, 50000, MPI_INT, other, 3, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0 && !begun) {
            puts("begun");
            fflush(stdout);
        }
    }
}
