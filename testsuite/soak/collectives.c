/* A round of collectives: one to four of them, all nonblocking and under way together or one after
   the other, with results that every rank can work out for itself. */
#include "soak.h"

enum { MOST_AT_ONCE = 4 };

enum operation {
    BARRIER, BCAST, REDUCE, ALLREDUCE, SCAN, GATHER, SCATTER, ALLGATHER, ALLTOALL, ALLTOALLV,
    REDUCE_SCATTER, OPERATIONS
};

static const char *const NAMES[] = { "barrier", "bcast", "reduce", "allreduce", "scan", "gather",
                                     "scatter", "allgather", "alltoall", "alltoallv",
                                     "reduce_scatter" };

struct collective {
    enum operation operation;
    int count, root, me, size;
    uint64_t content;
    int *from, *into;
    int *counts, *displacements;
};

/* The word that rank `r` contributes at `i`. */
static int given(const struct collective *c, int r, int i)
{
    return word(c->content + (uint64_t)r * 0x1000003, i);
}

static int sum(const struct collective *c, int ranks, int i)
{
    unsigned total = 0;
    for (int r = 0; r < ranks; r++)
        total += (unsigned)given(c, r, i);
    return (int)total;
}

/* What rank `r` gives to each in an alltoallv: other amounts for every pair. */
static int amount(const struct collective *c, int r, int to)
{
    return (int)(mix(c->content + (uint64_t)(r * c->size + to)) % (uint64_t)(c->count + 1));
}

static void fill(struct collective *c)
{
    size_t all = (size_t)c->count * (size_t)c->size;
    c->from = scratch(all);
    c->into = scratch(all);
    int whole = c->operation == SCATTER || c->operation == ALLTOALL || c->operation == ALLTOALLV
                || c->operation == REDUCE_SCATTER;
    for (int i = 0; i < (whole ? (int)all : c->count); i++)
        c->from[i] = given(c, c->me, i);
    c->counts = scratch(2 * (size_t)c->size);
    c->displacements = scratch((size_t)c->size);
    for (int r = 0; r < c->size; r++) {
        c->counts[r] = amount(c, c->me, r);
        c->counts[c->size + r] = amount(c, r, c->me);
        c->displacements[r] = r * c->count;
    }
}

/* Starts it; REDUCE adds wrapping words, for unsigned arithmetic has no overflow. */
static void begin(struct collective *c, MPI_Comm comm, MPI_Request *request)
{
    int n = c->count, *from = c->from, *into = c->into;
    MPI_Datatype T = MPI_UNSIGNED;
    switch (c->operation) {
    case BARRIER:
        MPI_Ibarrier(comm, request);
        break;
    case BCAST:
        MPI_Ibcast(c->me == c->root ? from : into, n, T, c->root, comm, request);
        break;
    case REDUCE:
        MPI_Ireduce(from, into, n, T, MPI_SUM, c->root, comm, request);
        break;
    case ALLREDUCE:
        MPI_Iallreduce(from, into, n, T, MPI_SUM, comm, request);
        break;
    case SCAN:
        MPI_Iscan(from, into, n, T, MPI_SUM, comm, request);
        break;
    case GATHER:
        MPI_Igather(from, n, T, into, n, T, c->root, comm, request);
        break;
    case SCATTER:
        MPI_Iscatter(from, n, T, into, n, T, c->root, comm, request);
        break;
    case ALLGATHER:
        MPI_Iallgather(from, n, T, into, n, T, comm, request);
        break;
    case ALLTOALL:
        MPI_Ialltoall(from, n, T, into, n, T, comm, request);
        break;
    case ALLTOALLV:
        MPI_Ialltoallv(from, c->counts, c->displacements, T, into, c->counts + c->size,
                       c->displacements, T, comm, request);
        break;
    default:
        MPI_Ireduce_scatter_block(from, into, n, T, MPI_SUM, comm, request);
    }
}

