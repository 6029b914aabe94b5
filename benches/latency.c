/* One-way time of a message between two ranks: half of a round trip, the median of several
   batches; or with --each N the median of so many round trips, each timed by itself, which does not
   notice that some are held up. Each side sends from one buffer and receives into another; with --cold both walk
   through 256 MiB. */
#include <mpi.h>

#include "bench.h"

static struct walk out, in;

static double trips(int rank, int n, int bytes)
{
    double begin = now();
    for (int i = 0; i < n; i++) {
        char *send = next(&out), *receive = next(&in);
        if (rank == 0) {
            MPI_Send(send, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(receive, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(receive, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(send, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
    return now() - begin;
}

static void each_by_itself(int rank, const struct options *o, size_t bytes)
{
    double *one = malloc((size_t)o->each * sizeof *one);
    if (!one)
        complain("no memory for so many times");
    for (int i = 0; i < o->each; i++)
        one[i] = trips(rank, 1, (int)bytes) / 2 * 1e6;
    if (rank == 0)
        row("latency", o->cold ? "cold" : "warm", (long)bytes, median(one, o->each), "us");
    free(one);
}

static void measure(int rank, const struct options *o, char *memory, size_t room, size_t bytes)
{
    double batch[BATCHES];
    out = walk_over(memory, room / 2, bytes, o->cold);
    in = walk_over(memory + room / 2, room / 2, bytes, o->cold);
    trips(rank, o->each ? 4 : 20, (int)bytes);
    if (o->each) {
        each_by_itself(rank, o, bytes);
        return;
    }
    int probe = bytes < 65536 ? 200 : 20;
    int n = repetitions(trips(rank, probe, (int)bytes) / probe, o->seconds, 4);
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int b = 0; b < BATCHES; b++)
        batch[b] = trips(rank, n, (int)bytes) / n / 2 * 1e6;
    if (rank == 0)
        row("latency", o->cold ? "cold" : "warm", (long)bytes, median(batch, BATCHES), "us");
}

int main(int argc, char **argv)
{
    int rank, size;
    struct options o = parse(argc, argv);
    start(&argc, &argv, o.bind, &rank, &size);
    size_t room = COLD_BYTES;
    if (!o.cold) {
        room = 0;
        for (int i = 0; i < o.nsizes; i++)
            room = 2 * o.sizes[i] > room ? 2 * o.sizes[i] : room;
        room = (room + 2 * PAGE) & ~(size_t)(2 * PAGE - 1);
    }
    char *memory = rank < 2 ? pages(room) : NULL;
    if (size != 2 && rank == 0)
        complain("latency takes two ranks");
    for (int i = 0; i < o.nsizes; i++)
        measure(rank, &o, memory, room, o.sizes[i]);
    MPI_Finalize();
    return 0;
}
