/* Every process says who it is.
 *
 *     mpicc -o hello hello.c
 *     mpirun -n 4 ./hello
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, size, length;
    char host[MPI_MAX_PROCESSOR_NAME], library[MPI_MAX_LIBRARY_VERSION_STRING];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank); /* which one am I? */
    MPI_Comm_size(MPI_COMM_WORLD, &size); /* how many are we? */
    MPI_Get_processor_name(host, &length);

    if (rank == 0) {
        MPI_Get_library_version(library, &length);
        printf("This is %s\n", library);
    }
    printf("Hello from rank %d of %d on %s\n", rank, size, host);

    MPI_Finalize();
    return 0;
}
