// ranks: 1 2 4
// Collectives whose send and receive buffer are one (MPI-5.0 §6.2 forbids it) are refused in all forms, with short and
// long buffers. A program built for Open MPI's library, which takes some of them, gets their right result. What only
// looks alike is served: no elements, blocks of one array that lie apart, an argument that means nothing here.
#include "check.h"

#ifdef OPEN_MPI
enum { OPEN = 1 };
#else
enum { OPEN = 0 };
#endif
enum { RANKS = 8, MOST = 20000, ROOT = 0 };
enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
enum {
    ALLREDUCE, REDUCE, SCAN, EXSCAN, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, GATHER, GATHERV, SCATTER,
    SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, KINDS
};

static const char *const names[] = {
    "allreduce", "reduce", "scan", "exscan", "reduce_scatter", "reduce_scatter_block", "gather",
    "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"
};
static int n, both[2 * RANKS * MOST], counts[RANKS], displs[RANKS], bytes[RANKS], behind[RANKS];
static MPI_Datatype types[RANKS];
static MPI_Request request;

static int ended(int code) {
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

static int started(int code) {
    if (code != MPI_SUCCESS) return code;
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return MPI_Request_free(&request);
}

#define DO(Name, name, ...)                                                                        \
    (form == BLOCKING      ? MPI_##Name(__VA_ARGS__, MPI_COMM_WORLD)                               \
     : form == NONBLOCKING ? ended(MPI_I##name(__VA_ARGS__, MPI_COMM_WORLD, &request))             \
                           : started(MPI_##Name##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, \
                                                       &request)))

// A reduction of `both` into itself.
static int reduce(int kind, int form) {
    switch (kind) {
        case ALLREDUCE: return DO(Allreduce, allreduce, both, both, n, MPI_INT, MPI_SUM);
        case REDUCE: return DO(Reduce, reduce, both, both, n, MPI_INT, MPI_SUM, ROOT);
        case SCAN: return DO(Scan, scan, both, both, n, MPI_INT, MPI_SUM);
        case EXSCAN: return DO(Exscan, exscan, both, both, n, MPI_INT, MPI_SUM);
        case REDUCE_SCATTER:
            return DO(Reduce_scatter, reduce_scatter, both, both, counts, MPI_INT, MPI_SUM);
        default:
            return DO(Reduce_scatter_block, reduce_scatter_block, both, both, n, MPI_INT, MPI_SUM);
    }
}

// Moves `both` to itself; what all have there of one process is at its place among the blocks.
static int move(int kind, int form) {
    int *mine = &both[rank * n];
    switch (kind) {
        case GATHER: return DO(Gather, gather, mine, n, MPI_INT, both, n, MPI_INT, ROOT);
        case GATHERV:
            return DO(Gatherv, gatherv, mine, n, MPI_INT, both, counts, displs, MPI_INT, ROOT);
        case SCATTER: return DO(Scatter, scatter, both, n, MPI_INT, mine, n, MPI_INT, ROOT);
        case SCATTERV:
            return DO(Scatterv, scatterv, both, counts, displs, MPI_INT, mine, n, MPI_INT, ROOT);
        case ALLGATHER: return DO(Allgather, allgather, mine, n, MPI_INT, both, n, MPI_INT);
        case ALLGATHERV:
            return DO(Allgatherv, allgatherv, mine, n, MPI_INT, both, counts, displs, MPI_INT);
        case ALLTOALL: return DO(Alltoall, alltoall, both, n, MPI_INT, both, n, MPI_INT);
        case ALLTOALLV:
            return DO(Alltoallv, alltoallv, both, counts, displs, MPI_INT, both, counts, displs,
                      MPI_INT);
        default:
            return DO(Alltoallw, alltoallw, both, counts, bytes, types, both, counts, bytes, types);
    }
}

static int value(int of, int i) {
    return of * 1000 + i % 997;
}

static int sum(int last, int i) {
    int total = 0;
    for (int of = 0; of <= last; of++) total += value(of, i);
    return total;
}

// What a process has at a place when a call has ended that was not refused.
static int result(int kind, int i) {
    switch (kind) {
        case ALLREDUCE: return sum(size - 1, i);
        case SCAN: return sum(rank, i);
        case EXSCAN: return rank == 0 ? value(rank, i) : sum(rank - 1, i);
        case REDUCE_SCATTER:
        case REDUCE_SCATTER_BLOCK: return sum(size - 1, rank * n + i);
        case GATHER:
        case GATHERV: return rank == ROOT ? value(i / n, i) : value(rank, i);
        case SCATTER:
        case SCATTERV: return i / n == rank ? value(ROOT, i) : value(rank, i);
        default: return value(i / n, i);
    }
}

static int many(int kind) {
    return kind <= REDUCE_SCATTER_BLOCK ? n : n * size;
}

// Open MPI's library takes reductions but MPI_Reduce, to all of one element alone, and what lies where its own block
// belongs; of full exchanges it makes what it happens to.
static int is_taken(int kind) {
    return OPEN && kind != REDUCE && kind < ALLTOALL && (kind != ALLREDUCE || n == 1);
}

static int is_rooted(int kind) {
    return kind == REDUCE || (kind >= GATHER && kind <= SCATTERV);
}

static void try(int kind, int form) {
    if (!is_taken(kind) && is_rooted(kind) && rank != ROOT) return; // it waits for nobody
    if (!is_taken(kind) && kind == EXSCAN && rank == 0) return;     // its receive buffer means nothing
    for (int i = 0; i < n * size; i++) both[i] = value(rank, i);
    int code = kind <= REDUCE_SCATTER_BLOCK ? reduce(kind, form) : move(kind, form);
    if (!is_taken(kind)) {
        int class = MPI_SUCCESS, length = 0;
        char text[MPI_MAX_ERROR_STRING];
        MPI_Error_class(code, &class);
        CHECK(class == MPI_ERR_BUFFER, "%s %d of %d: class %d", names[kind], form, n, class);
        MPI_Error_string(code, text, &length);
        CHECK(strstr(text, "buf) is the same memory as ") != NULL, "it says: %s", text);
        CHECK(strstr(text, "MPI_IN_PLACE") != NULL, "it says: %s", text);
        return;
    }
    OK(code);
    int wrong = 0;
    for (int i = 0; i < many(kind); i++) wrong += both[i] != result(kind, i);
    CHECK(wrong == 0, "%s %d of %d: %d wrong", names[kind], form, n, wrong);
}

// Blocks of the other half of the array: nothing is sent from where something is received.
static void apart(void) {
    for (int i = 0; i < n * size; i++) both[i] = value(rank, i);
    OK(MPI_Alltoallv(both, counts, displs, MPI_INT, both, counts, behind, MPI_INT, MPI_COMM_WORLD));
    int wrong = 0;
    for (int i = 0; i < n * size; i++)
        wrong += both[behind[0] + i] != value(i / n, rank * n + i % n);
    EQUAL(wrong, 0);
    MPI_Datatype odd, even; // every second element: both lie between each other
    int block = 1, first = 0, second = 1;
    MPI_Datatype one[2];
    OK(MPI_Type_indexed(1, &block, &first, MPI_INT, &one[0]));
    OK(MPI_Type_indexed(1, &block, &second, MPI_INT, &one[1]));
    OK(MPI_Type_create_resized(one[0], 0, 2 * sizeof(int), &even));
    OK(MPI_Type_create_resized(one[1], 0, 2 * sizeof(int), &odd));
    OK(MPI_Type_commit(&even));
    OK(MPI_Type_commit(&odd));
    for (int i = 0; i < 2 * n * size; i++) both[i] = value(rank, i);
    OK(MPI_Alltoall(both, n, even, both, n, odd, MPI_COMM_WORLD));
    for (int i = 0; i < n * size; i++)
        wrong += both[2 * i + 1] != value(i / n, 2 * (rank * n + i % n));
    EQUAL(wrong, 0);
    OK(MPI_Type_free(&one[0]));
    OK(MPI_Type_free(&one[1]));
    OK(MPI_Type_free(&even));
    OK(MPI_Type_free(&odd));
}

// No elements, and a receive buffer where none counts.
static void harmless(void) {
    OK(MPI_Allreduce(both, both, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Alltoall(both, 0, MPI_INT, both, 0, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Allgather(both, 0, MPI_INT, both, 0, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Scan(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    int one = rank, *into = rank == ROOT ? both : &one;
    OK(MPI_Reduce(&one, into, 1, MPI_INT, MPI_SUM, ROOT, MPI_COMM_WORLD));
    OK(MPI_Gather(&one, 1, MPI_INT, into, 1, MPI_INT, ROOT, MPI_COMM_WORLD));
}

// Of the first process MPI_Exscan reads no receive buffer, and of who gets no element MPI_Reduce_scatter.
static void unread(int form) {
    int *mine = both, *into = rank == 0 ? both : &both[n * size], wrong = 0, total = n * (size - 1);
    for (int i = 0; i < n; i++) both[i] = value(rank, i);
    OK(DO(Exscan, exscan, mine, into, n, MPI_INT, MPI_SUM));
    for (int i = 0; i < n; i++) wrong += into[i] != (rank == 0 ? value(0, i) : sum(rank - 1, i));
    counts[0] = 0;
    for (int i = 0; i < total; i++) both[i] = value(rank, i);
    OK(DO(Reduce_scatter, reduce_scatter, mine, into, counts, MPI_INT, MPI_SUM));
    counts[0] = n;
    for (int i = 0; i < total && rank == 0; i++) wrong += both[i] != value(0, i);
    for (int i = 0; i < n && rank != 0; i++)
        wrong += into[i] != sum(size - 1, (rank - 1) * n + i);
    EQUAL(wrong, 0);
}

// MPI_Reduce_local has no communicator: Open MPI's library adds elements to themselves.
static void locally(void) {
    for (int i = 0; i < n; i++) both[i] = i;
    int code = MPI_Reduce_local(both, both, n, MPI_INT, MPI_SUM), class, wrong = 0;
    MPI_Error_class(code, &class);
    EQUAL(class, OPEN ? MPI_SUCCESS : MPI_ERR_BUFFER);
    for (int i = 0; i < n; i++) wrong += both[i] != (OPEN ? 2 * i : i);
    EQUAL(wrong, 0);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    static const int lengths[] = {1, 100, MOST};
    for (int which = 0; which < 3; which++) {
        n = lengths[which];
        for (int i = 0; i < size; i++) {
            counts[i] = n;
            displs[i] = i * n;
            behind[i] = (size + i) * n;
            bytes[i] = displs[i] * (int)sizeof(int);
            types[i] = MPI_INT;
        }
        for (int kind = 0; kind < KINDS; kind++)
            for (int form = 0; form < FORMS; form++) try(kind, form);
        for (int form = 0; form < FORMS; form++) unread(form);
        apart();
        locally();
    }
    harmless();
    return finish();
}
