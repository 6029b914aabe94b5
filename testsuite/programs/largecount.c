// ranks: 2
// The procedures with MPI_Count parameters, and types larger than an int can say
// (MPI-5.0 §2.5.8, §5.1.8).
#include "check.h"

enum { WORDS = 20000 };

static int in[WORDS], out[WORDS];

static void messages(void) {
    int other = 1 - rank;
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Count count = -1;
    for (int i = 0; i < WORDS; i++) out[i] = i * (rank + 1);
    OK(MPI_Irecv_c(in, (MPI_Count)WORDS, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend_c(out, (MPI_Count)WORDS, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Wait(&requests[0], &status));
    OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    OK(MPI_Get_count_c(&status, MPI_INT, &count));
    EQUAL(count, WORDS);
    for (int i = 0; i < WORDS; i++) EQUAL(in[i], i * (other + 1));
    OK(MPI_Sendrecv_c(out, 7, MPI_INT, other, 2, in, 9, MPI_INT, other, 2, MPI_COMM_WORLD,
                      &status));
    OK(MPI_Get_elements_c(&status, MPI_INT, &count));
    EQUAL(count, 7);
}

static void partitions(void) {
    int other = 1 - rank;
    MPI_Request both[2];
    for (int i = 0; i < WORDS; i++) out[i] = i * (rank + 1);
    memset(in, 0, sizeof in);
    OK(MPI_Psend_init_c(out, 1, (MPI_Count)WORDS, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]));
    OK(MPI_Precv_init_c(in, 1, (MPI_Count)WORDS, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]));
    OK(MPI_Startall(2, both));
    OK(MPI_Pready(0, both[0]));
    OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    for (int i = 0; i < WORDS; i++) EQUAL(in[i], i * (other + 1));
    OK(MPI_Request_free(&both[0]));
    OK(MPI_Request_free(&both[1]));
}

static void collectives(void) {
    MPI_Count counts[2] = {3, 5};
    MPI_Aint places[2] = {0, 10};
    int sum = 0, all[20];
    memset(all, 0xff, sizeof all);
    OK(MPI_Bcast_c(in, (MPI_Count)100, MPI_INT, 0, MPI_COMM_WORLD));
    OK(MPI_Allreduce_c(&rank, &sum, (MPI_Count)1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    EQUAL(sum, 1);
    OK(MPI_Allgatherv_c(out, counts[rank], MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < 3; i++) EQUAL(all[i], i);
    EQUAL(all[3], -1);
    for (int i = 0; i < 5; i++) EQUAL(all[10 + i], 2 * i);
    MPI_Count ones[2] = {1, 1};
    MPI_Aint zero_one[2] = {0, 1};
    OK(MPI_Alltoallv_c(out, ones, zero_one, MPI_INT, all, ones, zero_one, MPI_INT,
                       MPI_COMM_WORLD));
    EQUAL(all[0], rank); // rank r gets word r of each: r from rank 0, 2 r from rank 1
    EQUAL(all[1], 2 * rank);
}

// Types of more than 2 GiB: nothing of that size is moved, only described.
static void enormous(void) {
    MPI_Datatype big, bigger;
    MPI_Count bytes = -1, lower = -1, extent = -1;
    int short_bytes = -1;
    OK(MPI_Type_contiguous_c((MPI_Count)3 << 30, MPI_INT, &big));
    OK(MPI_Type_size_c(big, &bytes));
    EQUAL(bytes, (MPI_Count)12 << 30);
    OK(MPI_Type_size(big, &short_bytes));
    EQUAL(short_bytes, MPI_UNDEFINED);
    OK(MPI_Type_vector_c((MPI_Count)1 << 20, (MPI_Count)1, (MPI_Count)1 << 30, MPI_BYTE, &bigger));
    OK(MPI_Type_get_extent_c(bigger, &lower, &extent));
    EQUAL(lower, 0);
    EQUAL(extent, (((MPI_Count)1 << 20) - 1) * ((MPI_Count)1 << 30) + 1);
    OK(MPI_Type_size_c(bigger, &bytes));
    EQUAL(bytes, 1 << 20);
    OK(MPI_Type_free(&bigger));
    OK(MPI_Type_free(&big));
}

// Two pieces more than 2 GiB apart in the address space are one message.
static void far_apart(void) {
    MPI_Aint places[2];
    MPI_Count lengths[2] = {4, 4}, byte_places[2];
    MPI_Datatype type;
    int *low = malloc(4 * sizeof *low), high[4];
    OK(MPI_Get_address(low, &places[0]));
    OK(MPI_Get_address(high, &places[1]));
    for (int i = 0; i < 2; i++) byte_places[i] = places[i];
    OK(MPI_Type_create_hindexed_c(2, lengths, byte_places, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    for (int i = 0; i < 4; i++) {
        low[i] = i;
        high[i] = 100 + i;
    }
    if (rank == 0) {
        OK(MPI_Send(MPI_BOTTOM, 1, type, 1, 3, MPI_COMM_WORLD));
    } else {
        memset(low, 0, 4 * sizeof *low);
        memset(high, 0, sizeof high);
        OK(MPI_Recv(MPI_BOTTOM, 1, type, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < 4; i++) {
            EQUAL(low[i], i);
            EQUAL(high[i], 100 + i);
        }
    }
    OK(MPI_Type_free(&type));
    free(low);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    messages();
    partitions();
    collectives();
    enormous();
    far_apart();
    return finish();
}
