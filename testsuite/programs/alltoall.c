// ranks: 1 2 3 4 8
// Everybody to everybody: alltoall, alltoallv, alltoallw, also in place (MPI-5.0 §6.8).
#include "check.h"

enum { RANKS = 8, MOST = 20000 };

static int out[RANKS * (MOST + RANKS)], in[RANKS * (MOST + RANKS) + 1];

// Word i of what `from` sends to `to`.
static int word(int from, int to, int i) {
    return (from * RANKS + to) * 100003 + i;
}

static void regular(int count) {
    for (int to = 0; to < size; to++)
        for (int i = 0; i < count; i++) out[to * count + i] = word(rank, to, i);
    memset(in, 0xff, sizeof in);
    OK(MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD));
    for (int twice = 0; twice < 2; twice++) {
        for (int from = 0; from < size; from++)
            for (int i = 0; i < count; i++)
                CHECK(in[from * count + i] == word(from, rank, i), "%d words, in place %d", count,
                      twice);
        EQUAL(in[size * count], -1);
        memcpy(in, out, sizeof(int) * (size_t)(size * count));
        if (!twice)
            OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD));
    }
}

// From a to b go (a + 2b) % 5 parts of `count` words; both sides leave gaps of one word.
static int words(int from, int to, int count) {
    return (from + 2 * to) % 5 * count / 4;
}

static int out_counts[RANKS], out_places[RANKS], in_counts[RANKS], in_places[RANKS];

static void arrange(int count, int unit) {
    int out_place = 0, in_place = 0;
    for (int other = 0; other < size; other++) {
        out_counts[other] = words(rank, other, count);
        in_counts[other] = words(other, rank, count);
        out_places[other] = out_place * unit;
        in_places[other] = in_place * unit;
        for (int i = 0; i < out_counts[other]; i++) out[out_place + i] = word(rank, other, i);
        out_place += out_counts[other] + 1;
        in_place += in_counts[other] + 1;
    }
    memset(in, 0xff, sizeof in);
}

static void verify(const char *what, int unit) {
    for (int from = 0; from < size; from++) {
        const int *part = in + in_places[from] / unit;
        for (int i = 0; i < in_counts[from]; i++)
            CHECK(part[i] == word(from, rank, i), "%s: word %d from %d", what, i, from);
        EQUAL(part[in_counts[from]], -1);
    }
}

static void irregular(int count) {
    arrange(count, 1);
    OK(MPI_Alltoallv(out, out_counts, out_places, MPI_INT, in, in_counts, in_places, MPI_INT,
                     MPI_COMM_WORLD));
    verify("alltoallv", 1);
    MPI_Datatype types[RANKS];
    for (int i = 0; i < size; i++) types[i] = MPI_INT;
    arrange(count, sizeof(int)); // alltoallw counts places in bytes
    OK(MPI_Alltoallw(out, out_counts, out_places, types, in, in_counts, in_places, types,
                     MPI_COMM_WORLD));
    verify("alltoallw", sizeof(int));
}

// In place, the counts are those of receiving, and they are symmetric.
static void irregular_in_place(int count) {
    int place = 0;
    memset(in, 0xff, sizeof in);
    for (int other = 0; other < size; other++) {
        in_counts[other] = (rank + other) % 3 * count / 2;
        in_places[other] = place;
        for (int i = 0; i < in_counts[other]; i++) in[place + i] = word(rank, other, i);
        place += in_counts[other] + 1;
    }
    OK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, in, in_counts, in_places, MPI_INT,
                     MPI_COMM_WORLD));
    verify("alltoallv in place", 1);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    static const int counts[] = {0, 1, 4, 61, 1000, 8000, MOST};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        regular(counts[i]);
        irregular(counts[i]);
        irregular_in_place(counts[i]);
    }
    return finish();
}