/* The same, blocking. */
static void perform(struct collective *c, MPI_Comm comm)
{
    int n = c->count, *from = c->from, *into = c->into;
    MPI_Datatype T = MPI_UNSIGNED;
    switch (c->operation) {
    case BARRIER:
        MPI_Barrier(comm);
        break;
    case BCAST:
        MPI_Bcast(c->me == c->root ? from : into, n, T, c->root, comm);
        break;
    case REDUCE:
        MPI_Reduce(from, into, n, T, MPI_SUM, c->root, comm);
        break;
    case ALLREDUCE:
        MPI_Allreduce(from, into, n, T, MPI_SUM, comm);
        break;
    case SCAN:
        MPI_Scan(from, into, n, T, MPI_SUM, comm);
        break;
    case GATHER:
        MPI_Gather(from, n, T, into, n, T, c->root, comm);
        break;
    case SCATTER:
        MPI_Scatter(from, n, T, into, n, T, c->root, comm);
        break;
    case ALLGATHER:
        MPI_Allgather(from, n, T, into, n, T, comm);
        break;
    case ALLTOALL:
        MPI_Alltoall(from, n, T, into, n, T, comm);
        break;
    case ALLTOALLV:
        MPI_Alltoallv(from, c->counts, c->displacements, T, into, c->counts + c->size,
                      c->displacements, T, comm);
        break;
    default:
        MPI_Reduce_scatter_block(from, into, n, T, MPI_SUM, comm);
    }
}

/* How many words of block `r` of the result count, and what word `i` of it must be. */
static int length(const struct collective *c, int r)
{
    int all = c->operation == ALLGATHER || c->operation == ALLTOALL;
    switch (c->operation) {
    case BARRIER:
        return 0;
    case BCAST:
        return r == 0 && c->me != c->root ? c->count : 0;
    case GATHER:
        return c->me == c->root ? c->count : 0;
    case REDUCE:
        return r == 0 && c->me == c->root ? c->count : 0;
    case ALLTOALLV:
        return amount(c, r, c->me);
    default:
        return r == 0 || all ? c->count : 0;
    }
}

static int expected(const struct collective *c, int r, int i)
{
    int mine = c->me * c->count + i;
    switch (c->operation) {
    case BCAST:
        return given(c, c->root, i);
    case REDUCE:
    case ALLREDUCE:
        return sum(c, c->size, i);
    case SCAN:
        return sum(c, c->me + 1, i);
    case REDUCE_SCATTER:
        return sum(c, c->size, mine);
    case SCATTER:
        return given(c, c->root, mine);
    case ALLTOALL:
    case ALLTOALLV:
        return given(c, r, mine);
    default:
        return given(c, r, i);
    }
}

static void check(const struct collective *c)
{
    for (int r = 0; r < c->size; r++)
        for (int i = 0; i < length(c, r); i++)
            if (c->into[r * c->count + i] != expected(c, r, i))
                COMPLAIN("%s of %d ints, root %d, on %d ranks (here rank %d): word %d of block %d "
                         "is %#x, not %#x",
                         NAMES[c->operation], c->count, c->root, c->size, c->me, i, r,
                         c->into[r * c->count + i], expected(c, r, i));
}

void collect(struct draws *d, MPI_Comm comm)
{
    struct collective list[MOST_AT_ONCE];
    MPI_Request requests[MOST_AT_ONCE];
    int me, size, n = 1 + below(d, MOST_AT_ONCE), together = once_in(d, 2);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < n; i++) {
        int count = draw_count(d);
        list[i] = (struct collective){
            .operation = (enum operation)below(d, OPERATIONS),
            .count = once_in(d, 2) ? count % 300 : count / size,
            .root = below(d, size),
            .me = me,
            .size = size,
            .content = draw(d),
        };
        fill(&list[i]);
    }
    for (int i = 0; i < n; i++)
        if (together)
            begin(&list[i], comm, &requests[i]);
        else
            perform(&list[i], comm);
    if (together)
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++)
        check(&list[i]);
    operations += (uint64_t)n;
}
