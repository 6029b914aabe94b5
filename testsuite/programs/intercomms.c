// ranks: 1 2 3 4 6 8
// Intercommunicators: making them, messages on them, and what is made of them (MPI-5.0 §7.6).
#include "check.h"

// The even ranks on one side, the odd ones on the other.
static MPI_Comm local, inter;
static int side, mine, others, me;

static void make(void) {
    side = rank % 2;
    OK(MPI_Comm_split(MPI_COMM_WORLD, side, rank, &local));
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - side, 12, &inter));
    OK(MPI_Comm_rank(inter, &me));
    EQUAL(me, rank / 2);
    OK(MPI_Comm_size(inter, &mine));
    OK(MPI_Comm_remote_size(inter, &others));
    EQUAL(mine + others, size);
    int flag = 0, place = -1;
    OK(MPI_Comm_test_inter(inter, &flag));
    EQUAL(flag, 1);
    MPI_Group group, world;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Comm_remote_group(inter, &group));
    for (int r = 0; r < others; r++) {
        OK(MPI_Group_translate_ranks(group, 1, &r, world, &place));
        EQUAL(place, 2 * r + 1 - side);
    }
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));
}

// Ranks on both sides of a message are those of the other group.
static void messages(MPI_Comm comm) {
    int remote = 0, own = -1;
    OK(MPI_Comm_remote_size(comm, &remote));
    OK(MPI_Comm_rank(comm, &own));
    MPI_Request *sends = malloc((size_t)remote * sizeof *sends);
    for (int r = 0; r < remote; r++) OK(MPI_Isend(&rank, 1, MPI_INT, r, own, comm, &sends[r]));
    for (int r = 0; r < remote; r++) {
        int value = -1;
        MPI_Status status;
        OK(MPI_Recv(&value, 1, MPI_INT, r % 2 ? r : MPI_ANY_SOURCE, r, comm, &status));
        EQUAL(status.MPI_SOURCE, r);
        EQUAL(value % 2, 1 - side);
    }
    OK(MPI_Waitall(remote, sends, MPI_STATUSES_IGNORE));
    free(sends);
}

static void merged(int high_side, int wanted_first) {
    MPI_Comm all;
    int place = -1, sum = 0, total = -1;
    OK(MPI_Intercomm_merge(inter, high_side < 0 ? 0 : side == high_side, &all));
    OK(MPI_Comm_size(all, &total));
    EQUAL(total, size);
    OK(MPI_Comm_rank(all, &place));
    if (wanted_first >= 0) EQUAL(place, side == wanted_first ? me : others + me);
    OK(MPI_Allreduce(&place, &sum, 1, MPI_INT, MPI_SUM, all));
    EQUAL(sum, size * (size - 1) / 2);
    OK(MPI_Comm_free(&all));
}

