// ranks: 2
// A message longer than its receive: an error at the receiver, and life goes on (MPI-5.0 §3.2.4).
#include "check.h"

enum { MOST = 1 << 19, GUARD = 32 };

static unsigned char in[MOST + GUARD], out[MOST];

// The receive that is too short reports it, writes nothing behind its end, and the next works.
static void too_long(int length, int room, int posted_first) {
    int token = 1;
    if (rank == 0) {
        fill(out, (size_t)length, 3);
        if (posted_first)
            OK(MPI_Recv(&token, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Send(out, length, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        OK(MPI_Send(out, 10, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        return;
    }
    MPI_Request request;
    MPI_Status status;
    memset(in, 0x77, sizeof in);
    if (posted_first) {
        OK(MPI_Irecv(in, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request));
        OK(MPI_Send(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
        FAILS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
        CHECK(request == MPI_REQUEST_NULL, "a failed receive is complete");
    } else {
        FAILS(MPI_Recv(in, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
    }
    EQUAL(status.MPI_SOURCE, 0);
    EQUAL(status.MPI_TAG, 1);
    for (int i = 0; i < GUARD; i++)
        CHECK(in[room + i] == 0x77, "byte %d behind %d was written by a message of %d", i, room,
              length);
    int count = -1;
    OK(MPI_Recv(in, 10, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    EQUAL(count, 10);
    CHECK(wrong_at(in, 10, 3) < 0, "the message after a truncated one");
}

// Among several requests, the status says which one failed (§3.7.5).
static void in_a_list(void) {
    int token = 0;
    if (rank == 0) {
        OK(MPI_Recv(&token, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < 3; i++)
            OK(MPI_Send(out, 100, MPI_BYTE, 1, 10 + i, MPI_COMM_WORLD));
        return;
    }
    MPI_Request requests[3];
    MPI_Status statuses[3];
    for (int i = 0; i < 3; i++)
        OK(MPI_Irecv(in + 200 * i, i == 1 ? 50 : 200, MPI_BYTE, 0, 10 + i, MPI_COMM_WORLD,
                     &requests[i]));
    OK(MPI_Send(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
    int code = MPI_Waitall(3, requests, statuses);
    FAILS(code, MPI_ERR_IN_STATUS);
    int tries = 0;
    while (statuses[0].MPI_ERROR == MPI_ERR_PENDING || statuses[2].MPI_ERROR == MPI_ERR_PENDING) {
        MPI_Status after;
        for (int i = 0; i < 3; i += 2)
            if (statuses[i].MPI_ERROR == MPI_ERR_PENDING) {
                OK(MPI_Wait(&requests[i], &after));
                statuses[i].MPI_ERROR = MPI_SUCCESS;
            }
        if (++tries > 3) break;
    }
    EQUAL(statuses[0].MPI_ERROR, MPI_SUCCESS);
    FAILS(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
    EQUAL(statuses[2].MPI_ERROR, MPI_SUCCESS);
    for (int i = 0; i < 3; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL, "request %d is complete", i);
}

// A test that finds the operation complete says so, also when it failed.
static void tested(void) {
    if (rank == 0) {
        OK(MPI_Send(out, 8, MPI_BYTE, 1, 20, MPI_COMM_WORLD));
        return;
    }
    MPI_Request request;
    int flag = 0, code = MPI_SUCCESS;
    OK(MPI_Irecv(in, 4, MPI_BYTE, 0, 20, MPI_COMM_WORLD, &request));
    while (code == MPI_SUCCESS && !flag) code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    FAILS(code, MPI_ERR_TRUNCATE);
    EQUAL(flag, 1);
    CHECK(request == MPI_REQUEST_NULL, "complete");
}

// The same in an exchange, of which the other half succeeds.
static void exchanged(int length, int room) {
    int other = 1 - rank, count = -1;
    MPI_Status status;
    fill(out, (size_t)length, rank);
    memset(in, 0x77, sizeof in);
    for (int turn = 0; turn < 40; turn++) {
        int code = MPI_Sendrecv(out, length, MPI_BYTE, other, 4, in, rank ? room : length, MPI_BYTE,
                                other, 4, MPI_COMM_WORLD, &status);
        FAILS(code, rank && room < length ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        EQUAL(status.MPI_SOURCE, other);
        CHECK(!rank || in[room] == 0x77, "the byte behind %d was written by %d", room, length);
        OK(MPI_Sendrecv(out, 10, MPI_BYTE, other, 4, in, 10, MPI_BYTE, other, 4, MPI_COMM_WORLD,
                        &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        EQUAL(count, 10);
        CHECK(wrong_at(in, 10, other) < 0, "the exchange after a truncated one");
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    static const int lengths[] = {11, 64, 2000, 100000, MOST};
    for (int i = 0; i < 5; i++)
        for (int posted_first = 0; posted_first < 2; posted_first++) {
            too_long(lengths[i], lengths[i] - 1, posted_first);
            too_long(lengths[i], 0, posted_first);
        }
    in_a_list();
    tested();
    exchanged(100, 60);
    exchanged(5000, 4000);
    exchanged(MOST, 1000);
    return finish();
}
