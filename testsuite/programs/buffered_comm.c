// ranks: 1 2
// Buffers of a communicator, and buffers that the library provides (MPI-5.0 §3.6).
#include "check.h"

enum { LENGTH = 20000 };

static unsigned char in[LENGTH], out[LENGTH];

static void exchange(MPI_Comm comm, int seed) {
    int other = size - 1 - rank;
    fill(out, LENGTH, seed + rank);
    OK(MPI_Bsend(out, LENGTH, MPI_BYTE, other, 3, comm));
    memset(out, 0, LENGTH);
    OK(MPI_Recv(in, LENGTH, MPI_BYTE, other, 3, comm, MPI_STATUS_IGNORE));
    CHECK(wrong_at(in, LENGTH, seed + other) < 0, "seed %d", seed);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    int room = LENGTH + MPI_BSEND_OVERHEAD, length = -1;
    char *buffer = malloc((size_t)room);
    void *detached = NULL;

    // The communicator's own buffer serves it; the process has none.
    OK(MPI_Comm_attach_buffer(comm, buffer, room));
    exchange(comm, 1);
    OK(MPI_Comm_flush_buffer(comm));
    exchange(comm, 2);
    OK(MPI_Comm_detach_buffer(comm, &detached, &length));
    CHECK(detached == buffer, "the communicator's buffer comes back");
    EQUAL(length, room);

    // Automatic buffering, for one communicator and for the process.
    OK(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
    for (int i = 0; i < 20; i++) exchange(comm, i);
    OK(MPI_Comm_detach_buffer(comm, &detached, &length));
    CHECK(detached == MPI_BUFFER_AUTOMATIC, "the automatic buffer comes back as itself");
    OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
    for (int i = 0; i < 20; i++) exchange(MPI_COMM_WORLD, i);
    OK(MPI_Buffer_flush());
    OK(MPI_Buffer_detach(&detached, &length));
    CHECK(detached == MPI_BUFFER_AUTOMATIC, "the automatic buffer comes back as itself");

    OK(MPI_Comm_free(&comm));
    free(buffer);
    return finish();
}
