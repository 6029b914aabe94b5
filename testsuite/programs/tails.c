// ranks: 17 33
// Blocks that are a little longer than what many ranks on few processors give each other at once: nobody may wait for
// room for the rest of one while all others do so, too (MPI-5.0 §6.8).
#include "check.h"

enum { TIMES = 40 };

static char byte_of(int from, int to, int round) { return (char)(from * 7 + to * 3 + round); }

static void exchange(int len, int by_counts) {
    char *out = malloc((size_t)len * size), *in = malloc((size_t)len * size);
    int *counts = malloc(size * sizeof(int)), *places = malloc(size * sizeof(int));
    for (int other = 0; other < size; other++) counts[other] = len, places[other] = other * len;
    for (int round = 0; round < TIMES; round++) {
        for (int other = 0; other < size; other++)
            memset(out + places[other], byte_of(rank, other, round), len);
        if (by_counts)
            OK(MPI_Alltoallv(out, counts, places, MPI_BYTE, in, counts, places, MPI_BYTE,
                             MPI_COMM_WORLD));
        else
            OK(MPI_Alltoall(out, len, MPI_BYTE, in, len, MPI_BYTE, MPI_COMM_WORLD));
        for (int other = 0; other < size; other++) {
            EQUAL(in[places[other]], byte_of(other, rank, round));
            EQUAL(in[places[other] + len - 1], byte_of(other, rank, round));
        }
    }
    free(places), free(counts), free(in), free(out);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int by_counts = 0; by_counts <= 1; by_counts++) {
        exchange((16 << 10) + 100, by_counts);
        exchange((8 << 10) + 49, by_counts);
    }
    return finish();
}
