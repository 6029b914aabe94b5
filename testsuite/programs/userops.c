// ranks: 1 2 3 4 7
// Operations of one's own: rank order is kept when they do not commute (MPI-5.0 §6.9.5).
#include "check.h"

#include <stddef.h>

enum { COUNT = 500 };

// x -> a x + b over the integers modulo a prime: composition is associative, not commutative.
struct map {
    long a, b;
};

enum { PRIME = 1000003 };

static struct map after(struct map first, struct map second) {
    return (struct map){second.a * first.a % PRIME, (second.a * first.b + second.b) % PRIME};
}

static void compose(void *in, void *inout, int *length, MPI_Datatype *type) {
    struct map *left = in, *right = inout;
    int bytes;
    MPI_Type_size(*type, &bytes);
    EQUAL(bytes, sizeof(struct map));
    for (int i = 0; i < *length; i++) right[i] = after(left[i], right[i]);
}

static void largest_even(void *in, void *inout, int *length, MPI_Datatype *type) {
    int *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *length; i++)
        if (a[i] % 2 == 0 && (b[i] % 2 != 0 || a[i] > b[i])) b[i] = a[i];
}

static struct map given(int r, int i) {
    return (struct map){r + 2 + i % 5, 7 * r + i};
}

static struct map folded(int from, int to, int i) {
    struct map result = given(from, i);
    for (int r = from + 1; r < to; r++) result = after(result, given(r, i));
    return result;
}

static void same(const char *what, struct map got, struct map want, int i) {
    CHECK(got.a == want.a && got.b == want.b, "%s at %d: (%ld, %ld), not (%ld, %ld)", what, i,
          got.a, got.b, want.a, want.b);
}

