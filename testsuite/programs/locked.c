// ranks: 1 2 4
// A program that locks all its memory pays for what it uses, not for what it could: before and after,
// messages, segments, windows and memory from the library work.
#include "check.h"
#include <sys/mman.h>

// Mebibytes that are resident and mebibytes of addresses.
static void sizes(long *resident, long *addresses) {
    FILE *file = fopen("/proc/self/statm", "r");
    *resident = *addresses = -1;
    CHECK(file && fscanf(file, "%ld %ld", addresses, resident) == 2, "no statm");
    if (file) fclose(file);
    *resident = *resident * 4 / 1024;
    *addresses = *addresses * 4 / 1024;
}

static void talk(size_t half) {
    int other = (rank + 1) % size, before = (rank + size - 1) % size, sum = 1;
    unsigned char *memory;
    MPI_Comm twin;
    MPI_Win window;
    int *base;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    OK(MPI_Alloc_mem((MPI_Aint)(2 * half), MPI_INFO_NULL, &memory));
    fill(memory, half, rank);
    OK(MPI_Sendrecv(memory, (int)half, MPI_BYTE, other, 1, memory + half, (int)half, MPI_BYTE, before, 1, twin,
                    MPI_STATUS_IGNORE));
    CHECK(wrong_at(memory + half, half, before) < 0, "%zu bytes", half);
    OK(MPI_Free_mem(memory));
    OK(MPI_Win_allocate_shared(4096, sizeof(int), MPI_INFO_NULL, twin, &base, &window));
    OK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, twin));
    EQUAL(sum, size);
    OK(MPI_Win_free(&window));
    OK(MPI_Comm_free(&twin));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    long resident, addresses;
    talk(100000);
    sizes(&resident, &addresses);
    // Nothing is reserved by gigabytes.
    CHECK(addresses < 600, "%ld MiB of addresses", addresses);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) == 0) {
        sizes(&resident, &addresses);
        CHECK(resident < 80 + 20 * size, "%ld MiB are resident", resident);
        talk(2000000);
        sizes(&resident, &addresses);
        CHECK(resident < 100 + 30 * size, "%ld MiB are resident", resident);
    }
    return finish();
}
