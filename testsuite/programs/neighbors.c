// ranks: 1 2 3 4 6 8
// Collectives between the neighbours of a topology, in all forms (MPI-5.0 §8.6, §8.7, §6.13).
#include "check.h"

enum { MOST = 4, LENGTH = 3, FORMS = 3, ROUNDS = 4 };
enum form { BLOCKING, NONBLOCKING, PERSISTENT };

// What a process sends through its edge number `edge`.
static int word(int from, int edge, int at, int turn) {
    return from * 1000 + edge * 100 + at * 10 + turn;
}

static void complete(MPI_Request *request) {
    OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    CHECK(*request == MPI_REQUEST_NULL, "a request that is complete is null");
}

// A neighbour on the way in: who it is, and by which of its edges it sends; none if rank < 0.
struct source {
    int rank, edge;
};

static void expect(const int *got, const struct source *sources, int count, int same, int turn) {
    for (int i = 0; i < count; i++)
        for (int at = 0; at < LENGTH; at++) {
            int edge = same ? 0 : sources[i].edge;
            int wanted = sources[i].rank < 0 ? -1 : word(sources[i].rank, edge, at, turn);
            CHECK(got[i * LENGTH + at] == wanted, "block %d has %d, not %d", i,
                  got[i * LENGTH + at], wanted);
        }
}

// All five collectives with `in` sources and `out` targets, each in one form.
static void exchange(MPI_Comm comm, const struct source *sources, int in, int out, enum form form) {
    static int send[5][MOST * LENGTH], recv[5][MOST * LENGTH];
    int counts[MOST], places[MOST];
    MPI_Aint bytes[MOST];
    MPI_Datatype types[MOST];
    MPI_Request r[5];
    for (int i = 0; i < MOST; i++) {
        counts[i] = LENGTH;
        places[i] = i * LENGTH;
        bytes[i] = (MPI_Aint)sizeof(int) * i * LENGTH;
        types[i] = MPI_INT;
    }
    int rounds = form == PERSISTENT ? ROUNDS : 1;
    if (form == PERSISTENT) {
        MPI_Info none = MPI_INFO_NULL;
        OK(MPI_Neighbor_allgather_init(send[0], LENGTH, MPI_INT, recv[0], LENGTH, MPI_INT, comm,
                                       none, &r[0]));
        OK(MPI_Neighbor_allgatherv_init(send[1], LENGTH, MPI_INT, recv[1], counts, places, MPI_INT,
                                        comm, none, &r[1]));
        OK(MPI_Neighbor_alltoall_init(send[2], LENGTH, MPI_INT, recv[2], LENGTH, MPI_INT, comm,
                                      none, &r[2]));
        OK(MPI_Neighbor_alltoallv_init(send[3], counts, places, MPI_INT, recv[3], counts, places,
                                       MPI_INT, comm, none, &r[3]));
        OK(MPI_Neighbor_alltoallw_init(send[4], counts, bytes, types, recv[4], counts, bytes, types,
                                       comm, none, &r[4]));
    }
    for (int turn = 0; turn < rounds; turn++) {
        for (int kind = 0; kind < 5; kind++)
            for (int i = 0; i < MOST * LENGTH; i++) {
                int edge = kind < 2 ? 0 : i / LENGTH;
                send[kind][i] = i / LENGTH < (out ? out : 1) ? word(rank, edge, i % LENGTH, turn) : 0;
                recv[kind][i] = -1;
            }
        if (form == BLOCKING) {
            OK(MPI_Neighbor_allgather(send[0], LENGTH, MPI_INT, recv[0], LENGTH, MPI_INT, comm));
            OK(MPI_Neighbor_allgatherv(send[1], LENGTH, MPI_INT, recv[1], counts, places, MPI_INT,
                                       comm));
            OK(MPI_Neighbor_alltoall(send[2], LENGTH, MPI_INT, recv[2], LENGTH, MPI_INT, comm));
            OK(MPI_Neighbor_alltoallv(send[3], counts, places, MPI_INT, recv[3], counts, places,
                                      MPI_INT, comm));
            OK(MPI_Neighbor_alltoallw(send[4], counts, bytes, types, recv[4], counts, bytes, types,
                                      comm));
        } else if (form == NONBLOCKING) {
            OK(MPI_Ineighbor_allgather(send[0], LENGTH, MPI_INT, recv[0], LENGTH, MPI_INT, comm,
                                       &r[0]));
            OK(MPI_Ineighbor_allgatherv(send[1], LENGTH, MPI_INT, recv[1], counts, places, MPI_INT,
                                        comm, &r[1]));
            OK(MPI_Ineighbor_alltoall(send[2], LENGTH, MPI_INT, recv[2], LENGTH, MPI_INT, comm,
                                      &r[2]));
            OK(MPI_Ineighbor_alltoallv(send[3], counts, places, MPI_INT, recv[3], counts, places,
                                       MPI_INT, comm, &r[3]));
            OK(MPI_Ineighbor_alltoallw(send[4], counts, bytes, types, recv[4], counts, bytes, types,
                                       comm, &r[4]));
            for (int kind = 4; kind >= 0; kind--) complete(&r[kind]);
        } else {
            // Processes may start them in different orders (§6.13).
            for (int kind = 0; kind < 5; kind++) OK(MPI_Start(&r[rank % 2 ? kind : 4 - kind]));
            OK(MPI_Waitall(5, r, MPI_STATUSES_IGNORE));
        }
        for (int kind = 0; kind < 5; kind++) expect(recv[kind], sources, in, kind < 2, turn);
    }
    if (form == PERSISTENT)
        for (int kind = 0; kind < 5; kind++) OK(MPI_Request_free(&r[kind]));
}

