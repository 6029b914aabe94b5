// ranks: 1 2 3 4 8
// Reduce-scatter in both forms, and scans (MPI-5.0 §6.10, §6.11).
#include "check.h"

enum { RANKS = 8, MOST = 20000 };

static long in[RANKS * MOST], out[RANKS * MOST + 1];

static long given(int r, int i) {
    return (long)(r + 1) * (i + 3);
}

static long sum_below(int ranks, int i) {
    return (long)ranks * (ranks + 1) / 2 * (i + 3);
}

static void prepare(int count) {
    for (int i = 0; i < count; i++) in[i] = given(rank, i);
    for (int i = 0; i <= count; i++) out[i] = -1;
}

static void blocks(int count) {
    for (int in_place = 0; in_place < 2; in_place++) {
        prepare(size * count);
        if (in_place) memcpy(out, in, sizeof(long) * (size_t)(size * count));
        OK(MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : in, out, count, MPI_LONG, MPI_SUM,
                                    MPI_COMM_WORLD));
        for (int i = 0; i < count; i++)
            CHECK(out[i] == sum_below(size, rank * count + i), "block of %d, place %d, in place %d",
                  count, i, in_place);
    }
}

static void uneven(int count) {
    int counts[RANKS], total = 0, before = 0;
    for (int r = 0; r < size; r++) {
        counts[r] = r % 3 == 1 ? 0 : count + r;
        if (r < rank) before += counts[r];
        total += counts[r];
    }
    for (int in_place = 0; in_place < 2; in_place++) {
        prepare(total);
        if (in_place) memcpy(out, in, sizeof(long) * (size_t)total);
        OK(MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : in, out, counts, MPI_LONG, MPI_SUM,
                              MPI_COMM_WORLD));
        for (int i = 0; i < counts[rank]; i++)
            CHECK(out[i] == sum_below(size, before + i), "part of %d, place %d, in place %d", count,
                  i, in_place);
    }
}

static void scans(int count) {
    for (int in_place = 0; in_place < 2; in_place++) {
        prepare(count);
        if (in_place) memcpy(out, in, sizeof(long) * (size_t)count);
        const void *from = in_place ? MPI_IN_PLACE : in;
        OK(MPI_Scan(from, out, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        for (int i = 0; i < count; i++)
            CHECK(out[i] == sum_below(rank + 1, i), "scan of %d, place %d", count, i);
        prepare(count);
        if (in_place) memcpy(out, in, sizeof(long) * (size_t)count);
        OK(MPI_Exscan(from, out, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        for (int i = 0; rank > 0 && i < count; i++)
            CHECK(out[i] == sum_below(rank, i), "exscan of %d, place %d", count, i);
    }
    prepare(count);
    OK(MPI_Scan(in, out, count, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
    for (int i = 0; i < count; i++) EQUAL(out[i], given(rank, i));
}

// Who gets nothing of a reduction needs no place for it.
static void nowhere(int count) {
    int counts[RANKS], own = rank % 2 == 0 ? count : 0;
    for (int r = 0; r < size; r++) counts[r] = r % 2 == 0 ? count : 0;
    prepare(count * size);
    OK(MPI_Reduce_scatter(in, own ? out : NULL, counts, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < own; i++) EQUAL(out[i], sum_below(size, rank / 2 * count + i));
    prepare(count);
    OK(MPI_Exscan(in, rank == 0 ? NULL : out, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; rank > 0 && i < count; i++) EQUAL(out[i], sum_below(rank, i));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    static const int counts[] = {0, 1, 5, 100, 1500, MOST - RANKS};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        blocks(counts[i]);
        uneven(counts[i]);
        scans(counts[i]);
        if (counts[i] > 0) nowhere(counts[i]);
    }
    return finish();
}
