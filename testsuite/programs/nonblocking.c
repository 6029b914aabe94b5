// ranks: 1 2 4
// Nonblocking operations and every way to complete them (MPI-5.0 §3.7.3 to §3.7.6).
#include "check.h"

enum { MANY = 50 };

static int in[MANY], out[MANY];
static MPI_Request requests[2 * MANY];
static MPI_Status statuses[2 * MANY];

// Posts MANY receives from the left and MANY sends to the right; the tags tell them apart.
static void post(void) {
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 0; i < MANY; i++) {
        in[i] = -1;
        out[i] = 1000 * rank + i;
        OK(MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = 0; i < MANY; i++)
        OK(MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[MANY + i]));
}

static void verify(const char *how) {
    int left = (rank + size - 1) % size;
    for (int i = 0; i < MANY; i++)
        CHECK(in[i] == 1000 * left + i, "%s: message %d holds %d", how, i, in[i]);
    for (int i = 0; i < 2 * MANY; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL, "%s: request %d is not null", how, i);
}

static void check_status(const MPI_Status *status, int index) {
    if (index >= MANY) return;
    EQUAL(status->MPI_SOURCE, (rank + size - 1) % size);
    EQUAL(status->MPI_TAG, index);
}

static void all(void) {
    post();
    OK(MPI_Waitall(2 * MANY, requests, statuses));
    for (int i = 0; i < MANY; i++) check_status(&statuses[i], i);
    verify("Waitall");
    post();
    int done = 0;
    while (!done) OK(MPI_Testall(2 * MANY, requests, &done, statuses));
    for (int i = 0; i < MANY; i++) check_status(&statuses[i], i);
    verify("Testall");
}

static void any(void) {
    int index, flag;
    MPI_Status status;
    post();
    for (int i = 0; i < 2 * MANY; i++) {
        OK(MPI_Waitany(2 * MANY, requests, &index, &status));
        CHECK(index >= 0 && index < 2 * MANY, "index %d", index);
        check_status(&status, index);
    }
    OK(MPI_Waitany(2 * MANY, requests, &index, &status));
    EQUAL(index, MPI_UNDEFINED);
    verify("Waitany");
    post();
    for (int completed = 0; completed < 2 * MANY;) {
        OK(MPI_Testany(2 * MANY, requests, &index, &flag, &status));
        if (!flag) continue;
        check_status(&status, index);
        completed++;
    }
    OK(MPI_Testany(2 * MANY, requests, &index, &flag, &status));
    EQUAL(flag, 1);
    EQUAL(index, MPI_UNDEFINED);
    verify("Testany");
}

static void some(int (*complete)(int, MPI_Request *, int *, int *, MPI_Status *), const char *how) {
    int indices[2 * MANY], seen[2 * MANY] = {0}, count;
    post();
    for (int completed = 0; completed < 2 * MANY; completed += count) {
        OK(complete(2 * MANY, requests, &count, indices, statuses));
        for (int i = 0; i < count; i++) {
            EQUAL(seen[indices[i]]++, 0);
            check_status(&statuses[i], indices[i]);
        }
    }
    OK(complete(2 * MANY, requests, &count, indices, statuses));
    EQUAL(count, MPI_UNDEFINED);
    verify(how);
}

// A look that does not complete, then the real thing; null requests; empty lists.
static void one_by_one(void) {
    int flag, count = -1;
    MPI_Status status;
    post();
    for (int i = 0; i < 2 * MANY; i++) {
        do OK(MPI_Request_get_status(requests[i], &flag, &status));
        while (!flag);
        CHECK(requests[i] != MPI_REQUEST_NULL, "get_status keeps the request");
        flag = 0;
        OK(MPI_Test(&requests[i], &flag, &status));
        EQUAL(flag, 1);
        check_status(&status, i);
    }
    verify("Test");
    OK(MPI_Test(&requests[0], &flag, &status));
    EQUAL(flag, 1);
    EQUAL(status.MPI_SOURCE, MPI_ANY_SOURCE);
    EQUAL(status.MPI_TAG, MPI_ANY_TAG);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    EQUAL(count, 0);
    OK(MPI_Waitall(0, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Testall(0, requests, &flag, MPI_STATUSES_IGNORE));
    EQUAL(flag, 1);
}

// A send whose request is freed still arrives.
static void freed(void) {
    int left = (rank + size - 1) % size, right = (rank + 1) % size, value = -1;
    MPI_Request request;
    OK(MPI_Isend(&rank, 1, MPI_INT, right, 77, MPI_COMM_WORLD, &request));
    OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL, "a freed request is null");
    OK(MPI_Recv(&value, 1, MPI_INT, left, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EQUAL(value, left);
}

// A handle that is kept of a request which has been freed is of no use, whatever its operation does.
static void kept(void) {
    int value = -1, flag = -1, index = -1;
    MPI_Request request, copy;
    OK(MPI_Irecv(&value, 1, MPI_INT, rank, 78, MPI_COMM_WORLD, &request));
    copy = request;
    OK(MPI_Request_free(&request));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MPI_Request two[] = {copy, MPI_REQUEST_NULL};
    FAILS(MPI_Wait(&copy, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Test(&copy, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Request_get_status(copy, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Waitall(2, two, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Testall(2, two, &flag, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Waitany(2, two, &index, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Testany(2, two, &index, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    OK(MPI_Send(&rank, 1, MPI_INT, rank, 78, MPI_COMM_WORLD));
    // The message still arrives where the freed request wanted it, as other calls poll.
    while (*(volatile int *)&value != rank) OK(MPI_Iprobe(rank, 79, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    all();
    any();
    some(MPI_Waitsome, "Waitsome");
    some(MPI_Testsome, "Testsome");
    one_by_one();
    freed();
    kept();
    return finish();
}
