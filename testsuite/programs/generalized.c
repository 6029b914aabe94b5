// ranks: 1
// Requests that the program itself completes (MPI-5.0 §13.2).
#include "check.h"

static int queries, frees, cancels;

static int query(void *state, MPI_Status *status) {
    queries++;
    MPI_Status_set_elements(status, MPI_INT, *(int *)state);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 33;
    return MPI_SUCCESS;
}

static int release(void *state) {
    (void)state;
    frees++;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete) {
    (void)state;
    EQUAL(complete, 0);
    cancels++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int elements = 12, flag = -1, count = -1;
    MPI_Request request, copy;
    MPI_Status status;
    OK(MPI_Grequest_start(query, release, cancel, &elements, &request));
    OK(MPI_Test(&request, &flag, &status));
    EQUAL(flag, 0);
    OK(MPI_Cancel(&request));
    EQUAL(cancels, 1);
    copy = request;
    OK(MPI_Grequest_complete(copy));
    EQUAL(frees, 0);
    OK(MPI_Wait(&request, &status));
    EQUAL(queries, 1);
    EQUAL(frees, 1);
    CHECK(request == MPI_REQUEST_NULL, "complete and gone");
    EQUAL(status.MPI_SOURCE, 3);
    EQUAL(status.MPI_TAG, 33);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    EQUAL(count, 12);

    // Freed before it is complete: it lives until then.
    OK(MPI_Grequest_start(query, release, cancel, &elements, &request));
    copy = request;
    OK(MPI_Request_free(&request));
    EQUAL(frees, 1);
    OK(MPI_Grequest_complete(copy));
    EQUAL(frees, 2);
    return finish();
}
