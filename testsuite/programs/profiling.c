// ranks: 1 2
// A tool between program and library: it defines MPI_X and calls PMPI_X (MPI-5.0 §15.2).
#include "check.h"

static int sends, receives, reductions, bytes;

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
    int each = 0;
    PMPI_Type_size(type, &each);
    sends++;
    bytes += count * each;
    return PMPI_Send(buffer, count, type, dest, tag, comm);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status) {
    receives++;
    return PMPI_Recv(buffer, count, type, source, tag, comm, status);
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
    reductions++;
    return PMPI_Allreduce(in, out, count, type, op, comm);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int word = rank, got = -1, sum = -1, other = size - 1 - rank;
    if (size == 1) {
        OK(MPI_Sendrecv(&word, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        EQUAL(sends, 0); // the library's own work does not go through the tool
    } else if (rank == 0) {
        OK(MPI_Send(&word, 1, MPI_INT, other, 1, MPI_COMM_WORLD));
        OK(MPI_Recv(&got, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Recv(&got, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Send(&word, 1, MPI_INT, other, 1, MPI_COMM_WORLD));
    }
    EQUAL(got, other);
    OK(MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    EQUAL(sum, size * (size - 1) / 2);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    EQUAL(sends, size - 1);
    EQUAL(receives, size - 1);
    EQUAL(bytes, (size - 1) * (int)sizeof(int));
    EQUAL(reductions, 1);
    return finish();
}
