// ranks: 1 2
// Cancelling: either the message or the cancel wins, never both (MPI-5.0 §3.8.4).
#include "check.h"

enum { LONG = 1 << 18 };

static int data[LONG], room[LONG];

// A send that nobody receives: after its cancel the wait ends, and if the cancel won the message is gone.
// Each has a tag of its own, since the other may be at the next one already.
static void cancel_send(int other, int count, int synchronous) {
    MPI_Request request;
    MPI_Status status;
    static int tag = 20;
    int mine = -1, theirs = -1, found = -1;
    tag++;
    for (int i = 0; i < count; i++) data[i] = i + rank;
    if (synchronous)
        OK(MPI_Issend(data, count, MPI_INT, other, tag, MPI_COMM_WORLD, &request));
    else
        OK(MPI_Isend(data, count, MPI_INT, other, tag, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &mine));
    OK(MPI_Sendrecv(&mine, 1, MPI_INT, other, 10, &theirs, 1, MPI_INT, other, 10, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    OK(MPI_Iprobe(other, tag, MPI_COMM_WORLD, &found, &status));
    EQUAL(found, !theirs);
    if (theirs) return;
    OK(MPI_Recv(room, count, MPI_INT, other, tag, MPI_COMM_WORLD, &status));
    EQUAL(room[count - 1], count - 1 + other);
}

// The receive is there: it is the message that wins, or the next one.
static void cancel_matched_send(int other) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int flag = -1, theirs = -1;
    OK(MPI_Irecv(room, LONG, MPI_INT, other, 11, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < LONG; i++) data[i] = 2 * i + rank;
    OK(MPI_Isend(data, LONG, MPI_INT, other, 11, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Cancel(&requests[1]));
    OK(MPI_Wait(&requests[1], &statuses[1]));
    OK(MPI_Test_cancelled(&statuses[1], &flag));
    OK(MPI_Sendrecv(&flag, 1, MPI_INT, other, 12, &theirs, 1, MPI_INT, other, 12, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    if (flag) OK(MPI_Send(data, LONG, MPI_INT, other, 11, MPI_COMM_WORLD));
    OK(MPI_Wait(&requests[0], &statuses[0]));
    EQUAL(room[LONG - 1], 2 * (LONG - 1) + other);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int other = size - 1 - rank, value = -1, flag = -1, count = -1;
    MPI_Request request, second;
    MPI_Status status;

    // Nobody sends: the cancel wins and the buffer is untouched.
    OK(MPI_Irecv(&value, 1, MPI_INT, other, 5, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    EQUAL(flag, 1);
    EQUAL(value, -1);
    CHECK(request == MPI_REQUEST_NULL, "a cancelled request completes");

    // A message sent afterwards goes to the next receive, not to the cancelled one.
    OK(MPI_Irecv(&value, 1, MPI_INT, other, 6, MPI_COMM_WORLD, &request));
    int next = -1;
    OK(MPI_Irecv(&next, 1, MPI_INT, other, 6, MPI_COMM_WORLD, &second));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    EQUAL(flag, 1);
    // Nobody sends before all have cancelled.
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Send(&rank, 1, MPI_INT, other, 6, MPI_COMM_WORLD));
    OK(MPI_Wait(&second, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    EQUAL(flag, 0);
    EQUAL(next, other);
    EQUAL(value, -1);

    // A send to oneself is cancelled, or not, when MPI_Cancel returns: nobody else has a say.
    for (int probed = 0; probed < 2; probed++) {
        OK(MPI_Issend(&rank, 1, MPI_INT, rank, 11, MPI_COMM_WORLD, &request));
        if (probed) OK(MPI_Probe(rank, 11, MPI_COMM_WORLD, &status));
        OK(MPI_Cancel(&request));
        OK(MPI_Request_get_status(request, &flag, &status));
        EQUAL(flag, 1);
        OK(MPI_Test_cancelled(&status, &flag));
        EQUAL(flag, 1);
        OK(MPI_Request_free(&request));
        OK(MPI_Iprobe(rank, 11, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        EQUAL(flag, 0);
    }
    OK(MPI_Issend(&rank, 1, MPI_INT, rank, 11, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(&value, 1, MPI_INT, rank, 11, MPI_COMM_WORLD, &status));
    EQUAL(value, rank);
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    EQUAL(flag, 0);

    // A receive that has its message cannot be cancelled.
    OK(MPI_Irecv(&value, 1, MPI_INT, other, 7, MPI_COMM_WORLD, &request));
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, other, 7, &next, 1, MPI_INT, MPI_PROC_NULL, 0,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    do OK(MPI_Request_get_status(request, &flag, &status));
    while (!flag);
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    EQUAL(flag, 0);
    EQUAL(value, other);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    EQUAL(count, 1);

    // A persistent receive becomes inactive and can be started again.
    value = -1;
    OK(MPI_Recv_init(&value, 1, MPI_INT, other, 8, MPI_COMM_WORLD, &request));
    OK(MPI_Start(&request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    EQUAL(flag, 1);
    // Here too.
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Start(&request));
    OK(MPI_Send(&rank, 1, MPI_INT, other, 8, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    EQUAL(flag, 0);
    EQUAL(value, other);
    OK(MPI_Request_free(&request));

    int counts[] = {1, 1000, LONG};
    for (int i = 0; i < 3; i++)
        for (int synchronous = 0; synchronous < 2; synchronous++)
            cancel_send(other, counts[i], synchronous);
    if (size == 2) cancel_matched_send(other);
    return finish();
}
