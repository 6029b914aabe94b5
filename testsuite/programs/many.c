// ranks: 2 4
// Thousands of messages in flight: posted receives, unexpected messages, several senders
// (MPI-5.0 §3.5, progress and resource limitations).
#include "check.h"

enum { MANY = 10000, LONG = 3000, LONGS = 200 };

static int in[MANY], out[MANY];
static MPI_Request requests[MANY];

// Receives wait in one order, messages come in the other.
static void many_posted(void) {
    int go = 0;
    if (rank == 0) {
        for (int i = 0; i < MANY; i++)
            OK(MPI_Irecv(&in[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]));
        OK(MPI_Send(&go, 1, MPI_INT, 1, MANY, MPI_COMM_WORLD));
        OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < MANY; i++) EQUAL(in[i], 3 * i);
    } else if (rank == 1) {
        OK(MPI_Recv(&go, 1, MPI_INT, 0, MANY, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = MANY - 1; i >= 0; i--) {
            out[i] = 3 * i;
            OK(MPI_Send(&out[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD));
        }
    }
}

// Everybody floods rank 0, which looks at nothing until all sends have been started.
static void many_unexpected(void) {
    if (rank != 0) {
        for (int i = 0; i < MANY; i++) {
            out[i] = i * rank;
            OK(MPI_Isend(&out[i], 1, MPI_INT, 0, i % 100, MPI_COMM_WORLD, &requests[i]));
        }
        OK(MPI_Send(&rank, 1, MPI_INT, 0, 2000, MPI_COMM_WORLD));
        OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
        return;
    }
    int value;
    for (int other = 1; other < size; other++)
        OK(MPI_Recv(&value, 1, MPI_INT, other, 2000, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int other = size - 1; other >= 1; other--)
        for (int tag = 99; tag >= 0; tag--)
            for (int i = tag; i < MANY; i += 100) {
                OK(MPI_Recv(&value, 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                EQUAL(value, i * other);
            }
}

// All send to all, long messages, all at once.
static void everybody_at_once(void) {
    static int from[64][LONG], to[LONG];
    MPI_Request receive[64], send[64];
    for (int turn = 0; turn < LONGS; turn++) {
        for (int i = 0; i < LONG; i++) to[i] = rank + turn * i;
        for (int other = 0; other < size; other++)
            OK(MPI_Irecv(from[other], LONG, MPI_INT, other, turn, MPI_COMM_WORLD, &receive[other]));
        for (int other = 0; other < size; other++)
            OK(MPI_Isend(to, LONG, MPI_INT, other, turn, MPI_COMM_WORLD, &send[other]));
        OK(MPI_Waitall(size, receive, MPI_STATUSES_IGNORE));
        OK(MPI_Waitall(size, send, MPI_STATUSES_IGNORE));
        for (int other = 0; other < size; other++)
            for (int i = 0; i < LONG; i += 299) EQUAL(from[other][i], other + turn * i);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    many_posted();
    many_unexpected();
    everybody_at_once();
    return finish();
}
