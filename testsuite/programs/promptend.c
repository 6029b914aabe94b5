// ranks: 2 3 4 8
// The end takes no time of its own: a rank whose last message met its peer for the first time
// finalizes as soon as that is out (MPI-5.0 §11.2.2).
#include "check.h"

int main(int argc, char **argv) {
    double begin, left;
    start(&argc, &argv);
    if (rank != 0) {
        OK(MPI_Send(&rank, 1, MPI_INT, 0, rank, MPI_COMM_WORLD));
    } else {
        for (int other = 1; other < size; other++) {
            int got = -1;
            OK(MPI_Recv(&got, 1, MPI_INT, other, other, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            EQUAL(got, other);
        }
    }
    begin = MPI_Wtime();
    OK(MPI_Finalize());
    left = MPI_Wtime(); // may be called after the end (§11.4.1)
    CHECK(left - begin < 0.7, "finalizing took %.3f s", left - begin);
    if (rank == 0 && failures == 0) puts("ok");
    return failures != 0;
}
