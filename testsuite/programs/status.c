// ranks: 2
// What a status tells (MPI-5.0 §3.2.5, §5.1.11 on counts, §13.3 on setting them).
#include "check.h"

static int words[8];

static void counts(void) {
    MPI_Status status;
    int count = -1;
    MPI_Datatype pair;
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    if (rank == 0) {
        OK(MPI_Send(words, 3, MPI_INT, 1, 1, MPI_COMM_WORLD));
        OK(MPI_Send(words, 6, MPI_BYTE, 1, 2, MPI_COMM_WORLD));
        OK(MPI_Send(words, 0, MPI_INT, 1, 3, MPI_COMM_WORLD));
    } else {
        // Three words are one pair and a half: no whole count, three elements.
        OK(MPI_Recv(words, 4, pair, 0, 1, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, pair, &count));
        EQUAL(count, MPI_UNDEFINED);
        OK(MPI_Get_elements(&status, pair, &count));
        EQUAL(count, 3);
        OK(MPI_Get_count(&status, MPI_INT, &count));
        EQUAL(count, 3);
        MPI_Count large = -1;
        OK(MPI_Get_elements_x(&status, pair, &large));
        EQUAL(large, 3);
        OK(MPI_Recv(words, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_INT, &count));
        EQUAL(count, MPI_UNDEFINED);
        OK(MPI_Recv(words, 8, MPI_INT, 0, 3, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, pair, &count));
        EQUAL(count, 0);
    }
    OK(MPI_Type_free(&pair));
}

// A blocking receive leaves MPI_ERROR alone (§3.2.5).
static void error_field(void) {
    MPI_Status status;
    status.MPI_ERROR = 12345;
    if (rank == 0) {
        OK(MPI_Send(words, 1, MPI_INT, 1, 1, MPI_COMM_WORLD));
    } else {
        OK(MPI_Recv(words, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &status));
        EQUAL(status.MPI_ERROR, 12345);
    }
}

