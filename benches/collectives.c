/* Time of a collective operation: calls one after the other, the mean of the slowest rank, the
   median of several batches. The root goes round, as in a program that has no favourite rank.
   BYTES is what one rank gives to (or gets from) one other, and for reductions the whole vector of
   floats. */
#include <mpi.h>

#include "bench.h"

static int rank, size;
static char *from, *into;

static void barrier(int bytes, int root)
{
    (void)bytes, (void)root;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(int bytes, int root)
{
    (void)root;
    MPI_Allreduce(from, into, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce(int bytes, int root)
{
    MPI_Reduce(from, into, bytes / 4, MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
}

static void bcast(int bytes, int root)
{
    MPI_Bcast(from, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void alltoall(int bytes, int root)
{
    (void)root;
    MPI_Alltoall(from, bytes, MPI_BYTE, into, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void allgather(int bytes, int root)
{
    (void)root;
    MPI_Allgather(from, bytes, MPI_BYTE, into, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void gather(int bytes, int root)
{
    MPI_Gather(from, bytes, MPI_BYTE, into, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void scatter(int bytes, int root)
{
    MPI_Scatter(from, bytes, MPI_BYTE, into, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void reduce_bcast(int bytes, int root)
{
    reduce(bytes, root);
    MPI_Bcast(into, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void gather_bcast(int bytes, int root)
{
    gather(bytes, root);
    MPI_Bcast(into, bytes * size, MPI_BYTE, root, MPI_COMM_WORLD);
}

static const struct test {
    const char *name;
    void (*call)(int bytes, int root);
    int instead; /* what a program could call instead of another one; only if asked for */
} TESTS[] = {
    { "barrier", barrier },
    { "allreduce", allreduce },
    { "reduce+bcast", reduce_bcast, 1 },
    { "reduce", reduce },
    { "bcast", bcast },
    { "alltoall", alltoall },
    { "allgather", allgather },
    { "gather+bcast", gather_bcast, 1 },
    { "gather", gather },
    { "scatter", scatter },
};

/* Whether each call begins when the last one has ended everywhere, and takes as long as it takes
   the slowest rank; the root does not go round then. */
static int apart;

static double calls_apart(const struct test *test, int n, int bytes)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = now(), mine, slowest;
        test->call(bytes, 0);
        mine = now() - begin;
        MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        sum += slowest;
    }
    return sum / n;
}

static double calls(const struct test *test, int n, int bytes)
{
    if (apart)
        return calls_apart(test, n, bytes);
    double slowest, begin = now();
    for (int i = 0; i < n; i++)
        test->call(bytes, i % size);
    double mine = (now() - begin) / n;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static void measure(const struct test *test, const struct options *o, int bytes)
{
    double batch[BATCHES];
    int batches = 1;
    calls(test, 1, bytes);
    batch[0] = calls(test, size, bytes);
    /* Ranks that share a processor may take a scheduler's slice for every step: once is enough. */
    if (batch[0] * size < 4 * o->seconds) {
        double each = batch[0] * 20 < o->seconds ? calls(test, 20, bytes) : batch[0];
        int n = repetitions(each, o->seconds, size);
        /* What follows on a row must not find warmer what this one has paid for: a first batch is not counted. */
        calls(test, n, bytes);
        for (batches = 0; batches < BATCHES; batches++) {
            MPI_Barrier(MPI_COMM_WORLD);
            batch[batches] = calls(test, n, bytes);
        }
    }
    char variant[16];
    snprintf(variant, sizeof variant, "%d-ranks", size);
    long shown = test->call == barrier ? -1 : bytes;
    if (rank == 0)
        row(test->name, variant, shown, median(batch, batches) * 1e6, "us");
}

/* Whether a test is measured with this size; a barrier with the smallest, as it has none. */
static int is_due(const struct test *test, const struct options *o, int at)
{
    int least = 0;
    for (int i = 0; i < o->nsizes; i++)
        if (o->sizes[i] < o->sizes[least])
            least = i;
    int asked = wanted(o, test->name) && (o->only || !test->instead);
    return asked && (test->call != barrier || at == least);
}

int main(int argc, char **argv)
{
    struct options o = parse(argc, argv);
    start(&argc, &argv, o.bind, &rank, &size);
    apart = o.apart;
    size_t most = 0;
    for (int i = 0; i < o.nsizes; i++)
        most = o.sizes[i] > most ? o.sizes[i] : most;
    from = pages(most * (size_t)size);
    into = pages(most * (size_t)size);
    memset(from, 0, most * (size_t)size);
    /* All tests of a size next to each other, since the system moves processes now and then. */
    for (int i = 0; i < o.nsizes; i++)
        for (size_t t = 0; t < sizeof TESTS / sizeof *TESTS; t++)
            if (is_due(&TESTS[t], &o, i))
                measure(&TESTS[t], &o, (int)o.sizes[i]);
    MPI_Finalize();
    return 0;
}
