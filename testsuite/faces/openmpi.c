/* What Open MPI's library has beside MPI: the persistent collectives of 4.1 before they had their names of MPI-4.0, the
 * functions of its Fortran modules, and its words for where a process may run. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <string.h>

#include "check.h"

int MPIX_Allreduce_init(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                        MPI_Info info, MPI_Request *request);
int PMPIX_Bcast_init(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                     MPI_Request *request);
int MPIX_Alltoallw_init(const void *send, const int *counts, const int *places, const MPI_Datatype *types, void *recv,
                        const int *recv_counts, const int *recv_places, const MPI_Datatype *recv_types, MPI_Comm comm,
                        MPI_Info info, MPI_Request *request);
void MPI_WTIME_F90(double *time);
void mpi_wtick_f90_(double *tick);
void MPI_AINT_ADD_F90(const MPI_Aint *base, const MPI_Aint *disp, MPI_Aint *sum);
void mpi_aint_diff_f90__(const MPI_Aint *one, const MPI_Aint *other, MPI_Aint *difference);
int OMPI_Affinity_str(int format, char *bound, char *current, char *exists);

/* Each is started twice. */
static void run(MPI_Request request, const int *result, int wanted)
{
    CHECK(request != MPI_REQUEST_NULL);
    for (int round = 0; round < 2; round++) {
        CHECK(MPI_Start(&request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(*result == wanted);
    }
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
}

static void persistent(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type = MPI_INT;
    int one = 7, got = 0, moved = 0, count = 1, place = 0;
    CHECK(MPIX_Allreduce_init(&one, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request) == MPI_SUCCESS);
    run(request, &got, 7);
    CHECK(PMPIX_Bcast_init(&one, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request) == MPI_SUCCESS);
    run(request, &one, 7);
    CHECK(MPIX_Alltoallw_init(&one, &count, &place, &type, &moved, &count, &place, &type, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &request) == MPI_SUCCESS);
    run(request, &moved, 7);
}

static void of_fortran(void)
{
    double before = MPI_Wtime(), time = 0, tick = 0;
    MPI_Aint base = 1000, other = 1, sum = 0, difference = 0;
    MPI_WTIME_F90(&time);
    CHECK(before <= time && time <= MPI_Wtime());
    mpi_wtick_f90_(&tick);
    CHECK(tick == MPI_Wtick());
    MPI_AINT_ADD_F90(&base, &other, &sum);
    mpi_aint_diff_f90__(&base, &other, &difference);
    CHECK(sum == 1001 && difference == 999);
}

static int count(const char *text, char wanted)
{
    int found = 0;
    for (; *text; text++) found += *text == wanted;
    return found;
}

static void affinity(void)
{
    char bound[1024], current[1024], exists[1024];
    cpu_set_t mask, one;
    int first = 0;
    CHECK(sched_getaffinity(0, sizeof mask, &mask) == 0);
    while (!CPU_ISSET(first, &mask)) first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK(OMPI_Affinity_str(0, bound, current, exists) == MPI_SUCCESS);
    CHECK(strlen(bound) > 0);
    CHECK(strstr(current, "socket ") == current && strstr(current, "[hwt "));
    CHECK(strstr(exists, "socket 0 has ") == exists);
    CHECK(OMPI_Affinity_str(1, bound, current, exists) == MPI_SUCCESS);
    CHECK(count(current, 'B') == 1 && count(exists, 'B') == 0);
    CHECK(count(exists, '.') == count(current, '.') + 1);
    CHECK(sched_setaffinity(0, sizeof mask, &mask) == 0);
    CHECK(OMPI_Affinity_str(2, bound, current, exists) == MPI_ERR_ARG);
    CHECK(!*bound && !*current && !*exists);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    persistent();
    of_fortran();
    affinity();
    MPI_Finalize();
    puts(bad ? "bad" : "ok");
    return bad;
}
