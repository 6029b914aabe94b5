// ranks: 1 3 4
// Arguments that mean nothing in a call are not looked at: those of a side that is in place, and
// those that count at the root alone (MPI-5.0 §6.2.2, §6.5 to §6.8).
#define _DEFAULT_SOURCE
#include "check.h"

#include <sys/mman.h>

enum { COUNT = 3 };

static int mine[COUNT], all[16 * COUNT], back[COUNT];

static int value(int of, int i) {
    return 100 * of + i;
}

static void fill_all(int with) {
    for (int i = 0; i < 16 * COUNT; i++) all[i] = with;
    for (int i = 0; i < COUNT; i++) mine[i] = all[rank * COUNT + i] = value(rank, i);
}

static void all_is_there(void) {
    for (int of = 0; of < size; of++)
        for (int i = 0; i < COUNT; i++) EQUAL(all[of * COUNT + i], value(of, i));
}

static void swapped_is_there(void) {
    for (int of = 0; of < size; of++)
        for (int i = 0; i < COUNT; i++) EQUAL(all[of * COUNT + i], value(of, rank * COUNT + i));
}

static void in_place(void) {
    int counts[16], displs[16];
    for (int i = 0; i < size; i++) {
        counts[i] = COUNT;
        displs[i] = i * COUNT;
    }
    fill_all(-1);
    OK(MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, COUNT, MPI_INT, MPI_COMM_WORLD));
    all_is_there();
    fill_all(-1);
    OK(MPI_Allgatherv(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, counts, displs, MPI_INT,
                      MPI_COMM_WORLD));
    all_is_there();
    for (int i = 0; i < size * COUNT; i++) all[i] = value(rank, i);
    OK(MPI_Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, COUNT, MPI_INT, MPI_COMM_WORLD));
    swapped_is_there();
}

