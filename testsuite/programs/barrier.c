// ranks: 1 2 3 4 8
// Barriers: nobody leaves before everybody has entered (MPI-5.0 §6.3).
#include "check.h"

// One rank after the other comes late. It enters only when all others have told it that they are
// about to enter, and the others look, when they are out again, for the note that it sent before.
static void one_is_late(int late) {
    int note = late;
    if (rank == late) {
        for (int n = 1; n < size; n++)
            OK(MPI_Recv(&note, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int other = 0; other < size; other++)
            if (other != rank) OK(MPI_Send(&rank, 1, MPI_INT, other, 2, MPI_COMM_WORLD));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        return;
    }
    MPI_Request request;
    int got = -1;
    OK(MPI_Irecv(&got, 1, MPI_INT, late, 2, MPI_COMM_WORLD, &request));
    OK(MPI_Send(&rank, 1, MPI_INT, late, 1, MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    // The note was sent before the late one entered; so it arrives without anybody's further help.
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(got, late);
}

// With time: the last to enter notes when, and nobody may be out earlier (one host, one clock).
static void by_the_clock(int late) {
    double entered = 0, left, from_late = 0;
    if (rank == late) {
        double until = MPI_Wtime() + 0.002;
        while (MPI_Wtime() < until) {
        }
    }
    entered = MPI_Wtime();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    left = MPI_Wtime();
    if (rank == late) {
        for (int other = 0; other < size; other++)
            if (other != rank) OK(MPI_Send(&entered, 1, MPI_DOUBLE, other, 3, MPI_COMM_WORLD));
    } else {
        OK(MPI_Recv(&from_late, 1, MPI_DOUBLE, late, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(left >= from_late, "rank %d left %g s before rank %d entered", rank, from_late - left,
              late);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int late = 0; late < size; late++) {
        one_is_late(late);
        by_the_clock(late);
    }
    for (int turn = 0; turn < 1000; turn++) OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_SELF));
    return finish();
}
