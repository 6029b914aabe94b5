// ranks: 2
// The end of the last session waits for nobody who has received everything, whatever that does then outside
// MPI (MPI-5.0 §11.3.1, §11.2.2).
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

// One tells the other outside MPI that it is so far.
static void meet(int teller, const char *name) {
    char word = '!';
    int pipe = open(name, rank == teller ? O_WRONLY : O_RDONLY);
    CHECK(pipe >= 0, "%s does not open", name);
    EQUAL(rank == teller ? write(pipe, &word, 1) : read(pipe, &word, 1), 1);
    close(pipe);
}

int main(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int number = (int)getpid();
    char names[2][64];
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "end", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    // The first message makes the connection, so that the second needs nobody to look after it.
    if (rank == 1) {
        OK(MPI_Send(&number, 1, MPI_INT, 0, 0, comm));
        OK(MPI_Recv(&number, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
    } else {
        int other;
        OK(MPI_Recv(&other, 1, MPI_INT, 1, 0, comm, MPI_STATUS_IGNORE));
    }
    for (int ender = 0; ender < 2; ender++) {
        snprintf(names[ender], sizeof names[ender], "/tmp/ferrite-quietend-%d-%d", number, ender);
        if (rank == 0) CHECK(mkfifo(names[ender], 0600) == 0, "there is no %s", names[ender]);
    }
    if (rank == 0) {
        OK(MPI_Send(&number, 1, MPI_INT, 1, 1, comm));
        meet(1, names[1]);
    }
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
    // Rank 1 has ended its session before rank 0 begins to, and exits only when rank 0 has.
    if (rank == 1) meet(1, names[1]);
    meet(0, names[0]);
    if (rank == 0) {
        for (int ender = 0; ender < 2; ender++) unlink(names[ender]);
        if (failures == 0) puts("ok");
    }
    return failures != 0;
}