static void in_rank_order(MPI_Datatype type, MPI_Op op) {
    struct map in[COUNT], out[COUNT];
    for (int count = 1; count <= COUNT; count = count * 5 + 1) {
        for (int i = 0; i < count; i++) in[i] = given(rank, i);
        for (int root = 0; root < size; root++) {
            OK(MPI_Reduce(in, out, count, type, op, root, MPI_COMM_WORLD));
            for (int i = 0; rank == root && i < count; i++)
                same("reduce", out[i], folded(0, size, i), i);
        }
        OK(MPI_Allreduce(in, out, count, type, op, MPI_COMM_WORLD));
        for (int i = 0; i < count; i++) same("allreduce", out[i], folded(0, size, i), i);
        OK(MPI_Scan(in, out, count, type, op, MPI_COMM_WORLD));
        for (int i = 0; i < count; i++) same("scan", out[i], folded(0, rank + 1, i), i);
        OK(MPI_Exscan(in, out, count, type, op, MPI_COMM_WORLD));
        for (int i = 0; rank > 0 && i < count; i++) same("exscan", out[i], folded(0, rank, i), i);
        memcpy(out, in, sizeof in);
        OK(MPI_Reduce_local(in, out, count, type, op));
        for (int i = 0; i < count; i++) same("local", out[i], after(in[i], in[i]), i);
    }
    struct map *wide = malloc(sizeof *wide * (size_t)size * 10), part[10];
    for (int i = 0; i < 10 * size; i++) wide[i] = given(rank, i);
    OK(MPI_Reduce_scatter_block(wide, part, 10, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < 10; i++)
        same("reduce_scatter_block", part[i], folded(0, size, 10 * rank + i), i);
    free(wide);
}

static int extents_seen;

static void sum_of_longs(void *in, void *inout, int *length, MPI_Datatype *type) {
    MPI_Aint lower = -1, extent = -1;
    OK(MPI_Type_get_extent(*type, &lower, &extent));
    EQUAL(extent, 2 * (int)sizeof(long));
    extents_seen++;
    long *a = in, *b = inout;
    for (int i = 0; i < 2 * *length; i++) b[i] += a[i];
}

// A function is told of the type also when the program has freed its handle meanwhile (§5.1.9).
static void freed_types(void) {
    MPI_Datatype type;
    MPI_Op op;
    MPI_Request request;
    long in[2] = {rank, 1}, out[2] = {-1, -1};
    OK(MPI_Op_create(sum_of_longs, 1, &op));
    OK(MPI_Type_contiguous(2, MPI_LONG, &type));
    OK(MPI_Type_commit(&type));
    MPI_Request barrier;
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
    OK(MPI_Iallreduce(in, out, 1, type, op, MPI_COMM_WORLD, &request));
    OK(MPI_Type_free(&type));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&barrier, MPI_STATUS_IGNORE));
    EQUAL(out[0], size * (size - 1) / 2);
    EQUAL(out[1], size);

    OK(MPI_Type_contiguous(2, MPI_LONG, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Allreduce_init(in, out, 1, type, op, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    OK(MPI_Type_free(&type));
    for (int round = 0; round < 3; round++) {
        memset(out, 0xff, sizeof out);
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        EQUAL(out[1], size);
    }
    OK(MPI_Request_free(&request));
    OK(MPI_Op_free(&op));
    CHECK(size == 1 || extents_seen > 0 || rank > 0, "rank 0 has reduced something");
}

// The type describes all but the head, so that what is described begins and ends at less than the alignment.
struct record {
    _Alignas(16) int head;
    int a;
    double b;
    float c;
};

// The records lie one behind the other, or one before the other.
static void sum_of_records(void *in, void *inout, int *length, MPI_Datatype *type) {
    struct record *a = in, *b = inout;
    MPI_Aint lower, extent;
    OK(MPI_Type_get_extent(*type, &lower, &extent));
    EQUAL((size_t)in % _Alignof(struct record), 0);
    EQUAL((size_t)inout % _Alignof(struct record), 0);
    for (int i = 0, step = extent < 0 ? -1 : 1; i < *length; i++, a += step, b += step) {
        b->a += a->a;
        b->b += a->b;
        b->c += a->c;
    }
}

static void sums(const struct record *out, int count, int ranks, const char *what) {
    for (int i = 0; i < count; i++) {
        int want = ranks * (ranks - 1) / 2;
        CHECK(out[i].a == want && out[i].b == want && out[i].c == ranks, "%s at %d: %d, %g, %g", what, i,
              out[i].a, out[i].b, out[i].c);
        EQUAL(out[i].head, -1);
    }
}

// Memory of the library's own is as aligned for a function as that of the program.
static void alignment(int step) {
    enum { RECORDS = 10, RANKS = 7 };
    static struct record in[RECORDS * RANKS], out[RECORDS * RANKS];
    MPI_Datatype fields, type, kinds[3] = {MPI_INT, MPI_DOUBLE, MPI_FLOAT};
    MPI_Aint places[3] = {offsetof(struct record, a), offsetof(struct record, b), offsetof(struct record, c)};
    MPI_Op op;
    OK(MPI_Type_create_struct(3, (int[]){1, 1, 1}, places, kinds, &fields));
    OK(MPI_Type_create_resized(fields, 0, step * (MPI_Aint)sizeof *in, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Op_create(sum_of_records, 1, &op));
    for (int i = 0; i < RECORDS * RANKS; i++) in[i] = (struct record){-1, rank, rank, 1}, out[i].head = -1;
    int back = step < 0 ? RECORDS - 1 : 0, all_back = step < 0 ? RECORDS * size - 1 : 0;
    OK(MPI_Allreduce(in + back, out + back, RECORDS, type, op, MPI_COMM_WORLD));
    sums(out, RECORDS, size, "allreduce");
    OK(MPI_Reduce(in + back, out + back, RECORDS, type, op, size - 1, MPI_COMM_WORLD));
    sums(out, RECORDS, size, "reduce");
    OK(MPI_Reduce_scatter_block(in + all_back, out + back, RECORDS, type, op, MPI_COMM_WORLD));
    sums(out, RECORDS, size, "reduce_scatter_block");
    OK(MPI_Scan(in + back, out + back, RECORDS, type, op, MPI_COMM_WORLD));
    sums(out, RECORDS, rank + 1, "scan");
    OK(MPI_Exscan(in + back, out + back, RECORDS, type, op, MPI_COMM_WORLD));
    if (rank > 0) sums(out, RECORDS, rank, "exscan");
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&fields));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    freed_types();
    alignment(1);
    alignment(-1);
    MPI_Datatype type;
    MPI_Op op, even;
    int flag = -1;
    OK(MPI_Type_contiguous(2, MPI_LONG, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Op_create(compose, 0, &op));
    OK(MPI_Op_create(largest_even, 1, &even));
    OK(MPI_Op_commutative(op, &flag));
    EQUAL(flag, 0);
    OK(MPI_Op_commutative(even, &flag));
    EQUAL(flag, 1);
    OK(MPI_Op_commutative(MPI_SUM, &flag));
    EQUAL(flag, 1);
    in_rank_order(type, op);
    int in = 2 * rank + (rank == size - 1 && size > 1), out = -1;
    OK(MPI_Allreduce(&in, &out, 1, MPI_INT, even, MPI_COMM_WORLD));
    EQUAL(out, size == 1 ? 0 : 2 * (size - 2));
    OK(MPI_Op_free(&op));
    CHECK(op == MPI_OP_NULL, "a freed operation is null");
    OK(MPI_Op_free(&even));
    OK(MPI_Type_free(&type));
    return finish();
}
