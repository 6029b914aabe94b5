// ranks: 2 4 7
// Communicators of groups that overlap, made under one tag by their members alone (MPI-5.0 §7.4.2).
#include "check.h"

enum { ROUNDS = 200 };

static unsigned state = 17;

// The same numbers on every rank.
static int coin(void) {
    state = state * 1664525u + 1013904223u;
    return state >> 30 & 1;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Group world;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int round = 0; round < ROUNDS; round++) {
        int members[64], count = 0, sum = 0, total = 0, own = 0;
        for (int i = 0; i < size; i++)
            if (coin()) {
                members[count++] = round % 2 ? i : size - 1 - i;
                sum += members[count - 1];
            }
        for (int i = 0; i < count; i++) own |= members[i] == rank;
        MPI_Group group;
        MPI_Comm comm = MPI_COMM_WORLD;
        OK(MPI_Group_incl(world, count, members, &group));
        if (own) {
            OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &comm));
            OK(MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, comm));
            EQUAL(total, sum);
            OK(MPI_Comm_free(&comm));
        } else if (round % 3 == 0) {
            OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &comm));
            CHECK(comm == MPI_COMM_NULL, "not a member");
        }
        if (group != MPI_GROUP_EMPTY) OK(MPI_Group_free(&group));
    }
    OK(MPI_Group_free(&world));
    return finish();
}
