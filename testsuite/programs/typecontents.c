// ranks: 1
// What each constructor of datatypes remembers (MPI-5.0 §5.1.13), the predefined datatypes that
// procedures find (§6.9.4, §19.1.9), and the lives of names and handles (§5.1.9, §7.8).
#include "check.h"

enum { MOST = 40 };

struct contents {
    int integers, addresses, datatypes, combiner;
    int integer[MOST];
    MPI_Aint address[MOST];
    MPI_Datatype datatype[MOST];
};

static struct contents contents_of(MPI_Datatype type) {
    struct contents all = {0};
    OK(MPI_Type_get_envelope(type, &all.integers, &all.addresses, &all.datatypes, &all.combiner));
    OK(MPI_Type_get_contents(type, all.integers, all.addresses, all.datatypes, all.integer,
                             all.address, all.datatype));
    return all;
}

static void expect(MPI_Datatype type, int combiner, int integers, const int *integer, int addresses,
                   const MPI_Aint *address, int datatypes) {
    struct contents all = contents_of(type);
    EQUAL(all.combiner, combiner);
    EQUAL(all.integers, integers);
    EQUAL(all.addresses, addresses);
    EQUAL(all.datatypes, datatypes);
    for (int i = 0; i < all.integers && i < integers; i++)
        CHECK(all.integer[i] == integer[i], "combiner %d, integer %d is %d, not %d", combiner, i,
              all.integer[i], integer[i]);
    for (int i = 0; i < all.addresses && i < addresses; i++) EQUAL(all.address[i], address[i]);
    for (int i = 0; i < all.datatypes; i++)
        CHECK(all.datatype[i] == MPI_INT || all.datatype[i] == MPI_FLOAT, "datatype %d", i);
}

static void regular(void) {
    MPI_Datatype type;
    OK(MPI_Type_contiguous(5, MPI_INT, &type));
    expect(type, MPI_COMBINER_CONTIGUOUS, 1, (int[]){5}, 0, NULL, 1);
    OK(MPI_Type_free(&type));
    CHECK(type == MPI_DATATYPE_NULL, "a freed handle is null");
    OK(MPI_Type_vector(5, 2, -3, MPI_INT, &type));
    expect(type, MPI_COMBINER_VECTOR, 3, (int[]){5, 2, -3}, 0, NULL, 1);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_hvector(5, 2, -24, MPI_INT, &type));
    expect(type, MPI_COMBINER_HVECTOR, 2, (int[]){5, 2}, 1, (MPI_Aint[]){-24}, 1);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_resized(MPI_FLOAT, -8, 32, &type));
    expect(type, MPI_COMBINER_RESIZED, 0, NULL, 2, (MPI_Aint[]){-8, 32}, 1);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_dup(MPI_INT, &type));
    expect(type, MPI_COMBINER_DUP, 0, NULL, 0, NULL, 1);
    OK(MPI_Type_free(&type));
}

static void listed(void) {
    int lengths[] = {1, 0, 2}, places[] = {4, -1, 9};
    MPI_Aint bytes[] = {16, -4, 36};
    MPI_Datatype type, types[] = {MPI_INT, MPI_FLOAT, MPI_INT};
    OK(MPI_Type_indexed(3, lengths, places, MPI_INT, &type));
    expect(type, MPI_COMBINER_INDEXED, 7, (int[]){3, 1, 0, 2, 4, -1, 9}, 0, NULL, 1);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &type));
    expect(type, MPI_COMBINER_HINDEXED, 4, (int[]){3, 1, 0, 2}, 3, bytes, 1);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &type));
    expect(type, MPI_COMBINER_INDEXED_BLOCK, 5, (int[]){3, 2, 4, -1, 9}, 0, NULL, 1);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &type));
    expect(type, MPI_COMBINER_HINDEXED_BLOCK, 2, (int[]){3, 2}, 3, bytes, 1);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_struct(3, lengths, bytes, types, &type));
    expect(type, MPI_COMBINER_STRUCT, 4, (int[]){3, 1, 0, 2}, 3, bytes, 3);
    OK(MPI_Type_free(&type));
    // No blocks at all need no arrays.
    int size_ = -1;
    OK(MPI_Type_create_struct(0, NULL, NULL, NULL, &type));
    OK(MPI_Type_size(type, &size_));
    EQUAL(size_, 0);
    OK(MPI_Type_free(&type));
}