// The arrays of a side that is in place need not be there at all.
static void arrays_in_place(void) {
    int counts[16], displs[16], bytes[16];
    MPI_Datatype types[16];
    MPI_Request request;
    void *nothing = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(nothing != MAP_FAILED, "memory that cannot be read");
    for (int i = 0; i < size; i++) {
        counts[i] = COUNT;
        displs[i] = i * COUNT;
        bytes[i] = i * COUNT * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    for (int i = 0; i < size * COUNT; i++) all[i] = value(rank, i);
    OK(MPI_Alltoallv(MPI_IN_PLACE, nothing, nothing, MPI_DATATYPE_NULL, all, counts, displs,
                     MPI_INT, MPI_COMM_WORLD));
    swapped_is_there();
    for (int i = 0; i < size * COUNT; i++) all[i] = value(rank, i);
    OK(MPI_Alltoallw(MPI_IN_PLACE, nothing, nothing, nothing, all, counts, bytes, types,
                     MPI_COMM_WORLD));
    swapped_is_there();
    for (int i = 0; i < size * COUNT; i++) all[i] = value(rank, i);
    OK(MPI_Ialltoallw(MPI_IN_PLACE, nothing, nothing, nothing, all, counts, bytes, types,
                      MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    swapped_is_there();
    EQUAL(munmap(nothing, 1), 0);
}

static void at_the_root(int root) {
    MPI_Request request;
    fill_all(-1);
    if (rank == root)
        OK(MPI_Gather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, COUNT, MPI_INT, root,
                      MPI_COMM_WORLD));
    else
        OK(MPI_Gather(mine, COUNT, MPI_INT, NULL, -1, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
    if (rank == root) all_is_there();

    if (rank == root)
        OK(MPI_Iscatter(all, COUNT, MPI_INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, root,
                        MPI_COMM_WORLD, &request));
    else
        OK(MPI_Iscatter(NULL, -1, MPI_DATATYPE_NULL, back, COUNT, MPI_INT, root, MPI_COMM_WORLD,
                        &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < COUNT && rank != root; i++) EQUAL(back[i], value(rank, i));
}

// So are handles, which may be anything.
static void handles_beside_the_root(int root) {
    MPI_Datatype anything = (MPI_Datatype)(MPI_Aint)0x10000;
    MPI_Op any_op = (MPI_Op)(MPI_Aint)0x10000;
    MPI_Comm own, inter;
    int one = rank, sum = 0, side = rank == root;
    if (rank == root)
        OK(MPI_Gather(&one, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD));
    else
        OK(MPI_Gather(&one, 1, MPI_INT, NULL, -1, anything, root, MPI_COMM_WORLD));
    if (rank == root)
        OK(MPI_Scatterv(all, (int[16]){0}, (int[16]){0}, MPI_INT, &one, 0, MPI_INT, root, MPI_COMM_WORLD));
    else
        OK(MPI_Scatterv(NULL, NULL, NULL, anything, &one, 0, MPI_INT, root, MPI_COMM_WORLD));
    OK(MPI_Allgather(MPI_IN_PLACE, -1, anything, all, 1, MPI_INT, MPI_COMM_WORLD));
    if (size < 3) return;
    // Between the root and all others, of whom two are a group.
    OK(MPI_Comm_split(MPI_COMM_WORLD, side, rank, &own));
    int place, partner = side ? root == 0 : root;
    OK(MPI_Comm_rank(own, &place));
    MPI_Comm meeting = place == 0 ? MPI_COMM_WORLD : (MPI_Comm)(MPI_Aint)0x10000;
    OK(MPI_Intercomm_create(own, 0, meeting, partner, 5, &inter));
    if (side || place == 0) {
        int from = side ? 0 : MPI_ROOT;
        OK(MPI_Bcast(&one, 1, MPI_INT, from, inter));
        OK(MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, from, inter));
        // What the first of the others has, and what the root has of it then.
        EQUAL(side ? one : sum, root == 0);
    } else {
        OK(MPI_Bcast(NULL, -1, anything, MPI_PROC_NULL, inter));
        OK(MPI_Reduce(NULL, NULL, -1, anything, any_op, MPI_PROC_NULL, inter));
    }
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&own));
}

// Where nothing is sent or received there need be no buffer, wherever its blocks would begin.
static void no_buffers(void) {
    int none[16] = {0}, displs[16];
    MPI_Datatype types[16];
    MPI_Request request;
    for (int i = 0; i < 16; i++) displs[i] = i, types[i] = MPI_CHAR;
    OK(MPI_Alltoallv(NULL, none, displs, MPI_CHAR, NULL, none, displs, MPI_CHAR, MPI_COMM_WORLD));
    OK(MPI_Alltoallw(NULL, none, displs, types, NULL, none, displs, types, MPI_COMM_WORLD));
    OK(MPI_Allgatherv(NULL, 0, MPI_CHAR, NULL, none, displs, MPI_CHAR, MPI_COMM_WORLD));
    OK(MPI_Gatherv(NULL, 0, MPI_CHAR, NULL, none, displs, MPI_CHAR, 0, MPI_COMM_WORLD));
    OK(MPI_Scatterv(NULL, none, displs, MPI_CHAR, NULL, 0, MPI_CHAR, 0, MPI_COMM_WORLD));
    OK(MPI_Ialltoallv(NULL, none, displs, MPI_CHAR, NULL, none, displs, MPI_CHAR, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Allgatherv_init(NULL, 0, MPI_CHAR, NULL, none, displs, MPI_CHAR, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &request));
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
}

// What does mean something is looked at.
static void still_refused(void) {
    MPI_Comm self;
    OK(MPI_Comm_dup(MPI_COMM_SELF, &self));
    OK(MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN));
    FAILS(MPI_Allgather(mine, -1, MPI_INT, all, COUNT, MPI_INT, self), MPI_ERR_COUNT);
    FAILS(MPI_Gather(mine, COUNT, MPI_INT, all, -1, MPI_INT, 0, self), MPI_ERR_COUNT);
    FAILS(MPI_Alltoall(mine, COUNT, MPI_INT, all, -2, MPI_INT, self), MPI_ERR_COUNT);
    int one = 1, none = 0;
    FAILS(MPI_Allgatherv(&one, 1, MPI_INT, MPI_IN_PLACE, &one, &none, MPI_INT, self), MPI_ERR_BUFFER);
    FAILS(MPI_Allgatherv(&one, 1, MPI_INT, NULL, &one, &none, MPI_INT, self), MPI_ERR_BUFFER);
    OK(MPI_Comm_free(&self));
}

// Of no elements programs name no type, as MPICH lets them.
static void no_type_for_none(void) {
    int counts[16] = {0}, displs[16] = {0}, other = size - 1 - rank;
    MPI_Datatype types[16];
    MPI_Request requests[2];
    for (int i = 0; i < size; i++) types[i] = MPI_DATATYPE_NULL;
    types[other] = MPI_INT;
    counts[other] = 1;
    all[0] = -1;
    mine[0] = value(rank, 0);
    OK(MPI_Alltoallw(mine, counts, displs, types, all, counts, displs, types, MPI_COMM_WORLD));
    EQUAL(all[0], value(other, 0));
    OK(MPI_Ialltoallw(mine, counts, displs, types, all, counts, displs, types, MPI_COMM_WORLD, requests));
    OK(MPI_Wait(requests, MPI_STATUS_IGNORE));
    OK(MPI_Bcast(NULL, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Gather(NULL, 0, MPI_DATATYPE_NULL, NULL, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, other, 0, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(NULL, 0, MPI_DATATYPE_NULL, other, 0, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, other, 1, NULL, 0, MPI_DATATYPE_NULL, other, 1, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    in_place();
    arrays_in_place();
    for (int root = 0; root < size; root++) at_the_root(root);
    for (int root = 0; root < size; root++) handles_beside_the_root(root);
    no_buffers();
    still_refused();
    no_type_for_none();
    return finish();
}
