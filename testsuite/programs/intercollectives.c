// ranks: 1 2 3 4 6 8
// Collectives between the groups of an intercommunicator, in all forms (MPI-5.0 §6.2.2, §6.2.3).
#include "check.h"

enum { MOST = 8, LENGTH = 5, KINDS = 13, ROUNDS = 3 };
enum form { BLOCKING, NONBLOCKING, PERSISTENT };

static MPI_Comm inter;
static int side, me, mine, others;
static int send[KINDS][MOST * LENGTH], recv[KINDS][MOST * LENGTH];
static int counts[MOST], places[MOST], bytes[MOST], parts[MOST];
static MPI_Datatype types[MOST];

// Element `at` of what process `from` of a side has.
static int word(int from_side, int from, int at, int turn) {
    return from_side * 100000 + from * 1000 + at * 10 + turn;
}

// The sum of element `at` over the other side.
static int sum(int at, int turn) {
    int total = 0;
    for (int r = 0; r < others; r++) total += word(1 - side, r, at, turn);
    return total;
}

static void fill_in(int turn) {
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < MOST * LENGTH; i++) {
            send[kind][i] = word(side, me, i, turn);
            recv[kind][i] = -1;
        }
}

// One block of every process of the other side, the same for all, or the one for this process.
static void expect_blocks(const int *got, int personal, int turn) {
    for (int r = 0; r < others; r++)
        for (int at = 0; at < LENGTH; at++)
            EQUAL(got[r * LENGTH + at],
                  word(1 - side, r, personal ? me * LENGTH + at : at, turn));
}

static void expect(int root_side, int root, int turn) {
    int at_root = side == root_side && me == root, away = side != root_side;
    for (int at = 0; at < LENGTH; at++) {
        if (away) {
            EQUAL(send[0][at], word(root_side, root, at, turn));
            EQUAL(recv[3][at], word(root_side, root, me * LENGTH + at, turn));
            EQUAL(recv[4][at], word(root_side, root, me * LENGTH + at, turn));
        } else {
            EQUAL(send[0][at], word(side, me, at, turn));
        }
        EQUAL(recv[5][at], at_root ? sum(at, turn) : -1);
        EQUAL(recv[10][at], sum(at, turn));
    }
    if (at_root) {
        expect_blocks(recv[1], 0, turn);
        expect_blocks(recv[2], 0, turn);
    }
    expect_blocks(recv[6], 0, turn);
    expect_blocks(recv[7], 0, turn);
    expect_blocks(recv[8], 1, turn);
    expect_blocks(recv[9], 1, turn);
    expect_blocks(recv[11], 1, turn);
    int before = 0;
    for (int r = 0; r < me; r++) before += parts[r];
    for (int at = 0; at < parts[me]; at++) EQUAL(recv[12][at], sum(before + at, turn));
}

static void blocking(int root) {
    OK(MPI_Barrier(inter));
    OK(MPI_Bcast(send[0], LENGTH, MPI_INT, root, inter));
    OK(MPI_Gather(send[1], LENGTH, MPI_INT, recv[1], LENGTH, MPI_INT, root, inter));
    OK(MPI_Gatherv(send[2], LENGTH, MPI_INT, recv[2], counts, places, MPI_INT, root, inter));
    OK(MPI_Scatter(send[3], LENGTH, MPI_INT, recv[3], LENGTH, MPI_INT, root, inter));
    OK(MPI_Scatterv(send[4], counts, places, MPI_INT, recv[4], LENGTH, MPI_INT, root, inter));
    OK(MPI_Reduce(send[5], recv[5], LENGTH, MPI_INT, MPI_SUM, root, inter));
    OK(MPI_Allgather(send[6], LENGTH, MPI_INT, recv[6], LENGTH, MPI_INT, inter));
    OK(MPI_Allgatherv(send[7], LENGTH, MPI_INT, recv[7], counts, places, MPI_INT, inter));
    OK(MPI_Alltoall(send[8], LENGTH, MPI_INT, recv[8], LENGTH, MPI_INT, inter));
    OK(MPI_Alltoallv(send[9], counts, places, MPI_INT, recv[9], counts, places, MPI_INT, inter));
    OK(MPI_Allreduce(send[10], recv[10], LENGTH, MPI_INT, MPI_SUM, inter));
    OK(MPI_Alltoallw(send[11], counts, bytes, types, recv[11], counts, bytes, types, inter));
    OK(MPI_Reduce_scatter(send[12], recv[12], parts, MPI_INT, MPI_SUM, inter));
}

