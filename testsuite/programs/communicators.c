// ranks: 1 2 3 4 8
// Making, comparing and freeing communicators; each has a context of its own (MPI-5.0 §7.4).
#include "check.h"

static int compare(MPI_Comm a, MPI_Comm b) {
    int result = -1;
    OK(MPI_Comm_compare(a, b, &result));
    return result;
}

// The same message on two communicators of the same processes is two messages.
static void contexts(MPI_Comm other) {
    int a = 1, b = 2, from_a = 0, from_b = 0, next = (rank + 1) % size;
    MPI_Request requests[2];
    OK(MPI_Irecv(&from_b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, &requests[0]));
    OK(MPI_Irecv(&from_a, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Send(&a, 1, MPI_INT, next, 5, MPI_COMM_WORLD));
    OK(MPI_Send(&b, 1, MPI_INT, next, 5, other));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    EQUAL(from_a, 1);
    EQUAL(from_b, 2);
}

static void duplicates(void) {
    MPI_Comm dup, info_dup, later;
    MPI_Request request;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    EQUAL(compare(MPI_COMM_WORLD, dup), MPI_CONGRUENT);
    EQUAL(compare(dup, dup), MPI_IDENT);
    contexts(dup);
    OK(MPI_Comm_dup_with_info(dup, MPI_INFO_NULL, &info_dup));
    contexts(info_dup);
    OK(MPI_Comm_idup(MPI_COMM_WORLD, &later, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    contexts(later);
    // Freed at once while a message of it is still under way (§7.4.3).
    int value = -1;
    MPI_Request receive;
    OK(MPI_Irecv(&value, 1, MPI_INT, (rank + size - 1) % size, 3, dup, &receive));
    MPI_Comm kept = dup;
    OK(MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 3, dup));
    OK(MPI_Comm_free(&dup));
    CHECK(dup == MPI_COMM_NULL && kept != MPI_COMM_NULL, "a freed handle is null");
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    EQUAL(value, (rank + size - 1) % size);
    OK(MPI_Comm_free(&info_dup));
    OK(MPI_Comm_free(&later));
}

// Odd and even ranks apart, in reverse order; some stay out.
static void splits(void) {
    MPI_Comm half, again;
    int half_rank = -1, half_size = -1;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
    OK(MPI_Comm_size(half, &half_size));
    OK(MPI_Comm_rank(half, &half_rank));
    EQUAL(half_size, (size + (rank % 2 == 0)) / 2);
    EQUAL(half_rank, half_size - 1 - rank / 2);
    int sum = 0;
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half));
    EQUAL(sum, rank % 2 ? (size / 2) * (size / 2) : (half_size - 1) * half_size);
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 3, 0, &again));
    CHECK((again == MPI_COMM_NULL) == (rank == 0), "rank 0 stays out");
    if (again != MPI_COMM_NULL) {
        OK(MPI_Comm_rank(again, &half_rank)); // equal keys keep the order
        EQUAL(half_rank, rank - 1);
        OK(MPI_Comm_free(&again));
    }
    OK(MPI_Comm_free(&half));
    MPI_Comm node;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &half_size));
    CHECK(half_size >= 1 && half_size <= size, "%d ranks on this node", half_size);
    OK(MPI_Comm_free(&node));
}

// From a group: the members alone call, or everybody does.
static void from_groups(void) {
    MPI_Group world, some;
    MPI_Comm made;
    int ranks[8], count = 0, got = -1, is_member = rank % 2 == 0;
    for (int r = size - 1; r >= 0; r--)
        if (r % 2 == 0) ranks[count++] = r;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, count, ranks, &some));
    OK(MPI_Comm_create(MPI_COMM_WORLD, some, &made));
    CHECK((made != MPI_COMM_NULL) == is_member, "only members get a communicator");
    if (is_member) {
        OK(MPI_Comm_rank(made, &got));
        EQUAL(ranks[got], rank);
        OK(MPI_Comm_free(&made));
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, some, 9, &made));
        int value = rank == ranks[0] ? 77 : -1;
        OK(MPI_Bcast(&value, 1, MPI_INT, 0, made));
        EQUAL(value, 77);
        OK(MPI_Comm_free(&made));
    }
    OK(MPI_Group_free(&some));
    OK(MPI_Group_free(&world));
}

static void names_and_kinds(void) {
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1, flag = -1;
    MPI_Comm dup;
    OK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length));
    CHECK(strcmp(name, "MPI_COMM_NULL") == 0, "%s", name);
    OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0, "%s", name);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    OK(MPI_Comm_get_name(dup, name, &length));
    EQUAL(length, 0);
    OK(MPI_Comm_set_name(dup, "the ring"));
    OK(MPI_Comm_get_name(dup, name, &length));
    CHECK(strcmp(name, "the ring") == 0 && length == 8, "%s", name);
    OK(MPI_Comm_test_inter(dup, &flag));
    EQUAL(flag, 0);
    EQUAL(compare(MPI_COMM_SELF, MPI_COMM_WORLD), size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    OK(MPI_Comm_free(&dup));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    duplicates();
    splits();
    from_groups();
    names_and_kinds();
    // Made and freed many times: nothing runs out.
    for (int i = 0; i < 3000; i++) {
        MPI_Comm comm;
        OK(MPI_Comm_dup(i % 2 ? MPI_COMM_SELF : MPI_COMM_WORLD, &comm));
        OK(MPI_Comm_free(&comm));
    }
    return finish();
}
