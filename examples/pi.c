/* Pi as the area under 4 / (1 + x^2) between 0 and 1, by the midpoint rule.
 *
 * The strips are dealt out like cards: rank r takes strips r, r + size, r + 2 size, ... Rank 0
 * decides how many there are, everybody hears it (broadcast), everybody adds up its own strips,
 * and the sums are added up (reduction).
 *
 *     mpicc -O2 -o pi pi.c -lm
 *     mpirun -n 4 ./pi 50000000
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, size;
    long strips = 20000000;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    if (rank == 0 && argc > 1) strips = atol(argv[1]);
    MPI_Bcast(&strips, 1, MPI_LONG, 0, MPI_COMM_WORLD);

    double begin = MPI_Wtime(), width = 1.0 / (double)strips, mine = 0, pi = 0;
    for (long i = rank; i < strips; i += size) {
        double x = ((double)i + 0.5) * width;
        mine += 4.0 / (1.0 + x * x);
    }
    mine *= width;
    MPI_Reduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);

    if (rank == 0)
        printf("pi is about %.12f, off by %.1e; %ld strips on %d processes took %.3f s\n", pi,
               fabs(pi - acos(-1.0)), strips, size, MPI_Wtime() - begin);

    MPI_Finalize();
    return rank == 0 && fabs(pi - acos(-1.0)) > 1e-6;
}
