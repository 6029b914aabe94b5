// ranks: 1 2 4
// Partitioned communication (MPI-5.0 chapter 4): one message whose parts leave as they become ready.
#include "check.h"

enum { PARTS = 12, WORDS = 24 * 1000, ROUNDS = 5 };

static int in[WORDS], out[WORDS];

static int word(int from, int turn, int place) { return from * 7919 + turn * 31 + place; }

static void write_part(int turn, int part, int parts) {
    int each = WORDS / parts;
    for (int i = part * each; i < (part + 1) * each; i++) out[i] = word(rank, turn, i);
}

static void check_part(int from, int turn, int part, int parts) {
    int each = WORDS / parts;
    for (int i = part * each; i < (part + 1) * each; i++)
        CHECK(in[i] == word(from, turn, i), "round %d, part %d, word %d is %d", turn, part, i, in[i]);
}

// Makes all partitions ready, by the three calls in turn.
static void ready_all(int turn, MPI_Request send) {
    int list[PARTS];
    memset(out, 0x55, sizeof out);
    if (turn % 3 == 0) {
        for (int part = PARTS - 1; part >= 0; part--) {
            write_part(turn, part, PARTS);
            OK(MPI_Pready(part, send));
        }
    } else if (turn % 3 == 1) {
        for (int part = 0; part < PARTS; part += 4) {
            for (int i = part; i < part + 4; i++) write_part(turn, i, PARTS);
            OK(MPI_Pready_range(part, part + 3, send));
        }
        OK(MPI_Pready_range(PARTS - 1, 0, send));
    } else {
        for (int part = 0; part < PARTS; part++) write_part(turn, list[part] = part * 5 % PARTS, PARTS);
        OK(MPI_Pready_list(PARTS / 3, list, send));
        OK(MPI_Pready_list(0, list, send));
        OK(MPI_Pready_list(PARTS - PARTS / 3, list + PARTS / 3, send));
    }
}

// Rounds between neighbours in a ring whose partitions are others at either end.
static void rounds(int parts, int left, int right) {
    MPI_Request both[2];
    OK(MPI_Psend_init(out, PARTS, WORDS / PARTS, MPI_INT, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]));
    OK(MPI_Precv_init(in, parts, WORDS / parts, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]));
    for (int turn = 0; turn < ROUNDS; turn++) {
        int flag = 0, count = -1;
        MPI_Status statuses[2];
        // What has not been started has arrived, by the standard.
        OK(MPI_Parrived(both[1], parts - 1, &flag));
        EQUAL(flag, 1);
        memset(in, 0xee, sizeof in);
        OK(MPI_Startall(2, both));
        ready_all(turn, both[0]);
        if (turn % 2)
            for (int part = 0; part < parts; part++) {
                for (flag = 0; !flag;) OK(MPI_Parrived(both[1], part, &flag));
                check_part(left, turn, part, parts);
            }
        if (turn == 3) {
            for (flag = 0; !flag;) OK(MPI_Request_get_status(both[1], &flag, &statuses[1]));
            for (flag = 0; !flag;) OK(MPI_Testall(2, both, &flag, statuses));
        } else if (turn == 4) {
            int indices[2], done;
            for (int all = 0; all < 2; all += done) OK(MPI_Waitsome(2, both, &done, indices, statuses));
            OK(MPI_Waitsome(2, both, &done, indices, statuses));
            EQUAL(done, MPI_UNDEFINED);
        } else {
            OK(MPI_Waitall(2, both, statuses));
        }
        if (turn != 4) {
            EQUAL(statuses[1].MPI_SOURCE, left);
            EQUAL(statuses[1].MPI_TAG, 3);
            OK(MPI_Get_count(&statuses[1], MPI_INT, &count));
            EQUAL(count, WORDS);
        }
        for (int part = 0; part < parts; part++) check_part(left, turn, part, parts);
    }
    OK(MPI_Request_free(&both[0]));
    OK(MPI_Request_free(&both[1]));
    CHECK(both[0] == MPI_REQUEST_NULL && both[1] == MPI_REQUEST_NULL, "freed requests are null");
}

