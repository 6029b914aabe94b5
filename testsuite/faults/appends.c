// Says where the shared pointer of a file in the folder named by the first word stands when it is
// opened, moves it, and is killed.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>

int main(int argc, char **argv) {
    char path[400], record[100] = "";
    MPI_File file;
    MPI_Offset at = -1;
    MPI_Init(&argc, &argv);
    snprintf(path, sizeof path, "%s/log", argv[1]);
    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file))
        return 1;
    if (MPI_File_get_position_shared(file, &at)) return 2;
    printf("%lld\n", (long long)at);
    fflush(stdout);
    if (MPI_File_write_shared(file, record, sizeof record, MPI_BYTE, MPI_STATUS_IGNORE)) return 3;
    return raise(SIGKILL);
}
