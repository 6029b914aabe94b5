// ranks: 1 2 3 4 8
// Scatter and scatterv, also in place (MPI-5.0 §6.6).
#include "check.h"

enum { RANKS = 8, MOST = 40000 };

static int mine[MOST + 1], all[RANKS * (MOST + 1)];

static int word(int to, int i) {
    return to * 1000003 + 17 * i;
}

static void verify(const char *what, int count) {
    for (int i = 0; i < count; i++)
        CHECK(mine[i] == word(rank, i), "%s of %d: word %d is %d", what, count, i, mine[i]);
    EQUAL(mine[count], -1);
}

static void regular(int count, int root) {
    memset(all, 0xee, sizeof all);
    memset(mine, 0xff, sizeof mine);
    for (int to = 0; rank == root && to < size; to++)
        for (int i = 0; i < count; i++) all[to * count + i] = word(to, i);
    if (rank == root)
        OK(MPI_Scatter(all, count, MPI_INT, mine, count, MPI_INT, root, MPI_COMM_WORLD));
    else
        OK(MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, mine, count, MPI_INT, root, MPI_COMM_WORLD));
    verify("scatter", count);
    if (rank == root) {
        OK(MPI_Scatter(all, count, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, root, MPI_COMM_WORLD));
        for (int i = 0; i < count; i++) EQUAL(all[root * count + i], word(root, i));
    } else {
        memset(mine, 0xff, sizeof mine);
        OK(MPI_Scatter(NULL, 0, MPI_INT, mine, count, MPI_INT, root, MPI_COMM_WORLD));
        verify("scatter in place", count);
    }
}

// Parts of different length, some empty, one word apart, the last rank's first.
static void irregular(int count, int root) {
    int counts[RANKS], places[RANKS], place = 0;
    for (int to = size - 1; to >= 0; to--) {
        counts[to] = to % 3 == 2 ? 0 : count + to;
        places[to] = place;
        place += counts[to] + 1;
        for (int i = 0; rank == root && i < counts[to]; i++) all[places[to] + i] = word(to, i);
    }
    memset(mine, 0xff, sizeof mine);
    OK(MPI_Scatterv(all, counts, places, MPI_INT, mine, counts[rank], MPI_INT, root,
                    MPI_COMM_WORLD));
    verify("scatterv", counts[rank]);
}

// A matrix leaves by columns and arrives as rows.
static void columns(int root) {
    MPI_Datatype column, resized;
    int grid[50 * RANKS];
    for (int i = 0; i < 50 * size; i++) grid[i] = rank == root ? i : -1;
    OK(MPI_Type_vector(50, 1, size, MPI_INT, &column));
    OK(MPI_Type_create_resized(column, 0, sizeof(int), &resized));
    OK(MPI_Type_commit(&resized));
    OK(MPI_Scatter(grid, 1, resized, mine, 50, MPI_INT, root, MPI_COMM_WORLD));
    for (int i = 0; i < 50; i++) EQUAL(mine[i], i * size + rank);
    OK(MPI_Type_free(&resized));
    OK(MPI_Type_free(&column));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    static const int counts[] = {0, 1, 3, 100, 2500, MOST - RANKS};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int root = 0; root < size; root += 1 + size / 3) {
            regular(counts[i], root);
            irregular(counts[i], root);
        }
    for (int root = 0; root < size; root++) columns(root);
    return finish();
}
