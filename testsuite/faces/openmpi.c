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

/* Floats of 16 bits, as mpi4py names them (MPIX_SHORT_FLOAT and MPIX_C_SHORT_FLOAT_COMPLEX). */
extern struct ompi_predefined_datatype_t ompi_mpi_short_float, ompi_mpi_c_short_float_complex;

static void short_floats(void)
{
    MPI_Datatype real = (MPI_Datatype)(void *)&ompi_mpi_short_float;
    MPI_Datatype complex = (MPI_Datatype)(void *)&ompi_mpi_c_short_float_complex;
    unsigned short one[2] = {0x3c00, 0x4000}, two[2] = {0};
    int size = 0;
    CHECK(MPI_Type_size(real, &size) == MPI_SUCCESS && size == 2);
    CHECK(MPI_Type_size(complex, &size) == MPI_SUCCESS && size == 4);
    CHECK(MPI_Allreduce(one, two, 2, real, MPI_SUM, MPI_COMM_SELF) == MPI_SUCCESS && two[1] == 0x4000);
    two[0] = 0;
    CHECK(MPI_Reduce_local(one, two, 1, complex, MPI_SUM) == MPI_SUCCESS && two[0] == 0x3c00 && two[1] == 0x4400);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(real)) == real);
}

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
    short_floats();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    persistent();
    of_fortran();
    affinity();
    MPI_Finalize();
    puts(bad ? "bad" : "ok");
    return bad;
}
