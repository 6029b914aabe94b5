/* What waiting costs: rank 0 sleeps outside MPI while all others wait in MPI_Recv, and in the end
   each tells how much processor time it used meanwhile. The first 10 ms of the wait are left out:
   from then on a waiting rank should cost next to nothing. */
#include <mpi.h>

#include "bench.h"

static const struct timespec FIRST = { 0, 10000000 }, REST = { 0, 500000000 };

static double used(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Processor time of another process of this machine, by its number. */
static double used_by(int pid)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
        return -1;
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    int rank, size;
    struct options o = parse(argc, argv);
    start(&argc, &argv, o.bind, &rank, &size);
    int pid = getpid(), *pids = calloc((size_t)size, sizeof *pids);
    double *before = calloc((size_t)size, sizeof *before), worst = 0;
    MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        nanosleep(&FIRST, NULL);
        double begin = now();
        for (int i = 1; i < size; i++)
            before[i] = used_by(pids[i]);
        nanosleep(&REST, NULL);
        double passed = now() - begin;
        for (int i = 1; i < size; i++) {
            double share = (used_by(pids[i]) - before[i]) / passed * 100;
            worst = share > worst ? share : worst;
        }
        for (int i = 1; i < size; i++)
            MPI_Send(&pid, 1, MPI_INT, i, 1, MPI_COMM_WORLD);
        char variant[16];
        snprintf(variant, sizeof variant, "%d-ranks", size);
        row("idle", variant, -1, worst, "%");
    } else {
        double begin = used();
        MPI_Recv(&pid, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("# rank %d used %.3f ms while it waited\n", rank, (used() - begin) * 1e3);
    }
    free(before);
    free(pids);
    MPI_Finalize();
    return 0;
}
