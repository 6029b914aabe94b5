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

static int fail_to_tell(void *state, MPI_Status *status) {
    query(state, status);
    return MPI_ERR_OTHER;
}

static int fail_to_free(void *state) {
    release(state);
    return MPI_ERR_NO_MEM;
}

// A function that fails makes the operation fail, but the request ends as every other does.
static void failing(void) {
    int elements = 1, flag = 0, queried = queries, freed = frees;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    OK(MPI_Grequest_start(fail_to_tell, release, cancel, &elements, &requests[0]));
    OK(MPI_Grequest_complete(requests[0]));
    FAILS(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_OTHER);
    CHECK(requests[0] == MPI_REQUEST_NULL, "gone");
    EQUAL(queries, queried + 1);
    EQUAL(frees, freed + 1);
    OK(MPI_Grequest_start(query, fail_to_free, cancel, &elements, &requests[0]));
    OK(MPI_Grequest_complete(requests[0]));
    FAILS(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE), MPI_ERR_NO_MEM);
    EQUAL(flag, 1);
    CHECK(requests[0] == MPI_REQUEST_NULL, "gone");
    for (int i = 0; i < 3; i++) {
        OK(MPI_Grequest_start(i == 1 ? fail_to_tell : query, i == 2 ? fail_to_free : release, cancel,
                              &elements, &requests[i]));
        OK(MPI_Grequest_complete(requests[i]));
    }
    freed = frees;
    FAILS(MPI_Waitall(3, requests, statuses), MPI_ERR_IN_STATUS);
    EQUAL(frees, freed + 3);
    static const int classes[] = {MPI_SUCCESS, MPI_ERR_OTHER, MPI_ERR_NO_MEM};
    for (int i = 0; i < 3; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL, "request %d is gone", i);
        FAILS(statuses[i].MPI_ERROR, classes[i]);
    }
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
    failing();
    return finish();
}
