// ranks: 2 3 5
// Long blocks in every form of call: readers may fetch them out of their giver's memory, with its help or
// without, or copy them from memory that the library gave to the program (MPI-5.0 §6.4 to §6.9, §6.12, §6.13,
// §9.2). So everyone overwrites what it gave as soon as its call has ended, and rounds follow each other without
// a pause.
#include "check.h"

enum { RANKS = 8, MOST = 300000, ROUNDS = 3 };
enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
// Whose buffers are memory that the library gave.
enum { NOBODY, EVERYBODY, ODD_RANKS, HOMES };

static char plain[2][RANKS * MOST];
static char *given, *got;
static int counts[RANKS], places[RANKS];

// What rank `from` gives to `to` in a round.
static int seed(int round, int from, int to) {
    return round * 64 + from * 8 + to + 1;
}

static void lay(int round, int length) {
    for (int to = 0; to < size; to++) fill(given + to * length, length, seed(round, rank, to));
    memset(got, 0, (size_t)size * length);
}

static void verify(const char *what, const char *at, int length, int round, int from, int to) {
    long long wrong = wrong_at(at, length, seed(round, from, to));
    CHECK(wrong < 0, "%s of %d bytes, round %d: from %d wrong at %lld", what, length, round, from,
          wrong);
}

// Ends what has begun, or starts a persistent call and ends it.
static void end(MPI_Request *request, int form) {
    if (form == PERSISTENT) OK(MPI_Start(request));
    if (form != BLOCKING) OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    if (form == PERSISTENT) OK(MPI_Request_free(request));
}

static void scatters(int form, int length, int round, int uneven) {
    MPI_Comm all = MPI_COMM_WORLD;
    MPI_Request request;
    int root = round % size;
    lay(round, length);
    if (uneven && form == BLOCKING)
        OK(MPI_Scatterv(given, counts, places, MPI_CHAR, got, length, MPI_CHAR, root, all));
    else if (form == BLOCKING)
        OK(MPI_Scatter(given, length, MPI_CHAR, got, length, MPI_CHAR, root, all));
    else if (form == NONBLOCKING)
        OK(MPI_Iscatter(given, length, MPI_CHAR, got, length, MPI_CHAR, root, all, &request));
    else
        OK(MPI_Scatter_init(given, length, MPI_CHAR, got, length, MPI_CHAR, root, all,
                            MPI_INFO_NULL, &request));
    end(&request, form);
    memset(given, 0x5a, (size_t)size * length);
    verify(uneven ? "scatterv" : "scatter", got, length, round, root, rank);
}

static void exchanges(int form, int length, int round, int uneven) {
    MPI_Comm all = MPI_COMM_WORLD;
    MPI_Request request;
    lay(round, length);
    if (uneven && form == BLOCKING)
        OK(MPI_Alltoallv(given, counts, places, MPI_CHAR, got, counts, places, MPI_CHAR, all));
    else if (form == BLOCKING)
        OK(MPI_Alltoall(given, length, MPI_CHAR, got, length, MPI_CHAR, all));
    else if (form == NONBLOCKING)
        OK(MPI_Ialltoall(given, length, MPI_CHAR, got, length, MPI_CHAR, all, &request));
    else
        OK(MPI_Alltoall_init(given, length, MPI_CHAR, got, length, MPI_CHAR, all, MPI_INFO_NULL,
                             &request));
    end(&request, form);
    memset(given, 0x5a, (size_t)size * length);
    for (int from = 0; from < size; from++)
        verify("all-to-all", got + from * length, length, round, from, rank);
}

static void collections(int form, int length, int round, int uneven) {
    MPI_Comm all = MPI_COMM_WORLD;
    MPI_Request request;
    lay(round, length);
    if (uneven && form == BLOCKING)
        OK(MPI_Allgatherv(given, length, MPI_CHAR, got, counts, places, MPI_CHAR, all));
    else if (form == BLOCKING)
        OK(MPI_Allgather(given, length, MPI_CHAR, got, length, MPI_CHAR, all));
    else if (form == NONBLOCKING)
        OK(MPI_Iallgather(given, length, MPI_CHAR, got, length, MPI_CHAR, all, &request));
    else
        OK(MPI_Allgather_init(given, length, MPI_CHAR, got, length, MPI_CHAR, all, MPI_INFO_NULL,
                              &request));
    end(&request, form);
    memset(given, 0x5a, length);
    for (int from = 0; from < size; from++)
        verify("all-gather", got + from * length, length, round, from, 0);
}

