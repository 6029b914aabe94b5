// ranks: 1 2
// Memory from the library, used for messages of every kind (MPI-5.0 §9.2).
#include "check.h"

static void exchange(unsigned char *memory, size_t half) {
    int other = size - 1 - rank;
    fill(memory, half, rank);
    OK(MPI_Sendrecv(memory, (int)half, MPI_BYTE, other, 1, memory + half, (int)half, MPI_BYTE,
                    other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(wrong_at(memory + half, half, other) < 0, "%zu bytes", half);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    static const size_t halves[] = {1, 100, 4096, 65536, 1 << 20, 5 << 20};
    for (int turn = 0; turn < 5; turn++) {
        unsigned char *pieces[6];
        for (int i = 0; i < 6; i++) {
            OK(MPI_Alloc_mem((MPI_Aint)(2 * halves[i]), MPI_INFO_NULL, &pieces[i]));
            CHECK((size_t)pieces[i] % 16 == 0, "aligned for everything");
        }
        for (int i = 0; i < 6; i++) exchange(pieces[i], halves[i]);
        for (int i = 5; i >= 0; i--) OK(MPI_Free_mem(pieces[(i * 5 + turn) % 6]));
    }
    // From the library's memory into the program's own, and out of its middle.
    unsigned char *memory;
    static unsigned char own[300000];
    int other = size - 1 - rank;
    OK(MPI_Alloc_mem(400000, MPI_INFO_NULL, &memory));
    fill(memory + 777, sizeof own, rank + 5);
    OK(MPI_Sendrecv(memory + 777, sizeof own, MPI_BYTE, other, 2, own, sizeof own, MPI_BYTE, other,
                    2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(wrong_at(own, sizeof own, other + 5) < 0, "out of the middle");
    OK(MPI_Free_mem(memory));
    void *nothing = NULL;
    OK(MPI_Alloc_mem(0, MPI_INFO_NULL, &nothing));
    return finish();
}
