// ranks: 1 2 3
// When MPI_Comm_disconnect returns, what was sent on the communicator is done with, although nobody waited for it: the
// program overwrites what it sent and finds what it received (MPI-5.0 §11.10.4). World and self are not disconnected.
#include "check.h"

enum { TAG = 7, SHORT = 1 << 10, LONG = 3 << 20 };

static int word(int from, int round, int at) {
    return from * 1000003 + round * 7919 + at;
}

static void check_words(const int *words, int length, int round, int from) {
    int wrong = 0;
    for (int i = 0; i < length; ++i) wrong += words[i] != word(from, round, i);
    CHECK(wrong == 0, "%d of %d words from %d are wrong in round %d", wrong, length, from, round);
}

// Everyone sends to the right and receives from the left; the requests are freed, or kept until the communicator is
// gone. A short message is received before, since nobody is told when it has left its sender.
static void exchange(int length, int round, int frees) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, sum = 0;
    int *out = malloc(sizeof(int) * length), *in = calloc(length, sizeof(int));
    MPI_Comm comm;
    MPI_Request receive, send, reduction;
    for (int i = 0; i < length; ++i) out[i] = word(rank, round, i);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Irecv(in, length, MPI_INT, left, TAG, comm, &receive));
    OK(MPI_Isend(out, length, MPI_INT, right, TAG, comm, &send));
    OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &reduction));
    if (length == SHORT) OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    if (frees) {
        if (receive != MPI_REQUEST_NULL) OK(MPI_Request_free(&receive));
        OK(MPI_Request_free(&send));
    }
    OK(MPI_Comm_disconnect(&comm));
    CHECK(comm == MPI_COMM_NULL, "the handle stays");
    memset(out, 0xff, sizeof(int) * length);
    check_words(in, length, round, left);
    EQUAL(sum, size * (size - 1) / 2);
    OK(MPI_Wait(&reduction, MPI_STATUS_IGNORE));
    if (!frees) {
        OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    }
    // What the left one overwrites now would show here.
    OK(MPI_Barrier(MPI_COMM_WORLD));
    check_words(in, length, round, left);
    free(out);
    free(in);
}

// A receive that no message ever matches holds nobody up.
static void unmatched(void) {
    int word;
    MPI_Comm comm;
    MPI_Request receive;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &receive));
    OK(MPI_Request_free(&receive));
    OK(MPI_Comm_disconnect(&comm));
}

static void refused(void) {
    MPI_Comm comm = MPI_COMM_WORLD;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(MPI_Comm_disconnect(&comm), MPI_ERR_COMM);
    CHECK(comm == MPI_COMM_WORLD, "the handle of world is gone");
    comm = MPI_COMM_SELF;
    FAILS(MPI_Comm_disconnect(&comm), MPI_ERR_COMM);
    comm = MPI_COMM_NULL;
    FAILS(MPI_Comm_disconnect(&comm), MPI_ERR_COMM);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int round = 0; round < 4; ++round) exchange(round % 2 == 0 ? LONG : SHORT, round, round < 2);
    unmatched();
    refused();
    return finish();
}
