// ranks: 1 2
// Statuses for Fortran, in C (MPI-5.0 19.3.5): conversions keep what a status tells, and the special
// statuses of Fortran are known to both languages.
#include "check.h"
#include <mpi.h> // a second time, as programs do

// The entry point of Fortran, under gfortran's name for it.
extern void mpi_recv_(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *,
                      MPI_Fint *, MPI_Fint *);

static void converted(MPI_Status *status) {
    MPI_Fint old[MPI_F_STATUS_SIZE], again[MPI_F_STATUS_SIZE];
    MPI_F08_status modern;
    MPI_Status back;
    int count;
    OK(MPI_Status_c2f(status, old));
    EQUAL(old[MPI_F_SOURCE], rank);
    EQUAL(old[MPI_F_TAG], 9);
    old[MPI_F_TAG] = 10;
    OK(MPI_Status_f2f08(old, &modern));
    EQUAL(modern.MPI_TAG, 10);
    OK(MPI_Status_f082f(&modern, again));
    CHECK(memcmp(old, again, sizeof old) == 0, "nothing is lost on the way");
    OK(MPI_Status_f082c(&modern, &back));
    OK(MPI_Status_c2f08(&back, &modern));
    OK(PMPI_Status_f2c(again, &back));
    EQUAL(back.MPI_SOURCE, rank);
    EQUAL(back.MPI_TAG, 10);
    OK(MPI_Get_count(&back, MPI_INT, &count));
    EQUAL(count, 3);
}

static void ignored(void) {
    MPI_Fint *specials[] = {MPI_F_STATUS_IGNORE, MPI_F_STATUSES_IGNORE};
    MPI_Fint before[2 * MPI_F_STATUS_SIZE];
    memcpy(before, specials[0], sizeof before);
    CHECK(specials[0] != specials[1], "one status and several are told apart");
    for (int i = 0; i < 2; i++) {
        MPI_Status status;
        CHECK(MPI_Status_f2c(specials[i], &status) != MPI_SUCCESS, "nothing is read from it");
        int sent = 5, got = 0;
        MPI_Fint one = 1, type = MPI_Type_toint(MPI_INT), from = rank, tag = 3, code = -1;
        MPI_Fint comm = MPI_Comm_toint(MPI_COMM_WORLD);
        MPI_Request request;
        OK(MPI_Isend(&sent, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &request));
        mpi_recv_(&got, &one, &type, &from, &tag, &comm, specials[i], &code);
        EQUAL(code, MPI_SUCCESS);
        EQUAL(got, 5);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    CHECK(memcmp(before, specials[0], sizeof before) == 0, "nothing is written to it");
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int sent[3] = {1, 2, 3}, got[3];
    MPI_Status status;
    OK(MPI_Sendrecv(sent, 3, MPI_INT, rank, 9, got, 3, MPI_INT, rank, 9, MPI_COMM_WORLD, &status));
    converted(&status);
    ignored();
    return finish();
}