static void gathers(int form, int length, int round, int uneven) {
    MPI_Comm all = MPI_COMM_WORLD;
    MPI_Request request;
    int root = round % size;
    lay(round, length);
    char *own = given + root * length;
    if (uneven && form == BLOCKING)
        OK(MPI_Gatherv(own, length, MPI_CHAR, got, counts, places, MPI_CHAR, root, all));
    else if (form == BLOCKING)
        OK(MPI_Gather(own, length, MPI_CHAR, got, length, MPI_CHAR, root, all));
    else if (form == NONBLOCKING)
        OK(MPI_Igather(own, length, MPI_CHAR, got, length, MPI_CHAR, root, all, &request));
    else
        OK(MPI_Gather_init(own, length, MPI_CHAR, got, length, MPI_CHAR, root, all, MPI_INFO_NULL,
                           &request));
    end(&request, form);
    memset(given, 0x5a, (size_t)size * length);
    for (int from = 0; rank == root && from < size; from++)
        verify("gather", got + from * length, length, round, from, root);
}

static void broadcasts(int form, int length, int round) {
    MPI_Request request;
    int root = round % size;
    lay(round, length);
    if (rank == root) memcpy(got, given, length);
    if (form == BLOCKING)
        OK(MPI_Bcast(got, length, MPI_CHAR, root, MPI_COMM_WORLD));
    else if (form == NONBLOCKING)
        OK(MPI_Ibcast(got, length, MPI_CHAR, root, MPI_COMM_WORLD, &request));
    else
        OK(MPI_Bcast_init(got, length, MPI_CHAR, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    end(&request, form);
    verify("broadcast", got, length, round, root, 0);
    memset(got, 0x5a, length);
}

// The sum of what all give, which the root may read where it lies.
static void reductions(int form, int length, int round) {
    MPI_Comm all = MPI_COMM_WORLD;
    MPI_Request request;
    int root = round % size, count = length / (int)sizeof(int);
    int *own = (int *)given, *sum = (int *)got;
    for (int i = 0; i < count; i++) own[i] = (rank + 1) * (i + round);
    memset(got, 0, length);
    if (form == BLOCKING)
        OK(MPI_Reduce(own, sum, count, MPI_INT, MPI_SUM, root, all));
    else if (form == NONBLOCKING)
        OK(MPI_Ireduce(own, sum, count, MPI_INT, MPI_SUM, root, all, &request));
    else
        OK(MPI_Reduce_init(own, sum, count, MPI_INT, MPI_SUM, root, all, MPI_INFO_NULL, &request));
    end(&request, form);
    memset(given, 0x5a, length);
    for (int i = 0; rank == root && i < count; i++) {
        int expected = size * (size + 1) / 2 * (i + round);
        CHECK(sum[i] == expected, "reduce of %d bytes, round %d: element %d is %d, not %d", length,
              round, i, sum[i], expected);
    }
}

// Two scatters under way at the same time, from different roots.
static void together(int length, int round) {
    MPI_Request requests[2];
    lay(round, length);
    for (int root = 0; root < 2; root++)
        OK(MPI_Iscatter(given, length, MPI_CHAR, got + root * length, length, MPI_CHAR, root,
                        MPI_COMM_WORLD, &requests[root]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    memset(given, 0x5a, (size_t)size * length);
    for (int root = 0; root < 2; root++)
        verify("one of two scatters", got + root * length, length, round, root, rank);
}

static void rounds(int length) {
    for (int to = 0; to < size; to++) counts[to] = length, places[to] = to * length;
    for (int round = 0; round < ROUNDS; round++) {
        for (int form = 0; form < FORMS; form++) {
            broadcasts(form, length, round);
            reductions(form, length, round);
            for (int uneven = 0; uneven <= (form == BLOCKING); uneven++) {
                gathers(form, length, round, uneven);
                scatters(form, length, round, uneven);
                collections(form, length, round, uneven);
                exchanges(form, length, round, uneven);
            }
        }
        together(length, round);
    }
}

int main(int argc, char **argv) {
    static const int lengths[] = {4 << 10, 9001, 32 << 10, 40001, 100000, MOST};
    start(&argc, &argv);
    for (int home = 0; home < HOMES; home++) {
        int from_library = home == EVERYBODY || (home == ODD_RANKS && rank % 2 == 1);
        given = plain[0], got = plain[1];
        if (from_library) {
            OK(MPI_Alloc_mem((MPI_Aint)size * MOST, MPI_INFO_NULL, &given));
            OK(MPI_Alloc_mem((MPI_Aint)size * MOST, MPI_INFO_NULL, &got));
        }
        for (int at = 0; at < (int)(sizeof lengths / sizeof *lengths); at++) rounds(lengths[at]);
        if (from_library) {
            OK(MPI_Free_mem(given));
            OK(MPI_Free_mem(got));
        }
    }
    return finish();
}
