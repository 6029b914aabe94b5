/* What an error says of a rank or a tag is what the program wrote, with the name that the number has in its ABI; so is
   an address that stands for something else. */
#include "check.h"
#include <mpi.h>
#include <string.h>

/* Whether an error says that its argument is this number, and has this name if any. */
static int says(int code, int number, const char *name)
{
    char text[MPI_MAX_ERROR_STRING], is[60];
    int length;
    if (code == MPI_SUCCESS || MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        return 0;
    snprintf(is, sizeof is, name ? " is %d (%s), " : " is %d, ", number, name);
    return strstr(text, is) != NULL;
}

static const char *rank_name(int rank)
{
    return rank == MPI_ANY_SOURCE ? "MPI_ANY_SOURCE"
           : rank == MPI_PROC_NULL ? "MPI_PROC_NULL"
           : rank == MPI_ROOT      ? "MPI_ROOT"
                                   : NULL;
}

int main(int argc, char **argv)
{
    int n, x = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (n = -6; n < 0; n++) {
        CHECK(says(MPI_Bcast(&x, 1, MPI_INT, n, MPI_COMM_WORLD), n, rank_name(n)));
        if (n != MPI_PROC_NULL)
            CHECK(says(MPI_Send(&x, 1, MPI_INT, n, 0, MPI_COMM_WORLD), n, rank_name(n)));
        CHECK(says(MPI_Send(&x, 1, MPI_INT, 0, n, MPI_COMM_WORLD), n, n == MPI_ANY_TAG ? "MPI_ANY_TAG" : NULL));
    }
    CHECK(says(MPI_Send(&x, 1, MPI_INT, 77, 0, MPI_COMM_WORLD), 77, NULL));
    MPI_Aint address;
    CHECK(MPI_Get_address(MPI_IN_PLACE, &address) == MPI_SUCCESS && address == (MPI_Aint)MPI_IN_PLACE);
    CHECK(MPI_Get_address(&x, &address) == MPI_SUCCESS && address == (MPI_Aint)&x);
    MPI_Finalize();
    puts(bad ? "bad" : "ok");
    return bad;
}
