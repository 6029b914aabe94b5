// ranks: 2
// Regular derived types: contiguous, vector, hvector, nested (MPI-5.0 §5.1).
#include "check.h"

enum { ROWS = 60, COLUMNS = 50 };

static double matrix[ROWS][COLUMNS], other[ROWS][COLUMNS];

static double at(int i, int j) {
    return 1000.0 * i + j;
}

static void prepare(void) {
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            matrix[i][j] = at(i, j);
            other[i][j] = -1;
        }
}

// One column leaves here and arrives as a row, and the other way round.
static void column(void) {
    MPI_Datatype type;
    OK(MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &type));
    OK(MPI_Type_commit(&type));
    prepare();
    if (rank == 0) {
        OK(MPI_Send(&matrix[0][7], 1, type, 1, 1, MPI_COMM_WORLD));
        OK(MPI_Send(&matrix[5][0], COLUMNS, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD));
    } else {
        double line[ROWS];
        OK(MPI_Recv(line, ROWS, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < ROWS; i++) CHECK(line[i] == at(i, 7), "row %d: %g", i, line[i]);
        MPI_Status status;
        int count = -1;
        OK(MPI_Recv(&other[0][3], 1, type, 0, 2, MPI_COMM_WORLD, &status));
        OK(MPI_Get_elements(&status, type, &count));
        EQUAL(count, COLUMNS);
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) {
                double want = j == 3 && i < COLUMNS ? at(5, i) : -1;
                CHECK(other[i][j] == want, "[%d][%d] is %g", i, j, other[i][j]);
            }
    }
    OK(MPI_Type_free(&type));
}

// The whole matrix transposed: a vector of one column, resized by hvector's stride in bytes.
static void transposed(void) {
    MPI_Datatype one_column, columns;
    static double turned[COLUMNS][ROWS];
    OK(MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &one_column));
    OK(MPI_Type_create_hvector(COLUMNS, 1, sizeof(double), one_column, &columns));
    OK(MPI_Type_free(&one_column)); // what is built on it keeps it
    OK(MPI_Type_commit(&columns));
    prepare();
    int bytes = 0;
    MPI_Aint lower = -1, extent = -1;
    OK(MPI_Type_size(columns, &bytes));
    EQUAL(bytes, sizeof matrix);
    OK(MPI_Type_get_extent(columns, &lower, &extent));
    EQUAL(lower, 0);
    EQUAL(extent, sizeof matrix);
    OK(MPI_Sendrecv(matrix, 1, columns, 1 - rank, 3, turned, ROWS * COLUMNS, MPI_DOUBLE, 1 - rank,
                    3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            CHECK(turned[j][i] == at(i, j), "[%d][%d] is %g", j, i, turned[j][i]);
    OK(MPI_Type_free(&columns));
}

// Blocks with gaps, many at once, large enough for every protocol; gaps stay untouched.
static void gaps(int blocks) {
    MPI_Datatype inner, type;
    int length = blocks * 5;
    int *in = malloc(sizeof(int) * (size_t)length), *out = malloc(sizeof(int) * (size_t)length);
    OK(MPI_Type_contiguous(3, MPI_INT, &inner));
    OK(MPI_Type_create_hvector(blocks, 1, 5 * sizeof(int), inner, &type));
    OK(MPI_Type_commit(&type));
    for (int i = 0; i < length; i++) {
        out[i] = 10 * i + rank;
        in[i] = -1;
    }
    OK(MPI_Sendrecv(out, 1, type, 1 - rank, 4, in, 1, type, 1 - rank, 4, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    for (int i = 0; i < length; i++) {
        int want = i % 5 < 3 ? 10 * i + 1 - rank : -1;
        CHECK(in[i] == want, "%d blocks: word %d is %d", blocks, i, in[i]);
    }
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&inner));
    free(in);
    free(out);
}

// A negative stride walks backwards.
static void backwards(void) {
    MPI_Datatype type;
    int out[10], in[10];
    MPI_Aint lower, extent;
    for (int i = 0; i < 10; i++) out[i] = i + 100 * rank;
    OK(MPI_Type_vector(10, 1, -1, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Type_get_extent(type, &lower, &extent));
    EQUAL(lower, -9 * (long long)sizeof(int));
    EQUAL(extent, 10 * sizeof(int));
    OK(MPI_Sendrecv(&out[9], 1, type, 1 - rank, 5, in, 10, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    for (int i = 0; i < 10; i++) EQUAL(in[i], 9 - i + 100 * (1 - rank));
    OK(MPI_Type_free(&type));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    column();
    transposed();
    gaps(1);
    gaps(1000);
    gaps(100000);
    backwards();
    return finish();
}
