// ranks: 1 2 4
// Persistent collectives: initialised once, started many times (MPI-5.0 §6.13).
#include "check.h"

enum { RANKS = 8, COUNT = 200, KINDS = 11, ROUNDS = 15 };

static int out[KINDS][RANKS * COUNT], in[KINDS][RANKS * COUNT], counts[RANKS], places[RANKS];

static int word(int from, int turn, int i) {
    return 1000003 * from + 7919 * turn + i;
}

static int initialise(MPI_Comm comm, MPI_Request *r) {
    MPI_Info none = MPI_INFO_NULL;
    int n = 0;
    OK(MPI_Bcast_init(out[0], COUNT, MPI_INT, 0, comm, none, &r[n++]));
    OK(MPI_Gather_init(out[1], COUNT, MPI_INT, in[1], COUNT, MPI_INT, 0, comm, none, &r[n++]));
    OK(MPI_Scatter_init(out[2], COUNT, MPI_INT, in[2], COUNT, MPI_INT, 0, comm, none, &r[n++]));
    OK(MPI_Allgather_init(out[3], COUNT, MPI_INT, in[3], COUNT, MPI_INT, comm, none, &r[n++]));
    OK(MPI_Alltoall_init(out[4], COUNT, MPI_INT, in[4], COUNT, MPI_INT, comm, none, &r[n++]));
    OK(MPI_Alltoallv_init(out[5], counts, places, MPI_INT, in[5], counts, places, MPI_INT, comm,
                          none, &r[n++]));
    OK(MPI_Reduce_init(out[6], in[6], COUNT, MPI_INT, MPI_MIN, 0, comm, none, &r[n++]));
    OK(MPI_Allreduce_init(out[7], in[7], COUNT, MPI_INT, MPI_MAX, comm, none, &r[n++]));
    OK(MPI_Scan_init(out[8], in[8], COUNT, MPI_INT, MPI_MAX, comm, none, &r[n++]));
    OK(MPI_Exscan_init(out[9], in[9], COUNT, MPI_INT, MPI_MAX, comm, none, &r[n++]));
    OK(MPI_Reduce_scatter_block_init(out[10], in[10], COUNT, MPI_INT, MPI_MAX, comm, none, &r[n++]));
    OK(MPI_Barrier_init(comm, none, &r[n++]));
    return n;
}

static void fill_in(int turn) {
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < size * COUNT; i++) {
            out[kind][i] = word(rank, turn, i);
            in[kind][i] = -1;
        }
}

static void verify(int turn) {
    for (int i = 0; i < COUNT; i++) {
        EQUAL(out[0][i], word(0, turn, i));
        EQUAL(in[2][i], word(0, turn, rank * COUNT + i));
        if (rank == 0) EQUAL(in[6][i], word(0, turn, i));
        EQUAL(in[7][i], word(size - 1, turn, i));
        EQUAL(in[8][i], word(rank, turn, i));
        if (rank > 0) EQUAL(in[9][i], word(rank - 1, turn, i));
        EQUAL(in[10][i], word(size - 1, turn, rank * COUNT + i));
        for (int from = 0; from < size; from++) {
            int place = from * COUNT + i;
            if (rank == 0) EQUAL(in[1][place], word(from, turn, i));
            EQUAL(in[3][place], word(from, turn, i));
            EQUAL(in[4][place], word(from, turn, rank * COUNT + i));
            EQUAL(in[5][place], word(from, turn, rank * COUNT + i));
        }
    }
}

static void rounds(int n, MPI_Request *requests) {
    for (int turn = 0; turn < ROUNDS; turn++) {
        fill_in(turn);
        OK(MPI_Startall(n, requests));
        OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
        verify(turn);
        for (int i = 0; i < n; i++)
            CHECK(requests[i] != MPI_REQUEST_NULL, "request %d stays for the next round", i);
    }
    for (int i = 0; i < n; i++) OK(MPI_Request_free(&requests[i]));
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *length; i++) ((int *)inout)[i] += ((int *)in)[i];
}

