// ranks: 1 2
// What the library says about itself and its surroundings (MPI-5.0 §5.1, §10, §11.2.1).
#include "check.h"

static void info_of_the_start(int *argc, char **argv) {
    MPI_Info info;
    int keys = -1;
    OK(MPI_Info_create_env(*argc, argv, &info));
    OK(MPI_Info_get_nkeys(info, &keys));
    CHECK(keys >= 0, "%d keys", keys);
    OK(MPI_Info_free(&info));
}

static void types_by_precision(void) {
    MPI_Datatype type;
    int bytes = -1;
    OK(MPI_Type_create_f90_real(15, 300, &type));
    OK(MPI_Type_size(type, &bytes));
    EQUAL(bytes, 8);
    OK(MPI_Type_create_f90_integer(9, &type));
    OK(MPI_Type_size(type, &bytes));
    EQUAL(bytes, 4);
    OK(MPI_Type_create_f90_complex(6, 30, &type));
    OK(MPI_Type_size(type, &bytes));
    EQUAL(bytes, 8);
    MPI_Datatype pair;
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair));
    CHECK(pair == MPI_DOUBLE_INT, "the pair type of double and int");
    MPI_Count lower = -1, extent = -1;
    OK(MPI_Type_get_true_extent_x(MPI_DOUBLE_INT, &lower, &extent));
    EQUAL(lower, 0);
    EQUAL(extent, 12);
}

// Nobody spawned this job, and a library without a profiler of its own takes any level (§11.8, §15.2).
static void parents_and_levels(void) {
    MPI_Comm parent = MPI_COMM_WORLD;
    OK(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL, "a parent of a job that mpirun started");
    OK(MPI_Pcontrol(0));
    OK(MPI_Pcontrol(2, "levels may bring arguments of their own"));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    info_of_the_start(&argc, argv);
    types_by_precision();
    parents_and_levels();
    return finish();
}
