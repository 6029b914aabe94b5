// ranks: 2
// Looking at several requests without completing them (MPI-5.0 §3.7.6).
#include "check.h"

enum { COUNT = 6 };

static int in[COUNT];
static MPI_Request requests[COUNT];
static MPI_Status statuses[COUNT], status;

// Rank 1 sends those messages whose turn it is, when rank 0 asks.
static void ask(int first, int last) {
    int token = 0;
    if (rank == 0) {
        OK(MPI_Send(&token, 1, MPI_INT, 1, 90, MPI_COMM_WORLD));
    } else {
        OK(MPI_Recv(&token, 1, MPI_INT, 0, 90, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = first; i < last; i++) OK(MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD));
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    if (rank == 1) {
        ask(0, 0);
        ask(2, 3);
        ask(0, 2);
        ask(3, COUNT);
        return finish();
    }
    int flag, index, count, indices[COUNT];
    for (int i = 0; i < COUNT; i++) {
        in[i] = -1;
        OK(MPI_Irecv(&in[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]));
    }
    ask(0, 0);
    OK(MPI_Request_get_status_all(COUNT, requests, &flag, statuses));
    EQUAL(flag, 0);
    OK(MPI_Request_get_status_any(COUNT, requests, &index, &flag, &status));
    EQUAL(flag, 0);
    EQUAL(index, MPI_UNDEFINED);

    ask(2, 3);
    do OK(MPI_Request_get_status_any(COUNT, requests, &index, &flag, &status));
    while (!flag);
    EQUAL(index, 2);
    EQUAL(status.MPI_TAG, 2);
    EQUAL(in[2], 2);
    CHECK(requests[2] != MPI_REQUEST_NULL, "looking does not complete");

    ask(0, 2);
    for (int i = 0; i < 2; i++) {
        do OK(MPI_Request_get_status(requests[i], &flag, &status));
        while (!flag);
    }
    OK(MPI_Request_get_status_some(COUNT, requests, &count, indices, statuses));
    EQUAL(count, 3);
    for (int i = 0; i < count; i++) EQUAL(statuses[i].MPI_TAG, indices[i]);

    ask(3, COUNT);
    do OK(MPI_Request_get_status_all(COUNT, requests, &flag, statuses));
    while (!flag);
    for (int i = 0; i < COUNT; i++) EQUAL(statuses[i].MPI_TAG, i);
    OK(MPI_Waitall(COUNT, requests, statuses));
    for (int i = 0; i < COUNT; i++) EQUAL(in[i], i);
    OK(MPI_Request_get_status_some(COUNT, requests, &count, indices, statuses));
    EQUAL(count, MPI_UNDEFINED);
    return finish();
}
