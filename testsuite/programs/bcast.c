// ranks: 1 2 3 4 8
// Broadcast: every root, sizes for every algorithm, different types of one signature
// (MPI-5.0 §6.4).
#include "check.h"

enum { MOST = 3 << 20 };

static unsigned char *buffer;

static void bytes(int length, int root) {
    if (rank == root)
        fill(buffer, (size_t)length, root);
    else
        memset(buffer, 0, (size_t)length);
    buffer[length] = 0xab;
    OK(MPI_Bcast(buffer, length, MPI_BYTE, root, MPI_COMM_WORLD));
    long long place = wrong_at(buffer, (size_t)length, root);
    CHECK(place < 0, "byte %lld of %d from root %d", place, length, root);
    EQUAL(buffer[length], 0xab);
}

// The root sends rows, the others receive a strided column: the signature is what must agree.
static void two_types(int words) {
    MPI_Datatype spread;
    int *data = (int *)buffer;
    OK(MPI_Type_vector(words, 1, 2, MPI_INT, &spread));
    OK(MPI_Type_commit(&spread));
    for (int i = 0; i < 2 * words; i++) data[i] = rank == 0 ? 3 * i : -1;
    if (rank == 0) {
        OK(MPI_Bcast(data, words, MPI_INT, 0, MPI_COMM_WORLD));
    } else {
        OK(MPI_Bcast(data, 1, spread, 0, MPI_COMM_WORLD));
        for (int i = 0; i < words; i++) EQUAL(data[2 * i], 3 * i);
        for (int i = 0; i + 1 < words; i++) EQUAL(data[2 * i + 1], -1);
    }
    OK(MPI_Type_free(&spread));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    buffer = malloc(MOST + 1);
    static const int lengths[] = {0, 1, 7, 40, 41, 1000, 8191, 12289, 65536, 100003, 524288, MOST};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int root = 0; root < size; root++) bytes(lengths[i], root);
    two_types(10);
    two_types(5000);
    two_types(100000);
    // Many in a row, without anything between them: they must not mix.
    for (int turn = 0; turn < 2000; turn++) {
        int value = rank == turn % size ? turn : -1;
        OK(MPI_Bcast(&value, 1, MPI_INT, turn % size, MPI_COMM_WORLD));
        EQUAL(value, turn);
    }
    free(buffer);
    return finish();
}
