// A first contact of the kind that it is told, whose errors the program does not want to hear of.
#include <mpi.h>
#include <string.h>

static int rank, size, all[64];

static void ring(void) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Send(&rank, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
    MPI_Recv(all, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// What was sent is nobody's concern until the end.
static void forgotten(void) {
    if (rank == 0)
        for (int other = 1; other < size; other++) MPI_Send(&rank, 1, MPI_INT, other, 2, MPI_COMM_WORLD);
    else
        MPI_Recv(all, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void from_any(void) {
    if (rank == 0)
        for (int other = 1; other < size; other++)
            MPI_Recv(all, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&rank, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
}

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void bcast(void) { MPI_Bcast(all, 64, MPI_INT, 0, MPI_COMM_WORLD); }
static void reduce(void) { MPI_Reduce(&rank, all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); }
static void gather(void) { MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD); }
static void scatter(void) { MPI_Scatter(all, 1, MPI_INT, &(int){0}, 1, MPI_INT, 0, MPI_COMM_WORLD); }
static void scan(void) { MPI_Scan(&rank, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }

static void alltoall(void) {
    int own[64] = {0};
    MPI_Alltoall(own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*make)(void);
} kinds[] = {
    {"ring", ring},     {"forgotten", forgotten}, {"from_any", from_any}, {"barrier", barrier}, {"bcast", bcast},
    {"reduce", reduce}, {"gather", gather},       {"scatter", scatter},   {"scan", scan},       {"alltoall", alltoall},
};

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (argc > 1 && !strcmp(argv[1], kinds[i].name)) kinds[i].make();
    MPI_Finalize();
    return 0;
}