// Ordinary and partitioned messages of one tag do not match, and partitioned ones do in the order of their making,
// whatever the order in which they are started.
static void order(int left, int right) {
    MPI_Request sends[2], receives[2], ordinary;
    int from[2][4], to[2][4] = {{0}}, word_in = 0, word_out = rank;
    OK(MPI_Irecv(&word_in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &ordinary));
    for (int i = 0; i < 2; i++) {
        OK(MPI_Psend_init(from[i], 2, 2, MPI_INT, right, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[i]));
        OK(MPI_Precv_init(to[i], 1, 4, MPI_INT, left, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[i]));
        for (int k = 0; k < 4; k++) from[i][k] = 100 * rank + 10 * i + k;
    }
    for (int i = 1; i >= 0; i--) {
        OK(MPI_Start(&sends[i]));
        OK(MPI_Pready_range(0, 1, sends[i]));
        OK(MPI_Start(&receives[i]));
    }
    OK(MPI_Waitall(2, receives, MPI_STATUSES_IGNORE));
    OK(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 8; i++) EQUAL(to[i / 4][i % 4], 100 * left + 10 * (i / 4) + i % 4);
    OK(MPI_Send(&word_out, 1, MPI_INT, right, 8, MPI_COMM_WORLD));
    OK(MPI_Wait(&ordinary, MPI_STATUS_IGNORE));
    EQUAL(word_in, left);
    for (int i = 0; i < 2; i++) {
        OK(MPI_Request_free(&sends[i]));
        OK(MPI_Request_free(&receives[i]));
    }
}

// A receiver that starts late gets the rounds in their order, also on a communicator that has been freed and with a
// datatype that has been.
static void late(int left, int right) {
    MPI_Comm comm;
    MPI_Datatype every_second;
    MPI_Request send, receive;
    int from[8], to[8];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &every_second));
    OK(MPI_Type_create_resized(every_second, 0, 4 * sizeof(int), &every_second));
    OK(MPI_Type_commit(&every_second));
    OK(MPI_Psend_init(from, 2, 1, every_second, right, 0, comm, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(to, 4, 1, MPI_INT, left, 0, comm, MPI_INFO_NULL, &receive));
    OK(MPI_Type_free(&every_second));
    OK(MPI_Comm_free(&comm));
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < 8; i++) from[i] = 100 * turn + i;
        OK(MPI_Start(&send));
        OK(MPI_Pready(1, send));
        OK(MPI_Pready(0, send));
        OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    }
    for (int turn = 0; turn < 4; turn++) {
        OK(MPI_Start(&receive));
        OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
        for (int i = 0; i < 4; i++) EQUAL(to[i], 100 * turn + 2 * i);
    }
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
}

// Nobody, no partitions, no bytes, and both ends of one process.
static void nothing(void) {
    MPI_Request nobody[2], none[2], both[2];
    int words[4] = {1, 2, 3, 4}, to[4] = {0}, flag;
    MPI_Status status;
    OK(MPI_Psend_init(words, 2, 2, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &nobody[0]));
    OK(MPI_Precv_init(to, 4, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &nobody[1]));
    OK(MPI_Psend_init(words, 0, 2, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &none[0]));
    OK(MPI_Precv_init(to, 4, 0, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &none[1]));
    OK(MPI_Psend_init(words, 4, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_ENV, &both[0]));
    OK(MPI_Precv_init(to, 2, 2, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, &both[1]));
    for (int turn = 0; turn < 2; turn++) {
        OK(MPI_Startall(2, nobody));
        OK(MPI_Parrived(nobody[1], 3, &flag));
        EQUAL(flag, 1);
        OK(MPI_Wait(&nobody[1], &status));
        EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
        OK(MPI_Pready_range(0, 1, nobody[0]));
        OK(MPI_Wait(&nobody[0], MPI_STATUS_IGNORE));
        OK(MPI_Startall(2, none));
        OK(MPI_Waitall(2, none, MPI_STATUSES_IGNORE));
        words[0] = turn;
        OK(MPI_Startall(2, both));
        OK(MPI_Parrived(both[1], 0, &flag));
        EQUAL(flag, 0);
        OK(MPI_Pready_range(0, 3, both[0]));
        OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
        EQUAL(to[0], turn);
        EQUAL(to[3], 4);
    }
    for (int i = 0; i < 2; i++) {
        OK(MPI_Request_free(&nobody[i]));
        OK(MPI_Request_free(&none[i]));
        OK(MPI_Request_free(&both[i]));
    }
}

