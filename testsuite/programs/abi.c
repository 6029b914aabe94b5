// ranks: 1
// What the library says of its binary interface (MPI-5.0 §20).
#include "check.h"

static void abi(void) {
    MPI_Info info;
    int keys = -1, flag = 0, length = 64;
    char text[64];
    OK(MPI_Abi_get_info(&info));
    OK(MPI_Info_get_nkeys(info, &keys));
    CHECK(keys >= 1, "%d keys", keys);
    OK(MPI_Info_get_string(info, "mpi_aint_size", &length, text, &flag));
    CHECK(!flag || atoi(text) == (int)sizeof(MPI_Aint), "MPI_Aint of %s bytes", text);
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    abi();
    return finish();
}
