// ranks: 1 2 4
// Nonblocking send and receive in one call, in place too (MPI-5.0 §3.10).
#include "check.h"

enum { MOST = 1 << 18 };

static unsigned char in[MOST], out[MOST];
static const int lengths[] = {0, 3, 5000, MOST};

static void shifted(int length) {
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Status status;
    MPI_Request request;
    fill(out, (size_t)length, rank + 40);
    OK(MPI_Isendrecv(out, length, MPI_BYTE, left, 3, in, MOST, MPI_BYTE, right, 3, MPI_COMM_WORLD,
                     &request));
    OK(MPI_Wait(&request, &status));
    CHECK(wrong_at(in, (size_t)length, right + 40) < 0, "Isendrecv of %d", length);
    fill(out, (size_t)length, rank + 80);
    OK(MPI_Isendrecv_replace(out, length, MPI_BYTE, left, 4, right, 4, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(wrong_at(out, (size_t)length, right + 80) < 0, "Isendrecv_replace of %d", length);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int i = 0; i < 4; i++) shifted(lengths[i]);
    return finish();
}
