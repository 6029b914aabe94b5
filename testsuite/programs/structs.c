// ranks: 2
// Irregular derived types: indexed families, struct, resized, dup, and what they are made of
// (MPI-5.0 §5.1.2, §5.1.7, §5.1.13).
#include "check.h"

struct particle {
    char name;
    double place[3];
    short charge;
    int id;
};

static MPI_Datatype particle_type(void) {
    struct particle one = {0};
    int lengths[] = {1, 3, 1, 1};
    MPI_Aint start_, places[4];
    MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_INT}, raw, type;
    OK(MPI_Get_address(&one, &start_));
    OK(MPI_Get_address(&one.name, &places[0]));
    OK(MPI_Get_address(one.place, &places[1]));
    OK(MPI_Get_address(&one.charge, &places[2]));
    OK(MPI_Get_address(&one.id, &places[3]));
    for (int i = 0; i < 4; i++) places[i] = MPI_Aint_diff(places[i], start_);
    OK(MPI_Type_create_struct(4, lengths, places, types, &raw));
    OK(MPI_Type_create_resized(raw, 0, sizeof one, &type));
    OK(MPI_Type_free(&raw));
    OK(MPI_Type_commit(&type));
    return type;
}

static void particles(int count) {
    MPI_Datatype type = particle_type(), twin;
    struct particle *out = calloc((size_t)count, sizeof *out);
    struct particle *in = malloc(sizeof *in * (size_t)count);
    memset(in, 0x5a, sizeof *in * (size_t)count);
    for (int i = 0; i < count; i++)
        out[i] = (struct particle){(char)i, {i, i + 0.5, -i}, (short)(3 * i), i + 1000 * rank};
    OK(MPI_Type_dup(type, &twin));
    OK(MPI_Sendrecv(out, count, type, 1 - rank, 1, in, count, twin, 1 - rank, 1, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    for (int i = 0; i < count; i++)
        CHECK(in[i].name == (char)i && in[i].place[0] == i && in[i].place[1] == i + 0.5 &&
                  in[i].place[2] == -i && in[i].charge == (short)(3 * i) &&
                  in[i].id == i + 1000 * (1 - rank),
              "particle %d of %d", i, count);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&twin));
    free(in);
    free(out);
}

// Four ways to say the same three blocks, in an order that is not the one of memory.
static void blocks(void) {
    int lengths[] = {2, 2, 2}, places[] = {8, 0, 4};
    MPI_Aint bytes[] = {32, 0, 16};
    MPI_Datatype types[4];
    OK(MPI_Type_indexed(3, lengths, places, MPI_INT, &types[0]));
    OK(MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &types[1]));
    OK(MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &types[2]));
    OK(MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &types[3]));
    static const int order[] = {8, 9, 0, 1, 4, 5};
    for (int t = 0; t < 4; t++) {
        int out[10], packed[6], in[10];
        MPI_Aint lower, extent;
        OK(MPI_Type_commit(&types[t]));
        OK(MPI_Type_get_extent(types[t], &lower, &extent));
        EQUAL(extent, 10 * sizeof(int));
        for (int i = 0; i < 10; i++) {
            out[i] = i;
            in[i] = -1;
        }
        OK(MPI_Sendrecv(out, 1, types[t], 1 - rank, 2, packed, 6, MPI_INT, 1 - rank, 2,
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < 6; i++) EQUAL(packed[i], order[i]);
        OK(MPI_Sendrecv(packed, 6, MPI_INT, 1 - rank, 3, in, 1, types[t], 1 - rank, 3,
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < 10; i++) EQUAL(in[i], i % 4 < 2 ? i : -1);
        OK(MPI_Type_free(&types[t]));
    }
}

// The envelope and contents of a constructor are what was given to it.
static void envelope(void) {
    int lengths[] = {1, 4}, places[] = {3, 7}, integers, addresses, datatypes, combiner;
    MPI_Datatype type;
    OK(MPI_Type_indexed(2, lengths, places, MPI_FLOAT, &type));
    OK(MPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner));
    EQUAL(combiner, MPI_COMBINER_INDEXED);
    EQUAL(integers, 5);
    EQUAL(addresses, 0);
    EQUAL(datatypes, 1);
    int found[5];
    MPI_Aint none[1];
    MPI_Datatype base;
    OK(MPI_Type_get_contents(type, 5, 0, 1, found, none, &base));
    EQUAL(found[0], 2);
    EQUAL(found[1], 1);
    EQUAL(found[2], 4);
    EQUAL(found[3], 3);
    EQUAL(found[4], 7);
    CHECK(base == MPI_FLOAT, "the base is MPI_FLOAT itself");
    OK(MPI_Type_free(&type));
    OK(MPI_Type_get_envelope(MPI_INT, &integers, &addresses, &datatypes, &combiner));
    EQUAL(combiner, MPI_COMBINER_NAMED);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    particles(1);
    particles(100);
    particles(30000);
    blocks();
    envelope();
    return finish();
}
