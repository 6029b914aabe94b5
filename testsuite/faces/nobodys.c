/* Errors that belong to no object are MPI_COMM_SELF's (MPI-5.0 9.3), but MPI_COMM_WORLD's while the
 * program has set no handler on the former, as with MPICH 5. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) \
    ((condition) ? (void)0 : (printf("line %d: %s\n", __LINE__, #condition), exit(1)))

static int of_world, of_self;

static void hear(MPI_Comm *comm, int *code, ...)
{
    if (*comm == MPI_COMM_WORLD) of_world++;
    if (*comm == MPI_COMM_SELF) of_self++;
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler, attached;
    int size;
    MPI_Init(&argc, &argv);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Type_size(MPI_DATATYPE_NULL, &size) != MPI_SUCCESS);
    CHECK(MPI_Comm_create_errhandler(hear, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler) == MPI_SUCCESS);
    CHECK(MPI_Type_size(MPI_DATATYPE_NULL, &size) != MPI_SUCCESS);
    CHECK(of_world == 1 && of_self == 0);
    CHECK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &attached) == MPI_SUCCESS);
    CHECK(attached == MPI_ERRORS_ARE_FATAL);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler) == MPI_SUCCESS);
    CHECK(MPI_Type_size(MPI_DATATYPE_NULL, &size) != MPI_SUCCESS);
    CHECK(of_world == 1 && of_self == 1);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    MPI_Finalize();
    puts("ok");
    return 0;
}