// The empty status has one (§3.7.3).
static void empty(void) {
    MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, inactive;
    MPI_Status status;
    int flag, index, word;
    OK(MPI_Recv_init(&word, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &inactive));
    for (int call = 0; call < 9; call++) {
        status.MPI_ERROR = 12345;
        switch (call) {
        case 0: OK(MPI_Wait(none, &status)); break;
        case 1: OK(MPI_Test(none, &flag, &status)); break;
        case 2: OK(MPI_Waitany(2, none, &index, &status)); break;
        case 3: OK(MPI_Testany(2, none, &index, &flag, &status)); break;
        case 4: OK(MPI_Request_get_status_any(2, none, &index, &flag, &status)); break;
        case 5: OK(MPI_Request_get_status(none[0], &flag, &status)); break;
        case 6: OK(MPI_Request_get_status(inactive, &flag, &status)); break;
        case 7: OK(MPI_Wait(&inactive, &status)); break;
        case 8: OK(MPI_Test(&inactive, &flag, &status)); break;
        }
        EQUAL(status.MPI_ERROR, MPI_SUCCESS);
        EQUAL(status.MPI_SOURCE, MPI_ANY_SOURCE);
    }
    // In an array each idle request gets it, and no other: the second is complete.
    MPI_Request three[3] = {inactive, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[3];
    for (int call = 0; call < 3; call++) {
        for (int i = 0; i < 3; i++) statuses[i].MPI_ERROR = 12345;
        OK(MPI_Irecv(&word, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &three[1]));
        switch (call) {
        case 0: OK(MPI_Waitall(3, three, statuses)); break;
        case 1: OK(MPI_Testall(3, three, &flag, statuses)); break;
        case 2:
            OK(MPI_Request_get_status_all(3, three, &flag, statuses));
            OK(MPI_Wait(&three[1], MPI_STATUS_IGNORE));
            break;
        }
        EQUAL(statuses[0].MPI_ERROR, MPI_SUCCESS);
        EQUAL(statuses[1].MPI_ERROR, 12345);
        EQUAL(statuses[2].MPI_ERROR, MPI_SUCCESS);
    }
    OK(MPI_Request_free(&inactive));
}

static void made_by_hand(void) {
    MPI_Status status;
    int count = -1, flag = -1, value = -1;
    memset(&status, 0, sizeof status);
    OK(MPI_Status_set_elements(&status, MPI_INT, 5));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    EQUAL(count, 5);
    OK(MPI_Status_set_elements_x(&status, MPI_DOUBLE, (MPI_Count)3 << 31));
    MPI_Count large = -1;
    OK(MPI_Get_elements_x(&status, MPI_DOUBLE, &large));
    EQUAL(large, (MPI_Count)3 << 31);
    OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
    EQUAL(count, MPI_UNDEFINED); // too large for an int
    OK(MPI_Status_set_cancelled(&status, 1));
    OK(MPI_Test_cancelled(&status, &flag));
    EQUAL(flag, 1);
    OK(MPI_Status_set_cancelled(&status, 0));
    OK(MPI_Test_cancelled(&status, &flag));
    EQUAL(flag, 0);
    OK(MPI_Status_set_source(&status, 3));
    OK(MPI_Status_set_tag(&status, 44));
    OK(MPI_Status_set_error(&status, MPI_ERR_OTHER));
    EQUAL(status.MPI_SOURCE, 3);
    OK(MPI_Status_get_source(&status, &value));
    EQUAL(value, 3);
    OK(MPI_Status_get_tag(&status, &value));
    EQUAL(value, 44);
    OK(MPI_Status_get_error(&status, &value));
    EQUAL(value, MPI_ERR_OTHER);

    // Each writes its own field alone, and any value is kept.
    OK(MPI_Status_set_error(&status, 12345));
    OK(MPI_Status_set_tag(&status, -2));
    OK(MPI_Status_set_elements(&status, MPI_INT, 5));
    OK(MPI_Status_set_cancelled(&status, 1));
    EQUAL(status.MPI_SOURCE, 3);
    EQUAL(status.MPI_TAG, -2);
    EQUAL(status.MPI_ERROR, 12345);
    OK(MPI_Status_get_error(&status, &value));
    EQUAL(value, 12345);
}

// The error field is written by a call that fails with MPI_ERR_IN_STATUS, and by no other (§3.2.5).
static void error_fields(void) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int one = 1, got = 0, flag = 0, count = 0, indices[2];
    for (int way = 0; way < 3; way++) {
        statuses[0].MPI_ERROR = statuses[1].MPI_ERROR = 42;
        OK(MPI_Irecv(&got, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Isend(&one, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &requests[1]));
        if (way == 0) OK(MPI_Waitall(2, requests, statuses));
        for (flag = 0; way == 1 && !flag;) OK(MPI_Testall(2, requests, &flag, statuses));
        for (int done = 0; way == 2 && done < 2; done += count)
            OK(MPI_Waitsome(2, requests, &count, indices, statuses));
        EQUAL(statuses[0].MPI_ERROR, 42);
        EQUAL(statuses[1].MPI_ERROR, 42);
    }
}

// What the query function of a generalized request answers.
static int answer;

static int query(void *extra, MPI_Status *status) {
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 1);
    MPI_Status_set_cancelled(status, 0);
    return answer;
}
static int forget(void *extra) { return extra != NULL; }
static int cancel(void *extra, int complete) { return extra != NULL && complete; }

// The functions of a generalized request are asked while the statuses are written already.
static void error_fields_of_generalized(void) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int one = 1, got = 0, flag = 0, count = 0, indices[2];
    for (answer = MPI_SUCCESS;; answer = MPI_ERR_OTHER) {
        OK(MPI_Send(&one, 1, MPI_INT, rank, 6, MPI_COMM_WORLD));
        OK(MPI_Irecv(&got, 1, MPI_INT, rank, 6, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Grequest_start(query, forget, cancel, NULL, &requests[1]));
        OK(MPI_Grequest_complete(requests[1]));
        statuses[0].MPI_ERROR = statuses[1].MPI_ERROR = 42;
        if (answer != MPI_SUCCESS) break;
        for (flag = 0; !flag;) OK(MPI_Request_get_status_all(2, requests, &flag, statuses));
        OK(MPI_Request_get_status_some(2, requests, &count, indices, statuses));
        EQUAL(statuses[0].MPI_ERROR, 42);
        OK(MPI_Waitall(2, requests, statuses));
        EQUAL(statuses[0].MPI_ERROR, 42);
        EQUAL(statuses[1].MPI_ERROR, 42);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    EQUAL(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    EQUAL(statuses[0].MPI_ERROR, MPI_SUCCESS);
    EQUAL(statuses[1].MPI_ERROR, MPI_ERR_OTHER);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    counts();
    error_field();
    empty();
    made_by_hand();
    error_fields();
    error_fields_of_generalized();
    return finish();
}
