// ranks: 1 2
// Wrong arguments come back as the error classes of the standard (MPI-5.0 §9.4), and a program
// that asked for error codes goes on.
#include "check.h"

static int word = 1;

static void point_to_point(MPI_Comm comm) {
    MPI_Request request;
    MPI_Status status;
    FAILS(MPI_Send(&word, -1, MPI_INT, 0, 1, comm), MPI_ERR_COUNT);
    FAILS(MPI_Send(&word, 1, MPI_INT, size, 1, comm), MPI_ERR_RANK);
    FAILS(MPI_Send(&word, 1, MPI_INT, -99, 1, comm), MPI_ERR_RANK);
    FAILS(MPI_Send(&word, 1, MPI_INT, 0, -5, comm), MPI_ERR_TAG);
    FAILS(MPI_Send(&word, 1, MPI_INT, 0, MPI_ANY_TAG, comm), MPI_ERR_TAG);
    FAILS(MPI_Send(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm), MPI_ERR_RANK);
    FAILS(MPI_Send(&word, 1, MPI_DATATYPE_NULL, 0, 1, comm), MPI_ERR_TYPE);
    FAILS(MPI_Recv(&word, -1, MPI_INT, 0, 1, comm, &status), MPI_ERR_COUNT);
    FAILS(MPI_Recv(&word, 1, MPI_INT, size, 1, comm, &status), MPI_ERR_RANK);
    FAILS(MPI_Recv(&word, 1, MPI_INT, 0, -77, comm, &status), MPI_ERR_TAG);
    FAILS(MPI_Isend(&word, -1, MPI_INT, 0, 1, comm, &request), MPI_ERR_COUNT);
    FAILS(MPI_Irecv(&word, 1, MPI_INT, size + 3, 1, comm, &request), MPI_ERR_RANK);
    FAILS(MPI_Probe(size, 1, comm, &status), MPI_ERR_RANK);
}

static void types(MPI_Comm comm) {
    MPI_Datatype made;
    OK(MPI_Type_contiguous(3, MPI_INT, &made));
    FAILS(MPI_Send(&word, 1, made, 0, 1, comm), MPI_ERR_TYPE); // not committed
    OK(MPI_Type_free(&made));
    CHECK(made == MPI_DATATYPE_NULL, "a freed type is null");
    FAILS(MPI_Type_free(&made), MPI_ERR_TYPE);
    FAILS(MPI_Type_contiguous(-1, MPI_INT, &made), MPI_ERR_COUNT);
    FAILS(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &made), MPI_ERR_TYPE);
    int extent = 0;
    FAILS(MPI_Type_size(MPI_DATATYPE_NULL, &extent), MPI_ERR_TYPE);
    MPI_Datatype builtin = MPI_INT;
    REFUSED(MPI_Type_free(&builtin));
}

