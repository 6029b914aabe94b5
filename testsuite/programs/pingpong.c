// ranks: 2
// Blocking exchange of every kind of size from 0 to 4 MiB, verified byte by byte (MPI-5.0 §3.2).
#include "check.h"

enum { MOST = 4 << 20, GUARD = 64 };

static unsigned char *buffer;

// Receives `length` bytes of `seed` and looks that nothing behind them was touched.
static void receive(int length, int seed, int tag) {
    MPI_Status status;
    memset(buffer, 0xa5, (size_t)length + GUARD);
    OK(MPI_Recv(buffer, MOST, MPI_BYTE, 1 - rank, tag, MPI_COMM_WORLD, &status));
    int count = -1;
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    EQUAL(count, length);
    EQUAL(status.MPI_SOURCE, 1 - rank);
    EQUAL(status.MPI_TAG, tag);
    long long place = wrong_at(buffer, (size_t)length, seed);
    CHECK(place < 0, "byte %lld of %d is wrong", place, length);
    for (int i = 0; i < GUARD; i++)
        CHECK(buffer[length + i] == 0xa5, "byte %d behind a message of %d was written", i, length);
}

static void give(int length, int seed, int tag) {
    fill(buffer, (size_t)length, seed);
    OK(MPI_Send(buffer, length, MPI_BYTE, 1 - rank, tag, MPI_COMM_WORLD));
}

static void exchange(int length, int turn) {
    if (rank == 0) {
        give(length, turn, 2 * turn);
        receive(length, turn + 1, 2 * turn + 1);
    } else {
        receive(length, turn, 2 * turn);
        give(length, turn + 1, 2 * turn + 1);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    buffer = malloc(MOST + GUARD);
    int turn = 0;
    // Every small size: this is where headers, inline data and cells have their edges.
    for (int length = 0; length <= 512; length++) exchange(length, turn++);
    // Around every power of two above.
    for (int power = 1024; power <= MOST; power *= 2)
        for (int off = -1; off <= 1; off++)
            if (power + off <= MOST) exchange(power + off, turn++);
    // Odd sizes that no protocol is tuned for.
    for (int length = 1000; length < MOST; length = length * 7 / 3 + 1) exchange(length, turn++);
    // The same small message many times: rings wrap around.
    for (int i = 0; i < 20000; i++) exchange(i % 41, turn % 1000 + i % 1000);
    free(buffer);
    return finish();
}