static int nonblocking(int root, MPI_Request *r) {
    int n = 0;
    OK(MPI_Ibarrier(inter, &r[n++]));
    OK(MPI_Ibcast(send[0], LENGTH, MPI_INT, root, inter, &r[n++]));
    OK(MPI_Igather(send[1], LENGTH, MPI_INT, recv[1], LENGTH, MPI_INT, root, inter, &r[n++]));
    OK(MPI_Igatherv(send[2], LENGTH, MPI_INT, recv[2], counts, places, MPI_INT, root, inter,
                    &r[n++]));
    OK(MPI_Iscatter(send[3], LENGTH, MPI_INT, recv[3], LENGTH, MPI_INT, root, inter, &r[n++]));
    OK(MPI_Iscatterv(send[4], counts, places, MPI_INT, recv[4], LENGTH, MPI_INT, root, inter,
                     &r[n++]));
    OK(MPI_Ireduce(send[5], recv[5], LENGTH, MPI_INT, MPI_SUM, root, inter, &r[n++]));
    OK(MPI_Iallgather(send[6], LENGTH, MPI_INT, recv[6], LENGTH, MPI_INT, inter, &r[n++]));
    OK(MPI_Iallgatherv(send[7], LENGTH, MPI_INT, recv[7], counts, places, MPI_INT, inter, &r[n++]));
    OK(MPI_Ialltoall(send[8], LENGTH, MPI_INT, recv[8], LENGTH, MPI_INT, inter, &r[n++]));
    OK(MPI_Ialltoallv(send[9], counts, places, MPI_INT, recv[9], counts, places, MPI_INT, inter,
                      &r[n++]));
    OK(MPI_Iallreduce(send[10], recv[10], LENGTH, MPI_INT, MPI_SUM, inter, &r[n++]));
    OK(MPI_Ialltoallw(send[11], counts, bytes, types, recv[11], counts, bytes, types, inter,
                      &r[n++]));
    OK(MPI_Ireduce_scatter(send[12], recv[12], parts, MPI_INT, MPI_SUM, inter, &r[n++]));
    return n;
}

static int persistent(int root, MPI_Request *r) {
    MPI_Info none = MPI_INFO_NULL;
    int n = 0;
    OK(MPI_Barrier_init(inter, none, &r[n++]));
    OK(MPI_Bcast_init(send[0], LENGTH, MPI_INT, root, inter, none, &r[n++]));
    OK(MPI_Gather_init(send[1], LENGTH, MPI_INT, recv[1], LENGTH, MPI_INT, root, inter, none,
                       &r[n++]));
    OK(MPI_Gatherv_init(send[2], LENGTH, MPI_INT, recv[2], counts, places, MPI_INT, root, inter,
                        none, &r[n++]));
    OK(MPI_Scatter_init(send[3], LENGTH, MPI_INT, recv[3], LENGTH, MPI_INT, root, inter, none,
                        &r[n++]));
    OK(MPI_Scatterv_init(send[4], counts, places, MPI_INT, recv[4], LENGTH, MPI_INT, root, inter,
                         none, &r[n++]));
    OK(MPI_Reduce_init(send[5], recv[5], LENGTH, MPI_INT, MPI_SUM, root, inter, none, &r[n++]));
    OK(MPI_Allgather_init(send[6], LENGTH, MPI_INT, recv[6], LENGTH, MPI_INT, inter, none,
                          &r[n++]));
    OK(MPI_Allgatherv_init(send[7], LENGTH, MPI_INT, recv[7], counts, places, MPI_INT, inter, none,
                           &r[n++]));
    OK(MPI_Alltoall_init(send[8], LENGTH, MPI_INT, recv[8], LENGTH, MPI_INT, inter, none, &r[n++]));
    OK(MPI_Alltoallv_init(send[9], counts, places, MPI_INT, recv[9], counts, places, MPI_INT, inter,
                          none, &r[n++]));
    OK(MPI_Allreduce_init(send[10], recv[10], LENGTH, MPI_INT, MPI_SUM, inter, none, &r[n++]));
    OK(MPI_Alltoallw_init(send[11], counts, bytes, types, recv[11], counts, bytes, types, inter,
                          none, &r[n++]));
    OK(MPI_Reduce_scatter_init(send[12], recv[12], parts, MPI_INT, MPI_SUM, inter, none, &r[n++]));
    return n;
}

static void run(int root_side, int root, enum form form) {
    int argument = side != root_side ? root : me == root ? MPI_ROOT : MPI_PROC_NULL, n = 0;
    MPI_Request requests[KINDS + 1];
    if (form == PERSISTENT) n = persistent(argument, requests);
    for (int turn = 0; turn < (form == PERSISTENT ? ROUNDS : 1); turn++) {
        fill_in(turn);
        if (form == BLOCKING) blocking(argument);
        if (form == NONBLOCKING) n = nonblocking(argument, requests);
        if (form == PERSISTENT) OK(MPI_Startall(n, requests));
        if (form != BLOCKING) OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
        expect(root_side, root, turn);
    }
    if (form == PERSISTENT)
        for (int i = 0; i < n; i++) OK(MPI_Request_free(&requests[i]));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    if (size > 1) {
        MPI_Comm local;
        side = rank % 2;
        OK(MPI_Comm_split(MPI_COMM_WORLD, side, rank, &local));
        OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - side, 3, &inter));
        OK(MPI_Comm_rank(inter, &me));
        OK(MPI_Comm_size(inter, &mine));
        OK(MPI_Comm_remote_size(inter, &others));
        for (int r = 0; r < MOST; r++) {
            counts[r] = LENGTH;
            places[r] = r * LENGTH;
            bytes[r] = r * LENGTH * (int)sizeof(int);
            types[r] = MPI_INT;
            // As many elements on both sides: the first process takes what the others leave.
            parts[r] = r == 0 ? MOST * LENGTH - 2 * (mine - 1) : 2;
        }
        for (int root_side = 0; root_side < 2; root_side++)
            for (int root = 0; root < (root_side == side ? mine : others); root++)
                for (int form = 0; form <= PERSISTENT; form++) run(root_side, root, (enum form)form);
        OK(MPI_Comm_free(&inter));
        OK(MPI_Comm_free(&local));
    }
    return finish();
}
