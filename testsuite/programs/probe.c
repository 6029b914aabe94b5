// ranks: 2 4
// Probing, and probing that takes the message out of matching (MPI-5.0 §3.8).
#include "check.h"

enum { LARGE = 300000 };

static const int lengths[] = {0, 4, 1000, LARGE};
static unsigned char buffer[LARGE];

// Ranks above 0 send; rank 0 learns source, tag and length before it receives. No two messages of a rank have
// one tag: rank 0 takes what comes from anyone, and a rank that is ahead must not stand in for one that is not.
static void probed(int immediate) {
    for (int i = 0; i < 4; i++) {
        int tag = 10 + 4 * immediate + i;
        if (rank != 0) {
            fill(buffer, (size_t)lengths[i], rank);
            OK(MPI_Send(buffer, lengths[i], MPI_BYTE, 0, tag, MPI_COMM_WORLD));
            continue;
        }
        for (int n = 1; n < size; n++) {
            MPI_Status status, received;
            int flag = 0, count = -1;
            if (immediate) {
                while (!flag)
                    OK(MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &status));
            } else {
                OK(MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status));
            }
            OK(MPI_Get_count(&status, MPI_BYTE, &count));
            EQUAL(count, lengths[i]);
            EQUAL(status.MPI_TAG, tag);
            OK(MPI_Recv(buffer, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                        &received));
            EQUAL(received.MPI_SOURCE, status.MPI_SOURCE);
            CHECK(wrong_at(buffer, (size_t)count, status.MPI_SOURCE) < 0, "%d bytes", count);
        }
    }
}

// A matched message is received by its handle, although an equal one arrived later.
static void matched(int immediate) {
    for (int i = 0; i < 4; i++) {
        if (rank == 1) {
            fill(buffer, (size_t)lengths[i], 1);
            MPI_Request request;
            OK(MPI_Isend(buffer, lengths[i], MPI_BYTE, 0, 20, MPI_COMM_WORLD, &request));
            OK(MPI_Send(&i, 1, MPI_INT, 0, 20, MPI_COMM_WORLD));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else if (rank == 0) {
            MPI_Message message = MPI_MESSAGE_NULL;
            MPI_Status status;
            int flag = 0, count = -1, second = -1;
            if (immediate) {
                while (!flag) OK(MPI_Improbe(1, 20, MPI_COMM_WORLD, &flag, &message, &status));
            } else {
                OK(MPI_Mprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
            }
            CHECK(message != MPI_MESSAGE_NULL, "a matched message has a handle");
            OK(MPI_Get_count(&status, MPI_BYTE, &count));
            EQUAL(count, lengths[i]);
            // The one behind it is received first.
            OK(MPI_Recv(&second, 1, MPI_INT, 1, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            EQUAL(second, i);
            if (count > 0) {
                OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
                OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
                FAILS(MPI_Mrecv(NULL, count, MPI_BYTE, &message, &status), MPI_ERR_BUFFER);
                FAILS(MPI_Mrecv(MPI_IN_PLACE, count, MPI_BYTE, &message, &status), MPI_ERR_BUFFER);
            }
            if (immediate) {
                MPI_Request request;
                OK(MPI_Imrecv(buffer, count, MPI_BYTE, &message, &request));
                OK(MPI_Wait(&request, &status));
            } else {
                OK(MPI_Mrecv(buffer, count, MPI_BYTE, &message, &status));
            }
            CHECK(message == MPI_MESSAGE_NULL, "a received message's handle is null");
            EQUAL(status.MPI_TAG, 20);
            CHECK(wrong_at(buffer, (size_t)count, 1) < 0, "%d bytes", count);
        }
    }
}

static void nothing_there(void) {
    MPI_Status status;
    MPI_Message message;
    int flag = 1, count = -1;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 31000, MPI_COMM_WORLD, &flag, &status));
    EQUAL(flag, 0);
    OK(MPI_Improbe(MPI_ANY_SOURCE, 31000, MPI_COMM_WORLD, &flag, &message, &status));
    EQUAL(flag, 0);
    // MPI_PROC_NULL answers at once, with an empty message (§3.8.2, §3.10).
    OK(MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
    EQUAL(status.MPI_TAG, MPI_ANY_TAG);
    OK(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status));
    CHECK(message == MPI_MESSAGE_NO_PROC, "the handle is MPI_MESSAGE_NO_PROC");
    OK(MPI_Mrecv(&count, 1, MPI_INT, &message, &status));
    EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    EQUAL(count, 0);
    CHECK(message == MPI_MESSAGE_NULL, "received from no process");
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    nothing_there();
    probed(0);
    probed(1);
    matched(0);
    matched(1);
    return finish();
}
