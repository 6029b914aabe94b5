/* What a process pays for each other process that it talks to: every rank exchanges one empty message
   with every other, in the manner of a ring, so that nobody is flooded. Rows: how long that took a rank
   on average; the private memory of a rank (Private_Clean and Private_Dirty of its
   /proc/self/smaps_rollup) before and after, the average and the largest; the growth for each
   peer of what was written: pages of files are private only as long as no other process has them;
   and its threads.
   `mpirun --report` says by how many connections that was. */
#include <mpi.h>

#include "bench.h"

struct memory {
    double all, written; /* KiB */
};

/* The private memory of this process, and what of it has been written. */
static struct memory private_memory(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    double clean = -1, dirty = -1;
    if (!file)
        complain("the kernel does not tell of this process's memory");
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "Private_Clean: %lf", &clean);
        sscanf(line, "Private_Dirty: %lf", &dirty);
    }
    fclose(file);
    if (clean < 0 || dirty < 0)
        complain("the kernel does not tell of private memory");
    return (struct memory){ clean + dirty, dirty };
}

/* The threads of this process. */
static double threads(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double count = -1;
    if (!file)
        complain("the kernel does not tell of this process");
    while (fgets(line, sizeof line, file))
        sscanf(line, "Threads: %lf", &count);
    fclose(file);
    return count;
}

/* Each rank goes round the others; so many steps are under way together. */
static void exchange(int rank, int size, int window)
{
    MPI_Request *requests = malloc(2 * (size_t)window * sizeof *requests);
    for (int step = 1, n = 0; step < size; step++) {
        int to = (rank + step) % size, from = (rank + size - step) % size;
        MPI_Irecv(NULL, 0, MPI_BYTE, from, 1, MPI_COMM_WORLD, &requests[n++]);
        MPI_Isend(NULL, 0, MPI_BYTE, to, 1, MPI_COMM_WORLD, &requests[n++]);
        if (n < 2 * window && step + 1 < size)
            continue;
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        n = 0;
    }
    free(requests);
}

static void tell(const char *test, const char *variant, double mine, int rank, int size,
                 const char *unit)
{
    double sum, most;
    char name[64];
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank)
        return;
    snprintf(name, sizeof name, "%s-average", variant);
    row(test, name, -1, sum / size, unit);
    snprintf(name, sizeof name, "%s-most", variant);
    row(test, name, -1, most, unit);
}

int main(int argc, char **argv)
{
    int rank, size;
    struct options o = parse(argc, argv);
    start(&argc, &argv, o.bind, &rank, &size);
    private_memory(); /* what the first look itself takes is not the library's */
    struct memory before = private_memory();
    double begin = now();
    exchange(rank, size, o.window > 0 ? o.window : 1);
    double seconds = now() - begin;
    struct memory after = private_memory();
    tell("allpairs", "time", seconds * 1e3, rank, size, "ms");
    tell("allpairs", "before", before.all, rank, size, "KiB");
    tell("allpairs", "after", after.all, rank, size, "KiB");
    tell("allpairs", "threads", threads(), rank, size, "threads");
    if (size > 1)
        tell("allpairs", "a-peer", (after.written - before.written) / (size - 1), rank, size, "KiB");
    MPI_Finalize();
    return 0;
}
