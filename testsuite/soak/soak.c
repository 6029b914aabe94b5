/* Random traffic for as long as one likes, with every word checked: messages of all modes, sizes and
   layouts, received by name and by wildcard, between collectives on communicators that come and go,
   with pauses long enough for the others to fall asleep. Everything follows from a seed, so
   that a failure can be played again:

       mpirun -n RANKS soak --seconds S [--seed N] [--from ROUND] [--rounds N] [--each 1] [--begun 1]

   With --each every rank says at the end that all data meant for it has come and was right; with
   --begun rank 0 says that all have begun. */
#include "soak.h"

#include <time.h>

struct place here;
uint64_t messages, volume, operations;

/* One piece of scratch memory; the watched word follows its ints. */
struct piece {
    struct piece *before;
    size_t ints;
    int memory[];
};

static struct piece *pieces;
static const int WATCHED = 0x5eaf00d;

int *scratch(size_t ints)
{
    struct piece *piece = malloc(sizeof *piece + (ints + 1) * sizeof(int));
    if (!piece)
        COMPLAIN("no memory for %zu ints", ints);
    *piece = (struct piece){ .before = pieces, .ints = ints };
    memset(piece->memory, 0xa5, ints * sizeof(int));
    piece->memory[ints] = WATCHED;
    pieces = piece;
    return piece->memory;
}

void release_scratch(void)
{
    while (pieces) {
        struct piece *piece = pieces;
        if (piece->memory[piece->ints] != WATCHED)
            COMPLAIN("somebody wrote behind a buffer of %zu ints", piece->ints);
        pieces = piece->before;
        free(piece);
    }
}

int draw_count(struct draws *d)
{
    int power = below(d, once_in(d, 8) ? 21 : 15);
    if (once_in(d, 2)) {
        int near = (1 << power) + below(d, 7) - 3;
        return near < 0 ? 0 : near;
    }
    return below(d, 1 << power);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One rank is late, so that the others spin, yield, or fall asleep. */
static void tarry(struct draws *d)
{
    static const long NANOSECONDS[] = { 2000, 50000, 500000, 3000000, 20000000 };
    int who = below(d, here.size);
    struct timespec pause = { 0, NANOSECONDS[below(d, once_in(d, 8) ? 5 : 3)] };
    if (who == here.rank)
        nanosleep(&pause, NULL);
}

/* The world, or something made of it: the same for all members of one. */
static MPI_Comm communicator(struct draws *d)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int colours = 1 + below(d, 3), backward = once_in(d, 2);
    switch (below(d, 6)) {
    case 0:
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        break;
    case 1:
        MPI_Comm_split(MPI_COMM_WORLD, here.rank % colours, backward ? -here.rank : 0, &comm);
        break;
    }
    return comm;
}

static void play(uint64_t round)
{
    here.round = round;
    struct draws d = { mix(here.seed) ^ mix(round * 2 + 1) };
    MPI_Comm comm = communicator(&d);
    for (int parts = 1 + below(&d, 3); parts > 0; parts--) {
        if (once_in(&d, 3))
            tarry(&d);
        if (once_in(&d, 2))
            exchange(&d, comm);
        else
            collect(&d, comm);
    }
    if (comm != MPI_COMM_WORLD)
        MPI_Comm_free(&comm);
    release_scratch();
}

/* Plays until the time is over; rank 0's clock counts. Returns the round that would come next. */
static uint64_t play_for(double seconds, uint64_t from, uint64_t rounds)
{
    double begin = now();
    uint64_t round = from;
    for (int go = 1; go && round < from + rounds; round++) {
        play(round);
        if (round % 16 == 15) {
            go = now() - begin < seconds;
            MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
    }
    return round;
}

/* What everyone sends to everyone as the last thing and does not ask after: all of it must come. */
static void part(void)
{
    enum { INTS = 1000, TAG = 32000 };
    int leaf[INTS];
    uint64_t base = mix(here.seed) + 1;
    for (int to = 0; to < here.size; to++) {
        for (int i = 0; i < INTS; i++)
            leaf[i] = word(base + (uint64_t)(here.rank * here.size + to), i);
        if (to != here.rank)
            MPI_Send(leaf, to % 2 ? INTS : 1, MPI_INT, to, TAG, MPI_COMM_WORLD);
    }
    for (int left = here.size - 1; left > 0; left--) {
        MPI_Status status;
        int count, due = here.rank % 2 ? INTS : 1;
        MPI_Recv(leaf, INTS, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        uint64_t number = base + (uint64_t)(status.MPI_SOURCE * here.size + here.rank);
        for (int i = 0; i < due; i++)
            if (count != due || leaf[i] != word(number, i))
                COMPLAIN("int %d of the last %d from %d is wrong", i, count, status.MPI_SOURCE);
    }
}

int main(int argc, char **argv)
{
    double seconds = 10;
    int each = 0, begun = 0;
    uint64_t from = 0, rounds = UINT64_MAX / 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &here.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &here.size);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seconds"))
            seconds = atof(argv[i + 1]);
        else if (!strcmp(argv[i], "--seed"))
            here.seed = strtoull(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--from"))
            from = strtoull(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--rounds"))
            rounds = strtoull(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--each"))
            each = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--begun"))
            begun = atoi(argv[i + 1]);
        else
            COMPLAIN("unknown option %s", argv[i]);
    }
    if (begun) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (here.rank == 0) {
            puts("begun");
            fflush(stdout);
        }
    }
    uint64_t end = play_for(seconds, from, rounds), mine[3], sum[3];
    mine[0] = messages, mine[1] = volume, mine[2] = operations;
    MPI_Reduce(mine, sum, 3, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (here.rank == 0)
        printf("ok: seed %llu, rounds %llu to %llu, %llu messages, %llu MiB, %llu collectives\n",
               (unsigned long long)here.seed, (unsigned long long)from,
               (unsigned long long)end - 1, (unsigned long long)sum[0],
               (unsigned long long)(sum[1] >> 20),
               (unsigned long long)sum[2] / (unsigned long long)here.size);
    part();
    if (each) {
        printf("all came to rank %d\n", here.rank);
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
