/* A status keeps what the program wrote in its public fields when the library writes in the opaque part, and a
 * generalized request tells what its query function wrote, whatever that is (MPI-5.0 13.2, 13.3). */
#include <mpi.h>
#include <string.h>

#include "check.h"

static int value;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 2);
    MPI_Status_set_cancelled(status, 1);
    status->MPI_SOURCE = status->MPI_TAG = value;
    return MPI_SUCCESS;
}

static int release(void *state) { return state != NULL; }

static int cancel(void *state, int complete) { return state != NULL && complete; }

static void in_place(void)
{
    MPI_Status status;
    int count = -1, cancelled = -1;
    memset(&status, 0, sizeof status);
    status.MPI_SOURCE = status.MPI_TAG = value;
    status.MPI_ERROR = 12345;
    CHECK(MPI_Status_set_cancelled(&status, 1) == MPI_SUCCESS);
    CHECK(MPI_Status_set_elements(&status, MPI_INT, 3) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == 3);
    CHECK(MPI_Test_cancelled(&status, &cancelled) == MPI_SUCCESS && cancelled);
    CHECK(MPI_Status_set_elements_x(&status, MPI_INT, 4) == MPI_SUCCESS);
    CHECK(status.MPI_SOURCE == value && status.MPI_TAG == value && status.MPI_ERROR == 12345);
}

static void queried(void)
{
    MPI_Request request;
    MPI_Status status;
    int count = -1, cancelled = -1;
    status.MPI_ERROR = 12345;
    CHECK(MPI_Grequest_start(query, release, cancel, NULL, &request) == MPI_SUCCESS);
    CHECK(MPI_Grequest_complete(request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == 2);
    CHECK(MPI_Test_cancelled(&status, &cancelled) == MPI_SUCCESS && cancelled);
    CHECK(status.MPI_SOURCE == value && status.MPI_TAG == value && status.MPI_ERROR == 12345);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (value = -6; value < 2; value++) {
        in_place();
        queried();
    }
    MPI_Finalize();
    puts(bad ? "bad" : "ok");
    return bad;
}