// Constants among the arguments come back as the program's own; 19 is a block size like any other
// wherever it is not the default itself.
static void arrays(void) {
    int sizes[] = {40, 6}, parts[] = {7, 2}, starts[] = {3, 1};
    int kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    int blocks[] = {18, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 1};
    MPI_Datatype type;
    OK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &type));
    expect(type, MPI_COMBINER_SUBARRAY, 8, (int[]){2, 40, 6, 7, 2, 3, 1, MPI_ORDER_FORTRAN}, 0,
           NULL, 1);
    OK(MPI_Type_free(&type));
    for (int more = 0; more < 3; more++, blocks[0]++) {
        if (blocks[0] == MPI_DISTRIBUTE_DFLT_DARG) continue;
        int bytes = -1;
        OK(MPI_Type_create_darray(2, 0, 2, sizes, kinds, blocks, grid, MPI_ORDER_C, MPI_INT,
                                  &type));
        expect(type, MPI_COMBINER_DARRAY, 12,
               (int[]){2, 0, 2, 40, 6, kinds[0], kinds[1], blocks[0], blocks[1], 2, 1,
                       MPI_ORDER_C},
               0, NULL, 1);
        OK(MPI_Type_size(type, &bytes));
        // Process 0 has rows 0 to b - 1, and those from 2 b on.
        int rows = blocks[0] + (40 - 2 * blocks[0] > 0 ? 40 - 2 * blocks[0] : 0);
        EQUAL(bytes, rows * 6 * sizeof(int));
        OK(MPI_Type_free(&type));
    }
}

// A derived datatype among the contents is a handle of its own, that outlives the others.
static void nested(void) {
    MPI_Datatype inner, outer;
    int bytes = -1;
    OK(MPI_Type_vector(2, 1, 3, MPI_INT, &inner));
    OK(MPI_Type_set_name(inner, "inner"));
    OK(MPI_Type_contiguous(4, inner, &outer));
    OK(MPI_Type_free(&inner));
    struct contents all = contents_of(outer);
    OK(MPI_Type_free(&outer));
    EQUAL(all.datatypes, 1);
    expect(all.datatype[0], MPI_COMBINER_VECTOR, 3, (int[]){2, 1, 3}, 0, NULL, 1);
    OK(MPI_Type_size(all.datatype[0], &bytes));
    EQUAL(bytes, 2 * sizeof(int));
    char name[MPI_MAX_OBJECT_NAME] = "?";
    int length = -1;
    OK(MPI_Type_get_name(all.datatype[0], name, &length));
    CHECK(length == 0 && !*name, "a new handle has no name, but this has %s", name);
    OK(MPI_Type_free(&all.datatype[0]));
}