// A grid of two dimensions, the second a ring: blocks are before and after along each (§8.6).
static void grid(void) {
    int dims[2] = {0, 0}, periods[2] = {0, 1}, ranks[4];
    MPI_Comm comm;
    OK(MPI_Dims_create(size, 2, dims));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm));
    struct source sources[4];
    for (int d = 0; d < 2; d++) {
        OK(MPI_Cart_shift(comm, d, 1, &ranks[2 * d], &ranks[2 * d + 1]));
        // The process before sends through its edge to the one after it, and the other way round.
        for (int side = 0; side < 2; side++) {
            int from = ranks[2 * d + side];
            sources[2 * d + side].rank = from == MPI_PROC_NULL ? -1 : from;
            sources[2 * d + side].edge = 2 * d + 1 - side;
        }
    }
    for (int form = 0; form < FORMS; form++) exchange(comm, sources, 4, 4, (enum form)form);
    OK(MPI_Comm_free(&comm));
}

// Everybody sends to the next one and to rank 0, which hears of at most three.
static void directed(void) {
    int in = 0, from[MOST], to[2] = {(rank + 1) % size, 0};
    int out = rank < 3 ? 2 : 1;
    struct source sources[MOST];
    from[in] = sources[in].rank = (rank + size - 1) % size;
    sources[in++].edge = 0;
    if (rank == 0)
        for (int r = 0; r < 3 && r < size; r++) {
            from[in] = sources[in].rank = r;
            sources[in++].edge = 1;
        }
    // Between the same two processes the order of edges decides: rank 0's list has that of the
    // ring first, and so has the sender's.
    MPI_Comm comm;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, from, MPI_UNWEIGHTED, out, to,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    for (int form = 0; form < FORMS; form++) exchange(comm, sources, in, out, (enum form)form);
    OK(MPI_Comm_free(&comm));
}

// A ring as a graph that all know; of two processes, each is twice the other's neighbour.
static void ring(void) {
    int index[8], edges[16];
    for (int r = 0; r < size; r++) {
        index[r] = 2 * r + 2;
        edges[2 * r] = (r + 1) % size;
        edges[2 * r + 1] = (r + size - 1) % size;
    }
    MPI_Comm comm;
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm));
    struct source sources[2] = {{edges[2 * rank], 1}, {edges[2 * rank + 1], 0}};
    if (size <= 2) {
        // The n-th edge to a process is the n-th from it.
        sources[0].edge = 0;
        sources[1].edge = 1;
    }
    for (int form = 0; form < FORMS; form++) exchange(comm, sources, 2, 2, (enum form)form);
    OK(MPI_Comm_free(&comm));
}

