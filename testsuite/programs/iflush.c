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
    OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
    for (int turn = 0; turn < 10; turn++) {
        MPI_Comm on = turn % 2 ? comm : MPI_COMM_WORLD;
        fill(out, LENGTH, turn + rank);
        OK(MPI_Bsend(out, LENGTH, MPI_BYTE, other, turn, on));
        OK(turn % 2 ? MPI_Comm_iflush_buffer(comm, &request) : MPI_Buffer_iflush(&request));
        OK(MPI_Recv(in, LENGTH, MPI_BYTE, other, turn, on, MPI_STATUS_IGNORE));
        CHECK(wrong_at(in, LENGTH, turn + other) < 0, "turn %d", turn);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    OK(MPI_Buffer_detach(&detached, &room));
    OK(MPI_Comm_detach_buffer(comm, &detached, &room));
    CHECK(detached == buffer, "the communicator's buffer comes back");
    OK(MPI_Comm_free(&comm));
    free(buffer);
    return finish();
}
