// ranks: 1 2
// Where there is no memory for what the library needs besides the program's buffers, the call fails with MPI_ERR_NO_MEM
// and the process goes on (MPI-5.0 §9.4). The buffers are never touched, so that they cost addresses alone.
#include "check.h"
#include <sys/resource.h>
#include <unistd.h>

#define MANY (1 << 25)
#define ROOM ((rlim_t)48 << 20)

// Allows so many bytes of addresses more than there are now.
static void limit(rlim_t room) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1) MPI_Abort(MPI_COMM_WORLD, 3);
    fclose(file);
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = room == RLIM_INFINITY ? limit.rlim_max : pages * (rlim_t)sysconf(_SC_PAGESIZE) + room;
    setrlimit(RLIMIT_AS, &limit);
}

static void accumulate(void) {
    MPI_Win window;
    MPI_Datatype gaps;
    int *at = NULL, *origin = malloc(MANY * sizeof *origin);
    MPI_Aint bytes = 2L * MANY * (MPI_Aint)sizeof *at;
    OK(MPI_Win_allocate_shared(bytes, sizeof *at, MPI_INFO_NULL, MPI_COMM_SELF, &at, &window));
    OK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
    OK(MPI_Type_vector(MANY, 1, 2, MPI_INT, &gaps));
    OK(MPI_Type_commit(&gaps));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
    limit(ROOM);
    FAILS(MPI_Accumulate(origin, MANY, MPI_INT, 0, 0, 1, gaps, MPI_SUM, window), MPI_ERR_NO_MEM);
    limit(RLIM_INFINITY);
    int one = 1;
    OK(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window));
    OK(MPI_Win_unlock(0, window));
    EQUAL(at[0], 1);
    OK(MPI_Win_free(&window));
    OK(MPI_Type_free(&gaps));
    free(origin);
}

static void reduce_scatter(void) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    int *buffer = malloc((size_t)size * MANY * sizeof *buffer);
    OK(MPI_Barrier(comm));
    limit(ROOM);
    FAILS(MPI_Reduce_scatter_block(MPI_IN_PLACE, buffer, MANY, MPI_INT, MPI_SUM, comm), MPI_ERR_NO_MEM);
    limit(RLIM_INFINITY);
    free(buffer);
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    accumulate();
    // One process has nothing to keep.
    if (size > 1) reduce_scatter();
    return finish();
}