// The same arguments find the same datatype each time, also as the contents of another.
static void found(void) {
    MPI_Datatype real, again, other, complex_, integer, both;
    int bytes = -1;
    OK(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &real));
    OK(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &again));
    CHECK(real == again, "the same real");
    OK(MPI_Type_create_f90_real(14, MPI_UNDEFINED, &other));
    CHECK(real != other, "other arguments are another datatype");
    expect(real, MPI_COMBINER_F90_REAL, 2, (int[]){15, MPI_UNDEFINED}, 0, NULL, 0);
    OK(MPI_Type_size(real, &bytes));
    EQUAL(bytes, 8);
    OK(MPI_Type_create_f90_complex(6, 30, &complex_));
    expect(complex_, MPI_COMBINER_F90_COMPLEX, 2, (int[]){6, 30}, 0, NULL, 0);
    OK(MPI_Type_size(complex_, &bytes));
    EQUAL(bytes, 8);
    OK(MPI_Type_create_f90_integer(12, &integer));
    expect(integer, MPI_COMBINER_F90_INTEGER, 1, (int[]){12}, 0, NULL, 0);
    OK(MPI_Type_size(integer, &bytes));
    EQUAL(bytes, 8);
    OK(MPI_Type_contiguous(2, real, &both));
    struct contents all = contents_of(both);
    CHECK(all.datatype[0] == real, "found again among the contents");
    OK(MPI_Type_free(&both));
}

#if MPI_VERSION > 4 || MPI_VERSION == 4 && MPI_SUBVERSION >= 1
static void indices(void) {
    MPI_Datatype pair, again;
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair));
    CHECK(pair == MPI_DOUBLE_INT, "the pair that has a name");
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT64_T, &pair));
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT64_T, &again));
    CHECK(pair == again && pair != MPI_DATATYPE_NULL, "a pair that has none");
    OK(MPI_Type_get_value_index(MPI_COMPLEX, MPI_COMPLEX, &pair));
    CHECK(pair == MPI_DATATYPE_NULL, "numbers without an order");
    OK(MPI_Type_get_value_index(MPI_REAL, MPI_REAL, &pair));
    CHECK(pair == MPI_2REAL, "a pair with a name");
    OK(MPI_Type_get_value_index(MPI_BYTE, MPI_BYTE, &pair));
    CHECK(pair == MPI_DATATYPE_NULL, "no such pair");
}
#endif

#if MPI_VERSION >= 4
static void large(void) {
    MPI_Count integers, addresses, counts, datatypes, count[MOST];
    MPI_Aint address[1];
    int combiner, integer[MOST];
    MPI_Datatype type, base[1];
    MPI_Count lengths[] = {1, 3}, places[] = {-16, 1LL << 40};
    OK(MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &type));
    OK(MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &datatypes, &combiner));
    EQUAL(combiner, MPI_COMBINER_HINDEXED);
    EQUAL(integers, 0);
    EQUAL(addresses, 0);
    EQUAL(counts, 5);
    EQUAL(datatypes, 1);
    OK(MPI_Type_get_contents_c(type, 0, 0, counts, 1, integer, address, count, base));
    EQUAL(count[0], 2);
    EQUAL(count[2], 3);
    EQUAL(count[3], -16);
    EQUAL(count[4], 1LL << 40);
    OK(MPI_Type_free(&type));
    MPI_Count sizes[] = {40, 6};
    int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE}, grid[] = {2, 1};
    int blocks[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    OK(MPI_Type_create_darray_c(2, 1, 2, sizes, kinds, blocks, grid, MPI_ORDER_C, MPI_INT, &type));
    OK(MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &datatypes, &combiner));
    EQUAL(integers, 10);
    EQUAL(counts, 2);
    OK(MPI_Type_get_contents_c(type, integers, 0, counts, 1, integer, address, count, base));
    int wanted[] = {2, 1, 2, kinds[0], kinds[1], blocks[0], blocks[1], 2, 1, MPI_ORDER_C};
    for (int i = 0; i < 10; i++) EQUAL(integer[i], wanted[i]);
    EQUAL(count[0], 40);
    EQUAL(count[1], 6);
    OK(MPI_Type_free(&type));
    // The form without counts has an int's worth of arguments.
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &datatypes, &combiner));
    EQUAL(integers, 1);
    EQUAL(counts, 0);
    OK(MPI_Type_free(&type));
}
#endif

