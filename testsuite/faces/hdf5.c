// Parallel HDF5's first steps: every process writes its rows of two arrays, by itself and together,
// and reads them back. The file is named by the argument.
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

enum { ROWS = 3, COLUMNS = 7 };

static int rank, size;

static hid_t good(hid_t value, const char *what) {
    if (value < 0) {
        fprintf(stderr, "rank %d: %s failed\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return value;
}

#define GOOD(call) good((hid_t)(call), #call)

static void array(hid_t file, const char *name, H5FD_mpio_xfer_t how) {
    hsize_t whole[2] = {(hsize_t)size * ROWS, COLUMNS}, own[2] = {ROWS, COLUMNS};
    hsize_t first[2] = {(hsize_t)rank * ROWS, 0};
    int written[ROWS][COLUMNS], read[ROWS][COLUMNS];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) written[i][j] = 100 * (rank * ROWS + i) + j;
    hid_t all = GOOD(H5Screate_simple(2, whole, NULL)), mine = GOOD(H5Screate_simple(2, own, NULL));
    GOOD(H5Sselect_hyperslab(all, H5S_SELECT_SET, first, NULL, own, NULL));
    hid_t way = GOOD(H5Pcreate(H5P_DATASET_XFER));
    GOOD(H5Pset_dxpl_mpio(way, how));
    hid_t set = GOOD(H5Dcreate2(file, name, H5T_NATIVE_INT, all, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    GOOD(H5Dwrite(set, H5T_NATIVE_INT, mine, all, way, written));
    GOOD(H5Dread(set, H5T_NATIVE_INT, mine, all, way, read));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) good(read[i][j] == written[i][j] ? 0 : -1, "reading back");
    GOOD(H5Dclose(set));
    GOOD(H5Pclose(way));
    GOOD(H5Sclose(mine));
    GOOD(H5Sclose(all));
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    hid_t access = GOOD(H5Pcreate(H5P_FILE_ACCESS));
    GOOD(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    hid_t file = GOOD(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access));
    array(file, "alone", H5FD_MPIO_INDEPENDENT);
    array(file, "together", H5FD_MPIO_COLLECTIVE);
    GOOD(H5Fclose(file));
    GOOD(H5Pclose(access));
    MPI_Finalize();
    if (rank == 0) puts("ok");
    return 0;
}
