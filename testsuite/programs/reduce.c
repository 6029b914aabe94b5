// ranks: 1 2 3 4 7
// Reduce and allreduce: operations over types, against values computed here (MPI-5.0 §6.9.1 to
// §6.9.3, §6.9.6).
#include "check.h"
#include <stdint.h>

enum { MOST = 60000 };

// The value that rank r gives at place i: small, so that products stay exact in every type.
static int given(int r, int i) {
    return (r * 5 + i * 3) % 4 + (i % 11 == r ? 1 : 0);
}

static int combined(MPI_Op op, int i) {
    int result = given(0, i);
    for (int r = 1; r < size; r++) {
        int next = given(r, i);
        if (op == MPI_SUM) result += next;
        else if (op == MPI_PROD) result *= next;
        else if (op == MPI_MAX) result = next > result ? next : result;
        else if (op == MPI_MIN) result = next < result ? next : result;
        else if (op == MPI_LAND) result = result && next;
        else if (op == MPI_LOR) result = result || next;
        else if (op == MPI_LXOR) result = !result != !next;
        else if (op == MPI_BAND) result &= next;
        else if (op == MPI_BOR) result |= next;
        else if (op == MPI_BXOR) result ^= next;
    }
    return result;
}

// One C type: fills, reduces in four ways, compares.
#define TYPE_TEST(NAME, CTYPE, DATATYPE)                                                           \
    static void NAME(MPI_Op op, const char *name, int count, int root) {                           \
        static CTYPE in[MOST], out[MOST + 1];                                                      \
        for (int way = 0; way < 4; way++) {                                                        \
            for (int i = 0; i < count; i++) in[i] = (CTYPE)given(rank, i);                         \
            for (int i = 0; i <= count; i++) out[i] = (CTYPE)99;                                   \
            int mine = way >= 2 || rank == root;                                                   \
            if (way % 2) memcpy(out, in, sizeof(CTYPE) * (size_t)count);                           \
            if (way == 0) OK(MPI_Reduce(in, out, count, DATATYPE, op, root, MPI_COMM_WORLD));      \
            if (way == 1)                                                                          \
                OK(MPI_Reduce(mine ? MPI_IN_PLACE : in, mine ? out : NULL, count, DATATYPE, op,    \
                              root, MPI_COMM_WORLD));                                              \
            if (way == 2) OK(MPI_Allreduce(in, out, count, DATATYPE, op, MPI_COMM_WORLD));         \
            if (way == 3)                                                                          \
                OK(MPI_Allreduce(MPI_IN_PLACE, out, count, DATATYPE, op, MPI_COMM_WORLD));         \
            for (int i = 0; mine && i < count; i++)                                                \
                CHECK(out[i] == (CTYPE)combined(op, i), "%s of %s, way %d, count %d, place %d",    \
                      name, #DATATYPE, way, count, i);                                             \
            CHECK(out[count] == (CTYPE)99, "nothing is written behind the result");                \
            for (int i = 0; i < count; i++)                                                        \
                CHECK(in[i] == (CTYPE)given(rank, i), "%s changed its input", name);               \
        }                                                                                          \
    }

TYPE_TEST(of_int8, int8_t, MPI_INT8_T)
TYPE_TEST(of_uint16, uint16_t, MPI_UINT16_T)
TYPE_TEST(of_int, int, MPI_INT)
TYPE_TEST(of_unsigned, unsigned, MPI_UNSIGNED)
TYPE_TEST(of_int64, int64_t, MPI_INT64_T)
TYPE_TEST(of_long, long, MPI_LONG)
TYPE_TEST(of_count, MPI_Count, MPI_COUNT)
TYPE_TEST(of_float, float, MPI_FLOAT)
TYPE_TEST(of_double, double, MPI_DOUBLE)
TYPE_TEST(of_long_double, long double, MPI_LONG_DOUBLE)

static const int counts[] = {0, 1, 7, 1000, 20001, MOST};

static void every_type(MPI_Op op, const char *name, int integers_only) {
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        int root = (int)c % size;
        of_int(op, name, counts[c], root);
        of_int64(op, name, counts[c], root);
        if (counts[c] > 7 && op != MPI_SUM) continue;
        of_int8(op, name, counts[c], root);
        of_uint16(op, name, counts[c], root);
        of_unsigned(op, name, counts[c], root);
        of_long(op, name, counts[c], root);
        if (op != MPI_LAND && op != MPI_LOR && op != MPI_LXOR) // no truth values in MPI_COUNT
            of_count(op, name, counts[c], root);
        if (integers_only) continue;
        of_float(op, name, counts[c], root);
        of_double(op, name, counts[c], root);
        of_long_double(op, name, counts[c], root);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    every_type(MPI_SUM, "MPI_SUM", 0);
    every_type(MPI_MAX, "MPI_MAX", 0);
    every_type(MPI_MIN, "MPI_MIN", 0);
    every_type(MPI_PROD, "MPI_PROD", 0);
    every_type(MPI_BAND, "MPI_BAND", 1);
    every_type(MPI_BOR, "MPI_BOR", 1);
    every_type(MPI_BXOR, "MPI_BXOR", 1);
    if (size > 1) { // one rank's value is not made a truth value
        every_type(MPI_LAND, "MPI_LAND", 1);
        every_type(MPI_LOR, "MPI_LOR", 1);
        every_type(MPI_LXOR, "MPI_LXOR", 1);
    }
    return finish();
}
