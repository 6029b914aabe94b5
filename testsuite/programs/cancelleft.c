// ranks: 2
// A send to a process that leaves MPI, or has left it, can be cancelled (MPI-5.0 §11.2.2), and its wait waits for
// nobody (§3.8.4).
#define _POSIX_C_SOURCE 200809L
#include "outside.h"

enum Mode { STANDARD, SYNCHRONOUS };
enum Way { BY_WAIT, BY_TESTS };

static void cancelled_send(enum Mode mode, enum Way way) {
    MPI_Request request;
    MPI_Status status;
    int cancelled = 0, done = 0;
    if (mode == SYNCHRONOUS)
        OK(MPI_Issend(&rank, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request));
    else
        OK(MPI_Isend(&rank, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    while (way == BY_TESTS && !done) OK(MPI_Test(&request, &done, &status));
    if (way == BY_WAIT) OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled, "nobody received it");
}

// Goes on with everything else until rank 1 has left.
static void await_leaving(void) {
    char word;
    int flag, end = open(pipe_name(0), O_RDONLY | O_NONBLOCK);
    CHECK(end >= 0, "%s does not open", pipe_name(0));
    while (end >= 0 && read(end, &word, 1) != 1)
        OK(MPI_Iprobe(1, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    close(end);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    if (rank == 0) make_outside(1);
    // They have met, so that one knows whether the other has left.
    OK(MPI_Bcast(outside, sizeof outside, MPI_CHAR, 0, MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        MPI_Request request;
        int got = 0;
        // Perhaps the other is there still.
        cancelled_send(SYNCHRONOUS, BY_WAIT);
        await_leaving();
        cancelled_send(SYNCHRONOUS, BY_TESTS);
        cancelled_send(STANDARD, BY_WAIT);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        OK(MPI_Issend(&rank, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request));
        REFUSED(MPI_Wait(&request, MPI_STATUS_IGNORE));
        // The receive alone would wait for ever.
        REFUSED(MPI_Sendrecv(&rank, 1, MPI_INT, 1, 9, &got, 1, MPI_INT, MPI_ANY_SOURCE, 9,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    OK(MPI_Finalize());
    if (rank == 1) {
        int end = open(pipe_name(0), O_WRONLY);
        EQUAL(write(end, "!", 1), 1);
        close(end);
    } else {
        remove_outside(1);
        if (failures == 0) puts("ok");
    }
    return failures != 0;
}
