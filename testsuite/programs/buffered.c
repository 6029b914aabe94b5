// ranks: 1 2
// Buffered sends and the buffer they use (MPI-5.0 §3.6).
#include "check.h"

enum { MESSAGES = 40, LENGTH = 3000 };

static unsigned char in[LENGTH], out[LENGTH];

int main(int argc, char **argv) {
    start(&argc, &argv);
    int other = size - 1 - rank;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));

    // All are sent before any is received: a buffered send completes locally.
    int room = 0;
    OK(MPI_Pack_size(LENGTH, MPI_BYTE, MPI_COMM_WORLD, &room));
    room = MESSAGES * (room + MPI_BSEND_OVERHEAD);
    char *buffer = malloc((size_t)room);
    OK(MPI_Buffer_attach(buffer, room));
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < MESSAGES; i++) {
            fill(out, LENGTH, i + 100 * rank);
            OK(MPI_Bsend(out, LENGTH, MPI_BYTE, other, i, MPI_COMM_WORLD));
        }
        for (int i = 0; i < MESSAGES; i++) {
            OK(MPI_Recv(in, LENGTH, MPI_BYTE, other, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(wrong_at(in, LENGTH, i + 100 * other) < 0, "turn %d message %d", turn, i);
        }
        // Detaching waits for delivery, and says what was attached.
        void *detached = NULL;
        int length = -1;
        OK(MPI_Buffer_detach(&detached, &length));
        CHECK(detached == buffer, "the buffer that was attached comes back");
        EQUAL(length, room);
        OK(MPI_Buffer_attach(buffer, room));
    }

    // Two buffers at once are an error, and so is a send that does not fit.
    REFUSED(MPI_Buffer_attach(buffer, room));
    void *detached;
    int length;
    OK(MPI_Buffer_detach(&detached, &length));
    OK(MPI_Buffer_attach(buffer, LENGTH / 2 + MPI_BSEND_OVERHEAD));
    FAILS(MPI_Bsend(out, LENGTH, MPI_BYTE, other, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    OK(MPI_Bsend(out, 16, MPI_BYTE, other, 1, MPI_COMM_WORLD));
    OK(MPI_Recv(in, LENGTH, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Buffer_detach(&detached, &length));

    // What is still in the buffer at the detach arrives all the same.
    OK(MPI_Buffer_attach(buffer, room));
    fill(out, LENGTH, 200 + rank);
    OK(MPI_Bsend(out, LENGTH, MPI_BYTE, other, 9, MPI_COMM_WORLD));
    if (size == 1) OK(MPI_Recv(in, LENGTH, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (size == 2 && rank == 1)
        OK(MPI_Recv(in, LENGTH, MPI_BYTE, other, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (rank == 0) {
        OK(MPI_Buffer_detach(&detached, &length));
        memset(buffer, 0, (size_t)room);
    }
    if (size == 2 && rank == 0)
        OK(MPI_Recv(in, LENGTH, MPI_BYTE, other, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (rank == 1) OK(MPI_Buffer_detach(&detached, &length));
    CHECK(wrong_at(in, LENGTH, 200 + other) < 0, "the last buffered message");

    // Who detaches once too often gets nothing.
    detached = buffer;
    length = 7;
    OK(MPI_Buffer_detach(&detached, &length));
    CHECK(detached == NULL && length == 0, "%p, %d", detached, length);
    free(buffer);
    return finish();
}
