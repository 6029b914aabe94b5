// What the tests of several hosts run while cables are cut: rounds of messages of all sizes around
// a ring, each with a checksum of its own, for at least as many seconds as the argument says.
// Prints "begun" from rank 0 after the first round and "ok" at the end.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 1 << 20 };

static uint32_t pattern(uint32_t round, uint32_t who, uint32_t i) {
    uint32_t x = round * 2654435761u + who * 40503u + i * 2246822519u;
    x ^= x >> 15;
    return x * 2654435769u;
}

int main(int argc, char **argv) {
    int rank, size, bad = 0, going = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double seconds = argc > 1 ? atof(argv[1]) : 1, begin = MPI_Wtime();
    uint32_t *out = malloc(LARGEST), *in = malloc(LARGEST);
    if (out == NULL || in == NULL) return 3;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (uint32_t round = 0; going; round++) {
        int words = 1 << (round % 19);
        if (words * 4 > LARGEST) words = LARGEST / 4;
        for (int i = 0; i < words; i++) out[i] = pattern(round, (uint32_t)rank, (uint32_t)i);
        MPI_Sendrecv(out, words, MPI_UINT32_T, right, 7, in, words, MPI_UINT32_T, left, 7,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < words; i++) bad += in[i] != pattern(round, (uint32_t)left, (uint32_t)i);
        if (rank == 0 && round == 0) {
            puts("begun");
            fflush(stdout);
        }
        int go_on = MPI_Wtime() - begin < seconds;
        MPI_Allreduce(&go_on, &going, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) puts(bad == 0 ? "ok" : "wrong data");
    MPI_Finalize();
    return bad != 0;
}