// Long partitions leave one by one: before the last is ready, all others have arrived.
static void one_by_one(void) {
    enum { LONG_PARTS = 8, LONG = 128 << 10 };
    MPI_Request request;
    int other = 1 - rank, flag, word_in;
    if (rank > 1 || size < 2) return;
    char *bytes = malloc(LONG_PARTS * LONG);
    if (rank == 0)
        OK(MPI_Psend_init(bytes, LONG_PARTS, LONG, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    if (rank == 1)
        OK(MPI_Precv_init(bytes, LONG_PARTS, LONG, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    for (int part = 0; part < LONG_PARTS; part++) {
        if (rank == 0) {
            fill(bytes + part * LONG, LONG, part);
            OK(MPI_Pready(part, request));
            if (part == LONG_PARTS - 2) {
                OK(MPI_Recv(&word_in, 1, MPI_INT, other, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                EQUAL(word_in, part);
            }
        } else if (part < LONG_PARTS - 1) {
            for (flag = 0; !flag;) OK(MPI_Parrived(request, part, &flag));
            CHECK(bytes[part * LONG + 77] == (char)byte_at(part, 77), "part %d has no bytes", part);
            OK(MPI_Parrived(request, LONG_PARTS - 1, &flag));
            EQUAL(flag, 0);
            if (part == LONG_PARTS - 2) OK(MPI_Send(&part, 1, MPI_INT, other, 9, MPI_COMM_WORLD));
        }
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
    free(bytes);
}

static void mistakes(void) {
    MPI_Request send, receive, copy, made;
    int from[4] = {0}, to[4], flag, list[2] = {0, 4}, code;
    MPI_Comm comm;
    char text[MPI_MAX_ERROR_STRING];
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Psend_init(from, 4, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(to, 2, 2, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &receive));
    FAILS(MPI_Psend_init(from, -1, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &made), MPI_ERR_ARG);
    FAILS(MPI_Psend_init(from, 1, -1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &made), MPI_ERR_COUNT);
    FAILS(MPI_Psend_init(NULL, 1, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &made), MPI_ERR_BUFFER);
    FAILS(MPI_Psend_init(from, 1, 1, MPI_DATATYPE_NULL, 0, 0, comm, MPI_INFO_NULL, &made), MPI_ERR_TYPE);
    FAILS(MPI_Precv_init(to, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_INFO_NULL, &made), MPI_ERR_RANK);
    FAILS(MPI_Precv_init(to, 1, 1, MPI_INT, 0, MPI_ANY_TAG, comm, MPI_INFO_NULL, &made), MPI_ERR_TAG);
    FAILS(MPI_Pready(0, send), MPI_ERR_REQUEST);
    OK(MPI_Start(&send));
    OK(MPI_Start(&receive));
    FAILS(MPI_Pready(4, send), MPI_ERR_ARG);
    FAILS(MPI_Pready(-1, send), MPI_ERR_ARG);
    FAILS(MPI_Pready_range(2, 4, send), MPI_ERR_ARG);
    FAILS(MPI_Pready(0, receive), MPI_ERR_REQUEST);
    FAILS(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST);
    FAILS(MPI_Parrived(receive, 2, &flag), MPI_ERR_ARG);
    FAILS(MPI_Pready_list(2, list, send), MPI_ERR_ARG);
    OK(MPI_Pready(0, send));
    code = MPI_Pready(0, send);
    OK(MPI_Error_string(code, text, &flag));
    CHECK(strstr(text, "partition 0") && strstr(text, "rank 0 with tag 0"), "%s", text);
    copy = send;
    FAILS(MPI_Request_free(&copy), MPI_ERR_REQUEST);
    FAILS(MPI_Cancel(&copy), MPI_ERR_REQUEST);
    FAILS(MPI_Start(&copy), MPI_ERR_REQUEST);
    OK(MPI_Pready_range(1, 3, send));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
    // Sums that differ are told where they are received.
    for (int longer = 0; longer < 2; longer++) {
        OK(MPI_Psend_init(from, 2, 1 + longer, MPI_INT, 0, 1, comm, MPI_INFO_NULL, &send));
        OK(MPI_Precv_init(to, 1, 3, MPI_INT, 0, 1, comm, MPI_INFO_NULL, &receive));
        OK(MPI_Start(&send));
        OK(MPI_Start(&receive));
        OK(MPI_Pready_range(0, 1, send));
        FAILS(MPI_Wait(&receive, MPI_STATUS_IGNORE), longer ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT);
        OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        OK(MPI_Request_free(&send));
        OK(MPI_Request_free(&receive));
    }
    // What is not partitioned.
    OK(MPI_Send_init(from, 1, MPI_INT, 0, 0, comm, &made));
    FAILS(MPI_Pready(0, made), MPI_ERR_REQUEST);
    FAILS(MPI_Parrived(made, 0, &flag), MPI_ERR_REQUEST);
    OK(MPI_Request_free(&made));
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    rounds(PARTS, left, right);
    rounds(1, left, right);
    rounds(8, left, right);
    rounds(1000, left, right);
    order(left, right);
    late(left, right);
    nothing();
    one_by_one();
    mistakes();
    return finish();
}
