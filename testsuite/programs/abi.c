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

int main(int argc, char **argv) {
    start(&argc, &argv);
    abi();
    return finish();
}
