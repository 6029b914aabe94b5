// ranks: 1 2 4 5
// Reductions of pairs, complex numbers, truth values and bytes (MPI-5.0 §6.9.2, §6.9.4).
#define _DEFAULT_SOURCE
#include "check.h"
#include <complex.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COUNT = 300, GAP = 0x55 };

// So many bytes that end where no memory may be touched.
static void *at_the_end(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(two != MAP_FAILED && mprotect(two + page, page, PROT_NONE) == 0, "two pages");
    return two + page - bytes;
}

// The extreme value's owner is the lowest rank that has it. Bytes in gaps and behind the last element are not the
// pair's (§5.1): they are neither written nor read.
#define PAIR_TEST(NAME, CTYPE, DATATYPE)                                                           \
    static void NAME(void) {                                                                       \
        struct pair { CTYPE value; int index; } in[COUNT], out[COUNT];                             \
        for (int most = 0; most < 2; most++) {                                                     \
            memset(in, 0, sizeof in);                                                              \
            memset(out, GAP, sizeof out);                                                          \
            for (int i = 0; i < COUNT; i++) {                                                      \
                in[i].value = (CTYPE)((rank * 3 + i) % 4);                                         \
                in[i].index = rank + 100;                                                          \
            }                                                                                      \
            OK(MPI_Allreduce(in, out, COUNT, DATATYPE, most ? MPI_MAXLOC : MPI_MINLOC,             \
                             MPI_COMM_WORLD));                                                     \
            for (int i = 0; i < COUNT; i++) {                                                      \
                int best = 0;                                                                      \
                for (int r = 1; r < size; r++) {                                                   \
                    int a = (r * 3 + i) % 4, b = (best * 3 + i) % 4;                               \
                    if (most ? a > b : a < b) best = r;                                            \
                }                                                                                  \
                CHECK(out[i].value == (CTYPE)((best * 3 + i) % 4) &&                               \
                          out[i].index == best + 100,                                              \
                      "%s, most %d, place %d", #DATATYPE, most, i);                                \
                const char *byte = (const char *)&out[i];                                          \
                for (size_t at = sizeof(CTYPE); at < sizeof(struct pair); at++) {                  \
                    size_t index = offsetof(struct pair, index);                                   \
                    int in_gap = at < index || at >= index + sizeof(int);                          \
                    CHECK(!in_gap || byte[at] == GAP, "%s, byte %zu", #DATATYPE, at);              \
                }                                                                                  \
            }                                                                                      \
            size_t bytes = offsetof(struct pair, index) + sizeof(int);                             \
            char *last_in = at_the_end(bytes), *last_out = at_the_end(bytes);                      \
            memcpy(last_in, &in[0], bytes);                                                        \
            memcpy(last_out, &in[0], bytes);                                                       \
            OK(MPI_Reduce_local(last_in, last_out, 1, DATATYPE, most ? MPI_MAXLOC : MPI_MINLOC));  \
            CHECK(memcmp(last_out, &in[0], sizeof(CTYPE)) == 0, "%s, the last", #DATATYPE);        \
        }                                                                                          \
    }

PAIR_TEST(of_2int, int, MPI_2INT)
PAIR_TEST(of_short_int, short, MPI_SHORT_INT)
PAIR_TEST(of_long_int, long, MPI_LONG_INT)
PAIR_TEST(of_float_int, float, MPI_FLOAT_INT)
PAIR_TEST(of_double_int, double, MPI_DOUBLE_INT)
PAIR_TEST(of_long_double_int, long double, MPI_LONG_DOUBLE_INT)

static void of_complex(void) {
    double complex in[COUNT], out[COUNT], product = 1;
    float complex in_f[COUNT], out_f[COUNT];
    for (int i = 0; i < COUNT; i++) {
        in[i] = rank + 1 + i * I;
        in_f[i] = (float)rank - (float)i * I;
    }
    OK(MPI_Allreduce(in, out, COUNT, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Allreduce(in_f, out_f, COUNT, MPI_C_FLOAT_COMPLEX, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < COUNT; i++) {
        CHECK(out[i] == size * (size + 1) / 2 + (double)size * i * I, "sum at %d", i);
        CHECK(out_f[i] == (float)(size * (size - 1) / 2) - (float)(size * i) * I, "float at %d", i);
    }
    OK(MPI_Allreduce(in, out, 4, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++) product *= r + 1 + 3 * I;
    CHECK(cabs(out[3] - product) < 1e-9 * cabs(product), "product of %d factors", size);
}

static void of_bool_and_byte(void) {
    _Bool in[2] = {rank == 0, 1}, out[2];
    OK(MPI_Allreduce(in, out, 2, MPI_C_BOOL, MPI_LAND, MPI_COMM_WORLD));
    CHECK(out[0] == (size == 1) && out[1], "and of truth values");
    OK(MPI_Allreduce(in, out, 2, MPI_C_BOOL, MPI_LOR, MPI_COMM_WORLD));
    CHECK(out[0] && out[1], "or of truth values");
    unsigned char bit = (unsigned char)(1 << rank), bits = 0;
    OK(MPI_Allreduce(&bit, &bits, 1, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
    EQUAL(bits, (1 << size) - 1);
}

// Extremes of the types themselves: unsigned compares as unsigned, sums of unsigned wrap.
static void extremes(void) {
    unsigned in = rank == 0 ? 0xffffffffu : 1u, out = 0;
    OK(MPI_Allreduce(&in, &out, 1, MPI_UNSIGNED, MPI_MAX, MPI_COMM_WORLD));
    EQUAL(out, 0xffffffffu);
    OK(MPI_Allreduce(&in, &out, 1, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD));
    EQUAL(out, 0xffffffffu + (unsigned)(size - 1));
    double tiny = rank == 0 ? -1e-300 : 1e300, least = 0;
    OK(MPI_Allreduce(&tiny, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD));
    CHECK(least == -1e-300, "%g", least);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    of_2int();
    of_short_int();
    of_long_int();
    of_float_int();
    of_double_int();
    of_long_double_int();
    of_complex();
    of_bool_and_byte();
    extremes();
    return finish();
}
