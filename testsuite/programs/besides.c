// ranks: 2
// The end of the world model beside a session waits until what was sent on its communicators is received, since
// nobody may look after it then (MPI-5.0 §11.2.2), and for nothing of the session (§11.3.1).
#define _POSIX_C_SOURCE 200809L
#include "outside.h"

enum { LONG = 1 << 20 };

static char body[LONG], late[LONG], room[LONG + MPI_BSEND_OVERHEAD];

int main(int argc, char **argv) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Request request;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "besides", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    OK(MPI_Group_free(&group));
    start(&argc, &argv);
    if (rank == 0) {
        make_outside(2);
        OK(MPI_Send(outside, sizeof outside, MPI_CHAR, 1, 0, MPI_COMM_WORLD));
        // What is sent in the session is received after the world's end.
        OK(MPI_Isend(late, LONG, MPI_CHAR, 1, 1, comm, &request));
        memset(body, 7, LONG);
        OK(MPI_Buffer_attach(room, sizeof room));
        OK(MPI_Bsend(body, LONG, MPI_CHAR, 1, 2, MPI_COMM_WORLD));
    } else {
        OK(MPI_Recv(outside, sizeof outside, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(body, LONG, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        EQUAL(body[LONG - 1], 7);
    }
    OK(MPI_Finalize());
    // Rank 0 goes on only when rank 1 has ended the world, and the other way round.
    meet(1, 0);
    meet(0, 1);
    if (rank == 0) {
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Recv(late, LONG, MPI_CHAR, 0, 1, comm, MPI_STATUS_IGNORE));
    }
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
    if (rank == 0) {
        remove_outside(2);
        if (failures == 0) puts("ok");
    }
    return failures != 0;
}
