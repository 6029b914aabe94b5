// Asks for more than there is and looks at no error: lacks [session].
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void by_session(void)
{
    MPI_Info info;
    MPI_Session session;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    MPI_Session_init(info, MPI_ERRORS_RETURN, &session);
    MPI_Info_free(&info);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    int provided;
    if (argc > 1 && strcmp(argv[1], "session") == 0)
        by_session();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int turn = 0; turn < 3; turn++) {
        char port[MPI_MAX_PORT_NAME];
        MPI_Comm children;
        MPI_Comm_spawn("worker", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                       MPI_ERRCODES_IGNORE);
        MPI_Open_port(MPI_INFO_NULL, port);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm children;
    if (argc > 1 && strcmp(argv[1], "fatal") == 0)
        MPI_Comm_spawn_multiple(0, NULL, NULL, NULL, NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    MPI_Finalize();
    return 0;
}
