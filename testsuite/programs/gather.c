// ranks: 1 2 3 4 8
// Gather, gatherv, allgather, allgatherv, also in place (MPI-5.0 §6.5, §6.7).
#include "check.h"

enum { RANKS = 8, MOST = 40000 };

static int mine[MOST], all[RANKS * MOST + RANKS];

static int word(int from, int i) {
    return from * 1000003 + 17 * i;
}

static void prepare(int count) {
    for (int i = 0; i < count; i++) mine[i] = word(rank, i);
    memset(all, 0xff, sizeof all);
}

static void verify(const char *what, int count) {
    for (int from = 0; from < size; from++)
        for (int i = 0; i < count; i++)
            CHECK(all[from * count + i] == word(from, i), "%s of %d: word %d of rank %d", what,
                  count, i, from);
    EQUAL(all[size * count], -1);
}

static void regular(int count, int root) {
    prepare(count);
    OK(MPI_Gather(mine, count, MPI_INT, all, count, MPI_INT, root, MPI_COMM_WORLD));
    if (rank == root) verify("gather", count);
    prepare(count);
    if (rank == root) {
        memcpy(all + root * count, mine, sizeof(int) * (size_t)count);
        OK(MPI_Gather(MPI_IN_PLACE, 0, MPI_INT, all, count, MPI_INT, root, MPI_COMM_WORLD));
        verify("gather in place", count);
    } else {
        // What only the root needs may be anything here.
        OK(MPI_Gather(mine, count, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
    }
    prepare(count);
    OK(MPI_Allgather(mine, count, MPI_INT, all, count, MPI_INT, MPI_COMM_WORLD));
    verify("allgather", count);
    prepare(count);
    memcpy(all + rank * count, mine, sizeof(int) * (size_t)count);
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, all, count, MPI_INT, MPI_COMM_WORLD));
    verify("allgather in place", count);
}

// Rank r gives count + r words; they land in reverse order with a gap of one word between.
static void irregular(int count, int root) {
    int counts[RANKS], places[RANKS], place = 0;
    for (int from = size - 1; from >= 0; from--) {
        counts[from] = from % 3 == 1 ? 0 : count + from;
        places[from] = place;
        place += counts[from] + 1;
    }
    for (int all_of_them = 0; all_of_them < 2; all_of_them++) {
        prepare(count + rank);
        if (all_of_them)
            OK(MPI_Allgatherv(mine, counts[rank], MPI_INT, all, counts, places, MPI_INT,
                              MPI_COMM_WORLD));
        else
            OK(MPI_Gatherv(mine, counts[rank], MPI_INT, all, counts, places, MPI_INT, root,
                           MPI_COMM_WORLD));
        if (!all_of_them && rank != root) continue;
        for (int from = 0; from < size; from++) {
            for (int i = 0; i < counts[from]; i++) EQUAL(all[places[from] + i], word(from, i));
            EQUAL(all[places[from] + counts[from]], -1);
        }
    }
}

// Received as a type with gaps: the extent says where the next rank's part begins.
static void into_columns(void) {
    MPI_Datatype column, resized;
    int grid[10][RANKS];
    OK(MPI_Type_vector(10, 1, size, MPI_INT, &column));
    OK(MPI_Type_create_resized(column, 0, sizeof(int), &resized));
    OK(MPI_Type_commit(&resized));
    prepare(10);
    OK(MPI_Allgather(mine, 10, MPI_INT, grid, 1, resized, MPI_COMM_WORLD));
    for (int i = 0; i < 10; i++)
        for (int from = 0; from < size; from++)
            EQUAL(((int *)grid)[i * size + from], word(from, i));
    OK(MPI_Type_free(&resized));
    OK(MPI_Type_free(&column));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    static const int counts[] = {0, 1, 2, 100, 2500, MOST - RANKS};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int root = 0; root < size; root += 1 + size / 3) {
            regular(counts[i], root);
            irregular(counts[i], root);
        }
    into_columns();
    return finish();
}