static void descendants(void) {
    MPI_Comm dup, later, part, made;
    MPI_Request request;
    int result = -1, remote = -1;
    OK(MPI_Comm_dup(inter, &dup));
    OK(MPI_Comm_compare(inter, dup, &result));
    EQUAL(result, MPI_CONGRUENT);
    messages(dup);
    OK(MPI_Comm_idup(dup, &later, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    messages(later);
    OK(MPI_Comm_free(&dup));
    OK(MPI_Comm_free(&later));
    // Color 0 is on both sides, color 1 where there are several.
    int color = me > 0, both = size >= 4;
    OK(MPI_Comm_split(inter, color, -me, &part));
    CHECK((part == MPI_COMM_NULL) == (color == 1 && !both), "color %d of %d", color, size);
    if (part != MPI_COMM_NULL) {
        int own = -1, count = -1;
        OK(MPI_Comm_rank(part, &own));
        OK(MPI_Comm_size(part, &count));
        OK(MPI_Comm_remote_size(part, &remote));
        EQUAL(own, color ? mine - 1 - me : 0);
        EQUAL(count, color ? mine - 1 : 1);
        EQUAL(remote, color ? others - 1 : 1);
        messages(part);
        OK(MPI_Comm_free(&part));
    }
    // The last of each group.
    MPI_Group group, last;
    int end = mine - 1;
    OK(MPI_Comm_group(inter, &group));
    OK(MPI_Group_incl(group, 1, &end, &last));
    OK(MPI_Comm_create(inter, last, &made));
    CHECK((made == MPI_COMM_NULL) == (me != end), "only the last is in it");
    if (made != MPI_COMM_NULL) {
        messages(made);
        OK(MPI_Comm_free(&made));
    }
    OK(MPI_Group_free(&last));
    OK(MPI_Group_free(&group));
}

static void from_groups(void) {
    MPI_Group world, sides[2];
    MPI_Comm alone, pair;
    int ranges[2][3] = {{0, (size - 1) / 2 * 2, 2}, {1, size / 2 * 2 - 1, 2}}, count = -1;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int s = 0; s < 2; s++) OK(MPI_Group_range_incl(world, 1, &ranges[s], &sides[s]));
    for (int again = 0; again < 2; again++) {
        OK(MPI_Comm_create_from_group(sides[side], "half", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                      &alone));
        OK(MPI_Comm_size(alone, &count));
        EQUAL(count, mine);
        OK(MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_INT, MPI_SUM, alone));
        EQUAL(count, mine * mine);
        FAILS(MPI_Send(&count, 1, MPI_INT, mine, 0, alone), MPI_ERR_RANK);
        OK(MPI_Comm_free(&alone));
    }
    OK(MPI_Intercomm_create_from_groups(sides[side], 0, sides[1 - side], 0, "halves", MPI_INFO_NULL,
                                        MPI_ERRORS_ARE_FATAL, &pair));
    messages(pair);
    OK(MPI_Comm_free(&pair));
    // With nobody on a side the call is local (§7.6.2): here one process makes it.
    MPI_Group nobody[][2] = {{MPI_GROUP_EMPTY, world}, {world, MPI_GROUP_EMPTY}, {MPI_GROUP_EMPTY, MPI_GROUP_EMPTY}};
    for (int i = 0; i < 3 && rank == size - 1; i++) {
        OK(MPI_Intercomm_create_from_groups(nobody[i][0], 0, nobody[i][1], 0, "nobody", MPI_INFO_NULL,
                                            MPI_ERRORS_ARE_FATAL, &pair));
        CHECK(pair == MPI_COMM_NULL, "pair %d", i);
    }
    for (int s = 0; s < 2; s++) OK(MPI_Group_free(&sides[s]));
    OK(MPI_Group_free(&world));
}

// Parts of the machine between groups: a node with processes of one group alone has none, and all choose alike.
static void parts_of_the_machine(int right, int partner) {
    MPI_Comm own, between, shared, tied, unasked;
    MPI_Info info;
    char name[64] = "", names[8][64];
    int length = sizeof name, told = 0;
    OK(MPI_Comm_split(MPI_COMM_WORLD, right, rank, &own));
    OK(MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, partner, 13, &between));
    OK(MPI_Comm_split_type(between, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_hw_resource_type", "hwloc://PU"));
    OK(MPI_Comm_split_type(between, MPI_COMM_TYPE_HW_GUIDED, 0, info, &tied));
    CHECK(shared != MPI_COMM_NULL || tied == MPI_COMM_NULL, "no smaller part of no part");
    OK(MPI_Info_delete(info, "mpi_hw_resource_type"));
    OK(MPI_Comm_split_type(between, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &unasked));
    OK(MPI_Info_get_string(info, "mpi_hw_resource_type", &length, name, &told));
    OK(MPI_Allgather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, MPI_COMM_WORLD));
    for (int i = 0; i < size && told; i++)
        CHECK(!names[i][0] || !strcmp(names[i], name), "%s and %s", names[i], name);
    MPI_Comm *all[] = {&own, &between, &shared, &tied, &unasked};
    for (int i = 0; i < 5; i++)
        if (*all[i] != MPI_COMM_NULL) OK(MPI_Comm_free(all[i]));
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    if (size > 1) {
        make();
        messages(inter);
        merged(1, 0);
        merged(0, 1);
        merged(-1, -1);
        descendants();
        from_groups();
        parts_of_the_machine(side, 1 - side);
        parts_of_the_machine(rank >= size / 2, rank >= size / 2 ? 0 : size / 2);
        int value = 0;
        MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
        FAILS(MPI_Send(&value, 1, MPI_INT, others, 0, inter), MPI_ERR_RANK);
        FAILS(MPI_Scan(&value, &value, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
        OK(MPI_Comm_free(&inter));
        OK(MPI_Comm_free(&local));
    }
    return finish();
}
