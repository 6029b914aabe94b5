// ranks: 1 2 4
// Send and receive in one call, in place too, with nobody and with oneself (MPI-5.0 §3.10).
#include "check.h"

enum { MOST = 1 << 18 };

static unsigned char in[MOST], out[MOST];
static const int lengths[] = {0, 3, 5000, MOST};

static void shifted(int length) {
    int left = (rank + size - 1) % size, right = (rank + 1) % size, count = -1;
    MPI_Status status;
    fill(out, (size_t)length, rank);
    OK(MPI_Sendrecv(out, length, MPI_BYTE, right, 1, in, MOST, MPI_BYTE, left, 1, MPI_COMM_WORLD,
                    &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    EQUAL(count, length);
    CHECK(wrong_at(in, (size_t)length, left) < 0, "Sendrecv of %d", length);
    OK(MPI_Sendrecv_replace(out, length, MPI_BYTE, right, 2, left, 2, MPI_COMM_WORLD, &status));
    EQUAL(status.MPI_SOURCE, left);
    CHECK(wrong_at(out, (size_t)length, left) < 0, "Sendrecv_replace of %d", length);
}

// The ends of an open chain talk to MPI_PROC_NULL (§3.10, null processes).
static void open_chain(void) {
    int left = rank == 0 ? MPI_PROC_NULL : rank - 1;
    int right = rank == size - 1 ? MPI_PROC_NULL : rank + 1;
    int got = -7, count = -1;
    MPI_Status status;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD,
                    &status));
    EQUAL(got, rank == 0 ? -7 : rank - 1);
    EQUAL(status.MPI_SOURCE, left);
    if (rank == 0) {
        EQUAL(status.MPI_TAG, MPI_ANY_TAG);
        OK(MPI_Get_count(&status, MPI_INT, &count));
        EQUAL(count, 0);
    }
    // Nothing comes from nobody, of no type whatever.
    OK(MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
    EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
    MPI_Request requests[2];
    OK(MPI_Send(&got, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
    OK(MPI_Ssend(&got, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
    OK(MPI_Isend(&got, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Irecv(&got, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

// One half with nobody, the other of any length, many times: the last of the chain only receives.
static void half_open(int length) {
    int left = rank == 0 ? MPI_PROC_NULL : rank - 1;
    int right = rank == size - 1 ? MPI_PROC_NULL : rank + 1;
    MPI_Status status;
    for (int turn = 0; turn < (length < MOST ? 300 : 20); turn++) {
        int count = -1, sent = 100 + turn, tag = turn % 3 ? sent : MPI_ANY_TAG;
        fill(out, (size_t)length, rank + turn);
        memset(in, 0, (size_t)length);
        OK(MPI_Sendrecv(out, length, MPI_BYTE, right, sent, in, MOST, MPI_BYTE, left, tag,
                        MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        EQUAL(count, rank == 0 ? 0 : length);
        EQUAL(status.MPI_TAG, rank == 0 ? MPI_ANY_TAG : sent);
        if (rank > 0) CHECK(wrong_at(in, (size_t)length, left + turn) < 0, "half of %d", length);
    }
}

// To oneself: the receive is posted before or after the send.
static void with_myself(int length) {
    MPI_Request request;
    MPI_Status status;
    for (int receive_first = 0; receive_first < 2; receive_first++) {
        fill(out, (size_t)length, 9);
        memset(in, 0, (size_t)length);
        if (receive_first) {
            OK(MPI_Irecv(in, length, MPI_BYTE, rank, 5, MPI_COMM_WORLD, &request));
            OK(MPI_Send(out, length, MPI_BYTE, rank, 5, MPI_COMM_WORLD));
        } else {
            OK(MPI_Isend(out, length, MPI_BYTE, rank, 5, MPI_COMM_WORLD, &request));
            OK(MPI_Recv(in, length, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status));
            EQUAL(status.MPI_SOURCE, rank);
        }
        OK(MPI_Wait(&request, &status));
        CHECK(wrong_at(in, (size_t)length, 9) < 0, "%d bytes to myself", length);
    }
    OK(MPI_Sendrecv(&length, 1, MPI_INT, 0, 1, in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &status));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int i = 0; i < 4; i++) {
        shifted(lengths[i]);
        with_myself(lengths[i]);
        half_open(lengths[i]);
    }
    open_chain();
    return finish();
}
