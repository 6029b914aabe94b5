// ranks: 1 2
// Waiting in the background until buffered messages are out (MPI-5.0 §3.6).
#include "check.h"

enum { LENGTH = 20000 };

static unsigned char in[LENGTH], out[LENGTH];

int main(int argc, char **argv) {
    start(&argc, &argv);
    int other = size - 1 - rank, room = LENGTH + MPI_BSEND_OVERHEAD;
    void *buffer = malloc((size_t)room), *detached;
    MPI_Comm comm;
    MPI_Request request;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_attach_buffer(comm, buffer, room));
    // The size of what the library provides means nothing.
    OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, -1));
    for (int turn = 0; turn < 10; turn++) {
        MPI_Comm on = turn % 2 ? comm : MPI_COMM_WORLD;
        fill(out, LENGTH, turn + rank);
        OK(MPI_Bsend(out, LENGTH, MPI_BYTE, other, turn, on));
        OK(turn % 2 ? MPI_Comm_iflush_buffer(comm, &request) : MPI_Buffer_iflush(&request));
        OK(MPI_Recv(in, LENGTH, MPI_BYTE, other, turn, on, MPI_STATUS_IGNORE));
        CHECK(wrong_at(in, LENGTH, turn + other) < 0, "turn %d", turn);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    // What is buffered later is not waited for.
    enum { LONG = 1 << 20 };
    static char first[LONG], second[LONG];
    int go = 0;
    if (size == 2 && rank == 0) {
        OK(MPI_Bsend(first, LONG, MPI_BYTE, 1, 20, MPI_COMM_WORLD));
        OK(MPI_Buffer_iflush(&request));
        OK(MPI_Bsend(second, LONG, MPI_BYTE, 1, 21, MPI_COMM_WORLD));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Send(&go, 1, MPI_INT, 1, 22, MPI_COMM_WORLD));
    } else if (size == 2) {
        OK(MPI_Recv(first, LONG, MPI_BYTE, 0, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(&go, 1, MPI_INT, 0, 22, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(second, LONG, MPI_BYTE, 0, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    OK(MPI_Buffer_detach(&detached, &room));
    OK(MPI_Comm_detach_buffer(comm, &detached, &room));
    CHECK(detached == buffer, "the communicator's buffer comes back");
    OK(MPI_Comm_free(&comm));
    free(buffer);
    return finish();
}
