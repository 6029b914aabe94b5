// What the test of strangers who hold connections runs: the ranks look for messages until a file is
// there, whose name is the first argument, and only then does each connect to the next. Prints
// "begun" from rank 0 at once, and "ok" if the ranks met in time and can open as many files as the
// second argument says.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size, flag, met = 0, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3) return 3;
    if (rank == 0) {
        puts("begun");
        fflush(stdout);
    }
    double start = MPI_Wtime();
    // A test that has failed leaves nobody behind.
    while (access(argv[1], F_OK) != 0 && MPI_Wtime() - start < 60)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);

    int files = atoi(argv[2]);
    for (int i = 0; i < files; i++) bad += open("/dev/null", O_RDONLY) < 0;
    if (bad != 0) fprintf(stderr, "rank %d: %d of %d files cannot be opened\n", rank, bad, files);

    double begin = MPI_Wtime();
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 7, &met, 1, MPI_INT,
                 (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double took = MPI_Wtime() - begin;
    if (took >= 1) fprintf(stderr, "rank %d: the first contact took %g s\n", rank, took);
    bad += took >= 1 || met != (rank + size - 1) % size;
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) puts(bad == 0 ? "ok" : "bad");
    MPI_Finalize();
    return bad != 0;
}
