/* Heat in a square plate: Jacobi's iteration, the plate cut into bands of rows.
 *
 * The upper edge is kept at 100 degrees, the others at 0. In each step a point becomes the mean of
 * its four neighbours. A rank owns a band of rows and keeps one row of each neighbour beside it
 * (the halo). It starts the exchange of these rows, computes the rows that need none of them while
 * they are on their way, and then its first and last row. From time to time all agree (allreduce)
 * on the largest change, to know when to stop.
 *
 *     mpicc -O2 -o heat heat.c -lm
 *     mpirun -n 4 ./heat 200
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { UPWARD = 1, DOWNWARD = 2, CHECK_EVERY = 50, MOST_STEPS = 20000 };

/* One row of new values; returns the largest change in it. */
static double relax(const double *above, const double *here, const double *below, double *next,
                    int n) {
    double change = 0;
    for (int j = 1; j < n - 1; j++) {
        next[j] = 0.25 * (above[j] + below[j] + here[j - 1] + here[j + 1]);
        change = fmax(change, fabs(next[j] - here[j]));
    }
    return change;
}

int main(int argc, char **argv) {
    int rank, size, n = argc > 1 ? atoi(argv[1]) : 200;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (n < size + 2) {
        if (rank == 0) fprintf(stderr, "a plate of %d rows is too small for %d ranks\n", n, size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }

    /* The inner rows 1 .. n-2 are dealt out in bands; the first ranks take one row more each. */
    int rows = (n - 2) / size + (rank < (n - 2) % size);
    int above = rank == 0 ? MPI_PROC_NULL : rank - 1;
    int below = rank == size - 1 ? MPI_PROC_NULL : rank + 1;

    /* Rows 0 and rows+1 are the halo, or the plate's own edge on the first and last rank. */
    double *old = calloc((size_t)(rows + 2) * (size_t)n, sizeof *old);
    double *new = calloc((size_t)(rows + 2) * (size_t)n, sizeof *new);
    if (rank == 0)
        for (int j = 0; j < n; j++) old[j] = new[j] = 100;

    double begin = MPI_Wtime(), largest = 1e9;
    int step = 0;
    while (step < MOST_STEPS && largest > 1e-3) {
        MPI_Request requests[4];
        double change = 0;
        MPI_Irecv(old, n, MPI_DOUBLE, above, DOWNWARD, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(old + (rows + 1) * n, n, MPI_DOUBLE, below, UPWARD, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(old + n, n, MPI_DOUBLE, above, UPWARD, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(old + rows * n, n, MPI_DOUBLE, below, DOWNWARD, MPI_COMM_WORLD, &requests[3]);

        for (int i = 2; i < rows; i++) {
            double *row = old + i * n;
            change = fmax(change, relax(row - n, row, row + n, new + i * n, n));
        }
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        for (int i = 1; i <= rows; i += rows > 1 ? rows - 1 : 1) {
            double *row = old + i * n;
            change = fmax(change, relax(row - n, row, row + n, new + i * n, n));
        }

        double *swap = old;
        old = new;
        new = swap;
        if (++step % CHECK_EVERY == 0)
            MPI_Allreduce(&change, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }

    /* The mean temperature, once everything is quiet. */
    double mine = 0, sum = 0;
    for (int i = 1; i <= rows; i++)
        for (int j = 1; j < n - 1; j++) mine += old[i * n + j];
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    double mean = sum / ((double)(n - 2) * (n - 2));
    if (rank == 0)
        printf("A plate of %d x %d on %d processes: %d steps, mean temperature %.2f degrees, "
               "%.2f s\n",
               n, n, size, step, mean, MPI_Wtime() - begin);

    free(old);
    free(new);
    MPI_Finalize();
    /* By symmetry the four edges share: one hot edge of four gives a mean near a quarter. */
    return rank == 0 && fabs(mean - 25) > 5;
}
