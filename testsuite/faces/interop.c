/* Every kind of handle as an integer and back, the statuses of use mpi_f08, and handles of objects
   whose chapters bring them later: windows' and sessions' error handlers and keys. */
#include "check.h"
#include <mpi.h>
#include <string.h>

static void made_by_the_program(void)
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Info info;
    MPI_Datatype type;
    MPI_Message message;
    MPI_Request request;
    int word = 5, flag = 0;

    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(comm)) == comm);
    CHECK(MPI_Comm_c2f(comm) != MPI_Comm_c2f(MPI_COMM_SELF));
    MPI_Comm_group(comm, &group);
    CHECK(MPI_Group_f2c(MPI_Group_c2f(group)) == group);
    MPI_Info_create(&info);
    CHECK(MPI_Info_f2c(MPI_Info_c2f(info)) == info);
    MPI_Type_contiguous(2, MPI_INT, &type);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(type)) == type);

    /* A matched message goes through an integer and is received by what came back. */
    MPI_Isend(&word, 1, MPI_INT, 0, 3, comm, &request);
    while (!flag)
        MPI_Improbe(0, 3, comm, &flag, &message, MPI_STATUS_IGNORE);
    message = MPI_Message_f2c(MPI_Message_c2f(message));
    word = 0;
    CHECK(MPI_Mrecv(&flag, 1, MPI_INT, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 5);
    CHECK(message == MPI_MESSAGE_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    MPI_Type_free(&type);
    MPI_Info_free(&info);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
}

static void null_ones(void)
{
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL);
    CHECK(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
    CHECK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
}

static void statuses(void)
{
    MPI_Status from, to;
    MPI_F08_status middle;
    MPI_Fint fortran[MPI_F_STATUS_SIZE];
    memset(&from, 0, sizeof from);
    memset(&to, 0xff, sizeof to);
    memset(&middle, 0, sizeof middle);
    from.MPI_SOURCE = 4;
    from.MPI_TAG = 5;
    from.MPI_ERROR = 6;
    CHECK(MPI_Status_c2f08(&from, &middle) == MPI_SUCCESS);
    CHECK(middle.MPI_SOURCE == 4 && middle.MPI_TAG == 5 && middle.MPI_ERROR == 6);
    CHECK(MPI_Status_f082f(&middle, fortran) == MPI_SUCCESS);
    CHECK(fortran[MPI_F_SOURCE] == 4 && fortran[MPI_F_TAG] == 5 && fortran[MPI_F_ERROR] == 6);
    memset(&middle, 0, sizeof middle);
    CHECK(MPI_Status_f2f08(fortran, &middle) == MPI_SUCCESS);
    CHECK(MPI_Status_f082c(&middle, &to) == MPI_SUCCESS);
    CHECK(memcmp(&from, &to, sizeof to) == 0);
    CHECK(MPI_Status_c2f(MPI_STATUS_IGNORE, fortran) != MPI_SUCCESS);
    CHECK(MPI_Status_c2f(&from, NULL) != MPI_SUCCESS);
    CHECK(MPI_Status_f2c(NULL, &to) != MPI_SUCCESS);
    CHECK(MPI_Status_f2c(fortran, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Status_c2f08(MPI_STATUS_IGNORE, &middle) != MPI_SUCCESS);
    CHECK(MPI_Status_f082c(&middle, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Status_f2f08(fortran, NULL) != MPI_SUCCESS);
    CHECK(MPI_Status_f082f(NULL, fortran) != MPI_SUCCESS);
}

static int copy(MPI_Win win, int key, void *extra, void *in, void *out, int *flag)
{
    return MPI_SUCCESS;
}

static int delete(MPI_Win win, int key, void *value, void *extra)
{
    return MPI_SUCCESS;
}

static void window_handler(MPI_Win *win, int *code, ...)
{
}

static void session_handler(MPI_Session *session, int *code, ...)
{
}

static void keys_and_handlers(void)
{
    int key = MPI_KEYVAL_INVALID, other = MPI_KEYVAL_INVALID;
    MPI_Errhandler handler;
    CHECK(MPI_Win_create_keyval(copy, delete, &key, NULL) == MPI_SUCCESS);
    CHECK(MPI_Win_create_keyval(copy, delete, &other, NULL) == MPI_SUCCESS);
    CHECK(key != MPI_KEYVAL_INVALID && key != other);
    CHECK(MPI_Win_free_keyval(&other) == MPI_SUCCESS && other == MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL) != MPI_SUCCESS);
    CHECK(MPI_Win_free_keyval(&key) == MPI_SUCCESS && key == MPI_KEYVAL_INVALID);
    CHECK(MPI_Win_create_errhandler(window_handler, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler) != MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS && handler == MPI_ERRHANDLER_NULL);
    CHECK(MPI_Session_create_errhandler(session_handler, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler) != MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS && handler == MPI_ERRHANDLER_NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    made_by_the_program();
    null_ones();
    statuses();
    keys_and_handlers();
    MPI_Finalize();
    if (!bad)
        puts("ok");
    return bad;
}
