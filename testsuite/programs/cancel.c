// ranks: 1 2
// Cancelling receives: either the message or the cancel wins, never both (MPI-5.0 §3.8.4).
#include "check.h"

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
    OK(MPI_Send(&rank, 1, MPI_INT, other, 6, MPI_COMM_WORLD));
    OK(MPI_Wait(&second, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    EQUAL(flag, 0);
    EQUAL(next, other);
    EQUAL(value, -1);

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
    // Nobody sends before all have cancelled.
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Start(&request));
    OK(MPI_Send(&rank, 1, MPI_INT, other, 8, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    EQUAL(flag, 0);
    EQUAL(value, other);
    OK(MPI_Request_free(&request));
    return finish();
}
