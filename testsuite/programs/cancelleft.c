// ranks: 2
// A send to a process that leaves MPI, or has left it, can be cancelled (MPI-5.0 §11.2.2), and its wait waits for
// nobody (§3.8.4).
#include "check.h"

static void cancelled_send(int synchronous) {
    MPI_Request request;
    MPI_Status status;
    int cancelled = 0;
    if (synchronous)
        OK(MPI_Issend(&rank, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request));
    else
        OK(MPI_Isend(&rank, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled, "nobody received it");
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    // They have met, so that one knows whether the other has left.
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        // The first may be asked for while the other is there still; then it has left.
        cancelled_send(1);
        cancelled_send(1);
        cancelled_send(0);
        MPI_Request request;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        OK(MPI_Issend(&rank, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request));
        REFUSED(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    OK(MPI_Finalize());
    if (rank == 0 && failures == 0) puts("ok");
    return failures != 0;
}