// Requests hold their communicator: they can be started when the program has freed it (§7.4.3), be they more or
// less usual ones.
static void freed(void) {
    MPI_Request requests[KINDS + 1], unusual[2];
    MPI_Comm comm, cart;
    MPI_Op own;
    int periodic = 1, mine[2] = {2 * rank, 2 * rank + 1}, theirs[2], sum;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &cart));
    OK(MPI_Op_create(add, 1, &own));
    int n = initialise(comm, requests);
    OK(MPI_Allreduce_init(mine, &sum, 1, MPI_INT, own, comm, MPI_INFO_NULL, &unusual[0]));
    OK(MPI_Neighbor_alltoall_init(mine, 1, MPI_INT, theirs, 1, MPI_INT, cart, MPI_INFO_NULL,
                                  &unusual[1]));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free(&cart));
    for (int turn = 0; turn < 3; turn++) {
        int left = (rank + size - 1) % size, right = (rank + 1) % size;
        sum = theirs[0] = theirs[1] = -1;
        OK(MPI_Startall(2, unusual));
        OK(MPI_Waitall(2, unusual, MPI_STATUSES_IGNORE));
        EQUAL(sum, size * (size - 1));
        EQUAL(theirs[0], 2 * left + 1);
        EQUAL(theirs[1], 2 * right);
    }
    for (int i = 0; i < 2; i++) OK(MPI_Request_free(&unusual[i]));
    OK(MPI_Op_free(&own));
    rounds(n, requests);
}

// The request of one that is active cannot be freed, be it in a room of its own or not (§6.13), and is as it was.
static void not_freed(void) {
    MPI_Request requests[2];
    MPI_Comm comm;
    int token = 0, sum, periodic = 1, mine[2] = {rank, rank}, theirs[2];
    if (size == 1) return;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Neighbor_alltoall_init(mine, 1, MPI_INT, theirs, 1, MPI_INT, comm, MPI_INFO_NULL, &requests[1]));
    for (int turn = 0; turn < 3; turn++) {
        sum = theirs[0] = -1;
        if (rank > 0)
            OK(MPI_Recv(&token, 1, MPI_INT, rank - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Startall(2, requests));
        for (int i = 0; i < 2 && rank == 0; i++) {
            MPI_Request before = requests[i];
            FAILS(MPI_Request_free(&requests[i]), MPI_ERR_REQUEST);
            CHECK(requests[i] == before, "a request that was not freed stays");
        }
        if (rank < size - 1) OK(MPI_Send(&token, 1, MPI_INT, rank + 1, 7, MPI_COMM_WORLD));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        EQUAL(sum, size * (size - 1) / 2);
        EQUAL(theirs[0], (rank + size - 1) % size);
    }
    for (int i = 0; i < 2; i++) OK(MPI_Request_free(&requests[i]));
    OK(MPI_Comm_free(&comm));
}

// All others are started where one cannot be (§3.9).
static void started_beside(void) {
    MPI_Request requests[3];
    MPI_Comm comm;
    int sums[2] = {-1, -1}, token = rank, got = -1;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int i = 0; i < 2; i++)
        OK(MPI_Allreduce_init(&rank, &sums[i], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[2 * i]));
    OK(MPI_Irecv(&got, 1, MPI_INT, rank, 8, comm, &requests[1]));
    FAILS(MPI_Startall(3, requests), MPI_ERR_REQUEST);
    OK(MPI_Send(&token, 1, MPI_INT, rank, 8, comm));
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    EQUAL(got, rank);
    for (int i = 0; i < 2; i++) {
        EQUAL(sums[i], size * (size - 1) / 2);
        OK(MPI_Request_free(&requests[2 * i]));
    }
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Request requests[KINDS + 1];
    for (int r = 0; r < size; r++) {
        counts[r] = COUNT;
        places[r] = r * COUNT;
    }
    int n = initialise(MPI_COMM_WORLD, requests);
    rounds(n, requests);
    freed();
    not_freed();
    started_beside();
    return finish();
}
