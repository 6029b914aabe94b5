// Collective calls in which one rank disagrees with the others, each in another way: mistakes WHICH.
// "none" makes the same calls as they ought to be, with types that differ but have one signature.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH = 64 };

static int rank, size, odd, all;
static int a[LENGTH], b[LENGTH];

static void root(void) { MPI_Bcast(a, 4, MPI_INT, odd ? 1 : 0, MPI_COMM_WORLD); }

static void call(void) {
    if (odd)
        MPI_Reduce(a, b, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(a, 4, MPI_INT, 0, MPI_COMM_WORLD);
}

static void count(void) { MPI_Bcast(a, odd ? 2 : 4, MPI_INT, 0, MPI_COMM_WORLD); }

static void type(void) {
    MPI_Allreduce(a, b, 4, odd ? MPI_FLOAT : MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void operation(void) {
    MPI_Allreduce(a, b, 4, MPI_INT, odd ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
}

static void counts(void) {
    int n[LENGTH], at[LENGTH];
    for (int i = 0; i < size; i++) n[i] = 2, at[i] = 2 * i;
    MPI_Gatherv(a, odd ? 3 : 2, MPI_INT, b, n, at, MPI_INT, 0, MPI_COMM_WORLD);
}

// What is packed fits all others, which have to fit each other as well.
static void packed(void) {
    if (rank == 0)
        MPI_Bcast(a, 16, MPI_PACKED, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(a, 4, odd ? MPI_FLOAT : MPI_INT, 0, MPI_COMM_WORLD);
}

static void cuts(void) {
    int n[LENGTH];
    for (int i = 0; i < size; i++) n[i] = 2;
    if (odd) n[0] = 1, n[1] = 3;
    MPI_Reduce_scatter(a, b, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

// An error that concerns two of the processes is one of all.
static void all_fail(int code) {
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    if (class != (all ? MPI_SUCCESS : MPI_ERR_NOT_SAME))
        fprintf(stderr, "rank %d of %d has class %d\n", rank, size, class);
}

static void between_two(void) {
    enum { MANY = 1 << 18 };
    static int many[MANY], into[4 * MANY];
    int n[LENGTH], at[LENGTH], none[LENGTH] = {0};
    MPI_Request request;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < size; i++) n[i] = 2, at[i] = 2 * i;
    all_fail(MPI_Scatterv(a, n, at, MPI_INT, b, odd ? 3 : 2, MPI_INT, 0, comm));
    MPI_Iscatterv(a, n, at, MPI_INT, b, odd ? 1 : 2, MPI_INT, 0, comm, &request);
    all_fail(MPI_Wait(&request, MPI_STATUS_IGNORE));
    // Who sends nothing does not tell anybody by a message that fails.
    n[rank] = 0;
    all_fail(MPI_Alltoallv(a, none, at, MPI_INT, b, odd ? n : none, at, MPI_INT, comm));
    // One that does not fit itself.
    all_fail(MPI_Gather(a, 1, MPI_INT, b, odd ? 2 : 1, MPI_INT, size - 1, comm));
    all_fail(MPI_Alltoall(a, odd ? 2 : 1, MPI_INT, b, 1, MPI_INT, comm));
    MPI_Iallgather(a, odd ? 2 : 1, MPI_INT, b, 1, MPI_INT, comm, &request);
    all_fail(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < size; i++) n[i] = MANY, at[i] = MANY * i;
    all_fail(MPI_Gatherv(many, odd ? 3 : MANY, MPI_INT, into, n, at, MPI_INT, 0, comm));
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
}

// What one receives from itself is not what it sends itself: all hear of it, in whatever form of the call.
static void one_with_itself(void) {
    int n[LENGTH], at[LENGTH], right[LENGTH], wrong[LENGTH], dims[2] = {size, 1}, periods[2] = {1, 1};
    MPI_Datatype types[LENGTH];
    MPI_Request request;
    MPI_Comm comm;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < LENGTH; i++) n[i] = right[i] = wrong[i] = 2, at[i] = 2 * (i % 16), types[i] = MPI_INT;
    if (odd) wrong[rank] = 1;
    all_fail(MPI_Alltoallv(a, wrong, at, MPI_INT, b, n, at, MPI_INT, comm));
    all_fail(MPI_Alltoallw(a, wrong, at, types, b, n, at, types, comm));
    all_fail(MPI_Gatherv(a, odd ? 1 : 2, MPI_INT, b, n, at, MPI_INT, size - 1, comm));
    all_fail(MPI_Scatterv(a, n, at, MPI_INT, b, odd ? 1 : 2, MPI_INT, size - 1, comm));
    MPI_Ialltoallv(a, wrong, at, MPI_INT, b, n, at, MPI_INT, comm, &request);
    all_fail(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Igatherv(a, odd ? 1 : 2, MPI_INT, b, n, at, MPI_INT, size - 1, comm, &request);
    all_fail(MPI_Wait(&request, MPI_STATUS_IGNORE));
    // Along the second dimension everyone is its own neighbour.
    n[2] = odd ? 1 : 2;
    all_fail(MPI_Neighbor_alltoallv(a, n, at, MPI_INT, b, right, at, MPI_INT, comm));
    all_fail(MPI_Neighbor_allgather(a, odd ? 1 : 2, MPI_INT, b, 2, MPI_INT, comm));
    MPI_Ineighbor_allgather(a, odd ? 1 : 2, MPI_INT, b, 2, MPI_INT, comm, &request);
    all_fail(MPI_Wait(&request, MPI_STATUS_IGNORE));
    request = MPI_REQUEST_NULL;
    all_fail(MPI_Neighbor_allgather_init(a, odd ? 1 : 2, MPI_INT, b, 2, MPI_INT, comm, MPI_INFO_NULL, &request));
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
}

static void nonblocking(void) {
    MPI_Request request;
    MPI_Ibcast(a, 4, MPI_INT, odd ? 1 : 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void persistent(void) {
    MPI_Request request;
    MPI_Allreduce_init(a, b, odd ? 3 : 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

static void communicators(void) {
    MPI_Comm made;
    if (odd)
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
    else
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made);
    MPI_Comm_free(&made);
}

// What one may do: a nonblocking call returns although the others have not made theirs.
static void late(void) {
    MPI_Request request;
    if (rank > 0) MPI_Recv(b, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Iallreduce(MPI_IN_PLACE, a, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (rank + 1 < size) MPI_Send(a, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void same_signature(void) {
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    if (rank % 2)
        MPI_Bcast(a, 2, pair, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(a, 4, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(a, 1, pair, b, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Type_free(&pair);
}

// The calls between two groups, of which the first has the root and others beside it.
static void between(void) {
    MPI_Comm part, inter;
    MPI_Request request;
    int first = (size + 1) / 2, side = rank >= first;
    int root = side ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    if (size < 2) return;
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, side ? 0 : first, 7, &inter);
    MPI_Comm_set_name(inter, "inter");
    MPI_Reduce(a, b, 4, MPI_INT, odd ? MPI_MAX : MPI_SUM, root, inter);
    MPI_Ireduce(a, b, 4, MPI_INT, MPI_SUM, root, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Reduce_init(a, b, 4, MPI_INT, MPI_SUM, root, inter, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    MPI_Barrier(inter);
    MPI_Bcast(a, 4, MPI_INT, root, inter);
    MPI_Gather(a, 2, MPI_INT, b, 2, MPI_INT, root, inter);
    MPI_Scatter(a, 2, MPI_INT, b, 2, MPI_INT, root, inter);
    MPI_Allgather(a, 2, MPI_INT, b, 2, MPI_INT, inter);
    MPI_Alltoall(a, 2, MPI_INT, b, 2, MPI_INT, inter);
    MPI_Allreduce(a, b, 4, MPI_INT, MPI_SUM, inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&part);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } mistakes[] = {{"root", root},
                    {"call", call},
                    {"count", count},
                    {"type", type},
                    {"operation", operation},
                    {"counts", counts},
                    {"packed", packed},
                    {"cuts", cuts},
                    {"nonblocking", nonblocking},
                    {"persistent", persistent},
                    {"communicators", communicators},
                    {"between", between},
                    {"between_two", between_two},
                    {"one_with_itself", one_with_itself},
                    {"late", late},
                    {"same_signature", same_signature}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    all = argc > 1 && strcmp(argv[1], "none") == 0;
    odd = !all && rank == size - 1;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        if (argc > 1 && (all || strcmp(argv[1], mistakes[i].name) == 0)) mistakes[i].run();
    MPI_Finalize();
    if (rank == 0) printf("done\n");
    return 0;
}
