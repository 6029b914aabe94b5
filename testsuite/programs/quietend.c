// ranks: 2
// The end of the last session waits for nobody who has received everything, whatever that does then outside
// MPI (MPI-5.0 §11.3.1, §11.2.2).
#define _POSIX_C_SOURCE 200809L
#include "outside.h"

int main(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int token = 0;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "end", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    // The first message makes the connection, so that the second needs nobody to look after it.
    if (rank == 1) {
        OK(MPI_Send(&token, 1, MPI_INT, 0, 0, comm));
        OK(MPI_Recv(outside, sizeof outside, MPI_CHAR, 0, 1, comm, MPI_STATUS_IGNORE));
    } else {
        make_outside(2);
        OK(MPI_Recv(&token, 1, MPI_INT, 1, 0, comm, MPI_STATUS_IGNORE));
        OK(MPI_Send(outside, sizeof outside, MPI_CHAR, 1, 1, comm));
        meet(1, 1);
    }
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
    // Rank 1 has ended its session before rank 0 begins to, and exits only when rank 0 has.
    if (rank == 1) meet(1, 1);
    meet(0, 0);
    if (rank == 0) {
        remove_outside(2);
        if (failures == 0) puts("ok");
    }
    return failures != 0;
}
