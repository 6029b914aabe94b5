/* A job that has talked, and then stands still: every rank exchanges a message with every other,
   rank 0 says `ready`, and all wait until it gets a byte on standard input. `cargo xtask compare` looks at
   the memory of the whole job meanwhile. */
#include <mpi.h>

#include "bench.h"

static void talk_to_all(int rank, int size)
{
    MPI_Request *requests = malloc(2 * (size_t)size * sizeof *requests);
    int *heard = malloc((size_t)size * sizeof *heard), n = 0;
    for (int i = 0; i < size; i++)
        if (i != rank) {
            MPI_Irecv(&heard[i], 1, MPI_INT, i, 0, MPI_COMM_WORLD, &requests[n++]);
            MPI_Isend(&rank, 1, MPI_INT, i, 0, MPI_COMM_WORLD, &requests[n++]);
        }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < size; i++)
        if (i != rank && heard[i] != i)
            complain("a message held something else than its sender's rank");
    free(heard);
    free(requests);
}

int main(int argc, char **argv)
{
    int rank, size;
    struct options o = parse(argc, argv);
    start(&argc, &argv, o.bind, &rank, &size);
    talk_to_all(rank, size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        char byte;
        puts("ready");
        fflush(stdout);
        if (read(0, &byte, 1) < 0)
            complain("standard input cannot be read");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
