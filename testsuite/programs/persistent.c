// ranks: 1 2 4
// Persistent requests: made once, started many times (MPI-5.0 §3.9).
#include "check.h"

enum { MODES = 4, WORDS = 5000, ROUNDS = 20 };

typedef int init_function(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static init_function *const inits[MODES] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init,
                                            MPI_Rsend_init};

static int in[MODES][WORDS], out[MODES][WORDS];
static MPI_Request receives[MODES], sends[MODES];

static void one_round(int turn, int left, int right) {
    int token;
    for (int mode = 0; mode < MODES; mode++)
        for (int i = 0; i < WORDS; i++) {
            out[mode][i] = rank * 7919 + turn * 31 + mode + i;
            in[mode][i] = -1;
        }
    OK(MPI_Startall(MODES, receives));
    // All receives are posted before anybody sends: ready mode needs it.
    OK(MPI_Sendrecv(&turn, 1, MPI_INT, left, 50, &token, 1, MPI_INT, right, 50, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    if (turn % 2) {
        OK(MPI_Startall(MODES, sends));
    } else {
        for (int mode = 0; mode < MODES; mode++) OK(MPI_Start(&sends[mode]));
    }
    MPI_Status statuses[MODES];
    OK(MPI_Waitall(MODES, sends, MPI_STATUSES_IGNORE));
    OK(MPI_Waitall(MODES, receives, statuses));
    for (int mode = 0; mode < MODES; mode++) {
        int count = -1;
        OK(MPI_Get_count(&statuses[mode], MPI_INT, &count));
        EQUAL(count, WORDS);
        EQUAL(statuses[mode].MPI_TAG, mode);
        CHECK(receives[mode] != MPI_REQUEST_NULL, "a persistent request stays");
        for (int i = 0; i < WORDS; i++)
            CHECK(in[mode][i] == left * 7919 + turn * 31 + mode + i, "mode %d word %d", mode, i);
    }
}

// Waiting for an inactive request returns at once, with an empty status.
static void inactive(MPI_Request *request) {
    MPI_Status status;
    int flag = 0, count = -1, index = 0;
    OK(MPI_Wait(request, &status));
    EQUAL(status.MPI_SOURCE, MPI_ANY_SOURCE);
    EQUAL(status.MPI_TAG, MPI_ANY_TAG);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    EQUAL(count, 0);
    OK(MPI_Test(request, &flag, &status));
    EQUAL(flag, 1);
    OK(MPI_Waitany(1, request, &index, &status));
    EQUAL(index, MPI_UNDEFINED);
}

// Arrays of all kinds: no request, an inactive one, one with a round, one that goes away.
static void mixed(int left, int right) {
    enum { NONE, IDLE, ROUND, ONCE, ALL };
    MPI_Request requests[ALL] = {MPI_REQUEST_NULL};
    MPI_Status statuses[ALL];
    int to[2], from[2], flag;
    OK(MPI_Recv_init(&to[0], 1, MPI_INT, left, 70, MPI_COMM_WORLD, &requests[IDLE]));
    OK(MPI_Recv_init(&to[0], 1, MPI_INT, left, 71, MPI_COMM_WORLD, &requests[ROUND]));
    for (int turn = 0; turn < 6; turn++) {
        OK(MPI_Start(&requests[ROUND]));
        OK(MPI_Irecv(&to[1], 1, MPI_INT, left, 72, MPI_COMM_WORLD, &requests[ONCE]));
        from[0] = 100 * rank + turn;
        from[1] = -from[0];
        OK(MPI_Send(&from[1], 1, MPI_INT, right, 72, MPI_COMM_WORLD));
        OK(MPI_Send(&from[0], 1, MPI_INT, right, 71, MPI_COMM_WORLD));
        for (flag = 0; turn % 3 == 1 && !flag;) {
            OK(MPI_Testall(ALL, requests, &flag, statuses));
            CHECK(flag || requests[ONCE] != MPI_REQUEST_NULL, "reported before all had come");
        }
        for (flag = 0; turn % 3 == 2 && !flag;)
            OK(MPI_Test(&requests[ROUND], &flag, &statuses[ROUND]));
        if (turn % 3 == 2) OK(MPI_Waitall(ALL, requests, MPI_STATUSES_IGNORE));
        if (turn % 3 == 0) OK(MPI_Waitall(ALL, requests, statuses));
        EQUAL(to[0], 100 * left + turn);
        EQUAL(to[1], -100 * left - turn);
        EQUAL(statuses[ROUND].MPI_SOURCE, left);
        EQUAL(statuses[ROUND].MPI_TAG, 71);
        if (turn % 3 < 2) EQUAL(statuses[ONCE].MPI_TAG, 72);
        if (turn % 3 < 2) EQUAL(statuses[NONE].MPI_SOURCE, MPI_ANY_SOURCE);
        if (turn % 3 < 2) EQUAL(statuses[IDLE].MPI_TAG, MPI_ANY_TAG);
        CHECK(requests[ONCE] == MPI_REQUEST_NULL, "a request that is over stays");
        CHECK(requests[IDLE] != MPI_REQUEST_NULL, "a persistent request went away");
        CHECK(requests[ROUND] != MPI_REQUEST_NULL, "a persistent request went away");
    }
    OK(MPI_Request_free(&requests[IDLE]));
    OK(MPI_Request_free(&requests[ROUND]));
}

// A request goes on with a datatype that the program has freed, and so do its later rounds.
static void freed_type(int left, int right) {
    MPI_Datatype type;
    MPI_Request both[2];
    int from[6] = {0}, to[6] = {0};
    OK(MPI_Type_vector(3, 1, 2, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Send_init(from, 1, type, right, 60, MPI_COMM_WORLD, &both[0]));
    OK(MPI_Recv_init(to, 1, type, left, 60, MPI_COMM_WORLD, &both[1]));
    OK(MPI_Type_free(&type));
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 3; i++) from[2 * i] = 10 * turn + i + rank;
        OK(MPI_Startall(2, both));
        OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 3; i++) EQUAL(to[2 * i], 10 * turn + i + left);
        for (int i = 0; i < 3; i++) EQUAL(to[2 * i + 1], 0);
    }
    OK(MPI_Request_free(&both[0]));
    OK(MPI_Request_free(&both[1]));
}

