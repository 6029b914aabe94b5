// ranks: 1 2 4
// Subarrays and distributed arrays (MPI-5.0 §5.1.3, §5.1.4).
#include "check.h"

enum { NX = 20, NY = 12, NZ = 6 };

static int cube[NX][NY][NZ], copy[NX][NY][NZ];

static int value(int i, int j, int k) {
    return (i * 100 + j) * 100 + k;
}

// A box out of a cube goes to the neighbour and lands at another place.
static void box(void) {
    int sizes[] = {NX, NY, NZ}, lengths[] = {5, 4, 3}, from[] = {2, 3, 1}, to[] = {10, 0, 2};
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Datatype out, in;
    for (int i = 0; i < NX; i++)
        for (int j = 0; j < NY; j++)
            for (int k = 0; k < NZ; k++) {
                cube[i][j][k] = value(i, j, k);
                copy[i][j][k] = -1;
            }
    OK(MPI_Type_create_subarray(3, sizes, lengths, from, MPI_ORDER_C, MPI_INT, &out));
    OK(MPI_Type_create_subarray(3, sizes, lengths, to, MPI_ORDER_C, MPI_INT, &in));
    OK(MPI_Type_commit(&out));
    OK(MPI_Type_commit(&in));
    MPI_Aint lower, extent, true_lower, true_extent;
    OK(MPI_Type_get_extent(out, &lower, &extent));
    EQUAL(lower, 0);
    EQUAL(extent, sizeof cube);
    OK(MPI_Type_get_true_extent(out, &true_lower, &true_extent));
    EQUAL(true_lower, (char *)&cube[2][3][1] - (char *)cube);
    EQUAL(true_extent, (char *)&cube[6][6][4] - (char *)&cube[2][3][1]);
    OK(MPI_Sendrecv(cube, 1, out, right, 1, copy, 1, in, left, 1, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    for (int i = 0; i < NX; i++)
        for (int j = 0; j < NY; j++)
            for (int k = 0; k < NZ; k++) {
                int inside = i >= 10 && i < 15 && j < 4 && k >= 2 && k < 5;
                int want = inside ? value(i - 8, j + 3, k - 1) : -1;
                CHECK(copy[i][j][k] == want, "[%d][%d][%d] is %d", i, j, k, copy[i][j][k]);
            }
    OK(MPI_Type_free(&out));
    OK(MPI_Type_free(&in));
}

// In Fortran's order the same numbers describe the transposed box.
static void fortran_order(void) {
    int sizes[] = {NZ, NY, NX}, lengths[] = {3, 4, 5}, from[] = {1, 3, 2};
    int packed[60], position = 0, n = 0;
    MPI_Datatype type;
    OK(MPI_Type_create_subarray(3, sizes, lengths, from, MPI_ORDER_FORTRAN, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Pack(cube, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF));
    EQUAL(position, sizeof packed);
    for (int i = 2; i < 7; i++)
        for (int j = 3; j < 7; j++)
            for (int k = 1; k < 4; k++) EQUAL(packed[n++], value(i, j, k));
    OK(MPI_Type_free(&type));
}

// Each rank's part of a block-cyclic array: together they are every element once.
static void distributed(int kind, int argument) {
    int sizes[] = {NX, NY}, grid[2] = {1, 1}, kinds[] = {kind, MPI_DISTRIBUTE_BLOCK};
    int arguments[] = {argument, MPI_DISTRIBUTE_DFLT_DARG};
    grid[0] = size % 2 == 0 ? size / 2 : size;
    grid[1] = size / grid[0];
    static int whole[NX][NY], seen[NX * NY];
    int total = 0;
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < NX; i++)
        for (int j = 0; j < NY; j++) whole[i][j] = i * NY + j;
    for (int part = 0; part < size; part++) {
        MPI_Datatype type;
        MPI_Aint lower, extent;
        int bytes, position = 0, packed[NX * NY];
        OK(MPI_Type_create_darray(size, part, 2, sizes, kinds, arguments, grid, MPI_ORDER_C,
                                  MPI_INT, &type));
        OK(MPI_Type_commit(&type));
        OK(MPI_Type_get_extent(type, &lower, &extent));
        EQUAL(extent, sizeof whole);
        OK(MPI_Type_size(type, &bytes));
        OK(MPI_Pack(whole, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF));
        EQUAL(position, bytes);
        for (int i = 0; i < bytes / (int)sizeof(int); i++) seen[packed[i]]++;
        total += bytes;
        OK(MPI_Type_free(&type));
    }
    EQUAL(total, sizeof whole);
    for (int i = 0; i < NX * NY; i++) EQUAL(seen[i], 1);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    box();
    fortran_order();
    distributed(MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG);
    distributed(MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG);
    distributed(MPI_DISTRIBUTE_CYCLIC, 3);
    return finish();
}
