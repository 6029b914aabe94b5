// ranks: 1 2 4
// No core file holds what processes share: each would write all of its own and of its peers'.
#include "check.h"

// Says of each mapping of shared memory whether the kernel keeps it out of core files.
static void look(void) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    CHECK(maps, "no smaps");
    if (!maps) return;
    char line[1024], name[1024] = "";
    int shared = 0;
    while (fgets(line, sizeof line, maps)) {
        if (strchr(line, '-') && strstr(line, "memfd:ferrite")) {
            memcpy(name, line, sizeof name);
            shared++;
        } else if (strchr(line, '-') && strstr(line, " rw-")) {
            *name = 0;
        } else if (*name && !strncmp(line, "VmFlags:", 8)) {
            CHECK(strstr(line, " dd"), "in core files: %s", name);
            *name = 0;
        }
    }
    fclose(maps);
    // The own memory and that of each other, all of whom have met in a barrier.
    CHECK(shared >= size, "%d mappings of %d processes", shared, size);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Win window;
    void *base;
    OK(MPI_Win_allocate_shared(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window));
    for (int other = 0; other < size; other++)
        OK(MPI_Sendrecv(&rank, 1, MPI_INT, other, 1, &(int){0}, 1, MPI_INT, other, 1, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
    look();
    OK(MPI_Win_free(&window));
    return finish();
}
