// ranks: 2 3
// More messages both ways at once than a lane has cells, of lengths that either end may move (MPI-5.0 §3.7.4:
// whoever only waits for them gets all of them).
#include "check.h"

enum { WINDOW = 64, MOST = 64 << 10, ROUNDS = 150 };

static unsigned char out[WINDOW][MOST], in[WINDOW][MOST];
static const int lengths[] = {8 << 10, 32 << 10, MOST};

static void exchange(int length, int round) {
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Request requests[2 * WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        OK(MPI_Irecv(in[i], length, MPI_BYTE, left, 7, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = 0; i < WINDOW; i++) {
        out[i][0] = (unsigned char)(round + i);
        OK(MPI_Isend(out[i], length, MPI_BYTE, right, 7, MPI_COMM_WORLD, &requests[WINDOW + i]));
    }
    OK(MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < WINDOW; i++) {
        CHECK(in[i][0] == (unsigned char)(round + i), "message %d of round %d", i, round);
        CHECK(in[i][length - 1] == left + 1, "the end of message %d of round %d", i, round);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    memset(out, rank + 1, sizeof out);
    for (int l = 0; l < 3; l++) {
        for (int round = 0; round < ROUNDS; round++) exchange(lengths[l], round);
    }
    return finish();
}
