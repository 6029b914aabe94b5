// The last rank leaves the others alone: in a collective call that they have all made before, or with a message of
// another tag or communicator than theirs: leaves CALL BYTES.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 200 };

static int bytes;
static char *from, *into;

static void bcast(void) { MPI_Bcast(from, bytes, MPI_CHAR, 0, MPI_COMM_WORLD); }
static void gather(void) { MPI_Gather(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, 0, MPI_COMM_WORLD); }
static void scatter(void) { MPI_Scatter(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, 0, MPI_COMM_WORLD); }
static void allgather(void) { MPI_Allgather(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, MPI_COMM_WORLD); }
static void alltoall(void) { MPI_Alltoall(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, MPI_COMM_WORLD); }
static void reduce(void) { MPI_Reduce(from, into, bytes, MPI_CHAR, MPI_MAX, 0, MPI_COMM_WORLD); }
static void allreduce(void) { MPI_Allreduce(from, into, bytes, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD); }
static void blocks(void) { MPI_Reduce_scatter_block(from, into, bytes, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD); }
static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void wrong_tag(void) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) MPI_Recv(from, bytes, MPI_CHAR, size - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == size - 1) MPI_Send(from, bytes, MPI_CHAR, 0, 8, MPI_COMM_WORLD);
}

static void wrong_communicator(void) {
    int rank, size;
    MPI_Comm comm;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank == 0) MPI_Recv(from, bytes, MPI_CHAR, size - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == size - 1) MPI_Send(from, bytes, MPI_CHAR, 0, 7, comm);
}

static void begun(void) {
    MPI_Request request;
    MPI_Ibcast(from, bytes, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*call)(void);
    } calls[] = {{"bcast", bcast},       {"gather", gather},       {"scatter", scatter}, {"allgather", allgather},
                 {"alltoall", alltoall}, {"reduce", reduce},       {"allreduce", allreduce}, {"blocks", blocks},
                 {"barrier", barrier},   {"begun", begun},         {"wrong_tag", wrong_tag},
                 {"wrong_communicator", wrong_communicator}};
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 3) return 2;
    bytes = atoi(argv[2]);
    from = calloc(size, bytes), into = calloc(size, bytes);
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++)
        if (strcmp(argv[1], calls[k].name) == 0) {
            int is_collective = calls[k].call != wrong_tag && calls[k].call != wrong_communicator;
            int times = is_collective ? TOGETHER : 1;
            for (int i = 0; i < times || (is_collective && rank != size - 1); i++) calls[k].call();
        }
    MPI_Finalize();
    return 0;
}
