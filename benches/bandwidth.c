/* Bytes and messages a second from rank 0 to rank 1: windows of 64 messages (of 16 beyond 256 KiB),
   or of as many as --window says, that are under way together, each window answered by one empty
   message. The test `rate` counts messages, the test `bandwidth` bytes; --cold walks both buffers
   through 256 MiB. */
#include <mpi.h>

#include "bench.h"

enum { WINDOW = 64, LARGE_WINDOW = 16, LARGE = 256 << 10, WINDOW_MAX = 4096 };

static struct walk place;
static int window;

static double windows(int rank, int n, int bytes)
{
    static MPI_Request requests[WINDOW_MAX];
    double begin = now();
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < window; k++)
            if (rank == 0)
                MPI_Isend(next(&place), bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[k]);
            else
                MPI_Irecv(next(&place), bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[k]);
        MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
    return now() - begin;
}

static void measure(int rank, const struct options *o, char *memory, size_t room, size_t bytes)
{
    double batch[BATCHES];
    window = o->window ? o->window : bytes > LARGE ? LARGE_WINDOW : WINDOW;
    place = walk_over(memory, room, bytes, o->cold);
    windows(rank, 2, (int)bytes);
    int probe = bytes < 16384 ? 10 : 1;
    int n = repetitions(windows(rank, probe, (int)bytes) / probe, o->seconds, 1);
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int b = 0; b < o->batches; b++)
        batch[b] = windows(rank, n, (int)bytes) / n / window * 1e6;
    double each = median(batch, o->batches);
    const char *variant = o->cold ? "cold" : "warm";
    if (rank == 0 && wanted(o, "rate"))
        row("rate", variant, (long)bytes, 1 / each, "M/s");
    if (rank == 0 && wanted(o, "bandwidth"))
        row("bandwidth", variant, (long)bytes, (double)bytes / each, "MB/s");
}

int main(int argc, char **argv)
{
    int rank, size;
    struct options o = parse(argc, argv);
    start(&argc, &argv, o.bind, &rank, &size);
    size_t room = COLD_BYTES;
    for (int i = 0; !o.cold && i < o.nsizes; i++)
        room = !i || o.sizes[i] > room ? o.sizes[i] : room;
    if (size != 2 && rank == 0)
        complain("bandwidth takes two ranks");
    if (o.window < 0 || o.window > WINDOW_MAX)
        complain("a window has at most 4096 messages");
    char *memory = pages(room);
    for (int i = 0; i < o.nsizes; i++)
        measure(rank, &o, memory, room, o.sizes[i]);
    MPI_Finalize();
    return 0;
}