// A request can be started when its communicator has been freed, since it holds it (§7.4.3), also when another one
// has got its handle. Messages of the two do not get mixed up.
static void freed_comm(int left, int right) {
    MPI_Comm comms[2];
    MPI_Request receiving[2][MODES], sending[2][MODES];
    int from[2], to[2][MODES];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
    for (int turn = 0; turn < 4; turn++) {
        int known = turn ? 2 : 1;
        if (turn < 2)
            for (int mode = 0; mode < MODES; mode++) {
                OK(inits[mode](&from[turn], 1, MPI_INT, right, mode, comms[turn], &sending[turn][mode]));
                OK(MPI_Recv_init(&to[turn][mode], 1, MPI_INT, left, mode, comms[turn],
                                 &receiving[turn][mode]));
            }
        for (int i = known - 1; i >= 0; i--) OK(MPI_Startall(MODES, receiving[i]));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        for (int i = 0; i < known; i++) {
            from[i] = 100 * rank + 10 * turn + i;
            OK(MPI_Startall(MODES, sending[i]));
        }
        // The last time it is freed while they are under way.
        if (turn == 2) OK(MPI_Comm_free(&comms[1]));
        for (int i = 0; i < known; i++) {
            OK(MPI_Waitall(MODES, sending[i], MPI_STATUSES_IGNORE));
            OK(MPI_Waitall(MODES, receiving[i], MPI_STATUSES_IGNORE));
            for (int mode = 0; mode < MODES; mode++) EQUAL(to[i][mode], 100 * left + 10 * turn + i);
        }
        if (turn == 0) {
            OK(MPI_Comm_free(&comms[0]));
            OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
        }
    }
    for (int mode = 0; mode < MODES; mode++)
        for (int i = 0; i < 2; i++) {
            OK(MPI_Request_free(&sending[i][mode]));
            OK(MPI_Request_free(&receiving[i][mode]));
        }
}

// Its error handler goes on hearing of what fails.
static int heard;

static void hear(MPI_Comm *comm, int *code, ...) {
    int place = -1;
    OK(MPI_Comm_rank(*comm, &place));
    EQUAL(place, rank);
    FAILS(*code, MPI_ERR_TRUNCATE);
    heard++;
}

static void freed_handler(int left, int right) {
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Request receive, send;
    int from[2] = {0}, to;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_errhandler(hear, &handler));
    OK(MPI_Comm_set_errhandler(comm, handler));
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Recv_init(&to, 1, MPI_INT, left, 0, comm, &receive));
    OK(MPI_Send_init(from, 2, MPI_INT, right, 0, comm, &send));
    OK(MPI_Comm_free(&comm));
    for (int turn = 1; turn <= 2; turn++) {
        OK(MPI_Start(&receive));
        OK(MPI_Start(&send));
        (void)MPI_Wait(&receive, MPI_STATUS_IGNORE);
        OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        EQUAL(heard, turn);
    }
    OK(MPI_Request_free(&receive));
    OK(MPI_Request_free(&send));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int room = 4 * (int)sizeof out[0] + 4 * MPI_BSEND_OVERHEAD;
    void *attached = malloc((size_t)room);
    OK(MPI_Buffer_attach(attached, room));
    for (int mode = 0; mode < MODES; mode++) {
        OK(inits[mode](out[mode], WORDS, MPI_INT, right, mode, MPI_COMM_WORLD, &sends[mode]));
        OK(MPI_Recv_init(in[mode], WORDS, MPI_INT, left, mode, MPI_COMM_WORLD, &receives[mode]));
    }
    inactive(&sends[0]);
    inactive(&receives[0]);
    for (int turn = 0; turn < ROUNDS; turn++) one_round(turn, left, right);
    inactive(&receives[1]);
    mixed(left, right);
    freed_type(left, right);
    freed_comm(left, right);
    freed_handler(left, right);
    for (int mode = 0; mode < MODES; mode++) {
        OK(MPI_Request_free(&sends[mode]));
        OK(MPI_Request_free(&receives[mode]));
        CHECK(sends[mode] == MPI_REQUEST_NULL, "a freed request is null");
    }
    OK(MPI_Buffer_detach(&attached, &room));
    free(attached);
    return finish();
}
