/* Starts and ends, nothing else: `cargo xtask compare` times it from outside. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
