/* What Open MPI says of error classes that MPI lacks, and of error handlers that are none (MPI-5.0 9.3 to 9.5). */
#include <mpi.h>
#include <string.h>

#include "check.h"

static int class_of(int code)
{
    int class = -1;
    CHECK(MPI_Error_class(code, &class) == MPI_SUCCESS);
    return class;
}

static void classes(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int code, class = -1, length;
    for (code = 0; code <= MPI_ERR_LASTCODE; code++) {
        CHECK(class_of(code) == (code <= MPI_ERR_VALUE_TOO_LARGE ? code : MPI_ERR_UNKNOWN));
        CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS);
        CHECK(length > 0 && strlen(text) == (size_t)length);
    }
    CHECK(MPI_Error_string(MPI_ERR_PROC_FAILED, text, &length) == MPI_SUCCESS);
    CHECK(strstr(text, "MPI_ERR_PROC_FAILED") == text);
    CHECK(MPI_Error_class(MPI_ERR_LASTCODE + 1, &class) == MPI_ERR_ARG);
    CHECK(MPI_Add_error_code(MPI_ERR_REVOKED, &code) == MPI_SUCCESS && code == MPI_ERR_LASTCODE + 1);
    CHECK(class_of(code) == MPI_ERR_REVOKED);
}

static void last_used(int wanted)
{
    int *last, flag;
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag) == MPI_SUCCESS);
    CHECK(flag && *last == wanted);
}

static void handlers(void)
{
    MPI_Errhandler none = MPI_ERRHANDLER_NULL;
    CHECK(class_of(MPI_Comm_set_errhandler(MPI_COMM_SELF, none)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Errhandler_free(&none)) == MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    last_used(MPI_ERR_LASTCODE);
    classes();
    last_used(MPI_ERR_LASTCODE + 1);
    handlers();
    MPI_Finalize();
    puts(bad ? "bad" : "ok");
    return bad;
}
