// ranks: 1 2
// Memory from the library, used for messages of every kind (MPI-5.0 §9.2).
#include "check.h"

// Other bytes each time, so that what is read or written in place of the memory shows.
static void exchange(unsigned char *memory, size_t half) {
    static int times;
    int other = size - 1 - rank, salt = 2 * times++;
    fill(memory, half, rank + salt);
    OK(MPI_Sendrecv(memory, (int)half, MPI_BYTE, other, 1, memory + half, (int)half, MPI_BYTE,
                    other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(wrong_at(memory + half, half, other + salt) < 0, "%zu bytes", half);
}

// Memory at the multiples that the program asks for (MPI-5.0 §9.2); what is asked for in vain is passed over.
static void aligned(void) {
    static const char *const wishes[] = {"128", "4096", "65536", "2097152", "96", "much"};
    static const size_t multiples[] = {128, 4096, 65536, 2097152, 128, 64};
    for (int i = 0; i < 6; i++) {
        MPI_Info info;
        unsigned char *memory[3];
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", wishes[i]));
        for (int j = 0; j < 3; j++) {
            OK(MPI_Alloc_mem(1000, info, &memory[j]));
            CHECK((size_t)memory[j] % multiples[i] == 0, "%s: %p", wishes[i], (void *)memory[j]);
        }
        exchange(memory[1], 500);
        for (int j = 0; j < 3; j++) OK(MPI_Free_mem(memory[j]));
        OK(MPI_Info_free(&info));
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    aligned();
    static const size_t halves[] = {1, 100, 4096, 65536, 1 << 20, 5 << 20};
    for (int turn = 0; turn < 5; turn++) {
        unsigned char *pieces[6];
        for (int i = 0; i < 6; i++) {
            OK(MPI_Alloc_mem((MPI_Aint)(2 * halves[i]), MPI_INFO_NULL, &pieces[i]));
            CHECK((size_t)pieces[i] % 64 == 0, "aligned to a line");
        }
        for (int i = 0; i < 6; i++) exchange(pieces[i], halves[i]);
        for (int times = 0; times < 20; times++) exchange(pieces[4], halves[4]);
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
