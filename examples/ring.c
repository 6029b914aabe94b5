/* A token goes round a ring; every process adds its rank to it.
 *
 * A rank receives from its left neighbour and sends to its right one. Rank 0 starts, so it sends
 * first and receives last; with everybody receiving first, nobody would ever send.
 *
 *     mpicc -o ring ring.c
 *     mpirun -n 4 ./ring
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    enum { TAG = 1, ROUNDS = 1000 };
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;

    long token = 0;
    double begin = MPI_Wtime();
    for (int round = 0; round < ROUNDS; round++) {
        if (size == 1) continue;
        if (rank == 0) {
            MPI_Send(&token, 1, MPI_LONG, right, TAG, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_LONG, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&token, 1, MPI_LONG, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            token += rank;
            MPI_Send(&token, 1, MPI_LONG, right, TAG, MPI_COMM_WORLD);
        }
    }
    double seconds = MPI_Wtime() - begin;

    long expected = (long)ROUNDS * size * (size - 1) / 2;
    if (rank == 0)
        printf("After %d rounds through %d processes the token is %ld (expected %ld); "
               "%.2f microseconds from one to the next\n",
               ROUNDS, size, token, expected, 1e6 * seconds / ((double)ROUNDS * size));

    MPI_Finalize();
    return rank == 0 && token != expected;
}
