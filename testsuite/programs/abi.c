// ranks: 1
// What the library says of its binary interface (MPI-5.0 §20).
#include "check.h"

static void size_is(MPI_Info info, const char *key, size_t bytes) {
    int flag = 0, length = 64;
    char text[64] = "";
    OK(MPI_Info_get_string(info, key, &length, text, &flag));
    CHECK(flag && atoi(text) == (int)bytes, "%s is “%s”, not %zu", key, text, bytes);
}

static void abi(void) {
    MPI_Info info;
    int keys = -1;
    OK(MPI_Abi_get_info(&info));
    OK(MPI_Info_get_nkeys(info, &keys));
    CHECK(keys == 3, "%d keys", keys);
    size_is(info, "mpi_aint_size", sizeof(MPI_Aint));
    size_is(info, "mpi_count_size", sizeof(MPI_Count));
    size_is(info, "mpi_offset_size", sizeof(MPI_Offset));
    OK(MPI_Info_free(&info));
}

// Fortran's truth values can be set once; the sizes of its types not at all.
static void fortran(void) {
    int yes = 7, no = 7, is_set = -1, keys = -1;
    MPI_Info info;
    OK(MPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &is_set));
    EQUAL(is_set, 0);
    FAILS(MPI_Abi_get_fortran_booleans(3, &yes, &no, &is_set), MPI_ERR_ARG);
    FAILS(MPI_Abi_get_fortran_booleans(sizeof yes, NULL, &no, &is_set), MPI_ERR_ARG);
    FAILS(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, NULL), MPI_ERR_ARG);
    yes = -1;
    no = 0;
    OK(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no));
    yes = no = 7;
    OK(MPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &is_set));
    CHECK(is_set == 1 && yes == -1 && no == 0, "%d: %d and %d", is_set, yes, no);
    FAILS(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no), MPI_ERR_ABI);
    OK(MPI_Abi_get_fortran_info(&info));
    OK(MPI_Info_get_nkeys(info, &keys));
    CHECK(keys > 4, "%d keys", keys);
    size_is(info, "mpi_logical_size", 4);
    size_is(info, "mpi_double_precision_size", 8);
    FAILS(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
    OK(MPI_Info_free(&info));
}

// Reductions go by the values that were set, which other libraries' Fortran interfaces rely on.
static void reduced(void) {
    int logicals[4] = {-1, 0, -1, 0}, sums[4] = {-1, -1, 0, 0};
    signed char short_ones[2] = {-1, 0}, into[2] = {0, 0};
    _Bool bools[2] = {1, 0}, or[2] = {1, 0};
    OK(MPI_Reduce_local(logicals, sums, 4, MPI_LOGICAL, MPI_LAND));
    CHECK(sums[0] == -1 && !sums[1] && !sums[2] && !sums[3], "%d %d", sums[0], sums[1]);
    OK(MPI_Reduce_local(logicals, sums, 4, MPI_LOGICAL, MPI_LXOR));
    CHECK(!sums[0] && !sums[1] && sums[2] == -1 && !sums[3], "%d %d", sums[0], sums[2]);
    OK(MPI_Reduce_local(short_ones, into, 2, MPI_LOGICAL1, MPI_LOR));
    CHECK(into[0] == -1 && into[1] == 0, "%d %d", into[0], into[1]);
    OK(MPI_Reduce_local(bools, or, 2, MPI_C_BOOL, MPI_LOR));
    CHECK(*(char *)&or[0] == 1 && !or[1], "C has its own truth values");
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    abi();
    fortran();
    reduced();
    return finish();
}