// Who has no neighbour on one side has no buffer there.
static void one_way(void) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size, one = 40 + rank, got = -1;
    int sends = rank % 2 == 0 && next != rank && next % 2 == 1;
    int receives = rank % 2 == 1 && before % 2 == 0;
    MPI_Comm graph;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, receives, &before, MPI_UNWEIGHTED, sends, &next,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    OK(MPI_Neighbor_alltoall(sends ? &one : NULL, 1, MPI_INT, receives ? &got : NULL, 1, MPI_INT, graph));
    EQUAL(got, receives ? 40 + before : -1);
    got = -1;
    OK(MPI_Neighbor_allgather(sends ? &one : NULL, 1, MPI_INT, receives ? &got : NULL, 1, MPI_INT,
                              graph));
    EQUAL(got, receives ? 40 + before : -1);
    OK(MPI_Comm_free(&graph));
}

// A neighbour beyond the edge has a block that nobody touches, wherever it is said to lie: on another one, changed by
// the program meanwhile, or nowhere. The types have gaps.
static void beyond_the_edge(void) {
    int periodic = 0, out[3] = {10 + rank, 0, 20 + rank}, in[3] = {-1, -1, -1}, counts[2] = {1, 1};
    MPI_Comm line;
    MPI_Datatype two, types[2];
    MPI_Aint same[2] = {0, 0}, apart[2] = {0, 4 * sizeof(int)};
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &line));
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &two));
    OK(MPI_Type_commit(&two));
    types[0] = types[1] = two;
    if (size == 2) {
        OK(MPI_Neighbor_alltoallw(out, counts, same, types, in, counts, same, types, line));
        EQUAL(in[0], 11 - rank);
        EQUAL(in[1], -1);
        EQUAL(in[2], 21 - rank);
    }
    int halo[2 * 4] = {-1, -1, -1, -1, -1, -1, -1, -1};
    MPI_Request request;
    OK(MPI_Ineighbor_alltoallw(out, counts, same, types, halo, counts, apart, types, line, &request));
    if (rank == 0) halo[0] = 77;
    if (rank == size - 1) halo[4] = 88;
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(halo[0], rank == 0 ? 77 : 9 + rank);
    EQUAL(halo[4], rank == size - 1 ? 88 : 11 + rank);
    OK(MPI_Type_free(&two));
    OK(MPI_Comm_free(&line));
}

// With MPI_BOTTOM displacements are addresses.
static void by_address(void) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size, out = 60 + rank, in = -1, one = 1;
    MPI_Comm ring_of_all;
    MPI_Aint from, into;
    MPI_Datatype type = MPI_INT;
    OK(MPI_Get_address(&out, &from));
    OK(MPI_Get_address(&in, &into));
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring_of_all));
    OK(MPI_Neighbor_alltoallw(MPI_BOTTOM, &one, &from, &type, MPI_BOTTOM, &one, &into, &type,
                              ring_of_all));
    EQUAL(in, 60 + before);
    OK(MPI_Comm_free(&ring_of_all));
}

// Where a process does not fit itself its neighbours hear of it, and what follows is as ever.
static void misfit(void) {
    enum { EDGES = 4 };
    int dims[2] = {size, 1}, periods[2] = {1, 1}, counts[EDGES] = {2, 2, 2, 2}, twos[EDGES] = {2, 2, 2, 2};
    int places[EDGES] = {0, 2, 4, 6}, out[2 * EDGES] = {0}, in[2 * EDGES], code;
    int near = rank <= 1 || rank == size - 1, left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Comm comm;
    MPI_Request request;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    if (rank == 0) counts[2] = 1;
    for (enum form form = BLOCKING; form <= NONBLOCKING; form++) {
        if (form == BLOCKING) {
            code = MPI_Neighbor_alltoallv(out, counts, places, MPI_INT, in, twos, places, MPI_INT, comm);
        } else {
            OK(MPI_Ineighbor_alltoallv(out, counts, places, MPI_INT, in, twos, places, MPI_INT, comm, &request));
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        if (near) FAILS(code, MPI_ERR_TRUNCATE);
        OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, comm));
        EQUAL(in[0], left);
        EQUAL(in[1], right);
        EQUAL(in[2], rank);
        EQUAL(in[3], rank);
    }
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int value = 0;
    FAILS(MPI_Neighbor_allgather(&value, 1, MPI_INT, &value, 1, MPI_INT, MPI_COMM_WORLD),
          MPI_ERR_TOPOLOGY);
    grid();
    directed();
    ring();
    one_way();
    beyond_the_edge();
    by_address();
    misfit();
    return finish();
}