static void counts(void) {
    MPI_Datatype type;
    MPI_Status status;
    int elements = -1, whole = -1, lengths[] = {1, 1};
    MPI_Aint places[] = {0, 8};
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
    memset(&status, 0, sizeof status);
    OK(MPI_Type_create_struct(2, lengths, places, types, &type));
    OK(MPI_Status_set_elements(&status, type, 5));
    OK(MPI_Get_elements(&status, type, &elements));
    EQUAL(elements, 5);
    OK(MPI_Get_count(&status, type, &whole));
    EQUAL(whole, MPI_UNDEFINED);
    OK(MPI_Get_elements(&status, MPI_INT, &elements));
    EQUAL(elements, 7); // two pairs of 12 bytes and an int
    OK(MPI_Status_set_elements(&status, type, 4));
    OK(MPI_Get_count(&status, type, &whole));
    EQUAL(whole, 2);
    OK(MPI_Type_free(&type));
}

// What must not be done is told, and leaves everything as it was.
static void mistakes(void) {
    MPI_Datatype type = MPI_INT, real, freed;
    int integers[3], bytes = -1, word = 0, position = 0;
    MPI_Aint addresses[1];
    char text[16];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
#if MPI_VERSION >= 4
    OK(MPI_Type_contiguous_c(3, MPI_INT, &type));
    FAILS(MPI_Type_get_envelope(type, &integers[0], &integers[1], &integers[2], &word), MPI_ERR_TYPE);
    FAILS(MPI_Type_get_contents(type, 3, 1, 1, integers, addresses, &freed), MPI_ERR_TYPE);
    OK(MPI_Type_free(&type));
    type = MPI_INT;
#endif
    FAILS(MPI_Type_free(&type), MPI_ERR_TYPE);
    CHECK(type == MPI_INT, "a handle that is not freed stays");
    OK(MPI_Type_create_f90_real(6, 30, &real));
    type = real;
    FAILS(MPI_Type_free(&type), MPI_ERR_TYPE);
    OK(MPI_Type_size(real, &bytes));
    EQUAL(bytes, 4);
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
    freed = type;
    // Too little room for three integers.
    REFUSED(MPI_Type_get_contents(type, 2, 0, 1, integers, addresses, &real));
    REFUSED(MPI_Type_get_contents(MPI_INT, 0, 0, 0, integers, addresses, &real));
    FAILS(MPI_Pack(&word, 1, type, text, sizeof text, &position, MPI_COMM_SELF), MPI_ERR_TYPE);
    EQUAL(position, 0);
    OK(MPI_Type_free(&type));
    FAILS(MPI_Type_free(&type), MPI_ERR_TYPE);
    FAILS(MPI_Type_size(freed, &bytes), MPI_ERR_TYPE);
    FAILS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    FAILS(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
    REFUSED(MPI_Type_vector(2, -1, 2, MPI_INT, &type));
    int sizes[] = {4}, parts[] = {3}, starts[] = {2};
    REFUSED(MPI_Type_create_subarray(1, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type));
    starts[0] = 1;
    REFUSED(MPI_Type_create_subarray(1, sizes, parts, starts, 7, MPI_INT, &type));
    REFUSED(MPI_Type_create_f90_real(500, MPI_UNDEFINED, &type));
    REFUSED(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 3, &type));
    position = 14;
    REFUSED(MPI_Pack(&word, 1, MPI_INT, text, sizeof text, &position, MPI_COMM_SELF));
    EQUAL(position, 14);
    REFUSED(MPI_Unpack(text, sizeof text, &position, &word, 1, MPI_INT, MPI_COMM_SELF));
    MPI_Aint room = -1;
    REFUSED(MPI_Pack_external_size("internal32", 1, MPI_INT, &room));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    regular();
    listed();
    arrays();
    nested();
    found();
    counts();
#if MPI_VERSION > 4 || MPI_VERSION == 4 && MPI_SUBVERSION >= 1
    indices();
#endif
#if MPI_VERSION >= 4
    large();
#endif
    mistakes();
    return finish();
}
