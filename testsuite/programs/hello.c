// ranks: 1 2 4 8
// Start, identity and end (MPI-5.0 §11.2, §9.1).
#include "check.h"

int main(int argc, char **argv) {
    int flag = -1;
    OK(MPI_Initialized(&flag));
    EQUAL(flag, 0);
    start(&argc, &argv);
    OK(MPI_Initialized(&flag));
    EQUAL(flag, 1);
    OK(MPI_Finalized(&flag));
    EQUAL(flag, 0);
    CHECK(size >= 1 && rank >= 0 && rank < size, "rank %d of %d", rank, size);

    int self_rank = -1, self_size = -1;
    OK(MPI_Comm_rank(MPI_COMM_SELF, &self_rank));
    OK(MPI_Comm_size(MPI_COMM_SELF, &self_size));
    EQUAL(self_rank, 0);
    EQUAL(self_size, 1);

    int version = 0, subversion = -1, length = -1;
    OK(MPI_Get_version(&version, &subversion));
    EQUAL(version, MPI_VERSION);
    EQUAL(subversion, MPI_SUBVERSION);
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    OK(MPI_Get_library_version(library, &length));
    EQUAL(strlen(library), length);
    CHECK(length > 0, "the library has a name");
    char processor[MPI_MAX_PROCESSOR_NAME];
    OK(MPI_Get_processor_name(processor, &length));
    EQUAL(strlen(processor), length);

    double before = MPI_Wtime(), tick = MPI_Wtick();
    CHECK(tick > 0 && tick < 1, "a tick of %g s", tick);
    double after = before;
    for (long tries = 0; after == before && tries < 100000000; tries++) after = MPI_Wtime();
    CHECK(after > before, "time goes on");

    int *tag_ub = NULL;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag));
    CHECK(flag && *tag_ub >= 32767, "MPI_TAG_UB is at least 32767");

    // Everybody greets rank 0, with the rank as both tag and data.
    if (rank != 0) {
        OK(MPI_Send(&rank, 1, MPI_INT, 0, rank, MPI_COMM_WORLD));
    } else {
        for (int other = 1; other < size; other++) {
            MPI_Status status;
            int greeting = -1;
            OK(MPI_Recv(&greeting, 1, MPI_INT, other, other, MPI_COMM_WORLD, &status));
            EQUAL(greeting, other);
            EQUAL(status.MPI_SOURCE, other);
            EQUAL(status.MPI_TAG, other);
        }
    }
    int code = finish();
    MPI_Finalized(&flag);
    return code || flag != 1;
}
