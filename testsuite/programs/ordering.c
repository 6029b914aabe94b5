// ranks: 2 4 8
// Messages do not overtake; wildcards see them in order; tags and communicators select
// (MPI-5.0 §3.5).
#include "check.h"

enum { MESSAGES = 300, LARGE = 40000 };

static int words[LARGE];

// Short and long messages in turn, so that eager and rendezvous mix.
static int words_of(int number) {
    return number % 7 == 3 ? LARGE : 1 + number % 50;
}

static void send_all(int tag_of_each) {
    for (int i = 0; i < MESSAGES; i++) {
        words[0] = i;
        words[words_of(i) - 1] = i;
        OK(MPI_Send(words, words_of(i), MPI_INT, 0, tag_of_each ? i : 1, MPI_COMM_WORLD));
    }
}

// From any source with any tag: each source's messages come in its order.
static void in_order(void) {
    if (rank != 0) {
        send_all(1);
        return;
    }
    int next[64] = {0};
    for (int n = 0; n < MESSAGES * (size - 1); n++) {
        MPI_Status status;
        int count = -1;
        OK(MPI_Recv(words, LARGE, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        int expected = next[status.MPI_SOURCE]++;
        EQUAL(status.MPI_TAG, expected);
        EQUAL(words[0], expected);
        OK(MPI_Get_count(&status, MPI_INT, &count));
        EQUAL(count, words_of(expected));
        EQUAL(words[count - 1], expected);
    }
}

// Receives posted before the messages come are filled in the order of posting.
static void posted_in_order(void) {
    static int in[MESSAGES];
    static MPI_Request requests[MESSAGES];
    int go = 1;
    if (rank == 0) {
        for (int i = 0; i < MESSAGES; i++)
            OK(MPI_Irecv(&in[i], 1, MPI_INT, 1, i % 3 ? 4 : MPI_ANY_TAG, MPI_COMM_WORLD,
                         &requests[i]));
        OK(MPI_Send(&go, 1, MPI_INT, 1, 2, MPI_COMM_WORLD));
        OK(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < MESSAGES; i++) EQUAL(in[i], i);
    } else if (rank == 1) {
        OK(MPI_Recv(&go, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < MESSAGES; i++) OK(MPI_Send(&i, 1, MPI_INT, 0, 4, MPI_COMM_WORLD));
    }
}

// Unexpected messages are taken by tag, last first, and by communicator.
static void selected(void) {
    MPI_Comm other;
    int value = -1;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    if (rank == 1) {
        for (int i = 0; i < 100; i++) {
            int twin = 1000 + i;
            OK(MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD));
            OK(MPI_Send(&twin, 1, MPI_INT, 0, i, other));
        }
    } else if (rank == 0) {
        for (int i = 99; i >= 0; i--) {
            OK(MPI_Recv(&value, 1, MPI_INT, 1, i, other, MPI_STATUS_IGNORE));
            EQUAL(value, 1000 + i);
            OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            EQUAL(value, i);
        }
    }
    OK(MPI_Comm_free(&other));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    in_order();
    posted_in_order();
    selected();
    return finish();
}
