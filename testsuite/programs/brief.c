// ranks: 2 3 4
// Communicators that live for a few calls, of several sizes and several at a time: what lay in their memory
// before is not taken for news, and hundreds of them take no more memory than a few.
#include "check.h"

static long resident(void) {
    long all = 0, here = -1;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &all, &here) == 2, "no statm");
    if (file) fclose(file);
    return here;
}

// A few calls, short and long, whose results depend on the turn.
static void use(MPI_Comm comm, int turn, int count) {
    static double own[20000], sum[20000];
    int mine, members;
    OK(MPI_Comm_rank(comm, &mine));
    OK(MPI_Comm_size(comm, &members));
    double wanted = (double)members * turn + members * (members - 1) / 2.0;
    for (int i = 0; i < count; i++) own[i] = turn + mine;
    OK(MPI_Allreduce(own, sum, count, MPI_DOUBLE, MPI_SUM, comm));
    CHECK(sum[0] == wanted && sum[count - 1] == wanted, "turn %d: %g, not %g", turn, sum[count - 1], wanted);
    int from = turn % members, said = mine == from ? turn : -1;
    OK(MPI_Bcast(&said, 1, MPI_INT, from, comm));
    EQUAL(said, turn);
}

static void live(int turn) {
    MPI_Comm twin, part;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    use(twin, turn, turn % 7 ? 1 : 20000);
    OK(MPI_Comm_split(twin, rank % 2, rank, &part));
    use(part, turn, 3);
    if (turn % 3) OK(MPI_Comm_free(&twin));
    use(part, turn + 1, turn % 5 ? 2 : 9000);
    OK(MPI_Barrier(part));
    OK(MPI_Comm_free(&part));
    if (twin != MPI_COMM_NULL) OK(MPI_Comm_free(&twin));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int turns = 1500 / size;
    for (int turn = 0; turn < 100; turn++) live(turn);
    long before = resident();
    for (int turn = 100; turn < turns; turn++) live(turn);
    long grown = (resident() - before) * 4;
    CHECK(grown < 4096, "%ld KiB more are resident", grown);
    return finish();
}
