// ranks: 1 2 4
// The end: what was sent arrives although its sender is already in finalize (MPI-5.0 §11.2.2).
#include "check.h"

enum { LONG = 200000 };

static unsigned char buffer[LONG];

int main(int argc, char **argv) {
    start(&argc, &argv);
    // Everybody else sends to rank 0, small and long, and goes; rank 0 takes its time.
    if (rank != 0) {
        for (int i = 0; i < 20; i++) OK(MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD));
        int room = LONG + MPI_BSEND_OVERHEAD;
        void *attached = malloc((size_t)room);
        OK(MPI_Buffer_attach(attached, room));
        fill(buffer, LONG, rank);
        OK(MPI_Bsend(buffer, LONG, MPI_BYTE, 0, 50, MPI_COMM_WORLD));
        int finished = 0;
        OK(MPI_Finalize()); // detaches, and returns when the message is out
        OK(MPI_Finalized(&finished));
        EQUAL(finished, 1);
        free(attached);
        return failures != 0;
    }
    double until = MPI_Wtime() + 0.05;
    while (MPI_Wtime() < until) {
    }
    for (int other = size - 1; other >= 1; other--) {
        int got = -1;
        for (int i = 19; i >= 0; i--) {
            OK(MPI_Recv(&got, 1, MPI_INT, other, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            EQUAL(got, i);
        }
        OK(MPI_Recv(buffer, LONG, MPI_BYTE, other, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(wrong_at(buffer, LONG, other) < 0, "the long message of rank %d", other);
    }
    int finished = 0;
    OK(MPI_Finalize());
    OK(MPI_Finalized(&finished));
    EQUAL(finished, 1);
    // These may be called at any time (§11.4.1).
    int version, subversion, length;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    OK(MPI_Get_version(&version, &subversion));
    OK(MPI_Get_library_version(library, &length));
    if (failures == 0) puts("ok");
    return failures != 0;
}
