/* Arrays of results that lie nowhere: an error, and the requests stay. Where MPI_STATUSES_IGNORE is no null
 * pointer, a null pointer is a mistake (MPI-5.0 3.2.6). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) \
    ((condition) ? (void)0 : (printf("line %d: %s\n", __LINE__, #condition), exit(1)))

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

int main(int argc, char **argv)
{
    MPI_Request request;
    MPI_Status status;
    int in = 0, out = 5, index = 0, count = 0, flag = 0;
    int null_is_ignored = MPI_STATUSES_IGNORE == NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request) == MPI_SUCCESS);
    CHECK(MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK(class_of(MPI_Waitsome(1, &request, &count, NULL, MPI_STATUSES_IGNORE)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Testsome(1, &request, &count, NULL, MPI_STATUSES_IGNORE)) == MPI_ERR_ARG);
    if (!null_is_ignored) {
        CHECK(class_of(MPI_Waitall(1, &request, NULL)) == MPI_ERR_ARG);
        CHECK(class_of(MPI_Testall(1, &request, &flag, NULL)) == MPI_ERR_ARG);
        CHECK(class_of(MPI_Waitany(1, &request, &index, NULL)) == MPI_ERR_ARG);
        CHECK(class_of(MPI_Testany(1, &request, &index, &flag, NULL)) == MPI_ERR_ARG);
        CHECK(class_of(MPI_Waitsome(1, &request, &count, &index, NULL)) == MPI_ERR_ARG);
        CHECK(class_of(MPI_Testsome(1, &request, &count, &index, NULL)) == MPI_ERR_ARG);
    }
    CHECK(MPI_Waitall(0, NULL, NULL) == MPI_SUCCESS);
    CHECK(request != MPI_REQUEST_NULL);
    CHECK(MPI_Waitall(1, &request, &status) == MPI_SUCCESS);
    CHECK(in == 5 && request == MPI_REQUEST_NULL);
    MPI_Finalize();
    puts("ok");
    return 0;
}