static void collective(MPI_Comm comm) {
    int in = 1, out = 0;
    FAILS(MPI_Bcast(&word, 1, MPI_INT, size, comm), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(&word, 1, MPI_INT, -1, comm), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(&word, -1, MPI_INT, 0, comm), MPI_ERR_COUNT);
    FAILS(MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, size, comm), MPI_ERR_ROOT);
    FAILS(MPI_Reduce(&in, &out, 1, MPI_INT, MPI_OP_NULL, 0, comm), MPI_ERR_OP);
    FAILS(MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_BAND, comm), MPI_ERR_OP);
    FAILS(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_REPLACE, comm), MPI_ERR_OP);
    FAILS(MPI_Reduce_local(&in, &out, 1, MPI_INT, MPI_NO_OP), MPI_ERR_OP);
    FAILS(MPI_Allreduce(&in, &out, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
}

static void handles(void) {
    MPI_Comm dup, freed;
    int got;
    FAILS(MPI_Send(&word, 1, MPI_INT, 0, 1, MPI_COMM_NULL), MPI_ERR_COMM);
    FAILS(MPI_Comm_size(MPI_COMM_NULL, &got), MPI_ERR_COMM);
    MPI_Group group;
    FAILS(MPI_Comm_remote_size(MPI_COMM_WORLD, &got), MPI_ERR_COMM); // not an intercommunicator
    FAILS(MPI_Comm_remote_group(MPI_COMM_WORLD, &group), MPI_ERR_COMM);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    freed = dup;
    OK(MPI_Comm_free(&dup));
    CHECK(dup == MPI_COMM_NULL, "a freed communicator is null");
    REFUSED(MPI_Comm_rank(freed, &got)); // the old handle, kept by mistake
    MPI_Comm world = MPI_COMM_WORLD;
    FAILS(MPI_Comm_free(&world), MPI_ERR_COMM);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    int ranks[2] = {0, 0};
    REFUSED(MPI_Group_incl(group, 2, ranks, &group)); // a rank named twice
    ranks[0] = size;
    FAILS(MPI_Group_incl(group, 1, ranks, &group), MPI_ERR_RANK);
    OK(MPI_Group_free(&group));
    FAILS(MPI_Group_size(MPI_GROUP_NULL, &got), MPI_ERR_GROUP);
    FAILS(MPI_Info_free(&(MPI_Info){MPI_INFO_NULL}), MPI_ERR_INFO);
    MPI_Info hints;
    MPI_Request request;
    OK(MPI_Info_create(&hints));
    MPI_Info gone = hints;
    OK(MPI_Info_free(&hints));
    FAILS(MPI_Barrier_init(MPI_COMM_WORLD, gone, &request), MPI_ERR_INFO);
    FAILS(MPI_Comm_split(MPI_COMM_WORLD, -7, 0, &dup), MPI_ERR_ARG);
}

// Places for results that are missing, and counts that no array has.
static void shapes(void) {
    int number = 0;
    MPI_Count counts[1] = {1};
    MPI_Count far = (MPI_Count)1 << 62;
    MPI_Datatype types[1] = {MPI_INT}, made;
    FAILS(MPI_Type_get_envelope_c(MPI_INT, counts, counts, NULL, counts, &number), MPI_ERR_ARG);
    FAILS(MPI_Type_get_envelope_c(MPI_INT, NULL, counts, counts, counts, &number), MPI_ERR_ARG);
    FAILS(MPI_Type_get_envelope_c(MPI_INT, counts, counts, counts, counts, NULL), MPI_ERR_ARG);
    FAILS(MPI_Type_get_envelope(MPI_INT, &number, &number, &number, NULL), MPI_ERR_ARG);
    FAILS(MPI_Type_contiguous_c(far, MPI_INT, &made), MPI_ERR_COUNT);
    FAILS(MPI_Type_vector_c(far, 1, 2, MPI_INT, &made), MPI_ERR_COUNT);
    FAILS(MPI_Type_indexed_c(far, counts, counts, MPI_INT, &made), MPI_ERR_COUNT);
    FAILS(MPI_Type_create_hindexed_c(far, counts, counts, MPI_INT, &made), MPI_ERR_COUNT);
    FAILS(MPI_Type_create_indexed_block_c(far, 1, counts, MPI_INT, &made), MPI_ERR_COUNT);
    FAILS(MPI_Type_create_hindexed_block_c(far, 1, counts, MPI_INT, &made), MPI_ERR_COUNT);
    FAILS(MPI_Type_create_struct_c(far, counts, counts, types, &made), MPI_ERR_COUNT);
    FAILS(MPI_Type_create_struct_c(far >> 4, counts, counts, types, &made), MPI_ERR_NO_MEM);
    FAILS(MPI_Type_create_hvector(2, 1 << 30, (MPI_Aint)far * 2 - 1, MPI_INT, &made), MPI_ERR_COUNT);
    counts[0] = far;
    FAILS(MPI_Type_indexed_c(1, counts, counts, MPI_INT, &made), MPI_ERR_COUNT);
}

// Elements that lie nowhere: at NULL, or where MPI_IN_PLACE has no meaning.
static void nowhere(MPI_Comm comm) {
    void *places[2] = {NULL, MPI_IN_PLACE};
    char packed[64];
    int in = 1, position;
    MPI_Aint far;
    for (int i = 0; i < 2; i++) {
        void *at = places[i];
        FAILS(MPI_Pack(at, 2, MPI_INT, packed, sizeof packed, &(int){0}, comm), MPI_ERR_BUFFER);
        FAILS(MPI_Pack(&in, 1, MPI_INT, at, sizeof packed, &(int){0}, comm), MPI_ERR_BUFFER);
        FAILS(MPI_Unpack(at, sizeof packed, &(int){0}, &in, 1, MPI_INT, comm), MPI_ERR_BUFFER);
        FAILS(MPI_Unpack(packed, sizeof packed, &(int){0}, at, 1, MPI_INT, comm), MPI_ERR_BUFFER);
        far = 0;
        FAILS(MPI_Pack_external("external32", at, 2, MPI_INT, packed, sizeof packed, &far), MPI_ERR_BUFFER);
        FAILS(MPI_Pack_external("external32", &in, 1, MPI_INT, at, sizeof packed, &far), MPI_ERR_BUFFER);
        FAILS(MPI_Unpack_external("external32", at, sizeof packed, &far, &in, 1, MPI_INT), MPI_ERR_BUFFER);
        FAILS(MPI_Unpack_external("external32", packed, sizeof packed, &far, at, 1, MPI_INT), MPI_ERR_BUFFER);
        FAILS(MPI_Reduce_local(at, &in, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
        FAILS(MPI_Reduce_local(&in, at, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    }
    position = 3;
    OK(MPI_Pack(NULL, 0, MPI_INT, NULL, 3, &position, comm));
    EQUAL(position, 3);
}

// A communicator is looked at before the arrays that belong to it.
static void grids(void) {
    int *nowhere = (int *)8, got = 0;
    MPI_Comm made;
    FAILS(MPI_Cart_map(MPI_COMM_NULL, 1 << 30, nowhere, nowhere, &got), MPI_ERR_COMM);
    FAILS(MPI_Cart_create(MPI_COMM_NULL, 1 << 30, nowhere, nowhere, 0, &made), MPI_ERR_COMM);
    FAILS(MPI_Graph_map(MPI_COMM_NULL, 1 << 30, nowhere, nowhere, &got), MPI_ERR_COMM);
    FAILS(MPI_Graph_create(MPI_COMM_NULL, 9, nowhere, nowhere, 0, &made), MPI_ERR_COMM);
    FAILS(MPI_Dist_graph_create(MPI_COMM_NULL, 9, nowhere, nowhere, nowhere, MPI_UNWEIGHTED,
                                MPI_INFO_NULL, 0, &made), MPI_ERR_COMM);
    FAILS(MPI_Dist_graph_create_adjacent(MPI_COMM_NULL, 9, nowhere, MPI_UNWEIGHTED, 9, nowhere,
                                         MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made), MPI_ERR_COMM);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    point_to_point(MPI_COMM_WORLD);
    types(MPI_COMM_WORLD);
    collective(MPI_COMM_WORLD);
    handles();
    shapes();
    nowhere(MPI_COMM_WORLD);
    grids();
    return finish();
}
