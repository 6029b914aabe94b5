// ranks: 1 2 3 4 8
// Nonblocking collectives, many at once, completed in another order (MPI-5.0 §6.12).
#include "check.h"

enum { RANKS = 8, COUNT = 500, KINDS = 15 };

static int out[KINDS][RANKS * COUNT], in[KINDS][RANKS * COUNT];
static int counts[RANKS], places[RANKS];
static MPI_Datatype types[RANKS];
static int byte_places[RANKS];

static int word(int from, int i) {
    return 100003 * from + i;
}

static void prepare(int root) {
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < size * COUNT; i++) {
            out[kind][i] = word(rank, i);
            in[kind][i] = -1;
        }
    for (int i = 0; i < COUNT; i++) in[0][i] = rank == root ? word(root, i) : -1;
    for (int r = 0; r < size; r++) {
        counts[r] = COUNT - r;
        places[r] = r * COUNT;
        byte_places[r] = places[r] * (int)sizeof(int);
        types[r] = MPI_INT;
    }
}

// Starts everything; all ranks in the same order, as the standard asks.
static int start_all(int root, MPI_Comm comm, MPI_Request *r) {
    int n = 0;
    OK(MPI_Ibcast(in[0], COUNT, MPI_INT, root, comm, &r[n++]));
    OK(MPI_Igather(out[1], COUNT, MPI_INT, in[1], COUNT, MPI_INT, root, comm, &r[n++]));
    OK(MPI_Igatherv(out[2], counts[rank], MPI_INT, in[2], counts, places, MPI_INT, root, comm,
                    &r[n++]));
    OK(MPI_Iscatter(out[3], COUNT, MPI_INT, in[3], COUNT, MPI_INT, root, comm, &r[n++]));
    OK(MPI_Iscatterv(out[4], counts, places, MPI_INT, in[4], counts[rank], MPI_INT, root, comm,
                     &r[n++]));
    OK(MPI_Iallgather(out[5], COUNT, MPI_INT, in[5], COUNT, MPI_INT, comm, &r[n++]));
    OK(MPI_Iallgatherv(out[6], counts[rank], MPI_INT, in[6], counts, places, MPI_INT, comm,
                       &r[n++]));
    OK(MPI_Ialltoall(out[7], COUNT, MPI_INT, in[7], COUNT, MPI_INT, comm, &r[n++]));
    int same[RANKS];
    for (int i = 0; i < size; i++) same[i] = COUNT / 2;
    OK(MPI_Ialltoallv(out[8], same, places, MPI_INT, in[8], same, places, MPI_INT, comm, &r[n++]));
    OK(MPI_Wait(&r[n - 1], MPI_STATUS_IGNORE)); // `same` goes out of scope
    OK(MPI_Ireduce(out[9], in[9], COUNT, MPI_INT, MPI_MAX, root, comm, &r[n++]));
    OK(MPI_Iallreduce(out[10], in[10], COUNT, MPI_INT, MPI_MIN, comm, &r[n++]));
    OK(MPI_Ireduce_scatter_block(out[11], in[11], COUNT, MPI_INT, MPI_MAX, comm, &r[n++]));
    OK(MPI_Ireduce_scatter(out[12], in[12], counts, MPI_INT, MPI_MAX, comm, &r[n++]));
    OK(MPI_Iscan(out[13], in[13], COUNT, MPI_INT, MPI_MAX, comm, &r[n++]));
    OK(MPI_Iexscan(out[14], in[14], COUNT, MPI_INT, MPI_MAX, comm, &r[n++]));
    OK(MPI_Ibarrier(comm, &r[n++]));
    return n;
}

static void parts(int kind, int per_rank, int uneven, int shift) {
    for (int from = 0; from < size; from++)
        for (int i = 0; i < (uneven ? counts[from] : per_rank); i++)
            CHECK(in[kind][from * COUNT + i] == word(from, i + shift), "kind %d, word %d of %d",
                  kind, i, from);
}

static void verify(int root) {
    int before = 0;
    for (int r = 0; r < rank; r++) before += counts[r];
    if (rank == root) {
        parts(1, COUNT, 0, 0);
        parts(2, 0, 1, 0);
    }
    parts(5, COUNT, 0, 0);
    parts(6, 0, 1, 0);
    parts(7, COUNT, 0, rank * COUNT);
    parts(8, COUNT / 2, 0, rank * COUNT);
    for (int i = 0; i < COUNT; i++) {
        EQUAL(in[0][i], word(root, i));
        EQUAL(in[3][i], word(root, rank * COUNT + i));
        EQUAL(in[4][i], i < counts[rank] ? word(root, rank * COUNT + i) : -1);
        if (rank == root) EQUAL(in[9][i], word(size - 1, i));
        EQUAL(in[10][i], word(0, i));
        EQUAL(in[11][i], word(size - 1, rank * COUNT + i));
        EQUAL(in[12][i], i < counts[rank] ? word(size - 1, before + i) : -1);
        EQUAL(in[13][i], word(rank, i));
        if (rank > 0) EQUAL(in[14][i], word(rank - 1, i));
    }
}

// A nonblocking alltoallw, and point-to-point traffic between its start and its end.
static void with_messages(void) {
    MPI_Request request;
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, got = -1;
    prepare(0);
    for (int r = 0; r < size; r++) counts[r] = COUNT;
    OK(MPI_Ialltoallw(out[0], counts, byte_places, types, in[1], counts, byte_places, types,
                      MPI_COMM_WORLD, &request));
    for (int i = 0; i < 50; i++) {
        OK(MPI_Sendrecv(&i, 1, MPI_INT, next, 0, &got, 1, MPI_INT, previous, 0, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        EQUAL(got, i);
    }
    int done = 0;
    while (!done) OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    parts(1, COUNT, 0, rank * COUNT);
}

// A nonblocking barrier completes only when everybody has started it.
static void barrier_waits(void) {
    MPI_Request request;
    int flag = 1, token = 0;
    if (size == 1) return;
    if (rank == 0) {
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
        for (int i = 0; i < 200; i++) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        EQUAL(flag, 0);
        OK(MPI_Send(&token, 1, MPI_INT, 1, 6, MPI_COMM_WORLD));
    } else {
        if (rank == 1)
            OK(MPI_Recv(&token, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

// The request of one that goes on can be completed only, not freed (§6.12).
static void not_freed(void) {
    MPI_Request request, before;
    MPI_Comm comm;
    int token = 0;
    if (size == 1) return;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    if (rank == 0) {
        OK(MPI_Ibarrier(comm, &request));
        before = request;
        FAILS(MPI_Request_free(&request), MPI_ERR_REQUEST);
        FAILS(MPI_Cancel(&request), MPI_ERR_REQUEST);
        CHECK(request == before, "a request that was not freed stays");
        OK(MPI_Send(&token, 1, MPI_INT, 1, 7, MPI_COMM_WORLD));
    } else {
        if (rank == 1) OK(MPI_Recv(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Ibarrier(comm, &request));
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL, "it is over");
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int turn = 0; turn < 2 * size; turn++) {
        MPI_Request requests[20];
        int root = turn % size;
        prepare(root);
        int n = start_all(root, MPI_COMM_WORLD, requests);
        if (turn % 2)
            for (int i = n - 1; i >= 0; i--) OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        else
            OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
        verify(root);
    }
    with_messages();
    barrier_waits();
    not_freed();
    return finish();
}
